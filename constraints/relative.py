"""Relative coordinates of two joint frames: position and orientation of frame j relative to frame i.

All functions broadcast over leading (time) dimensions. Angles are the body-fixed 1-2-3 angles of frame j relative to
frame i, as in the notes on inter-body joints (eqs. 19-22); translations are resolved in frame i.

A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.frame import Frame
from ..jit.compilation import shared
from ..util.misuse import explained

if TYPE_CHECKING:
    from .constraint import Constraint


@explained
@dataclass(frozen=True)
class FrameMotion:
    """Position and velocity of a moving joint frame, in the inertial frame.

    Attributes
    ----------
    origin : (..., 3) m
    velocity : (..., 3) of the origin, m/s
    axes : (..., 3, 3) as columns
    spin : (..., 3) angular velocity, rad/s
    """

    origin: np.ndarray
    velocity: np.ndarray
    axes: np.ndarray
    spin: np.ndarray

    @classmethod
    def of(
        cls, frame: Frame, position: np.ndarray, R: np.ndarray, velocity: np.ndarray, spin: np.ndarray
    ) -> FrameMotion:
        """Return the motion of a joint frame from the motion of its body.

        Position, velocity and angular velocity `spin` (..., 3) of the body are in the inertial frame, and `R` (..., 3,
        3) is body to inertial.
        """
        arm = R @ frame.origin
        return cls(position + arm, velocity + np.cross(spin, arm), R @ frame.matrix, spin)


def displacement(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Return the vector (..., 3), m, from the origin of frame i to the origin of frame j, in frame i."""
    return _resolve(i.axes, j.origin - i.origin)


def velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Return the velocity (..., 3), m/s, of the origin of frame j in frame i: the time derivative of `displacement`."""
    d = j.origin - i.origin
    return _resolve(i.axes, j.velocity - i.velocity - np.cross(i.spin, d))


def relative_velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Return the velocity (..., 3), m/s, of the origin of frame j minus that of frame i, in the axes of frame i.

    Both velocities are relative to the inertial frame, so that the rotation of frame i is not subtracted as in
    `velocity`.
    """
    return _resolve(i.axes, j.velocity - i.velocity)


def crossed(constraint: Constraint) -> bool:
    """Whether the relative angles of a constraint are the two angles of a universal joint, about x_i and y_j.

    This holds for a universal joint and for a driver of a universal joint.
    """
    return bool(getattr(getattr(constraint, "joint", constraint), "cross", False))


@shared
def nearest(angle: Any, reference: Any) -> Any:
    """Return the angle (rad) equal to `angle` modulo full turns that is nearest to `reference`."""
    return angle + 2.0 * np.pi * np.floor((reference - angle) / (2.0 * np.pi) + 0.5)


def angular_velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Return the angular velocity (..., 3), rad/s, of frame j relative to frame i, in frame i."""
    return _resolve(i.axes, j.spin - i.spin)


def angle_rates(angles: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Return the rates (..., 3), rad/s, of 1-2-3 angles (..., 3), rad (notes on inter-body joints, eq. 22).

    `spin` (..., 3) is the angular velocity of frame j relative to frame i, rad/s, in frame i.
    """
    (s1, c1), (s2, c2) = ((np.sin(angles[..., k]), np.cos(angles[..., k])) for k in (0, 1))
    x, y, z = np.moveaxis(spin, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        third = (c1 * z - s1 * y) / c2
        return np.stack([x - s2 * third, c1 * y + s1 * z, third], axis=-1)


def cross_rates(angles: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Return the rates (..., 3), rad/s, of the angles of a universal joint: about x of frame i, y of frame j, and 0.

    `spin` (..., 3) is the angular velocity of frame j relative to frame i, in frame i.
    """
    x, y, z = np.moveaxis(spin, -1, 0)
    return np.stack([x, np.cos(angles[..., 0]) * y + np.sin(angles[..., 0]) * z, np.zeros_like(x)], axis=-1)


def _resolve(axes: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the components of inertial vectors (..., 3) along the columns of `axes` (..., 3, 3)."""
    return np.einsum("...ki,...k->...i", axes, vector)
