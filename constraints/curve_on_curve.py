"""Contact of two plane profiles, such as cams and followers.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util.validate import PointsLike
from .closest_point import TERMS
from .constraint import Constraint, checked_ends
from .curve_contact import touching_pieces
from .implicit import solved
from .lookup import Lookup
from .numbers import Numbers
from .primitives import X, Y, Z
from .relation import FORCE, MovingFrame, Relation
from .spline import Spline, along

ON_EACH = 1 + 2 * TERMS
TOUCHING = Lookup(touching_pieces, 2 * ON_EACH)

# Sine of the largest angle between the profile planes that counts as parallel.
PARALLEL = 1e-6


def cross(a: Any, b: Any) -> Any:
    """Return the z component of the cross product of two vectors a and b in a plane."""
    return a[X] * b[Y] - a[Y] * b[X]


def gap(t: Jet, frames: list[MovingFrame], numbers: Numbers, motions: list[Jet]) -> Sequence[Jet]:
    """Return the distance (m) of two profiles along their common normal, positive to the left of profile i."""
    i, j = frames
    turn = (i.rotation.T @ j.rotation)[:Z, :Z]
    origin = (i.rotation.T @ (j.position - i.position))[:Z]
    rows = np.column_stack([turn, origin])
    places = TOUCHING(numbers.array, 0, *(x.value for x in rows.ravel()))
    (u, *piece_i), (v, *piece_j) = places[:ON_EACH], places[ON_EACH:]
    without = np.array([[x.bare for x in row] for row in rows], dtype=object)

    def common_normal(unknowns: Sequence[Jet], poses_only: bool) -> tuple[list[Jet], list[list[Jet]]]:
        """Return the two residuals of the common normal, and their derivatives with respect to the curve parameters.

        `unknowns` are the parameters of the contact points on the two curves. The residuals vanish where the tangents
        are parallel and the vector between the points is perpendicular to them. If `poses_only` is true, the time
        derivatives of the poses of the curves are ignored.
        """
        moving = without if poses_only else rows
        (c, tangent, second), (c_j, tangent_j, second_j) = along(piece_i, unknowns[0]), along(piece_j, unknowns[1])
        turn = moving[:, :Z]
        d, tangent_j, second_j = turn @ c_j + moving[:, Z] - c, turn @ tangent_j, turn @ second_j
        slopes = [
            [cross(second, tangent_j), cross(tangent, second_j)],
            [d @ second - tangent @ tangent, tangent_j @ tangent],
        ]
        return [cross(tangent, tangent_j), d @ tangent], slopes

    on_i, on_j = solved(common_normal, [origin[X].constant(u), origin[X].constant(v)])
    (c, tangent, _), (c_j, _, _) = along(piece_i, on_i), along(piece_j, on_j)
    d = turn @ c_j + origin - c
    return [cross(tangent, d) * (tangent @ tangent).sqrt().reciprocal()]


NOWHERE = (
    "its profiles have no common normal near their closest points, or touch at the end of an open one; extend it with "
    "points, or close it"
)


class CurveOnCurve(Constraint):
    """Contact of two profiles in a common plane, each fixed in its body, 1 row; the load is along the common normal.

    The profiles slide without friction. The row can push and pull: the sign of the normal force shows whether a real
    contact would persist. Each profile is a spline through given points. Phi is the distance of the profiles along
    their common normal; among several common normals, the nearest to the closest points of the profiles is used. If the
    profiles coincide along an arc, the common normal is undefined. The profiles are in the x-y plane of frame i; other
    joints must keep them in this plane.

    Parameters
    ----------
    points_i, points_j : (n, 2)
        Points of each profile in order, along x and y of its frame, m; at least 2, or 3 for a closed profile.
    closed_i, closed_j : bool
        Whether a profile is closed from its last point to the first. A run in which the contact leaves the end of an
        open profile ends with an error.
    degree : 3 or 5
        Degree of both splines. Cubic splines have continuous curvature, so that accelerations are continuous; splines
        of degree 5 also have continuous jerk and snap, which makes high-order methods at tight tolerances more
        efficient.
    frame_i, frame_j : Frame
        Frames in bodies i and j, with parallel z axes; default: the body frames. The load acts at the origin of frame
        j.

    Attributes
    ----------
    curve_i, curve_j : Spline

    Examples
    --------
    >>> turn = np.linspace(0, 2 * np.pi, 9)[:-1]
    >>> circle = np.column_stack([np.cos(turn), np.sin(turn)])
    >>> cam, roller = quirk.Body.sphere("cam", 1.0, 0.1), quirk.Body.sphere("roller", 1.0, 0.1, position=[1.5, 0, 0])
    >>> touch = quirk.CurveOnCurve("touch", cam, roller, points_i=circle, points_j=0.5 * circle)
    >>> touch.row_count
    1
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        points_i: PointsLike,
        points_j: PointsLike,
        closed_i: bool = True,
        closed_j: bool = True,
        degree: int = 5,
        frame_i: Frame | None = None,
        frame_j: Frame | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("CurveOnCurve", name, body_i, body_j)
        frames = [Frame() if frame is None else frame for frame in (frame_i, frame_j)]
        for argument, frame in zip(("frame_i", "frame_j"), frames, strict=True):
            if not isinstance(frame, Frame):
                raise InputError(f"{owner}: {argument} must be a quirk.Frame in body coordinates; got {frame!r}")
        super().__init__(name, body_i, body_j, frames[0], frames[1], active)
        bodies = body_i, body_j
        one, two = (rotation.matrix(b.orientation) @ f.matrix[:, Z] for b, f in zip(bodies, frames, strict=True))
        if np.linalg.norm(np.cross(one, two)) > PARALLEL:
            angle = np.degrees(np.arctan2(np.linalg.norm(np.cross(one, two)), one @ two))
            raise InputError(
                f"{owner}: the profiles must lie in parallel planes, the x-y planes of frame_i and frame_j; at the "
                f"initial poses their z axes are {angle:.4g} degrees apart: turn a body, or give frames"
            )
        self.curve_i = Spline(owner, "points_i", points_i, closed_i, 2, degree)
        self.curve_j = Spline(owner, "points_j", points_j, closed_j, 2, degree)
        numbers = self.curve_i.table + self.curve_j.table
        self.primitives = (Relation(gap, ("gap",), (FORCE,), numbers, undefined=NOWHERE),)
