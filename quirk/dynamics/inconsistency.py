"""Constraints that contradict each other: which rows, by how much, and from which others they follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bodies.state import Kinematics, State
from ..constraints.primitives import DISTANCE
from ..errors import InconsistentStateError
from .dense.rows import phi_tower, tangent_rows
from .model.constrained_motion import ConstrainedMotion, angular_acceleration
from .model.metric import Metric
from .model.model import Model
from .model.time_derivatives import MotionTower
from .sparse.solver.solver import Verdict

if TYPE_CHECKING:
    from ..system.system import System

# Rows take part in a dependency with at least this part of the largest share. As many constraints are named, and up to
# so many rows are analyzed for that.
SHARE, MOST_NAMED, MOST_ROWS = 1e-3, 4, 2000

# What rows miss, over the accelerations of the bodies, beyond so many times the tolerance of ranks is neither round-off
# nor what nearly dependent rows may miss; nor is more than so many times what the state itself violates.
MISSED, EXPLAINED = 10.0, 100.0

# Accelerations below this, 1/s^2, are those of a system at rest.
AT_REST = 1e-9


def units(model: Model) -> np.ndarray:
    """By what to divide Phi and its derivatives (m,) so that they are lengths and angles: 2 l for squared distances."""
    unit = np.ones(model.rows)
    distances = model.table.kind == DISTANCE
    unit[model.table.row[distances]] = 2 * np.sqrt(model.table.offset[distances])
    for placed in model.relations:
        unit[placed.rows] = placed.relation.scale
    return unit


def others(system: System, state: State, t: float, row: int) -> str:
    """Return in words which other constraints a row that is violated contradicts: those from which it follows."""
    model = system.model
    if model.rows > MOST_ROWS:
        return "it contradicts other constraints"
    kept = system.plant.solver().verdict(state, t).kept.copy()
    A = Metric.uniform(model).rows(tangent_rows(model, Kinematics.of(state), t))
    if kept[row]:
        # Any of the rows that depend on each other may be left out: this one instead of another.
        idle = np.linalg.svd(A, full_matrices=True)[0][:, min(kept.sum(), len(kept) - 1) :]
        part = np.abs(idle @ idle[row])
    else:
        share = np.linalg.lstsq(A[kept].T, A[row], rcond=None)[0] * np.linalg.norm(A[kept], axis=1)
        part = np.zeros(len(kept))
        part[kept] = np.abs(share)
    part[row] = 0.0
    mine = model.owner(row)
    named = [n for n, rows in model.joint_rows.items() if n != mine and part[rows].max(initial=0) > SHARE * part.max()]
    if not named or not part.max() > 0:
        return "its function has no slope here"
    listed = ", ".join(str(system[name]) for name in named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")
    return f"it contradicts {listed}"


def check_accelerations(system: System, state: State, t: float, found: ConstrainedMotion, verdict: Verdict) -> None:
    """Raise InconsistentStateError if rows that were left out ask for other accelerations than those found."""
    model = system.model
    if verdict.kept.all():
        return
    kin = Kinematics.of(state)
    motion, linear, angular = MotionTower.of(kin, 2), found.acceleration[:, :3], angular_acceleration(found, kin)
    motion.position[:-1, 2] = linear
    motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], angular)
    unit, length = units(model), model.length
    phi = phi_tower(model, motion, t) / unit[:, None]
    fastest = np.abs(kin.angular_velocity).max() + np.abs(kin.velocity).max() / length
    size = np.abs(linear).max() / length + np.abs(angular).max() + fastest**2
    # Where all bodies are held, what they would do otherwise is the scale.
    size += np.linalg.norm(model.gravity) / length + AT_REST
    own = np.where(model.row_torque, 1.0, length)
    violation = np.abs(phi[:, 0] / own).max() + np.abs(phi[:, 1] / own).max() / (fastest + np.sqrt(size) + 1e-300)
    missed = np.where(verdict.kept, 0.0, np.abs(phi[:, 2]) / own)
    worst = int(np.argmax(missed))
    asked = missed[worst] + size
    if missed[worst] > asked * max(MISSED * model.rank_tolerance, EXPLAINED * violation):
        what = "rad/s^2" if model.row_torque[worst] else "m/s^2"
        reason = others(system, state, t, worst)
        raise InconsistentStateError(
            f"{system[model.owner(worst)]}: the accelerations that constraints ask for at t = {t:g} s contradict each "
            f"other: row {model.labels[worst]} is missed by {abs(phi[worst, 2]):.3g} {what}; {reason}: drop one of "
            f"them, or make them agree{tautness(system, state, t)}"
        )


def tautness(system: System, state: State, t: float) -> str:
    """Return what is to be said of poses in which freedoms lead nowhere, or nothing."""
    from ..analysis.mobility import mobility

    if system.model.rows > MOST_ROWS or not mobility(system.plant.solver(), state, t).blocked:
        return ""
    return (
        "; these poses are rigid to second order, like a taut straight row of rods between pins: velocities are free "
        "there that lead nowhere"
    )
