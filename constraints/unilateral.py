"""Unilateral constraints: they close by impact, act as constraint rows while closed, and open under tension.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..errors import InputError
from ..functions import degrees
from ..functions.expression import function_of
from ..functions.user_function import check_arguments
from ..util import validate
from ..util.validate import PointsLike
from .angle import free_angle
from .bounded import SurfaceParts
from .constraint import Constraint, Joint, checked_ends, end_points
from .custom import LETTERS, UNITS, OfBodies
from .relation import FORCE, TORQUE, MovingFrame, Relation
from .user_gap import PointOfBody, UserGap, UserPoint


class Unilateral(Constraint):
    """A constraint with one or more gaps that cannot be negative.

    When a gap closes, its rate jumps: with Newton's coefficient of restitution e, the new rate is -e times the approach
    rate.
    If the approach rate is below `rest_speed`, the constraint comes to rest. At rest its row is active, with a
    nonnegative multiplier (contact pressure); when the multiplier would become negative, the gap opens.

    Attributes
    ----------
    gaps : one relation with one row for each gap, m or rad
    restitution : coefficient of restitution e, from 0 to 1
    rest_speed : m/s or rad/s, or None for the default; see docs/events.md
    turning : axis (X, Y or Z) of the joint angle on which the gaps depend, or None; all turns of the angle are counted
    joint : joint whose angle the gaps depend on, or None
    parts : the parts of a bounded surface, or None for other constraints
    """

    gaps: tuple[Relation, ...]
    parts: SurfaceParts | None = None
    turning: int | None = None
    joint: Joint | None = None

    def _bounce(self, restitution: Any, rest_speed: Any) -> None:
        """Check and set the coefficient of restitution and the rest speed."""
        self.restitution = validate.non_negative(f"{self}", "restitution", restitution)
        if self.restitution > 1:
            raise InputError(f"{self}: restitution must be between 0 and 1; got {restitution!r}")
        self.rest_speed = None if rest_speed is None else validate.non_negative(f"{self}", "rest_speed", rest_speed)

    @cached_property
    def closed(self) -> tuple[Self, ...]:
        """Constraints that act while the gaps are closed: one equality constraint for each of `resting_gaps`."""
        return tuple(self._with(gap) for gap in self.resting_gaps)

    @cached_property
    def resting_gaps(self) -> tuple[Relation, ...]:
        """Gap functions for the closed constraint: one for each gap, or for each part of a bounded surface.

        For a bounded surface, each function refers to a single part (face, edge, corner or rim) and is smooth.
        """
        return self.gaps

    def gap_of_row(self, row: int) -> int:
        """Return the index of the gap that belongs to constraint row `row` of the closed constraint."""
        return row if len(self.gaps) > 1 else 0

    def borders(self, part: int) -> tuple[Relation, ...]:
        """Return functions for the distances (m) from the borders of part `part` of a bounded surface.

        The result is empty for all other surfaces.
        """
        return ()

    def _with(self, gap: Relation) -> Self:
        made = object.__new__(type(self))
        vars(made).update({**vars(self), "primitives": (gap,), "gaps": (), "active": True, "_made": None})
        return made


class Stop(Unilateral):
    """Limits of a joint coordinate, at which body j bounces or comes to rest.

    Parameters
    ----------
    name : str
    joint : Joint
        Joint with a free rotation or translation.
    lower, upper : float, optional
        Limits of the coordinate as in ``result[joint]``, rad or m, with all turns counted; at least one of them.
    coordinate : "rotation" or "translation", optional
        Coordinate of a joint that has both.
    restitution : float
        Coefficient of restitution, from 0 (default) to 1.
    rest_speed : float, optional
        Approach speed below which an impact brings the coordinate to rest, rad/s or m/s.

    Examples
    --------
    >>> arm = quirk.Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis="y")
    >>> stop = quirk.Stop("stop", hinge, upper=0.5)
    >>> result = quirk.simulate(quirk.System([arm, hinge, stop], gravity=[0, 0, -9.81]), 2.0, output=0.1)
    >>> result.joint("hinge").angle[-1:].round(6)
    array([0.5])
    """

    def __init__(
        self,
        name: str,
        joint: Joint,
        *,
        lower: float | None = None,
        upper: float | None = None,
        coordinate: str | None = None,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        owner = f'Stop "{validate.name("Stop", name)}"'
        if not isinstance(joint, Joint):
            raise InputError(f"{owner}: joint must be a joint such as quirk.Revolute; got {joint!r}")
        rotates, axis = free_coordinate(owner, joint, coordinate)
        checked = degrees.counting_turns if rotates else validate.number
        limits = [(-1.0, "upper", upper), (1.0, "lower", lower)]
        given = [(sign, checked(owner, argument, x)) for sign, argument, x in limits if x is not None]
        if not given:
            raise InputError(f"{owner}: give lower or upper, or both")
        if lower is not None and upper is not None and not lower < upper:
            raise InputError(f"{owner}: lower must be less than upper; got {lower!r} and {upper!r}")
        super().__init__(name, joint.body_i, joint.body_j, joint.frame_i, joint.frame_j, active=False)
        self.joint, self.turning = joint, axis if rotates else None
        function = AngleToLimit(axis, joint.of_three) if rotates else SlideToLimit(axis)
        labels = {-1.0: "upper limit", 1.0: "lower limit"}
        unit = TORQUE if rotates else FORCE
        self.gaps = tuple(Relation(function, (labels[sign],), (unit,), (sign, limit)) for sign, limit in given)
        self._bounce(restitution, rest_speed)


class Rope(Unilateral):
    """A rope between two points, which can be slack or taut, 1 row.

    Parameters
    ----------
    points : (2, 3)
        Both ends in the inertial frame at the initial poses, m.
    point_i, point_j : (3,), body axes
        Alternatively, both ends in the coordinates of body i and body j, m; default: the centers of mass.
    length : float
        Maximum distance of the ends, m.
    restitution, rest_speed : as for `Stop`, m/s

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> rope = quirk.Rope("rope", quirk.GROUND, ball, length=1.0)
    >>> result = quirk.simulate(quirk.System([ball, rope], gravity=[0, 0, -9.81]), 1.0, output=0.1)
    >>> result.body("ball").position[-1].round(6) + 0.0
    array([ 0.,  0., -1.])
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        length: float,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        points: PointsLike | None = None,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        owner = checked_ends("Rope", name, body_i, body_j)
        frame_i, frame_j = end_points(owner, body_i, body_j, point_i, point_j, points)
        super().__init__(name, body_i, body_j, frame_i, frame_j, active=False)
        self.length = validate.positive(owner, "length", length)
        self.gaps = (Relation(slack, ("slack",), (FORCE,), (self.length,)),)
        self._bounce(restitution, rest_speed)


