"""Equations of motion: the model as arrays, the dense reference solver, contact, and the compiled sparse solver."""
