"""Checkpoints of long runs, from which an interrupted run continues."""

from .checkpoint import Checkpoint, read_checkpoint
from .identity import identity

__all__ = ["Checkpoint", "identity", "read_checkpoint"]
