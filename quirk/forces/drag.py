"""Aerodynamic drag on a body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..bodies.body import Body
from ..bodies.frame import Frame
from ..util import validate
from .element import ForceElement
from .on_body import checked_owner
from .place import Place
from .value import LoadLike, Value


class Drag(ForceElement):
    """Quadratic drag: force ``-rho/2 |u| (A_x u_x, A_y u_y, A_z u_z)`` in body axes, with u the relative velocity.

    Parameters
    ----------
    body : Body
    area : float or (3,)
        Drag coefficient times area, m^2, not negative: one number for all directions, or one for each body axis.
    density : float or function
        Density rho of the fluid, kg/m^3, or a function ``f(t, position)`` of the time (s) and the point (3,) in the
        inertial frame, m.
    wind : (3,) or function
        Velocity of the fluid in the inertial frame, m/s, or a function ``f(t, position)``.
    point : (3,), body axes
        Point of action, whose velocity relative to the fluid is used, m.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[2.0, 0, 0])
    >>> system = quirk.System([ball, quirk.Drag("air", ball, area=0.5, density=1.0)])
    >>> system.acceleration(system.initial_state()).linear
    array([[-1.,  0.,  0.]])
    """

    drawing = "force"

    parameters = ("area", "density", "wind")
    aside = ("point",)

    def __init__(
        self,
        name: str,
        body: Body,
        area: ArrayLike,
        *,
        density: LoadLike = 1.225,
        wind: LoadLike = (0, 0, 0),
        point: ArrayLike = (0, 0, 0),
    ) -> None:
        owner = checked_owner("Drag", name, body)
        given = validate.numbers(area)
        areas = area if given is None or given.shape else np.full(3, given)
        self.area = validate.array(owner, "area", areas, (3,))
        for k, x in enumerate(self.area):
            validate.non_negative(owner, f"area[{k}]", x)
        if not callable(density) and not isinstance(density, str):
            validate.non_negative(owner, "density", density)
        self.density = Value(owner, "density", density, (), "f(t, position)", (3,))
        self.wind = Value(owner, "wind", wind, (3,), "f(t, position)", (3,))
        self.point = validate.array(owner, "point", point, (3,))
        super().__init__(name, (body, Frame(self.point)))

    def load(self, t: Any, place: Place) -> Any:
        """Return the drag force (N) at the point of action, in the inertial frame, and zero torque."""
        u = place.rotation.T @ (place.velocity - self.wind(t, place.position))
        square = u @ u
        # At rest the speed is not differentiable, but the force and its first derivative vanish.
        speed = where(square > 0.0, np.sqrt(where(square > 0.0, square, 1.0)), 0.0)
        return place.rotation @ (-0.5 * self.density(t, place.position) * speed * (self.area * u)), 0
