"""Functions handed in by users: motions, expressions as text, and Python that is traced into machine code."""
