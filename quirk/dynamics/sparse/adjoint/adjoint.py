"""Gradient of a scalar function of a run with respect to the initial state and parameters, by the adjoint method.

A flat state (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states. There are D
directions, each a change of a parameter. A varied motion is a prescribed motion that depends on a parameter. A relation
is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.dynamics.model.directions import Directions
from quirk.functions.motion_kernels import MotionTable
from quirk.integrators import Tableau
from quirk.integrators.combinations import weights_of
from quirk.jit.simd import aligned

from ..codegen.motion_functions import place_functions
from ..solver.solver import Solver
from ..stepping.run_state import STEP_HEAD
from ..tangent.elements import OF_RELATIONS
from ..tangent.tables import LEVELS, MOVING, SEED
from ..tangent.tangent import Differential, refuse_friction
from ..variation.variation import BETWEEN_LOOKS, ChangedMotion, Steps
from .backward import Adjoint, propagate_back
from .elements import OF_BODY, ON_BODY, RequiredInputs, Sums
from .state import NUMBERS, Pullback


@dataclass(frozen=True)
class RequiredDerivatives:
    """Inputs of all force laws, or of all relations, with respect to which derivatives are required.

    A varied motion is a prescribed motion that depends on a parameter; a relation is a constraint given by a function.

    Attributes
    ----------
    places : indices of the inputs, by index of the force element or relation
    motions : varied motions of these elements, each with its index among all varied motions
    """

    places: Mapping[int, Sequence[int]]
    motions: Sequence[tuple[int, ChangedMotion]]

    @classmethod
    def of(cls, directions: Directions, motions: Sequence[ChangedMotion], of_relations: bool) -> RequiredDerivatives:
        """Return the inputs that vary along the directions, or that are values of varied motions.

        They are inputs of relations (constraint functions) if `of_relations`, otherwise inputs of force laws.
        """
        inputs_of = directions.relations if of_relations else directions.laws
        mine = [(m, motion) for m, motion in enumerate(motions) if motion.of_relation == of_relations]
        return cls({e: list(inputs) for e, inputs in inputs_of.items()}, mine)

    def entries(self, elements: int) -> list[list[tuple[int, int]]]:
        """Return, for each of `elements` elements, a list of the inputs with respect to which derivatives are required.

        An input is given by a pair: its index among the inputs of the element, and the index of the varied motion whose
        value it is, or -1.
        """
        entries: list[list[tuple[int, int]]] = [[] for _ in range(elements)]
        for e, places in self.places.items():
            entries[e] += [(place, -1) for place in places]
        for m, motion in self.motions:
            entries[motion.element].append((motion.place, m))
        return entries

    def required_inputs(self, elements: int) -> RequiredInputs:
        """Return the inputs with respect to which derivatives are required, as arrays for compiled code."""
        entries = self.entries(elements)
        flat = np.array([pair for of_element in entries for pair in of_element], dtype=np.int64).reshape(-1, 2)
        first = np.cumsum([0, *(len(of_element) for of_element in entries)])
        return RequiredInputs(first, flat[:, 0].copy(), flat[:, 1].copy(), np.zeros(len(flat)))

    def add_derivatives(
        self, required: RequiredInputs, variations: Mapping[int, Mapping[int, np.ndarray]], into: np.ndarray
    ) -> None:
        """Add the derivatives of the scalar function in all D directions to `into` (D,).

        The derivative in a direction is a sum over inputs: the derivative with respect to the input, from `required`,
        times the variation of the input in this direction, from `variations` by index of the element and of the input.
        """
        directions = {m: motion.direction for m, motion in self.motions}
        for e in range(len(required.first) - 1):
            for p in range(required.first[e], required.first[e + 1]):
                if required.motion[p] >= 0:
                    into[directions[int(required.motion[p])]] += required.derivatives[p]
                else:
                    into += variations[e][int(required.places[p])] * required.derivatives[p]


class AdjointPropagation:
    """Adjoint (backward) propagation of a gradient over the steps of a run.

    The solver must not be used by another object at the same time.

    Parameters
    ----------
    solver : evaluator of the model
    tableau : coefficients of the Runge-Kutta method
    baumgarte : Baumgarte's rates (alpha, beta), 1/s
    projects : whether the run is projected onto the constraints
    """

    def __init__(self, solver: Solver, tableau: Tableau, baumgarte: tuple[float, float], projects: bool) -> None:
        refuse_friction(solver, "gradients by the adjoint method: use sensitivities without objective=")
        self.solver, self.differential = solver, Differential(solver)
        self._weights, self._baumgarte, self._projects = weights_of(tableau), baumgarte, projects

    def along(
        self,
        steps: Steps,
        rows: np.ndarray,
        sources: np.ndarray,
        directions: Directions,
        motions: Sequence[ChangedMotion],
        last_angles: np.ndarray,
        end_gradient: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients of a scalar function with respect to the initial state (13 n + k,) and parameters (D,).

        Parameters
        ----------
        steps : steps of the run
        rows : (steps + 1,) index in `sources` of the time at the start of each step, and of the end of the run; -1 for
            times that are not output times
        sources : (nt, 13 n + k) partial derivatives of the function with respect to the states at output times
        directions, motions : directions in parameters, and variations of prescribed motions
        last_angles : (K, 3) joint angles at the end, rad
        end_gradient : (13 n + k,) derivatives of the function with respect to the last state, due to later steps
        """
        solver, slots = self.solver, self.solver.slots
        count, end = len(steps.trail), float(steps.trail[-1, 1])
        last = slots.state_to_lanes(steps.end)
        rank = solver.settle(last.copy(), end)
        solver.applied.refer(end, last_angles)
        self.differential.set_directions(Directions.none(solver.model, 1), 0)
        trail = aligned((count + 1) * (STEP_HEAD + solver.size))
        trail[: steps.trail.size] = steps.trail.ravel()
        trail[steps.trail.size + STEP_HEAD :] = last
        laws, relations = (RequiredDerivatives.of(directions, motions, of_relations) for of_relations in (False, True))
        adjoint, owners = self._adjoint(
            trail, rows, self._to_lanes(sources), max(rank, self._best), laws, relations, motions
        )
        adjoint.gradient[:] = self._to_lanes(end_gradient[None])
        at_once = max(1, BETWEEN_LOOKS // (4 * self._weights.stages * solver.size))
        for final in range(count, 0, -at_once):
            with solver.applied.calling():
                propagate_back(solver.mechanism, adjoint, max(0, final - at_once), final, solver.applied.stop)
            solver.applied.check(end)
        del owners  # the addresses of motions are in use until here
        by_parameters = self._by_bodies(adjoint.pullback, directions)
        laws.add_derivatives(adjoint.pullback.sums.laws, directions.laws, by_parameters)
        relations.add_derivatives(adjoint.pullback.sums.relations, directions.relations, by_parameters)
        return slots.state_from_lanes(adjoint.gradient[None])[0], by_parameters

    @property
    def _best(self) -> int:
        return int(self.solver.counts.best_rank)

    def _adjoint(
        self,
        trail: np.ndarray,
        rows: np.ndarray,
        sources: np.ndarray,
        rank: int,
        laws: RequiredDerivatives,
        relations: RequiredDerivatives,
        motions: Sequence[ChangedMotion],
    ) -> tuple[Adjoint, list[object]]:
        solver, size, stages = self.solver, self.solver.size, self._weights.stages
        adjoint = Adjoint(
            pullback=self._pull(laws, relations, motions),
            weights=self._weights,
            alpha=self._baumgarte[0],
            beta=self._baumgarte[1],
            projects=self._projects,
            rank=rank,
            trail=trail,
            rows=rows,
            sources=sources,
            states=aligned(stages * size),
            slopes=aligned(stages * size),
            slope_gradients=aligned(stages * size),
            gradient=aligned(size),
            scratch=aligned(size),
        )
        named = [("sensitivities, motion", motion.motion) for motion in motions]
        watch, refuse = solver.applied.watched, solver.refuse
        kept, _ = place_functions(adjoint.pullback.sums.motions, named, OF_RELATIONS, watch, refuse)
        return adjoint, kept

    def _pull(
        self, laws: RequiredDerivatives, relations: RequiredDerivatives, motions: Sequence[ChangedMotion]
    ) -> Pullback:
        solver, slots = self.solver, self.solver.slots
        tangents, S, K = self.differential.tangents, slots.lanes, len(solver.work.x) // 8
        free, seeds = np.zeros(S, dtype=np.int64), np.zeros((2, S, SEED // 8, 8))
        for slot in slots.slot[: len(solver.model.mass)]:
            free[slot] = 1
            seeds[0, slot, :6, :6] = seeds[1, slot, 6:, :6] = np.eye(6)
        flat = aligned(seeds.size)
        flat[:] = seeds.ravel()
        sums = Sums(
            free=free,
            moving=aligned(2 * MOVING * S),
            loads=aligned(ON_BODY * S),
            levels=aligned(LEVELS * 8 * K),
            bodies=aligned(OF_BODY * S),
            total=aligned(8),
            laws=laws.required_inputs(len(solver.model.forces)),
            relations=relations.required_inputs(len(self.differential.relations)),
            motions=MotionTable.of([motion.motion for motion in motions]),
            taylor=np.zeros(OF_RELATIONS + 1),
        )
        return Pullback(tangents=tangents, sums=sums, seeds=flat, numbers=np.zeros(NUMBERS * S), gravity=aligned(8))

    def _by_bodies(self, pullback: Pullback, directions: Directions) -> np.ndarray:
        """Return the part of the gradient (D,) that is due to masses, inertias and gravity, in D directions."""
        numbers = pullback.numbers.reshape(-1, NUMBERS)[self.solver.slots.slot[: len(self.solver.model.mass)]]
        by_inertia = np.einsum("nij,nijd->d", numbers[:, 1:].reshape(-1, 3, 3), directions.inertia)
        return numbers[:, 0] @ directions.mass + by_inertia + pullback.gravity[:3] @ directions.gravity

    def _to_lanes(self, sources: np.ndarray) -> np.ndarray:
        """Convert gradients with respect to flat states (nt, 13 n + k) to a single array in blocks of eight bodies."""
        slots, size = self.solver.slots, self.solver.size
        flat = aligned(len(sources) * size)
        for n, source in enumerate(sources):
            lanes = slots.state_to_lanes(source)
            lanes.reshape(-1)[: slots.first_auxiliary] = slots.to_lanes(source[: 13 * slots.bodies].reshape(-1, 13))
            flat[n * size : (n + 1) * size] = lanes
        return flat
