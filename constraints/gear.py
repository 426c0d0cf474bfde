"""Gears: a ratio of two angles, each about an axis fixed in a carrier.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import GROUND, Body, Ground, checked_body
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..util import validate
from .angle import twist
from .backlash import Loose, Play, checked_play, elastic_flanks
from .constraint import Constraint, checked_ends, frame_in
from .primitives import Z
from .relation import TORQUE, Function, MovingFrame, Relation

# Largest number of teeth for which a ratio is recognized as a ratio of integers, and the relative tolerance.
MOST_TEETH, RECOGNISED = 200, 1e-12


def mesh(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of two gears on a common axis, rad, modulo the angle of one tooth.

    The residual is (theta_j - theta_c) - ratio (theta_i - theta_c) - offset, with the angle theta_c of the carrier.
    """
    i, j, carrier = frames
    ratio, offset, period = numbers
    return [(twist(carrier, j, Z) - twist(carrier, i, Z) * ratio - offset).wrapped(period)]


def rolling_angles(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the rates of two gears on a common axis, rad/s.

    The residual is (omega_j - omega_c) - ratio (omega_i - omega_c), with the rate omega_c of the carrier.
    """
    i, j, carrier = frames
    axis, ratio = carrier.rotation[:, Z], numbers[0]
    return [axis @ (j.spin - carrier.spin) - axis @ (i.spin - carrier.spin) * ratio]


# Number of constants for the second axis in the carrier: a matrix (3, 3).
AXES = 9


def axis_frame(carrier: MovingFrame, numbers: list[Jet]) -> MovingFrame:
    """Return a frame fixed in the carrier whose z axis is the axis of gear j.

    `numbers` begin with the rotation matrix, by rows, from the returned frame to the carrier's frame.
    """
    return carrier.carried([0, 0, 0], np.array(numbers[:AXES], dtype=object).reshape(3, 3))


def mesh_across(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the angles of two gears with different axes, rad, modulo the angle of one tooth."""
    i, j, carrier = frames
    ratio, offset, period = numbers[AXES:]
    angle = twist(axis_frame(carrier, numbers), j, Z)
    return [(angle - twist(carrier, i, Z) * ratio - offset).wrapped(period)]


def rolling_across(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the rates of two gears with different axes, relative to their carrier, rad/s."""
    i, j, carrier = frames
    axis_i, axis_j = carrier.rotation[:, Z], axis_frame(carrier, numbers).rotation[:, Z]
    return [axis_j @ (j.spin - carrier.spin) - axis_i @ (i.spin - carrier.spin) * numbers[AXES]]


def meshing(
    ratio: float,
    offset: float,
    functions: tuple[Function, Function] = (mesh, rolling_angles),
    numbers: tuple[float, ...] = (),
) -> Relation:
    """Return the constraint of two gears: on angles if `ratio` is a ratio of small integers, otherwise on rates.

    `functions` are the constraint functions for angles and for rates; `numbers` are constants passed to them before
    ratio and offset (rad).
    """
    angles, rates = functions
    period = tooth(ratio)
    if period is None:
        return Relation(rates, ("mesh (rates)",), (TORQUE,), (*numbers, ratio), of_velocities=True)
    return Relation(angles, ("mesh",), (TORQUE,), (*numbers, ratio, offset, period))


def tooth(ratio: float) -> float | None:
    """Return the angle 2 pi / q (rad) of one tooth of gear j if `ratio` is p / q with small integers, else None."""
    teeth = Fraction(ratio).limit_denominator(MOST_TEETH)
    return 2 * np.pi / teeth.denominator if abs(float(teeth) - ratio) <= RECOGNISED * abs(ratio) else None


def checked_ratio(owner: str, ratio: Any) -> float:
    """Return a gear ratio, after checking that it is finite and nonzero."""
    ratio = validate.number(owner, "ratio", ratio)
    if abs(ratio) <= 0:
        raise InputError(f"{owner}: ratio must not be zero")
    return ratio


def checked_carrier(owner: str, carrier: Any, carried: tuple[Body | Ground, ...], names: str) -> None:
    """Raise an InputError unless `carrier` is the ground or a body other than the bodies `carried`.

    `names` are the names of the carried bodies in the message.
    """
    checked_body(owner, "carrier", carrier)
    if any(carrier is part for part in carried):
        raise InputError(f"{owner}: carrier must be neither {names}; got {carrier}")


class Gear(Constraint):
    """A pair of gears, 1 row: (theta_j - theta_c) = ratio (theta_i - theta_c), about axes fixed in a carrier.

    Only the angles are coupled: bearings are separate joints, and the forces between teeth do not load them. Angles are
    measured from the initial poses. A ratio of integers (up to 200 teeth per wheel) is imposed on the angles, over any
    number of turns; any other ratio is imposed on the rates, and the angles drift by the integration error.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
        The gears; a fixed gear is GROUND with a rotating carrier.
    ratio : float
        Nonzero. For a common axis it is -r_i / r_j for external gears and r_i / r_j for an internal gear. For two axes
        it is the number of teeth of i over that of j, or the starts of a worm over the teeth of its wheel; positive if
        both gears rotate by the right-hand rule about their given axes.
    axis : (3,)
        Common direction of both gear axes, in the inertial frame at the initial poses.
    axis_i, axis_j : (3,)
        Alternatively, the axis of each gear, for bevel, crossed and worm gears, in the inertial frame at the initial
        poses. The load is the torque on gear j about its axis; gear i receives -ratio times that torque about its own
        axis, and the carrier the reaction.
    carrier : Body or GROUND
        Body that carries both bearings, such as the arm of a planetary gear.
    backlash : float, optional
        Total free travel of gear j while gear i is held, rad, half of it on either side
        of the initial poses. Flanks are rigid, with impacts, unless `stiffness` is given.
    stiffness, damping : float, optional
        Stiffness, N m/rad, and damping, N m s/rad, of the teeth in contact, about gear j.
        The system then receives a force element, "<name> flanks", in place of the row.
    restitution, rest_speed : float, optional
        Impacts of rigid flanks with backlash, as for `Stop`.

    Examples
    --------
    >>> a = quirk.Body.cylinder("a", 1.0, 0.1, 0.02, angular_velocity=[0, 0, 1.0])
    >>> b = quirk.Body.cylinder("b", 1.0, 0.2, 0.02, position=[0.3, 0, 0], angular_velocity=[0, 0, -0.5])
    >>> axles = [quirk.Revolute(f"axle {w.name}", quirk.GROUND, w, point=w.position, axis="z") for w in (a, b)]
    >>> mesh = quirk.Gear("mesh", a, b, ratio=-0.5, axis="z")
    >>> quirk.System([a, b, *axles, mesh]).mobility().degrees_of_freedom
    1
    """

    row_count: ClassVar[int | None] = 1
    aligned_axes: tuple[int, ...] = (Z,)

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, backlash: Any = None, stiffness: Any = None, **options: Any) -> Gear:
            """Create a `Gear`, or an object of the subclass for the type of flanks.

            The class is `Gear` without backlash, `LooseGear` for rigid flanks with backlash, and `ElasticGear` for
            elastic flanks.
            """
            if cls is Gear:
                cls = ElasticGear if stiffness is not None else LooseGear if backlash is not None else Gear
            return object.__new__(cls)

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        ratio: float,
        axis: ArrayLike | None = None,
        axis_i: ArrayLike | None = None,
        axis_j: ArrayLike | None = None,
        carrier: Body | Ground = GROUND,
        backlash: float | None = None,
        stiffness: float | None = None,
        damping: float | None = None,
        restitution: float | None = None,
        rest_speed: float | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("Gear", name, body_i, body_j)
        play = checked_play(owner, backlash, stiffness, damping, restitution, rest_speed)
        checked_carrier(owner, carrier, (body_i, body_j), "of the gears")
        if (axis is None) == (axis_i is None and axis_j is None) or (axis_i is None) != (axis_j is None):
            raise InputError(
                f"{owner}: give either axis, if both gears turn about parallel axes, or axis_i and axis_j, in "
                "the inertial frame at the initial poses"
            )
        one, two = (
            axes_with_z(validate.direction(owner, key, given))
            for key, given in ([("axis", axis)] * 2 if axis_i is None else [("axis_i", axis_i), ("axis_j", axis_j)])
        )
        frames = [frame_in(body, body.position, axes) for body, axes in ((body_i, one), (body_j, two), (carrier, one))]
        super().__init__(name, body_i, body_j, frames[0], frames[1], active)
        self.carrier, self.frame_carrier = carrier, frames[2]
        self.ratio = checked_ratio(owner, ratio)
        relation = meshing(self.ratio, 0.0)
        if axis_i is not None:
            self.aligned_axes = ()
            numbers = tuple((one.T @ two).ravel().tolist())
            relation = meshing(self.ratio, 0.0, (mesh_across, rolling_across), numbers)
        self._mesh(relation, play)

    def _mesh(self, relation: Relation, play: Play | None) -> None:
        """Define the constraint row of the gears by `relation`.

        Subclasses with backlash define flanks instead of the row; they use the argument `play`.
        """
        self.primitives = (relation,)

    def __str__(self) -> str:
        return f'Gear "{self.name}"'

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Gear i, gear j and the carrier, each with its frame."""
        return *super().ends, (self.carrier, self.frame_carrier)


class LooseGear(Gear, Loose):
    """A pair of gears with backlash between rigid flanks."""

    row_count = None

    def _mesh(self, relation: Relation, play: Play | None) -> None:
        assert play is not None
        self._loosen(relation, play)


class ElasticGear(Gear):
    """A pair of gears with elastic flanks, with or without backlash; it is a force element, not a constraint row."""

    row_count = 0

    def _mesh(self, relation: Relation, play: Play | None) -> None:
        assert play is not None
        self.companions = elastic_flanks(self, relation, play)
