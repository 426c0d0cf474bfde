"""Batches: many systems that have the same parts but differ in numbers, such as masses, and move together.

The systems of a batch are its members.
"""

from .batch import Batch

__all__ = ["Batch"]
