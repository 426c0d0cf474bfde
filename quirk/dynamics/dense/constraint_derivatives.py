"""Right-hand sides of the constraints differentiated to any order, and kappa = (d/dt A^T) lambda.

Source: "Two-dimensional constraints", which gives the equations A q' = nu, A q'' = gamma, and so on up to sigma, and
kappa, for planar joints; A are the constraint rows, and lambda the multipliers. Here q' is (v_0, omega_0, v_1, ...),
and one recurrence covers all constraints and orders. There are n bodies and m constraint rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies.state import Kinematics

from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .rows import residual_derivatives, row_derivatives, tangent_rows


@dataclass(frozen=True)
class ConstraintDerivatives:
    """The m constraint rows of n bodies at one instant of a motion, with their time derivatives up to order K.

    Attributes
    ----------
    A : (m, 6 n) constraint rows over (v_0, omega_0, v_1, ...), with v in the inertial frame and omega in body axes
    right_hand_sides : (m, K) right-hand sides nu, gamma, eta, sigma, ...
        Column k - 1 is the value of A times derivative k - 1 of the velocities.
    A_dot : (m, 6 n) time derivative of A along the motion
    labels : names of the m rows
    """

    A: np.ndarray
    right_hand_sides: np.ndarray
    A_dot: np.ndarray
    labels: list[str]

    def kappa(self, multipliers: np.ndarray) -> np.ndarray:
        """Return (d/dt A^T) lambda (6 n,) for multipliers (m,): forces in the inertial frame, torques in body axes."""
        return self.A_dot.T @ multipliers


def constraint_derivatives(
    model: Model, kin: Kinematics, t: float, linear: np.ndarray, angular: np.ndarray
) -> ConstraintDerivatives:
    """Return the constraint rows and their time derivatives at a state.

    `linear` and `angular` (K - 1, n, 3) are the accelerations, jerks, ... of n bodies, in the inertial frame and in
    body axes.
    """
    n, order = len(kin.position), len(linear) + 1
    position, omega = np.zeros((2, n, order + 1, 3))
    position[:, 0], position[:, 1], omega[:, 0] = kin.position, kin.velocity, kin.angular_velocity
    position[:-1, 2:], omega[:-1, 1:-1] = np.swapaxes(linear, 0, 1), np.swapaxes(angular, 0, 1)
    right_hand_sides = np.zeros((model.rows, order))
    for k in range(1, order + 1):
        # The derivative of Phi, without the term of A times the highest derivative of the motion, is minus the
        # right-hand side.
        known, spins = position[:, : k + 1].copy(), omega[:, :k].copy()
        known[:, k], spins[:, k - 1] = 0.0, 0.0
        motion = PoseDerivatives.in_body_axes(known, kin.orientation, spins)
        right_hand_sides[:, k - 1] = -residual_derivatives(model, motion, t)[:, k]
    rows = row_derivatives(model, PoseDerivatives.of(kin, 1), t)[:, :-1]
    R, spin = kin.rotation[:-1], kin.spin[:-1]
    # tau_body = R^T tau, so its rate is R^T (tau' - omega x tau).
    turned = np.einsum("nkl,mnk->mnl", R, rows[..., 1, 3:] - np.cross(spin, rows[..., 0, 3:]))
    A_dot = np.concatenate([rows[..., 1, :3], turned], axis=2).reshape(model.rows, -1)
    return ConstraintDerivatives(tangent_rows(model, kin, t), right_hand_sides, A_dot, model.labels)
