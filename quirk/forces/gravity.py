"""Gravity of a center: on a body as a point, and its gradient over the body."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.constraint import checked_ends
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place

# m^3/(kg s^2), CODATA 2018.
GRAVITATIONAL_CONSTANT = 6.67430e-11


class _Attraction(ForceElement):
    """Base of elements that act between a center of attraction in body i and body j."""

    undefined = "the body is at the center"

    def __init__(
        self, name: str, body_i: Body | Ground, body_j: Body, *, mu: float | None = None, point: ArrayLike = (0, 0, 0)
    ) -> None:
        owner = checked_ends(type(self).__name__, name, body_i, body_j)
        if not isinstance(body_j, Body):
            raise InputError(f"{owner}: body_j must be the quirk.Body that is attracted; got {body_j!r}")
        if mu is None:
            if isinstance(body_i, Ground):
                raise InputError(f"{owner}: mu must be given, G M of a center in the ground, m^3/s^2")
            mu = GRAVITATIONAL_CONSTANT * body_i.mass
        self.mu = validate.non_negative(owner, "mu", mu)
        self.mass, self.inertia = body_j.mass, body_j.inertia
        super().__init__(name, (body_i, Frame(validate.array(owner, "point", point, (3,)))), (body_j, Frame()))


class PointGravity(_Attraction):
    """Newton's attraction between a center and the center of mass of a body: potential -mu m / r.

    Parameters
    ----------
    body_i : Body or GROUND
        That of the center; a Body is attracted with the same force.
    body_j : Body
    mu : float, optional
        G M of the center, m^3/s^2; default: that of the mass of body i, in SI units.
    point : (3,), body axes
        The center, in the coordinates of body i, m.

    Examples
    --------
    >>> probe = quirk.Body.sphere("probe", 2.0, 0.1, position=[2.0, 0, 0])
    >>> system = quirk.System([probe, quirk.PointGravity("planet", quirk.GROUND, probe, mu=8.0)])
    >>> system.acceleration(system.initial_state()).linear + 0.0
    array([[-2.,  0.,  0.]])
    """

    drawing = "force"

    parameters = ("mu", "mass")
    aside = ("inertia",)

    def potential(self, t: Any, i: Place, j: Place) -> Any:
        """Return -mu m / r."""
        d = j.position - i.position
        return -self.mu * self.mass / np.sqrt(d @ d)


class GravityGradient(_Attraction):
    """Torque and force by the gradient of a central gravity field over a body, to second order of its size over r.

    Potential -mu / (2 r^3) (tr J - 3 n.J n), n towards the body: the torque 3 mu / r^3 n x J n, and a force that goes
    with it, so that momentum and energy balance. It comes on top of `PointGravity`; for two bodies that both have a
    size, one each way.

    Parameters
    ----------
    body_i : Body or GROUND
        That of the center.
    body_j : Body
        Whose inertia J counts.
    mu : float, optional
        G M of the center, m^3/s^2; default: that of the mass of body i, in SI units.
    point : (3,), body axes
        The center, in the coordinates of body i, m.

    Examples
    --------
    >>> probe = quirk.Body("probe", 1.0, [1, 2, 3], position=[1.0, 1.0, 0])
    >>> system = quirk.System([probe, quirk.GravityGradient("planet", quirk.GROUND, probe, mu=8.0)])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[0.      , 0.      , 1.414214]])
    """

    drawing = "torque"

    parameters = ("mu", "inertia")
    aside = ("mass",)

    def potential(self, t: Any, i: Place, j: Place) -> Any:
        """Return -mu / (2 r^3) (tr J - 3 n.J n)."""
        d = j.position - i.position
        square = d @ d
        n = j.rotation.T @ d / np.sqrt(square)
        trace = self.inertia[0, 0] + self.inertia[1, 1] + self.inertia[2, 2]
        return -0.5 * self.mu * (trace - 3.0 * (n @ self.inertia @ n)) / (square * np.sqrt(square))
