"""Python interface of the compiled solver: its arrays, calls of compiled code, and results."""
