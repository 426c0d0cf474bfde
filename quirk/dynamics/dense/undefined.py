"""Constraints and forces that have no value where the bodies are or are about to be, and why."""

from __future__ import annotations

import numpy as np

from quirk.bodies.state import Kinematics, State
from quirk.errors import InputError

from ..model.applied_loads import applied_loads
from ..model.model import Model
from ..model.time_derivatives import MotionTower
from .projection import displaced
from .rows import relation_rows

# How far ahead of a state a run looks for what stopped it, as parts of the characteristic length.
AHEAD = np.geomspace(1e-7, 1e-2, 11)


def without_value(model: Model, state: State, t: float) -> str | None:
    """Return which constraint has no value at a state, and what that means; None if all have one."""
    if not model.relations:
        return None
    motion = MotionTower.of(Kinematics.of(state), 1)
    for placed in model.relations:
        phi, _ = relation_rows(placed, motion, t)
        if not np.isfinite(phi).all():
            return f"{placed.owner}: {placed.relation.undefined or 'has no value there'}"
    return None


def lost_ahead(model: Model, state: State, t: float, step: float) -> str | None:
    """Return which constraint or force has no value shortly after a state, or within a step, if velocities stay.

    With what that means; None if all have a value.
    """
    speed = np.abs(state.velocity).max() + model.length * np.abs(state.angular_velocity).max()
    soon = AHEAD * max(abs(t), 1.0)
    for h in [*(AHEAD * model.length / speed if speed > 0 else ()), *soon, step]:
        moved = displaced(state, h * state.velocity, h * state.angular_velocity)
        moved.angles, moved.internal = state.angles, state.internal
        try:
            found = without_value(model, moved, t)
            applied_loads(model, t + h, Kinematics.of(moved))
        except InputError as error:  # a function of a user fails there, or a law gives no numbers
            return str(error)
        if found is not None:
            return found
    return None
