"""Gears: a ratio between two angles about an axis fixed in a carrier."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from quirk import validate
from quirk.body import GROUND, Body, Ground, checked_body
from quirk.errors import InputError
from quirk.frame import Frame, axes_with_z

from .angle import twist
from .constraint import Constraint, checked_ends, frame_in
from .jets import Jet
from .primitives import Z
from .relation import TORQUE, Function, MovingFrame, Relation

# A ratio of whole numbers of teeth, up to so many, is recognised when it is met to this part.
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


class Gear(Constraint):
    """A pair of gears, 1 row: (theta_j - theta_c) = ratio (theta_i - theta_c) about an axis fixed in the carrier.

    It relates angles alone: bearings are joints of their own, and carry no tooth force. The angles are counted from
    the initial poses. A ratio of whole numbers of teeth (up to 200 on a wheel) holds for angles, over any number of
    turns; any other holds for rates, and drifts by as much as the integration errs.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
        The gears; a fixed gear is GROUND, with a rotating carrier.
    ratio : float
        Not zero: -r_i / r_j for external gears, r_i / r_j for an internal one.
    axis : (3,)
        Common direction of both gear axes, in N at the initial poses.
    carrier : Body or GROUND
        What carries both bearings; a planet's arm.
    """

    aligned_axes = (Z,)

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        ratio: float,
        axis: Any,
        carrier: Body | Ground = GROUND,
        active: bool = True,
    ) -> None:
        owner = checked_ends("Gear", name, body_i, body_j)
        checked_body(owner, "carrier", carrier)
        if carrier is body_i or carrier is body_j:
            raise InputError(f"{owner}: carrier must be neither of the gears; got {carrier}")
        axes = axes_with_z(validate.direction(owner, "axis", axis))
        frames = [frame_in(body, body.position, axes) for body in (body_i, body_j, carrier)]
        super().__init__(name, body_i, body_j, frames[0], frames[1], active)
        self.carrier, self.frame_carrier = carrier, frames[2]
        self.ratio = checked_ratio(owner, ratio)
        self.primitives = (meshing(self.ratio, 0.0),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Gear i, gear j and the carrier."""
        return *super().ends, (self.carrier, self.frame_carrier)
