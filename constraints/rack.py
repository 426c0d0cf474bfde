"""A rack and pinion, with a displacement proportional to an angle, both relative to a carrier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import GROUND, Body, Ground
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..util import validate
from .angle import twist
from .constraint import Constraint, checked_ends, frame_in
from .gear import checked_carrier
from .primitives import Z
from .relation import FORCE, MovingFrame, Relation


def travel(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the displacement of the rack minus radius times angle (m), modulo full turns of the pinion."""
    rack, pinion, carrier = frames
    radius, *direction = numbers
    displacement = carrier.direction(direction) @ (rack.position - carrier.position)
    return [(displacement - twist(carrier, pinion, Z) * radius).wrapped(radius * (2 * np.pi))]


class RackPinion(Constraint):
    """A rack and a pinion, 1 row: the rack's displacement is the radius times the rotation angle of the pinion.

    Displacement and angle are measured in the carrier, from the initial poses, over any number of turns. The guide of
    the rack and the bearing of the pinion are separate joints. The load is the torque on the pinion about its axis; the
    force on the rack is -1 / radius times that torque, along the direction, and the carrier receives the reaction of
    both.

    Parameters
    ----------
    rack, pinion : Body or GROUND
        Body i and body j. A rack at rest is GROUND, with a carrier that moves along it.
    radius : float
        Radius of the pinion's pitch circle, m, nonzero. If positive, a rotation of the pinion by the right-hand rule
        about its axis moves the rack along its direction: direction = axis x (from the pinion's center to the rack).
    direction : (3,)
        Direction of the rack, fixed in the carrier, in the inertial frame at the initial poses.
    axis : (3,)
        Axis of the pinion, fixed in the carrier, in the inertial frame at the initial poses.
    carrier : Body or GROUND
        Body that carries the guide of the rack and the bearing of the pinion.

    Examples
    --------
    >>> rack = quirk.Body.box("rack", 1.0, [1, 0.05, 0.05], position=[0, -0.1, 0])
    >>> pinion = quirk.Body.cylinder("pinion", 1.0, 0.1, 0.05)
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, rack, axis="x")
    >>> axle = quirk.Revolute("axle", quirk.GROUND, pinion, point=[0, 0, 0], axis="z")
    >>> mesh = quirk.RackPinion("mesh", rack, pinion, radius=0.1, direction="x", axis="z")
    >>> quirk.System([rack, pinion, rail, axle, mesh]).mobility().degrees_of_freedom
    1
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        rack: Body | Ground,
        pinion: Body | Ground,
        *,
        radius: float,
        direction: ArrayLike,
        axis: ArrayLike,
        carrier: Body | Ground = GROUND,
        active: bool = True,
    ) -> None:
        owner = checked_ends("RackPinion", name, rack, pinion)
        checked_carrier(owner, carrier, (rack, pinion), "the rack nor the pinion")
        self.radius = validate.number(owner, "radius", radius)
        if abs(self.radius) <= 0:
            raise InputError(f"{owner}: radius must not be zero; without one the rack does not turn the pinion")
        along = validate.direction(owner, "direction", direction)
        axes = axes_with_z(validate.direction(owner, "axis", axis))
        super().__init__(
            name, rack, pinion, frame_in(rack, rack.position, axes), frame_in(pinion, pinion.position, axes), active
        )
        self.carrier, self.frame_carrier = carrier, frame_in(carrier, rack.position, axes)
        numbers = (self.radius, *(axes.T @ along).tolist())
        self.primitives = (Relation(travel, ("travel",), (FORCE,), numbers),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Rack, pinion and carrier, each with its frame."""
        return *super().ends, (self.carrier, self.frame_carrier)
