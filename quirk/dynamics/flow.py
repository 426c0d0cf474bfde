"""A system as an integrator sees it: y' = f(t, y) over flat states, and the projection of y."""

from __future__ import annotations

import numpy as np

from quirk import rotation
from quirk.errors import InputError
from quirk.state import Kinematics, State

from .equations import angular_acceleration, motion
from .model import Model
from .projection import MassMetric, Projected, displaced, factorise, project
from .turns import angles_by_name
from .udwadia_kalaba import RANK_TOLERANCE

# To find the rank that holds almost everywhere, bodies are moved at random by this part of the size of the
# system and brought back onto the constraints.
NEARBY = 1e-2
NEARBY_STATES = 3


class Flow:
    """The vector field of a system and the manifold on which it lives.

    Attributes
    ----------
    rank : int
        The largest number of independent rows met on the constraints so far. Stages of a step are off the
        constraints by more than a redundant row is from being dependent, so they cannot tell.
    evaluations : int
    trouble : Exception or None
        Why the last evaluation failed, such as the error of a user's function.
    """

    def __init__(
        self,
        model: Model,
        metric: MassMetric,
        start: State,
        t: float,
        *,
        on_constraints: bool,
        baumgarte: tuple[float, float],
        largest_correction: float = np.inf,
    ) -> None:
        self.model, self.metric = model, metric
        self.on_constraints, self.baumgarte = on_constraints and model.rows > 0, baumgarte
        self.rank = generic_rank(model, metric, start, t)
        self.evaluations = 0
        self.largest_correction = largest_correction
        self.trouble: Exception | None = None
        self._projected: Projected | None = None
        self.refer(t, *np.zeros((2, len(model.joints.ends), 3)))

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray) -> None:
        """Let the angles (K, 3) of joints go on from these, at time t, at rates (K, 3)."""
        self._reference = t, angles, rates

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n,), not a number where it cannot be computed; `trouble` then tells why."""
        self.evaluations += 1
        if np.isfinite(y).all():
            try:
                rate = self.derivative(t, y)
                self.trouble = None
                return rate
            except (InputError, np.linalg.LinAlgError) as error:
                self.trouble = error
        return np.full_like(y, np.nan)

    def derivative(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n,), or raise what went wrong."""
        state = State.unpack(y)
        if self.model.reads_angles:
            since, angles, rates = self._reference
            state.angles = angles_by_name(self.model.joints, angles + (t - since) * rates)
        kin = Kinematics.of(state)
        solution = motion(self.model, t, kin, self.baumgarte, self.rank)
        return State(
            state.velocity,
            rotation.rate(state.orientation, state.angular_velocity),
            solution.acceleration[:, :3],
            angular_acceleration(solution, kin),
        ).pack()

    def project(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Return y with unit quaternions and, if asked for, on the constraints; None if it is too far from them."""
        state = State.unpack(y).copy()
        state.orientation /= np.linalg.norm(state.orientation, axis=1, keepdims=True)
        if self.on_constraints:
            try:
                self._projected = project(self.model, self.metric, state, t, self.rank)
            except np.linalg.LinAlgError:
                self._projected = None
            if self._projected is None or self._projected.correction > self.largest_correction:
                return None
            state = self._projected.state
            self.rank = max(self.rank, self._projected.rank)
        return state.pack()

    def tangential(self, error: np.ndarray) -> np.ndarray:
        """Return the part of an error (13 n,) of the y last projected that lies along the constraints.

        What lies across them has no effect: projection removes it.
        """
        if self._projected is None:
            return error
        e, q = State.unpack(error), self._projected.state.orientation
        turn = 2 * rotation.multiply(rotation.conjugate(q), e.orientation)[:, 1:]
        position, turn = self._along(e.position, turn)
        velocity, omega = self._along(e.velocity, e.angular_velocity)
        return State(position, rotation.rate(q, turn), velocity, omega).pack()

    def _along(self, translation: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self._projected is not None
        Vt = self._projected.pseudo_inverse.Vt
        z = self.metric.coordinates(translation, turn)
        return self.metric.vector(z - Vt.T @ (Vt @ z))


def generic_rank(model: Model, metric: MassMetric, state: State, t: float) -> int:
    """Rank of the rows at `state` or, where that is singular, at nearby states on the constraints."""
    if not model.rows:
        return 0
    near = [state]
    random = np.random.default_rng(0)
    shape = state.position.shape
    for _ in range(NEARBY_STATES):
        moved = displaced(state, NEARBY * model.length * random.normal(size=shape), NEARBY * random.normal(size=shape))
        projected = project(model, metric, moved, t)
        if projected is not None:
            near.append(projected.state)
    return max(factorise(model, metric, Kinematics.of(x), t).rank(RANK_TOLERANCE) for x in near)
