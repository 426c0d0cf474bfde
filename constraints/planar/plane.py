"""A plane fixed in N, in which planar bodies move."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quirk.bodies import rotation
from quirk.bodies.frame import Frame, axes_with_z
from quirk.errors import InputError
from quirk.util import validate
from quirk.util.immutable import Immutable

# Sine of the angle to the normal below which a direction has no part in the plane to speak of.
ALONG_NORMAL = 1e-9
# Axes of one plane differ by no more than this, and origins by no more than this part of their distance from N's.
SAME = 1e-12


class Plane(Immutable):
    """A plane fixed in N, with two axes of its own.

    Parameters
    ----------
    origin : (3,)
        Where x = y = 0, in N, m.
    normal : (3,)
        In N; angles are counted about it.
    x : (3,), optional
        Direction of the first axis, in N; of one that leaves the plane, its part in the plane. Default: from the
        coordinate axis of N most nearly in the plane.

    Attributes
    ----------
    origin : (3,) m, in N
    axes : (3, 3) x, y and the normal as columns, in N
    orientation : (4,) unit quaternion, plane to N
    frame : the same as a Frame in N

    Raises
    ------
    InputError
        If a value is no point or direction, or x is along the normal.

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
        """Return the vector with components `xy` (2,) along the plane's axes: (3,), in N."""
        return self.axes[:, :2] @ validate.array(str(self), "xy", xy, (2,))

    def point(self, xy: ArrayLike) -> np.ndarray:
        """Return the point with coordinates `xy` (2,), m, in the plane: (3,), m, in N."""
        return self.origin + self.vector(xy)

    def same_as(self, other: Plane) -> bool:
        """Whether origin and axes are those of another plane, up to round-off."""
        apart = np.abs(self.origin - other.origin).max()
        turned = np.abs(self.axes - other.axes).max()
        return bool(apart <= SAME * max(1.0, np.abs(self.origin).max()) and turned <= SAME)

    def __repr__(self) -> str:
        x, _, normal = self.axes.T.tolist()
        return f"Plane(origin={self.origin.tolist()}, normal={normal}, x={x})"


# The plane of the first two axes of N.
XY = Plane()
