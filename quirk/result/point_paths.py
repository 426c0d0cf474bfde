"""Motions of points of bodies, in space or in a plane, with time derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..util import validate
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..bodies.body import Body
    from ..constraints.planar import Plane
    from ..dynamics.model.time_derivatives import PoseDerivatives


def local_point(body: Body, point: Any, owner: str, argument: str = "local") -> np.ndarray:
    """Return a point in body coordinates (3,), m, from the user's argument `point`.

    The argument is the point itself, or the name of a frame of the body, whose origin is the point. `owner` and
    `argument` name the calling function and its argument in error messages.
    """
    if isinstance(point, str):
        return body.frame(point).origin
    return validate.array(owner, argument, point, (3,))


@explained
class Path(ABC):
    """Motion of a point at nt times: position, velocity, acceleration, jerk and snap."""

    @abstractmethod
    def derivative(self, order: int) -> np.ndarray:
        """Return a time derivative of the position, of `order` 0 to 4: (nt, 3), or (nt, 2) in a plane, m/s^order."""

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
    """Motion of a point of a body: arrays (nt, 3) in the inertial frame.

    `derivatives` is a function of the order that returns the poses of the body with their time derivatives up to this
    order; `local` (3,), m, is the point in body coordinates.
    """

    def __init__(self, body: Body, derivatives: Callable[[int], PoseDerivatives], local: np.ndarray) -> None:
        self._body, self._derivatives, self._local = body, derivatives, local

    def __repr__(self) -> str:
        return f"<PointPath: ({', '.join(f'{x:g}' for x in self._local)}) m of {self._body}>"

    def derivative(self, order: int) -> np.ndarray:
        """Return a time derivative (nt, 3) of the position in the inertial frame, m/s^order."""
        return self._derivatives(order).points(self._local)[:, order]


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
