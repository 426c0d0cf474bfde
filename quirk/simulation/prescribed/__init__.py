"""Prescribed motions: kinematics of driven mechanisms, and inverse dynamics."""
