"""Planar drivers: angles, coordinates and distances that follow a prescribed motion.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quirk.autodiff.jet import Jet
from quirk.bodies.body import Ground
from quirk.errors import InputError
from quirk.functions import degrees
from quirk.functions.motion import Motion
from quirk.util import validate

from ..drive import SLIDE, TURN, checked_motion
from ..gear import checked_ratio, tooth
from ..primitives import X, Y, Z
from ..relation import FORCE, TORQUE, MovingFrame, Relation
from .body import PlanarBody
from .constraint import PlanarConstraint
from .coordinates import PLANE, along, phi, plane_numbers, resting_frame


@dataclass(frozen=True)
class CoordinateResidual:
    """Constraint function with the residual q_j - ratio q_i - offset - motion, m.

    The coordinate q of a body is x or y in the plane, as `axis` (0 or 1) says.
    """

    axis: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the residual, m."""
        plane, (ratio, offset) = resting_frame(numbers), numbers[PLANE:]
        i, j = (along(plane, self.axis, frame) for frame in frames)
        return [j - i * ratio - offset - motions[0]]


def angle(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual phi_j - ratio phi_i - offset - motion, rad, modulo the angle of one tooth."""
    plane, (ratio, offset, period) = resting_frame(numbers), numbers[PLANE:]
    i, j = (phi(plane, frame) for frame in frames)
    return [(j - i * ratio - offset - motions[0]).wrapped(period)]


def angle_rate(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual phi_j' - ratio phi_i' - motion', rad/s, of the angle rates.

    This residual is used if `ratio` is not a ratio of small integers.
    """
    normal, ratio = resting_frame(numbers).rotation[:, Z], numbers[PLANE]
    i, j = (normal @ frame.spin for frame in frames)
    return [j - i * ratio - motions[0].rate]


def squared_distance(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the squared distance of two points minus the square of the prescribed distance, m^2."""
    d = frames[1].position - frames[0].position
    return [d @ d - motions[0] * motions[0]]


class AngleDriver(PlanarConstraint):
    """A motor with a prescribed angle of body j relative to body i, 1 row; its load is the driving torque.

    Phi = phi_j - phi_i - C - f(t), modulo full turns ("Two-dimensional constraints" notes, relative angle driver).

    Parameters
    ----------
    motion : Motion
        Prescribed angle f, rad, over any number of turns.
    offset : float
        Offset C of the angle, rad.

    Examples
    --------
    >>> arm = quirk.planar.PlanarBody.bar("arm", [-0.5, 0], [0.5, 0], mass=1.0)
    >>> motor = quirk.planar.AngleDriver("motor", quirk.GROUND, arm, quirk.Motion.constant_rate(2.0))
    >>> quirk.System([arm, motor]).assemble().angular_velocity.round(6) + 0.0
    array([[0., 0., 2.]])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        motion: Motion,
        *,
        offset: float = 0.0,
        active: bool = True,
    ) -> None:
        # Frame i is rotated by the offset, so that the angle between the frames equals the motion.
        self.offset = degrees.counting_turns(f'planar.AngleDriver "{name}"', "offset", offset)
        start = (np.cos(self.offset), np.sin(self.offset))
        super().__init__(name, body_i, body_j, active, vector_i=start)
        self.motion = checked_motion(str(self), "motion", motion)
        degrees.check_motion(str(self), "motion", self.motion)
        self.primitives = (Relation(TURN[Z], ("angle",), (TORQUE,), motions=(self.motion,)),)
        self.driven = Z, self.motion


class CoordinateDriver(PlanarConstraint):
    """A driver that prescribes a coordinate of body j as a multiple of that of body i plus a motion, 1 row.

    Phi = q_j - K q_i - C - f(t) ("Two-dimensional constraints" notes, relative coordinate driver), where q is x, y or
    phi: a coordinate of the center of mass or the angle in the plane, all zero for the ground. The load on body j is
    along q_j. The load on body i is -K times the load on body j; for K other than 1 the plane carries the reaction.
    Angles are treated as in `GearPair`.

    Parameters
    ----------
    motion : Motion
        Prescribed motion f, m or rad.
    coordinate : "x", "y" or "angle"
        The coordinate q.
    ratio : float
        Ratio K, nonzero.
    offset : float
        Offset C, m or rad.

    Examples
    --------
    >>> block = quirk.planar.PlanarBody.box("block", 1.0, [0.1, 0.1, 0.1])
    >>> push = quirk.planar.CoordinateDriver("push", quirk.GROUND, block, quirk.Motion.constant_rate(2.0))
    >>> quirk.System([block, push]).assemble().velocity.round(6) + 0.0
    array([[2., 0., 0.]])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        motion: Motion,
        *,
        coordinate: str = "x",
        ratio: float = 1.0,
        offset: float = 0.0,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active)
        owner = str(self)
        self.motion = checked_motion(owner, "motion", motion)
        self.coordinate = validate.choice(owner, "coordinate", coordinate, ("x", "y", "angle"))
        self.ratio, self.offset = checked_ratio(owner, ratio), validate.number(owner, "offset", offset)
        self.primitives = (self._relation(),)

    def _relation(self) -> Relation:
        label, motions = (f"coordinate {self.coordinate}",), (self.motion,)
        numbers = (*plane_numbers(self.plane), self.ratio, self.offset)
        if self.coordinate != "angle":
            return Relation(CoordinateResidual((X, Y)["xy".index(self.coordinate)]), label, (FORCE,), numbers, motions)
        period = tooth(self.ratio)
        if period is None:
            return Relation(angle_rate, label, (TORQUE,), numbers, motions, of_velocities=True)
        return Relation(angle, label, (TORQUE,), (*numbers, period), motions)


class SlotDriver(PlanarConstraint):
    """A point of body j with a prescribed motion along a direction of body i, 1 row; its load is the force along it.

    ``Phi = a_i . d / |a_i| - f(t)`` with d = r_j^P - r_i^P ("Two-dimensional constraints" notes, planar parallel-2
    distance driver); together with a `PinInSlot` of the same points and vector it drives the pin along the slot.

    Parameters
    ----------
    motion : Motion
        Prescribed distance f along the direction, m.
    point_i : (2,), body axes
        Origin of the distance, in the coordinates of body i, m.
    vector_i : (2,)
        Direction in the coordinates of body i, nonzero.
    point_j : (2,), body axes
        The driven point in the coordinates of body j, m.

    Examples
    --------
    >>> block = quirk.planar.PlanarBody.box("block", 1.0, [0.1, 0.1, 0.1])
    >>> slot = quirk.planar.SlotDriver("slot", quirk.GROUND, block, quirk.Motion.constant_rate(2.0), vector_i=[0, 1])
    >>> quirk.System([block, slot]).assemble().velocity.round(6) + 0.0
    array([[0., 2., 0.]])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        motion: Motion,
        *,
        point_i: ArrayLike = (0, 0),
        vector_i: ArrayLike,
        point_j: ArrayLike = (0, 0),
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, point_i=point_i, vector_i=vector_i, point_j=point_j)
        self.motion = checked_motion(str(self), "motion", motion)
        self.primitives = (Relation(SLIDE[X], ("distance along the vector",), (FORCE,), motions=(self.motion,)),)


