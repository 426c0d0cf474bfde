"""Symbolic phase, once per system: elimination order, sparsity patterns, and the constant tables of the solver."""
