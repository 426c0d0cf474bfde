"""Accelerations and constraint forces over positions r and quaternions q, as returned by both solvers.

A are the constraint rows, J the inertia tensors, and T relates angular velocities in body axes to q: omega = T q'.
Names with "dd" are second time derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics

from .model import Model


@dataclass(frozen=True)
class ConstrainedMotion:
    """Accelerations xdd with A xdd = b nearest to the unconstrained accelerations in the mass metric.

    Attributes
    ----------
    acceleration : (n, 7) accelerations of n bodies: rdd, m/s^2, in the inertial frame, and qdd, 1/s^2
    constraint_force : (n, 7) Q_c = A^T lambda: force, N, in the inertial frame, and generalized force along q
    multipliers : (m,) multipliers lambda of m rows, of minimum norm in the model's row scale if rows are redundant
    rank : number of independent constraint rows
    """

    acceleration: np.ndarray
    constraint_force: np.ndarray
    multipliers: np.ndarray
    rank: int


def gyroscopic(model: Model, omega: np.ndarray) -> np.ndarray:
    """Return omega x J omega (..., n, 3), N m, of n bodies, in body axes."""
    return np.cross(omega, np.einsum("nij,...nj->...ni", model.gyroscopic_inertia, omega))


def quaternion_mass(
    model: Model, q: np.ndarray, omega: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mass matrices M_q (n, 4, 4) over quaternions, and the applied loads Q_q (n, 4) along quaternions.

    `torque` (n, 3), N m, are the torques on n bodies in body axes. M_q = T^T J T + 4 J_0 q q^T is positive definite.
    The motion does not depend on J_0 > 0, because the constraint |q| = 1 determines the motion along q.
    """
    T = rotation.T_matrix(q)
    J_0 = model.mean_moment
    M_q = np.einsum("nki,nkl,nlj->nij", T, model.inertia, T)
    M_q += 4 * J_0[:, None, None] * q[:, :, None] * q[:, None, :]
    along = J_0 * (omega**2).sum(axis=1)
    return M_q, np.einsum("nki,nk->ni", T, torque - gyroscopic(model, omega)) - along[:, None] * q


def angular_acceleration(motion: ConstrainedMotion, kin: Kinematics) -> np.ndarray:
    """Return the angular accelerations T qdd (n, 3), rad/s^2, of n bodies, in body axes."""
    return np.einsum("nij,nj->ni", rotation.T_matrix(kin.orientation[:-1]), motion.acceleration[:, 3:])
