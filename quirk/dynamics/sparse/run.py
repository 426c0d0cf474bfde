"""A whole run in compiled code, entered for a tenth of a second at a time so that it can be watched and stopped."""

from __future__ import annotations

import time

import numpy as np

from quirk.errors import InputError
from quirk.integrators import Statistics, Tableau, Tolerance
from quirk.integrators.adaptive import collapsed, starting_step
from quirk.integrators.combinations import weights_of
from quirk.integrators.control import SMALLEST_ERROR
from quirk.integrators.fixed import stepped_off
from quirk.integrators.step import IntegrationError, stalled
from quirk.lanes import aligned
from quirk.state import State, vector_starts

from .advance import (
    ADVANCE,
    AGAIN,
    ASKED,
    BEST_RANK,
    CLOCK,
    COLLAPSED,
    CORRECTIONS,
    DONE,
    EVALUATIONS,
    FACTORISATIONS,
    KEPT,
    MARK,
    NOT_FINITE,
    OFF_BETWEEN,
    OFF_CONSTRAINTS,
    PREVIOUS,
    REJECTED,
    STALL,
    STALLED,
    STEPS,
    STOPPED,
    T_NEW,
    H,
    Run,
    Settings,
    T,
    enter,
)
from .flow import SparseFlow

# Wall time between two entries, s: as often as progress is shown and the keyboard is heard.
ENTRY_TIME = 0.1
FIRST_ENTRY_STEPS = 10
# Room for kept states, in numbers; at least one state.
ROOM, MOST_ROOM = 2**22, 2**14


