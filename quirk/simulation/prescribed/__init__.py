"""Motions that are given: kinematics, and the efforts that inverse dynamics finds."""
