"""State feedback for robots: gravity compensation and computed torque for a kinematic tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..constraints import Constraint, Joint
from ..errors import InputError
from ..functions import degrees
from ..functions.motion import Motion, MotionLike, as_motion
from ..functions.motion_derivative import derivative_of
from ..util import validate
from .actuator import limited
from .tree_control import TreeControl


class GravityCompensation(TreeControl):
    """Joint efforts g(q) that balance the weight of the links of a robot.

    The joints are Revolute or Prismatic, and form a tree rooted at the ground, in which bodies may also be joined by
    Fixed joints. The effort at each joint balances the weight of all bodies that it carries: the derivative of their
    potential energy with respect to its coordinate, with all other coordinates constant. Joints of the tree that are
    not in `joints` have no effort and move freely; the other joints also carry the weight of the links beyond them.
    Bodies that are connected by disabled constraints, contacts or springs are not included in the balance.

    The law has no feedback of errors; add a `Controller` for each joint to hold a pose. In results,
    ``result[name].along("hinge")`` is the effort at a joint "hinge".

    Parameters
    ----------
    joints : list of Joint, optional
        Joints with an effort; default: all enabled Revolute and Prismatic joints of the system.
    gravity : (3,)
        Gravity that is compensated, inertial frame, m/s^2; usually that of the system.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N), of every joint; default:
        unlimited.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 2.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> floating = quirk.GravityCompensation("floating", gravity=[0, 0, -10.0])
    >>> system = quirk.System([rod, hinge, floating], gravity=[0, 0, -10.0])
    >>> quirk.simulate(system, 1.0, output=1.0)["floating"].along("hinge").round(6)
    array([-10., -10.])
    """

    def __init__(
        self,
        name: str,
        joints: Iterable[Joint] | None = None,
        *,
        gravity: ArrayLike,
        limits: ArrayLike | None = None,
    ) -> None:
        super().__init__(name, joints, gravity, limits)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) at each joint; zero at joints without effort."""
        efforts = self.inverse_dynamics(list(np.atleast_1d(x)), None, ())
        return [limited(e, self.limits) if c < self.count else 0.0 for c, e in enumerate(efforts)]


