"""Gravity of a central body: the attraction of a point mass, and the gravity gradient over an extended body."""

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

# Gravitational constant, m^3/(kg s^2), CODATA 2018.
GRAVITATIONAL_CONSTANT = 6.67430e-11


class _Attraction(ForceElement):
    """Base class of central gravity: a center of attraction fixed in body i acts on body j."""

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
    """Newtonian attraction of a body's center of mass by a center: potential -mu m / r.

    Parameters
    ----------
    body_i : Body or GROUND
        Body in which the center of attraction is fixed; it is attracted with the same force unless it is the ground.
    body_j : Body
    mu : float, optional
        Gravitational parameter G M of the center, m^3/s^2; default: from the mass of body i, in SI units.
    point : (3,), body axes
        Center of attraction in the coordinates of body i, m.

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
        """Return the potential energy -mu m / r, J."""
        d = j.position - i.position
        return -self.mu * self.mass / np.sqrt(d @ d)


class GravityGradient(_Attraction):
    """Gravity-gradient torque and force of a central field, to second order in the ratio of the body's size to r.

    r is the distance from the center of attraction to the center of mass of body j, n the unit vector in this direction
    and J the inertia of body j about its center of mass. The potential is -mu / (2 r^3) (tr J - 3 n.J n), J: the torque
    on body j is 3 mu / r^3 n x J n, with a force that conserves momentum and energy. Use it in addition to
    `PointGravity`; for two extended bodies use one element in each direction.

    Parameters
    ----------
    body_i : Body or GROUND
        Body in which the center of attraction is fixed.
    body_j : Body
        Attracted body, whose inertia J is used.
    mu : float, optional
        Gravitational parameter G M of the center, m^3/s^2; default: from the mass of body i, in SI units.
    point : (3,), body axes
        Center of attraction in the coordinates of body i, m.

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
        """Return the potential energy -mu / (2 r^3) (tr J - 3 n.J n), J."""
        d = j.position - i.position
        square = d @ d
        n = j.rotation.T @ d / np.sqrt(square)
        trace = self.inertia[0, 0] + self.inertia[1, 1] + self.inertia[2, 2]
        return -0.5 * self.mu * (trace - 3.0 * (n @ self.inertia @ n)) / (square * np.sqrt(square))
