"""Axes of joints in the viewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba

from quirk.bodies import rotation
from quirk.bodies.frame import Frame

from ..scene.scene import drawing_of
from .joints import to_axis
from .parts import AxisMarker, Look
from .surfaces import tube

if TYPE_CHECKING:
    from quirk.system.system import System

COLOR = to_rgba("#0072b2")
# Half the length of an axis and its radius, relative to the size of the mechanism.
HALF, RADIUS = 0.2, 0.004


def axis_parts(system: System, size: float) -> list[AxisMarker]:
    """Return thin rods along the free axes of joints, at the joint points on body i.

    `size` is the size of the mechanism, m.
    """
    companions = system.companions
    rod = tube(np.array([[0, 0, -HALF * size], [0, 0, HALF * size]]), RADIUS * size, 6)
    found = []
    for joint in system.constraints:
        axes = (getattr(joint, name, None) for name in ("rotation_axis", "translation_axis"))
        if joint in companions or not drawing_of(joint).show or all(axis is None for axis in axes):
            continue
        body, frame = joint.ends[0]
        place = Frame(frame.origin, rotation.multiply(frame.rotation, to_axis(joint)))
        found.append(AxisMarker(f"{joint.name} axis", [Look(rod, COLOR)], body, place, joint.name))
    return found
