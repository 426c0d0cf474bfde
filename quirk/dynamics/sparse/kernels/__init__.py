"""Kernels over bodies, joints and forces: constraint rows, factorization, solution, and the right-hand side y'."""
