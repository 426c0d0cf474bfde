"""Actuators at joints: an effort with limits, and a PID controller."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..constraints import Joint
from ..constraints.armature import ArmatureLike
from ..errors import InputError
from ..functions import degrees
from ..functions.array_api import clip
from ..functions.motion import MotionLike, as_motion
from ..util import validate
from .joint_actuation import Actuated, OfJoint, free_axis
from .value import LoadLike


class Actuator(Actuated):
    """A torque about or a force along a joint's free axis, within limits: + on body j, - on body i.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation or a free translation.
    effort : float, Motion or function
        The torque or force, N m or N; or a function ``f(t, x, rate)`` of the time, the joint's angle (all turns
        counted) or displacement, and its rate; or a function ``f(t, state)`` of the whole state, see docs/forces.md.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N); default: unlimited.
    coordinate : "rotation" or "translation", optional
        Coordinate of a joint that has both.
    armature : float or (2,), optional
        Inertia of the motor's rotor at the joint, or the inertia of the rotor and its gear ratio; see `Revolute` and
        `Prismatic`.

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
        armature: ArmatureLike | None = None,
    ) -> None:
        owner, axis, rotates = free_axis("Actuator", name, joint, coordinate)
        super().__init__(owner, name, joint, axis, rotates, effort, armature)
        self.limits = checked_limits(owner, limits)
        self.parameters = (*self.parameters, "limits")

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) within its limits at time t, for joint coordinate x and its rate."""
        return limited(super().along(t, x, rate), self.limits)

    @property
    def wakes(self) -> bool:
        """Whether runs also sample the effort within steps: it can change abruptly if limited or a user function."""
        return self.limits is not None or self.of_user


class Controller(OfJoint):
    """A PID controller of a joint coordinate: effort kp e + ki z + kd e', within limits.

    e = target - x is the error of the joint coordinate x. Its time integral z is an internal variable, which is stored
    in the states of a result, so that another run can continue with it. If the effort exceeds a limit by d, the
    integral is reduced: z' = e - d / (ki T), where T, the larger of kp / ki and sqrt(kd / ki), is the tracking time of
    Astrom and Hagglund, Advanced PID Control (2006), sec. 3.5.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation or a free translation.
    target : Motion or float
        Target of the joint's angle (rad), all turns counted, or of its displacement (m).
    kp : float
        Proportional gain, N m/rad or N/m, not negative.
    ki : float
        Integral gain, N m/(rad s) or N/(m s), not negative.
    kd : float
        Derivative gain, N m s/rad or N s/m, not negative.
    integral : float
        Initial value of the integral of the error, rad s or m s.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N); default: unlimited.
    coordinate : "rotation" or "translation", optional
        Coordinate of a joint that has both.

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
                raise InputError(f"{owner}: limits cannot be used with ki alone: give kp or kd, too")
        super().__init__(name, joint, axis, rotates)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) within its limits at time t, for joint coordinate x and its rate."""
        return limited(self.effort(x, rate), self.limits)

    def internal_rates(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the rate of the error's integral, rad or m.

        Below the limits of the effort the rate is the error. At a limit it is reduced by the anti-windup term.
        """
        error: Any = self.target - x
        if self.limits is None:
            return error
        asked, both = self.effort(x, rate), self.ki * self.kd
        tracking = where(self.kp * self.kp > both, self.kp, np.sqrt(both))  # ki T
        return error - (asked - limited(asked, self.limits)) / tracking

    def effort(self, x: Any, rate: Any) -> Any:
        """Return the unlimited effort (N m or N) for joint coordinate x and its rate."""
        target: Any = self.target
        effort = self.kp * (target - x) + self.kd * (target.rate - rate)
        return effort + self.ki * self.integral if self.internal else effort

    @property
    def wakes(self) -> bool:
        """Whether runs also sample the effort within steps: it can change abruptly if it is limited."""
        return self.limits is not None


def limited(effort: Any, limits: Any) -> Any:
    """Return `effort` clipped to the interval `limits` = (smallest, largest effort); unclipped if `limits` is None."""
    return effort if limits is None else clip(effort, limits[0], limits[1])


def checked_limits(owner: str, limits: Any) -> np.ndarray | None:
    """Return the smallest and the largest effort as an array (2,), or None if there are no limits.

    `limits` is the user's argument: a number for both directions, two numbers, or None. `owner` names the actuator in
    errors.
    """
    if limits is None:
        return None
    if np.ndim(limits) == 0:
        largest = validate.positive(owner, "limits", limits)
        return np.array([-largest, largest])
    both = validate.array(owner, "limits", limits, (2,))
    if both[0] >= both[1]:
        raise InputError(f"{owner}: limits must be the smallest and the largest effort; got {both.tolist()}")
    return both
