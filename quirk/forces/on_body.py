"""A force or torque on one body.

The load is constant, a function of time, or a function of the motion of the body.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place
from .value import LoadLike, Value, motions_of

FRAMES = ("inertial", "body")
CALL = "f(t, position, orientation, velocity, angular_velocity)"
SIZES = (3, 4, 3, 3)


class _OnBody(ForceElement):
    """Base class of a force or torque on one body, given as numbers, Motions or a function."""

    argument: str
    frame: str

    def take(self, owner: str, value: Any) -> None:
        """Store the load from the user's argument, which is an array, a function, or a list with Motions."""
        given = motions_of(owner, self.argument, value)
        setattr(self, self.argument, None if given else Value(owner, self.argument, value, (3,), CALL, SIZES))
        self.motions = tuple(given)
        vars(self).update(given)

    def of_motion(self, t: ArrayLike, place: Place) -> Any:
        """Return the force (N) or torque (N m), (3,) in the inertial frame, at time t, s.

        `place` is the moving frame of the body.
        """
        if self.motions:
            given = np.array([getattr(self, name) for name in self.motions])
        else:
            given = value_for(getattr(self, self.argument), t, place)
        return place.rotation @ given if self.frame == "body" else given


class Force(_OnBody):
    """A force at a point of a body.

    Parameters
    ----------
    force : (3,) numbers or Motions, or function
        Force, N; components may be a `Motion` over time; or a function ``f(t, position, orientation, velocity,
        angular_velocity)`` of the time (s) and the body's position (m) and velocity (m/s) in the inertial frame,
        quaternion (4,), and angular velocity (rad/s) in body axes; or a function ``f(t, state)`` of the whole state,
        see docs/forces.md.
    point : (3,), body axes
        Point of action, m.
    frame : "inertial" or "body"
        Axes of `force`.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 2.0, 0.1)
    >>> system = quirk.System([ball, quirk.Force("push", ball, lambda t, *motion: [6.0 * np.cos(t), 0, 0])])
    >>> system.acceleration(system.initial_state()).linear
    array([[3., 0., 0.]])
    """

    drawing = "force"

    parameters = ("force",)
    aside = ("point",)
    argument = "force"

    def __init__(
        self, name: str, body: Body, force: LoadLike, point: ArrayLike = (0, 0, 0), frame: str = "inertial"
    ) -> None:
        owner = checked_owner("Force", name, body)
        self.take(owner, force)
        self.point = validate.array(owner, "point", point, (3,))
        self.frame = validate.choice(owner, "frame", frame, FRAMES)
        super().__init__(name, (body, Frame(self.point)))

    def load(self, t: Any, place: Place) -> Any:
        """Return the force (3,), N, at the point of action, in the inertial frame, and zero torque."""
        return self.of_motion(t, place), 0


class Torque(_OnBody):
    """A torque on a body.

    Parameters
    ----------
    torque : (3,) numbers or Motions, or function
        Torque, N m; arguments of functions are as for `Force`.
    frame : "body" or "inertial"
        Axes of `torque`.

    Examples
    --------
    >>> wheel = quirk.Body.cylinder("wheel", 2.0, 1.0, 0.1)
    >>> system = quirk.System([wheel, quirk.Torque("turn", wheel, [0, 0, 3.0])])
    >>> system.acceleration(system.initial_state()).angular
    array([[0., 0., 3.]])
    """

    drawing = "torque"

    parameters = ("torque",)
    argument = "torque"

    def __init__(self, name: str, body: Body, torque: LoadLike, frame: str = "body") -> None:
        owner = checked_owner("Torque", name, body)
        self.take(owner, torque)
        self.frame = validate.choice(owner, "frame", frame, FRAMES)
        super().__init__(name, (body, Frame()))

    def load(self, t: Any, place: Place) -> Any:
        """Return zero force, and the torque (3,), N m, in the inertial frame."""
        return 0, self.of_motion(t, place)


def value_for(value: Any, t: Any, place: Place) -> Any:
    """Return `value`, a constant or a function, at time t (s) and for the motion of the body of `place`.

    The result has the unit and the axes of `value`; a force given in body axes, for example, remains in body axes.
    """
    return value(t, place.center, place.orientation, place.center_velocity, place.angular_velocity)


def checked_owner(kind: str, name: str, body: Any) -> str:
    """Check the name and body of a force element, and return its title for error messages, such as ``Force "push"``."""
    owner = f'{kind} "{validate.name(kind, name)}"'
    if not isinstance(body, Body):
        raise InputError(f"{owner}: body must be a quirk.Body; got {body!r}")
    return owner
