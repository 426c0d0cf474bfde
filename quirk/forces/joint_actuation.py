"""Torque about and force along a joint's free axis: motors, brakes, actuators."""

from __future__ import annotations

from typing import Any

from quirk import validate
from quirk.constraints import Joint
from quirk.constraints.jets import Jet
from quirk.constraints.relative import (
    FrameMotion,
    angle_about,
    angular_velocity,
    displacement,
    float_of,
    nearest,
    velocity,
)
from quirk.errors import InputError
from quirk.state import Kinematics

from .element import ForceElement, Wrenches
from .law import JOINT_FORCE, JOINT_TORQUE, Law
from .value import Value


class JointTorque(ForceElement):
    """A torque about a joint's axis: + on body j, - on body i.

    Parameters
    ----------
    joint : Joint
        One with a free rotation about its axis: Revolute or Cylindrical.
    torque : float or function
        N m; a function ``f(t, angle, rate)`` of s, rad and rad/s returns it. The angle of body j relative
        to body i is that of ``result[joint].rotation``, with all turns made since the start of the run.
    """

    def __init__(self, name: str, joint: Joint, torque: Any) -> None:
        owner = _checked_joint("JointTorque", name, joint, "rotation_axis", "turns about")
        self.name, self.joint, self.bodies = name, joint, (joint.body_i, joint.body_j)
        self.torque = Value(owner, "torque", torque, (), "f(t, angle, rate)")

    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add the torque and its reaction; the axis is the one fixed in body i."""
        i, j = frame_motions(self.joint, kin, rows)
        c = self.joint.rotation_axis
        assert c is not None
        angle = _number(angle_about(i, j, c))
        near = float(kin.angles[self.joint.name][c]) if self.joint.name in kin.angles else 0.0
        angle = angle + (nearest(float_of(angle), near) - float_of(angle))
        torque = self.torque(t, angle, _number(angular_velocity(i, j)[c])) * i.axes[:, c]
        loads.torque[rows[1]] += torque
        loads.torque[rows[0]] -= torque

    def rate(self, kin: Kinematics, rows: tuple[int, ...]) -> float:
        """Rate, rad/s, of the angle on which the torque does work."""
        return float(angular_velocity(*frame_motions(self.joint, kin, rows))[self.joint.rotation_axis])

    def law(self) -> Law:
        """Return the torque for kernels."""
        return _law(JOINT_TORQUE, self.joint, self.joint.rotation_axis, self.torque)


class JointForce(ForceElement):
    """A force along a joint's axis: + on body j, - on body i, through the joint point of body j.

    Parameters
    ----------
    joint : Joint
        One with a free translation along its axis: Prismatic or Cylindrical.
    force : float or function
        N; a function ``f(t, displacement, rate)`` of s, m and m/s returns it.
    """

    def __init__(self, name: str, joint: Joint, force: Any) -> None:
        owner = _checked_joint("JointForce", name, joint, "translation_axis", "slides along")
        self.name, self.joint, self.bodies = name, joint, (joint.body_i, joint.body_j)
        self.force = Value(owner, "force", force, (), "f(t, displacement, rate)")

    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add the force and its reaction; the axis is the one fixed in body i."""
        i, j = frame_motions(self.joint, kin, rows)
        c = self.joint.translation_axis
        force = self.force(t, _number(displacement(i, j)[c]), _number(velocity(i, j)[c])) * i.axes[:, c]
        loads.add_force(kin, rows[1], force, j.origin)
        loads.add_force(kin, rows[0], -force, j.origin)

    def rate(self, kin: Kinematics, rows: tuple[int, ...]) -> float:
        """Rate, m/s, of the displacement on which the force does work."""
        return float(velocity(*frame_motions(self.joint, kin, rows))[self.joint.translation_axis])

    def law(self) -> Law:
        """Return the force for kernels."""
        return _law(JOINT_FORCE, self.joint, self.joint.translation_axis, self.force)


def _law(kind: int, joint: Joint, axis: int | None, value: Value) -> Law:
    assert axis is not None
    return Law(kind, joint.frame_i, joint.frame_j, axis, value.numbers, value if value.function else None)


def _number(x: Any) -> Any:
    return x if isinstance(x, Jet) else float(x)


def frame_motions(joint: Joint, kin: Kinematics, rows: tuple[int, ...]) -> tuple[FrameMotion, FrameMotion]:
    """Return both joint frames in motion."""
    i, j = (
        FrameMotion.of(frame, kin.position[b], kin.rotation[b], kin.velocity[b], kin.spin[b])
        for frame, b in zip((joint.frame_i, joint.frame_j), rows, strict=True)
    )
    return i, j


def _checked_joint(kind: str, name: str, joint: Any, axis: str, verb: str) -> str:
    owner = f'{kind} "{validate.name(kind, name)}"'
    if not isinstance(joint, Joint):
        raise InputError(f"{owner}: joint must be a joint such as quirk.Revolute; got {joint!r}")
    if getattr(joint, axis) is None:
        raise InputError(
            f"{owner}: joint must be one that {verb} a single axis; got {joint}: "
            "use Torque or Force on the bodies instead"
        )
    return owner
