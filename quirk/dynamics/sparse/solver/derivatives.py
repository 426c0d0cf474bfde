"""Accelerations, jerk, snap and load rates by the compiled solver, at given states or along a driven motion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from quirk.bodies.rotation import IDENTITY
from quirk.dynamics.model.applied_loads import applied_derivative
from quirk.dynamics.model.joint_angles import angles_by_name
from quirk.dynamics.model.layout import FORCE, KINEMATICS_SIZE, POSITION_TERM, ROTATION, SPIN
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.time_derivatives import PoseDerivatives, factorials
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.jit.entry_length import EntryLength
from quirk.jit.function_pointers import address_of, pointer_to_python
from quirk.jit.simd import WIDTH, aligned

from ..codegen.relation_functions import Related
from ..symbolic.tables import UNIT_ROWS
from ..symbolic.tables_of_relations import flat_relations
from ..taylor.low_order_along import (
    AGAIN,
    ARRIVED,
    INTERRUPTED,
    STOPPED,
    TOO_MANY,
    PathClock,
    PathCounts,
    SeriesPath,
    follow,
)
from ..taylor.low_order_rows import TERMS, LowOrderSeries
from .joint_loads import JointLoads
from .solver import Solver

# Highest order of the derivatives of velocities: 1 acceleration, 2 jerk, 3 snap.
HIGHEST_ORDER = 3

# Maximum number of steps from one output time to the next. This number of steps takes minutes.
MOST_STEPS = 200_000


def highest_order(model: Model) -> int:
    """Return the highest available order of velocity derivatives: 1 for accelerations, up to HIGHEST_ORDER.

    The order is limited by the derivatives that the relations of the model provide.
    """
    order = 1
    while order < HIGHEST_ORDER and not any(placed.relation.missing(order + 2) for placed in model.relations):
        order += 1
    return order


def require_order(model: Model, order: int) -> None:
    """Raise an InputError if a constraint or force of the model has no velocity derivatives of the given order."""
    what = {2: "jerk or load rate", 3: "snap"}.get(order, f"derivative of order {order} of velocities")
    for element, _ in model.forces:
        if isinstance(element, Friction):
            raise InputError(f"{element}: no {what} while it slides, as its load is not differentiated")
    for placed in model.relations:
        missing = placed.relation.missing(order + 1)
        if missing is not None:
            name = model.owner(placed.rows.start)
            owner = next(constraint for constraint, _ in model.joint_bodies if constraint.name == name)
            raise InputError(f"{owner}: {missing[0]}, so there is no {what}: {missing[1]}")


@dataclass(frozen=True)
class VelocityDerivatives:
    """Time derivatives of velocities of n bodies at nt times, up to order K: 1 for accelerations, 2 for jerk.

    Attributes
    ----------
    states : (nt, 13 n) states of the bodies
    quadrants : (nt, 2 J) quadrants of the angles of J joints, counted along tracked states
    linear : (nt, K, n, 3) accelerations of the centers of mass and their derivatives, inertial frame
    angular : (nt, K, n, 3) derivatives of the components of angular velocities in body axes
    steps, corrections, factorisations : in tracking, the numbers of time steps, of projection iterations and of
        factorizations
    """

    states: np.ndarray
    quadrants: np.ndarray
    linear: np.ndarray
    angular: np.ndarray
    steps: int
    corrections: int
    factorisations: int


@dataclass(frozen=True)
class Loads:
    """Multipliers and joint loads with time derivatives, at nt times.

    Attributes
    ----------
    multipliers : (nt, K, m) multipliers of m rows and their derivatives, up to order K - 1
    force, torque : (nt, K, j, 3) loads of j joints and their derivatives, inertial frame
    """

    multipliers: np.ndarray
    force: np.ndarray
    torque: np.ndarray


class UnreachedError(Exception):
    """Error raised if the motion prescribed by drivers cannot be tracked up to the last time.

    Attributes
    ----------
    reason : return code STUCK, SINGULAR, INTERRUPTED or TOO_MANY of `low_order_along`
    row : index of the first output time that was not reached
    time : last time reached, s
    attempts : number of time steps tried since the last output time that was reached
    state : (13 n,) state at `time`, for n bodies
    states, quadrants : (row, 13 n) states and (row, 2 J) quadrants of the angles of J joints, at the output times
        reached
    cause : last exception of a user function, or None
    """

    def __init__(
        self,
        reason: int,
        path: SeriesPath,
        state: np.ndarray,
        states: np.ndarray,
        quadrants: np.ndarray,
        cause: BaseException | None,
    ) -> None:
        self.reason, self.row, self.attempts = reason, int(path.counts.row), int(path.counts.attempts)
        self.time, self.state, self.states = float(path.clock.reached), state, states
        self.quadrants, self.cause = quadrants, cause
        super().__init__(f"at t = {self.time:.9g} s")


class Differentiator:
    """Evaluator of the time derivatives of a model's velocities up to order `order`: 1 for accelerations, 2 for jerk.

    The solver must not be used by another object at the same time.
    """

    def __init__(self, solver: Solver, order: int) -> None:
        self.solver, self.order = solver, order
        model, tables, slots = solver.model, solver.tables, solver.slots
        first_side = tables.units + UNIT_ROWS.size
        relations = flat_relations(model, slots, first_side, order + 1, order - 1)
        self.related = Related(
            model, relations, solver.applied.watched, order + 1, order - 1, resting=False, refuse=solver.refuse
        )
        self._pointer = pointer_to_python(solver.applied.watched(self._apply_loads))
        self.series = LowOrderSeries(
            bodies=aligned((order + 2) * slots.lanes * KINEMATICS_SIZE),
            rows=aligned(order * len(solver.work.G)),
            multipliers=aligned(order * len(solver.work.x)),
            terms=aligned((order + 2) * TERMS),
            relations=self.related.table,
            address=np.array([address_of(self._pointer) if model.forces else 0]),
            requested_order=np.zeros(1, dtype=np.int64),
            order=order,
        )
        self._present = aligned(solver.size)
        self._angles: dict[str, np.ndarray] = {}

    def along(
        self,
        times: np.ndarray,
        states: np.ndarray,
        angles: np.ndarray | None = None,
        *,
        tracking: bool = False,
        watch: Callable[[float], None] = lambda t: None,
    ) -> VelocityDerivatives:
        """Return derivatives at nt times and at states (nt, 13 n + k) that satisfy the constraints.

        Parameters
        ----------
        angles : (nt, J, 3), rad, optional
            Joint angles with full turns, for J joints; angles in force laws are shifted by full turns to the nearest
            values.
        tracking : bool
            Whether `states` contains only the first state; later states then follow from it by tracking the prescribed
            motion of drivers.
        watch : function
            Function called at intervals with the time reached, s.

        Raises
        ------
        UnreachedError
            If the states cannot be tracked.
        InputError
            If a user function fails.
        """
        solver = self.solver
        rank = solver.settle(solver.slots.state_to_lanes(states[0]), float(times[0]))
        path = self._path(times, states[0], rank, tracking)
        for row, state in enumerate(states):
            path.states[row * solver.size : (row + 1) * solver.size] = solver.slots.state_to_lanes(state)
        try:
            outcome = self._follow(path, angles, watch)
        except KeyboardInterrupt:
            if not tracking or path.counts.row == 0:
                raise
            outcome = INTERRUPTED
        if outcome != ARRIVED:
            back = solver.slots.state_from_lanes
            states = back(path.states.reshape(len(times), -1)[: path.counts.row])
            quadrants = self._quadrants(path)[: path.counts.row]
            raise UnreachedError(outcome, path, back(self._present), states, quadrants, solver.applied.latest)
        return self._results(path)

    def with_loads(
        self, times: np.ndarray, states: np.ndarray, angles: np.ndarray | None
    ) -> tuple[VelocityDerivatives, Loads]:
        """Return derivatives of the motion, multipliers and joint loads at nt times and states (nt, 13 n).

        `angles` (nt, J, 3), rad, are joint angles with full turns, or None. Compiled code is called separately for each
        time, because loads are computed from the rows, which each call overwrites.
        """
        solver, series, K, nt = self.solver, self.series, self.order, len(times)
        rank = solver.settle(solver.slots.state_to_lanes(states[0]), float(times[0]))
        reader, whole = JointLoads(solver, self.related), self._path(times, states[0], rank)
        force, torque = np.zeros((2, nt, K, reader.count, 3))
        multipliers = np.zeros((nt, K, solver.model.rows))
        accelerations, kept = whole.accelerations.reshape(nt, -1), whole.states.reshape(nt, -1)
        G, count = series.rows.reshape(K, -1), len(solver.work.x)
        for row in range(nt):
            kept[row] = solver.slots.state_to_lanes(states[row])
            path = self._path(times[row : row + 1], states[row], rank)
            path.states[:] = kept[row]
            self._follow(path, None if angles is None else angles[row : row + 1])
            accelerations[row] = path.accelerations
            rows = [solver.work.G, *G[1:]]
            x = [series.multipliers[k * count : (k + 1) * count][solver.tables.row_lane] for k in range(K)]
            bodies, multipliers[row] = self._bodies(K), solver.shared(x, rows)
            force[row], torque[row] = reader.read(
                rows,
                multipliers[row],
                bodies[..., POSITION_TERM : POSITION_TERM + 3],
                bodies[..., ROTATION : ROTATION + 9].reshape(K, -1, 3, 3),
            )
        factor = factorials(K - 1)[:, None, None]
        return self._results(whole), Loads(multipliers * factor[..., 0], force * factor, torque * factor)

    def _path(self, times: np.ndarray, start: np.ndarray, rank: int, tracking: bool = False) -> SeriesPath:
        solver, nt = self.solver, len(times)
        # Auxiliary states keep their values in tracking.
        trial = solver.slots.state_to_lanes(start)
        return SeriesPath(
            times=np.ascontiguousarray(times, dtype=float),
            states=aligned(nt * solver.size),
            present=self._present,
            trial=trial,
            guess=aligned(solver.size),
            turns=aligned((self.order + 2) * solver.size),
            accelerations=aligned(nt * self.order * solver.slots.lanes * 6),
            counts=PathCounts(),
            clock=PathClock(),
            stop=solver.applied.stop,
            counter=solver.model.joints.counter(solver.slots, solver.model.auxiliary.state(start), nt),
            length=float(solver.model.length),
            rank=rank,
            tracking=tracking,
        )

    def _follow(
        self, path: SeriesPath, angles: np.ndarray | None, watch: Callable[[float], None] = lambda t: None
    ) -> int:
        solver = self.solver
        applied = solver.applied
        applied.latest = None
        if not solver.model.reads_angles:
            angles = None
        entry, outcome = EntryLength(), AGAIN
        while outcome in (AGAIN, STOPPED):  # stopped by Ctrl-C, if the handler did not raise
            if angles is not None and path.counts.row < len(angles):
                row, entry.steps = path.counts.row, 1
                applied.refer(float(path.times[row]), angles[row])
                self._angles = angles_by_name(solver.model.joints, angles[row])
            # The number of steps per call keeps calls short, so that Ctrl-C takes effect soon.
            began = time.perf_counter()
            with applied.calling():
                outcome = int(follow(
                    solver.mechanism, self.series, path, entry.steps,
                ))  # fmt: skip
            entry.adapt(entry.steps, began)
            watch(float(path.clock.reached))
            # At given states a failure is an error; trial steps in tracking may fail, and are then repeated with a
            # smaller size.
            trouble = None if path.tracking else applied.latest or applied.undefined(float(path.clock.reached))
            if trouble is not None:
                raise trouble
            if outcome == AGAIN and path.counts.attempts > MOST_STEPS:
                outcome = TOO_MANY
        return outcome

    def _results(self, path: SeriesPath) -> VelocityDerivatives:
        slots, K, nt = self.solver.slots, self.order, len(path.times)
        terms = slots.from_lanes(path.accelerations.reshape(nt, K, -1), 6)
        # Taylor coefficients of positions are two orders higher, those of angular velocities one order.
        linear = terms[..., :3] * factorials(K + 1)[2:, None, None]
        angular = terms[..., 3:] * factorials(K)[1:, None, None]
        states = slots.state_from_lanes(path.states.reshape(nt, -1))
        counts = path.counts
        cost = counts.steps, counts.corrections, counts.factorisations
        return VelocityDerivatives(states, self._quadrants(path), linear, angular, *cost)

    @staticmethod
    def _quadrants(path: SeriesPath) -> np.ndarray:
        return path.counter.kept.reshape(len(path.times), -1)

    def _bodies(self, orders: int) -> np.ndarray:
        """Return the Taylor coefficients (orders, n + 1, 36) of the motion of n bodies and the ground."""
        slots = self.solver.slots
        flat = self.series.bodies.reshape(self.order + 2, -1)[:orders]
        lanes = flat.reshape(orders, -1, KINEMATICS_SIZE, WIDTH).swapaxes(2, 3)
        return lanes.reshape(orders, -1, KINEMATICS_SIZE)[:, slots.slot]

    def _apply_loads(self, t: float) -> None:
        """Write one Taylor coefficient of the applied loads at time t (s) to `series.bodies`.

        The order of the coefficient is `series.requested_order`. Compiled code calls this method.
        """
        solver, k = self.solver, int(self.series.requested_order[0])
        slots, terms = solver.slots, self._bodies(k + 2)
        factor = factorials(k + 1)[:, None, None]
        derivatives = np.swapaxes(terms * factor, 0, 1)
        n, flat = slots.bodies, slots.state_from_lanes(self._present)
        motion = PoseDerivatives(
            position=derivatives[..., POSITION_TERM : POSITION_TERM + 3],
            orientation=np.append(solver.model.auxiliary.state(flat).orientation, [IDENTITY], axis=0),
            rotation=derivatives[:, 0, ROTATION : ROTATION + 9].reshape(n + 1, 3, 3),
            spin=derivatives[:, : k + 1, SPIN : SPIN + 3],
        )
        internal = solver.model.auxiliary.internal_by_name(flat)
        force_and_torque = applied_derivative(solver.model, t, motion, k, self._angles, internal)
        loads = np.concatenate(force_and_torque, axis=1) / factorials(k)[-1]
        bodies = self.series.bodies.reshape(self.order + 2, -1, KINEMATICS_SIZE, WIDTH)
        bodies[k, :, FORCE : FORCE + 6] = slots.to_lanes(loads).reshape(-1, 6, WIDTH)
