"""A plane fixed in the inertial frame, in which planar bodies move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quirk.bodies import rotation
from quirk.bodies.frame import Frame, axes_with_z
from quirk.errors import InputError
from quirk.util import validate
from quirk.util.immutable import Immutable

# Sine of the angle to the normal below which a direction counts as parallel to it.
ALONG_NORMAL = 1e-9
# Largest difference of the axes, and of the origins relative to their distance from the inertial origin, at which two
# planes count as equal.
SAME = 1e-12


class Plane(Immutable):
    """A plane fixed in the inertial frame, with axes x and y.

    Parameters
    ----------
    origin : (3,)
        Point with x = y = 0, in the inertial frame, m.
    normal : (3,)
        Normal in the inertial frame; angles are positive about it.
    x : (3,), optional
        Direction of the x axis in the inertial frame; its component along the normal is removed. Default: derived from
        the inertial coordinate axis most nearly in the plane.

    Attributes
    ----------
    origin : (3,) m, inertial frame
    axes : (3, 3) x, y and the normal as columns, inertial frame
    orientation : (4,) unit quaternion, plane to inertial frame
    frame : the plane as a Frame in inertial coordinates

    Raises
    ------
    InputError
        If an argument is not a point or direction, or x is along the normal.

    Examples
    --------
    >>> quirk.planar.Plane(normal=[0, -1, 0], x=[1, 0, 0]).point([1.0, 2.0])
    array([1., 0., 2.])
    """

    def __init__(
        self, origin: ArrayLike = (0, 0, 0), normal: ArrayLike = (0, 0, 1), x: ArrayLike | None = None
    ) -> None:
        owner = "Plane"
        self.origin = validate.array(owner, "origin", origin, (3,))
        z = validate.direction(owner, "normal", normal)
        hint = None if x is None else validate.direction(owner, "x", x)
        if hint is not None and np.linalg.norm(np.cross(z, hint)) < ALONG_NORMAL:
            raise InputError(f"{owner}: x must not be along the normal {z.tolist()}; got {x!r}")
        self.axes = axes_with_z(z, hint)
        self.orientation = rotation.from_matrix(self.axes)
        self.frame = Frame(self.origin, self.orientation)

    def vector(self, xy: ArrayLike) -> np.ndarray:
        """Return the vector (3,) in the inertial frame with components `xy` (2,) along the plane's axes."""
        return self.axes[:, :2] @ validate.array(str(self), "xy", xy, (2,))

    def point(self, xy: ArrayLike) -> np.ndarray:
        """Return the point (3,), m, in the inertial frame with coordinates `xy` (2,), m, in the plane."""
        return self.origin + self.vector(xy)

    def same_as(self, other: Plane) -> bool:
        """Whether the origin and axes equal those of the plane `other`, up to round-off."""
        apart = np.abs(self.origin - other.origin).max()
        turned = np.abs(self.axes - other.axes).max()
        return bool(apart <= SAME * max(1.0, np.abs(self.origin).max()) and turned <= SAME)

    def __repr__(self) -> str:
        x, _, normal = self.axes.T.tolist()
        return f"Plane(origin={self.origin.tolist()}, normal={normal}, x={x})"


# The x-y plane of the inertial frame.
XY = Plane()