class ComputedTorque(TreeControl):
    """Computed-torque control: joint efforts that track targets with the error dynamics e'' + kd e' + kp e = 0.

    The efforts are M(q) (q_d'' + kd e' + kp e) + c(q, q') + g(q) with e = q_d - q, the inverse dynamics of the tree
    (Siciliano et al., Robotics, 2009, sec. 8.5.2). The joints are Revolute or Prismatic, and form a tree rooted at the
    ground, in which bodies may also be joined by Fixed joints; every joint that can move must be in `joints`. The
    control law includes the masses and inertias of the bodies of the tree, with rotors (`armature`). It does not
    include contacts and other force elements, such as springs, friction and payloads that are joined by forces: these
    disturb the error.

    In results, ``result[name].along("hinge")`` is the effort at a joint "hinge".

    Parameters
    ----------
    joints : list of Joint
        All joints of the tree that can move.
    targets : list of Motion or float
        Target of the angle (rad), all turns counted, or displacement (m) of each joint, with its derivatives.
    rates : list of Motion or float, optional
        Target of the rate of each joint, rad/s or m/s, with its derivative; default: the time derivatives of `targets`.
        Piecewise constant targets, such as inputs of a `Run`, require `rates`.
    kp : float or list
        Stiffness of the error of each joint, 1/s^2, not negative; omega^2 for a natural angular frequency omega.
    kd : float or list
        Damping of the error of each joint, 1/s, not negative; 2 omega for critical damping.
    gravity : (3,)
        Gravity that the law compensates, inertial frame, m/s^2; usually that of the system.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N), of every joint; default:
        unlimited.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 2.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> control = quirk.ComputedTorque("control", [hinge], [0.3], kp=4.0, kd=4.0, gravity=[0, 0, -9.81])
    >>> system = quirk.System([rod, hinge, control], gravity=[0, 0, -9.81])
    >>> result = quirk.simulate(system, 1.0, output=1.0)
    >>> (0.3 - result["hinge"].angle).round(6)  # the second is 0.3 (1 + 2) exp(-2)
    array([0.3     , 0.121802])
    """

    def __init__(
        self,
        name: str,
        joints: Iterable[Joint],
        targets: Iterable[MotionLike],
        *,
        kp: ArrayLike,
        kd: ArrayLike,
        gravity: ArrayLike,
        rates: Iterable[MotionLike] | None = None,
        limits: ArrayLike | None = None,
    ) -> None:
        super().__init__(name, joints, gravity, limits)
        assert self.joints is not None
        owner, count = str(self), len(self.joints)
        motions = _motions(owner, "targets", targets, count)
        speeds = [derivative_of(motion) for motion in motions]
        self.own_rates = rates is not None
        if rates is not None:
            speeds = _motions(owner, "rates", rates, count)
        self.kp = _gains(owner, "kp", kp, count)
        self.kd = _gains(owner, "kd", kd, count)
        for k, (joint, motion, speed) in enumerate(zip(self.joints, motions, speeds, strict=True)):
            if joint.rotation_axis is not None:
                degrees.check_motion(owner, f"targets[{k}]", motion)
            # Laws receive values and rates of motions: the acceleration is the rate of the speed.
            vars(self).update({f"target_{k}": motion, f"speed_{k}": speed})
        self.motions = tuple(f"{what}_{k}" for k in range(count) for what in ("target", "speed"))
        self.parameters = (*self.parameters, "kp", "kd", "armatures")

    # Targets (joints,) and their rates, if they are parameters of the law.
    targets: Any
    rates: Any

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return the element for a system; an InputError is raised if a joint of the tree has no target."""
        control = super().placed(bodies, constraints)
        missing = [name for c, name in enumerate(control.coordinates) if control.leaders[c] == c >= control.count]
        if missing:
            free = ", ".join(missing)
            raise InputError(
                f"{self}: joints must contain all that can move in its tree, but {free} has no target: add it, disable "
                "it, or weld it; use GravityCompensation and Controllers for robots with joints that are not actuated"
            )
        return control

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) at each joint."""
        x, rate = np.atleast_1d(x), np.atleast_1d(rate)
        targets, speeds = self._targets()
        commanded = [
            speed.rate + self.kd[k] * (speed - rate[k]) + self.kp[k] * (target - x[k])
            for k, (target, speed) in enumerate(zip(targets, speeds, strict=True))
        ]
        followers = range(self.count, len(self.leaders))
        commanded += [self.ratios[c] * commanded[self.leaders[c]] for c in followers]
        efforts = self.inverse_dynamics(list(x), list(rate), commanded)[: self.count]
        return [*(limited(effort, self.limits) for effort in efforts), *(0.0 for _ in followers)]

    def _targets(self) -> tuple[Any, Any]:
        """Return the target coordinates of all joints with an effort, and their target rates."""
        if "targets" in self.parameters:
            return self.targets, self.rates
        targets, speeds = ([getattr(self, f"{what}_{k}") for k in range(self.count)] for what in ("target", "speed"))
        return targets, speeds

    def with_held_targets(self) -> Self | None:
        """Return a copy whose targets and rates are parameters of the law, as arrays (joints,), instead of motions.

        The result is None unless all targets and rates are constant.
        """
        motions = {name: self.motion(name) for name in self.motions}
        if not all(motion.constant for motion in motions.values()):
            return None
        targets, rates = (
            np.array([motion(0.0) for name, motion in motions.items() if name.startswith(what)])
            for what in ("target", "speed")
        )
        constants = {"targets": targets, "rates": rates, "motions": (), "own_rates": True}
        names = (*self.parameters, "targets", "rates")
        return self.with_values({**dict.fromkeys(motions), **constants, "parameters": names})

    def motion_changes(self, name: str, change: Motion) -> dict[str, Motion]:
        """Return the derivatives, by attribute name, of the motions that depend on a parameter of the motion `name`.

        `change` is the derivative of the motion `name`. If this motion is a target and the user gave no target rates,
        the result also contains the derivative of the target's rate.
        """
        kind, _, k = name.partition("_")
        follows = kind == "target" and not self.own_rates
        return {name: change, **({f"speed_{k}": derivative_of(change)} if follows else {})}


def _motions(owner: str, argument: str, values: Any, count: int) -> list[Motion]:
    """Return the user's list `values` of `count` motions or numbers as Motions, one for each joint."""
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]
    if len(listed) != count:
        raise InputError(f"{owner}: {argument} must be one for each of its {count} joints; got {len(listed)}")
    return [as_motion(owner, f"{argument}[{k}]", motion) for k, motion in enumerate(listed)]


def _gains(owner: str, argument: str, value: Any, count: int) -> np.ndarray:
    """Return `count` gains, which must not be negative; a single number applies to all joints."""
    if np.ndim(value) == 0:
        return np.full(count, validate.non_negative(owner, argument, value))
    gains = validate.array(owner, argument, value, (count,))
    if (gains < 0).any():
        raise InputError(f"{owner}: {argument} must not be negative; got {gains.tolist()}")
    return gains
