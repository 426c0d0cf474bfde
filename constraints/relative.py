"""Relative coordinates of two joint frames: where frame j is, seen from frame i.

Works over any leading (time) dimensions. Angles are the 1-2-3 body-fixed angles of frame j relative to
frame i, as in the notes on inter-body joints (eqs. 19-22); translations are resolved in frame i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk import rotation
from quirk.frame import Frame


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


def angles(i: FrameMotion, j: FrameMotion) -> np.ndarray:
    """1-2-3 angles (..., 3), rad, of frame j relative to frame i."""
    return rotation.angles_123(np.swapaxes(i.axes, -1, -2) @ j.axes)


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


def continued(times: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """An angle (nt,) known up to full turns, continued along its rate (nt,)."""
    if len(times) < 2:
        return angle
    ahead = np.diff(times) * 0.5 * (rate[1:] + rate[:-1])
    ahead = np.where(np.isfinite(ahead), ahead, 0.0)
    step = np.diff(angle)
    step = step + 2 * np.pi * np.round((ahead - step) / (2 * np.pi))
    return angle[0] + np.concatenate([[0.0], np.cumsum(step)])


def _resolve(axes: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Components of N vectors (..., 3) along the columns of `axes` (..., 3, 3)."""
    return np.einsum("...ki,...k->...i", axes, vector)
