"""Diagnosis of inconsistent constraints for error messages.

The diagnosis consists of the violated rows, the size of their violation, and the constraints on which they depend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bodies.state import Kinematics, State
from ..errors import InconsistentStateError
from .dense.rows import residual_derivatives, tangent_rows
from .model.constrained_motion import ConstrainedMotion, angular_acceleration
from .model.metric import Metric
from .model.model import Model
from .model.time_derivatives import PoseDerivatives
from .sparse.solver.solver import RowIndependence

if TYPE_CHECKING:
    from ..system.system import System

# Limits of the diagnosis. SHARE: least coefficient of a row, relative to the largest, for it to take part in a linear
# dependency. MOST_NAMED: maximum number of constraints named in a message. MOST_ROWS: maximum number of rows for which
# the dependency is analyzed, as its cost is cubic.
SHARE, MOST_NAMED, MOST_ROWS = 1e-3, 4, 2000

# Limits of the acceleration error of a dependent row, relative to the accelerations of the bodies. Below MISSED times
# the rank tolerance it may be round-off or due to nearly dependent rows; below EXPLAINED times the violation of the
# state it may be due to that violation.
MISSED, EXPLAINED = 10.0, 100.0

# Scale of accelerations over length, 1/s^2, of a system at rest without gravity; avoids division by zero.
AT_REST = 1e-9


def contradiction(system: System, state: State, t: float, row: int) -> str:
    """Return a clause for messages that names the constraints on which a violated row depends.

    `row` is the index of the violated row, at the given state and time t (s).
    """
    model = system.model
    if model.rows > MOST_ROWS:
        return "it contradicts other constraints"
    kept = system.plant.solver().row_independence(state, t).independent.copy()
    A = Metric.uniform(model).rows(tangent_rows(model, Kinematics.of(state), t))
    if kept[row]:
        # Any row of a dependent set may be the dropped one; treat this row as dependent on the other rows.
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
        return "the gradient of its function is zero"
    listed = ", ".join(str(system[name]) for name in named[:MOST_NAMED]) + (", ..." if len(named) > MOST_NAMED else "")
    return f"it contradicts {listed}"


def check_accelerations(
    system: System, state: State, t: float, accelerations: ConstrainedMotion, independence: RowIndependence
) -> None:
    """Raise an InconsistentStateError if the accelerations violate constraint rows that were omitted as dependent.

    `accelerations` are the accelerations at a state, and `independence` states which rows are independent.
    """
    model = system.model
    if independence.independent.all():
        return
    kin = Kinematics.of(state)
    linear, angular = accelerations.acceleration[:, :3], angular_acceleration(accelerations, kin)
    missed, excess = row_violations(model, kin, t, linear, angular)
    worst = int(np.argmax(np.where(independence.independent, 0.0, excess)))
    if not independence.independent[worst] and excess[worst] > 1.0:
        what = "rad/s^2" if model.row_torque[worst] else "m/s^2"
        reason = contradiction(system, state, t, worst)
        raise InconsistentStateError(
            f"{system[model.owner(worst)]}: the accelerations required by constraints at t = {t:g} s contradict each "
            f"other: row {model.labels[worst]} is violated by {abs(missed[worst]):.3g} {what}; {reason}: remove one "
            f"of them, or make them consistent{rigidity(system, state, t)}"
        )


def row_violations(
    model: Model, kin: Kinematics, t: float, linear: np.ndarray, angular: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the violations of all m constraint rows by the accelerations of n bodies at time t (s).

    Parameters
    ----------
    kin : position and motion of the bodies
    linear, angular : (n, 3) accelerations, m/s^2, and angular accelerations in body axes, rad/s^2

    Returns
    -------
    missed : (m,) violation, m/s^2 or rad/s^2
    excess : (m,) violation over the largest that round-off, or the violation of the state, may cause
    """
    motion, length = PoseDerivatives.of(kin, 2), model.length
    motion.position[:-1, 2] = linear
    motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], angular)
    phi = residual_derivatives(model, motion, t) / model.residual_scale[:, None]
    fastest = np.abs(kin.angular_velocity).max() + np.abs(kin.velocity).max() / length
    size = np.abs(linear).max() / length + np.abs(angular).max() + fastest**2
    # If all bodies are held, the free-fall acceleration is the scale.
    size += np.linalg.norm(model.gravity) / length + AT_REST
    scale = np.where(model.row_torque, 1.0, length)
    violation = np.abs(phi[:, 0] / scale).max() + np.abs(phi[:, 1] / scale).max() / (fastest + np.sqrt(size) + 1e-300)
    relative = np.abs(phi[:, 2]) / scale
    allowed = (relative + size) * max(MISSED * model.rank_tolerance, EXPLAINED * violation)
    return phi[:, 2], relative / allowed


def rigidity(system: System, state: State, t: float) -> str:
    """Return a clause for messages that explains second-order rigidity, or "" if the mechanism has none.

    A mechanism with second-order rigidity has velocities that satisfy the constraints, but no finite motion along them.
    """
    from ..analysis.mobility import mobility

    if system.model.rows > MOST_ROWS or not mobility(system.plant.solver(), state, t).blocked:
        return ""
    return (
        "; the mechanism is rigid to second order in these poses, like a straight row of rods between fixed pins: "
        "it has velocities along which it cannot move a finite distance"
    )
