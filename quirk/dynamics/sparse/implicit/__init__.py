"""The linear systems of implicit steps: exact Jacobians by blocks, factorised at linear cost."""