class DistanceDriver(PlanarConstraint):
    """A telescopic strut with a prescribed distance of two points, 1 row; its load is along the strut.

    Phi = d . d - f(t)^2 with d = r_j^P - r_i^P ("Two-dimensional constraints" notes, planar relative distance driver).

    Parameters
    ----------
    motion : Motion
        Prescribed distance f, m, positive: at zero the gradient of the row vanishes.
    point_i, point_j : (2,), body axes
        The ends in body coordinates, m.

    Examples
    --------
    >>> block = quirk.planar.PlanarBody.box("block", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0])
    >>> rod = quirk.planar.DistanceDriver("rod", quirk.GROUND, block, quirk.Motion.polynomial([1.0, 2.0]))
    >>> quirk.System([block, rod]).assemble().velocity.round(6) + 0.0
    array([[2., 0., 0.]])
    """

    row_count = 1
    of_squares = True

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        motion: Motion,
        *,
        point_i: ArrayLike = (0, 0),
        point_j: ArrayLike = (0, 0),
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, point_i=point_i, point_j=point_j)
        self.motion = checked_motion(str(self), "motion", motion)
        begin = float(np.clip(0.0, self.motion.start, self.motion.end))  # splines may start later
        length = self.motion(begin)
        if length <= 0:
            raise InputError(
                f"{self}: motion must be a positive distance; {self.motion!r} at {begin:g} s is {length:g}"
            )
        relation = Relation(squared_distance, ("distance",), (FORCE,), motions=(self.motion,), scale=2 * length)
        self.primitives = (relation,)
