"""Points along a motion, in space or in a plane, with their time derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..bodies.body import Body
    from ..constraints.planar import Plane
    from .part_views import BodyView


def local_point(body: Body, point: Any, owner: str, argument: str = "local") -> np.ndarray:
    """Return a body point (3,), m, body coordinates; it may be given by the name of a frame of the body."""
    if isinstance(point, str):
        return body.frame(point).origin
    return validate.array(owner, argument, point, (3,))


@explained
class Path(ABC):
    """A point along a motion: `position`, `velocity`, `acceleration`, `jerk` and `snap`, SI units."""

    @abstractmethod
    def derivative(self, order: int) -> np.ndarray:
        """Return the derivative of the position of order 0 to 4."""

    @property
    def position(self) -> np.ndarray:
        """Positions at all times, m."""
        return self.derivative(0)

    @property
    def velocity(self) -> np.ndarray:
        """Velocities, m/s."""
        return self.derivative(1)

    @property
    def acceleration(self) -> np.ndarray:
        """Accelerations, m/s^2."""
        return self.derivative(2)

    @property
    def jerk(self) -> np.ndarray:
        """Rates of the acceleration, m/s^3."""
        return self.derivative(3)

    @property
    def snap(self) -> np.ndarray:
        """Second derivatives of the acceleration, m/s^4."""
        return self.derivative(4)


@explained
class PointPath(Path):
    """A point of a body: arrays (nt, 3) in the inertial frame."""

    def __init__(self, body: BodyView, local: np.ndarray) -> None:
        self._body, self._local = body, local

    def __repr__(self) -> str:
        return f"<PointPath: ({', '.join(f'{x:g}' for x in self._local)}) m of {self._body.of}>"

    def derivative(self, order: int) -> np.ndarray:
        """Return a derivative (nt, 3) of the position in the inertial frame."""
        return self._body.tower(order).points(self._local)[:, order]


@explained
class PlanarPath(Path):
    """A point of a planar body: arrays (nt, 2) along the plane's axes."""

    def __init__(self, plane: Plane, path: PointPath) -> None:
        self._plane, self._path = plane, path

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: in a plane, {self._path!r}>"

    def derivative(self, order: int) -> np.ndarray:
        """Return a derivative (nt, 2) of the coordinates in the plane."""
        of_point = self._path.derivative(order)
        return (of_point - self._plane.origin if order == 0 else of_point) @ self._plane.axes[:, :2]


@explained
class InPlane(PlanarPath):
    """The center of mass of a planar body, and its angle."""

    def __init__(self, plane: Plane, body: BodyView, angle: np.ndarray) -> None:
        super().__init__(plane, body.path())
        self._body, self._angle = body, angle

    def path(self, local: Any = (0, 0)) -> PlanarPath:
        """Return the point at `local` along the motion: (2,) m in body coordinates, or the name of a frame."""
        if isinstance(local, str):
            return PlanarPath(self._plane, self._body.path(local))
        local = validate.array("InPlane", "local", local, (2,))
        return PlanarPath(self._plane, self._body.path([*local, 0.0]))

    @property
    def angle(self) -> np.ndarray:
        """Angle (nt,), rad, from the plane's first axis to that of the body, with all turns counted from the start."""
        return self._angle

    @property
    def angular_velocity(self) -> np.ndarray:
        """Rate of the angle (nt,), rad/s."""
        return self._body.angular_velocity[:, 2]

    @property
    def angular_acceleration(self) -> np.ndarray:
        """Second derivative of the angle (nt,), rad/s^2."""
        return self._body.angular_acceleration[:, 2]

    @property
    def angular_jerk(self) -> np.ndarray:
        """Third derivative of the angle (nt,), rad/s^3."""
        return self._body.angular_jerk[:, 2]

    @property
    def angular_snap(self) -> np.ndarray:
        """Fourth derivative of the angle (nt,), rad/s^4."""
        return self._body.angular_snap[:, 2]
