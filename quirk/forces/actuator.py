"""Actuators at joints: a motor with limits, and a controller."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk import validate
from quirk.constraints import Joint
from quirk.errors import InputError
from quirk.motion import Motion
from quirk.stand_ins import clip

from .joint_actuation import Actuated, OfJoint, free_axis


class Actuator(Actuated):
    """A motor with limits, about or along a joint's free axis: + on body j, - on body i.

    Parameters
    ----------
    joint : Joint
        One with a free rotation or a free translation.
    effort : float, Motion or function
        Torque or force, N m or N; a function ``f(t, x, rate)`` of the time, the joint's angle (with all turns
        made) or displacement, and its rate.
    limits : float or (2,), optional
        The largest effort both ways, or the least and the largest, N m or N; without limits by default.
    coordinate : "rotation" or "translation", optional
        For a joint with both.
    """

    def __init__(
        self, name: str, joint: Joint, effort: Any, *, limits: Any = None, coordinate: str | None = None
    ) -> None:
        owner, axis, rotates = free_axis("Actuator", name, joint, coordinate)
        super().__init__(owner, name, joint, axis, rotates, effort)
        self.limits = checked_limits(owner, limits)
        self.parameters = (*self.parameters, "limits")

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort within its limits."""
        return limited(super().along(t, x, rate), self.limits)


class Controller(OfJoint):
    """A controller that lets a joint follow a target: effort kp (target - x) + kd (target' - x'), within limits.

    Parameters
    ----------
    joint : Joint
        One with a free rotation or a free translation.
    target : Motion or float
        Of its angle, rad, with all turns made, or of its displacement, m.
    kp : float
        N m/rad or N/m, not negative.
    kd : float
        N m s/rad or N s/m, not negative.
    limits : float or (2,), optional
        The largest effort both ways, or the least and the largest, N m or N; without limits by default.
    coordinate : "rotation" or "translation", optional
        For a joint with both.
    """

    parameters = ("kp", "kd", "limits")
    motions = ("target",)

    def __init__(
        self,
        name: str,
        joint: Joint,
        target: Any,
        *,
        kp: float,
        kd: float = 0.0,
        limits: Any = None,
        coordinate: str | None = None,
    ) -> None:
        owner, axis, rotates = free_axis("Controller", name, joint, coordinate)
        if not isinstance(target, Motion):
            target = Motion.polynomial([validate.number(owner, "target", target)])
        self.target = target
        self.kp = validate.non_negative(owner, "kp", kp)
        self.kd = validate.non_negative(owner, "kd", kd)
        self.limits = checked_limits(owner, limits)
        super().__init__(name, joint, axis, rotates)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort within its limits."""
        error: Any = self.target - x
        error_rate: Any = self.target.rate - rate
        return limited(self.effort(error, error_rate), self.limits)

    def effort(self, error: Any, error_rate: Any) -> Any:
        """Return the effort that is asked for, from the error of the coordinate and its rate."""
        return self.kp * error + self.kd * error_rate


def limited(effort: Any, limits: Any) -> Any:
    """Return an effort within its limits, if there are any."""
    return effort if limits is None else clip(effort, limits[0], limits[1])


def checked_limits(owner: str, limits: Any) -> np.ndarray | None:
    """Return the least and the largest effort (2,), or None."""
    if limits is None:
        return None
    if np.ndim(limits) == 0:
        largest = validate.positive(owner, "limits", limits)
        return np.array([-largest, largest])
    both = validate.array(owner, "limits", limits, (2,))
    if both[0] >= both[1]:
        raise InputError(f"{owner}: limits must be the least and the largest effort; got {both.tolist()}")
    return both
