"""Latches: joints that close when their frames meet, and open at a given load."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autodiff.jet import where
from ..constraints import Joint
from ..errors import InputError
from ..functions import degrees
from ..util import validate
from .actions import Engage, release
from .event import Event
from .quantity import Quantity


@dataclass(frozen=True)
class OutOfReach:
    """Watched function of a latch, negative while its two frames are within the capture limits.

    The value is max(r^2) - 1 over the ratios r of distance, angle and relative speed of the frames to their limits.
    Squares are smooth at r = 0.

    Attributes
    ----------
    joint : name of the joint
    distance : limit of the distance, m
    angle : limit of the angle, rad, or None
    speed : limit of the relative speed, m/s, or None
    """

    joint: str
    distance: float
    angle: float | None
    speed: float | None

    def __call__(self, t: Any, state: Any) -> Any:
        """Return the largest squared ratio of distance, angle and speed to their limits, minus one."""
        frames = state[self.joint]
        d = frames.displacement
        found = (d @ d) * (1.0 / self.distance**2)
        if self.angle is not None:
            found = _larger(found, frames.tilt * (1.0 / (1.0 - np.cos(self.angle))))
        if self.speed is not None:
            v = np.array([x.rate for x in d], dtype=object)
            found = _larger(found, (v @ v) * (1.0 / self.speed**2))
        return found - 1.0


# Smallest excess of a squared ratio of `OutOfReach` over 1 at which the frames of an open latch have left its limits.
REOPENED = 1e-9


class JointBreak(Event):
    """Event at which a joint breaks; one that is overloaded when a run begins breaks at once."""

    side_before = -1


class Latch(Event):
    """A joint that closes when its two frames meet, and may break at a load.

    When the latch closes, velocities jump as for `enable`, and the bodies are moved until the frames coincide. It
    closes when the frames enter the capture limits, not if they are within the limits initially. After it has broken
    or has been released, it closes again when the frames enter the limits again.

    Parameters
    ----------
    name : str
    joint : Joint
        The joint to be closed, with active=False.
    distance : float
        Distance between the origins of the joint's frames at which the latch closes, m; at least 1e-6 of their previous
        separation, so that it exceeds round-off.
    angle : float, optional
        Largest angle between the frames at closing, rad.
    speed : float, optional
        Largest relative speed of the origins at closing, m/s.
    strength : float, optional
        Force of the joint at which it breaks, N.
    keep_offset : bool
        Hold the frames at their relative pose at closing.

    Examples
    --------
    >>> a = quirk.Body.sphere("a", 1.0, 0.1)
    >>> b = quirk.Body.sphere("b", 1.0, 0.1, position=[1, 0, 0], velocity=[-1, 0, 0])
    >>> dock = quirk.Fixed("dock", a, b, frame_i=quirk.Frame(), frame_j=quirk.Frame(), active=False)
    >>> latch = quirk.Latch("latch", dock, distance=0.1, keep_offset=True)
    >>> result = quirk.simulate(quirk.System([a, b, dock, latch]), 2.0, output=0.5)
    >>> result.body("a").velocity[-1].round(6) + 0.0
    array([-0.5,  0. ,  0. ])
    """

    side_before, tolerance = -1, REOPENED

    def __init__(
        self,
        name: str,
        joint: Joint,
        *,
        distance: float,
        angle: float | None = None,
        speed: float | None = None,
        strength: float | None = None,
        keep_offset: bool = False,
    ) -> None:
        owner = f'Latch "{validate.name("Latch", name)}"'
        if not isinstance(joint, Joint):
            raise InputError(f"{owner}: joint must be a joint, such as quirk.Fixed(..., active=False); got {joint!r}")
        limits = {"distance": distance, "angle": angle, "speed": speed, "strength": strength}
        for argument, value in limits.items():
            if value is not None:
                validate.positive(owner, argument, value)
        if angle is not None:
            degrees.within_turn(owner, "angle", angle)
        action = Engage((joint.name,), np.inf, validate.flag(owner, "keep_offset", keep_offset))
        self._out_of_reach = OutOfReach(joint.name, distance, angle, speed)
        super().__init__(name, self._out_of_reach, direction=-1, action=action)
        self.joint = joint
        self.companions: tuple[Event, ...] = ()
        if strength is not None:
            load = f"{joint.name}.force"
            breaks = JointBreak(f"{name} breaks", load, level=strength, direction=1, action=release(joint))
            self.companions = (breaks,)

    def __str__(self) -> str:
        return f'Latch "{self.name}"'

    def watched_beside(self, active: Container[str]) -> bool:
        """Whether the latch is open: a closed one that keeps the offset stands at its limits, up to round-off."""
        return self.joint.name not in active

    def quantity(self, parts: Mapping[str, Any], probe: Any) -> Quantity:
        """Return the quantity that triggers the latch; `parts` and `probe` are unused."""
        return Quantity(self.name, f"{self}", self._out_of_reach, 0.0, {self.joint.name: self.joint}, of_user=False)


def _larger(a: Any, b: Any) -> Any:
    return where(a > b, a, b)
