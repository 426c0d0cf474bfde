"""Projection onto the constraints: the nearest poses and velocities in the mass metric.

Positions by Gauss-Newton steps delta = -W (A W)^+ Phi, velocities by the same formula with Phi_dot, which is
linear in them. After a step of an integrator the residuals are tiny, so one factorisation serves both.
"""

from __future__ import annotations

import numpy as np

from quirk import rotation
from quirk.state import Kinematics, State

from .model import Model
from .rows import residuals, tangent_rows, wrenches
from .udwadia_kalaba import PseudoInverse

# Looser than for accelerations: close to a singular configuration a nearly lost row would turn round-off
# into a large displacement, while leaving it alone for one step does no harm.
RANK_TOLERANCE = 1e-7

# Gauss-Newton converges quadratically: a correction below this part of the size of the system leaves a
# residual at round-off.
SMALL_CORRECTION = 1e-8

# A correction below this part changes the rows too little to need a new factorisation.
SAME_ROWS = 1e-4

MAX_CORRECTIONS = 12


class MassMetric:
    """W (6 n x 6 n, in blocks) with W W^T = M^-1 over (v, omega); constant in body axes."""

    def __init__(self, model: Model) -> None:
        self.translation = 1 / np.sqrt(model.mass)
        self.rotation = np.swapaxes(np.linalg.inv(np.linalg.cholesky(model.inertia)), 1, 2)

    def rows(self, A: np.ndarray) -> np.ndarray:
        """Return A W for rows A (m, 6 n)."""
        n = len(self.translation)
        A = A.reshape(-1, n, 6)
        translation = A[..., :3] * self.translation[:, None]
        return np.concatenate(
            [translation, np.einsum("mni,nij->mnj", A[..., 3:], self.rotation)], axis=2
        ).reshape(-1, 6 * n)

    def vector(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W z as its translations (n, 3) in N and rotations (n, 3) in body axes."""
        z = z.reshape(-1, 6)
        return self.translation[:, None] * z[:, :3], np.einsum("nij,nj->ni", self.rotation, z[:, 3:])

    def coordinates(self, translation: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return z (6 n,) with W z = (translation, turn)."""
        turned = np.linalg.solve(self.rotation, turn[..., None])[..., 0]
        return np.concatenate([translation / self.translation[:, None], turned], axis=1).ravel()


def displaced(state: State, translation: np.ndarray, turn: np.ndarray) -> State:
    """Return the state with centres of mass moved by (n, 3) m in N and bodies turned by (n, 3) rad, body axes."""
    turned = rotation.multiply(state.orientation, rotation.exp(turn))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    return State(state.position + translation, turned, state.velocity, state.angular_velocity)


def factorise(model: Model, metric: MassMetric, kin: Kinematics) -> PseudoInverse:
    """Return the pseudo-inverse of the rows in the mass metric over (v, omega)."""
    return PseudoInverse.of(metric.rows(tangent_rows(wrenches(model, kin), model, kin)), RANK_TOLERANCE)


def project(model: Model, metric: MassMetric, state: State) -> State | None:
    """Return the state with unit quaternions, on the constraints, or None if it is too far from them."""
    state = displaced(state, np.zeros_like(state.position), np.zeros_like(state.position))
    if model.rows == 0:
        return state
    kin = Kinematics.of(state)
    pseudo_inverse = factorise(model, metric, kin)
    previous = np.inf
    for _ in range(MAX_CORRECTIONS):
        translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, 0)[:, 0]))
        size = max(np.abs(turn).max(), np.abs(translation).max() / model.length)
        if not size < previous:  # also when it is not a number
            return None
        state = displaced(state, translation, turn)
        kin = Kinematics.of(state)
        if size > SAME_ROWS:
            pseudo_inverse = factorise(model, metric, kin)
        if size < SMALL_CORRECTION:
            break
        previous = size
    else:
        return None
    return with_projected_velocity(model, metric, state, kin, pseudo_inverse)


def with_projected_velocity(
    model: Model, metric: MassMetric, state: State, kin: Kinematics, pseudo_inverse: PseudoInverse
) -> State:
    """Return the state with the nearest velocities for which Phi_dot = 0."""
    translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, 1)[:, 1]))
    return State(
        state.position, state.orientation, state.velocity + translation, state.angular_velocity + turn
    )
