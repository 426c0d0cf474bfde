"""State variations of a run in directions of its initial state and of parameters: Python interface.

Variations are derivatives of the state along these directions. A relation is a constraint given by a function; the
pivot of a row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.dynamics.model.directions import Directions
from quirk.functions.motion import Motion
from quirk.functions.motion_kernels import MotionTable
from quirk.integrators import Method, Tableau
from quirk.integrators.combinations import weights_of
from quirk.jit.simd import WIDTH, aligned

from ..codegen.motion_functions import place_functions
from ..solver.solver import Solver
from ..stepping.run_state import STEP_HEAD, Settings
from ..tangent.elements import OF_LAWS, OF_RELATIONS
from ..tangent.tables import ELEMENT, INPUT, INPUTS
from ..tangent.tangent import Differential
from .error_control import resolution_of
from .explicit import ExplicitVariation, vary_along
from .implicit import ImplicitPropagator

# Steps times stages times state size per call of compiled code; Ctrl-C takes effect between calls.
BETWEEN_LOOKS = 1_000_000
# Below this ratio of error to tolerance substeps become longer until steps are no longer subdivided.
UNCUT = 0.1


@dataclass(frozen=True)
class Steps:
    """Consecutive steps of a run with the same method and the same enabled constraints and forces.

    Attributes
    ----------
    method : the integration method of these steps
    trail : (steps, 8 + size) header and initial state of each step, see `quirk.dynamics.sparse.stepping.run_state`
    end : (13 n + k,) state of n bodies and k auxiliary states at the end of the last step
    angles : (K, 3) initial angles of K joints, with full turns, rad
    """

    method: Method
    trail: np.ndarray
    end: np.ndarray
    angles: np.ndarray


@dataclass(frozen=True)
class ChangedMotion:
    """Variation of a prescribed motion (function of time) in one direction.

    Attributes
    ----------
    of_relation : True if the motion belongs to a relation, False if it belongs to a force law
    element : index of the relation or force law in the model
    place : index of the first input of the relation or force law that contains the motion
    direction : index of the direction
    motion : derivative of the motion with respect to the parameter, as a function of time
    """

    of_relation: bool
    element: int
    place: int
    direction: int
    motion: Motion


class ExplicitPropagator:
    """Propagation of state variations along the steps of a run of a Runge-Kutta method.

    Attributes
    ----------
    stages : number of state vectors stored per step, from which the cost is estimated
    estimates_error : whether the method estimates the error of the variations
    """

    def __init__(self, solver: Solver, differential: Differential, tableau: Tableau) -> None:
        self._solver, self._differential, self._weights = solver, differential, weights_of(tableau)
        self.stages, self.estimates_error = self._weights.buffers, self._weights.errors > 0

    def new_data(self, common: dict[str, Any]) -> ExplicitVariation:
        """Return new arrays for the variations of a run; `common` are the fields shared with `ImplicitVariation`."""
        size = self._solver.size
        return ExplicitVariation(
            weights=self._weights,
            clock=np.full(1, np.nan),
            slopes=aligned(self.stages * size),
            rates=aligned(common["directions"] * self.stages * size),
            **common,
        )

    def propagate(self, variation: Any, first: int, last: int) -> None:
        """Propagate the state variations over the steps `first` to `last` - 1."""
        vary_along(self._solver.mechanism, self._differential.tangents, variation, first, last)


class VariationIntegrator:
    """State variations of a run in D directions.

    The solver must not be used by another object at the same time.

    Parameters
    ----------
    solver : evaluator of the model
    settings : settings of the run

    Attributes
    ----------
    rank : number of independent rows
    extents : (D, steps) norm of the pose variations at the end of each step
    pivots : (steps,) smallest pivot of the constraint rows at the end of each step
    coarse : first time at which even the shortest substeps did not resolve the variations, s
    worst : largest estimated relative error of the variations in an undivided step
    cuts : whether a step may have been subdivided
    """

    def __init__(self, solver: Solver, settings: Settings) -> None:
        self.solver, self.differential, self._settings = solver, Differential(solver), settings
        self._projects = settings.interval > 0 and len(solver.tables.nodes.rows) > 0
        self._implicit: ImplicitPropagator | None = None
        self.rank, self.extents, self.pivots = 0, np.zeros((0, 0)), np.zeros(0)
        self.coarse, self.worst, self.cuts = np.inf, 0.0, False

    def _propagator(self, method: Method) -> ExplicitPropagator | ImplicitPropagator:
        if isinstance(method, Tableau):
            return ExplicitPropagator(self.solver, self.differential, method)
        if self._implicit is None:
            self._implicit = ImplicitPropagator(self.solver, self.differential, self._settings)
        return self._implicit

    def along(
        self,
        steps: Steps,
        start: np.ndarray,
        directions: Directions,
        motions: Sequence[ChangedMotion],
        outputs: tuple[np.ndarray, np.ndarray],
        sizes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the state variations (D, nt, 13 n + k) at nt output times, and (D, 13 n + k) at the end.

        Parameters
        ----------
        steps : consecutive steps of the run
        start : (D, 13 n + k) variations of the initial state; projected onto the constraints if the run uses projection
        directions : directions in parameters; their state part is not used
        motions : variations of prescribed motions
        outputs : output times (nt,), s, and the states (nt, 13 n + k) at these times
        sizes : (D,) magnitudes of the parameters, see `resolution_of`
        """
        inputs, parts = self.solver.applied.table.inputs, []
        begin = inputs.copy()
        for d in range(0, len(start), WIDTH):
            inputs[:] = begin  # directions of friction forces change with the slip along the steps
            eight = slice(d, d + WIDTH)
            parts.append(self._eight(steps, start[eight], directions, d, motions, outputs, sizes[eight]))
        at_outputs, end, extents = zip(*parts, strict=True)
        self.extents = np.concatenate(extents)
        return np.concatenate(at_outputs), np.concatenate(end)

    def _eight(
        self,
        steps: Steps,
        start: np.ndarray,
        directions: Directions,
        first: int,
        motions: Sequence[ChangedMotion],
        outputs: tuple[np.ndarray, np.ndarray],
        sizes: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the variations in up to eight directions, beginning with direction `first`.

        The results are the variations at output times and at the end, and the norms of the pose variations at the ends
        of the steps. Other arguments are those of `along`.
        """
        solver, size, count = self.solver, self.solver.size, len(start)
        steps_taken, t = len(steps.trail), float(steps.trail[0, 0])
        rank = solver.settle(steps.trail[0, STEP_HEAD:].copy(), t)
        self.rank = max(rank, int(solver.counts.best_rank))
        solver.applied.refer(t, steps.angles)
        self.differential.set_directions(directions, first)
        present = [motion for motion in motions if first <= motion.direction < first + WIDTH]
        table, kept, moved = moved_by(self.differential, present, first)
        common = self._arrays(steps, outputs, count, table, moved)
        propagator = self._propagator(steps.method)
        estimates_error = propagator.estimates_error and self._settings.fixed == 0
        common["resolution"] = resolution_of(self._settings.rtol if estimates_error else 0.0, sizes)
        variation = propagator.new_data(common)
        variation.changes[:] = np.concatenate([self._to_lanes(change) for change in start])
        at_once = max(1, BETWEEN_LOOKS // (propagator.stages * size * (1 + count)))
        for begin in range(0, steps_taken, at_once):
            with solver.applied.calling():
                propagator.propagate(variation, begin, min(begin + at_once, steps_taken))
            solver.applied.check(t)
        self.coarse = min(self.coarse, variation.resolution.subdivision.coarse)
        self.worst = max(self.worst, variation.resolution.tolerance * variation.resolution.subdivision.worst)
        self.cuts = self.cuts or variation.resolution.subdivision.worst > UNCUT
        del kept  # the addresses of motions are in use until here
        at_outputs = self._from_lanes(variation.output_variations.reshape(count, len(outputs[0]), size))
        extents, self.pivots = variation.extents.reshape(-1, WIDTH).T[:count], variation.pivots
        return at_outputs, self._from_lanes(variation.changes.reshape(count, size)), extents

    def _arrays(
        self, steps: Steps, outputs: tuple[np.ndarray, np.ndarray], count: int, table: MotionTable, moved: np.ndarray
    ) -> dict[str, Any]:
        """Return the fields that `ExplicitVariation` and `ImplicitVariation` have in common, for `count` directions.

        `outputs` are the output times and states, and `table` and `moved` the variations of prescribed motions.
        """
        solver, slots, size, steps_taken = self.solver, self.solver.slots, self.solver.size, len(steps.trail)
        nt = len(outputs[0])
        trail = aligned((steps_taken + 1) * (STEP_HEAD + size))
        trail[: steps.trail.size] = steps.trail.ravel()
        trail[steps.trail.size + STEP_HEAD :] = slots.state_to_lanes(steps.end)
        states = aligned(nt * size)
        states[:] = np.concatenate([np.zeros(0), *(slots.state_to_lanes(y) for y in outputs[1])])
        return {
            "directions": count,
            "alpha": self._settings.alpha,
            "beta": self._settings.beta,
            "projects": self._projects,
            "rank": self.rank,
            "length": self._settings.length,
            "extents": aligned(WIDTH * steps_taken),
            "pivots": aligned(steps_taken),
            "stop": solver.applied.stop,
            "trail": trail,
            "part": aligned(STEP_HEAD + size),
            "y_new": aligned(size),
            "requested_times": np.ascontiguousarray(outputs[0]),
            "states": states,
            "outputs_done": np.zeros(1, dtype=np.int64),
            "motions": table,
            "moved": moved,
            "taylor": np.zeros(OF_RELATIONS + 1),
            "stage": aligned(size),
            "changes": aligned(count * size),
            "changes_new": aligned(count * size),
            "changes_at": aligned(count * size),
            "output_variations": aligned(count * nt * size),
        }

    def _to_lanes(self, change: np.ndarray) -> np.ndarray:
        """Convert a state variation (13 n + k,) to a flat array in blocks of eight bodies, zero in empty slots."""
        slots = self.solver.slots
        lanes = slots.state_to_lanes(change)
        lanes.reshape(-1)[: slots.first_auxiliary] = slots.to_lanes(change[: 13 * slots.bodies].reshape(-1, 13))
        return lanes

    def _from_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """Convert state variations (..., size) in blocks of eight bodies to (..., 13 n + k)."""
        return self.solver.slots.state_from_lanes(lanes)


def moved_by(
    differential: Differential, motions: Sequence[ChangedMotion], first: int
) -> tuple[MotionTable, list[object], np.ndarray]:
    """Return the table of varied motions, the objects that own its functions, and the positions of the motions.

    The owners must exist while the table is in use. The third result contains four entries for each motion: whether it
    belongs to a relation (1) or a force law (0), the index of its first input, its direction, and the highest order of
    its time derivatives. `first` is the index of the first of the eight directions that are computed simultaneously.
    """
    table, solver = MotionTable.of([motion.motion for motion in motions]), differential.solver
    named = [("sensitivities, motion", motion.motion) for motion in motions]
    # Functions write a value and OF_RELATIONS derivatives.
    kept, _ = place_functions(table, named, OF_RELATIONS, solver.applied.watched, solver.refuse)
    entries = []
    for motion in motions:
        elements = differential.tangents.relations if motion.of_relation else differential.tangents.laws
        o = ELEMENT * motion.element
        place = int(elements.entries[o + INPUT] + elements.entries[o + INPUTS]) + WIDTH * motion.place
        order = OF_RELATIONS if motion.of_relation else OF_LAWS
        entries.append((int(motion.of_relation), place, motion.direction - first, order))
    return table, kept, np.array(entries, dtype=np.int64).ravel()
