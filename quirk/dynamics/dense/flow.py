"""Right-hand side f of y' = f(t, y), and projection of y onto the constraints, by the dense reference solver.

A flat state y (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states. There are m
constraint rows. The pivot of a row is its squared distance from the span of the rows before it, in the order of
elimination.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics, State
from quirk.errors import InputError
from quirk.jit.keyboard_interrupt import handle_pending

from ..model.applied_loads import Exerted, exerted
from ..model.auxiliary_states import rates
from ..model.constrained_motion import ConstrainedMotion, angular_acceleration
from ..model.joint_angles import angles_by_name
from ..model.metric import Metric
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .friction import with_friction
from .projection import Projected, factorise, project
from .rows import ConstraintRows, constraint_rows
from .udwadia_kalaba import ROUND_OFF, constrained_motion
from .work_error import WorkingLoads

# Independent rows are selected again when the ratio of smallest to largest singular value has fallen by this factor.
WORSE = 0.1


class RowSelector(Protocol):
    """Protocol of objects that select independent rows, as implemented by the compiled solver."""

    @property
    def independent(self) -> np.ndarray:
        """Mask (m,) of the rows selected as independent."""

    def settle_state(self, state: State, t: float) -> int:
        """Select the rows that are independent at almost all states near `state`, and return their number.

        t is the time, s.
        """

    def choose_state(self, state: State, t: float) -> None:
        """Select the same number of independent rows at another state on the constraints; t is the time, s."""


class Flow:
    """Right-hand side f of y' = f(t, y) of a system with constraints.

    Attributes
    ----------
    rank : int
        Number of rows that are independent at almost all states. Inner stages of a step violate the constraints
        slightly, so that redundant rows appear independent; they use the rows selected at a state on the constraints.
    evaluations : int
        Number of evaluations of the right-hand side.
    trouble : Exception or None
        Cause of the failure of the last evaluation, such as an error in a user function.
    working_loads : WorkingLoads
        Sums over the loads that do work, at the state of the last evaluation.
    """

    def __init__(
        self,
        model: Model,
        metric: Metric,
        selector: RowSelector,
        start: State,
        t: float,
        *,
        on_constraints: bool,
        baumgarte: tuple[float, float],
        largest_correction: float = np.inf,
    ) -> None:
        self.model, self.metric = model, metric
        self.on_constraints, self.baumgarte = on_constraints and model.rows > 0, baumgarte
        self.selector, self.rank = selector, selector.settle_state(start, t)
        # Ratio of smallest to largest singular value at selection; rows count as dependent relative to it.
        self._chosen = self._least(start, t)
        self.evaluations = 0
        self.largest_correction = largest_correction
        self.trouble: Exception | None = None
        self.working_loads = WorkingLoads()
        inertia = np.trace(np.linalg.inv(model.inertia), axis1=1, axis2=2)
        # The ground, in the last row, has zero inverse mass.
        self._roots = np.sqrt(np.append(np.stack([1 / model.mass, inertia], axis=1), np.zeros((1, 2)), axis=0))
        self._projected: Projected | None = None
        self.refer(t, *np.zeros((2, len(model.joints.ends), 3)))

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray) -> None:
        """Set the reference from which the number of full turns of joint angles is determined.

        The reference consists of the angles (K, 3), rad, of K joints and their rates (K, 3), rad/s, at time t (s).
        """
        self._reference = t, angles, rates

    def angles(self, t: float) -> dict[str, np.ndarray]:
        """Return estimates of the joint angles (3,), rad, at time t (s), by name of the joint.

        They are extrapolated linearly from the reference set by `refer`.
        """
        since, angles, rates = self._reference
        return angles_by_name(self.model.joints, angles + (t - since) * rates)

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n + k,) at time t (s) and state y, or NaN if the evaluation fails.

        `trouble` then holds the cause of the failure.
        """
        self.evaluations += 1
        handle_pending()
        if np.isfinite(y).all():
            try:
                rate = self.derivative(t, y)
                self.trouble = None
                return rate
            except (InputError, np.linalg.LinAlgError) as error:
                self.trouble = error
        return np.full_like(y, np.nan)

    def derivative(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n + k,) at time t (s) and state y, or raise the exception that caused the failure."""
        state = self.model.auxiliary.state(y)
        if self.model.reads_angles:
            state.angles = self.angles(t)
        kin = Kinematics.of(state)
        moving = PoseDerivatives.of(kin, 1)
        forces = self.model.forces
        acts = [exerted(element, rows, moving, t, 0, kin.angles, kin.internal) for element, rows in forces]
        rows = constraint_rows(self.model, kin, t)

        def solve(force: np.ndarray, torque: np.ndarray) -> ConstrainedMotion:
            kept, least = self.selector.independent, self._floor
            return constrained_motion(self.model, kin, t, rows, force, torque, self.baumgarte, kept, least)

        acts, solution = with_friction(self.model, t, kin, acts, solve)
        rate = State(
            state.velocity,
            rotation.rate(state.orientation, state.angular_velocity),
            solution.acceleration[:, :3],
            angular_acceleration(solution, kin),
        ).pack()
        return np.append(rate, self._carried_rates(kin, acts, rows, solution.multipliers))

    def _carried_rates(
        self, kin: Kinematics, acts: list[Exerted], rows: ConstraintRows, multipliers: np.ndarray
    ) -> np.ndarray:
        """Return the rates (k,) of the auxiliary states: of internal variables and of work.

        `acts` are the loads of the force elements, and `multipliers` (m,) the multipliers of the constraint rows.
        """
        model, auxiliary = self.model, self.model.auxiliary
        moves = np.concatenate([kin.velocity, kin.spin], axis=1)
        internal, power = {}, {}
        for (element, bodies), evaluated in zip(model.forces, acts, strict=True):
            internal[element.name] = evaluated.rates[:, 0]
            power[element.name] = float((evaluated.loads[:, 0] * moves[list(bodies)]).sum())
        loads = WorkingLoads()
        for (element, bodies), evaluated in zip(model.forces, acts, strict=True):
            loads = loads.with_force(evaluated.loads[:, 0], self._roots[list(bodies)], element.name in auxiliary.work)
        driven = [name for name in auxiliary.work if name in model.joint_rows]
        if driven:
            turning = rotation.rate(kin.orientation[:-1], kin.angular_velocity[:-1])
            velocity = np.concatenate([kin.velocity[:-1], turning], axis=1)
            by_row = multipliers * (rows.A.reshape(model.rows, -1) @ velocity.ravel())
            power.update((name, float(by_row[model.joint_rows[name]].sum())) for name in driven)
            works = np.isin(np.arange(model.rows), np.concatenate([np.r_[model.joint_rows[name]] for name in driven]))
            loads = loads.with_rows(multipliers, by_row, self._lengths(rows), works, self._least_pivot)
        self.working_loads = loads
        return rates(auxiliary, internal, power)

    def project(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Return the state y with unit quaternions and, if the run uses projection, projected onto the constraints.

        The result is None if y is too far from the constraints.
        """
        state = self.model.auxiliary.state(y).copy()
        state.orientation /= np.linalg.norm(state.orientation, axis=1, keepdims=True)
        if self.on_constraints:
            try:
                self._projected = project(self.model, self.metric, state, t, self.selector.independent, self._floor)
            except (InputError, np.linalg.LinAlgError) as error:
                self._projected, self.trouble = None, error
            if self._projected is None or self._projected.correction > self.largest_correction:
                return None
            state = self._projected.state
            s = self._projected.pseudo_inverse.s
            if self.rank < self.model.rows and s.size and s[-1] < WORSE * self._chosen * s[0]:
                self.selector.choose_state(state, t)
                self._chosen = self._least(state, t)
        return np.append(state.pack(), self.model.auxiliary.numbers(y))

    def tangential(self, error: np.ndarray) -> np.ndarray:
        """Return the component, tangential to the constraints, of an error (13 n + k,) of the last projected state.

        The normal component is irrelevant, because projection removes it. Constraints of velocities, such as rolling,
        do not restrict poses.
        """
        if self._projected is None:
            return error
        e, q = self.model.auxiliary.state(error), self._projected.state.orientation
        turn = 2 * rotation.multiply(rotation.conjugate(q), e.orientation)[:, 1:]
        position, turn = self._along(e.position, turn, ~self.model.row_of_velocities)
        velocity, omega = self._along(e.velocity, e.angular_velocity, np.ones(self.model.rows, dtype=bool))
        along = State(position, rotation.rate(q, turn), velocity, omega).pack()
        return np.append(along, self.model.auxiliary.numbers(error))

    def _along(self, translation: np.ndarray, turn: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what projection leaves of a variation that only the rows in the mask `rows` (m,) restrict."""
        assert self._projected is not None
        inverse = self._projected.pseudo_inverse
        z = self.metric.coordinates(translation, turn)
        # The components U^T D A z of the residuals of all rows are s Vt z.
        across = inverse.U.T @ np.where(rows, inverse.U @ (inverse.s * (inverse.Vt @ z)), 0.0)
        return self.metric.vector(z - inverse.Vt.T @ (across / inverse.s))

    @property
    def _floor(self) -> float:
        return max(ROUND_OFF, self.model.rank_tolerance * self._chosen)

    def _lengths(self, rows: ConstraintRows) -> np.ndarray:
        """Return approximate norms (m,) of the constraint rows in the mass metric."""
        A = rows.A.reshape(self.model.rows, -1, 7)
        scaled = np.concatenate([A[..., :3] * self._roots[:-1, :1], 0.5 * A[..., 3:] * self._roots[:-1, 1:]], axis=2)
        return np.asarray(np.linalg.norm(scaled.reshape(len(A), -1), axis=1))

    @property
    def _least_pivot(self) -> float:
        """Smallest ratio of the pivot of a row to its squared norm, approximately, at the last projection."""
        s = np.ones(1) if self._projected is None else self._projected.pseudo_inverse.s
        return float(s[-1] / s[0]) ** 2 if s.size else 1.0

    def _least(self, state: State, t: float) -> float:
        """Return the smallest singular value of the selected rows at a state, divided by the largest.

        t is the time, s.
        """
        if not self.model.rows:
            return 1.0
        s = factorise(self.model, self.metric, Kinematics.of(state), t, self.selector.independent).s
        return float(s[-1] / s[0]) if s.size else 1.0
