"""Joint loads from multipliers, with time derivatives, by the compiled solver.

A relation is a constraint defined by a function. G is the array of all constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.model.layout import G_SIZE
from quirk.jit.simd import WIDTH

from ..codegen.relation_functions import Related
from .solver import Solver


class JointLoads:
    """Loads that body i exerts on body j through each constraint, from the rows and multipliers of a solver.

    Attributes
    ----------
    count : number c of constraints
    """

    def __init__(self, solver: Solver, related: Related) -> None:
        self.tables, self.related, self.count = solver.tables, related, len(solver.model.joint_rows)
        model, tables, n = solver.model, solver.tables, solver.slots.bodies
        placed = [(k, joint) for k, joint in enumerate(tables.joints) if joint is not None]
        frames = [(j, constraint.frame_j.origin) for constraint, (_, j) in model.joint_bodies]
        self.j = np.array([j for j, _ in frames], dtype=np.int64)
        self.arm = np.array([arm for _, arm in frames]).reshape(-1, 3)
        # Per row of a relation: its lane, its constraint, and the first element of its gradient for body j.
        rows = [
            (WIDTH * k + row, solver.joint_of_row[joint.rows.start], start)
            for k, joint in placed
            if joint.relation is not None
            for row, start in enumerate(related.gradient_starts(joint.relation, 1))
        ]
        self.lane, self.of, self.start = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        placed = [(k, joint) for k, joint in placed if joint.relation is None]
        self.nodes = [k for k, _ in placed]
        self.constraint = np.array([solver.joint_of_row[joint.rows.start] for _, joint in placed], dtype=np.int64)
        ends = np.array([joint.bodies for _, joint in placed], dtype=np.int64).reshape(-1, 2)
        # The moment is computed from a body that is not the ground.
        self.upper = ends[:, 1] < n
        self.moment_body = np.where(self.upper, ends[:, 1], ends[:, 0])
        # Scaled moments are W^T R^T times the moment, and J = L L^T with L = W^-T.
        self.unscaled = np.linalg.cholesky(model.inertia)[self.moment_body]

    def read(
        self,
        G: Sequence[np.ndarray],
        multipliers: Sequence[np.ndarray],
        position: np.ndarray,
        R: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the Taylor coefficients of the forces and torques (K, c, 3) of c constraints, for K orders in time.

        The loads act on body j at the joint point of body j, and are given in the inertial frame.

        Parameters
        ----------
        G, multipliers : for each of K orders, the array of all constraint rows, and the multipliers (m,) of m rows.
            Gradients of relations (constraint functions) are taken from their last evaluation.
        position, R : positions (K, n + 1, 3) and rotation matrices (K, n + 1, 3, 3) of n bodies and the ground
        """
        orders = len(multipliers)
        force, torque = np.zeros((2, orders, self.count, 3))
        if not self.count:
            return force, torque
        K = len(self.tables.joints)
        flat = np.zeros((orders, WIDTH * K))
        flat[:, self.tables.row_lane] = multipliers
        lanes = flat.reshape(orders, K, WIDTH)
        points = position[:, self.j] + np.einsum("okij,kj->oki", R[:, self.j], self.arm)
        to_N = R[0, self.moment_body] @ self.unscaled
        away = position[:, self.moment_body] - points[:, self.constraint]
        on_j, moment = np.zeros((2, orders, len(self.nodes), 3))
        for k in range(orders):
            for m in range(k + 1) if self.nodes else ():
                rows = G[m][: G_SIZE * K].reshape(K, 9, WIDTH)[self.nodes]
                carried = np.einsum("kcl,kl->kc", rows, lanes[k - m, self.nodes])
                on_j[k] += carried[:, :3]
                scaled = np.where(self.upper[:, None], carried[:, 6:], -carried[:, 3:6])
                moment[k] += np.einsum("kij,kj->ki", to_N, scaled)
            np.add.at(force[k], self.constraint, on_j[k])
            about = moment[k] + sum(np.cross(away[m], on_j[k - m]) for m in range(k + 1))
            np.add.at(torque[k], self.constraint, about)
        if len(self.lane):
            arm = (position[:, self.j] - points)[:, self.of]
            gradients = [
                self.related.table.outputs[self.start[:, None] + WIDTH * m + np.arange(6)] for m in range(orders)
            ]
            wrench = np.zeros((orders, len(self.lane), 6))
            for k in range(orders):
                for m in range(k + 1):
                    wrench[k] += flat[k - m, self.lane, None] * gradients[m]
                moment = wrench[k, :, 3:] + sum(np.cross(arm[m], wrench[k - m, :, :3]) for m in range(k + 1))
                np.add.at(force[k], self.of, wrench[k, :, :3])
                np.add.at(torque[k], self.of, moment)
        return force, torque
