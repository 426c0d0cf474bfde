"""Dense solution of the equations of motion of a whole model at one state."""

from __future__ import annotations

import numpy as np

from quirk.bodies.state import Kinematics

from ..model.applied_loads import Exerted, exerted
from ..model.constrained_motion import ConstrainedMotion
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .friction import Solve, with_friction
from .rows import constraint_rows
from .udwadia_kalaba import ROUND_OFF, constrained_motion


def motion(
    model: Model,
    t: float,
    kin: Kinematics,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    independent: np.ndarray | None = None,
    least: float = ROUND_OFF,
) -> ConstrainedMotion:
    """Return the accelerations and constraint forces of a model at one state, including friction.

    t is the time (s), `baumgarte` are the rates alpha and beta, 1/s, and `independent` (m,) is a mask of independent
    rows; singular values up to the fraction `least` of the largest count as zero. See `constrained_motion`.
    """
    acts, solve = equations(model, t, kin, baumgarte, independent, least)
    return with_friction(model, t, kin, acts, solve)[1]


def equations(
    model: Model,
    t: float,
    kin: Kinematics,
    baumgarte: tuple[float, float],
    independent: np.ndarray | None,
    least: float,
) -> tuple[list[Exerted], Solve]:
    """Return the loads of all force elements, and a function that solves the equations of motion for given loads.

    Friction has the magnitudes stored in the friction elements. t is the time (s), `baumgarte` are the rates alpha and
    beta, 1/s, and `independent` (m,) is a mask of independent rows; singular values up to the fraction `least` of the
    largest count as zero.
    """
    rows, moving = constraint_rows(model, kin, t), PoseDerivatives.of(kin, 1)

    def solve(force: np.ndarray, torque: np.ndarray) -> ConstrainedMotion:
        return constrained_motion(model, kin, t, rows, force, torque, baumgarte, independent, least)

    acts = [exerted(element, of, moving, t, 0, kin.angles, kin.internal) for element, of in model.forces]
    return acts, solve
