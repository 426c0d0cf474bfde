"""Attitude control of a body by reaction wheels.

A jet is a number with time derivatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies import rotation
from ..bodies.body import Body
from ..bodies.frame import Frame
from ..constraints import Constraint, Fixed, Revolute
from ..constraints.angle import rotation_123, rotation_vector
from ..errors import InputError
from ..functions import degrees
from ..functions.motion import MotionLike, as_motion
from ..functions.motion_derivative import derivative_of
from ..util import validate
from .actuator import checked_limits, limited
from .element import ForceElement
from .joint_tree import Lump, outer_pose
from .on_body import checked_owner
from .place import Place

# Least singular value of the matrix of wheel axes over the greatest one: below it the axes lie in a plane.
SPANNED = 1e-6


class AttitudeControl(ForceElement):
    """Attitude control by torques on reaction wheels, with the error dynamics e'' + kd e' + kp e = 0.

    The error e is the rotation vector from the body to the target, up to half a turn. The commanded angular
    acceleration, -kd times the relative angular velocity plus kp e plus the acceleration of the target, is converted to
    a torque with the inertia of the body and its wheels and their angular momentum (Wie, Space Vehicle Dynamics and
    Control, 2008, sec. 7.3; error of rotation vectors: Bullo and Murray, Proc. ECC 1995, 1091). It is distributed over
    the wheels with the least sum of squared torques. Bodies that are welded to the body are included; other bodies that
    are joined to it, and external torques, are not modeled by the control law and disturb the error.

    The wheels are bodies on Revolute joints, balanced and symmetric about their axes, at least three that span space.
    All torques are between the body and the wheels, so that the total angular momentum is conserved.

    In results, ``result[name].coordinate("angle")`` is the angle of the error, rad. For a joint "axle",
    ``result[name].coordinate("axle")`` is the torque on its wheel, N m, positive about the joint's axis.

    Parameters
    ----------
    body : Body
    wheels : list of Revolute
        Joints between the body and the wheels, three or more.
    target : orientation, or three Motions or numbers
        Orientation of the body, body to inertial: (4,) quaternion, (3, 3) matrix or scipy `Rotation`; or three 1-2-3
        angles as functions of time, rad.
    kp : float
        Stiffness of the error, 1/s^2, positive; omega^2 for a natural angular frequency omega.
    kd : float
        Damping of the error, 1/s, not negative; 2 omega for critical damping.
    limits : float or (2,), optional
        Largest torque of each wheel in both directions, or the smallest and the largest torque (N m); default:
        unlimited.

    Examples
    --------
    >>> craft = quirk.Body.box("craft", 50.0, [1, 1, 1])
    >>> wheels = [quirk.Body.cylinder(f"wheel {a}", 2.0, 0.2, 0.05, axis=a) for a in "xyz"]
    >>> axles = [quirk.Revolute(f"axle {a}", craft, w, point=[0, 0, 0], axis=a) for a, w in zip("xyz", wheels)]
    >>> control = quirk.AttitudeControl("control", craft, axles, [0, 0, 0.5], kp=1.0, kd=2.0)
    >>> result = quirk.simulate(quirk.System([craft, *wheels, *axles, control]), 3.0, output=3.0)
    >>> result["control"].coordinate("angle").round(6)  # the second is 0.5 (1 + 3) exp(-3)
    array([0.5     , 0.099574])
    """

    drawing = ""

    parameters: tuple[str, ...] = ("axes", "wheel_inertias", "inertia", "sharing", "kp", "kd", "limits")
    aside: tuple[str, ...] = ("joints", "reads_parts")
    reads_parts: tuple[Any, ...]
    axes: Any
    wheel_inertias: Any
    inertia: Any
    sharing: Any
    undefined = "the error is half a turn, whose axis has no sign"

    def __init__(
        self,
        name: str,
        body: Body,
        wheels: Iterable[Revolute],
        target: rotation.OrientationLike | Iterable[MotionLike],
        *,
        kp: float,
        kd: float,
        limits: ArrayLike | None = None,
    ) -> None:
        owner = checked_owner("AttitudeControl", name, body)
        self.body, self.joints = body, _checked_wheels(owner, body, wheels)
        self.kp = validate.positive(owner, "kp", kp)
        self.kd = validate.non_negative(owner, "kd", kd)
        self.limits = checked_limits(owner, limits)
        angles = list(target) if isinstance(target, list | tuple | np.ndarray) and len(target) == 3 else []
        if angles and np.ndim(angles[0]) == 0:
            for k, angle in enumerate(angles):
                motion = as_motion(owner, f"target[{k}]", angle)
                degrees.check_motion(owner, f"target[{k}]", motion)
                # Laws receive values and rates of motions: the acceleration is the rate of the derivative.
                vars(self).update({f"angle_{k}": motion, f"speed_{k}": derivative_of(motion)})
            self.motions = tuple(f"{what}_{k}" for k in range(3) for what in ("angle", "speed"))
        else:
            self.target_axes = rotation.matrix(rotation.as_orientation(owner, "target", target))
            self.parameters = (*self.parameters, "target_axes")
        self.coordinates = ("angle", *(joint.name for joint in self.joints))
        outer = [joint.ends[1 if joint.body_i is body else 0] for joint in self.joints]
        super().__init__(name, (body, Frame()), *((wheel, frame) for wheel, frame in outer))
        self._fill({part.name: part for part in (body, *(wheel for wheel, _ in outer))}, self.joints)

    def _fill(self, bodies: Mapping[str, Any], constraints: Iterable[Constraint]) -> None:
        vars(self).update(_numbers(str(self), self.body.name, self.joints, bodies, constraints))

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return a copy of the element for a system with the given bodies and constraints.

        The copy contains the total inertia of the controlled body and all bodies welded to it.
        """
        by_name = {body.name: body for body in bodies}
        known = {one.name for one in constraints if one.active}
        for joint in self.joints:
            if joint.name not in known:
                raise InputError(f"{self}: wheels names {joint}, which is not an enabled joint of the system")
        ends = tuple((by_name.get(body.name, body), frame) for body, frame in self.ends)
        made = self.with_values({"ends": ends})
        if all(body.name in by_name for body, _ in ends):
            made._fill(by_name, constraints)
        return made

    @property
    def reads(self) -> tuple[Any, ...]:
        """Bodies and joints from whose masses and geometry the parameters of the control law are computed."""
        return self.reads_parts

    @property
    def wakes(self) -> bool:
        """Whether runs also sample torques within steps.

        Torques can change abruptly if they are limited, or if the error passes half a turn.
        """
        return True

    def load(self, t: Any, body: Place, *wheels: Place) -> Any:
        """Return zero forces, and the torques (N m) on the body and on the wheels, in the inertial frame."""
        torques = self._torques(body, wheels)
        each = [torque * body.direction(axis) for torque, axis in zip(torques, self.axes, strict=True)]
        return [(0, -sum(each)), *((0, torque) for torque in each)]

    def shown(self, t: Any, body: Place, *wheels: Place) -> Any:
        """Return the angle of the error, rad, and the torque on each wheel, N m."""
        error = self._error(body)[0]
        return [np.sqrt(error @ error), *self._torques(body, wheels)]

    def _torques(self, body: Place, wheels: Sequence[Place]) -> list[Any]:
        """Return the torque on each wheel about its axis, N m."""
        error, target_spin, target_turning = self._error(body)
        spin = body.angular_velocity
        relative = spin - target_spin
        turning = self.kp * error - self.kd * relative + target_turning - np.cross(relative, target_spin)
        momentum = self.inertia @ spin
        needed = self.inertia @ turning
        for axis, inertia, wheel in zip(self.axes, self.wheel_inertias, wheels, strict=True):
            momentum = momentum + axis * (inertia * (body.direction(axis) @ (wheel.spin - body.spin)))
            needed = needed - axis * (inertia * (axis @ turning))
        torques = -self.sharing @ (needed + np.cross(spin, momentum))
        return [limited(torque, self.limits) for torque in torques]

    def _error(self, body: Place) -> tuple[Any, Any, Any]:
        """Return the rotation vector from the body to the target, and the target's angular velocity and acceleration.

        All three are (3,) in body axes, in rad, rad/s and rad/s^2.
        """
        if not self.motions:
            away = body.rotation.T @ self.target_axes
            return rotation_vector(away), np.zeros(3), np.zeros(3)
        angles = [_with_acceleration(getattr(self, f"angle_{k}"), getattr(self, f"speed_{k}")) for k in range(3)]
        target = rotation_123(angles)
        spin = _spin_of(target)
        away = body.rotation.T @ target
        return rotation_vector(away), away @ spin, away @ [jet.rate for jet in spin]


