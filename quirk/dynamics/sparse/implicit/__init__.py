"""Linear systems of implicit steps, with exact Jacobians, solved by block elimination at linear cost."""
