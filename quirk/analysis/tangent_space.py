"""Velocities and displacements allowed by the constraints at one state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..bodies.state import State
from .assembly import check_poses, with_velocity
from .mobility import null_motions

if TYPE_CHECKING:
    from ..system.system import System


def allowed_velocity(system: System, state: State, t: float) -> State:
    """Return the state with the nearest velocities, in the mass metric, allowed by the constraints at time t (s).

    See `System.remove_disallowed_velocity`.
    """
    if not system.model.rows:
        return state
    check_poses(system, state, t, "poses")
    allowed = with_velocity(system, state, t)
    return replace(state, velocity=allowed.velocity, angular_velocity=allowed.angular_velocity)


def virtual_displacements(system: System, state: State, t: float) -> np.ndarray:
    """Return a basis (f, n, 6) of the displacements allowed by the constraints; see `System.virtual_displacements`."""
    if system.model.rows:
        check_poses(system, state, t, "poses")
    return null_motions(system.plant.solver(), state, t)
