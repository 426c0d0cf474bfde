"""Derivatives of functions: jets (in time and by parameters), dual numbers, and tapes of operations."""
