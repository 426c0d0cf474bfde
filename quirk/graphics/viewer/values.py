"""Values of a clicked part, formatted as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.body import Body
from quirk.result import pose_interpolation as in_between
from quirk.result.body_views import BodyView
from quirk.result.joint_views import FREE, JointView
from quirk.util.rounding import rounded_off
from quirk.util.si_prefixes import prefixed

from .parts import BodyPart, Part

if TYPE_CHECKING:
    from quirk.result.result import Result

# Quantities listed for a body, and for a joint or force, with units.
OF_BODIES = {"position": "m", "velocity": "m/s", "angular_velocity": "rad/s"}
OF_LOADS = {"force": "N", "torque": "N m"}
OF_FREE = {"angle": "rad", "travel": "m"}


def values_of(result: Result, part: Part, time: float) -> str:
    """Return the name of a part and its values at a time (s) as Markdown.

    Vectors are given by magnitude and components.
    """
    name = part.name if isinstance(part, BodyPart) else getattr(part, "of", part.name)
    lines = [f"**{name}** at {time:.4g} s"]
    if isinstance(part, BodyPart) and not isinstance(part.body, Body):
        return lines[0]
    for label, unit, values in _quantities(result, name):
        now = in_between.linear(result, values.reshape(len(values), -1), np.array([time]))[0]
        now = rounded_off(now, float(np.abs(values).max()))
        factor, shown = prefixed(unit, float(np.linalg.norm(now)))
        components = f" ({', '.join(f'{x / factor:.4g}' for x in now)})" if len(now) > 1 else ""
        size = np.linalg.norm(now) if len(now) > 1 else now[0]
        lines.append(f"{label}: {size / factor:.4g} {shown}{components}")
    return "\n\n".join(lines)


def _quantities(result: Result, name: str) -> list[tuple[str, str, np.ndarray]]:
    view = result[name]
    if isinstance(view, BodyView):
        return [(label.replace("_", " "), unit, getattr(view, label)) for label, unit in OF_BODIES.items()]
    free = [] if not isinstance(view, JointView) else [
        (kind, OF_FREE[kind], getattr(view, kind)) for kind, axis in FREE.items()
        if getattr(view.of, axis, None) is not None
    ]  # fmt: skip
    return free + [(label, unit, getattr(view, label)()) for label, unit in OF_LOADS.items()]