def _with_acceleration(angle: Jet, speed: Jet) -> Jet:
    """Return the jet `angle` with one more time derivative, which is taken from `speed`, the jet of its rate."""
    return Jet([angle.value, *(c * (1.0 / (k + 1)) for k, c in enumerate(speed.taylor))], angle.bare.gradient)


def _spin_of(R: np.ndarray) -> np.ndarray:
    """Return the angular velocity (3,), rad/s, in body axes, of a rotating frame.

    `R` (3, 3) is the rotation matrix, body to inertial, of jets with time derivatives.
    """
    rate = R.T @ np.array([[x.rate if isinstance(x, Jet) else 0.0 for x in row] for row in R], dtype=object)
    return np.array([rate[2, 1], rate[0, 2], rate[1, 0]], dtype=object)


def _numbers(
    owner: str, hub: str, joints: Sequence[Revolute], bodies: Mapping[str, Any], constraints: Iterable[Constraint]
) -> dict[str, Any]:
    """Return the parameters of the control law that depend on the masses and the joints, by name.

    Parameters
    ----------
    owner : title for errors
    hub : name of the controlled body
    joints : joints of the wheels
    bodies, constraints : bodies of the system by name, and constraints of the system
    """
    wheels = {joint.name for joint in joints}
    rigid: list[Any] = [one for one in constraints if one.active and (isinstance(one, Fixed) or one.name in wheels)]
    places, reads, lump = {hub: (np.eye(3), np.zeros(3))}, [bodies[hub]], Lump()
    lump.add(bodies[hub], np.eye(3), np.zeros(3))
    axes, inertias = {}, {}
    waiting = [hub]
    while waiting:
        inner = waiting.pop(0)
        for joint in [one for one in rigid if inner in (one.body_i.name, one.body_j.name)]:
            rigid.remove(joint)
            end = 0 if joint.body_i.name == inner else 1
            outer = joint.ends[1 - end][0].name
            if outer not in bodies:
                continue
            if outer in places:
                raise InputError(f"{owner}: {joint} closes a loop of welded bodies and wheels: leave it out")
            frame, turned, center = outer_pose(joint, end, *places[inner])
            places[outer] = turned, center
            lump.add(bodies[outer], turned, center)
            reads += [joint, bodies[outer]]
            waiting.append(outer)
            if joint.name in wheels:
                local = turned.T @ frame[:, 2]
                axes[joint.name], inertias[joint.name] = frame[:, 2], local @ bodies[outer].inertia @ local
    each = np.array([axes[joint.name] for joint in joints])
    values = np.linalg.svd(each, compute_uv=False)
    if len(values) < 3 or values[-1] < SPANNED * values[0]:
        raise InputError(
            f"{owner}: wheels must be at least three whose axes span space; got axes {each.round(6).tolist()}"
        )
    return {
        "reads_parts": tuple(reads),
        "axes": each,
        "wheel_inertias": np.array([inertias[joint.name] for joint in joints]),
        "inertia": lump.total()[2],
        "sharing": np.linalg.pinv(each.T),
    }


def _checked_wheels(owner: str, body: Body, wheels: Any) -> tuple[Revolute, ...]:
    """Return the joints of wheels as a tuple; an InputError is raised unless each connects the body to a wheel."""
    listed = list(wheels) if isinstance(wheels, Iterable) and not isinstance(wheels, str) else [wheels]
    for joint in listed:
        if not (isinstance(joint, Revolute) and joint.active):
            raise InputError(f"{owner}: wheels must be enabled Revolute joints; got {joint!r}")
        others = [other for other in joint.bodies if other is not body]
        if len(others) != 1 or not isinstance(others[0], Body):
            raise InputError(f"{owner}: wheels must be joints between {body} and a wheel; got {joint!r}")
    if len({id(joint) for joint in listed}) < len(listed):
        raise InputError(f"{owner}: wheels must differ; got one of them twice")
    return tuple(listed)
