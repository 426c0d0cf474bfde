"""The equation of motion as data: bodies, constraint rows and loads, numbered and laid out in arrays."""
