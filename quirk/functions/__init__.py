"""User functions: motions, expressions as text, and Python functions that are traced into machine code."""
