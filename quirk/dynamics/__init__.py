"""Equations of motion.

They comprise the model of a system as arrays, the dense reference solver, contact, and the compiled sparse solver.
"""
