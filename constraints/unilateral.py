"""Constraints that push and do not pull: they close by impact, rest as a row, and open when they would pull."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..errors import InputError
from ..functions import degrees
from ..functions.expression import function_of
from ..functions.user_function import on_jets
from ..util import validate
from ..util.validate import PointsLike
from .angle import free_angle
from .bounded import SurfaceParts
from .constraint import Constraint, Joint, checked_ends, end_points
from .custom import LETTERS, UNITS, OfBodies
from .relation import FORCE, TORQUE, MovingFrame, Relation

# gap(frames, numbers) -> how far a unilateral constraint is open
GapFunction = Callable[[Sequence[Any], Sequence[Any]], Any]


class Unilateral(Constraint):
    """A constraint with one or more gaps that cannot be negative.

    Where a gap closes, its rate jumps: Newton's restitution e leaves it -e times what it was. Slower than `rest_speed`
    it comes to rest. At rest its row is active, with a multiplier that pushes; when that would pull, the gap opens.

    Attributes
    ----------
    gaps : a relation of one row for each gap, m or rad
    restitution : e, from 0 to 1
    rest_speed : m/s or rad/s, or None for the default; see docs/events.md
    turning : of the joint whose angle the gaps depend on the axis, with all turns counted, or None
    joint : that joint
    parts : of a bounded surface that it has, or None
    """

    gaps: tuple[Relation, ...]
    parts: SurfaceParts | None = None
    turning: int | None = None
    joint: Joint | None = None

    def _bounce(self, restitution: Any, rest_speed: Any) -> None:
        """Check and set how it bounces."""
        self.restitution = validate.non_negative(f"{self}", "restitution", restitution)
        if self.restitution > 1:
            raise InputError(f"{self}: restitution must be between 0 and 1; got {restitution!r}")
        self.rest_speed = None if rest_speed is None else validate.non_negative(f"{self}", "rest_speed", rest_speed)

    @cached_property
    def closed(self) -> tuple[Self, ...]:
        """The constraint as it is at rest, with each of its rows, which then holds both ways."""
        return tuple(self._with(gap) for gap in self.resting_gaps)

    @cached_property
    def resting_gaps(self) -> tuple[Relation, ...]:
        """The gaps as rows have them at rest: one for each gap or, of a bounded surface, for each of its parts."""
        return self.gaps

    def gap_of_row(self, row: int) -> int:
        """Return the number of the gap to which a row at rest belongs."""
        return row if len(self.gaps) > 1 else 0

    def borders(self, part: int) -> tuple[Relation, ...]:
        """Return how far a part of a bounded surface reaches beyond where it is touched, m; of others nothing."""
        return ()

    def _with(self, gap: Relation) -> Self:
        made = object.__new__(type(self))
        vars(made).update({**vars(self), "primitives": (gap,), "gaps": (), "active": True, "_made": None})
        return made


class Stop(Unilateral):
    """Limits of a joint coordinate: body j bounces off where it reaches them, or comes to rest there.

    Parameters
    ----------
    name : str
    joint : Joint
        One with a free rotation or translation.
    lower, upper : float, optional
        rad or m, of the coordinate as ``result[joint]`` shows it, all turns counted; at least one of them.
    coordinate : "rotation" or "translation", optional
        For a joint with both.
    restitution : float
        From 0, the default, to 1.
    rest_speed : float, optional
        rad/s or m/s; slower impacts come to rest.

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
        function = ((TILTS if joint.of_three else ANGLES) if rotates else SLIDES)[axis]
        labels = {-1.0: "upper limit", 1.0: "lower limit"}
        unit = TORQUE if rotates else FORCE
        self.gaps = tuple(Relation(function, (labels[sign],), (unit,), (sign, limit)) for sign, limit in given)
        self._bounce(restitution, rest_speed)


