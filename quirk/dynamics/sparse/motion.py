"""Accelerations and loads at given states, by the compiled solver."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quirk import rotation
from quirk.lanes import WIDTH
from quirk.state import STATE_SIZE, Kinematics, State

from ..udwadia_kalaba import ConstrainedMotion, quaternion_mass
from .layout import G_SIZE
from .solver import Solver


def constrained_motion(
    solver: Solver, t: float, kin: Kinematics, y: np.ndarray, force: np.ndarray, torque: np.ndarray
) -> ConstrainedMotion:
    """Solve the equation at one state, given also as lanes `y`, at which the solver has settled.

    `force` (n, 3) in N and `torque` (n, 3) in body axes are the applied loads, for the constraint forces.
    """
    rates = solver.slots.from_lanes(solver.rates(t, y), STATE_SIZE)
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
    accelerations = np.empty((len(times), solver.slots.bodies, 6))
    loads = JointLoads(solver)
    forces = np.empty((len(times), loads.count, 3))
    torques = np.empty_like(forces)
    for row, (state, rates) in enumerate(_evaluated(solver, times, states)):
        accelerations[row] = solver.slots.from_lanes(rates, STATE_SIZE)[:, 7:]
        forces[row], torques[row] = loads.read(state)
    by_joint = {name: (forces[:, k], torques[:, k]) for k, name in enumerate(solver.model.joint_rows)}
    return accelerations[..., :3], accelerations[..., 3:], by_joint


def multipliers_along(solver: Solver, times: np.ndarray, states: State) -> np.ndarray:
    """Multipliers (nt, m) at all times."""
    multipliers = [solver.multipliers() for _ in _evaluated(solver, times, states)]
    return np.array(multipliers).reshape(len(times), solver.model.rows)


def _evaluated(solver: Solver, times: np.ndarray, states: State) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Evaluate at one time after the other; yields the state (n, 13) and its rates as lanes."""
    parts = np.concatenate(list(vars(states).values()), axis=2)
    for row, t in enumerate(times):
        y = solver.slots.state_to_lanes(parts[row].ravel())
        if row == 0:
            solver.settle(y, t)
        solver.choose(y, t)
        yield parts[row], solver.rates(t, y)


def residuals_along(solver: Solver, times: np.ndarray, states: State) -> np.ndarray:
    """Phi and its rate (nt, m, 2) at all times."""
    parts = np.concatenate(list(vars(states).values()), axis=2)
    if not solver.model.rows:
        return np.zeros((len(parts), 0, 2))
    lanes = (solver.slots.state_to_lanes(part.ravel()) for part in parts)
    return np.array([solver.residuals(y, t) for y, t in zip(lanes, times, strict=True)])


class JointLoads:
    """Reads the loads of all constraints off the multipliers of a solver's last evaluation."""

    def __init__(self, solver: Solver) -> None:
        self.solver, self.count = solver, len(solver.model.joint_rows)
        model, tables, n = solver.model, solver.tables, solver.slots.bodies
        placed = [(k, joint) for k, joint in enumerate(tables.joints) if joint is not None]
        frames = [(j, constraint.frame_j.origin) for constraint, (_, j) in model.joint_bodies]
        self.j = np.array([j for j, _ in frames], dtype=np.int64)
        self.arm = np.array([arm for _, arm in frames]).reshape(-1, 3)
        self.relations = [
            (k, joint.relation, int(solver.joint_of_row[joint.rows.start]))
            for k, joint in placed
            if joint.relation is not None
        ]
        placed = [(k, joint) for k, joint in placed if joint.relation is None]
        self.nodes = [k for k, _ in placed]
        self.which = np.array([solver.joint_of_row[joint.rows.start] for _, joint in placed], dtype=np.int64)
        ends = np.array([joint.bodies for _, joint in placed], dtype=np.int64).reshape(-1, 2)
        # The moment is read off a body that is not the ground.
        self.upper = ends[:, 1] < n
        self.near = np.where(self.upper, ends[:, 1], ends[:, 0])
        # Scaled moments are W^T R^T times the moment, and J = L L^T with L = W^-T.
        self.unscaled = np.linalg.cholesky(model.inertia)[self.near]

    def read(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Force and torque (j, 3) in N on body j at the joint point of j; `state` (n, 13) was evaluated last."""
        force, torque = np.zeros((2, self.count, 3))
        if not self.count:
            return force, torque
        solver, tables = self.solver, self.solver.tables
        K = len(tables.joints)
        flat = np.zeros(WIDTH * K)
        flat[tables.row_lane] = solver.multipliers()
        lanes = flat.reshape(K, WIDTH)
        R = rotation.matrix(np.append(state[:, 3:7], [rotation.IDENTITY], axis=0))
        position = np.append(state[:, :3], np.zeros((1, 3)), axis=0)
        points = position[self.j] + np.einsum("kij,kj->ki", R[self.j], self.arm)
        if self.nodes:
            carried = solver.work.G[: G_SIZE * K].reshape(K, 9, WIDTH)[self.nodes]
            carried = np.einsum("kcl,kl->kc", carried, lanes[self.nodes])
            on_j, scaled = carried[:, :3], np.where(self.upper[:, None], carried[:, 6:], carried[:, 3:6])
            moment = np.einsum("kij,kjl,kl->ki", R[self.near], self.unscaled, scaled)
            away = position[self.near] - points[self.which]
            moment = np.where(self.upper[:, None], moment, -moment) + np.cross(away, on_j)
            np.add.at(force, self.which, on_j)
            np.add.at(torque, self.which, moment)
        for k, relation, which in self.relations:
            gradient = solver.relation_gradient(relation)[:, 1]
            wrench = lanes[k, : len(gradient)] @ gradient
            force[which] += wrench[:3]
            torque[which] += wrench[3:] + np.cross(position[self.j[which]] - points[which], wrench[:3])
        return force, torque
