"""Projection onto the constraints: the nearest poses and velocities in the mass metric.

Positions by Gauss-Newton steps delta = -W (A W)^+ Phi, velocities by the same formula with Phi_dot, which is
linear in them. After a step of an integrator the residuals are tiny, so one factorisation serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk import rotation
from quirk.state import Kinematics, State

from .model import Model
from .rows import residuals, tangent_rows
from .udwadia_kalaba import RANK_TOLERANCE, PseudoInverse

# Gauss-Newton converges quadratically: a correction below this part of the size of the system leaves a
# residual at round-off.
SMALL_CORRECTION = 1e-8

# A correction below this part changes the rows too little to need a new factorisation.
SAME_ROWS = 1e-5

# Corrections of positions below this many units in the last place of the largest position are round-off.
ROUND_OFF_ULPS = 8

MAX_CORRECTIONS = 12

# Violations up to this part of the size of the system are taken for inaccuracy, larger ones for intention.
NEAR = 1e-2


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
        return np.concatenate([translation, np.einsum("mni,nij->mnj", A[..., 3:], self.rotation)], axis=2).reshape(
            -1, 6 * n
        )

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


def factorise(model: Model, metric: MassMetric, kin: Kinematics, t: float, rank: int | None = None) -> PseudoInverse:
    """Return the pseudo-inverse of the rows in the mass metric over (v, omega), of at most the given rank."""
    return PseudoInverse.of(metric.rows(tangent_rows(model, kin, t)), RANK_TOLERANCE, rank)


@dataclass(frozen=True)
class Projected:
    """A state on the constraints.

    Attributes
    ----------
    state : State
    pseudo_inverse : PseudoInverse of the rows over (v, omega) at that state
    rank : int
        How many rows are certainly independent: singular values as small as the distance from the
        constraints at which they were computed do not tell.
    correction : float
        How far off the poses were found, in rad or lengths of the system.
    """

    state: State
    pseudo_inverse: PseudoInverse
    rank: int
    correction: float


def project(model: Model, metric: MassMetric, state: State, t: float, rank: int | None = None) -> Projected | None:
    """Return the nearest state on the constraints, or None if `state` is too far from them.

    Parameters
    ----------
    rank : int, optional
        How many rows are known to be independent on the constraints; see `constrained_motion`.
    """
    kin = Kinematics.of(state)
    pseudo_inverse = factorise(model, metric, kin, t, rank)
    distance = previous = np.inf
    correction = None
    small = SMALL_CORRECTION + ROUND_OFF_ULPS * np.spacing(np.abs(state.position).max()) / model.length
    for _ in range(MAX_CORRECTIONS):
        translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, t, 0)[:, 0]))
        size = max(np.abs(turn).max(), np.abs(translation).max() / model.length)
        if not size < max(previous, small):  # also when it is not a number
            return None
        correction = size if correction is None else correction
        previous, distance = size, min(distance, size)
        state = displaced(state, translation, turn)
        kin = Kinematics.of(state)
        if size > SAME_ROWS:
            pseudo_inverse = factorise(model, metric, kin, t, rank)
            distance = np.inf
        if size < small:
            state = with_projected_velocity(model, metric, state, kin, t, pseudo_inverse)
            return Projected(state, pseudo_inverse, pseudo_inverse.rank(max(RANK_TOLERANCE, distance)), correction)
    return None


def independent_rows(model: Model, metric: MassMetric, state: State, t: float) -> int | None:
    """How many rows are independent where the constraints hold, next to a state that may violate them a little.

    None if the state is far from them: then its rows stand for themselves.
    """
    if model.rows == 0:
        return None
    projected = project(model, metric, state, t)
    if projected is None or np.abs(projected.state.position - state.position).max() > NEAR * model.length:
        return None
    return factorise(model, metric, Kinematics.of(projected.state), t).rank(RANK_TOLERANCE)


def with_projected_velocity(
    model: Model, metric: MassMetric, state: State, kin: Kinematics, t: float, pseudo_inverse: PseudoInverse
) -> State:
    """Return the state with the nearest velocities for which Phi_dot = 0.

    The rows may be those of a pose nearby, so that a second correction removes what the first one leaves.
    """
    for _ in range(2):
        translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, t, 1)[:, 1]))
        state = State(state.position, state.orientation, state.velocity + translation, state.angular_velocity + turn)
        kin = Kinematics.of(state)
    return state
