"""Derivatives of functions: jets (time derivatives and gradients), dual numbers, and tapes of operations."""
