"""Linear systems of implicit steps, with exact Jacobians, factorized by blocks at linear cost."""
