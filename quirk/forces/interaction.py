"""User-defined force and torque between two bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.angle import rotation_vector
from ..constraints.constraint import checked_ends
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place
from .value import LoadLike, Value

AXES = ("inertial", "i", "j")
CALL = "f(t, displacement, velocity, rotation, angular_velocity)"
SIZES = (3, 3, 3, 3)


class Interaction(ForceElement):
    """A force and a torque between two bodies, as functions of their relative motion.

    The functions are called as ``f(t, displacement, velocity, rotation, angular_velocity)``. The arguments after the
    time are (3,), in the axes selected by `frame`: the displacement from point i to point j, m; its rate in these axes,
    m/s; the rotation vector of body j relative to body i (rad), for angles below pi; and the angular velocity of body j
    relative to body i, rad/s.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
    point_i, point_j : (3,), body axes
        Points in the coordinates of body i and j, m.
    force : (3,) or function
        Force on body j at point j, N; the opposite force acts on body i at the same point in space, so that moments
        also balance.
    torque : (3,) or function
        Torque on body j, N m; the opposite torque acts on body i.
    frame : "inertial", "i" or "j"
        Axes of arguments and results: inertial axes, or the axes of body i or body j.

    Examples
    --------
    >>> a, b = quirk.Body.sphere("a", 1.0, 0.1), quirk.Body.sphere("b", 1.0, 0.1, position=[2, 0, 0])
    >>> pull = quirk.Interaction("pull", a, b, force=lambda t, *motion: [-3.0, 0, 0])
    >>> system = quirk.System([a, b, pull])
    >>> system.acceleration(system.initial_state()).linear
    array([[ 3.,  0.,  0.],
           [-3.,  0.,  0.]])
    """

    parameters = ("force", "torque")

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        point_i: ArrayLike = (0, 0, 0),
        point_j: ArrayLike = (0, 0, 0),
        *,
        force: LoadLike | None = None,
        torque: LoadLike | None = None,
        frame: str = "inertial",
    ) -> None:
        owner = checked_ends("Interaction", name, body_i, body_j)
        if force is None and torque is None:
            raise InputError(f"{owner}: needs force, torque or both")
        self.force = None if force is None else Value(owner, "force", force, (3,), CALL, SIZES)
        self.torque = None if torque is None else Value(owner, "torque", torque, (3,), CALL, SIZES)
        self.frame = validate.choice(owner, "frame", frame, AXES)
        super().__init__(
            name,
            (body_i, Frame(validate.array(owner, "point_i", point_i, (3,)))),
            (body_j, Frame(validate.array(owner, "point_j", point_j, (3,)))),
        )

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the force (N) and torque (N m) on both bodies, in the inertial frame.

        The force on body j acts at point j. The opposite force on body i acts at point i, with the torque that makes it
        equivalent to a force at point j.
        """
        apart, parting = j.position - i.position, j.velocity - i.velocity
        turn = i.rotation @ rotation_vector(i.rotation.T @ j.rotation)
        motion = [apart, parting, turn, j.spin - i.spin]
        axes = {"inertial": np.eye(3), "i": i.rotation, "j": j.rotation}[self.frame]
        if self.frame != "inertial":
            motion[1] = parting - np.cross((i if self.frame == "i" else j).spin, apart)
        seen = [axes.T @ part for part in motion]
        nothing = np.zeros(3)
        force = nothing if self.force is None else axes @ self.force(t, *seen)
        torque = nothing if self.torque is None else axes @ self.torque(t, *seen)
        return (-force, -torque - np.cross(apart, force)), (force, torque)
