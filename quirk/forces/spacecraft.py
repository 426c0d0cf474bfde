"""Spacecraft actuators: thrusters and reaction wheels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..bodies.frame import Frame
from ..functions.motion import Motion, MotionLike, as_motion
from ..util import validate
from .element import ForceElement
from .on_body import CALL, SIZES, checked_owner, value_for
from .place import Place
from .value import LoadLike, Value


class Thruster(ForceElement):
    """A thruster fixed in a body: thrust times throttle along a fixed direction. The mass of the body stays constant.

    Parameters
    ----------
    body : Body
    thrust : float
        Thrust at full throttle, N, not negative.
    direction : (3,) or "x", "y", "z"
        Direction of the force on the body, body axes.
    throttle : float, Motion or function
        Fraction of the thrust, or a function ``f(t, position, orientation, velocity, angular_velocity)`` of the body's
        motion, as for `Force`.
    point : (3,), body axes
        Point of action, m.

    Examples
    --------
    >>> craft = quirk.Body.box("craft", 10.0, [1, 1, 1])
    >>> system = quirk.System([craft, quirk.Thruster("jet", craft, thrust=5.0, direction="x", throttle=0.5)])
    >>> system.acceleration(system.initial_state()).linear
    array([[0.25, 0.  , 0.  ]])
    """

    drawing = "force"

    parameters: tuple[str, ...] = ("thrust", "direction", "throttle")
    aside = ("point",)

    def __init__(
        self,
        name: str,
        body: Body,
        thrust: float,
        direction: ArrayLike,
        *,
        throttle: LoadLike = 1.0,
        point: ArrayLike = (0, 0, 0),
    ) -> None:
        owner = checked_owner("Thruster", name, body)
        self.thrust = validate.non_negative(owner, "thrust", thrust)
        self.direction = validate.direction(owner, "direction", direction)
        timed = isinstance(throttle, Motion)
        self.throttle: Any = throttle if timed else Value(owner, "throttle", throttle, (), CALL, SIZES)
        if timed:
            self.parameters, self.motions = ("thrust", "direction"), ("throttle",)
        self.point = validate.array(owner, "point", point, (3,))
        super().__init__(name, (body, Frame(self.point)))

    def load(self, t: Any, place: Place) -> Any:
        """Return the thrust (N) at the point of action, in the inertial frame, and zero torque."""
        throttle = self.throttle if self.motions else value_for(self.throttle, t, place)
        return place.direction(self.direction * (self.thrust * throttle)), 0


class ReactionWheel(ForceElement):
    """A reaction wheel with a prescribed speed w(t): torque -I (w' a + omega x w a) on the body.

    The mass and inertia of the wheel at rest are included in those of the body, which then moves as a gyrostat.  For a
    wheel driven by a motor, use a separate body with a `Revolute` joint and an `Actuator`.

    Parameters
    ----------
    body : Body
    axis : (3,) or "x", "y", "z"
        Axis a of the wheel, body axes.
    inertia : float
        Moment of inertia I of the wheel about its axis, kg m^2, positive.
    speed : Motion or float
        Angular velocity w of the wheel relative to the body, rad/s.

    Examples
    --------
    >>> craft = quirk.Body.box("craft", 12.0, [1, 1, 1])
    >>> wheel = quirk.ReactionWheel("wheel", craft, "z", inertia=0.1, speed=quirk.Motion.polynomial([0, 2.0]))
    >>> system = quirk.System([craft, wheel])
    >>> system.acceleration(system.initial_state()).angular
    array([[ 0. ,  0. , -0.1]])
    """

    drawing = "torque"

    parameters = ("inertia", "axis")
    motions = ("speed",)

    def __init__(self, name: str, body: Body, axis: ArrayLike, inertia: float, speed: MotionLike) -> None:
        owner = checked_owner("ReactionWheel", name, body)
        self.axis = validate.direction(owner, "axis", axis)
        self.inertia = validate.positive(owner, "inertia", inertia)
        self.speed: Any = as_motion(owner, "speed", speed)
        super().__init__(name, (body, Frame()))

    def load(self, t: Any, place: Place) -> Any:
        """Return zero force, and the torque (N m) of the wheel on the body, in the inertial frame.

        The torque is minus the rate of the wheel's relative angular momentum.
        """
        axis, speed = place.direction(self.axis), self.speed
        return 0, -self.inertia * (speed.rate * axis + np.cross(place.spin, speed * axis))
