"""Parameter sweeps: many runs in worker processes or on a cluster, collected in one xarray Dataset."""

from .sweep import sweep

__all__ = ["sweep"]
