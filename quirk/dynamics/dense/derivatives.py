"""Higher time derivatives of constrained motion by the dense solver: the reference for the compiled solver.

The k-th derivatives of the accelerations a and of the multipliers lambda solve a linear system with the same matrix as
a and lambda themselves, the k-th derivative of the equations of motion and of the constraints,

    M a^(k) = Q^(k) + sum_{m > 0} C(k, m) (A^(m))^T lambda^(k-m) + A^T lambda^(k),     A a^(k) = b_k.

M is the mass matrix, Q are the applied loads, A the constraint rows, Phi their residuals, and C(k, m) binomial
coefficients. For k = m = 1 the sum is kappa = (d/dt A^T) lambda. b_k is minus the derivative of Phi of order k + 2 for
a^(k) = 0: gamma, eta, sigma. One factorization serves all orders. Source: "Two-dimensional constraints", which gives
the right-hand sides up to sigma, and kappa, for planar joints; here they follow from the time derivatives of any
constraint.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from quirk.bodies.state import Kinematics, State

from ..model.applied_loads import applied_derivative
from ..model.metric import Metric
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .joint_loads import load_derivatives
from .rows import residual_derivatives, row_derivatives, tangent_rows
from .udwadia_kalaba import CORRECTIONS, PseudoInverse


@dataclass(frozen=True)
class Derivatives:
    """Accelerations of n bodies and m multipliers, with their time derivatives up to order K - 1.

    Attributes
    ----------
    linear : (K, n, 3) acceleration, jerk, snap, ... of the centers of mass, inertial frame
    angular : (K, n, 3) first, second, ... derivatives of the components of the angular velocity in body axes
    multipliers : (K, m); if rows are redundant, those of minimum norm in the model's row scale
    force, torque : (K, j, 3) load that body i of each constraint exerts on body j at the joint point of j, inertial
        frame
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    force: np.ndarray
    torque: np.ndarray


def derivatives(
    model: Model, metric: Metric, state: State, t: float, order: int, independent: np.ndarray | None = None
) -> Derivatives:
    """Return the accelerations at a state that satisfies the constraints, and their time derivatives.

    `metric` is the mass metric, and t the time, s. `order` is K: the results are the accelerations and their first K -
    1 time derivatives. `independent` (m,) is a mask of the independent rows, by default all m rows; see
    `constrained_motion`.
    """
    n, kin = len(model.mass), Kinematics.of(state)
    motion, R = PoseDerivatives.of(kin, order + 1), kin.rotation[:-1]
    AW = metric.rows(tangent_rows(model, kin, t))
    pseudo_inverse = PseudoInverse.of(AW, independent)
    sharing = DenseSharing(model, len(pseudo_inverse.s))
    multipliers = np.zeros((order, model.rows))
    for k in range(order):
        rows = row_derivatives(model, motion.truncated(k), t)[:, :-1]
        force, torque = applied_derivative(model, t, motion, k, state.angles, state.internal)
        for m in range(1, k + 1):
            earlier = comb(k, m) * np.einsum("rnc,r->nc", rows[:, :, m], multipliers[k - m])
            force, torque = force + earlier[:, :3], torque + earlier[:, 3:]
        motion.position[:-1, k + 2] = force / model.mass[:, None]
        motion.spin[:-1, k + 1] = _free_turn(model, motion, torque, k)
        missing = -residual_derivatives(model, motion.truncated(k + 2), t)[:, k + 2]
        z = np.zeros(6 * n)
        for _ in range(1 + CORRECTIONS):
            correction = pseudo_inverse.multipliers(missing - AW @ z)
            z += AW.T @ correction
            multipliers[k] += correction
        translation, turn = metric.vector(z)
        motion.position[:-1, k + 2] += translation
        motion.spin[:-1, k + 1] += np.einsum("nij,nj->ni", R, turn)
        if len(pseudo_inverse.s) < model.rows:
            multipliers[k] = sharing.shared(multipliers[k], rows.reshape(model.rows, n, k + 1, 6))
    force, torque = load_derivatives(model, motion, t, multipliers)
    return Derivatives(
        linear=np.swapaxes(motion.position[:-1, 2:], 0, 1),
        angular=np.swapaxes(motion.body_spins(order)[:-1, 1:], 0, 1),
        multipliers=multipliers,
        force=force,
        torque=torque,
    )


def _free_turn(model: Model, motion: PoseDerivatives, torque: np.ndarray, k: int) -> np.ndarray:
    """Return time derivative k + 1 of the unconstrained angular velocities (n, 3), in the inertial frame.

    The result follows from derivative k of the torques (n, 3), inertial frame: (J omega)^(k+1) = tau^(k), with J in the
    inertial frame.
    """
    R = motion.rotations(k + 1)[:-1]
    J = np.zeros_like(R)
    for order in range(k + 2):
        for m in range(order + 1):
            J[:, order] += comb(order, m) * R[:, m] @ model.inertia @ np.swapaxes(R[:, order - m], 1, 2)
    for m in range(1, k + 2):
        torque = torque - comb(k + 1, m) * np.einsum("nij,nj->ni", J[:, m], motion.spin[:-1, k + 1 - m])
    return np.linalg.solve(J[:, 0], torque[..., None])[..., 0]


class DenseSharing:
    """Multipliers of minimum norm for redundant rows, with their time derivatives.

    With row scales D and constraint rows A, the multipliers lambda have minimum norm at all times if D^2 lambda = A y
    for some function y(t). The object stores the derivatives of y computed so far.
    """

    def __init__(self, model: Model, rank: int) -> None:
        self.scale, self.rank = model.row_scale, rank
        self.y: list[np.ndarray] = []

    def shared(self, multipliers: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the multipliers (m,) of minimum norm, or a time derivative of them.

        Call number k, counted from 0, returns the derivative of order k.

        Parameters
        ----------
        multipliers : (m,) any multipliers that satisfy the equations of order k
        rows : (m, n, k + 1, 6) the m constraint rows over n bodies with k time derivatives
        """
        k, D = rows.shape[2] - 1, self.scale
        scaled = rows.reshape(len(D), -1, k + 1, 6) / D[:, None, None, None]
        A = [scaled[:, :, m].reshape(len(D), -1) for m in range(k + 1)]
        known = np.zeros(len(D))
        for m in range(1, k + 1):
            known += comb(k, m) * A[m] @ self.y[k - m]
        exerted = A[0].T @ (D * multipliers - known)
        _, s, Vt = np.linalg.svd(A[0], full_matrices=False)
        y = Vt[: self.rank].T @ ((Vt[: self.rank] @ exerted) / s[: self.rank] ** 2)
        self.y.append(y)
        return (known + A[0] @ y) / D