class Rope(Unilateral):
    """A rope between two points: it may go slack, and pulls when it is taut, 1 row.

    Parameters
    ----------
    points : (2, 3)
        Both ends in the inertial frame, m, at the initial poses.
    point_i, point_j : (3,), body axes
        Both ends in coordinates of body i and body j, m, instead; default: the centers of mass.
    length : float
        m, the distance that the ends cannot exceed.
    restitution, rest_speed : as of `Stop`, m/s

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
    """Whatever a function of poses says cannot be negative; QuIRK differentiates it exactly.

    Parameters
    ----------
    name : str
    bodies : Body or list of bodies
        GROUND may be among them. The load is that on the second of them, or on the only one, at its center of mass.
    gap : function, or the text of an `Expression`
        ``gap(t, a, b, ...)`` with a moving frame for each body, as for `Implicit`; returns the quantity that is zero
        where the constraint closes, and positive where it is open.
    unit : "force" or "torque"
        What the multiplier is: a force where the gap is a length, a torque where it is an angle.
    point : (3,), function, or the text of an `Expression`, optional
        Where the bodies touch, which friction on it needs: a point in the coordinates of the last body, or
        ``point(t, a, b, ...)``, which returns the place in the inertial frame, m.
    restitution, rest_speed : as of `Stop`

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
        validate.choice(f"{self}", "unit", unit, tuple(UNITS))
        skipped, title = len(self.members) - self.given, f"{self}"

        def opened(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
            found = on_jets(gap, t, *frames[skipped:])
            if not isinstance(found, Jet):
                raise TypeError(f"{title}: its gap returned {found!r}, which is no quantity")
            return [found]

        self.gaps = (Relation(opened, ("gap",), (UNITS[unit],), source=gap),)
        self.point = None if point is None else self._place(point, skipped)
        # Both functions, as one of which it is known whether it may change what it does.
        self.functions_of_user: Callable[..., Any] = gap if point is None else _both(gap, self.point)
        self._bounce(restitution, rest_speed)

    def _place(self, point: Any, skipped: int) -> Callable[[Any, Sequence[Any]], Any]:
        """Return the function (t, frames) of the place where the bodies touch."""
        if isinstance(point, str) or callable(point):
            function = function_of(f"{self}", "point", point, ("t", *LETTERS[: self.given]))

            def place(t: Any, frames: Sequence[Any]) -> Any:
                found = np.asarray(on_jets(function, t, *frames[skipped:]), dtype=object)
                if found.shape != (3,):
                    raise TypeError(f"{self}: its point must be a place (3,) in the inertial frame; got {found!r}")
                return found + t * 0.0

            return place
        local = tuple(validate.array(f"{self}", "point", point, (3,)).tolist())
        return lambda t, frames: frames[-1].point(local)


def _both(one: Callable[..., Any], two: Any) -> Callable[..., Any]:
    """A function that has both in its closure."""

    def both(*arguments: Any) -> Any:
        return one(*arguments), two(*arguments)

    return both


def free_coordinate(owner: str, joint: Joint, coordinate: str | None) -> tuple[bool, int]:
    """Return whether a joint's free coordinate is a rotation, and its axis."""
    validate.choice(owner, "coordinate", coordinate, (None, "rotation", "translation"))
    free = {"rotation": joint.rotation_axis, "translation": joint.translation_axis}
    named = [kind for kind, axis in free.items() if axis is not None and coordinate in (None, kind)]
    if len(named) != 1:
        what = "both turns and slides" if named else f"has no free {coordinate or 'rotation or translation'} of its own"
        raise InputError(f'{owner}: {joint} {what}: say coordinate="rotation" or "translation" of a joint that has it')
    axis = free[named[0]]
    assert axis is not None
    return named[0] == "rotation", axis


def _angle(axis: int, of_three: bool = False) -> Any:
    def angle(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Relative angle less the limit, or the other way round; which turn it is, the limit tells."""
        i, j = frames
        return [(free_angle(i, j, axis, of_three) - numbers[1]).wrapped(2 * np.pi) * numbers[0]]

    return angle


def _slide(axis: int) -> Any:
    def slide(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Displacement along an axis of frame i less the limit, or the other way round."""
        i, j = frames
        return [(i.rotation[:, axis] @ (j.position - i.position) - numbers[1]) * numbers[0]]

    return slide


ANGLES, SLIDES = ([make(axis) for axis in range(3)] for make in (_angle, _slide))
TILTS = [_angle(axis, True) for axis in range(3)]


def slack(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """How much longer than the distance of its ends a rope is."""
    d = frames[1].position - frames[0].position
    return [numbers[0] - (d @ d).sqrt()]
