"""From where a mechanism in space is seen: a parallel projection, in which equal lengths stay equal everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Elevation and azimuth, degrees, of the usual view, which shows most of what moves in a vertical plane.
USUAL = 20.0, -60.0
# The same of what lies flat on a level plane, and of what moves in a vertical plane whose normal is the first axis.
FROM_ABOVE, FROM_THE_SIDE = (55.0, -70.0), (20.0, 30.0)
# What extends less along a direction than this part of the most lies across it.
FLAT = 0.25


@dataclass(frozen=True)
class Camera:
    """A parallel projection.

    Attributes
    ----------
    axes : (3, 3), rows: to the right and upwards in the picture, and towards the viewer, in N
    vertical : number of the axis of N that is shown upright
    """

    axes: np.ndarray
    vertical: int

    @classmethod
    def at(cls, elevation: float, azimuth: float, vertical: int) -> Camera:
        """Return the view from there, angles in degrees: at azimuth 0 from the axis that follows the vertical one."""
        e, a = np.radians(elevation), np.radians(azimuth)
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        axes = np.stack([right, np.cross(towards, right), towards])
        # From (first level axis, second, vertical) to x, y, z.
        order = [(vertical + 1) % 3, (vertical + 2) % 3, vertical]
        found = np.empty((3, 3))
        found[:, order] = axes
        return cls(found, vertical)

    @property
    def towards(self) -> np.ndarray:
        """Direction (3,) in N to the viewer."""
        return self.axes[2]

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Return points (..., 3) as coordinates to the right, upwards and towards the viewer (..., 3), m."""
        return points @ self.axes.T


def vertical_of(gravity: np.ndarray) -> int:
    """Return the axis along which gravity (3,) acts, z without any."""
    return int(np.argmax(np.abs(gravity))) if gravity.any() else 2


def usual_view(extent: np.ndarray, vertical: int) -> tuple[float, float]:
    """Return elevation and azimuth, degrees, from which a motion that extends so far (3,), m, is seen well."""
    thin = int(np.argmin(extent))
    if extent[thin] > FLAT * extent.max():
        return USUAL
    return {0: FROM_THE_SIDE, 1: USUAL, 2: FROM_ABOVE}[(thin - vertical - 1) % 3]