class OneSided(OfBodies, Unilateral):
    """A unilateral constraint with a user-defined gap function of the poses, which is differentiated automatically.

    Parameters
    ----------
    name : str
    bodies : Body or list of bodies
        GROUND may be included. Results contain the load on the second body of the list, or on a single body, at its
        center of mass.
    gap : function, or the string of an `Expression`
        ``gap(t, a, b, ...)`` with a moving frame for each body, as for `Implicit`; it returns a scalar that
        is positive if the constraint is open and zero if it is closed.
    unit : "force" or "torque"
        Unit of the multiplier: "force" if the gap is a length, "torque" if it is an angle.
    point : (3,), function, or the string of an `Expression`, optional
        Contact point, which friction requires, m: a point fixed in the last body in the list, in its body coordinates,
        or ``point(t, a, b, ...)``, which returns the point in the inertial frame.
    restitution, rest_speed : as for `Stop`

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1])
    >>> floor = quirk.OneSided("floor", ball, lambda t, a: a.position[2] - 0.1)
    >>> result = quirk.simulate(quirk.System([ball, floor], gravity=[0, 0, -10]), 1.0, output=0.1)
    >>> result.body("ball").position[-1].round(6) + 0.0
    array([0. , 0. , 0.1])
    """

    def __init__(
        self,
        name: str,
        bodies: Body | Ground | Iterable[Body | Ground],
        gap: Callable[..., Any] | str,
        *,
        unit: str = "force",
        point: ArrayLike | None = None,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        super().__init__("OneSided", name, bodies, active=False)
        gap = function_of(f"{self}", "gap", gap, ("t", *LETTERS[: self.given]))
        if not callable(gap):
            raise InputError(f"{self}: gap must be a function gap(t, a, b, ...) of moving frames; got {gap!r}")
        check_arguments(f"{self}", "gap", gap, {"gap(t, a, b, ...) of moving frames": 1 + self.given})
        validate.choice(f"{self}", "unit", unit, tuple(UNITS))
        skipped = len(self.members) - self.given
        self.gaps = (Relation(UserGap(gap, skipped, f"{self}"), ("gap",), (UNITS[unit],), source=gap),)
        self.point = None if point is None else self._place(point, skipped)
        self._bounce(restitution, rest_speed)

    def _place(self, point: Any, skipped: int) -> UserPoint | PointOfBody:
        """Return a function of (t, frames) that returns the contact point (3,) in the inertial frame, m.

        `point` is the user's argument; `skipped` is the number of leading frames that a user function does not receive.
        """
        if isinstance(point, str) or callable(point):
            function = function_of(f"{self}", "point", point, ("t", *LETTERS[: self.given]))
            return UserPoint(function, skipped, f"{self}")
        return PointOfBody(tuple(validate.array(f"{self}", "point", point, (3,)).tolist()))


def free_coordinate(owner: str, joint: Joint, coordinate: str | None) -> tuple[bool, int]:
    """Return whether the free coordinate of a joint is a rotation, and the index of its axis.

    `coordinate` selects the "rotation" or "translation" of a joint that has both.
    """
    validate.choice(owner, "coordinate", coordinate, (None, "rotation", "translation"))
    free = {"rotation": joint.rotation_axis, "translation": joint.translation_axis}
    named = [kind for kind, axis in free.items() if axis is not None and coordinate in (None, kind)]
    if len(named) != 1:
        what = "both turns and slides" if named else f"has no free {coordinate or 'rotation or translation'} of its own"
        raise InputError(f'{owner}: {joint} {what}: give coordinate="rotation" or "translation" of a joint that has it')
    axis = free[named[0]]
    assert axis is not None
    return named[0] == "rotation", axis


@dataclass(frozen=True)
class AngleToLimit:
    """Distance of a joint angle from its limit, rad, modulo full turns, as a gap function.

    The distance is positive within the limit and negative beyond it. `axis` is the index of the rotation axis;
    `of_three` says whether the angle is one of the three of a joint. The constants are the sign and the limit.
    """

    axis: int
    of_three: bool

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the distance; the time and the motions are unused."""
        i, j = frames
        return [(free_angle(i, j, self.axis, self.of_three) - numbers[1]).wrapped(2 * np.pi) * numbers[0]]


@dataclass(frozen=True)
class SlideToLimit:
    """Distance of a displacement along an axis of frame i from its limit, m, as a gap function.

    The distance is positive within the limit and negative beyond it. `axis` is the index of the axis. The constants are
    the sign and the limit.
    """

    axis: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the distance; the time and the motions are unused."""
        i, j = frames
        return [(i.rotation[:, self.axis] @ (j.position - i.position) - numbers[1]) * numbers[0]]


def slack(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the slack of a rope: its length minus the distance of its ends, m."""
    d = frames[1].position - frames[0].position
    return [numbers[0] - (d @ d).sqrt()]
