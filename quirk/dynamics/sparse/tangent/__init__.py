"""Directional derivatives of accelerations with respect to states and parameters, in compiled code."""
