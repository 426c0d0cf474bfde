"""The Python side of the compiled solver: tables, entries into compiled code, and results read back."""
