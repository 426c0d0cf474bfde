"""Import of URDF, SDF and MJCF files, and export to URDF."""

from .imported import Imported
from .mjcf import load_mjcf
from .sdf import load_sdf
from .urdf import load_urdf

__all__ = ["Imported", "load_mjcf", "load_sdf", "load_urdf"]
