"""A spring and damper about a joint's axis."""

from __future__ import annotations

from typing import Any

from ..constraints import Joint
from ..functions import degrees
from ..util import validate
from .joint_actuation import OfJoint, checked_joint


class TorsionSpring(OfJoint):
    """A massless spring with a parallel damper about a joint's axis: torque -k (x - x0) - c x' on body j.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation about its axis: Revolute or Cylindrical. The angle x counts all turns from the start
        of the run, as in ``result[joint].rotation``, so that the spring can be wound up.
    stiffness : float
        Stiffness k, N m/rad, not negative.
    damping : float
        Damping coefficient c, N m s/rad, not negative.
    rest_angle : float
        Unloaded angle x0, rad.

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> coil = quirk.TorsionSpring("coil", axle, stiffness=4.0, rest_angle=0.5)
    >>> system = quirk.System([rotor, axle, coil])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[0., 0., 1.]])
    """

    parameters = ("stiffness", "damping", "rest_angle")

    def __init__(
        self, name: str, joint: Joint, *, stiffness: float, damping: float = 0.0, rest_angle: float = 0.0
    ) -> None:
        owner, axis = checked_joint("TorsionSpring", name, joint, "rotation")
        self.stiffness = validate.non_negative(owner, "stiffness", stiffness)
        self.damping = validate.non_negative(owner, "damping", damping)
        self.rest_angle = degrees.counting_turns(owner, "rest_angle", rest_angle)
        super().__init__(name, joint, axis, True)

    def stored(self, t: Any, x: Any) -> Any:
        """Return the energy k (x - x0)^2 / 2, J."""
        twisted = x - self.rest_angle
        return 0.5 * self.stiffness * twisted * twisted

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the damping torque (N m) for the rate of the joint's angle."""
        return -self.damping * rate

    @property
    def conservative(self) -> bool:
        """Whether energy is conserved: the spring has no damping."""
        return self.damping <= 0
