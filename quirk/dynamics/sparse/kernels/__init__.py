"""Compiled functions over bodies, joints and forces: constraint rows, factorization, solution, and y' = f(t, y)."""
