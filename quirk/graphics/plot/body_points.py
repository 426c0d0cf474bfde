"""Points of bodies in plots: validation of arguments, and names for legends.

A body point is a pair: the name of a body, and a point (3,) in its coordinates, m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import Body
from quirk.errors import InputError
from quirk.result.point_paths import local_point

from .figures import literal_text

if TYPE_CHECKING:
    from quirk.system.system import System

# Plots whose error messages name the body.
PLOTS = ("plot.paths", "plot.ghosts", "plot.derivatives")
# Points are equal if their distance is below this fraction of their distance from the center of mass.
SAME = 1e-9


def checked_points(owner: str, argument: str, points: Any, system: System) -> list[tuple[str, np.ndarray]]:
    """Return the validated body points of a list of pairs (body name, point).

    A point is (3,), m, body coordinates, or the name of a frame of the body. `owner` and `argument` name the calling
    function and its argument in error messages.
    """
    try:
        pairs = [(name, local) for name, local in points]
    except (TypeError, ValueError):
        raise InputError(
            f'{owner}: {argument} must be a list such as [("rod", [0.5, 0, 0]), ("rod", "tip")]: names of bodies with '
            f"points in body coordinates or names of their frames; got {points!r}"
        ) from None
    found = []
    for name, local in pairs:
        if not isinstance(name, str) or not isinstance(system[name], Body):
            item = system[name] if isinstance(name, str) else repr(name)
            wanted = (
                f'"{name}" must be the name of a body' if owner in PLOTS else f"{argument} must be points of bodies"
            )
            raise InputError(f"{owner}: {wanted}; got {item}")
        found.append((name, local_point(system[name], local, owner, f"point of {name!r}")))
    return found


def labels_of(system: System, points: Sequence[tuple[str, np.ndarray]]) -> list[str]:
    """Return the names of body points for a legend.

    A point is named after a frame or joint at its position; other points are named like "point of rod", with numbers if
    there are several.
    """
    labels = [_named(system, name, local) for name, local in points]
    unnamed = [name for (name, _), label in zip(points, labels, strict=True) if not label]
    seen: dict[str, int] = {}
    for k, (name, _) in enumerate(points):
        if not labels[k]:
            seen[name] = seen.get(name, 0) + 1
            number = f" {seen[name]}" if unnamed.count(name) > 1 else ""
            labels[k] = f"point{number} of {literal_text(name)}"
    return labels


def _named(system: System, name: str, local: np.ndarray) -> str:
    """Return the name of a frame or joint at the point `local` of a body; an empty string if there is none."""
    body = system[name]
    if not local.any():
        return literal_text(name)
    for label, frame in body.frames.items():
        if _same(frame.origin, local):
            return f"{literal_text(name)} {literal_text(label)}"
    for constraint in system.constraints:
        if any(end is body and _same(frame.origin, local) for end, frame in constraint.ends):
            return f"{literal_text(name)} at {literal_text(constraint.name)}"
    return ""


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max() <= SAME * np.abs(b).max())
