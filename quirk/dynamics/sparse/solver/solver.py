"""Compiled solver of one model: accelerations, projections, residuals, multipliers and redundant rows.

A flat state (13 n + k,) holds 13 numbers for each of n bodies and k auxiliary states; in blocks of eight bodies it has
`size` elements. There are m rows in K nodes of up to six rows. A state on the constraints is one that satisfies them.
Phi are the residuals of the constraint rows. A relation is a constraint given by a function. The pivot of a row is its
squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.rotation import exp, multiply
from quirk.bodies.state import State
from quirk.dynamics.model.layout import G_FORCE, G_SIZE, KINEMATICS_SIZE, WRENCH_SIZE
from quirk.dynamics.model.metric import inverse_root
from quirk.dynamics.model.model import Model
from quirk.errors import InputError
from quirk.functions.changes import Changes
from quirk.jit.record import copies, put_back, real_arrays
from quirk.jit.simd import aligned

from ..codegen.force_functions import Applied
from ..codegen.relation_functions import Related
from ..kernels.at_state import (
    CHOOSE,
    COUNT,
    EVALUATE,
    IMPULSE,
    NORMALISE,
    PHI,
    PHI_RATE,
    PROJECT,
    SUBSTITUTE,
    TRIANGULARISE,
    StateQuery,
    at_state,
)
from ..kernels.mechanism import Mechanism
from ..kernels.relations import OUTPUT
from ..kernels.rows import HINGE, POINT, UNITS
from ..kernels.work import METHOD, PASSES, PRUNED, RANK, REFLECTIONS, SUMMARY, TOLERANCE, Extended, Workspace
from ..stepping.run_state import Counts
from ..symbolic.blocks import block_size
from ..symbolic.fronts import Orthogonal
from ..symbolic.tables import UNIT_ROWS, Tables
from ..symbolic.tables_of_friction import flat_frictions
from ..symbolic.tables_of_recursion import own_recursion
from ..symbolic.tables_of_tree import own_arrays
from .minimum_norm_loads import FREEDOM, MORE, MOST, MinimumNormLoads

# Placeholder for an array that a task does not use.
NOTHING = np.zeros(0)

# For the detection of rows that are redundant almost everywhere: random displacement of bodies, as a fraction of the
# characteristic length of the system, before projection back onto the constraints; and number of such states.
NEARBY = 1e-2
NEARBY_STATES = 3

# Largest violation of the constraints, over the length of the system, that is removed by projection before the rank is
# determined; larger violations count as intended.
NEAR = 1e-2

# Rows with pivots below this fraction of their squared length are dropped in projections in the uniform metric.
ALIKE_FLOOR = 1e-12

# Range of lengths of rows: squares of shorter ones lose digits, and squares of longer ones overflow.
SHORTEST, LONGEST = 1e-140, 1e140


@dataclass(frozen=True)
class Verdict:
    """Independence of each of the m constraint rows at a state.

    Attributes
    ----------
    kept : (m,) bool, whether a row is independent
    distance : (m,) distance of each row from the span of the independent rows before it, over its length, in the
        uniform metric
    """

    kept: np.ndarray
    distance: np.ndarray

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(self.kept.sum())


@dataclass(frozen=True)
class SolverMemory:
    """Copy of all data of a solver on which later evaluations depend.

    Attributes
    ----------
    pruned : (K,) bool, nodes of the reduced block pattern in use, or None for the full pattern
    laws, arrays : copies of arrays that compiled code writes
    """

    pruned: np.ndarray | None
    laws: list[np.ndarray]
    arrays: list[np.ndarray]


class Solver:
    """Compiled solver for accelerations and projections of one model.

    A solver owns the arrays written by compiled code, so that it can be used by one run at a time; several solvers may
    share `tables` and the result of ``sharing()``. `beside` are further user functions called by the run in Python.
    States are flat arrays (size,) in blocks of eight (`quirk.dynamics.model.layout`) unless stated otherwise.
    """

    def __init__(
        self, model: Model, tables: Tables, sharing: Callable[[], MinimumNormLoads], beside: Sequence[Any] = ()
    ) -> None:
        self.model, self.tables, self._sharing = model, tables, sharing
        self.slots = tables.slots
        self.applied = Applied(model, tables.slots, tables.row_lane)
        self.related = Related(model, tables.nodes.relations, self.applied.watched)
        called = [*self.applied.called, *self.related.called, *beside]
        # Functions that read data modified by these functions must run in Python as well.
        self.refuse = Changes(called)
        if called:
            self.applied = Applied(model, tables.slots, tables.row_lane, self.refuse)
            watch, refuse = self.applied.watched, self.refuse
            self.related = Related(model, tables.nodes.relations, watch, refuse=refuse)
        self.nodes = nodes = tables.nodes._replace(relations=self.related.table)
        self.frictions = flat_frictions(model, tables, self.applied.table)
        K, lanes = len(nodes.rows), tables.slots.lanes
        self.tree = own_arrays(tables.tree)
        self.recursion = own_recursion(tables.recursion)
        self.size = tables.slots.state_size
        self.pattern = tables.blocks.empty if tables.blocks.dense else tables.blocks.whole
        size = block_size(self.pattern)
        self.work = Workspace(
            kin=aligned(lanes * KINEMATICS_SIZE),
            G=aligned(tables.rows_size),
            rhs=aligned(8 * K),
            x=aligned(8 * K),
            goal=aligned(8 * K),
            sum=aligned(8 * K),
            rest=aligned(8 * K),
            terms=aligned(8 * K),
            B=aligned(size),
            Q=aligned(size),
            wrench=aligned(lanes * WRENCH_SIZE),
            given=aligned(lanes * WRENCH_SIZE),
            motion=aligned(lanes * WRENCH_SIZE),
            change=aligned(lanes * WRENCH_SIZE),
            lengths=aligned(8 * K),
            measure=aligned(8 * K),
            floor=aligned(8 * K),
            pivots=aligned(8 * K),
            pivots_before=aligned(8 * K),
            pivots_earlier=aligned(8 * K),
            summary=np.zeros(SUMMARY),
            fronts=tables.orthogonal.fronts,
            scale=tables.orthogonal.scale,
            weight=tables.orthogonal.weight,
            triangle=tables.orthogonal.triangle(),
            uniform=tables.uniform,
            extended=Extended(
                rotation=aligned(lanes * 9),
                G=aligned(tables.rows_size),
                wrench=aligned(lanes * WRENCH_SIZE),
                motion=aligned(lanes * WRENCH_SIZE),
                x=aligned(8 * K),
                applied=aligned(lanes * WRENCH_SIZE),
                goal=aligned(8 * K),
                before=aligned(lanes * WRENCH_SIZE),
            ),
        )
        self.work.summary[TOLERANCE] = model.rank_tolerance
        self._forget()
        for k in np.flatnonzero((nodes.kind == POINT) | (nodes.kind == HINGE)):
            self.work.G[G_SIZE * k + G_FORCE : G_SIZE * k + 24] = UNITS[:24]
        self.work.G[tables.units : tables.units + UNIT_ROWS.size] = UNIT_ROWS.ravel()
        self.counts = Counts()
        self._mechanism: Mechanism | None = None
        self._pruned: np.ndarray | None = None
        self.joint_of_row = np.repeat(
            np.arange(len(model.joint_rows)), [rows.stop - rows.start for rows in model.joint_rows.values()]
        )
        self._inverse_root = inverse_root(model.inertia)

    @property
    def mechanism(self) -> Mechanism:
        """Tables of the model with the arrays of this solver, for compiled code."""
        made = self._mechanism
        if made is None or made.work is not self.work or made.pattern is not self.pattern:
            made = Mechanism(
                self.tables.constants,
                self.nodes,
                self.pattern,
                self.applied.table,
                self.frictions,
                self.tree,
                self.recursion,
                self.work,
            )
            self._mechanism = made
        return made

    @property
    def _memory(self) -> list[np.ndarray]:
        """Return the arrays on which later evaluations may depend, except for the inputs of force laws."""
        constant = ("uniform", "fronts", "scale", "weight", "extended", "own", "bodies", "gravity")
        relations = [self.related.table.inputs, self.related.table.outputs]
        written = [x for of in (self.frictions, self.tree, self.recursion) for x in real_arrays(of, constant)]
        return [*real_arrays(self.work, constant), *written, *relations, self.counts.array]

    def snapshot(self) -> SolverMemory:
        """Return copies of all data on which later evaluations depend, to repeat these bit for bit."""
        return SolverMemory(self._pruned, self.applied.snapshot(), copies(self._memory))

    def recall(self, saved: SolverMemory) -> None:
        """Restore a snapshot of this solver, or of another solver of the same model."""
        if saved.pruned is not None:
            self._prune_to(saved.pruned)
        self.applied.recall(saved.laws)
        put_back(self._memory, saved.arrays)

    def settle(self, y: np.ndarray, t: float) -> int:
        """Select the independent rows for a run, at time t (s) and a state y on the constraints; return their number.

        This number is the maximum over the state and random states near it: rows that are dependent almost everywhere
        are dropped, and rows that are dependent only at a singular configuration are kept.
        """
        if not len(self.tables.nodes.rows):
            return 0
        self._forget()
        states, ranks = [y], [self.count(y, t)]
        if ranks[0] < self.model.rows:
            states = [*self._nearby(y, t), y]
            ranks = [self.count(state, t) for state in states]
        self.counts.best_rank = max(ranks)
        # At a singular configuration the rows are selected at a nearby state.
        if not self._choose(y, t):
            self._choose(states[int(np.argmax(ranks))], t)
        self._prune()
        return max(ranks)

    def settle_near(self, y: np.ndarray, t: float) -> None:
        """Select the independent rows at time t (s) and state y, which may violate the constraints slightly.

        Rows are dropped if they are dependent at the nearest state on the constraints or, if its distance exceeds NEAR,
        at the state y.
        """
        if not len(self.tables.nodes.rows):
            return
        near = self._on_constraints(y, t)
        self.counts.best_rank = self.count(near, t)
        self._choose(near, t)
        self._prune()

    def _on_constraints(self, y: np.ndarray, t: float) -> np.ndarray:
        """Return the state on the constraints nearest to y at time t (s), or y if the distance exceeds NEAR."""
        self._forget()
        near = y.copy()
        self._keep_all(near, t)
        on_constraints = self._project_alike(near, t)
        return near if on_constraints and np.abs(near - y).max() <= NEAR * max(1.0, self.model.length) else y

    def count(self, y: np.ndarray, t: float) -> int:
        """Return the number of independent rows at a state y (size,) and time t (s).

        Raises an InputError if the length of a row is so small or so large that its square underflows or overflows.
        """
        self._do(COUNT, y, t)
        lengths = self.work.lengths[self.tables.row_lane]
        if not ((lengths > SHORTEST**2) & (lengths < LONGEST**2)).all():
            self._refuse_extremes(t)
        return self.rank

    def _refuse_extremes(self, t: float) -> None:
        """Raise an InputError if squares of the rows of a relation underflow or overflow at the last evaluated state.

        A relation is a constraint given by a function; t is the time, s.
        """
        for r, placed in enumerate(self.model.relations):
            starts = np.stack([self.related.gradient_starts(r, frame) for frame in range(len(placed.bodies))])
            gradients = self.related.table.outputs[starts[..., None] + np.arange(6)]
            for row, size in enumerate(np.abs(gradients).max(axis=(0, 2))):
                if 0.0 < size < SHORTEST or LONGEST < size < np.inf:
                    raise InputError(
                        f"{placed.owner}: {placed.relation.labels[row]} changes by up to {size:.3g} per m or rad at "
                        f"t = {t:g} s; the limits are {SHORTEST:g} and {LONGEST:g}: multiply it by {1 / size:.0e}, "
                        "which does not change the motion"
                    )

    def _choose(self, y: np.ndarray, t: float) -> bool:
        """Select the same number of independent rows at another state y and time t (s).

        Returns False if fewer rows are independent.
        """
        return self._do(CHOOSE, y, t)

    def keep(self, y: np.ndarray, t: float, threshold: float) -> int:
        """Select the rows whose distance from the other rows at state y exceeds `threshold`; return their number.

        `respond` uses this selection. The state may violate the constraints; in runs, `settle` is used instead.
        """
        self._forget()
        self.work.summary[TOLERANCE] = threshold
        self.counts.best_rank = self.count(y, t)
        self._choose(y, t)
        self.work.summary[TOLERANCE] = self.model.rank_tolerance
        if self.tables.blocks.dense:
            self.work.summary[METHOD] = REFLECTIONS
        return self.rank

    def settle_state(self, state: State, t: float) -> int:
        """Select the independent rows at a `State` and time t (s), like `settle`; return their number."""
        return self.settle(self.slots.state_to_lanes(state.pack()), t)

    def choose_state(self, state: State, t: float) -> None:
        """Select the same number of independent rows at another `State` on the constraints, at time t (s)."""
        self._choose(self.slots.state_to_lanes(state.pack()), t)

    def verdict(self, state: State, t: float) -> Verdict:
        """Return the independent rows at the state on the constraints nearest to `state`, at time t (s).

        If the distance exceeds NEAR, `state` itself is used.
        """
        m = self.model.rows
        if not m:
            return Verdict(np.zeros(0, dtype=bool), np.zeros(0))
        y = self.slots.state_to_lanes(state.pack())
        self.count(self._on_constraints(y, t), t)
        triangle = self.work.triangle
        return Verdict(triangle.factor[self.tables.row_pivot] != 0.0, triangle.distance[self.tables.row_lane].copy())

    @property
    def kept(self) -> np.ndarray:
        """Mask (m,) of the rows selected as independent."""
        return np.isfinite(self.work.floor[self.tables.row_lane])

    @property
    def rank(self) -> int:
        """Number of independent rows in the last factorization."""
        return int(self.work.summary[RANK])

    def _forget(self) -> None:
        """Reset the selection of rows: use all rows, by block factorization without iterative refinement."""
        tolerance = self.work.summary[TOLERANCE]
        self.work.summary[:] = 0.0
        self.work.summary[TOLERANCE], self.work.summary[PASSES] = tolerance, 1
        self.work.floor[:] = 0.0

    def _keep_all(self, y: np.ndarray, t: float) -> None:
        """Set the smallest allowed pivots in the uniform metric such that only dependent rows are dropped."""
        self.count(y, t)
        floor = self.model.rank_tolerance**2 if self.model.slack > 0 else 0.0
        self.work.floor[:] = max(ALIKE_FLOOR, floor) * self.work.lengths

    def _project_alike(self, y: np.ndarray, t: float) -> bool:
        """Project a state y onto the constraints, in place, in the uniform metric; return whether this succeeded."""
        alike, blocks = self.tables.uniform, self.tables.blocks
        work = self.work._replace(scale=alike.scale, weight=alike.weight)
        pattern = self.pattern
        if blocks.dense:
            work.summary[METHOD], work.summary[PASSES] = REFLECTIONS, 2
        else:
            pattern = blocks.whole._replace(weight=np.sign(blocks.whole.weight))
        mechanism = self.mechanism._replace(constants=alike.constants, pattern=pattern, work=work)
        return self._do(PROJECT, y, t, mechanism=mechanism)

    def _prune(self) -> None:
        """Omit nodes (joints) without selected rows from the block pattern, if elimination of all is too costly."""
        if self.tables.blocks.dense:
            nodes = self.nodes.rows
            rows = np.isfinite(self.work.floor.reshape(-1, 8)) & (np.arange(8) < nodes[:, None])
            self._prune_to(rows.any(axis=1))
            self.work.summary[PRUNED] = 1.0

    def _prune_to(self, nodes: np.ndarray) -> None:
        """Use the block pattern of the nodes in the mask `nodes` (K,)."""
        self._pruned = nodes
        self.pattern = self.tables.blocks.of(nodes)
        size = block_size(self.pattern)
        self.work = self.work._replace(B=aligned(size), Q=aligned(size))

    def _nearby(self, y: np.ndarray, t: float) -> list[np.ndarray]:
        """Return random states on the constraints near y; fewer than NEARBY_STATES if projections fail."""
        random = np.random.default_rng(0)
        state = self.model.carried.state(self.slots.state_from_lanes(y))
        length, shape = self.model.length, state.position.shape
        found = []
        for _ in range(NEARBY_STATES):
            position = state.position + NEARBY * length * random.normal(size=shape)
            orientation = multiply(state.orientation, exp(NEARBY * random.normal(size=shape)))
            moved = State(position, orientation, state.velocity, state.angular_velocity)
            lanes = self.slots.state_to_lanes(moved.pack())
            self._keep_all(lanes, t)
            if self._project_alike(lanes, t):
                found.append(lanes)
        return found

    def project(self, y: np.ndarray, t: float, on_constraints: bool = True) -> bool:
        """Normalize the quaternions of a state y and, if `on_constraints`, project it onto the constraints, in place.

        Returns False if projection fails because the state is too far from the constraints.
        """
        return self._do(PROJECT if on_constraints else NORMALISE, y, t)

    def rates(self, t: float, y: np.ndarray, baumgarte: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        """Return y' (size,) at a state y; the multipliers are then in `work.x`.

        `baumgarte` are Baumgarte's rates alpha and beta, 1/s.
        """
        ydot = aligned(self.size)
        self._do(EVALUATE, y, t, ydot=ydot, baumgarte=baumgarte)
        return ydot

    def residuals(self, y: np.ndarray, t: float) -> np.ndarray:
        """Return the residuals Phi of m rows and their rates, (m, 2), at time t (s) and state y."""
        self._do(PHI, y, t)
        phi = self.work.rhs[self.tables.row_lane]
        return np.stack([phi, self.residual_rates(y, t)], axis=1)

    def residual_rates(self, y: np.ndarray, t: float) -> np.ndarray:
        """Return the rates of the residuals of m rows, (m,), at time t (s) and state y."""
        self._do(PHI_RATE, y, t)
        return self.work.rhs[self.tables.row_lane]

    def relations_at(self, state: State, t: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return residuals with two time derivatives (rows, 3), and gradients (rows, frames, 6), of each relation.

        A relation is a constraint given by a function. The derivatives are computed at `state` and time t (s), for
        bodies without acceleration; gradients are with respect to translations and rotations of the frames' bodies in
        the inertial frame.
        """
        self._do(PHI, self.slots.state_to_lanes(state.pack()), t)
        outputs, found = self.related.table.outputs, []
        for r, layout in enumerate(self.related.layouts):
            first = self.related.table.entry(r, OUTPUT)
            derivatives = outputs[first : first + layout.first_gradient].reshape(layout.rows, -1)
            starts = np.stack([self.related.gradient_starts(r, frame) for frame in range(layout.frames)], axis=1)
            found.append((derivatives.copy(), outputs[starts[..., None] + np.arange(6)]))
        return found

    def respond(self, y: np.ndarray, t: float, rates: np.ndarray, wrench: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return velocity jumps (n, 6) of n bodies and impulses (m,) of m rows, for given jumps of the row rates.

        Linear velocities are in the inertial frame, angular ones in body axes.

        Parameters
        ----------
        y : (size,) state
        rates : (m,) required jumps of the rates of the rows
        wrench : (n, 6) applied impulses on the bodies: linear, and moments about the centers of mass, inertial frame
        """
        model, n = self.model, self.slots.bodies
        state = model.carried.state(self.slots.state_from_lanes(y))
        R, W = rotation.matrix(state.orientation), self._inverse_root
        given = wrench.copy()
        given[:, 3:] = np.einsum("nji,nkj,nk->ni", W, R, wrench[:, 3:])
        self.work.wrench[:] = self.slots.to_lanes(given)
        multipliers = np.zeros(model.rows)
        if model.rows:
            self.work.goal[:] = 0.0
            self.work.goal[self.tables.row_lane] = rates
            self._do(IMPULSE, y, t)
            multipliers = self.multipliers()
        total = self.slots.from_lanes(self.work.wrench, WRENCH_SIZE)
        change = np.empty((n, 6))
        change[:, :3] = total[:, :3] / model.mass[:, None]
        change[:, 3:] = np.einsum("nij,nj->ni", W, total[:, 3:])
        return change, multipliers

    def left_free(self, y: np.ndarray, t: float, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the components of k loads that constraints do not balance, and the loads themselves, both (k, 6 n).

        The results are in coordinates of the mass metric: W^T times force and torque, with W W^T = M^-1. The unbalanced
        component is the projection of the load onto the motions that the constraints allow.

        Parameters
        ----------
        y : (size,) state
        t : time, s
        loads : (k, n, 6) forces, and moments about the centers of mass, inertial frame
        """
        model, work = self.model, self.work
        R = rotation.matrix(model.carried.state(self.slots.state_from_lanes(y)).orientation)
        given, root = loads.copy(), np.sqrt(model.mass)[:, None]
        given[..., 3:] = np.einsum("nji,nkj,cnk->cni", self._inverse_root, R, loads[..., 3:])
        free = given.copy()
        work.goal[:] = 0.0
        for load, left in zip(given, free, strict=True):
            work.wrench[:] = self.slots.to_lanes(load)
            if model.rows:
                self._do(IMPULSE, y, t)
            left[:] = self.slots.from_lanes(work.wrench, WRENCH_SIZE)
        for part in (free, given):
            part[..., :3] /= root
        return free.reshape(len(loads), -1), given.reshape(len(loads), -1)

    def _do(
        self,
        task: int,
        y: np.ndarray,
        t: float,
        *,
        mechanism: Mechanism | None = None,
        ydot: np.ndarray = NOTHING,
        baumgarte: tuple[float, float] = (0.0, 0.0),
    ) -> bool:
        """Perform a task of `at_state` for a state y (size,) at time t (s); return False if it fails."""
        alpha, beta = baumgarte
        query = StateQuery(
            y, ydot, float(alpha), float(beta), float(self.model.length), int(self.counts.best_rank), self.counts
        )
        with self.applied.calling():
            return bool(at_state(task, mechanism or self.mechanism, float(t), query))

    def multipliers(self) -> np.ndarray:
        """Multipliers (m,) of the last evaluation.

        If the multipliers are not unique, those of minimum norm in the model's row scale are returned.
        """
        return self.shared([self.work.x[self.tables.row_lane]], [self.work.G])[0]

    @property
    def redundant(self) -> bool:
        """Whether there are redundant rows, so that loads must be distributed over them."""
        return bool(self.counts.best_rank < self.model.rows)

    def shared(self, x: list[np.ndarray], G: list[np.ndarray]) -> list[np.ndarray]:
        """Return the minimum-norm multipliers (m,) with the same constraint forces as x, for each Taylor coefficient.

        x and G hold the multipliers and the array of rows of each order.
        """
        if not self.redundant:
            return x
        return self._sharing().multipliers(x, G, self.rank, self._factorised)

    def _factorised(
        self, of: Orthogonal, G: np.ndarray, lengths: np.ndarray, rank: int
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Factorize the rows G with a given pattern; return a function that solves for right-hand sides (8 K,).

        `of` is the pattern of the factorization, `lengths` (8 K,) are the squared lengths of the rows of K nodes, and
        `rank` is the number of independent rows.
        """
        work = self.work._replace(
            G=G, lengths=lengths, floor=np.zeros_like(lengths), rhs=np.zeros_like(lengths), x=np.zeros_like(lengths),
            summary=np.zeros(SUMMARY), fronts=of.fronts, scale=of.scale, weight=of.weight, triangle=of.triangle(),
        )  # fmt: skip

        mechanism = self.mechanism._replace(work=work)

        def solve(rhs: np.ndarray) -> np.ndarray:
            work.rhs[:] = rhs
            self._do(SUBSTITUTE, NOTHING, 0.0, mechanism=mechanism)
            return work.x.copy()

        tolerance = FREEDOM
        while True:
            work.summary[TOLERANCE] = tolerance
            self._do(TRIANGULARISE, NOTHING, 0.0, mechanism=mechanism)
            if work.summary[RANK] <= rank or tolerance > MOST:
                return solve
            tolerance *= MORE
