"""Checkpoints of long runs, from which an interrupted run can be continued.

Restart points divide a run with a checkpoint into intervals; a restart point is a state with all data required to
continue the run from there. Each interval is written to disk when it is complete.
"""

from .checkpoint import Checkpoint, read_checkpoint
from .identity import identity

__all__ = ["Checkpoint", "identity", "read_checkpoint"]
