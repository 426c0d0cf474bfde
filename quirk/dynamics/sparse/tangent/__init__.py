"""The tangent of the accelerations, compiled: how they change along directions of states and parameters."""
