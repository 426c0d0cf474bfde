"""A whole run in compiled code, entered for a tenth of a second at a time so that it can be watched and stopped."""

from __future__ import annotations

import time

import numpy as np

from quirk.integrators import Breaks, Statistics, Tableau, Tolerance
from quirk.integrators.adaptive import collapsed, starting_step
from quirk.integrators.combinations import weights_of
from quirk.integrators.control import SMALLEST_ERROR
from quirk.integrators.fixed import stepped_off
from quirk.integrators.step import IntegrationError, stalled
from quirk.interruption import Held
from quirk.lanes import aligned

from ...turns import Turns
from ..kernels.project import CORRECTIONS, FACTORISATIONS
from ..march.run import (
    AGAIN,
    ASKED,
    BEST_RANK,
    CLEARED,
    CLOCK,
    COLLAPSED,
    DONE,
    EVALUATIONS,
    FRESH,
    GRID,
    KEPT,
    LOST_BETWEEN,
    LOW,
    MARK,
    NOT_FINITE,
    OFF_BETWEEN,
    OFF_CONSTRAINTS,
    PIECE,
    PREVIOUS,
    REJECTED,
    REST,
    SEEN,
    STALL,
    STALLED,
    STEPS,
    STOPPED,
    SUSPECT,
    T_NEW,
    H,
    Run,
    Settings,
    T,
)
from ..march.runge_kutta import RungeKutta, march_runge_kutta
from .closer_look import closer_look
from .flow import SparseFlow
from .probed import Functions, Stretch

# Wall time between two entries, s: as often as progress is shown and the keyboard is heard.
ENTRY_TIME = 0.1
FIRST_ENTRY_STEPS = 10
# Room for kept states, in numbers; at least one state.
ROOM, MOST_ROOM = 2**22, 2**14
# Where a closer look at a step finds nothing, so many steps go by until the next; so many times as many if that finds
# nothing either, and at most so many.
LEAST_REST, REST_GROWTH, MOST_REST = 2, 2, 1000


