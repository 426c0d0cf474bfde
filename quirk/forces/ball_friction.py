"""Dry and viscous friction in a ball joint, independent of the load on the joint."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..autodiff.jet import where
from ..constraints.slip import AboutPoint
from ..constraints.sticking import Sticking, StickingBall
from .element import ForceElement
from .joint_friction import JointFriction, arm_of
from .load_shares import LoadShares
from .place import Place
from .slip_direction import friction_direction
from .stick_slip import NO_SHARES, StickSlip


class BallFriction(JointFriction):
    """The `JointFriction` of a `Spherical` joint: a torque opposite to the relative angular velocity of its bodies.

    The magnitude of the torque is that of `JointFriction` for the magnitude of the angular velocity. The slip, which is
    the relative angular velocity times a constant arm, has components along the axes of frame i.
    """

    # The law is a load, which has no direction fixed in a body along which it acts.
    coordinate = ForceElement.coordinate
    along = ForceElement.along

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.slip = AboutPoint()
        self.coordinates = ("ahead", "rate_x", "rate_y", "rate_z")
        # Set by runs: direction of the slip when it began, angular velocity (rad/s) up to which it is used, and 1 at
        # the onset of sliding, otherwise 0.
        self.heading, self.slow, self.begins = np.zeros(3), 0.0, 0.0
        if self.sticks:
            self.parameters = ("viscous", "coulomb", "static", "stribeck", "heading", "slow", "begins")

    def __str__(self) -> str:
        return f'JointFriction "{self.name}"'

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the friction torque (N m) on both bodies, in the inertial frame, and zero forces."""
        rate = self._rate(i, j)
        square = sum(x * x for x in rate)
        moves = square > self.slow * self.slow
        size = where(moves, square, square.constant(1.0)).sqrt()
        if not self.sticks:
            # Up to the rate at which the tanh is linear, its square root is not needed.
            share = where(moves, np.tanh(size / self.creep) / size, square.constant(0.0) + 1.0 / self.creep)
            torque = [-(self.viscous + self._dry_friction(size) * share) * x for x in rate]
        else:
            # The slip reverses its sense where it passes through zero, where a run stops it.
            size = where(self._ahead(rate) < 0.0, -size, size)
            dry = self._dry_friction(where(moves, size, size * 0.0))
            direction = friction_direction(rate.tolist(), self.heading, self.slow, self.begins, following=1.0)
            torque = [-self.viscous * x - dry * d for x, d in zip(rate, direction, strict=True)]
        on_j = i.rotation @ np.array(torque, dtype=object)
        return (0, -on_j), (0, on_j)

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return components of the relative angular velocity, rad/s: along `heading`, then along the axes of frame i.

        `heading` is the direction of the angular velocity when the present sliding phase began.
        """
        rate = self._rate(i, j)
        return [self._ahead(rate), *rate]

    def _rate(self, i: Place, j: Place) -> Any:
        """Return the relative angular velocity (3,), rad/s, in the axes of frame i."""
        return i.rotation.T @ (j.spin - i.spin)

    def _ahead(self, rate: Any) -> Any:
        return sum(x * e for x, e in zip(rate, self.heading, strict=True))

    def sliding(
        self,
        direction: tuple[float, ...],
        floor: float,
        side: int = 1,
        part: int = 0,
        shares: LoadShares | None = None,
        begins: bool = False,
    ) -> JointFriction:
        """Return a copy of the friction in the sliding state.

        `direction` (3,) is the unit vector of the initial slip in frame i. At slip speeds below `floor`, m/s, the
        friction torque is opposite to `direction` or, if the sliding `begins`, to a direction that also depends on the
        slip, as in `friction_direction`. The other arguments, which apply to contacts, are not used.
        """
        return _sliding(self, direction, floor, begins)

    def sticking(
        self,
        which: tuple[int, ...],
        side: int = 1,
        part: int = 0,
        value: Any = None,
        shares: LoadShares = NO_SHARES,
    ) -> Sticking:
        """Return the constraint that holds the bodies while the friction sticks.

        It holds the rotation matrix from frame j to frame i at `value` (9,), by rows. If `value` is None, it holds the
        relative angular velocity at zero. `which` are the indices of the slip components that are held; `side`, `part`
        and `shares` are not used.
        """
        return StickSlip.sticking(self, which, side, part) if value is None else _sticking(self, which, tuple(value))

    @property
    def direction_of_slip(self) -> tuple[float, ...]:
        """Direction (3,) of the slip when sliding began, in frame i; () if no run has set it."""
        return tuple(self.heading.tolist()) if self.heading.any() else ()


@lru_cache(1024)
def _sticking(friction: BallFriction, which: tuple[int, ...], value: tuple[float, ...]) -> StickingBall:
    return StickingBall(friction, which, value)


@lru_cache(1024)
def _sliding(friction: BallFriction, direction: tuple[float, ...], floor: float, begins: bool) -> BallFriction:
    known = {"heading": np.array(direction), "floor": floor, "slow": floor / arm_of(friction.joint)}
    return friction.with_values({**known, "begins": float(begins)})
