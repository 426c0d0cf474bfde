"""Evaluation of a model at single states: accelerations, multipliers, residuals, impulses and projection.

A flat state (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states; in blocks of eight
bodies it has `size` elements. There are m rows in K nodes of up to six rows. Phi denotes the residuals of the
constraint rows. A relation is a constraint defined by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.dynamics.model.layout import WRENCH_SIZE
from quirk.dynamics.model.model import Model
from quirk.forces.friction import NORMAL, Friction
from quirk.functions.changes import Changes
from quirk.jit.record import copies, real_arrays, restore
from quirk.jit.simd import aligned

from ..codegen.force_functions import Applied
from ..codegen.relation_functions import Related
from ..kernels.at_state import (
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
from ..kernels.minimum_norm import FREEDOM, MORE, MOST, RedundantRows
from ..kernels.relations import OUTPUT
from ..kernels.shared_rows import LOAD
from ..kernels.workspace import LEAST, PASSES, RANK, SUMMARY, TOLERANCE
from ..stepping.run_state import Counts
from ..symbolic.blocks import block_size
from ..symbolic.fronts import Orthogonal
from ..symbolic.tables import Tables
from ..symbolic.tables_of_closings import new_closing_arrays
from ..symbolic.tables_of_friction import flat_frictions
from ..symbolic.tables_of_recursion import new_recursion_arrays
from ..symbolic.tables_of_shared_rows import unit_loads_of
from ..symbolic.tables_of_tree import new_tree_arrays
from .minimum_norm_loads import MinimumNormLoads
from .work_arrays import work_arrays

# Placeholder for an array that a task does not use.
NOTHING = np.zeros(0)


@dataclass(frozen=True)
class SolverMemory:
    """Copy of all data of a solver that affect later evaluations.

    Attributes
    ----------
    pruned : (K,) bool, whether the block factorization includes each of K nodes (joints); None if it includes all
    laws : copies of the inputs and outputs of force laws
    arrays : copies of the other arrays written by compiled code
    """

    pruned: np.ndarray | None
    laws: list[np.ndarray]
    arrays: list[np.ndarray]


class StateEvaluator:
    """Evaluator of one model at given states, with the rows selected as independent.

    An evaluator owns the arrays written by compiled code and can be used by one run at a time; several evaluators may
    share `tables` and the result of `sharing`. States are flat arrays (size,) in blocks of eight bodies
    (`quirk.dynamics.model.layout`) unless stated otherwise.

    Parameters
    ----------
    model, tables : the model, and its constant tables
    sharing : function without arguments that returns the distribution of loads over redundant rows
    beside : further user functions that are called in Python during the run
    in_python : user functions of the model that must not be compiled
    """

    def __init__(
        self,
        model: Model,
        tables: Tables,
        sharing: Callable[[], MinimumNormLoads],
        beside: Sequence[Any] = (),
        in_python: Sequence[Any] = (),
    ) -> None:
        self.model, self.tables, self._sharing = model, tables, sharing
        self.slots = tables.slots
        unit_loads = unit_loads_of(model)
        self.applied = Applied(model, tables.slots, tables.row_lane, unit_loads=unit_loads)
        self.related = Related(model, tables.nodes.relations, self.applied.watched)
        of_model = [*self.applied.called, *self.related.called]
        called = [*of_model, *beside, *in_python]
        # Functions that read data modified by these functions must run in Python as well.
        self.refuse = Changes(called, in_python, of_model)
        if called:
            self.applied = Applied(model, tables.slots, tables.row_lane, self.refuse, unit_loads)
            watch, refuse = self.applied.watched, self.refuse
            self.related = Related(model, tables.nodes.relations, watch, refuse=refuse)
        self.nodes = tables.nodes._replace(relations=self.related.table)
        self.frictions = flat_frictions(model, tables, self.applied.table)
        self.tree = new_tree_arrays(tables.tree)
        self.recursion = new_recursion_arrays(tables.recursion)
        self.closings = new_closing_arrays(tables.closings)
        self.size = tables.slots.state_size
        self.pattern = tables.blocks.empty if tables.blocks.dense else tables.blocks.full
        self.work = work_arrays(tables, self.pattern)
        self.work.summary[TOLERANCE] = model.rank_tolerance
        self._forget()
        self.counts = Counts()
        self._mechanism: Mechanism | None = None
        self._pruned: np.ndarray | None = None
        self.joint_of_row = np.repeat(
            np.arange(len(model.joint_rows)), [rows.stop - rows.start for rows in model.joint_rows.values()]
        )

    @property
    def mechanism(self) -> Mechanism:
        """Tables of the model with the arrays of this solver, for compiled code."""
        mechanism = self._mechanism
        if mechanism is None or mechanism.work is not self.work or mechanism.pattern is not self.pattern:
            mechanism = Mechanism(
                self.tables.constants,
                self.nodes,
                self.pattern,
                self.applied.table,
                self.frictions,
                self.tree,
                self.recursion,
                self.closings,
                self.work,
            )
            self._mechanism = mechanism
        return mechanism

    @property
    def _memory(self) -> list[np.ndarray]:
        """Arrays that affect later evaluations, except for the inputs and outputs of force laws."""
        constant = (
            "uniform", "fronts", "scale", "weight", "extended", "body_constants", "body_inertia", "bodies", "gravity",
            "shared",
        )  # fmt: skip
        relations = [self.related.table.inputs, self.related.table.outputs]
        records = (self.frictions, self.tree, self.recursion, self.closings)
        written = [x for record in records for x in real_arrays(record, constant)]
        return [*real_arrays(self.work, constant), *written, *relations, self.counts.array]

    def snapshot(self) -> SolverMemory:
        """Return copies of all data that affect later evaluations.

        After `recall`, the same evaluations give the same results bit for bit.
        """
        return SolverMemory(self._pruned, self.applied.snapshot(), copies(self._memory))

    def recall(self, saved: SolverMemory) -> None:
        """Restore a snapshot of this solver, or of another solver of the same model.

        `saved` is the result of `snapshot`.
        """
        if saved.pruned is not None:
            self._prune_to(saved.pruned)
        self.applied.recall(saved.laws)
        restore(self._memory, saved.arrays)

    @property
    def rank(self) -> int:
        """Number of independent rows in the last factorization."""
        return int(self.work.summary[RANK])

    @property
    def sizes_of_shares(self) -> dict[str, int]:
        """Number l of components of the shared load of each sliding friction element, by name; see `shares`."""
        sliding = (element for element, _ in self.model.forces if isinstance(element, Friction))
        return {element.name: 1 if element.takes == NORMAL else LOAD for element in sliding}

    def shares(self) -> dict[str, np.ndarray]:
        """Return the shared loads (l,) of sliding friction at the last evaluated state, by name.

        The load of a contact is its normal load, N, l = 1. That of a joint is the difference of its force and torque,
        axes of body i, l = 6, from those with which only independent rows carry loads.
        """
        table, found = self.frictions, {}
        for k, (name, size) in enumerate(self.sizes_of_shares.items()):
            terms = slice(table.terms[k], table.terms[k + 1])
            weights = table.weights.reshape(-1, LOAD)[terms, :size]
            found[name] = self.work.x[table.multipliers[terms]] @ weights
        return found

    @property
    def smallest_distance(self) -> float:
        """Smallest distance of an independent row from the span of the rows before it, relative to its norm.

        The distance is in the mass metric, at the last factorization. It is zero at a singular configuration, where
        fewer rows are independent than at other states, and 1 without constraints.
        """
        if not self.counts.best_rank:
            return 1.0
        dropped = self.rank < self.counts.best_rank
        return 0.0 if dropped else float(np.sqrt(max(self.work.summary[LEAST], 0.0)))

    def project(self, y: np.ndarray, t: float, on_constraints: bool = True) -> bool:
        """Normalize the quaternions of a state y and, if `on_constraints`, project it onto the constraints, in place.

        t is the time (s). Returns False if projection fails because the state is too far from the constraints.
        """
        return self._do(PROJECT if on_constraints else NORMALISE, y, t)

    def rates(self, t: float, y: np.ndarray, baumgarte: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
        """Return y' (size,) at time t (s) and a state y; the multipliers are then in `work.x`.

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

        A relation is a constraint defined by a function. The derivatives are computed at `state` and time t (s), for
        bodies without acceleration. Gradients are with respect to translations and rotations, in the inertial frame, of
        the bodies of all frames.
        """
        self._do(PHI, self.slots.state_to_lanes(state.pack()), t)
        outputs, relations = self.related.table.outputs, []
        for r, layout in enumerate(self.related.layouts):
            first = self.related.table.entry(r, OUTPUT)
            derivatives = outputs[first : first + layout.first_gradient].reshape(layout.rows, -1)
            starts = np.stack([self.related.gradient_starts(r, frame) for frame in range(layout.frames)], axis=1)
            relations.append((derivatives.copy(), outputs[starts[..., None] + np.arange(6)]))
        return relations

    def respond(self, y: np.ndarray, t: float, rates: np.ndarray, wrench: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return velocity jumps (n, 6) of n bodies and impulses (m,) of m rows for given jumps of the row rates.

        Linear velocities are in the inertial frame, angular velocities in body axes.

        Parameters
        ----------
        y, t : (size,) state, and time, s
        rates : (m,) required jumps of the products of the rows and the velocities
        wrench : (n, 6) applied impulses on the bodies: linear, and moments about the centers of mass, inertial frame
        """
        model, n = self.model, self.slots.bodies
        state = model.auxiliary.state(self.slots.state_from_lanes(y))
        R, W = rotation.matrix(state.orientation), model.inverse_root
        scaled = wrench.copy()
        scaled[:, 3:] = np.einsum("nji,nkj,nk->ni", W, R, wrench[:, 3:])
        self.work.wrench[:] = self.slots.to_lanes(scaled)
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

    def unbalanced_loads(self, y: np.ndarray, t: float, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the components of k loads that constraints do not balance, and the loads themselves, both (k, 6 n).

        The unbalanced component is the projection of the load onto the motions that the constraints allow. Both results
        are in coordinates of the mass metric: W^T times force and torque, with W W^T = M^-1 and the mass matrix M.

        Parameters
        ----------
        y : (size,) state
        t : time, s
        loads : (k, n, 6) forces, and moments about the centers of mass, inertial frame
        """
        model, work = self.model, self.work
        R = rotation.matrix(model.auxiliary.state(self.slots.state_from_lanes(y)).orientation)
        scaled, root = loads.copy(), np.sqrt(model.mass)[:, None]
        scaled[..., 3:] = np.einsum("nji,nkj,cnk->cni", model.inverse_root, R, loads[..., 3:])
        unbalanced = scaled.copy()
        work.goal[:] = 0.0
        for load, remainder in zip(scaled, unbalanced, strict=True):
            work.wrench[:] = self.slots.to_lanes(load)
            if model.rows:
                self._do(IMPULSE, y, t)
            remainder[:] = self.slots.from_lanes(work.wrench, WRENCH_SIZE)
        for part in (unbalanced, scaled):
            part[..., :3] /= root
        return unbalanced.reshape(len(loads), -1), scaled.reshape(len(loads), -1)

    def multipliers(self) -> np.ndarray:
        """Return the multipliers (m,) of the last evaluation.

        If they are not unique, those of minimum norm are returned, weighted by `row_scale` of the model.
        """
        return self.shared([self.work.x[self.tables.row_lane]], [self.work.G])[0]

    @property
    def redundant(self) -> bool:
        """Whether there are redundant rows, so that loads must be distributed over them."""
        return bool(self.counts.best_rank < self.model.rows)

    def shared(self, x: list[np.ndarray], G: list[np.ndarray]) -> list[np.ndarray]:
        """Return the minimum-norm multipliers (m,) with the same constraint forces as the multipliers x.

        x and G contain the multipliers and the array of all rows for each order of a Taylor series in time; so does the
        result.
        """
        if not self.redundant:
            return x
        return self._sharing().multipliers(x, G, self.rank, self._factorised)

    def redundant_rows(self) -> RedundantRows:
        """Return the tables with which compiled code computes the multipliers of minimum norm at one state."""
        return self._sharing().compiled()

    def _factorised(
        self, pattern: Orthogonal, G: np.ndarray, lengths: np.ndarray, rank: int
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Factorize given rows G by reflections; return a function that solves for right-hand sides (8 K,).

        `pattern` is the pattern of the orthogonal factorization of K nodes, `lengths` (8 K,) are the squared norms of
        the rows, and `rank` is the number of independent rows.
        """
        work = self.work._replace(
            G=G, lengths=lengths, floor=np.zeros_like(lengths), rhs=np.zeros_like(lengths), x=np.zeros_like(lengths),
            summary=np.zeros(SUMMARY), fronts=pattern.fronts, scale=pattern.scale, weight=pattern.weight,
            triangle=pattern.triangle(),
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
        """Perform a task of `at_state` for a state y (size,) at time t (s); return False if it fails.

        `ydot` receives y' in an evaluation, and `baumgarte` are Baumgarte's rates alpha and beta, 1/s.
        """
        alpha, beta = baumgarte
        query = StateQuery(
            y, ydot, float(alpha), float(beta), float(self.model.length), int(self.counts.best_rank), self.counts
        )
        with self.applied.calling():
            return bool(at_state(task, mechanism or self.mechanism, float(t), query))

    def _forget(self) -> None:
        """Reset the selection of rows: use all rows, by block factorization without iterative refinement."""
        tolerance = self.work.summary[TOLERANCE]
        self.work.summary[:] = 0.0
        self.work.summary[TOLERANCE], self.work.summary[PASSES] = tolerance, 1
        self.work.floor[:] = 0.0

    def _prune_to(self, nodes: np.ndarray) -> None:
        """Use a block factorization of only those nodes (joints) that are true in the mask `nodes` (K,)."""
        self._pruned = nodes
        self.pattern = self.tables.blocks.of(nodes)
        size = block_size(self.pattern)
        self.work = self.work._replace(B=aligned(size), Q=aligned(size))
