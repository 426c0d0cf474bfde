"""Import of a file in any supported format, determined by the root element."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack, cast

from quirk.errors import InputError
from quirk.util.misuse import explained
from quirk.util.suggestion import suggestion

from .imported import Imported, checked_path
from .markup import parse, shortened
from .mjcf import load_mjcf
from .options import ImportOptions
from .sdf import load_sdf
from .urdf import load_urdf

READERS: dict[str, Callable[..., Imported]] = {"robot": load_urdf, "sdf": load_sdf, "mujoco": load_mjcf}


@explained
def read(path: str | Path, **options: Unpack[ImportOptions]) -> Imported:
    """Read a URDF, SDF or MJCF file; its root element determines the format.

    Parameters
    ----------
    path : name of a file
    limits, inertia_tolerance, repair_inertia, shapes, contacts : as for `load_urdf`, for all formats
    base : as for `load_urdf`, for URDF
    gravity, packages : as for `load_urdf` and `load_sdf`, for URDF and SDF
    keyframe : as for `load_mjcf`, for MJCF

    Raises
    ------
    InputError
        If the format is unknown, or an option does not exist for the format.
    """
    file = checked_path("read", path)
    root = parse(file)
    if root.tag not in READERS:
        raise root.error(f"a file starts with <robot>, <sdf> or <mujoco>; got <{shortened(root.tag)}>")
    reader = READERS[root.tag]
    known = {p.name for p in inspect.signature(reader).parameters.values() if p.kind is p.KEYWORD_ONLY}
    unknown = sorted(set(options) - known)
    if unknown:
        raise InputError(
            f"{file.name} is read by {reader.__name__}, which has no option {unknown[0]!r}; "
            f"{suggestion(unknown[0], sorted(known), every=True)}"
        )
    return reader(file, **cast(dict[str, Any], options))
