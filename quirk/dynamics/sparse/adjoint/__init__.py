"""Adjoint of a run: backward propagation of gradients to the initial state and parameters."""
