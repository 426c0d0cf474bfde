"""Tangent of the accelerations, compiled: their derivatives along directions of states and parameters."""
