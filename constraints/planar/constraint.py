"""Base class of planar constraints, between bodies in a common plane and frames with z along its normal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quirk.bodies import rotation
from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.errors import InputError
from quirk.util import validate

from ..constraint import Joint, checked_ends, initial_point
from .body import PlanarBody, about_normal
from .plane import Plane


class PlanarConstraint(Joint):
    """A constraint between two bodies in a common plane; one of them may be the ground.

    The coordinates x, y and phi of the ground are zero: its body coordinates are the coordinates of the plane. The z
    axis of both frames is along the normal; each frame is given by its origin and a vector along x, in body
    coordinates.

    Attributes
    ----------
    plane : Plane

    Raises
    ------
    InputError
        If a body is neither planar nor the ground, planes differ, or a point or vector is invalid.
    """

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        active: bool,
        *,
        point: ArrayLike | None = None,
        point_i: ArrayLike | None = (0, 0),
        point_j: ArrayLike | None = (0, 0),
        vector_i: ArrayLike = (1, 0),
        vector_j: ArrayLike = (1, 0),
    ) -> None:
        owner = checked_ends(f"planar.{type(self).__name__}", name, body_i, body_j)
        self.plane = common_plane(owner, {"body_i": body_i, "body_j": body_j})
        if (point is not None) == (point_i is not None or point_j is not None):
            raise InputError(
                f"{owner}: give either point, in the plane at the initial poses, or point_i and point_j in body "
                "coordinates"
            )
        if point is not None:
            where = validate.array(owner, "point", point, (2,))
            point_i, point_j = in_body(body_i, where), in_body(body_j, where)
        frame_i = frame_at(self.plane, body_i, *_placed(owner, "i", point_i, vector_i))
        frame_j = frame_at(self.plane, body_j, *_placed(owner, "j", point_j, vector_j))
        super().__init__(name, body_i, body_j, frame_i=frame_i, frame_j=frame_j, active=active)

    def initial_separation(self) -> np.ndarray:
        """Return the vector (3,), m, from the origin of frame i to that of frame j at the initial poses, in frame i."""
        axes = rotation.matrix(self.body_i.orientation) @ self.frame_i.matrix
        d = initial_point(self.body_j, self.frame_j.origin) - initial_point(self.body_i, self.frame_i.origin)
        return axes.T @ d

    def __str__(self) -> str:
        return f"planar.{super().__str__()}"


def common_plane(owner: str, bodies: dict[str, Body | Ground]) -> Plane:
    """Return the common plane of `bodies`, a dict by argument name; raise an InputError if there is none."""
    for argument, body in bodies.items():
        if not isinstance(body, PlanarBody | Ground):
            raise InputError(f"{owner}: {argument} must be a quirk.planar.PlanarBody or quirk.GROUND; got {body!r}")
    first, *others = (body for body in bodies.values() if isinstance(body, PlanarBody))
    for body in others:
        if not body.plane.same_as(first.plane):
            raise InputError(
                f"{owner}: {first} and {body} must move in the same plane; they have {first.plane!r} and {body.plane!r}"
            )
    return first.plane


def coordinates(body: PlanarBody | Ground) -> np.ndarray:
    """Return the coordinates (x, y, phi) of a body at its initial pose, m and rad."""
    return body.coordinates if isinstance(body, PlanarBody) else np.zeros(3)


def in_body(body: PlanarBody | Ground, point: np.ndarray) -> np.ndarray:
    """Return the body coordinates (2,), m, at the initial pose, of the point with plane coordinates `point` (2,), m."""
    x, y, angle = coordinates(body)
    return turned(-angle) @ (point - [x, y])


def turned(angle: float) -> np.ndarray:
    """Return the rotation matrix (2, 2) for an angle, rad."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine], [sine, cosine]])


def frame_at(plane: Plane, body: PlanarBody | Ground, point: np.ndarray, angle: float = 0.0) -> Frame:
    """Return a frame fixed in a body, with its origin at `point` (2,), body coordinates, m.

    Its x axis is rotated by `angle`, rad, from the body's x axis. The body coordinates of the ground are those of the
    plane.
    """
    turn = about_normal(angle)
    if isinstance(body, Ground):
        return Frame(plane.point(point), rotation.multiply(plane.orientation, turn))
    return Frame([*point, 0.0], turn)


def _placed(owner: str, end: str, point: Any, vector: Any) -> tuple[np.ndarray, float]:
    """Return a checked point (2,), m, and the direction angle, rad, of a vector (2,).

    `owner` and `end` ("i" or "j") name the constraint and the body in errors.
    """
    point = validate.array(owner, f"point_{end}", point, (2,))
    a, b = validate.array(owner, f"vector_{end}", vector, (2,))
    if not (a or b):
        raise InputError(f"{owner}: vector_{end} must be a direction; got the zero vector")
    return point, float(np.arctan2(b, a))
