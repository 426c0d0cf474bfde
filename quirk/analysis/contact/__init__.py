"""Contacts at a state: gaps, sliding and sticking friction, and touched parts of surfaces."""
