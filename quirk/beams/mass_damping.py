"""Mass-proportional damping of the bodies of a beam."""

from __future__ import annotations

from typing import Any

from ..bodies.body import Body
from ..bodies.frame import Frame
from ..forces import ForceElement
from ..forces.place import Place


class MassDamping(ForceElement):
    """Mass-proportional damping of a body.

    The force on the body is minus `rate` times its momentum, and the torque is minus `rate` times its angular momentum
    about the center of mass.

    Parameters
    ----------
    name : str
        Unique in a system.
    body : Body
        The damped body.
    rate : float
        Ratio of the load to the momentum, 1/s.
    """

    drawing = ""
    parameters = ("rate", "mass", "inertia")
    between = False

    def __init__(self, name: str, body: Body, rate: float) -> None:
        self.rate, self.mass, self.inertia = rate, body.mass, body.inertia.copy()
        super().__init__(name, (body, Frame()))

    def load(self, t: Any, body: Place) -> Any:
        """Return the damping force (N) and torque about the center of mass (N m) on the body, inertial frame."""
        momentum = body.body_rotation @ (self.inertia @ body.angular_velocity)
        return -self.rate * self.mass * body.center_velocity, -self.rate * momentum
