"""Projection onto the constraints: nearest poses and velocities in the mass metric.

Positions are corrected by Gauss-Newton steps delta = -W (A W)^+ Phi, with the constraint rows A, their residuals Phi,
and the factor W of the inverse mass matrix W W^T. Velocities are corrected by the same formula with the rate of Phi,
which is linear in them. After an integration step the residuals are small, so one factorization serves both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics, State

from ..model.metric import Metric
from ..model.model import Model
from .rows import residuals, tangent_rows
from .udwadia_kalaba import ROUND_OFF, PseudoInverse

# Last correction of a position, relative to the length of the system: Gauss-Newton converges quadratically, so the
# residual after it is round-off.
SMALL_CORRECTION = 1e-8

# Largest correction, relative to the length of the system, that changes the rows too little for a new factorization.
SAME_ROWS = 1e-5

# Corrections of positions below this number of units in the last place of the largest position are round-off.
ROUND_OFF_ULPS = 8

MAX_CORRECTIONS = 12


def displaced(state: State, translation: np.ndarray, turn: np.ndarray) -> State:
    """Return the state with displaced bodies.

    Parameters
    ----------
    translation : (n, 3) displacement of the centers of mass of n bodies, m, inertial frame
    turn : (n, 3) rotation vector, rad, body axes
    """
    turned = rotation.multiply(state.orientation, rotation.exp(turn))
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    return State(state.position + translation, turned, state.velocity, state.angular_velocity, bodies=state.bodies)


def factorise(
    model: Model,
    metric: Metric,
    kin: Kinematics,
    t: float,
    independent: np.ndarray | None = None,
    least: float = ROUND_OFF,
    limit: int | None = None,
) -> PseudoInverse:
    """Return the pseudo-inverse of the constraint rows over (v, omega) in the metric `metric`.

    `independent` (m,) is a mask of the rows to use, by default all; singular values up to the fraction `least` of the
    largest count as zero, and at most `limit` are used. t is the time, s.
    """
    return PseudoInverse.of(metric.rows(tangent_rows(model, kin, t)), independent, least, limit)


@dataclass(frozen=True)
class Projected:
    """A state that satisfies the constraints.

    Attributes
    ----------
    state : State
    pseudo_inverse : PseudoInverse of the rows over (v, omega) at this state
    correction : float
        Magnitude of the first correction of the poses, in rad or relative to the characteristic length of the system.
    """

    state: State
    pseudo_inverse: PseudoInverse
    correction: float


def project(
    model: Model,
    metric: Metric,
    state: State,
    t: float,
    independent: np.ndarray | None = None,
    least: float = ROUND_OFF,
) -> Projected | None:
    """Return the nearest state that satisfies the constraints, or None if `state` is too far from them.

    Parameters
    ----------
    independent : (m,) bool, optional
        Mask of the independent rows among the m rows; see `constrained_motion`.
    least : see `PseudoInverse.of`
    """
    kin = Kinematics.of(state)
    pseudo_inverse = factorise(model, metric, kin, t, independent, least)
    previous = np.inf
    correction = None
    small = SMALL_CORRECTION + ROUND_OFF_ULPS * np.spacing(np.abs(state.position).max()) / model.length
    for _ in range(MAX_CORRECTIONS):
        translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, t, 0)[:, 0]))
        size = max(np.abs(turn).max(), np.abs(translation).max() / model.length)
        if not size < max(previous, small):  # also if size is nan
            return None
        correction = size if correction is None else correction
        previous = size
        state = displaced(state, translation, turn)
        kin = Kinematics.of(state)
        if size > SAME_ROWS:
            pseudo_inverse = factorise(model, metric, kin, t, independent, least)
        if size < small:
            state = with_projected_velocity(model, metric, state, kin, t, pseudo_inverse)
            return Projected(state, pseudo_inverse, correction)
    return None


def with_projected_velocity(
    model: Model, metric: Metric, state: State, kin: Kinematics, t: float, pseudo_inverse: PseudoInverse
) -> State:
    """Return the state with the nearest velocities that satisfy Phi_dot = 0.

    The pseudo-inverse may be that of a nearby pose, so a second correction removes the remaining residual.
    """
    for _ in range(2):
        translation, turn = metric.vector(pseudo_inverse.solve(-residuals(model, kin, t, 1)[:, 1]))
        velocity, angular_velocity = state.velocity + translation, state.angular_velocity + turn
        state = State(state.position, state.orientation, velocity, angular_velocity, bodies=state.bodies)
        kin = Kinematics.of(state)
    return state
