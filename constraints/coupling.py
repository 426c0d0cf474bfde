"""Coupling of a coordinate of one joint to a coordinate of another.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .angle import free_angle, rates_123
from .backlash import Loose, Play, checked_play, elastic_flanks
from .constraint import Constraint, Joint
from .gear import tooth
from .primitives import X, Z
from .relation import FORCE, TORQUE, MovingFrame, Relation
from .unilateral import free_coordinate

# Whether a coordinate is an angle, its axis, and whether it is one of three 1-2-3 angles.
Free = tuple[bool, int, bool]

# Number of constants per frame of the leading joint: origin (3) and axes (9).
PLACE = 12


class Coupling(Constraint):
    """A coordinate of joint j is a polynomial of a coordinate of joint i: x_j = c0 + c1 x_i + c2 x_i^2 + ..., 1 row.

    The coordinates are those of ``result[joint]``, m or rad. The load is the force or torque along or about the axis of
    joint j that its body i exerts on its body j; joint i carries the reaction.

    If c1 is a ratio of integers up to 200 between two angles, the angles are coupled over any number of turns, as for
    `Gear`; for other values of c1 the rates are coupled, and the angles drift by the integration error. With powers
    above one, the angle of joint i must stay between -pi and pi.

    Parameters
    ----------
    name : str
    joint_i, joint_j : Joint
        Joints with a free rotation or translation.
    coefficients : list of numbers
        c0, c1 and so on, at least two; c0 in m or rad, c1 in the unit of x_j over the unit of x_i.
    coordinate_i, coordinate_j : "rotation" or "translation", optional
        Coordinate of joints that have both.
    backlash : float, optional
        Total free travel of coordinate j while coordinate i is held, rad or m, half of it on either side
        of the polynomial. Flanks are rigid, with impacts, unless `stiffness` is given.
    stiffness, damping : float, optional
        Spring, N m/rad or N/m, and damper, N m s/rad or N s/m, of the flanks, along coordinate j. The system
        then receives a force element, "<name> flanks", in place of the row.
    restitution, rest_speed : float, optional
        Impacts of rigid flanks with backlash, as for `Stop`.

    Examples
    --------
    >>> a, b = (quirk.Body.sphere(name, 1.0, 0.1) for name in "ab")
    >>> i, j = (quirk.Revolute(f"hinge {w.name}", quirk.GROUND, w, point=[0, 0, 0], axis="z") for w in (a, b))
    >>> half = quirk.Coupling("half", i, j, coefficients=[0, 0.5])
    >>> quirk.System([a, b, i, j, half]).mobility().degrees_of_freedom
    1
    """

    row_count: ClassVar[int | None] = 1

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, backlash: Any = None, stiffness: Any = None, **options: Any) -> Coupling:
            """Create a `Coupling`, or an object of the subclass for the type of flanks.

            The class is `Coupling` without free play, `LooseCoupling` for free play between rigid flanks, and
            `ElasticCoupling` for elastic flanks.
            """
            if cls is Coupling:
                cls = ElasticCoupling if stiffness is not None else LooseCoupling if backlash is not None else Coupling
            return object.__new__(cls)

    def __init__(
        self,
        name: str,
        joint_i: Joint,
        joint_j: Joint,
        *,
        coefficients: ArrayLike = (0.0, 1.0),
        coordinate_i: str | None = None,
        coordinate_j: str | None = None,
        backlash: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        restitution: float | None = None,
        rest_speed: float | None = None,
        active: bool = True,
    ) -> None:
        owner = f'Coupling "{validate.name("Coupling", name)}"'
        play = checked_play(owner, backlash, stiffness, damping, restitution, rest_speed)
        for argument, joint in (("joint_i", joint_i), ("joint_j", joint_j)):
            if not isinstance(joint, Joint):
                raise InputError(f"{owner}: {argument} must be a joint such as quirk.Revolute; got {joint!r}")
        leads = (*free_coordinate(owner, joint_i, coordinate_i), joint_i.of_three)
        follows = (*free_coordinate(owner, joint_j, coordinate_j), joint_j.of_three)
        if joint_i is joint_j and leads == follows:
            raise InputError(f"{owner}: a coordinate cannot follow itself; got {joint_i} twice")
        super().__init__(name, joint_j.body_i, joint_j.body_j, joint_j.frame_i, joint_j.frame_j, active)
        self.joint_i, self.joint_j = joint_i, joint_j
        self.coordinate_i, self.coordinate_j = coordinate_i, coordinate_j
        self.coefficients = _checked_coefficients(owner, coefficients)
        own = [self.body_i, self.body_j]
        led = [joint_i.body_i, joint_i.body_j]
        self._further = tuple(body for body in led if not any(body is other for other in own))
        self._couple(self._relation(leads, follows), play)

    def _couple(self, relation: Relation, play: Play | None) -> None:
        """Define the constraint row of the coupling by `relation`.

        Subclasses with free play define flanks instead of the row; they use the argument `play`.
        """
        self.primitives = (relation,)

    def __str__(self) -> str:
        return f'Coupling "{self.name}"'

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Bodies of joint j with their joint frames, followed by the other bodies of joint i with their body frames."""
        return *super().ends, *((body, Frame()) for body in self._further)

    def _relation(self, leads: Free, follows: Free) -> Relation:
        """Return the constraint row between the coordinates of the two joints, or between their rates.

        Rates are used for angles that the poses determine only up to full turns. `leads` and `follows` describe the
        coordinates of joint i and joint j.
        """
        numbers: list[float] = []
        path = []
        ends = ((self.joint_i.body_i, self.joint_i.frame_i), (self.joint_i.body_j, self.joint_i.frame_j))
        for body, frame in ends:
            end = next(k for k, (other, _) in enumerate(self.ends) if other is body)
            axes, origin = self.ends[end][1].matrix, self.ends[end][1].origin
            numbers += [*(axes.T @ (frame.origin - origin)), *(axes.T @ frame.matrix).ravel()]
            path.append(end)
        unit = (TORQUE if follows[0] else FORCE,)
        linear = len(self.coefficients) == 2
        ratio = self.coefficients[1]
        period = 2 * np.pi if follows[0] else 0.0
        if leads[0] and linear:
            period = (tooth(ratio) or 0.0) if follows[0] else 2 * np.pi * abs(ratio)
            if follows[0] and period <= 0:
                rates = CoupledRates((path[0], path[1]), leads, follows)
                return Relation(rates, ("coupling (rates)",), unit, (*numbers, ratio), of_velocities=True)
        rows = CoupledCoordinates((path[0], path[1]), leads, follows, period > 0)
        return Relation(rows, ("coupling",), unit, (*numbers, period, *self.coefficients))


