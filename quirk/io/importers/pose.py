"""Poses of frames relative to other frames."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.frame import Frame


def _still() -> np.ndarray:
    return np.zeros(3)


@dataclass(frozen=True)
class Pose:
    """Pose of a frame relative to another one, the outer frame.

    Attributes
    ----------
    axes : (3, 3) axes of the frame as columns
    origin : (3,) position of its origin, m
    """

    axes: np.ndarray = field(default_factory=lambda: np.eye(3))
    origin: np.ndarray = field(default_factory=_still)

    def __matmul__(self, inner: Pose) -> Pose:
        """Return the pose of a third frame in the outer frame, from its pose `inner` in this frame."""
        return Pose(self.axes @ inner.axes, self.point(inner.origin))

    def point(self, local: np.ndarray) -> np.ndarray:
        """Return the coordinates (3,) of a point in the outer frame from its coordinates `local` (3,) in this frame."""
        return self.axes @ local + self.origin

    @property
    def inverse(self) -> Pose:
        """Pose of the outer frame relative to this one."""
        return Pose(self.axes.T, -(self.axes.T @ self.origin))

    @property
    def quaternion(self) -> np.ndarray:
        """Unit quaternion (4,) of the axes, scalar first."""
        return rotation.from_matrix(self.axes)

    @property
    def frame(self) -> Frame:
        """Frame of a body with the same pose."""
        return Frame(self.origin, self.quaternion)


def of_frame(frame: Frame) -> Pose:
    """Return the pose, relative to its body, of a frame of a body."""
    return Pose(frame.matrix, frame.origin)


def turned(axis: int, angle: float) -> np.ndarray:
    """Return the rotation matrix (3, 3) for a rotation by `angle`, rad, about axis 0, 1 or 2 (x, y or z)."""
    R = np.eye(3)
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R[a, a] = R[b, b] = np.cos(angle)
    R[b, a] = np.sin(angle)
    R[a, b] = -R[b, a]
    return R


def from_rpy(origin: np.ndarray, rpy: np.ndarray) -> Pose:
    """Return a pose from its origin (3,), m, and roll, pitch and yaw, rad, about the fixed axes x, y and z."""
    roll, pitch, yaw = rpy
    return Pose(turned(2, yaw) @ turned(1, pitch) @ turned(0, roll), np.array(origin, dtype=float))


def to_rpy(R: np.ndarray) -> np.ndarray:
    """Return roll, pitch and yaw (3,), rad, of a rotation matrix (3, 3)."""
    # Rotations about fixed axes equal those about moving axes in reverse order: R^T = R_x(-r) R_y(-p) R_z(-y).
    return -rotation.angles_123(R.T)
