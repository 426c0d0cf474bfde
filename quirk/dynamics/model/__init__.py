"""Equations of motion as data: bodies, constraint rows and loads, numbered and stored in arrays."""
