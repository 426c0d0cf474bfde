"""Forces along, and torques about, the free axis of a joint.

An effort is a torque (N m) for a rotation or a force (N) for a translation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..constraints import Joint
from ..constraints.angle import free_angle
from ..constraints.armature import ArmatureLike, armature_parts
from ..errors import InputError
from ..functions.motion import Motion
from ..util import validate
from .element import ForceElement
from .place import Place
from .value import LoadLike, Value

COORDINATES = ("rotation", "translation")


class OfJoint(ForceElement):
    """Base class of force elements that act along the free coordinate of a joint.

    Attributes
    ----------
    joint : Joint
    rotates : whether the coordinate is the angle about the joint's axis; otherwise it is the displacement along it
    axis : index of the free axis in joint frame i: 0, 1 or 2 for x, y or z
    of_three : whether the angle is one of the 1-2-3 angles of a joint with several rotations
    """

    aside: tuple[str, ...] = ("joint",)

    @property
    def reads_angle(self) -> bool:
        """Whether the law depends on the joint's angle, and therefore on the number of full turns."""
        return True

    def __init__(self, name: str, joint: Joint, axis: int, rotates: bool) -> None:
        self.joint, self.axis, self.rotates, self.of_three = joint, axis, rotates, joint.of_three
        self.coordinates = ("angle",) if rotates else ("displacement",)
        self.drawing = "torque" if rotates else "force"
        self.turning = (0,) if rotates and self.reads_angle else ()
        self.counted = ((joint.name, axis),) if self.turning else ()
        super().__init__(name, (joint.body_i, joint.frame_i), (joint.body_j, joint.frame_j))

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return a list with the joint's angle (rad), all turns counted, or [] if the law does not use it."""
        known = angles.get(self.joint.name)
        return [0.0 if known is None else float(known[self.axis]) for _ in self.turning]

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the joint's angle (rad) or displacement (m), as defined for `result[joint]`."""
        if self.rotates:
            return free_angle(i, j, self.axis, self.of_three)
        return i.rotation[:, self.axis] @ (j.position - i.position)


class Actuated(OfJoint):
    """Base class of joint elements whose effort is given by the user as a number, a `Motion` or a function."""

    argument = "effort"

    def __init__(
        self,
        owner: str,
        name: str,
        joint: Joint,
        axis: int,
        rotates: bool,
        effort: LoadLike,
        armature: ArmatureLike | None = None,
    ) -> None:
        form = f"f(t, {'angle' if rotates else 'displacement'}, rate)"
        given = effort if isinstance(effort, Motion) else Value(owner, self.argument, effort, (), form, (0, 0))
        setattr(self, self.argument, given)
        if isinstance(given, Motion):
            self.motions = (self.argument,)
        else:
            self.parameters = (self.argument,)
        super().__init__(name, joint, axis, rotates)
        self.companions = armature_parts(owner, name, joint, rotates, armature)

    @property
    def reads_angle(self) -> bool:
        """Whether the effort is a function, and may therefore depend on the angle."""
        return bool(self.functions)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) at time t (s) for joint coordinate x and its rate."""
        given = getattr(self, self.argument)
        return given if self.motions else given(t, x, rate)


class JointTorque(Actuated):
    """A torque about a joint's axis: + on body j, - on body i.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation about its axis: Revolute or Cylindrical.
    torque : float, Motion or function
        Torque, N m: a number, a `Motion` over time, or a function ``f(t, angle, rate)`` of time (s), angle (rad) and
        rate (rad/s). The angle of body j relative to body i is that of ``result[joint].rotation``, with all turns
        counted from the start of the run. Or a function ``f(t, state)`` of the whole state, see docs/forces.md.
    armature : float or (2,), optional
        Inertia of the motor's rotor at the joint, kg m^2; or the inertia of the rotor and its gear ratio; see
        `Revolute`.

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> system = quirk.System([rotor, axle, quirk.JointTorque("motor", axle, 3.0)])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[0. , 0. , 1.5]])
    """

    argument = "torque"

    def __init__(self, name: str, joint: Joint, torque: LoadLike, *, armature: ArmatureLike | None = None) -> None:
        owner, axis = checked_joint("JointTorque", name, joint, "rotation")
        super().__init__(owner, name, joint, axis, True, torque, armature)


class JointForce(Actuated):
    """A force along a joint's axis: + on body j, - on body i, through the joint point of body j.

    Parameters
    ----------
    joint : Joint
        Joint with a free translation along its axis: Prismatic or Cylindrical.
    force : float, Motion or function
        Force, N: a number, a `Motion` over time, or a function ``f(t, displacement, rate)`` of time (s), displacement
        (m) and rate (m/s), or a function ``f(t, state)`` of the whole state, see docs/forces.md.
    armature : float or (2,), optional
        Inertia of the motor at the joint, kg; or the inertia of its rotor, kg m^2, and its gear ratio, rad/m; see
        `Prismatic`.

    Examples
    --------
    >>> slide = quirk.Body.box("slide", 2.0, [0.1, 0.1, 0.1])
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, slide, axis="x")
    >>> system = quirk.System([slide, rail, quirk.JointForce("push", rail, 3.0)])
    >>> system.acceleration(system.initial_state()).linear.round(6) + 0.0
    array([[1.5, 0. , 0. ]])
    """

    argument = "force"

    def __init__(self, name: str, joint: Joint, force: LoadLike, *, armature: ArmatureLike | None = None) -> None:
        owner, axis = checked_joint("JointForce", name, joint, "translation")
        super().__init__(owner, name, joint, axis, False, force, armature)


def checked_joint(kind: str, name: str, joint: Any, coordinate: str) -> tuple[str, int]:
    """Return the title of an element for error messages, and the index of the joint's free axis in frame i.

    `kind` and `name` are the class and the name of the element; `coordinate` is "rotation" or "translation". An
    InputError is raised if the joint has no single free axis of this kind.
    """
    owner = f'{kind} "{validate.name(kind, name)}"'
    if not isinstance(joint, Joint):
        raise InputError(f"{owner}: joint must be a joint such as quirk.Revolute; got {joint!r}")
    axis = getattr(joint, f"{coordinate}_axis")
    if axis is None:
        verb = "turns about" if coordinate == "rotation" else "slides along"
        raise InputError(
            f"{owner}: joint must be one that {verb} a single axis; got {joint}: "
            "use Torque or Force on the bodies instead"
        )
    return owner, int(axis)


def free_axis(kind: str, name: str, joint: Any, coordinate: str | None) -> tuple[str, int, bool]:
    """Return the element's title for errors, the index of the free axis in frame i, and whether it is a rotation.

    `kind` and `name` are the class and the name of the element. `coordinate` selects the "rotation" or "translation" of
    a joint that has both; None selects the only free axis.
    """
    owner = f'{kind} "{validate.name(kind, name)}"'
    validate.choice(owner, "coordinate", coordinate, (None, *COORDINATES))
    if coordinate is None:
        free = [c for c in COORDINATES if getattr(joint, f"{c}_axis", None) is not None]
        if len(free) > 1:
            raise InputError(f'{owner}: {joint} both turns and slides: give coordinate="rotation" or "translation"')
        coordinate = free[0] if free else "rotation"
    return *checked_joint(kind, name, joint, coordinate), coordinate == "rotation"
