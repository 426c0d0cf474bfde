"""The equations of motion of a whole model at one state, dense."""

from __future__ import annotations

import numpy as np

from quirk.state import Kinematics

from ..applied import applied_loads
from ..constrained_motion import ConstrainedMotion
from ..model import Model
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
    rows = constraint_rows(model, kin, t)
    return constrained_motion(model, kin, t, rows, *applied_loads(model, t, kin), baumgarte, kept, least)
