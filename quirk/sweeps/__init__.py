"""Parameter sweeps: many runs in worker processes or on a cluster, combined in one Dataset."""

from .sweep import sweep

__all__ = ["sweep"]
