"""Changes of a run's states along directions of its start and of parameters: the compiled variation, as Python asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.integrators import Tableau
from quirk.integrators.combinations import weights_of
from quirk.lanes import WIDTH, aligned
from quirk.motion import Motion
from quirk.motion_table import MotionTable

from ...directions import Directions
from ..march.run import BEST_RANK, STEP_HEAD
from ..tangent.along import Variation, vary_along
from ..tangent.elements import OF_LAWS, OF_RELATIONS
from ..tangent.tables import ELEMENT, INPUT, INPUTS
from .motion_functions import place_functions
from .solver import Solver
from .tangent import Differential

# Numbers computed between two looks at the keyboard: steps times stages times size.
BETWEEN_LOOKS = 1_000_000


@dataclass(frozen=True)
class Steps:
    """Steps that a run took with one set of active parts.

    Attributes
    ----------
    trail : (n, 8 + size) as `march.run` has them
    end : (13 n + k,) the state at the end of the last
    angles : (K, 3) rad, of all joints at the start
    """

    trail: np.ndarray
    end: np.ndarray
    angles: np.ndarray


@dataclass(frozen=True)
class ChangedMotion:
    """How a motion changes in one direction.

    Attributes
    ----------
    of_relation : whether a relation follows it, or a law
    element : number of that among all of the model
    place : the first of its inputs that are the motion
    direction : number
    motion : by what it changes
    """

    of_relation: bool
    element: int
    place: int
    direction: int
    motion: Motion


class Varied:
    """Finds how the states of a run change, with a solver that nothing else may use meanwhile.

    Parameters
    ----------
    solver : Solver
    tableau : of the method that took the steps
    baumgarte : (alpha, beta) 1/s
    projects : whether the run keeps to the constraints
    """

    def __init__(self, solver: Solver, tableau: Tableau, baumgarte: tuple[float, float], projects: bool) -> None:
        self.solver, self.differential = solver, Differential(solver)
        self._weights, self._baumgarte = weights_of(tableau), baumgarte
        self._projects = projects and len(solver.tables.nodes.rows) > 0

    def along(
        self,
        steps: Steps,
        start: np.ndarray,
        directions: Directions,
        motions: Sequence[ChangedMotion],
        times: np.ndarray,
        states: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes (D, nt, 13 n + k) at asked times and those (D, 13 n + k) at the end.

        Parameters
        ----------
        steps : Steps
        start : (D, 13 n + k) changes of the state at the start; if the run keeps to the constraints, they are moved to
            the nearest that do so
        directions : of parameters alone
        motions : those that change beside them
        times, states : (nt,) and (nt, 13 n + k), when changes are asked for and the states there
        """
        parts = [
            self._eight(steps, start[d : d + WIDTH], directions, d, motions, (times, states))
            for d in range(0, len(start), WIDTH)
        ]
        found, end = zip(*parts, strict=True)
        return np.concatenate(found), np.concatenate(end)

    def _eight(
        self,
        steps: Steps,
        start: np.ndarray,
        directions: Directions,
        first: int,
        motions: Sequence[ChangedMotion],
        asked: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        solver, slots, size, count = self.solver, self.solver.slots, self.solver.size, len(start)
        steps_taken, t = len(steps.trail), float(steps.trail[0, 0])
        rank = solver.settle(steps.trail[0, STEP_HEAD:].copy(), t)
        solver.applied.refer(t, steps.angles)
        self.differential.give(directions, first)
        mine = [one for one in motions if first <= one.direction < first + WIDTH]
        table, kept, moved = self._moved(mine, first)
        buffers, nt = self._weights.buffers, len(asked[0])
        trail = aligned((steps_taken + 1) * (STEP_HEAD + size))
        trail[: steps.trail.size] = steps.trail.ravel()
        trail[steps.trail.size + STEP_HEAD :] = slots.state_to_lanes(steps.end)
        states = aligned(nt * size)
        states[:] = np.concatenate([np.zeros(0), *(slots.state_to_lanes(y) for y in asked[1])])
        variation = Variation(
            weights=self._weights,
            directions=count,
            alpha=self._baumgarte[0],
            beta=self._baumgarte[1],
            projects=self._projects,
            rank=max(rank, int(solver.counts[BEST_RANK])),
            trail=trail,
            asked=np.ascontiguousarray(asked[0]),
            states=states,
            clock=np.full(1, np.nan),
            counts=np.zeros(1, dtype=np.int64),
            motions=table,
            moved=moved,
            taylor=np.zeros(OF_RELATIONS + 1),
            slopes=aligned(buffers * size),
            stage=aligned(size),
            changes=aligned(count * size),
            changes_new=aligned(count * size),
            changes_at=aligned(count * size),
            rates=aligned(count * buffers * size),
            found=aligned(count * nt * size),
        )
        variation.changes[:] = np.concatenate([self._to_lanes(change) for change in start])
        at_once = max(1, BETWEEN_LOOKS // (buffers * size * (1 + count)))
        for begin in range(0, steps_taken, at_once):
            with solver.applied.calling():
                end = min(begin + at_once, steps_taken)
                vary_along(solver.mechanism, self.differential.tangents, variation, begin, end, solver.applied.stop)
            solver.applied.check(t)
        del kept  # functions of motions were needed until here
        found = self._from_lanes(variation.found.reshape(count, nt, size))
        return found, self._from_lanes(variation.changes.reshape(count, size))

    def _moved(self, motions: Sequence[ChangedMotion], first: int) -> tuple[MotionTable, list[object], np.ndarray]:
        """Motions by which others change, the functions that must live with them, and where the changes belong."""
        table = MotionTable.of([one.motion for one in motions])
        watch, refuse = self.solver.applied.watched, self.solver.refuse
        named = [("sensitivities, motion", one.motion) for one in motions]
        kept, _ = place_functions(table, named, OF_RELATIONS, watch, refuse)  # fills OF_RELATIONS + 1 numbers
        entries = []
        for one in motions:
            given = self.differential.tangents.relations if one.of_relation else self.differential.tangents.laws
            o = ELEMENT * one.element
            place = int(given.entries[o + INPUT] + given.entries[o + INPUTS]) + WIDTH * one.place
            order = OF_RELATIONS if one.of_relation else OF_LAWS
            entries.append((int(one.of_relation), place, one.direction - first, order))
        return table, kept, np.array(entries, dtype=np.int64).ravel()

    def _to_lanes(self, change: np.ndarray) -> np.ndarray:
        """A change (13 n + k,) of a state in blocks of eight; nothing changes in other slots."""
        slots = self.solver.slots
        lanes = slots.state_to_lanes(change)
        lanes.reshape(-1)[: slots.first_carried] = slots.to_lanes(change[: 13 * slots.bodies].reshape(-1, 13))
        return lanes

    def _from_lanes(self, lanes: np.ndarray) -> np.ndarray:
        """Changes (..., 13 n + k) from those in blocks of eight (..., size)."""
        return self.solver.slots.state_from_lanes(lanes)
