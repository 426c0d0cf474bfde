"""The model of a system: bodies, constraint rows and loads, numbered and stored in arrays."""
