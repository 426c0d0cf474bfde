"""Kinetic energy, gravitational energy and momentum of a system.

All functions broadcast over leading (time) dimensions of the state.
"""

from __future__ import annotations

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State

from .model import Model


def kinetic_energy(model: Model, state: State) -> np.ndarray:
    """Return the kinetic energy (...), J: the sum of m v.v / 2 + omega.J omega / 2 over the bodies."""
    translation = np.einsum("n,...ni,...ni->...", model.mass, state.velocity, state.velocity)
    omega = state.angular_velocity
    return 0.5 * (translation + np.einsum("...ni,nij,...nj->...", omega, model.inertia, omega))


def gravity_energy(model: Model, state: State) -> np.ndarray:
    """Return the gravitational potential energy (...), J: minus the sum of m g.r over all bodies at positions r."""
    return -np.einsum("n,i,...ni->...", model.mass, model.gravity, state.position)


def linear_momentum(model: Model, state: State) -> np.ndarray:
    """Return the linear momentum, the sum of m v (..., 3), kg m/s, in the inertial frame."""
    return np.einsum("n,...ni->...i", model.mass, state.velocity)


def angular_momentum(model: Model, state: State) -> np.ndarray:
    """Return the angular momentum about the inertial origin (..., 3), kg m^2/s, in the inertial frame.

    The angular momentum is the sum of r x m v + R J omega over the bodies.
    """
    spin = np.einsum("...nij,njk,...nk->...i", rotation.matrix(state.orientation), model.inertia,
                     state.angular_velocity)  # fmt: skip
    return np.einsum("n,...ni->...i", model.mass, np.cross(state.position, state.velocity)) + spin
