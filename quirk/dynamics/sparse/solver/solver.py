"""Compiled solver of one model: evaluation at states, and selection of independent rows.

A state is on the constraints if it satisfies them. The pivot of a row is its squared distance from the span of the rows
before it, in the order of elimination. There are m rows in K nodes, groups of up to six rows of one joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies.rotation import exp, multiply
from quirk.bodies.state import State
from quirk.errors import InputError

from ..kernels.at_state import (
    CHOOSE,
    COUNT,
    PROJECT,
)
from ..kernels.workspace import METHOD, PASSES, PRUNED, RECURSIVE, REFLECTIONS, TOLERANCE
from .state_evaluator import StateEvaluator

# Random displacement of the bodies, before projection onto the constraints, as a fraction of the characteristic length
# of the system. NEARBY_STATES such states are used to detect rows that are redundant almost everywhere.
NEARBY = 1e-2
NEARBY_STATES = 3

# Largest distance of a state from the constraints, over the characteristic length of the system, at which the state is
# projected before the rank is determined. Larger violations are assumed to be intended.
NEAR = 1e-2

# Rows with pivots below this fraction of their squared norm are dropped in projections in the uniform metric.
ALIKE_FLOOR = 1e-12

# Range of norms of rows. Squares of smaller norms lose digits, and squares of larger norms overflow.
SHORTEST, LONGEST = 1e-140, 1e140


@dataclass(frozen=True)
class RowIndependence:
    """Independence of each of m constraint rows at a state.

    Attributes
    ----------
    independent : (m,) bool, whether a row is independent of the rows before it, in the order of elimination
    distance : (m,) distance of each row from the span of the independent rows before it, relative to its norm, in the
        uniform metric
    """

    independent: np.ndarray
    distance: np.ndarray

    @property
    def rank(self) -> int:
        """Number of independent rows."""
        return int(self.independent.sum())


class Solver(StateEvaluator):
    """Evaluator of one model with selection of its independent rows.

    The parameters are those of `StateEvaluator`.
    """

    def settle(self, y: np.ndarray, t: float) -> int:
        """Select the independent rows for a run, at time t (s) and a state y on the constraints; return their number.

        The number is the maximum over y and random states near it. Rows that are dependent at almost all states are
        therefore dropped, while rows that are dependent only at a singular configuration are not.
        """
        if not len(self.tables.nodes.rows):
            return 0
        self._forget()
        states, ranks = [y], [self.count(y, t)]
        if ranks[0] < self.model.rows:
            states = [*self._nearby(y, t), y]
            ranks = [self.count(state, t) for state in states]
        self.counts.best_rank = max(ranks)
        if self.applied.table.working.size and self.closings.nodes.size:
            self._find_shared_work(states[:-1], t)
        # At a singular configuration the rows are selected at a nearby state.
        if not self._choose(y, t):
            self._choose(states[int(np.argmax(ranks))], t)
        self._prune()
        return max(ranks)

    def _find_shared_work(self, states: list[np.ndarray], t: float) -> None:
        """Determine whether loads of rows that do work are shared with redundant rows at any of the states.

        The result is stored as SHARED in work.summary. Several states are examined, because at a single state a shared
        load may happen to be zero. t is the time (s).
        """
        for state in states:
            self._choose(state, t)
        self.work.summary[RECURSIVE] = 0.0

    def settle_near(self, y: np.ndarray, t: float) -> None:
        """Select the independent rows at time t (s) and state y, which may violate the constraints slightly.

        The selection is made at the nearest state on the constraints, or at the state y if the distance of both states
        exceeds NEAR.
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
        self._drop_only_dependent(near, t)
        on_constraints = self._project_uniformly(near, t)
        return near if on_constraints and np.abs(near - y).max() <= NEAR * max(1.0, self.model.length) else y

    def count(self, y: np.ndarray, t: float) -> int:
        """Return the number of independent rows at a state y (size,) and time t (s).

        An InputError is raised if the norm of a row is so small or so large that its square underflows or overflows.
        """
        self._do(COUNT, y, t)
        lengths = self.work.lengths[self.tables.row_lane]
        if not ((lengths > SHORTEST**2) & (lengths < LONGEST**2)).all():
            self._check_lengths(t)
        return self.rank

    def _check_lengths(self, t: float) -> None:
        """Raise an InputError if the squared norm of a row of a relation underflows or overflows.

        A relation is a constraint defined by a function. The rows are those of the last evaluated state, at time t (s).
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
        """Select independent rows at another state y and time t (s); return False if there are fewer than before.

        The number of selected rows is that of the last count, `counts.best_rank`.
        """
        return self._do(CHOOSE, y, t)

    def keep(self, y: np.ndarray, t: float, threshold: float) -> int:
        """Select the rows that are independent at state y with a given threshold; return their number.

        A row is selected if its distance from the span of the rows before it, relative to its norm, exceeds
        `threshold`. t is the time (s). The state may violate the constraints. The method `respond` uses this selection,
        whereas runs use that of `settle`.
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
        """Select the independent rows for a run at a `State` on the constraints and time t (s); return their number."""
        return self.settle(self.slots.state_to_lanes(state.pack()), t)

    def choose_state(self, state: State, t: float) -> None:
        """Select independent rows at another `State` on the constraints and time t (s).

        The number of selected rows does not change; if fewer rows are independent at this state, the selection is kept.
        """
        self._choose(self.slots.state_to_lanes(state.pack()), t)

    def row_independence(self, state: State, t: float) -> RowIndependence:
        """Return which rows are independent at the state on the constraints nearest to `state`, at time t (s).

        If the distance of both states exceeds NEAR, `state` itself is used.
        """
        m = self.model.rows
        if not m:
            return RowIndependence(np.zeros(0, dtype=bool), np.zeros(0))
        y = self.slots.state_to_lanes(state.pack())
        self.count(self._on_constraints(y, t), t)
        triangle = self.work.triangle
        return RowIndependence(
            triangle.factor[self.tables.row_pivot] != 0.0, triangle.distance[self.tables.row_lane].copy()
        )

    def distance_from_singular(self, y: np.ndarray, t: float, rank: int, farthest: float) -> float:
        """Return an upper bound of the distance of a state from a singular configuration.

        The distance is the smallest distance of an independent row from the span of the rows before it, relative to its
        norm, in the uniform metric, which does not depend on masses. The bound is `farthest` times a power of ten (1,
        0.1, ...). It is infinite if the distance exceeds `farthest`, and zero if fewer than `rank` rows are
        independent.

        Parameters
        ----------
        y, t : state (size,) on the constraints, and time, s
        rank : number of independent rows at other states
        farthest : largest distance for which a bound is computed, above the rank tolerance of the model
        """
        tolerance, bound, threshold = self.model.rank_tolerance, np.inf, farthest
        self._forget()
        try:
            while self._count_above(threshold, y, t) < rank:
                if threshold <= tolerance:
                    return 0.0
                bound, threshold = threshold, max(0.1 * threshold, tolerance)
        finally:
            self.work.summary[TOLERANCE] = tolerance
        return bound

    def _count_above(self, threshold: float, y: np.ndarray, t: float) -> int:
        """Return the number of rows whose distance from the span of the rows before them exceeds `threshold`.

        Distances are relative to the norms of the rows. t is the time (s), and y the state.
        """
        self.work.summary[TOLERANCE] = threshold
        return self.count(y, t)

    @property
    def independent(self) -> np.ndarray:
        """Mask (m,) of the rows selected as independent."""
        return np.isfinite(self.work.floor[self.tables.row_lane])

    def _drop_only_dependent(self, y: np.ndarray, t: float) -> None:
        """Set the lower limits of pivots, in the uniform metric, so that only dependent rows are dropped.

        The limits are proportional to the squared norms of the rows at time t (s) and state y.
        """
        self.count(y, t)
        floor = self.model.rank_tolerance**2 if self.model.slack > 0 else 0.0
        self.work.floor[:] = max(ALIKE_FLOOR, floor) * self.work.lengths

    def _project_uniformly(self, y: np.ndarray, t: float) -> bool:
        """Project a state y onto the constraints, in place, in the uniform metric; return whether this succeeded.

        The uniform metric does not depend on masses. t is the time, s.
        """
        alike, blocks = self.tables.uniform, self.tables.blocks
        work = self.work._replace(scale=alike.scale, weight=alike.weight)
        pattern = self.pattern
        if blocks.dense:
            work.summary[METHOD], work.summary[PASSES] = REFLECTIONS, 2
        else:
            pattern = blocks.full._replace(weight=np.sign(blocks.full.weight))
        mechanism = self.mechanism._replace(constants=alike.constants, pattern=pattern, work=work)
        return self._do(PROJECT, y, t, mechanism=mechanism)

    def _prune(self) -> None:
        """Omit joints without selected rows from the block factorization, if elimination of all is too costly."""
        if self.tables.blocks.dense:
            nodes = self.nodes.rows
            rows = np.isfinite(self.work.floor.reshape(-1, 8)) & (np.arange(8) < nodes[:, None])
            self._prune_to(rows.any(axis=1))
            self.work.summary[PRUNED] = 1.0

    def _nearby(self, y: np.ndarray, t: float) -> list[np.ndarray]:
        """Return random states on the constraints near y; fewer than NEARBY_STATES if projections fail.

        t is the time, s.
        """
        random = np.random.default_rng(0)
        state = self.model.auxiliary.state(self.slots.state_from_lanes(y))
        length, shape = self.model.length, state.position.shape
        nearby = []
        for _ in range(NEARBY_STATES):
            position = state.position + NEARBY * length * random.normal(size=shape)
            orientation = multiply(state.orientation, exp(NEARBY * random.normal(size=shape)))
            moved = State(position, orientation, state.velocity, state.angular_velocity)
            lanes = self.slots.state_to_lanes(moved.pack())
            self._drop_only_dependent(lanes, t)
            if self._project_uniformly(lanes, t):
                nearby.append(lanes)
        return nearby
