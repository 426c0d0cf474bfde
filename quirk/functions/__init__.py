"""User functions: motions, expressions as text, and Python functions that are compiled to machine code."""
