"""Motions of points of bodies, in space or in a plane, with their time derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..bodies.body import Body
    from ..constraints.planar import Plane
    from .body_views import BodyView


def local_point(body: Body, point: Any, owner: str, argument: str = "local") -> np.ndarray:
    """Return a point (3,) in body coordinates, m, from a user's argument.

    The argument is the point itself, or the name of a frame of the body, whose origin is the point.
    """
    if isinstance(point, str):
        return body.frame(point).origin
    return validate.array(owner, argument, point, (3,))


@explained
class Path(ABC):
    """Motion of a point at nt times: position, velocity, acceleration, jerk and snap."""

    @abstractmethod
    def derivative(self, order: int) -> np.ndarray:
        """Return the time derivative of `order` 0 to 4 of the position, (nt, 3) or (nt, 2) in a plane, m/s^order."""

    @property
    def position(self) -> np.ndarray:
        """Positions, (nt, 3) or (nt, 2) in a plane, m."""
        return self.derivative(0)

    @property
    def velocity(self) -> np.ndarray:
        """Velocities, (nt, 3) or (nt, 2) in a plane, m/s."""
        return self.derivative(1)

    @property
    def acceleration(self) -> np.ndarray:
        """Accelerations, (nt, 3) or (nt, 2) in a plane, m/s^2."""
        return self.derivative(2)

    @property
    def jerk(self) -> np.ndarray:
        """Time derivatives of the acceleration, (nt, 3) or (nt, 2) in a plane, m/s^3."""
        return self.derivative(3)

    @property
    def snap(self) -> np.ndarray:
        """Second time derivatives of the acceleration, (nt, 3) or (nt, 2) in a plane, m/s^4."""
        return self.derivative(4)


@explained
class PointPath(Path):
    """Motion of a point of a body: arrays (nt, 3) in the inertial frame."""

    def __init__(self, body: BodyView, local: np.ndarray) -> None:
        self._body, self._local = body, local

    def __repr__(self) -> str:
        return f"<PointPath: ({', '.join(f'{x:g}' for x in self._local)}) m of {self._body.of}>"

    def derivative(self, order: int) -> np.ndarray:
        """Return a time derivative (nt, 3) of the position in the inertial frame, m/s^order."""
        return self._body.tower(order).points(self._local)[:, order]


@explained
class PlanarPath(Path):
    """Motion of a point of a planar body: arrays (nt, 2) of components along both axes of the plane."""

    def __init__(self, plane: Plane, path: PointPath) -> None:
        self._plane, self._path = plane, path

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: in a plane, {self._path!r}>"

    def derivative(self, order: int) -> np.ndarray:
        """Return a time derivative (nt, 2) of the coordinates in the plane, m/s^order."""
        of_point = self._path.derivative(order)
        return (of_point - self._plane.origin if order == 0 else of_point) @ self._plane.axes[:, :2]


@explained
class InPlane(PlanarPath):
    """Motion of the center of mass of a planar body in the plane, and its angle."""

    def __init__(self, plane: Plane, body: BodyView, angle: np.ndarray) -> None:
        super().__init__(plane, body.path())
        self._body, self._angle = body, angle

    def path(self, local: Any = (0, 0)) -> PlanarPath:
        """Return the motion of a point of the body in the plane.

        `local` is the point (2,) in body coordinates, m, or the name of a frame of the body.
        """
        if isinstance(local, str):
            return PlanarPath(self._plane, self._body.path(local))
        local = validate.array("InPlane", "local", local, (2,))
        return PlanarPath(self._plane, self._body.path([*local, 0.0]))

    @property
    def angle(self) -> np.ndarray:
        """Angle (nt,), rad, from the plane's x axis to the body's x axis, with all revolutions since the start."""
        return self._angle

    @property
    def angular_velocity(self) -> np.ndarray:
        """First time derivative (nt,) of the angle, rad/s."""
        return self._body.angular_velocity[:, 2]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Second time derivative (nt,) of the angle, rad/s^2."""
        return self._body.angular_acceleration[:, 2]

    @property
    def angular_jerk(self) -> np.ndarray:
        """Third time derivative (nt,) of the angle, rad/s^3."""
        return self._body.angular_jerk[:, 2]

    @property
    def angular_snap(self) -> np.ndarray:
        """Fourth time derivative (nt,) of the angle, rad/s^4."""
        return self._body.angular_snap[:, 2]
