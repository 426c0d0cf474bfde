"""Adjoint of the tangent, compiled: gradients by accelerations and states propagated back to states and parameters."""
