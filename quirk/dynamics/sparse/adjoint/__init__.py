"""Adjoint of a run: gradients are propagated backward in time to the initial state and parameters."""
