"""Contacts at a state: gaps, what slides and what sticks, and which part of a surface is touched."""
