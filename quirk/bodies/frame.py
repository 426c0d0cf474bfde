"""A frame fixed in a body, such as the location and orientation of a joint."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..util import validate
from ..util.immutable import Immutable
from . import rotation


class Frame(Immutable):
    """An origin and three axes fixed in a body.

    Parameters
    ----------
    origin : (3,) meters, body coordinates, from the center of mass
    rotation : orientation (4 floats, matrix (3, 3), `quaternion.quaternion` or scipy `Rotation`)
        Rotation from this frame to body axes: the columns of a matrix are the axes of the frame in body coordinates.

    Attributes
    ----------
    origin : (3,) array, m, body coordinates
    rotation : (4,) unit quaternion, frame to body
    matrix : (3, 3) axes of the frame as columns, body coordinates

    Examples
    --------
    >>> tip = quirk.Frame(origin=[0.5, 0, 0], rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> (tip.matrix @ [1, 0, 0]).round(9) + 0.0
    array([0., 1., 0.])
    """

    def __init__(self, origin: ArrayLike = (0, 0, 0), rotation: rotation.OrientationLike = (1, 0, 0, 0)) -> None:
        self.origin = validate.array("Frame", "origin", origin, (3,))
        self.rotation = as_orientation("Frame", "rotation", rotation)
        self.matrix = matrix(self.rotation)

    def __repr__(self) -> str:
        return f"Frame(origin={self.origin.tolist()}, rotation={self.rotation.tolist()})"


# Aliases, because the constructor's argument `rotation` shadows the module.
as_orientation = rotation.as_orientation
matrix = rotation.matrix


def axes_with_z(z: np.ndarray, x_hint: np.ndarray | None = None) -> np.ndarray:
    """Return a right-handed orthonormal basis (3, 3), as columns, whose third vector is the unit vector `z`.

    The first vector lies in the plane of `z` and `x_hint`. Without a hint, that plane contains the coordinate axis most
    nearly perpendicular to `z`.
    """
    if x_hint is None:
        x_hint = np.eye(3)[np.argmin(np.abs(z))]
    x = x_hint - (x_hint @ z) * z
    x /= np.linalg.norm(x)
    (a, b, c), (d, e, f) = z.tolist(), x.tolist()
    return np.array([[d, b * f - c * e, a], [e, c * d - a * f, b], [f, a * e - b * d, c]])
