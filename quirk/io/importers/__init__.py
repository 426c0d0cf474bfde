"""Import of URDF, SDF and MJCF files, and export to URDF.

Links are the rigid bodies of these files; a weld fixes two links to each other. Links that are welded together become
one body. Contents of the file that the system lacks or represents differently are listed as omissions.
"""

from .imported import Imported
from .mjcf import load_mjcf
from .reading import read
from .sdf import load_sdf
from .to_urdf import to_urdf
from .urdf import load_urdf

__all__ = ["Imported", "load_mjcf", "load_sdf", "load_urdf", "read", "to_urdf"]
