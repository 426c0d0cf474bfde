"""Accelerations, loads and derivatives of a system at one state.

States must be valid for the system; times are in s. `solver` is "sparse" for compiled code, or "dense" for the
reference implementation with dense matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.rotation import T_matrix
from ..bodies.state import Kinematics, State
from ..dynamics.dense import equations
from ..dynamics.dense.constraint_derivatives import ConstraintDerivatives
from ..dynamics.dense.constraint_derivatives import constraint_derivatives as right_hand_sides
from ..dynamics.dense.derivatives import derivatives as dense_derivatives
from ..dynamics.dense.joint_loads import joint_loads as loads_of
from ..dynamics.inconsistency import check_accelerations
from ..dynamics.model.constrained_motion import ConstrainedMotion, angular_acceleration
from ..dynamics.model.joint_angles import angles_at, angles_by_name
from ..dynamics.sparse.solver.along_states import constrained_motion
from ..dynamics.sparse.solver.derivatives import Differentiator, require_order
from ..errors import InputError
from ..util import validate
from .quantities import Acceleration, ConstraintForces, JointLoad, MotionDerivatives

if TYPE_CHECKING:
    from .system import System

SOLVERS = ("sparse", "dense")


def acceleration(system: System, state: State, t: float, solver: str) -> Acceleration:
    """Return the accelerations of all bodies; see `System.acceleration`."""
    kin, motion = solved(system, state, t, solver)
    return Acceleration(motion.acceleration[:, :3], angular_acceleration(motion, kin), motion.acceleration[:, 3:])


def constraint_forces(system: System, state: State, t: float, solver: str) -> ConstraintForces:
    """Return the sum of all constraint loads on each body; see `System.constraint_forces`."""
    kin, motion = solved(system, state, t, solver)
    Q = motion.constraint_force
    # Q_q = T^T tau plus a part along q, and T T^T = 4 for unit quaternions.
    torque = 0.25 * np.einsum("nij,nj->ni", T_matrix(kin.orientation[:-1]), Q[:, 3:])
    return ConstraintForces(Q[:, :3], torque, Q.ravel())


def joint_loads(system: System, state: State, t: float, solver: str) -> dict[str, JointLoad]:
    """Return the load of every active constraint by name; see `System.joint_loads`."""
    kin, motion = solved(system, state, t, solver)
    loads = loads_of(system.model, kin, t, motion.multipliers)
    return {name: JointLoad(force, torque) for name, (force, torque) in loads.items()}


def derivatives(system: System, state: State, t: float, order: int, solver: str) -> MotionDerivatives:
    """Return the first `order` time derivatives of the velocities, with joint loads; see `System.derivatives`."""
    validate.choice("System", "solver", solver, SOLVERS)
    model = system.model
    require_order(model, order)
    angles = _with_angles(system, state, t)
    if solver == "dense":
        kept = system.plant.solver().row_independence(state, t).independent
        found = dense_derivatives(model, system.plant.metric, state, t, order, kept)
        parts = found.linear, found.angular, found.multipliers, found.force, found.torque
    else:
        along, loads = Differentiator(system.plant.solver(), order).with_loads(
            np.array([t]), model.auxiliary.flat(state)[None], angles[None]
        )
        whole = along.linear, along.angular, loads.multipliers, loads.force, loads.torque
        parts = tuple(part[0] for part in whole)
    linear, angular, multipliers, force, torque = parts
    by_name = {name: JointLoad(force[:, c], torque[:, c]) for c, name in enumerate(model.joint_rows)}
    return MotionDerivatives(linear, angular, multipliers, by_name)


def constraint_derivatives(
    system: System, state: State, t: float, linear: Any, angular: Any, order: int
) -> ConstraintDerivatives:
    """Return the right-hand sides of all constraint rows up to `order`; see `System.constraint_derivatives`."""
    n, given = len(system.bodies), []
    for name, value in (("linear", linear), ("angular", angular)):
        padded = np.zeros((order - 1, n, 3))
        numbers = validate.numbers(value) if value is not None else padded
        if numbers is None or numbers.ndim != 3 or numbers.shape[1:] != (n, 3):
            raise InputError(f"System: {name} must have shape (k, {n}, 3); got {value!r}")
        padded[: len(numbers)] = validate.array("System", name, numbers, numbers.shape)[: order - 1]
        given.append(padded)
    return right_hand_sides(system.model, Kinematics.of(state), t, *given)


def solved(system: System, state: State, t: float, solver: str) -> tuple[Kinematics, ConstrainedMotion]:
    """Return the kinematics, and the solution of the equations of motion, at one state.

    Raises
    ------
    InconsistentStateError
        If constraints contradict each other.
    """
    validate.choice("System", "solver", solver, SOLVERS)
    model, compiled = system.model, system.plant.solver()
    angles = _with_angles(system, state, t)
    kin = Kinematics.of(state)
    if solver == "dense":
        independence = compiled.row_independence(state, t)
        motion = equations.motion(model, t, kin, independent=independence.independent)
    else:
        y = compiled.slots.state_to_lanes(model.auxiliary.flat(state))
        compiled.settle_near(y, t)
        compiled.applied.refer(t, angles)
        motion = constrained_motion(compiled, t, kin, y)
        independence = compiled.row_independence(state, t)
    check_accelerations(system, state, t, motion, independence)
    return kin, motion


def _with_angles(system: System, state: State, t: float) -> np.ndarray:
    """Compute 1-2-3 angles of K joints with all turns counted, (K, 3), rad; store them in `state` and return them."""
    angles = angles_at(system.model, state, t)
    state.angles = angles_by_name(system.model.joints, angles)
    return angles
