"""Options of importers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from numpy.typing import ArrayLike


class ImportOptions(TypedDict, total=False):
    """Keyword arguments of `load_urdf`, `load_sdf` and `load_mjcf`; see these functions."""

    base: str
    gravity: ArrayLike | None
    keyframe: int | str | None
    limits: bool
    packages: Mapping[str, str | Path] | Sequence[str | Path] | None
    inertia_tolerance: float | None
    repair_inertia: bool
    shapes: str | None
    contacts: bool | str
