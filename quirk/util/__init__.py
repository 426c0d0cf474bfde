"""Checks of arguments, atomic file writing, and records of the constructor calls of objects."""
