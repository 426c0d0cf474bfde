"""Actuators at joints: a motor with limits, and a controller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..constraints import Joint
from ..errors import InputError
from ..functions import degrees
from ..functions.array_api import clip
from ..functions.motion import MotionLike, as_motion
from ..util import validate
from .joint_actuation import Actuated, OfJoint, free_axis
from .value import LoadLike


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

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> system = quirk.System([rotor, axle, quirk.Actuator("motor", axle, 30.0, limits=4.0)])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[0., 0., 2.]])
    """

    def __init__(
        self,
        name: str,
        joint: Joint,
        effort: LoadLike,
        *,
        limits: ArrayLike | None = None,
        coordinate: str | None = None,
    ) -> None:
        owner, axis, rotates = free_axis("Actuator", name, joint, coordinate)
        super().__init__(owner, name, joint, axis, rotates, effort)
        self.limits = checked_limits(owner, limits)
        self.parameters = (*self.parameters, "limits")

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort within its limits."""
        return limited(super().along(t, x, rate), self.limits)

    @property
    def wakes(self) -> bool:
        """Whether it has limits, or follows a function."""
        return self.limits is not None or self.of_user


class Controller(OfJoint):
    """A controller (PID) that lets a joint follow a target: effort kp e + ki z + kd e', within limits.

    e = target - x is the error, and z its integral over time, an internal variable that runs carry on: a state that a
    run returns has it, and a run from that state goes on with it. Where the effort is beyond a limit by d, the integral
    is wound back: z' = e - d / (ki T) with T the larger of kp / ki and sqrt(kd / ki), the tracking time of Astrom and
    Hagglund, Advanced PID Control (2006), sec. 3.5.

    Parameters
    ----------
    joint : Joint
        One with a free rotation or a free translation.
    target : Motion or float
        Of its angle, rad, with all turns made, or of its displacement, m.
    kp : float
        N m/rad or N/m, not negative.
    ki : float
        N m/(rad s) or N/(m s), not negative.
    kd : float
        N m s/rad or N s/m, not negative.
    integral : float
        Of the error before the start, rad s or m s.
    limits : float or (2,), optional
        The largest effort both ways, or the least and the largest, N m or N; without limits by default.
    coordinate : "rotation" or "translation", optional
        For a joint with both.

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> servo = quirk.Controller("servo", axle, target=0.5, kp=8.0, kd=4.0)
    >>> system = quirk.System([rotor, axle, servo])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[0., 0., 2.]])
    """

    parameters = ("kp", "ki", "kd", "limits")
    motions = ("target",)

    def __init__(
        self,
        name: str,
        joint: Joint,
        target: MotionLike,
        *,
        kp: float,
        ki: float = 0.0,
        kd: float = 0.0,
        integral: float = 0.0,
        limits: ArrayLike | None = None,
        coordinate: str | None = None,
    ) -> None:
        owner, axis, rotates = free_axis("Controller", name, joint, coordinate)
        self.target = as_motion(owner, "target", target)
        if rotates:
            degrees.check_motion(owner, "target", self.target)
        self.kp = validate.non_negative(owner, "kp", kp)
        self.ki = validate.non_negative(owner, "ki", ki)
        self.kd = validate.non_negative(owner, "kd", kd)
        self.limits = checked_limits(owner, limits)
        self.integral = validate.number(owner, "integral", integral)
        if self.ki > 0:
            self.internal = ("integral",)
            if self.limits is not None and not (self.kp > 0 or self.kd > 0):
                raise InputError(f"{owner}: an integral part alone cannot be held within limits: give kp or kd too")
        super().__init__(name, joint, axis, rotates)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort within its limits."""
        return limited(self.effort(x, rate), self.limits)

    def internal_rates(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the error, less what winds its integral back at a limit."""
        error: Any = self.target - x
        if self.limits is None:
            return error
        asked, both = self.effort(x, rate), self.ki * self.kd
        tracking = where(self.kp * self.kp > both, self.kp, np.sqrt(both))  # ki T
        return error - (asked - limited(asked, self.limits)) / tracking

    def effort(self, x: Any, rate: Any) -> Any:
        """Return the effort that is asked for, N m or N, without limits."""
        target: Any = self.target
        effort = self.kp * (target - x) + self.kd * (target.rate - rate)
        return effort + self.ki * self.integral if self.internal else effort

    @property
    def wakes(self) -> bool:
        """Whether it has limits."""
        return self.limits is not None


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
