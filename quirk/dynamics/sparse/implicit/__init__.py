"""Linear systems of implicit steps: exact Jacobians by blocks, factorized at linear cost."""
