"""Many runs: parameters, worker processes or a cluster, and one Dataset of all that comes out."""

from .sweep import sweep

__all__ = ["sweep"]
