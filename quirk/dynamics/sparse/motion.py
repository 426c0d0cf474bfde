"""Accelerations and loads at given states, by the compiled solver."""

from __future__ import annotations

import numpy as np

from quirk import rotation
from quirk.lanes import WIDTH
from quirk.state import STATE_SIZE, Kinematics, State

from ..udwadia_kalaba import ConstrainedMotion, quaternion_mass
from .layout import G_FORCE, G_I, G_J, G_SIZE, from_lanes, state_to_lanes
from .solver import Solver


def constrained_motion(
    solver: Solver, t: float, kin: Kinematics, y: np.ndarray, force: np.ndarray, torque: np.ndarray
) -> ConstrainedMotion:
    """Solve the equation at one state, given also as lanes `y`, at which the solver has settled.

    `force` (n, 3) in N and `torque` (n, 3) in body axes are the applied loads, for the constraint forces.
    """
    n = solver.bodies
    rates = from_lanes(solver.rates(t, y), n, STATE_SIZE)
    q, omega = kin.orientation[:-1], kin.angular_velocity[:-1]
    # qdd = T^T omega_dot / 4 - |qdot|^2 q
    qdd = rotation.rate(q, rates[:, 10:]) - 0.25 * (omega**2).sum(axis=1)[:, None] * q
    M_q, Q_q = quaternion_mass(solver.model, q, omega, torque)
    on_q = np.einsum("nij,nj->ni", M_q, qdd) - Q_q
    on_r = solver.model.mass[:, None] * rates[:, 7:10] - force
    return ConstrainedMotion(
        acceleration=np.concatenate([rates[:, 7:10], qdd], axis=1),
        constraint_force=np.concatenate([on_r, on_q], axis=1),
        multipliers=solver.multipliers(),
        rank=solver.rank,
    )


def motion_along(
    solver: Solver, times: np.ndarray, states: State
) -> tuple[np.ndarray, np.ndarray, dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Linear (nt, n, 3) and angular accelerations, and force and torque (nt, 3) in N of each joint."""
    n = solver.bodies
    parts = np.concatenate(list(vars(states).values()), axis=2)
    accelerations = np.empty((len(times), n, 6))
    forces = np.empty((len(times), len(solver.model.joint_rows), 3))
    torques = np.empty_like(forces)
    for row, t in enumerate(times):
        y = state_to_lanes(parts[row].ravel())
        if row == 0:
            solver.settle(y)
        solver.choose(y)
        accelerations[row] = from_lanes(solver.rates(t, y), n, STATE_SIZE)[:, 7:]
        forces[row], torques[row] = joint_loads(solver, parts[row])
    by_joint = {name: (forces[:, k], torques[:, k]) for k, name in enumerate(solver.model.joint_rows)}
    return accelerations[..., :3], accelerations[..., 3:], by_joint


def residuals_along(solver: Solver, states: State) -> np.ndarray:
    """Phi and its rate (nt, m, 2) at all times."""
    parts = np.concatenate(list(vars(states).values()), axis=2)
    if not solver.model.rows:
        return np.zeros((len(parts), 0, 2))
    return np.array([solver.residuals(state_to_lanes(part.ravel())) for part in parts])


def joint_loads(solver: Solver, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Force and torque (j, 3) in N on body j at the joint point of j, of each constraint, at the state last evaluated.

    `state` (n, 13) is that state. The moment is read off a body that is not the ground, and moved to the point.
    """
    model, tables = solver.model, solver.tables
    n, table = solver.bodies, model.table
    force, torque = np.zeros((2, len(model.joint_rows), 3))
    placed = [(k, joint) for k, joint in enumerate(tables.joints) if joint is not None]
    if not placed:
        return force, torque
    nodes = [k for k, _ in placed]
    lanes = np.zeros(WIDTH * len(tables.joints))
    lanes[tables.row_lane] = solver.multipliers()
    lanes = lanes.reshape(-1, WIDTH)[nodes]
    G = solver.work.G[: G_SIZE * len(tables.joints)].reshape(-1, G_SIZE)[nodes]

    def carried(start: int) -> np.ndarray:
        return np.einsum("kcl,kl->kc", G[:, start : start + 3 * WIDTH].reshape(-1, 3, WIDTH), lanes)

    bodies = np.array([joint.bodies for _, joint in placed])
    upper = bodies[:, 1] < n
    near = np.where(upper, bodies[:, 1], bodies[:, 0])  # not the ground
    R = rotation.matrix(np.append(state[:, 3:7], [rotation.IDENTITY], axis=0))
    position = np.append(state[:, :3], np.zeros((1, 3)), axis=0)
    on_j = carried(G_FORCE)
    # Moments are scaled by W^T in body axes.
    scaled = np.where(upper[:, None], carried(G_J), carried(G_I))
    inverse = np.linalg.inv(np.swapaxes(np.linalg.inv(np.linalg.cholesky(model.inertia)), 1, 2))
    moment = np.einsum("kij,klj,kl->ki", R[near], inverse[near], scaled)
    arm = np.array([table.arm[joint.primitives[0], 1] for _, joint in placed])
    point = position[bodies[:, 1]] + np.einsum("kij,kj->ki", R[bodies[:, 1]], arm)
    away = np.cross(point - position[near], on_j)
    which = np.array([solver.joint_of_row[joint.rows.start] for _, joint in placed])
    np.add.at(force, which, on_j)
    np.add.at(torque, which, np.where(upper[:, None], moment - away, -moment - away))
    return force, torque
