"""Parallel projections of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Elevation and azimuth, degrees, of the default view, which suits motions in space and in most vertical planes.
USUAL = 20.0, -60.0
# Elevation and azimuth, degrees, for a motion in a horizontal plane, and in a vertical plane normal to the first axis.
FROM_ABOVE, FROM_THE_SIDE = (55.0, -70.0), (20.0, 30.0)
# A motion is flat if its extent in one direction is below this fraction of the largest extent.
FLAT = 0.25


@dataclass(frozen=True)
class Camera:
    """Parallel projection onto an image plane.

    Attributes
    ----------
    axes : (3, 3) unit vectors right, up, and toward the viewer as rows, inertial components
    vertical : index of the inertial axis that is shown vertically
    """

    axes: np.ndarray
    vertical: int

    @classmethod
    def at(cls, elevation: float, azimuth: float, vertical: int) -> Camera:
        """Return the projection for an elevation and azimuth, degrees, defined as in matplotlib's `view_init`.

        The inertial axis with index `vertical` points up; azimuth 0 is along the next axis in the cyclic order x, y, z.
        """
        e, a = np.radians(elevation), np.radians(azimuth)
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        axes = np.stack([right, np.cross(towards, right), towards])
        # Permutation from (first horizontal axis, second, vertical) to x, y, z.
        order = [(vertical + 1) % 3, (vertical + 2) % 3, vertical]
        found = np.empty((3, 3))
        found[:, order] = axes
        return cls(found, vertical)

    @property
    def towards(self) -> np.ndarray:
        """Direction (3,) toward the viewer, inertial components."""
        return self.axes[2]

    def to_view(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) of the inertial frame, m, in viewing coordinates: right, up, and toward the viewer."""
        return points @ self.axes.T


def vertical_of(gravity: np.ndarray) -> int:
    """Return the index of the inertial axis along which gravity (3,) acts; 2 (z) without gravity."""
    return int(np.argmax(np.abs(gravity))) if gravity.any() else 2


def usual_view(extent: np.ndarray, vertical: int) -> tuple[float, float]:
    """Return the default elevation and azimuth, degrees, for a motion of the given extent (3,), m.

    `vertical` is the index of the vertical axis.
    """
    thin = int(np.argmin(extent))
    if extent[thin] > FLAT * extent.max():
        return USUAL
    return {0: FROM_THE_SIDE, 1: USUAL, 2: FROM_ABOVE}[(thin - vertical - 1) % 3]
