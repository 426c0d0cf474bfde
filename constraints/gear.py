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
from .relation import TORQUE, MovingFrame, Relation

# A ratio of whole numbers of teeth, up to so many, is recognised when it is met to this part.
MOST_TEETH, RECOGNISED = 200, 1e-12


def mesh(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """(theta_j - theta_c) - ratio (theta_i - theta_c), less whole teeth: the same after any number of turns."""
    i, j, carrier = frames
    ratio, tooth = numbers
    return [(twist(carrier, j, Z) - twist(carrier, i, Z) * ratio).wrapped(tooth)]


def rolling_angles(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """The rate of the same, where no teeth tell how many turns there were."""
    i, j, carrier = frames
    axis, ratio = carrier.rotation[:, Z], numbers[0]
    return [axis @ (j.spin - carrier.spin) - axis @ (i.spin - carrier.spin) * ratio]


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
        self.ratio = validate.number(owner, "ratio", ratio)
        if abs(self.ratio) <= 0:
            raise InputError(f"{owner}: ratio must not be zero")
        teeth = Fraction(self.ratio).limit_denominator(MOST_TEETH)
        if abs(float(teeth) - self.ratio) <= RECOGNISED * abs(self.ratio):
            numbers = (self.ratio, 2 * np.pi / teeth.denominator)
            self.primitives = (Relation(mesh, ("mesh",), (TORQUE,), numbers),)
        else:
            relation = Relation(rolling_angles, ("mesh (rates)",), (TORQUE,), (self.ratio,), of_velocities=True)
            self.primitives = (relation,)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Gear i, gear j and the carrier."""
        return *super().ends, (self.carrier, self.frame_carrier)
