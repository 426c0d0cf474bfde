"""Argument validation, atomic file writing, records of constructor calls, and other utilities."""
