"""Python interface of the compiled solver: workspaces, calls of compiled code, and results."""
