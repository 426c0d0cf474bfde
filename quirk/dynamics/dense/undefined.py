"""Diagnosis of constraints and forces that are undefined at a state or shortly after it."""

from __future__ import annotations

import numpy as np

from quirk.bodies.state import Kinematics, State
from quirk.errors import InputError

from ..model.applied_loads import applied_loads
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .projection import displaced
from .rows import relation_rows

# Distances of the states examined ahead of a failed step: displacements over the characteristic length, or times over
# max(|t|, 1 s). They range from just above the tolerances of steps to displacements that change the geometry.
AHEAD = np.geomspace(1e-7, 1e-2, 11)


def undefined_constraint(model: Model, state: State, t: float) -> str | None:
    """Return a clause for messages that names an undefined constraint and the reason, or None if there is none.

    A constraint is undefined at a state and time t (s) if its residual is not finite.
    """
    if not model.relations:
        return None
    motion = PoseDerivatives.of(Kinematics.of(state), 1)
    for placed in model.relations:
        phi, _ = relation_rows(placed, motion, t)
        if not np.isfinite(phi).all():
            return f"{placed.owner}: {placed.relation.undefined or 'has no value there'}"
    return None


def undefined_soon(model: Model, state: State, t: float, step: float) -> str | None:
    """Return a clause for messages about a constraint or force that is undefined shortly after a state, or None.

    The clause names the constraint or force and the reason. The state is extrapolated with constant velocities over
    times up to `step`, s.
    """
    speed = np.abs(state.velocity).max() + model.length * np.abs(state.angular_velocity).max()
    soon = AHEAD * max(abs(t), 1.0)
    for h in [*(AHEAD * model.length / speed if speed > 0 else ()), *soon, step]:
        moved = displaced(state, h * state.velocity, h * state.angular_velocity)
        moved.angles, moved.internal = state.angles, state.internal
        try:
            clause = undefined_constraint(model, moved, t + h)
            applied_loads(model, t + h, Kinematics.of(moved))
        except InputError as error:  # a user function fails there, or a law gives nan
            return str(error)
        if clause is not None:
            return clause
    return None
