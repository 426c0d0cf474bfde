"""A point on a space curve, such as a slot, track or wire.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from ..util.validate import PointsLike
from .closest_point import TERMS, nearest_piece
from .constraint import Constraint, checked_ends
from .implicit import solved
from .lookup import Lookup
from .numbers import Numbers
from .relation import FORCE, MovingFrame, Relation
from .spline import Spline, along

NEAREST = Lookup(nearest_piece, 1 + 3 * TERMS)

# Number of candidate directions in the search for one that is never tangential to the curve.
TRIED = 500
# Largest accepted cosine of the angle between this direction and a tangent; above it the normals of the curve rotate
# too fast along the curve.
MOST_COSINE = 0.999
# A curve turns back on itself where its speed is this fraction of the largest one, or where the cosine of the angle
# between successive tangents is within this of -1: round-off.
TURNED_BACK = 1e-12


def off_curve(t: Jet, frames: list[MovingFrame], numbers: Numbers, motions: list[Jet]) -> Sequence[Jet]:
    """Return the vector from the nearest point of a curve to a point of body j, along two normals of the curve, m."""
    i, j = frames
    point = i.rotation.T @ (j.position - i.position)
    bare = np.array([x.bare for x in point], dtype=object)
    place, *piece = NEAREST(numbers.array, SPACE_NUMBERS, *(x.value for x in point))

    def foot(unknowns: Sequence[Jet], poses_only: bool) -> tuple[list[Jet], list[list[Jet]]]:
        """Return the residual of the nearest-point condition, and its derivative with respect to the curve parameter.

        The residual vanishes where the vector from the curve to the point is perpendicular to the tangent. If
        `poses_only` is true, the time derivatives of the position of the point are ignored.
        """
        c, tangent, second = along(piece, unknowns[0])
        d = (bare if poses_only else point) - c
        return [d @ tangent], [[d @ second - tangent @ tangent]]

    (u,) = solved(foot, [point[0].constant(place)])
    c, tangent, _ = along(piece, u)
    aside: Any = np.cross(np.array(numbers[:SPACE_NUMBERS], dtype=object), tangent)
    first = aside * (aside @ aside).sqrt().reciprocal()
    second = np.cross(tangent, first) * (tangent @ tangent).sqrt().reciprocal()
    return [first @ (point - c), second @ (point - c)]


# Number of constants before the table: a direction that is never tangential to the curve.
SPACE_NUMBERS = 3

ENDED = "its point is at the end of an open curve; extend the curve, or close it"


class PointOnCurve(Constraint):
    """A point of body j stays on a curve fixed in body i, 2 rows; free to slide along it. Its load is a force.

    The curve is a spline through `points`. Phi is the vector from the nearest point of the curve to `point`, along two
    normals of the curve. If branches of the curve are closer to each other than the point is to the curve, the nearest
    point may be on the wrong branch. A run through a crossing of the curve therefore requires tight tolerances.

    Parameters
    ----------
    points : (n, 3)
        Points of the curve in order, in frame i, m; at least 2, or 3 for a closed curve.
    closed : bool
        Whether the curve is closed from its last point to the first. A run in which the point leaves the end of an open
        curve ends with an error.
    degree : 3 or 5
        Degree of the spline. A cubic spline has continuous curvature, so that accelerations are continuous; degree 5
        also gives continuous jerk and snap, which makes high-order methods at tight tolerances more efficient.
    point : (3,), body axes
        The point in the coordinates of body j, m.
    frame_i : Frame
        Frame in body i; default: the body frame.

    Attributes
    ----------
    curve : Spline

    Examples
    --------
    >>> bead = quirk.Body.sphere("bead", 0.1, 0.02)
    >>> wire = quirk.PointOnCurve("wire", quirk.GROUND, bead, points=[[-1, 0, 1], [0, 0, 0], [1, 0, 1]])
    >>> quirk.System([bead, wire]).mobility().degrees_of_freedom
    4
    """

    row_count = 2

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        points: PointsLike,
        closed: bool = False,
        degree: int = 5,
        point: ArrayLike = (0, 0, 0),
        frame_i: Frame | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("PointOnCurve", name, body_i, body_j)
        frame_i = Frame() if frame_i is None else frame_i
        if not isinstance(frame_i, Frame):
            raise InputError(f"{owner}: frame_i must be a quirk.Frame in body coordinates; got {frame_i!r}")
        frame_j = Frame(validate.array(owner, "point", point, (3,)))
        super().__init__(name, body_i, body_j, frame_i, frame_j, active)
        self.curve = Spline(owner, "points", points, closed, 3, degree)
        numbers = (*nontangential_direction(owner, self.curve), *self.curve.table)
        labels = ("off the curve", "off the curve, across")
        self.primitives = (Relation(off_curve, labels, (FORCE, FORCE), numbers, undefined=ENDED),)


def nontangential_direction(owner: str, curve: Spline) -> tuple[float, ...]:
    """Return a unit vector (3,) that is nowhere tangent to the curve; for a plane curve, the normal of its plane.

    It is the one of several candidate directions that is closest to perpendicular to all tangents.
    """
    parameters = np.linspace(0, 1, 9)[:-1]
    s = (curve.breaks[:-1, None] + np.diff(curve.breaks)[:, None] * parameters).ravel()
    points, tangents, _ = curve.derivatives([*s, curve.breaks[-1] * (1 - 1e-12)])
    speeds = np.linalg.norm(tangents, axis=1, keepdims=True)
    stops = speeds[:, 0] <= TURNED_BACK * speeds.max()
    tangents = tangents / np.where(stops[:, None], 1.0, speeds)
    stops[1:] |= 1 + (tangents[1:] * tangents[:-1]).sum(axis=1) <= TURNED_BACK
    if stops.any():
        near = points[stops.argmax()].tolist()
        raise InputError(
            f"{owner}: points define a curve that turns back on itself near {near}, where it has no normals; "
            "leave out the points at which it turns back, or use two curves"
        )
    # Candidates: evenly over a hemisphere, and the principal axes of the tangents.
    k = np.arange(TRIED) + 0.5
    height, turn = 1 - k / TRIED, np.pi * (1 + np.sqrt(5)) * k
    around = np.sqrt(1 - height**2)
    tried = np.column_stack([around * np.cos(turn), around * np.sin(turn), height])
    tried = np.vstack([np.linalg.svd(tangents, full_matrices=False)[2], tried])
    cosines = np.abs(tangents @ tried.T).max(axis=0)
    best = int(cosines.argmin())
    if cosines[best] > MOST_COSINE:
        raise InputError(
            f"{owner}: points define a curve with tangents in all directions, for which no continuous normals are "
            "defined; join shorter curves"
        )
    return tuple(tried[best].tolist())
