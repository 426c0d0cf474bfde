"""Contacts at one state: gaps, friction that slides or sticks, and which parts of surfaces touch."""
