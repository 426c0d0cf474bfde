"""A force or a torque on one body, constant or a function of time and of the body's motion."""

from __future__ import annotations

from typing import Any

from quirk import validate
from quirk.body import Body
from quirk.errors import InputError
from quirk.frame import Frame
from quirk.state import Kinematics

from .element import ForceElement, Wrenches
from .law import FORCE, FORCE_IN_BODY, TORQUE, TORQUE_IN_BODY, Law
from .value import Value

FRAMES = ("inertial", "body")
CALL = "f(t, position, orientation, velocity, angular_velocity)"


class Force(ForceElement):
    """A force at a point of a body.

    Parameters
    ----------
    force : (3,) or function
        N; a function ``f(t, position, orientation, velocity, angular_velocity)`` of that body returns it.
        Its arguments are s, m in N, quaternion (4,), m/s in N and rad/s in body axes.
    point : (3,)
        Where it acts, body coordinates, m.
    frame : "inertial" or "body"
        In which axes `force` is given.
    """

    def __init__(self, name: str, body: Body, force: Any, point: Any = (0, 0, 0), frame: str = "inertial") -> None:
        owner = _checked_owner("Force", name, body)
        self.name, self.bodies = name, (body,)
        self.force = Value(owner, "force", force, (3,), CALL)
        self.point = validate.array(owner, "point", point, (3,))
        self.frame = validate.choice(owner, "frame", frame, FRAMES)

    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add the force at its point."""
        (b,) = rows
        R = kin.rotation[b]
        force = self.force(t, *_motion(kin, b))
        loads.add_force(kin, b, R @ force if self.frame == "body" else force, kin.position[b] + R @ self.point)

    def law(self) -> Law:
        """Return the force for kernels."""
        kind = FORCE_IN_BODY if self.frame == "body" else FORCE
        return Law(kind, frame_j=Frame(self.point), constants=self.force.numbers, function=_function(self.force))


class Torque(ForceElement):
    """A torque on a body.

    Parameters
    ----------
    torque : (3,) or function
        N m; a function as for `Force`.
    frame : "body" or "inertial"
        In which axes `torque` is given.
    """

    def __init__(self, name: str, body: Body, torque: Any, frame: str = "body") -> None:
        owner = _checked_owner("Torque", name, body)
        self.name, self.bodies = name, (body,)
        self.torque = Value(owner, "torque", torque, (3,), CALL)
        self.frame = validate.choice(owner, "frame", frame, FRAMES)

    def add_load(self, t: Any, kin: Kinematics, rows: tuple[int, ...], loads: Wrenches) -> None:
        """Add the torque."""
        (b,) = rows
        torque = self.torque(t, *_motion(kin, b))
        loads.torque[b] += kin.rotation[b] @ torque if self.frame == "body" else torque

    def law(self) -> Law:
        """Return the torque for kernels."""
        kind = TORQUE_IN_BODY if self.frame == "body" else TORQUE
        return Law(kind, constants=self.torque.numbers, function=_function(self.torque))


def _function(value: Value) -> Value | None:
    return value if value.function else None


def _motion(kin: Kinematics, b: int) -> tuple[Any, ...]:
    """Copies, so that a user's function cannot alter the state."""
    return (
        kin.position[b].copy(), kin.orientation[b].copy(),
        kin.velocity[b].copy(), kin.angular_velocity[b].copy(),
    )  # fmt: skip


def _checked_owner(kind: str, name: str, body: Any) -> str:
    owner = f'{kind} "{validate.name(kind, name)}"'
    if not isinstance(body, Body):
        raise InputError(f"{owner}: body must be a quirk.Body; got {body!r}")
    return owner
