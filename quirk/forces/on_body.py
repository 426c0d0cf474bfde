"""A force or a torque on one body, constant or a function of time and of the body's motion."""

from __future__ import annotations

from typing import Any

from quirk import validate
from quirk.body import Body
from quirk.errors import InputError
from quirk.frame import Frame

from .element import ForceElement
from .law import Place
from .value import Value

FRAMES = ("inertial", "body")
CALL = "f(t, position, orientation, velocity, angular_velocity)"
SIZES = (3, 4, 3, 3)


class _OnBody(ForceElement):
    """What forces and torques on one body have in common."""

    def of_motion(self, value: Any, t: Any, place: Place) -> Any:
        """Return what a value is for the motion of the body, in N."""
        given = value(t, place.centre, place.orientation, place.centre_velocity, place.angular_velocity)
        return place.rotation @ given if self.frame == "body" else given

    frame: str


class Force(_OnBody):
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

    parameters = ("force",)

    def __init__(self, name: str, body: Body, force: Any, point: Any = (0, 0, 0), frame: str = "inertial") -> None:
        owner = checked_owner("Force", name, body)
        self.force = Value(owner, "force", force, (3,), CALL, SIZES)
        self.point = validate.array(owner, "point", point, (3,))
        self.frame = validate.choice(owner, "frame", frame, FRAMES)
        super().__init__(name, (body, Frame(self.point)))

    aside = ("point",)

    def load(self, t: Any, place: Place) -> Any:
        """Return the force at its point."""
        return self.of_motion(self.force, t, place), 0


class Torque(_OnBody):
    """A torque on a body.

    Parameters
    ----------
    torque : (3,) or function
        N m; a function as for `Force`.
    frame : "body" or "inertial"
        In which axes `torque` is given.
    """

    parameters = ("torque",)

    def __init__(self, name: str, body: Body, torque: Any, frame: str = "body") -> None:
        owner = checked_owner("Torque", name, body)
        self.torque = Value(owner, "torque", torque, (3,), CALL, SIZES)
        self.frame = validate.choice(owner, "frame", frame, FRAMES)
        super().__init__(name, (body, Frame()))

    def load(self, t: Any, place: Place) -> Any:
        """Return the torque."""
        return 0, self.of_motion(self.torque, t, place)


def checked_owner(kind: str, name: str, body: Any) -> str:
    """Return what messages call the element, if it acts on a body."""
    owner = f'{kind} "{validate.name(kind, name)}"'
    if not isinstance(body, Body):
        raise InputError(f"{owner}: body must be a quirk.Body; got {body!r}")
    return owner
