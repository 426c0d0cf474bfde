"""Checkpoints of long runs, from which an interrupted run can be continued.

A run with a checkpoint is divided into intervals by restart points, which contain all data required to continue. Each
interval is written to disk when it is complete.
"""

from .checkpoint import Checkpoint, read_checkpoint
from .identity import identity

__all__ = ["Checkpoint", "identity", "read_checkpoint"]