class CompiledRun:
    """Integrates from a state on the constraints.

    Parameters
    ----------
    flow : SparseFlow
    y : (13 n + k,) where to start
    tableau, settings : how to go on
    breaks : at which steps end; those found on the way are added
    asked : times to keep, or None for all steps
    angles : (K, 3) of joints, with the turns that they have made
    statistics : filled while the run goes on

    Attributes
    ----------
    times, states, quadrants : what was kept so far, of each entry into compiled code: arrays (k,), flat states
        (k, 13 n + ...), and (k, 2 K)
    """

    def __init__(
        self,
        flow: SparseFlow,
        y: np.ndarray,
        tableau: Tableau,
        settings: Settings,
        breaks: Breaks,
        asked: np.ndarray | None,
        angles: np.ndarray,
        statistics: Statistics,
    ) -> None:
        solver = flow.solver
        self._flow, self._tableau, self._start = flow, tableau, y
        self.solver, self.settings, self.statistics = solver, settings, statistics
        self._breaks, weights = breaks, weights_of(tableau)
        self._functions = Functions(solver, tableau, settings.fixed > 0)
        if not self._functions.count:
            self.settings = settings._replace(gap=np.inf)
        room = max(1, min(ROOM // solver.size, MOST_ROOM))
        solver.counts[:BEST_RANK] = 0
        for entry in (STALL, PIECE, GRID, REST, FRESH):
            solver.counts[entry] = 0
        self.stepper = RungeKutta(
            weights=weights,
            exponent=weights.exponent,
            k=aligned(solver.size * tableau.buffers),
            stage=aligned(solver.size),
            change=aligned(solver.size),
        )
        self.run = Run(
            y=solver.slots.state_to_lanes(y),
            y_new=aligned(solver.size),
            clock=np.zeros(CLOCK),
            counts=solver.counts,
            asked=np.zeros(0) if asked is None else asked,
            times=np.zeros(room),
            states=aligned(room * solver.size),
            stop=solver.applied.stop,
            pieces=np.array(breaks.pieces(settings.start)).ravel(),
            functions=self._functions.asked,
            counter=solver.model.joints.counter(
                solver.slots, solver.model.carried.state(y), room, blind=settings.fixed > 0
            ),
        )
        self._angles = angles
        self.times: list[np.ndarray] = []
        self.states: list[np.ndarray] = []
        self.quadrants: list[np.ndarray] = []
        self._entry_steps, self._begun, self._rest = FIRST_ENTRY_STEPS, False, LEAST_REST
        clock = self.run.clock
        clock[CLEARED] = -np.inf
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
    def turns(self) -> Turns:
        """The turns of joints at what was kept so far."""
        start = self.solver.model.carried.state(self._start)
        return Turns.since(self.solver.model.joints, start.orientation, self._angles, np.vstack(self.quadrants))

    @property
    def rank(self) -> int:
        """Number of independent rows met along the way."""
        return int(self.run.counts[BEST_RANK])

    @property
    def trouble(self) -> BaseException | None:
        """The exception that a user's function raised when last called, or None."""
        return self.solver.applied.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return the error of a force whose loads were not finite when last evaluated, at time t; else None."""
        return self.solver.applied.undefined(t)

    def _begin(self) -> None:
        """Evaluate at the start and choose a first step."""
        flow, settings, solver, y = self._flow, self.settings, self.solver, self._start
        piece = self._breaks.piece(settings.start)
        solver.applied.refer(settings.start, self._angles)
        slope = flow(piece.low, y)
        if solver.model.reads_angles:
            solver.applied.refer(settings.start, self._angles, solver.model.joints.rates(solver.model.carried.state(y)))
        self.stepper.k[: solver.size] = solver.slots.state_to_lanes(slope)
        self._functions.note()
        if settings.fixed == 0:
            carried = solver.model.carried
            if not np.isfinite(slope).all():
                raise collapsed(settings.start, y[: carried.counted], slope[None, : carried.counted])
            tolerance = Tolerance(settings.rtol, settings.atol, carried.starts, carried.counted)
            h = starting_step(flow, piece.low, y, slope, piece.high, self._tableau, tolerance)
            self.run.clock[H] = min(max(h, 2 * self._breaks.shortest(settings.start)), piece.first)
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
        applied = self.solver.applied
        # What was computed is written down before anything is raised, Ctrl-C included.
        with applied.calling(), Held(applied.stop):
            outcome = self._enter()
            if outcome == SUSPECT:
                self._look_closer()
        if outcome not in (AGAIN, DONE, STOPPED, SUSPECT):
            raise self._error(outcome)
        # A stop that raised nothing was none: whoever handles Ctrl-C wants the run to go on.
        return outcome != DONE

    def _enter(self) -> int:
        """Take steps in compiled code and keep their states; returns the reason why it stopped."""
        run, started = self.run, time.perf_counter()
        run.counts[KEPT] = 0
        before = run.counts[STEPS] + run.counts[REJECTED]
        outcome = march_runge_kutta(self.solver.mechanism, self.stepper, self.settings, run, self._entry_steps)
        kept = run.counts[KEPT]
        if kept:
            quadrants = run.counter.kept[: kept * len(run.counter.quadrants)]
            self._record(run.times[:kept].copy(), self._rows(run.states[: kept * self.solver.size]), quadrants)
        self._count()
        steps, elapsed = run.counts[STEPS] + run.counts[REJECTED] - before, time.perf_counter() - started
        pace = steps / max(elapsed, 1e-6)
        self._entry_steps = int(min(max(1, ENTRY_TIME * pace), 10 * self._entry_steps))
        return int(outcome)

    def _look_closer(self) -> None:
        """Look at the functions of the step just computed; if one changes abruptly, it is taken again, up to there."""
        run, settings, counts, clock = self.run, self.settings, self.run.counts, self.run.clock
        t, h, piece = float(clock[T]), float(clock[T_NEW] - clock[T]), self._breaks.piece(float(clock[T]))
        step = Stretch(t, h, piece.low, min(piece.high, float(clock[T_NEW])), settings.gap)
        functions, seen = self._functions, float(clock[SEEN])
        added = [
            self._breaks.add(*found) for p in range(functions.count) for found in closer_look(functions, p, step, seen)
        ]
        if any(added):
            pieces = np.array(self._breaks.pieces(t)).ravel()
            self.run = run._replace(pieces=pieces)
            counts[PIECE], counts[FRESH], clock[H] = 0, int(pieces[LOW] > t), h
            counts[REST], self._rest = 0, LEAST_REST
            return
        clock[CLEARED] = max(clock[CLEARED], clock[SEEN]) if clock[SEEN] < np.inf else clock[CLEARED]
        counts[REST] = self._rest
        self._rest = min(REST_GROWTH * self._rest, MOST_REST)

    def close(self) -> None:
        """Keep also the state that a run reached which ended early."""
        if not self.times or self.reached > self.times[-1][-1]:
            self._record(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)

    def _record(self, times: np.ndarray, states: np.ndarray, quadrants: np.ndarray) -> None:
        self.quadrants.append(quadrants.reshape(len(times), -1).astype(np.int32))
        self.times.append(times)
        self.states.append(states)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """Flat states (times, 13 n + k) from lanes (times * size,)."""
        return self.solver.slots.state_from_lanes(lanes.reshape(-1, self.solver.size))

    def _count(self) -> None:
        counts, statistics = self.run.counts, self.statistics
        statistics.steps, statistics.rejected = int(counts[STEPS]), int(counts[REJECTED])
        statistics.evaluations = self._flow.evaluations + int(counts[EVALUATIONS])
        called = self.solver.applied.in_python
        statistics.in_python = {who: (int(calls), spent) for who, (calls, spent) in called.items() if calls}
        statistics.corrections, statistics.factorisations = int(counts[CORRECTIONS]), int(counts[FACTORISATIONS])

    def _error(self, outcome: int) -> BaseException:
        run, clock = self.run, self.run.clock
        t, y, y_new = float(clock[T]), self._rows(run.y)[0], self._rows(run.y_new)[0]
        if outcome == COLLAPSED:
            stages = self.stepper.k[: self.solver.size * (self.stepper.weights.stages + 1)]
            counted = self.solver.model.carried.counted
            return collapsed(t, y[:counted], self._rows(stages)[:, :counted], self._breaks)
        if outcome == STALLED:
            return stalled(t, t - float(clock[MARK]))
        if outcome == LOST_BETWEEN:
            return IntegrationError("the state is not finite between two steps", t)
        if outcome == OFF_BETWEEN:
            return IntegrationError("the state left the constraints between two steps", t)
        assert outcome in (NOT_FINITE, OFF_CONSTRAINTS)
        return stepped_off(t, float(clock[T_NEW]), y_new)
