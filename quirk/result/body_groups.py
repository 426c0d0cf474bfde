"""Center of mass and momenta of a group of bodies over time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies import rotation
from ..bodies.body import Body
from ..errors import InputError
from ..util import validate
from ..util.misuse import explained
from .totals import Momentum

if TYPE_CHECKING:
    from ..system.system import System
    from .result import Result


@explained
class CenterOfMass:
    """Center of mass of several bodies over time.

    Attributes
    ----------
    mass : float
        Total mass, kg.
    position, velocity, acceleration : (nt, 3) in the inertial frame; m, m/s, m/s^2
    """

    def __init__(self, result: Result, rows: Sequence[int]) -> None:
        self._result, self._rows = result, list(rows)
        self._share = result._model.mass[self._rows]
        self.mass = float(self._share.sum())
        self._share = self._share / self.mass

    def __repr__(self) -> str:
        return f"<CenterOfMass: of {len(self._rows)} bodies, {self.mass:g} kg>"

    @cached_property
    def position(self) -> np.ndarray:
        """Position of the center of mass (nt, 3) in the inertial frame, m."""
        return self._mean(self._result.state.position)

    @cached_property
    def velocity(self) -> np.ndarray:
        """Velocity of the center of mass (nt, 3) in the inertial frame, m/s."""
        return self._mean(self._result.state.velocity)

    @cached_property
    def acceleration(self) -> np.ndarray:
        """Acceleration of the center of mass (nt, 3) in the inertial frame, m/s^2.

        The acceleration equals the sum of all external forces on the bodies, divided by the total mass.
        """
        return self._mean(self._result._accelerations[0])

    def _mean(self, vectors: np.ndarray) -> np.ndarray:
        mean: np.ndarray = np.einsum("n,tni->ti", self._share, vectors[:, self._rows])
        return mean


def center_of_mass(result: Result, bodies: Any) -> CenterOfMass:
    """Return the center of mass of a group of bodies; see `Result.center_of_mass`."""
    return CenterOfMass(result, rows_of(result.system, "center_of_mass", bodies))


def momentum_of(result: Result, bodies: Any, about: Any) -> Momentum:
    """Return the momenta of a group of bodies; see `Result.momentum_of`."""
    rows = rows_of(result.system, "momentum_of", bodies)
    center = CenterOfMass(result, rows)
    point = center.position if about is None else validate.array("momentum_of", "about", about, (3,))
    state, model = result.state, result._model
    momenta = model.mass[rows, None] * state.velocity[:, rows]
    arms = state.position[:, rows] - np.reshape(point, (-1, 1, 3))
    R = rotation.matrix(state.orientation[:, rows])
    own = np.einsum("tnij,njk,tnk->tni", R, model.inertia[rows], state.angular_velocity[:, rows])
    return Momentum(momenta.sum(axis=1), (np.cross(arms, momenta) + own).sum(axis=1))


def rows_of(system: System, owner: str, bodies: Any) -> list[int]:
    """Return the indices of bodies in the system, for the user's argument `bodies`; all bodies for None.

    `bodies` are names or objects; `owner` is the name of the calling function, for error messages.
    """
    if bodies is None:
        return list(range(len(system.bodies)))
    given: Any = [bodies] if isinstance(bodies, str | Body) else bodies
    try:
        parts = [system[part] for part in given]
    except TypeError:
        raise InputError(f"{owner}: bodies must be a list of names of bodies; got {bodies!r}") from None
    if not parts:
        raise InputError(f"{owner}: bodies must be one body or more, or None for all; got {bodies!r}")
    for part in parts:
        if not isinstance(part, Body):
            raise InputError(f"{owner}: bodies must be names of bodies; got {part}")
    rows = [system.bodies.index(part) for part in parts if isinstance(part, Body)]
    if len(set(rows)) < len(rows):
        raise InputError(f"{owner}: bodies must differ; got {', '.join(str(part) for part in parts)}")
    return rows
