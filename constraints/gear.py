"""Gears: a ratio between two angles, each about an axis fixed in a carrier."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import GROUND, Body, Ground, checked_body
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..util import validate
from .angle import twist
from .constraint import Constraint, checked_ends, frame_in
from .primitives import Z
from .relation import TORQUE, Function, MovingFrame, Relation

# A ratio of whole numbers of teeth, up to so many, is recognized when it is met to this part.
MOST_TEETH, RECOGNISED = 200, 1e-12


def mesh(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """(theta_j - theta_c) - ratio (theta_i - theta_c) - offset, less whole teeth: the same after any turns."""
    i, j, carrier = frames
    ratio, offset, period = numbers
    return [(twist(carrier, j, Z) - twist(carrier, i, Z) * ratio - offset).wrapped(period)]


def rolling_angles(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """The rate of the same, where no teeth tell how many turns there were."""
    i, j, carrier = frames
    axis, ratio = carrier.rotation[:, Z], numbers[0]
    return [axis @ (j.spin - carrier.spin) - axis @ (i.spin - carrier.spin) * ratio]


# So many numbers tell how the second axis stands in the carrier.
AXES = 9


def axis_frame(carrier: MovingFrame, numbers: list[Jet]) -> MovingFrame:
    """Return the carrier's frame turned to the second axis, from the first numbers of a relation."""
    return carrier.carried([0, 0, 0], np.array(numbers[:AXES], dtype=object).reshape(3, 3))


def mesh_across(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """The mesh of gears whose axes differ, each angle about its own."""
    i, j, carrier = frames
    ratio, offset, period = numbers[AXES:]
    angle = twist(axis_frame(carrier, numbers), j, Z)
    return [(angle - twist(carrier, i, Z) * ratio - offset).wrapped(period)]


def rolling_across(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """The rate of the same."""
    i, j, carrier = frames
    axis_i, axis_j = carrier.rotation[:, Z], axis_frame(carrier, numbers).rotation[:, Z]
    return [axis_j @ (j.spin - carrier.spin) - axis_i @ (i.spin - carrier.spin) * numbers[AXES]]


def meshing(
    ratio: float,
    offset: float,
    functions: tuple[Function, Function] = (mesh, rolling_angles),
    numbers: tuple[float, ...] = (),
) -> Relation:
    """Return the relation of two gears: of angles if the ratio is one of teeth, else of rates.

    `functions` are for these two cases, and get `numbers` ahead of their own.
    """
    angles, rates = functions
    period = tooth(ratio)
    if period is None:
        return Relation(rates, ("mesh (rates)",), (TORQUE,), (*numbers, ratio), of_velocities=True)
    return Relation(angles, ("mesh",), (TORQUE,), (*numbers, ratio, offset, period))


def tooth(ratio: float) -> float | None:
    """Return the angle 2 pi / q from tooth to tooth of wheel j for a ratio p / q of teeth, None for other ratios."""
    teeth = Fraction(ratio).limit_denominator(MOST_TEETH)
    return 2 * np.pi / teeth.denominator if abs(float(teeth) - ratio) <= RECOGNISED * abs(ratio) else None


def checked_ratio(owner: str, ratio: Any) -> float:
    """Return a finite ratio other than zero."""
    ratio = validate.number(owner, "ratio", ratio)
    if abs(ratio) <= 0:
        raise InputError(f"{owner}: ratio must not be zero")
    return ratio


def checked_carrier(owner: str, carrier: Any, carried: tuple[Body | Ground, ...], names: str) -> None:
    """Raise InputError unless `carrier` is a body or the ground, and none of what it carries, named in messages."""
    checked_body(owner, "carrier", carrier)
    if any(carrier is part for part in carried):
        raise InputError(f"{owner}: carrier must be neither {names}; got {carrier}")


class Gear(Constraint):
    """A pair of gears, 1 row: (theta_j - theta_c) = ratio (theta_i - theta_c), about axes fixed in a carrier.

    It relates angles alone: bearings are joints of their own, and carry no tooth force. The angles are counted from
    the initial poses. A ratio of whole numbers of teeth (up to 200 on a wheel) holds for angles, over any number of
    turns; any other holds for rates, and drifts by as much as the integration errs.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
        The gears; a fixed gear is GROUND, with a rotating carrier.
    ratio : float
        Not zero. About a common axis -r_i / r_j for external gears, r_i / r_j for an internal one. About two axes the
        number of teeth of i over that of j, or the starts of a worm over the teeth of its wheel; positive if both
        turn by the right-hand rule about their axes as these are given.
    axis : (3,)
        Common direction of both gear axes, in N at the initial poses.
    axis_i, axis_j : (3,)
        Instead of it: the axis of each, for bevel, crossed and worm gears, in N at the initial poses. The load is the
        torque on gear j about its axis; gear i gets -ratio times as much about its own, and the carrier the rest.
    carrier : Body or GROUND
        What carries both bearings; a planet's arm.

    Examples
    --------
    >>> a = quirk.Body.cylinder("a", 1.0, 0.1, 0.02, angular_velocity=[0, 0, 1.0])
    >>> b = quirk.Body.cylinder("b", 1.0, 0.2, 0.02, position=[0.3, 0, 0], angular_velocity=[0, 0, -0.5])
    >>> axles = [quirk.Revolute(f"axle {w.name}", quirk.GROUND, w, point=w.position, axis="z") for w in (a, b)]
    >>> mesh = quirk.Gear("mesh", a, b, ratio=-0.5, axis="z")
    >>> quirk.System([a, b, *axles, mesh]).mobility().degrees_of_freedom
    1
    """

    row_count = 1
    aligned_axes: tuple[int, ...] = (Z,)

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
        active: bool = True,
    ) -> None:
        owner = checked_ends("Gear", name, body_i, body_j)
        checked_carrier(owner, carrier, (body_i, body_j), "of the gears")
        if (axis is None) == (axis_i is None and axis_j is None) or (axis_i is None) != (axis_j is None):
            raise InputError(
                f"{owner}: give either axis, if both gears turn about parallel axes, or axis_i and axis_j, in N at the "
                "initial poses"
            )
        one, two = (
            axes_with_z(validate.direction(owner, key, given))
            for key, given in ([("axis", axis)] * 2 if axis_i is None else [("axis_i", axis_i), ("axis_j", axis_j)])
        )
        frames = [frame_in(body, body.position, axes) for body, axes in ((body_i, one), (body_j, two), (carrier, one))]
        super().__init__(name, body_i, body_j, frames[0], frames[1], active)
        self.carrier, self.frame_carrier = carrier, frames[2]
        self.ratio = checked_ratio(owner, ratio)
        if axis_i is None:
            self.primitives = (meshing(self.ratio, 0.0),)
            return
        self.aligned_axes = ()
        numbers = tuple((one.T @ two).ravel().tolist())
        self.primitives = (meshing(self.ratio, 0.0, (mesh_across, rolling_across), numbers),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Gear i, gear j and the carrier."""
        return *super().ends, (self.carrier, self.frame_carrier)
