"""The transposed tangent, compiled: from weights of accelerations and states back to those of what they follow from."""
