"""What a long run writes down while it goes on, so that it can be killed at any moment and go on from there."""

from .checkpoint import Checkpoint, read_checkpoint
from .identity import identity

__all__ = ["Checkpoint", "identity", "read_checkpoint"]
