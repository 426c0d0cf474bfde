"""Contacts at one state: gaps, sliding and sticking friction, and the touching parts of surfaces."""