class CompiledRun:
    """Integrates from a state on the constraints.

    Parameters
    ----------
    flow : SparseFlow
    y : (13 n,) where to start
    tableau, settings : how to go on
    asked : times to keep, or None for all steps
    angles : (K, 3) of joints, with the turns that they have made
    statistics : filled while the run goes on

    Attributes
    ----------
    times, states, quadrants : what was kept so far: arrays (k,), (k, 13 n), (k, 2 K) of each entry
    """

    def __init__(
        self,
        flow: SparseFlow,
        y: np.ndarray,
        tableau: Tableau,
        settings: Settings,
        asked: np.ndarray | None,
        angles: np.ndarray,
        statistics: Statistics,
    ) -> None:
        solver = flow.solver
        self._flow, self._tableau, self._start = flow, tableau, y
        self.solver, self.settings, self.statistics = solver, settings, statistics
        self.weights = weights_of(tableau)
        room = max(1, min(ROOM // solver.size, MOST_ROOM))
        solver.counts[:BEST_RANK] = 0
        solver.counts[STALL] = 0
        self.run = Run(
            y=solver.slots.state_to_lanes(y),
            y_new=aligned(solver.size),
            stage=aligned(solver.size),
            change=aligned(solver.size),
            k=aligned(solver.size * tableau.buffers),
            clock=np.zeros(CLOCK),
            counts=solver.counts,
            asked=np.zeros(0) if asked is None else asked,
            times=np.zeros(room),
            states=aligned(room * solver.size),
            stop=solver.applied.stop,
            counter=solver.model.joints.counter(solver.slots, State.unpack(y), room, blind=settings.fixed > 0),
        )
        self._angles = angles
        self.times: list[np.ndarray] = []
        self.states: list[np.ndarray] = []
        self.quadrants: list[np.ndarray] = []
        self._entry_steps, self._begun = FIRST_ENTRY_STEPS, False
        clock = self.run.clock
        clock[T] = clock[MARK] = settings.start
        clock[PREVIOUS] = SMALLEST_ERROR
        if asked is None:
            self._record(np.array([settings.start]), y[None], self.run.counter.quadrants)
        elif len(asked) and asked[0] <= settings.start:
            self._record(asked[:1], y[None], self.run.counter.quadrants)
            self.run.counts[ASKED] = 1

    @property
    def reached(self) -> float:
        """Time up to which the motion is known, s."""
        return float(self.run.clock[T])

    @property
    def rank(self) -> int:
        """Number of independent rows met along the way."""
        return int(self.run.counts[BEST_RANK])

    @property
    def trouble(self) -> BaseException | None:
        """What a user's function raised last."""
        return self.solver.applied.trouble

    def _begin(self) -> None:
        """Evaluate at the start and choose a first step."""
        flow, settings, solver, y = self._flow, self.settings, self.solver, self._start
        solver.applied.refer(settings.start, self._angles)
        slope = flow(settings.start, y)
        if solver.model.reads_angles:
            solver.applied.refer(settings.start, self._angles, solver.model.joints.rates(State.unpack(y)))
        self.run.k[: solver.size] = solver.slots.state_to_lanes(slope)
        if settings.fixed == 0:
            if not np.isfinite(slope).all():
                raise collapsed(settings.start, y, slope[None])
            tolerance = Tolerance(settings.rtol, settings.atol, vector_starts(solver.slots.bodies))
            self.run.clock[H] = starting_step(flow, settings.start, y, slope, settings.end, self._tableau, tolerance)
        self._begun = True

    def proceed(self) -> bool:
        """Compute for a moment; returns whether there is more to do.

        Raises
        ------
        IntegrationError
            If the run cannot go on.
        """
        if not self._begun:
            self._begin()
        constants, nodes, pattern, work = self.solver.arrays
        run, started = self.run, time.perf_counter()
        run.counts[KEPT] = 0
        before = run.counts[STEPS] + run.counts[REJECTED]
        outcome = enter(
            ADVANCE, constants, nodes, pattern, self.solver.applied.table, self.weights, self.settings, work, run,
            self._entry_steps,
        )  # fmt: skip
        kept = run.counts[KEPT]
        if kept:
            quadrants = run.counter.kept[: kept * len(run.counter.quadrants)]
            self._record(run.times[:kept].copy(), self._rows(run.states[: kept * self.solver.size]), quadrants)
        self._count()
        steps, elapsed = run.counts[STEPS] + run.counts[REJECTED] - before, time.perf_counter() - started
        pace = steps / max(elapsed, 1e-6)
        self._entry_steps = int(min(max(1, ENTRY_TIME * pace), 10 * self._entry_steps))
        if outcome not in (AGAIN, DONE):
            raise self._error(outcome)
        return outcome == AGAIN

    def close(self) -> None:
        """Keep also the state that a run reached which ended early."""
        if not self.times or self.reached > self.times[-1][-1]:
            self._record(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)

    def _record(self, times: np.ndarray, states: np.ndarray, quadrants: np.ndarray) -> None:
        self.quadrants.append(quadrants.reshape(len(times), -1).astype(np.int32))
        self.times.append(times)
        self.states.append(states)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """States (k, 13 n) from lanes (k size,)."""
        return self.solver.slots.state_from_lanes(lanes.reshape(-1, self.solver.size))

    def _count(self) -> None:
        counts, statistics = self.run.counts, self.statistics
        statistics.steps, statistics.rejected = int(counts[STEPS]), int(counts[REJECTED])
        statistics.evaluations = self._flow.evaluations + int(counts[EVALUATIONS])
        statistics.corrections, statistics.factorisations = int(counts[CORRECTIONS]), int(counts[FACTORISATIONS])

    def _error(self, outcome: int) -> BaseException:
        run, clock = self.run, self.run.clock
        t, y, y_new = float(clock[T]), self._rows(run.y)[0], self._rows(run.y_new)[0]
        if outcome == STOPPED:
            error = self.trouble or InputError("a function of the user asked to stop")
            self.solver.applied.stop[0] = 0
            return error
        if outcome == COLLAPSED:
            stages = run.k[: self.solver.size * (self.weights.stages + 1)]
            return collapsed(t, y, self._rows(stages))
        if outcome == STALLED:
            return stalled(t, t - float(clock[MARK]))
        if outcome == OFF_BETWEEN:
            return IntegrationError("the state left the constraints between two steps", t)
        assert outcome in (NOT_FINITE, OFF_CONSTRAINTS)
        return stepped_off(t, float(clock[T_NEW]), y_new)
