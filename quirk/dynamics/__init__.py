"""Equations of motion: the flat model, constraint rows, the Udwadia-Kalaba equation, projection."""