class LooseCoupling(Coupling, Loose):
    """A coupling with free play between rigid flanks."""

    row_count = None

    def _couple(self, relation: Relation, play: Play | None) -> None:
        assert play is not None
        self._loosen(relation, play)


class ElasticCoupling(Coupling):
    """A coupling with elastic flanks, with or without free play; it is a force element instead of a constraint row."""

    row_count = 0

    def _couple(self, relation: Relation, play: Play | None) -> None:
        assert play is not None
        self.companions = elastic_flanks(self, relation, play)


def _checked_coefficients(owner: str, value: Any) -> tuple[float, ...]:
    """Return the coefficients without trailing zeros; at least one after c0 must be nonzero."""
    given = validate.numbers(value)
    if given is None or given.ndim != 1 or len(given) < 2:
        raise InputError(f"{owner}: coefficients must be two or more numbers, c0, c1, ...; got {value!r}")
    listed = validate.array(owner, "coefficients", value, given.shape).tolist()
    while len(listed) > 2 and listed[-1] == 0:
        listed.pop()
    if not any(listed[1:]):
        raise InputError(f"{owner}: coefficients after the first must not all be zero; a Drive holds a joint still")
    return tuple(listed)


def _leading(frames: list[MovingFrame], path: tuple[int, int], numbers: Sequence[Jet]) -> list[MovingFrame]:
    """Return frames i and j of joint i of a coupling (its leading joint), as moving frames.

    `frames` are the moving frames of the constraint. Frame i is fixed in frame `path[0]` of this list, frame j in frame
    `path[1]`. `numbers` begin with the origin (3), m, and the axes (9, by rows) of frame i relative to frame `path[0]`,
    followed by the origin and axes of frame j relative to frame `path[1]`.
    """
    return [
        frames[end].carried(
            numbers[PLACE * k : PLACE * k + 3],
            np.array(numbers[PLACE * k + 3 : PLACE * (k + 1)], dtype=object).reshape(3, 3),
        )
        for k, end in enumerate(path)
    ]


def _coordinate(i: MovingFrame, j: MovingFrame, free: Free) -> Jet:
    turns, axis, of_three = free
    return free_angle(i, j, axis, of_three) if turns else i.rotation[:, axis] @ (j.position - i.position)


def _rate(i: MovingFrame, j: MovingFrame, free: Free) -> Jet:
    turns, axis, of_three = free
    if turns and of_three:
        return rates_123(i.rotation[:, X], j.rotation[:, Z], j.spin - i.spin)[axis]
    if turns:
        return i.rotation[:, axis] @ (j.spin - i.spin)
    return i.rotation[:, axis] @ (j.velocity - i.velocity - np.cross(i.spin, j.position - i.position))


@dataclass(frozen=True)
class CoupledCoordinates:
    """Constraint function with the residual x_j minus the polynomial of x_i.

    Full turns of the joints change the residual by multiples of a period, which is a constant of the function.

    Attributes
    ----------
    path : indices of the moving frames in which the frames of joint i are fixed
    leads, follows : coordinates x_i and x_j
    wraps : whether the residual is taken modulo the period
    """

    path: tuple[int, int]
    leads: Free
    follows: Free
    wraps: bool

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the residual, rad or m.

        `numbers` are the places of the frames of joint i, see `_leading`, the period and the coefficients.
        """
        one, two = _leading(frames, self.path, numbers)
        x = _coordinate(one, two, self.leads)
        period, *coefficients = numbers[2 * PLACE :]
        asked: Any = 0.0
        for c in reversed(coefficients):
            asked = asked * x + c
        missed = _coordinate(frames[0], frames[1], self.follows) - asked
        return [missed.wrapped(period) if self.wraps else missed]


@dataclass(frozen=True)
class CoupledRates:
    """Constraint function with the residual x_j' - ratio x_i' of the rates of two joint coordinates.

    The attributes are those of `CoupledCoordinates`.
    """

    path: tuple[int, int]
    leads: Free
    follows: Free

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the residual, rad/s or m/s.

        `numbers` are the places of the frames of joint i, see `_leading`, and the ratio.
        """
        one, two = _leading(frames, self.path, numbers)
        rate = _rate(frames[0], frames[1], self.follows)
        return [rate - _rate(one, two, self.leads) * numbers[2 * PLACE]]
