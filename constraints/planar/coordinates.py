"""Coordinates x, y and phi in a plane, as functions of moving frames."""

from __future__ import annotations

import numpy as np

from quirk.autodiff.jet import Jet

from ..angle import twist
from ..primitives import Z
from ..relation import MovingFrame, frame_numbers
from .plane import Plane

# Number of constants of a relation that define its plane.
PLANE = 12


def plane_numbers(plane: Plane) -> tuple[float, ...]:
    """Return the constants of a constraint function that define a plane, as input of `resting_frame`."""
    return tuple(frame_numbers(plane.frame).tolist())


def resting_frame(numbers: list[Jet]) -> MovingFrame:
    """Return the plane as a moving frame at rest, from the first constants of a constraint function."""
    jets = np.array(numbers[:PLANE], dtype=object)
    origin, rest = jets[:3], jets[:3] * 0  # the integer 0 is a structural zero
    return MovingFrame(origin, jets[3:].reshape(3, 3), rest, rest)


def along(plane: MovingFrame, axis: int, frame: MovingFrame) -> Jet:
    """Return the coordinate (m) of the origin of a frame along the axis X or Y of the plane."""
    return plane.rotation[:, axis] @ (frame.position - plane.position)


def phi(plane: MovingFrame, frame: MovingFrame) -> Jet:
    """Return the angle, rad, in (-pi, pi], from the x axis of the plane to the x axis of a frame."""
    return twist(plane, frame, Z)
