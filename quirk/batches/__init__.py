"""Batches: many systems of one topology that differ in numbers, advanced together."""

from .batch import Batch

__all__ = ["Batch"]
