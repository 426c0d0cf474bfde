"""Contacts at one state: gaps, sliding and sticking friction, and the parts of surfaces in contact."""
