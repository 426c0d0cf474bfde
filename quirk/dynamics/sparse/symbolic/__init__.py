"""Preparation of the compiled solver, once per system: elimination order, sparsity patterns and constant tables."""
