"""Initial view of a mechanism: perpendicular to its widest side, and slightly from above.

An `Extent` is the size of a mechanism and the region swept by its motion.
"""

from __future__ import annotations

import numpy as np

from quirk.bodies.frame import axes_with_z

from .contents import Extent

# Field of view, azimuth from the normal of the mechanism's widest side, and elevation, degrees.
FIELD, ASIDE, ABOVE = 40.0, 28.0, 20.0
# A mechanism is flat if its extent in one direction is below the fraction FLAT of its size. Azimuth for a flat vertical
# mechanism, and elevation for a flat horizontal mechanism, degrees.
FLAT, ASIDE_OF_FLAT, ABOVE_OF_LYING = 0.35, 14.0, 58.0
# Distance of the viewer relative to half the width of the displayed region.
DISTANCE = 4.3


def axes_of(extent: Extent) -> np.ndarray:
    """Return the viewing axes (3, 3) as columns: right, away from the viewer, and up, inertial components.

    `extent` is the size and position of all displayed parts.
    """
    up = extent.up
    widths = _box(extent)
    horizontal = np.argsort(np.abs(up), kind="stable")[:2].tolist()
    thin, wide = sorted(horizontal, key=lambda k: (widths[k], -k))
    back = np.eye(3)[thin]
    right = np.cross(back, up)
    if right[wide] < 0:
        back = -back
    # `back` points away from the viewer, whose right is the other horizontal direction.
    return axes_with_z(up, np.cross(back, up))


def direction(extent: Extent) -> np.ndarray:
    """Return the unit vector (3,) toward the viewer, in the viewing axes of `axes_of`.

    `extent` is the size and position of all displayed parts.
    """
    widths = np.abs(axes_of(extent)).T @ _box(extent)
    most = widths.max()
    aside = ASIDE_OF_FLAT if widths[1] < FLAT * most else ASIDE
    above = ABOVE_OF_LYING if widths[2] < FLAT * min(widths[:2]) else ABOVE
    azimuth, elevation = np.radians(aside), np.radians(above)
    across = np.cos(elevation) * np.array([np.sin(azimuth), -np.cos(azimuth)])
    return np.array([*across, np.sin(elevation)])


def _box(extent: Extent) -> np.ndarray:
    """Return the edge lengths (3,), m, of the bounding box of the whole motion or, if it is long, of the first pose."""
    return np.ptp(extent.start, axis=0) if extent.is_wide else extent.high - extent.low
