"""Interpolation of states between the output times of a segment.

`place` are p points in time between outputs. A row is the index of an output. In shapes, n is the number of bodies, k
the number of auxiliary states, and r the number of outputs used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..bodies import rotation
from ..bodies.state import STATE_SIZE, State
from ..dynamics.model.joint_angles import Turns
from ..dynamics.sparse.solver.along_states import dynamics_along, residuals_along
from ..dynamics.sparse.solver.derivatives import HIGHEST_ORDER, Differentiator, highest_order, require_order
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.solver.taylor_series import may_jump
from ..errors import InputError
from ..integrators.breaks import APART_ULPS
from .hermite import hermite_interpolants
from .segment import Segment

# Residual of the constraints, relative to the system's size, up to which states count as satisfying them.
ON_CONSTRAINTS = 1e-8


@dataclass(frozen=True)
class Abscissa:
    """Location of p points between the outputs of a segment.

    Attributes
    ----------
    interval : (p,) index of the output before each point
    x : (p,) fraction of the interval to the next output, 0 to 1
    """

    interval: np.ndarray
    x: np.ndarray


def solver_for(segment: Segment) -> Solver:
    """Return a new solver for motion between the outputs of a segment.

    If the quantities of the segment were recorded during the run, user functions are not evaluated by this solver, so
    that no warning about changed functions is issued.
    """
    return segment.plant.solver() if segment.recorded else segment.solver()


def satisfies_constraints(segment: Segment, solver: Solver, rows: np.ndarray) -> bool:
    """Whether states near the outputs with indices `rows` (r,) can be projected onto the constraints.

    The states at outputs must satisfy the constraints, and must not have been recorded during the run, because user
    functions of the constraints may have changed since. `solver` is a solver of the segment.
    """
    if segment.recorded:
        return False
    state = segment.model.auxiliary.state(segment.flat[rows])
    found = residuals_along(solver, segment.time[rows], state)[..., 0]
    return bool(np.abs(found).max(initial=0.0) <= ON_CONSTRAINTS * max(1.0, segment.model.length) ** 2)


class Interpolant:
    """Interpolation of the states of a segment in selected intervals between outputs.

    Positions and quaternions are Hermite polynomials that match all available derivatives at both ends of an interval;
    with derivatives up to snap the degree is 9. Where accelerations may jump at outputs, as with inputs that are held
    between them, derivatives are evaluated within the interval, immediately beside its ends. The interpolated states
    are projected onto the constraints. Auxiliary states are integrated along the motion.

    Parameters
    ----------
    segment : segment of the result
    intervals : (k,)
        Index of the output at the start of each interval.
    order : highest time derivative of velocities to be used, if available: 1 for accelerations, 3 for snap
    """

    def __init__(self, segment: Segment, intervals: np.ndarray, order: int = HIGHEST_ORDER) -> None:
        self.segment, self.solver, self._order = segment, solver_for(segment), order
        self._rows = np.unique([intervals, intervals + 1])
        self._time, self._flat = segment.time[self._rows], segment.flat[self._rows]
        angles = segment.angles_read
        self._angles = None if angles is None else angles[self._rows]
        self._jumps = may_jump(segment.model) and not segment.recorded
        self._position, self._quaternion = self._pose_derivatives(self._beside(1.0))
        self._arriving = (
            self._pose_derivatives(self._beside(-1.0)) if self._jumps else (self._position, self._quaternion)
        )
        self._on_constraints = satisfies_constraints(segment, self.solver, self._rows)
        lanes = self.solver.slots.state_to_lanes(self._flat[0])
        with self.solver.applied.calling():
            self.solver.settle(lanes, float(self._time[0]))
        self.solver.applied.check(float(self._time[0]))

    def time(self, place: Abscissa) -> np.ndarray:
        """Return the times (p,) of the p points `place`, s; points at ends of intervals count as within them."""
        before, after = self._ends(place, self._beside(1.0), self._beside(-1.0))
        return before + place.x * (after - before)

    def _beside(self, side: float) -> np.ndarray:
        """Return the times of the outputs (r,), s, or times immediately beside them if accelerations may jump.

        `side` is 1 for times after the outputs and -1 for times before them.
        """
        if not self._jumps:
            return self._time
        # Motions may be undefined outside.
        beside = self._time + side * APART_ULPS * np.spacing(np.abs(self._time))
        return np.clip(beside, self._time[0], self._time[-1])

    def uncertainty(self, place: Abscissa) -> np.ndarray:
        """Return the estimated interpolation error (p,) at the p points `place`, m.

        Errors of rotations are multiplied by the characteristic length. The estimate is the difference from polynomials
        that match one derivative less at both ends of each interval.
        """
        h, terms = self.lengths(place), self._position.shape[1] - 1
        apart = np.zeros(len(h))
        sizes = 1.0, 2 * self.segment.model.length
        for (before, after), size in zip(self._pose_ends(place), sizes, strict=True):
            values, _ = hermite_interpolants(before, after, place.x, h)
            coarser, _ = hermite_interpolants(before[:, :terms], after[:, :terms], place.x, h)
            apart = np.maximum(apart, size * np.abs(values - coarser).max(axis=(1, 2), initial=0.0))
        return apart

    def _pose_ends(self, place: Abscissa) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return positions and quaternions of n bodies, with their first K time derivatives, at both ends of intervals.

        `place` are p points in the intervals. The list has the positions at the starts and at the ends, each
        (p, K + 1, n, 3), followed by the quaternions, each (p, K + 1, n, 4).
        """
        leaving = self._position, self._quaternion
        return [self._ends(place, start, end) for start, end in zip(leaving, self._arriving, strict=True)]

    def states(self, place: Abscissa, *, coarser: bool = False) -> np.ndarray:
        """Return state vectors (p, 13 n + k) at the p points `place`.

        Auxiliary states are not interpolated; they are the auxiliary states of the output before each point. With
        `coarser`, the polynomials match one derivative less at both ends of each interval.
        """
        terms = self._position.shape[1] - coarser
        h = self.lengths(place)
        (r, v), (q, q_dot) = (
            hermite_interpolants(start[:, :terms], end[:, :terms], place.x, h) for start, end in self._pose_ends(place)
        )
        norm = np.linalg.norm(q, axis=-1, keepdims=True)
        q, q_dot = q / norm, q_dot / norm
        omega = 2 * rotation.multiply(rotation.conjugate(q), q_dot)[..., 1:]
        flat = self._flat[self._index(place)].copy()
        flat[:, : STATE_SIZE * r.shape[1]] = np.concatenate([r, q, v, omega], axis=2).reshape(len(h), -1)
        return self._projected(self.time(place), flat)

    def quadrants(self, place: Abscissa, flat: np.ndarray) -> np.ndarray:
        """Return the counted quarter turns (p, K, 2) of the two polar angles of K joints at the p points `place`.

        `flat` (p, 13 n + k) are the state vectors at the points. Turns are counted such that the angles are nearest to
        those interpolated between the outputs before and after each point.
        """
        joints, turns = self.segment.turns.joints, self.segment.turns
        first = np.array([joints.first_quadrants(state.orientation) for state in self._states(flat)])
        if not len(joints.ends):
            return turns.quadrants[self._rows[self._index(place)]]
        half, rate = self._half_angles()
        half_and_rate = np.stack([half, rate], axis=1)
        near, _ = hermite_interpolants(*self._ends(place, half_and_rate), place.x, self.lengths(place))
        # A quadrant is a quarter turn, with its nominal angle in the middle.
        return first + 4 * np.round((near / (0.5 * np.pi) - 0.5 - first) / 4).astype(first.dtype)

    def angles(self, place: Abscissa, flat: np.ndarray) -> np.ndarray:
        """Return 1-2-3 angles (p, K, 3) of K joints, rad, at the p points `place`, with all turns counted.

        `flat` (p, 13 n + k) are the state vectors at the points.
        """
        turns = self.segment.turns
        found = Turns(turns.joints, self.quadrants(place, flat), turns.whole)
        return found.angles(self.segment.model.auxiliary.state(flat).orientation)

    def _half_angles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the two polar angles of K joints, (r, K, 2), rad, at r outputs, and their rates, rad/s.

        The first and the third 1-2-3 angle of a joint are the sum and the difference of its two polar angles. All turns
        are counted.
        """
        joints, quadrants = self.segment.turns.joints, self.segment.turns.quadrants[self._rows]
        vectors = joints.plane_vectors(self.segment.model.auxiliary.state(self._flat).orientation)
        half = joints.half_angles(vectors, quadrants)
        rates = np.array([joints.half_rates(state) for state in self._states(self._flat)])
        return half, rates

    def _states(self, flat: np.ndarray) -> list[State]:
        return [self.segment.model.auxiliary.state(y) for y in flat]

    def _index(self, place: Abscissa) -> np.ndarray:
        """Return the indices (p,) of the outputs of the interpolant that precede the p points of `place`."""
        return np.searchsorted(self._rows, place.interval)

    def lengths(self, place: Abscissa) -> np.ndarray:
        """Return the durations (p,), s, of the output intervals that contain the p points `place`."""
        before, after = self._ends(place, self._time)
        return after - before

    def _ends(
        self, place: Abscissa, values: np.ndarray, arriving: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values at the start and the end of the output interval that contains each of p points, (p, ...).

        `place` are the points, `values` are given at each output of the interpolant, and `arriving` are the values
        at the ends of intervals, if they differ.
        """
        index = self._index(place)
        return values[index], (values if arriving is None else arriving)[index + 1]

    def _pose_derivatives(self, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions and quaternions of n bodies at r outputs, with their first K time derivatives.

        `time` (r,) are the times of evaluation, s. The shapes are (r, K + 1, n, 3) and (r, K + 1, n, 4). The second
        index is the order of the derivative; K is as large as possible.
        """
        linear, angular = self._derivatives(time)
        state = self.segment.model.auxiliary.state(self._flat)
        omega = np.concatenate([state.angular_velocity[:, None], angular], axis=1)
        r = np.concatenate([state.position[:, None], state.velocity[:, None], linear], axis=1)
        q = [state.orientation]
        for k in range(omega.shape[1]):
            binomials = np.cumprod([1.0, *((k - m) / (m + 1) for m in range(k))])
            q.append(sum(binomials[m] * rotation.rate(q[m], omega[:, k - m]) for m in range(k + 1)))
        return r, np.stack(q, axis=1)

    def _derivatives(self, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return K time derivatives of the velocities and angular velocities of bodies at r outputs, (r, K, n, 3) each.

        `time` (r,) are the times of evaluation, s. K is 1 for accelerations, or 3 if jerk and snap are also available.
        """
        model, known = self.segment.model, vars(self.segment).get("derivatives")
        if self.segment.recorded:
            motion = self.segment.dynamics
            return motion.linear[self._rows, None], motion.angular[self._rows, None]
        order = min(self._order, highest_order(model))
        try:
            require_order(model, 2)
        except InputError:
            order = 1
        if known is not None and order > 1 and not self._jumps:
            return known.linear[self._rows, :order], known.angular[self._rows, :order]
        if order > 1:
            found = Differentiator(self.solver, order).along(time, self._flat, self._angles)
            return found.linear, found.angular
        rows = {int(row): place for place, row in enumerate(self._rows)}
        ends = {rows[row]: last for row, last in self.segment.ends_of_slip.items() if row in rows}
        motion = dynamics_along(self.solver, time, self._flat, self._angles, ends)
        return motion.linear[:, None], motion.angular[:, None]

    def _projected(self, time: np.ndarray, flat: np.ndarray) -> np.ndarray:
        slots, found = self.solver.slots, np.empty_like(flat)
        with self.solver.applied.calling():
            for row, (t, y) in enumerate(zip(time, flat, strict=True)):
                lanes = slots.state_to_lanes(y)
                if not self.solver.project(lanes, float(t), self._on_constraints):
                    self.solver.applied.check(float(t))
                    raise InputError(
                        f"Result.at: no state that satisfies the constraints is found near t = {t:g} s: the outputs "
                        "around it are too far apart; use more outputs"
                    )
                found[row] = slots.state_from_lanes(lanes)
                found[row, STATE_SIZE * slots.bodies :] = y[STATE_SIZE * slots.bodies :]
        return found
