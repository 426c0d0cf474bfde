"""A whole run in compiled code, entered for a tenth of a second at a time so that it can be watched and stopped."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.model.output_buffer import OutputBuffer
from quirk.dynamics.model.revolution_counter import FASTEST
from quirk.errors import SeriesWarning, outside
from quirk.integrators import (
    RADAU_IIA9,
    VERN9,
    Breaks,
    ImplicitMethod,
    Method,
    RadauIIA,
    Statistics,
    Tableau,
    Taylor,
    Tolerance,
)
from quirk.integrators.adaptive import collapsed, starting_step
from quirk.integrators.control import SMALLEST_ERROR
from quirk.integrators.fixed import stepped_off
from quirk.integrators.step import IntegrationError, stalled
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.jit.simd import aligned

from ..kernels.project import CORRECTIONS, FACTORISATIONS
from ..solver.solver import Solver
from ..tangent.tangent import refuse_friction
from .discontinuity_location import closer_look
from .event_functions import AT_ZERO, NOTED, WHEN, speeds
from .loop import MOST_PARTS
from .method_switching import AFRESH, Judged, MethodChange, MethodSwitching
from .methods import stepper_of
from .probed_functions import Functions, ProbedStretch
from .rhs import SparseFlow
from .run_state import (
    AGAIN,
    ASKED,
    BEST_RANK,
    BETWEEN,
    CAP,
    CLEARED,
    CLOCK,
    COLLAPSED,
    DONE,
    EARLIER,
    EVALUATIONS,
    EVENT,
    EXCHANGED,
    FRESH,
    GRID,
    HAPPENED,
    KEPT,
    LOST_BETWEEN,
    LOW,
    MARK,
    NOT_FINITE,
    OFF_BETWEEN,
    OFF_CONSTRAINTS,
    PIECE,
    PIVOT,
    PREVIOUS,
    REJECTED,
    REST,
    SEEN,
    SINGULAR,
    STALLED,
    STEP_HEAD,
    STEPS,
    STOPPED,
    SUSPECT,
    T_NEW,
    TRAILED,
    UNDEFINED,
    UNSETTLED,
    WAS_REJECTED,
    WITHIN,
    H,
    RunState,
    Settings,
    T,
)
from .slip import SlipPacing, nearly_unsolvable, slides_in_plane
from .watched_quantities import EventFunction, EventMonitor, Sides

# Wall time between two entries, s: as often as progress is shown and the keyboard is heard.
ENTRY_TIME = 0.1
FIRST_ENTRY_STEPS = 10
# Room for kept states, in numbers; at least one state.
ROOM, MOST_ROOM = 2**22, 2**14
# Room for steps that are noted: as much takes no time to make.
TRAIL_ROOM = 2**18
# Where a closer look at a step finds nothing, so many steps go by until the next; so many times as many if that finds
# nothing either, and at most so many.
LEAST_REST, REST_GROWTH, MOST_REST = 2, 2, 1000
# The method that takes over steps with a singular configuration. It tries each at full length, to pass: a shorter step
# would end closer by, from where less is within the tolerance.
PASSING = VERN9


@dataclass(frozen=True)
class ResumePoint:
    """How a run goes on where another set of active parts left it.

    Attributes
    ----------
    h : s, step to try, or 0 to find one
    grid : fixed steps that are whole
    asked : how many of the asked times are behind
    sides : of zero on which watched quantities are
    judged : which method is at work, and how it has advanced
    """

    h: float = 0.0
    grid: int = 0
    asked: int = 0
    sides: Sides = field(default_factory=dict)
    judged: Judged = field(default_factory=Judged)


@dataclass(frozen=True)
class RunPart:
    """Steps that were taken one after the other by one method.

    Attributes
    ----------
    method : Method
    start : (13 n + k,) the state where the first begins
    angles : (K, 3) rad, of all joints there
    trail : (n, 8 + size) as `march.run` has them
    """

    method: Method
    start: np.ndarray
    angles: np.ndarray
    trail: np.ndarray


@dataclass(frozen=True)
class Across:
    """A step with a singular configuration, which a Runge-Kutta method takes over.

    Attributes
    ----------
    end : s
    h : s, its size
    method : to go on with behind it
    """

    end: float
    h: float
    method: Method


class CompiledRun:
    """Integrates with one set of active parts, from a state on the constraints, as often as it is entered.

    Parameters
    ----------
    solver : Solver
    method, settings : how to go on
    breaks : at which steps end; those found on the way are added
    asked : times to keep, or None for all steps
    statistics : filled while the run goes on
    guards : what to watch
    switch : the method to go on with while the steps of an explicit one are limited by stability
    trailing : whether to note all steps that are taken

    Attributes
    ----------
    trail : the steps taken since it was entered, if they are noted
    kept : states kept since it was entered
    whole : (K, 3) rad, whole turns that the angles of joints had made before that
    hit : quantities that cross where it stands, at which something is to happen, and whether they rise or fall
    """

    def __init__(
        self,
        solver: Solver,
        method: Method,
        settings: Settings,
        breaks: Breaks,
        asked: np.ndarray | None,
        statistics: Statistics,
        guards: Sequence[EventFunction],
        switch: ImplicitMethod | None = None,
        trailing: bool = False,
    ) -> None:
        self._method, self._trailing = method, trailing
        self.solver, self.settings, self.statistics = solver, settings, statistics
        self._breaks, self._asked = breaks, asked
        self._functions = Functions(solver, method, settings.fixed > 0)
        # Series see no jumps between both ends of a step: their functions have none.
        self._gap = settings.gap
        if not self._functions.count or isinstance(method, Taylor):
            self.settings = settings._replace(gap=np.inf)
        room = max(1, min(ROOM // solver.size, MOST_ROOM))
        self._room = room if asked is None else max(1, min(room, len(asked)))
        self._steppers: dict[str, Any] = {}
        self.stepper = self._stepper_of(method)
        self._across: Across | None = None
        self.watch = EventMonitor(guards, solver)
        of_users = self._functions.count > 0
        self._pacing: MethodSwitching | SlipPacing = MethodSwitching(
            solver, method, settings, switch, self._stepper_of, of_users=of_users
        )
        if isinstance(method, Tableau) and settings.fixed == 0 and not trailing and slides_in_plane(solver):
            self._pacing = SlipPacing(solver, method, switch or RADAU_IIA9)
        # Not set, since to set so many at once takes as long as a short run.
        self._states = aligned(self._room * solver.size, fill=False)
        steps = max(1, min(TRAIL_ROOM // (STEP_HEAD + solver.size), MOST_ROOM))
        self._trail = aligned((steps + MOST_PARTS) * (STEP_HEAD + solver.size) if trailing else 0, fill=False)
        self._entry_steps = FIRST_ENTRY_STEPS

    def enter(self, flow: SparseFlow, t: float, y: np.ndarray, angles: np.ndarray, pace: ResumePoint) -> None:
        """Go on from a state (13 n + k,) on the constraints at time t, at which angles are (K, 3)."""
        solver, counts, settings = self.solver, self.solver.counts, self.settings
        self._flow, self._start, self._angles = flow, y, angles
        self._before = replace(self.statistics)
        counts[:BEST_RANK] = 0
        counts[BEST_RANK + 1 :] = 0
        counts[GRID], counts[UNSETTLED] = pace.grid, 1
        state = solver.model.carried.state(y)
        self.run = RunState(
            y=solver.slots.state_to_lanes(y),
            y_new=aligned(solver.size),
            clock=np.zeros(CLOCK),
            counts=counts,
            asked=np.zeros(0) if self._asked is None else self._asked,
            times=np.empty(self._room),
            states=self._states,
            stop=solver.applied.stop,
            pieces=np.array(self._breaks.pieces(t)).ravel(),
            functions=self._functions.asked,
            counter=solver.model.joints.counter(solver.slots, state, self._room, blind=settings.fixed > 0),
            watched=self.watch.table,
            trail=self._trail,
        )
        if self._across is not None:
            self._go_back()
        self.trail: list[RunPart] = []
        self.kept, self.whole = OutputBuffer(), solver.model.joints.whole_turns(state.orientation, angles)
        self.hit: list[tuple[Hashable, int]] = []
        self._begun, self._rest = False, LEAST_REST
        clock = self.run.clock
        clock[CLEARED], clock[CAP] = -np.inf, np.inf
        clock[T] = clock[MARK] = t
        clock[PREVIOUS], clock[H] = SMALLEST_ERROR, pace.h
        clock[EXCHANGED] = solver.model.carried.exchanged(y)
        if self._asked is not None:
            counts[ASKED] = pace.asked
        self.watch.take(pace.sides)
        first = self._pacing.start(t, pace.judged)
        if first is not None and (first.told or first.method is not self._method):
            self._change(first)

    def keep_here(self) -> None:
        """Keep the state where the run stands, before the first step and on either side of what happens between two."""
        self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)
        if self._asked is not None:
            asked = self.run.counts[ASKED]
            if asked < len(self._asked) and self._asked[asked] <= self.reached:
                self.run.counts[ASKED] += 1

    @property
    def pace(self) -> ResumePoint:
        """What to go on with, in another set of active parts."""
        counts = self.run.counts
        judged = self._pacing.judged(self.reached, self._tried)
        return ResumePoint(float(self.run.clock[H]), int(counts[GRID]), int(counts[ASKED]), self.watch.sides, judged)

    @property
    def state(self) -> np.ndarray:
        """Where the run stands, (13 n + k,)."""
        return self._rows(self.run.y)[0]

    @property
    def angles(self) -> np.ndarray:
        """Angles (K, 3), rad, of all joints where the run stands, with all turns made."""
        turns = Turns(self.solver.model.joints, self.run.counter.quadrants.reshape(1, -1, 2), self.whole)
        return turns.angles(self.solver.model.carried.state(self.state).orientation, 0)

    def jump(self, y: np.ndarray) -> None:
        """Go on from where the run stands with other velocities and internal variables, (13 n + k,)."""
        run = self.run
        run.y[:] = self.solver.slots.state_to_lanes(y)
        run.counts[FRESH], run.counts[UNSETTLED], run.counts[WAS_REJECTED] = 1, 1, 0
        run.clock[PREVIOUS] = SMALLEST_ERROR
        self._pacing.jumped(self.reached, self._tried)
        velocity = self.solver.model.carried.state(y).angular_velocity
        run.counter.clock[FASTEST] = np.sqrt((velocity**2).sum(axis=1)).max(initial=0.0)

    def events(self) -> list[tuple[Hashable, float, int, float]]:
        """Return what was noted since the last call: key of the guard, time, direction and total energy, J."""
        noted = self.watch.table.noted[: NOTED * self.run.counts[HAPPENED]].reshape(-1, NOTED)
        self.run.counts[HAPPENED] = 0
        guards, order = self.watch.guards, np.argsort(noted[:, WHEN], kind="stable")
        return [(guards[int(e)].key, float(t), int(way), float(energy)) for t, e, way, energy in noted[order]]

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
        """The exception that a user's function raised when last called, or None."""
        return self.solver.applied.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return the error of a force whose loads were not finite when last evaluated, at time t; else None.

        Also of friction that is about to have no solution where the run stands.
        """
        return self.solver.applied.undefined(t) or nearly_unsolvable(self.solver, self.run.y, self.reached)

    def _begin(self) -> None:
        """Evaluate where the run was entered and choose a first step."""
        flow, settings, solver, y, t = self._flow, self.settings, self.solver, self._start, self.reached
        piece = self._breaks.piece(t)
        rates = solver.model.joints.rates(solver.model.carried.state(y))
        self.watch.laws.refer(t, self._angles, rates)
        solver.applied.refer(t, self._angles)
        slope = flow(piece.low, y)
        solver.work.pivots_before[:], self.run.clock[PIVOT] = solver.work.pivots, 1.0
        solver.work.pivots_earlier[:], self.run.clock[EARLIER] = solver.work.pivots, -np.inf
        solver.applied.refer(t, self._angles, rates)
        self.stepper.begin(solver.slots.state_to_lanes(slope))
        self._functions.note()
        if settings.fixed == 0:
            carried = solver.model.carried
            if not np.isfinite(slope).all():
                raise collapsed(t, y[: carried.counted], slope[None, : carried.counted])
            h = float(self.run.clock[H])
            if h <= 0:
                tolerance = Tolerance(settings.rtol, settings.atol, carried.starts, carried.counted)
                h = starting_step(flow, piece.low, y, slope, piece.high, self._method.order, tolerance)
            self.run.clock[H] = min(max(h, 2 * self._breaks.shortest(t)), piece.first)
        self._begun = True

    @property
    def _tried(self) -> int:
        """Steps tried since the run was entered."""
        return int(self.run.counts[STEPS] + self.run.counts[REJECTED])

    @property
    def between(self) -> bool:
        """Whether the run stands between two steps, with all written down that was asked for."""
        return bool(self.run.counts[WITHIN] == BETWEEN)

    def proceed(self, most: int | None = None) -> bool:
        """Compute for a moment, with so many steps to try at most; returns whether there is more to do.

        Raises
        ------
        IntegrationError
            If the run cannot go on.
        """
        if not self._begun:
            self._begin()
        applied = self.solver.applied
        if self._across is not None:
            # Step by step, to see when it is behind.
            most = 1
            if self.between and self.reached >= self._across.end:
                self._go_back()
        # What was computed is written down before anything is raised, Ctrl-C included.
        with self.watch.laws.calling(), applied.calling(), DeferredInterrupt(applied.stop):
            due = self._pacing.due(self._tried)
            outcome = self._enter(min(self._entry_steps, due, self._entry_steps if most is None else most))
            if outcome == SUSPECT:
                self._look_closer()
        if outcome == SINGULAR:
            self._step_across()
            outcome = AGAIN
        if outcome == COLLAPSED and isinstance(self._method, Taylor):
            self._go_on_without_series()
            outcome = AGAIN
        if outcome in (COLLAPSED, STALLED) and self._rescued(stalled=outcome == STALLED):
            outcome = AGAIN
        if outcome not in (AGAIN, DONE, STOPPED, SUSPECT, EVENT):
            raise self._error(outcome)
        if outcome == AGAIN and self.between and self._across is None:
            self._look_at_pace()
        table = self.watch.table
        self.hit = [(self.watch.guards[e].key, int(table.side[e])) for e in np.flatnonzero(table.hit)]
        table.at_speed[:] = np.where(table.hit == AT_ZERO, speeds(table.end[1::2]), 0.0)
        table.hit[:] = 0
        # A stop that raised nothing was none: whoever handles Ctrl-C wants the run to go on.
        return outcome != DONE

    def _enter(self, most: int) -> int:
        """Try so many steps in compiled code at most, and keep their states; returns the reason why it stopped."""
        run, started = self.run, time.perf_counter()
        here = (self.state, self.angles) if len(run.trail) else None
        run.counts[KEPT] = 0
        before = run.counts[STEPS] + run.counts[REJECTED]
        march = self.stepper.watching if self.watch.guards else self.stepper.march
        outcome = march(self.solver.mechanism, self.stepper.record, self.settings, run, most)
        kept = run.counts[KEPT]
        if kept:
            quadrants = run.counter.kept[: kept * len(run.counter.quadrants)]
            self.kept.add(run.times[:kept].copy(), self._rows(run.states[: kept * self.solver.size]), quadrants)
        noted = run.trail[: run.counts[TRAILED] * (STEP_HEAD + self.solver.size)]
        if here is not None and len(noted):
            # Changes go along parts of steps that sum a series by another method.
            method = self._method.instead if isinstance(self._method, Taylor) else self._method
            self.trail.append(RunPart(method, *here, noted.reshape(-1, STEP_HEAD + self.solver.size).copy()))
        run.counts[TRAILED] = 0
        self._count()
        steps, elapsed = run.counts[STEPS] + run.counts[REJECTED] - before, time.perf_counter() - started
        pace = steps / max(elapsed, 1e-6)
        self._entry_steps = int(min(max(1, ENTRY_TIME * pace), 10 * self._entry_steps))
        return int(outcome)

    def _look_at_pace(self) -> None:
        """Where steps are limited by stability, or no longer, go on with the other method, or say so."""
        change = self._pacing.other(self.run, self._tried)
        if change is not None:
            self._change(change)

    def _rescued(self, *, stalled: bool) -> bool:
        """Change to a method that may go on where the present one cannot; returns whether there is one."""
        change = None if self._across is not None else self._pacing.rescue(self.run, self._tried, stalled=stalled)
        if change is None:
            return False
        self.run.clock[MARK] = self.run.clock[T]
        self._change(change)
        return True

    def _change(self, change: MethodChange) -> None:
        """Continue with a method."""
        if change.told:
            self.statistics.methods.append((self.reached, change.method.name))
        self._change_to(change.method)
        if change.h > 0:
            self.run.clock[H] = change.h

    def _stepper_of(self, method: Method) -> Any:
        """Return the stepper of a method, made once."""
        if method.name not in self._steppers:
            if self._trailing and isinstance(method, ImplicitMethod):
                refuse_friction(
                    self.solver, "sensitivities along implicit steps, so these do not go on while it slides"
                )
            self._steppers[method.name] = stepper_of(self.solver, method)
        return self._steppers[method.name]

    def _go_on_without_series(self) -> None:
        """Where a series reaches nowhere, as at a jump or a pole of a force, go on with a Runge-Kutta method."""
        assert isinstance(self._method, Taylor)
        warnings.warn(
            f"simulate: at t = {self.reached:.6g} s the Taylor series of the motion reaches no further, as where a "
            f'load jumps; the run goes on with method="{self._method.instead.name}"',
            SeriesWarning,
            stacklevel=outside(),
        )
        instead = self._method.instead
        self._change(MethodChange(instead, AFRESH * (self.settings.end - self.settings.start)))
        if self._functions.count:
            self.settings = self.settings._replace(gap=self._gap)

    def _step_across(self) -> None:
        """Let a Runge-Kutta method take over the step just tried, which holds a singular configuration."""
        clock = self.run.clock
        h = float(clock[T_NEW] - clock[T])
        self._across = Across(float(clock[T_NEW]), h, self._method)
        self._change_to(PASSING)
        clock[H] = h

    def _go_back(self) -> None:
        """Go on with the method that left a step to another."""
        across, self._across = self._across, None
        assert across is not None
        self._change_to(across.method)
        self.run.clock[H] = across.h

    def _change_to(self, method: Method) -> None:
        """Continue with another method."""
        self._method, self.stepper = method, self._stepper_of(method)
        self._functions = Functions(self.solver, method, fixed=False)
        self.run = self.run._replace(functions=self._functions.asked)
        self.run.counts[FRESH], self.run.counts[WAS_REJECTED] = 1, 0
        self.run.clock[PREVIOUS] = SMALLEST_ERROR

    def _look_closer(self) -> None:
        """Look at the functions of the step just computed; if one changes abruptly, it is taken again, up to there."""
        run, settings, counts, clock = self.run, self.settings, self.run.counts, self.run.clock
        t, h, piece = float(clock[T]), float(clock[T_NEW] - clock[T]), self._breaks.piece(float(clock[T]))
        step = ProbedStretch(t, h, piece.low, min(piece.high, float(clock[T_NEW])), settings.gap)
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
        if self.reached > self.kept.last:
            self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """Flat states (times, 13 n + k) from lanes (times * size,)."""
        return self.solver.slots.state_from_lanes(lanes.reshape(-1, self.solver.size))

    def _count(self) -> None:
        counts, statistics, before = self.run.counts, self.statistics, self._before
        statistics.steps = before.steps + int(counts[STEPS])
        statistics.rejected = before.rejected + int(counts[REJECTED])
        statistics.evaluations = before.evaluations + self._flow.evaluations + int(counts[EVALUATIONS])
        called = {**self.solver.applied.in_python, **self.watch.laws.in_python}
        statistics.in_python |= {who: (int(calls), spent) for who, (calls, spent) in called.items() if calls}
        statistics.corrections = before.corrections + int(counts[CORRECTIONS])
        statistics.factorisations = before.factorisations + int(counts[FACTORISATIONS])

    def _error(self, outcome: int) -> BaseException:
        run, clock = self.run, self.run.clock
        t, y, y_new = float(clock[T]), self._rows(run.y)[0], self._rows(run.y_new)[0]
        explicit = isinstance(self._method, Tableau) and not self._pacing.switches
        if outcome == COLLAPSED:
            counted = self.solver.model.carried.counted
            slopes = self._rows(self.stepper.slopes)[:, :counted]
            return collapsed(t, y[:counted], slopes, self._breaks, explicit=explicit)
        if outcome == STALLED:
            return stalled(t, t - float(clock[MARK]), explicit=explicit)
        if outcome == UNDEFINED:
            trouble = self.watch.trouble(float(clock[T_NEW]))
            return IntegrationError(f"a watched quantity has no value: {trouble}", t)
        if outcome == LOST_BETWEEN:
            return IntegrationError("the state is not finite between two steps", t)
        if outcome == OFF_BETWEEN:
            return IntegrationError("the state left the constraints between two steps", t)
        assert outcome in (NOT_FINITE, OFF_CONSTRAINTS)
        return stepped_off(t, float(clock[T_NEW]), y_new, iterates=isinstance(self._method, RadauIIA))
