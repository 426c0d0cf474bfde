"""The plane and its coordinates x, y and phi, as relations see them."""

from __future__ import annotations

import numpy as np

from quirk.autodiff.jet import Jet

from ..angle import twist
from ..primitives import Z
from ..relation import MovingFrame, frame_numbers
from .plane import Plane

# So many numbers of a relation tell its plane.
PLANE = 12


def plane_numbers(plane: Plane) -> tuple[float, ...]:
    """Return the numbers from which `resting_frame` makes the plane."""
    return tuple(frame_numbers(plane.frame).tolist())


def resting_frame(numbers: list[Jet]) -> MovingFrame:
    """Return the plane as a frame that does not move, from the first numbers of a relation."""
    jets = np.array(numbers[:PLANE], dtype=object)
    origin, rest = jets[:3], jets[:3] * 0  # the integer: nothing to compute
    return MovingFrame(origin, jets[3:].reshape(3, 3), rest, rest)


def along(plane: MovingFrame, axis: int, frame: MovingFrame) -> Jet:
    """Return the coordinate, m, of a frame's origin along x or y of the plane."""
    return plane.rotation[:, axis] @ (frame.position - plane.position)


def phi(plane: MovingFrame, frame: MovingFrame) -> Jet:
    """Return the angle, rad, in (-pi, pi], of a frame's x axis from that of the plane."""
    return twist(plane, frame, Z)
