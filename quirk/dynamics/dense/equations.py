"""The equations of motion of a whole model at one state, dense."""

from __future__ import annotations

import numpy as np

from quirk.state import Kinematics

from ..applied import exerted
from ..constrained_motion import ConstrainedMotion
from ..model import Model
from ..towers import MotionTower
from .friction import with_friction
from .rows import constraint_rows
from .udwadia_kalaba import ROUND_OFF, constrained_motion


def motion(
    model: Model,
    t: float,
    kin: Kinematics,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    kept: np.ndarray | None = None,
    least: float = ROUND_OFF,
) -> ConstrainedMotion:
    """Solve the equations of motion at one state; see `constrained_motion`."""
    rows, moving = constraint_rows(model, kin, t), MotionTower.of(kin, 1)

    def solve(force: np.ndarray, torque: np.ndarray) -> ConstrainedMotion:
        return constrained_motion(model, kin, t, rows, force, torque, baumgarte, kept, least)

    acts = [exerted(element, of, moving, t, 0, kin.angles, kin.internal) for element, of in model.forces]
    return with_friction(model, t, kin, acts, solve)[1]
