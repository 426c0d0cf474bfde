"""From where a mechanism is seen at first: from the side from which it is widest, and a little from above."""

from __future__ import annotations

import numpy as np

from quirk.bodies.frame import axes_with_z

from .contents import Extent

# Degrees: of view, from the widest side, and from the horizontal.
FIELD, ASIDE, ABOVE = 40.0, 28.0, 20.0
# A mechanism whose extent in a direction is below this part of its size is flat, and seen nearly at right angles.
FLAT, ASIDE_OF_FLAT, ABOVE_OF_LYING = 0.35, 14.0, 58.0
# Distance over half the width of what is shown.
DISTANCE = 4.3


def axes_of(extent: Extent) -> np.ndarray:
    """Return axes (3, 3) in N as columns: to the right, away from the viewer, and up."""
    up = extent.up
    widths = _box(extent)
    horizontal = np.argsort(np.abs(up), kind="stable")[:2].tolist()
    thin, wide = sorted(horizontal, key=lambda k: (widths[k], -k))
    back = np.eye(3)[thin]
    right = np.cross(back, up)
    if right[wide] < 0:
        back = -back
    # `back` leads away from the viewer, who has the other horizontal direction to his right.
    return axes_with_z(up, np.cross(back, up))


def direction(extent: Extent) -> np.ndarray:
    """Return the unit vector (3,) to the viewer, along the axes of `axes_of`."""
    widths = np.abs(axes_of(extent)).T @ _box(extent)
    most = widths.max()
    aside = ASIDE_OF_FLAT if widths[1] < FLAT * most else ASIDE
    above = ABOVE_OF_LYING if widths[2] < FLAT * min(widths[:2]) else ABOVE
    azimuth, elevation = np.radians(aside), np.radians(above)
    across = np.cos(elevation) * np.array([np.sin(azimuth), -np.cos(azimuth)])
    return np.array([*across, np.sin(elevation)])


def _box(extent: Extent) -> np.ndarray:
    """Sides (3,) of the box around the mechanism, m: around all of its motion unless it goes far."""
    return np.ptp(extent.start, axis=0) if extent.far else extent.high - extent.low
