"""Batches: systems with the same parts but different parameters, such as masses, simulated together.

The systems of a batch are called its members.
"""

from .batch import Batch

__all__ = ["Batch"]
