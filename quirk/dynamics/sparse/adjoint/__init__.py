"""Adjoint of a run: gradient of a scalar function with respect to initial state and parameters, computed backward."""
