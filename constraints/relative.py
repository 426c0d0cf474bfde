"""Relative coordinates of two joint frames: where frame j is, seen from frame i.

Works over any leading (time) dimensions. Angles are the 1-2-3 body-fixed angles of frame j relative to
frame i, as in the notes on inter-body joints (eqs. 19-22); translations are resolved in frame i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import Jet
from ..bodies import rotation
from ..bodies.frame import Frame
from ..jit.compilation import shared
from ..util.misuse import explained
from .primitives import Y

if TYPE_CHECKING:
    from .constraint import Constraint


@explained
@dataclass(frozen=True)
class FrameMotion:
    """A joint frame in motion: origin and its velocity (..., 3) in N, axes (..., 3, 3), spin (..., 3) in N."""

    origin: np.ndarray
    velocity: np.ndarray
    axes: np.ndarray
    spin: np.ndarray

    @classmethod
    def of(
        cls, frame: Frame, position: np.ndarray, R: np.ndarray, velocity: np.ndarray, spin: np.ndarray
    ) -> FrameMotion:
        """Carry `frame` along with a body: its position and velocity in N, R body to N, spin in N."""
        arm = R @ frame.origin
        return cls(position + arm, velocity + np.cross(spin, arm), R @ frame.matrix, spin)


def displacement(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Origin of frame j from that of frame i (..., 3), m, in frame i."""
    return _resolve(i.axes, j.origin - i.origin)


def velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Rate of `displacement` (..., 3), m/s, in frame i: velocity of j as seen by an observer on i."""
    d = j.origin - i.origin
    return _resolve(i.axes, j.velocity - i.velocity - np.cross(i.spin, d))


def relative_velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Velocity of frame j's origin less that of frame i's (..., 3), m/s, both in N, resolved in frame i."""
    return _resolve(i.axes, j.velocity - i.velocity)


def crossed(constraint: Constraint) -> bool:
    """Whether the angles of a constraint are those of a cross; a driver has those of its joint."""
    return bool(getattr(getattr(constraint, "joint", constraint), "cross", False))


def angle_about(i: FrameMotion, j: FrameMotion, axis: int) -> Any:
    """Angle of frame j relative to frame i, rad, about the one axis of frame i about which it turns.

    In [-pi, pi]. About x and z it is that of 1-2-3 angles; about y it goes on beyond a right one.
    """
    R = np.swapaxes(i.axes, -1, -2) @ j.axes
    if axis != Y:
        return rotation.angles_123(R)[axis]
    cosine = (R[0, 0] * R[0, 0] + R[0, 1] * R[0, 1]) ** 0.5
    return np.arctan2(R[0, 2], cosine if float_of(R[0, 0]) >= 0 else -cosine)


def float_of(x: Any) -> float:
    """A number, or the value of a jet."""
    return float(x.value if isinstance(x, Jet) else x)


@shared
def nearest(angle: Any, reference: Any) -> Any:
    """The angle, rad, plus the whole turns that bring it next to another; in (-pi, pi] next to zero."""
    return angle + 2.0 * np.pi * np.floor((reference - angle) / (2.0 * np.pi) + 0.5)


def angular_velocity(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """Angular velocity of j relative to i (..., 3), rad/s, in frame i."""
    return _resolve(i.axes, j.spin - i.spin)


def angle_rates(angles: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Rates (..., 3) of 1-2-3 angles (..., 3) from the angular velocity (..., 3) in frame i: eq. 22 of the notes."""
    (s1, c1), (s2, c2) = ((np.sin(angles[..., k]), np.cos(angles[..., k])) for k in (0, 1))
    x, y, z = np.moveaxis(spin, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        third = (c1 * z - s1 * y) / c2
        return np.stack([x - s2 * third, c1 * y + s1 * z, third], axis=-1)


def cross_rates(angles: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """Rates (..., 3) of the angles of a cross: about x of frame i and y of frame j, and zero."""
    x, y, z = np.moveaxis(spin, -1, 0)
    return np.stack([x, np.cos(angles[..., 0]) * y + np.sin(angles[..., 0]) * z, np.zeros_like(x)], axis=-1)


def _resolve(axes: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Components of N vectors (..., 3) along the columns of `axes` (..., 3, 3)."""
    return np.einsum("...ki,...k->...i", axes, vector)
