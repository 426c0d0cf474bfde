"""Compiled runs: entries of a tenth of a second into the step loop, with progress reports and Ctrl-C checks between."""

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

# Target wall time of one entry into compiled code, s: short enough for smooth progress lines and prompt reaction to
# Ctrl-C. Number of steps of the first entry, whose speed is unknown.
ENTRY_TIME = 0.1
FIRST_ENTRY_STEPS = 10
# Space for output states: number of floats, and maximum number of states.
ROOM, MOST_ROOM = 2**22, 2**14
# Space for recorded steps, number of floats: allocation of as much takes negligible time.
TRAIL_ROOM = 2**18
# After a search for jumps in a step without result, the number of suspicious steps without a search that follow, its
# growth factor for repeated failures, and its maximum.
LEAST_REST, REST_GROWTH, MOST_REST = 2, 2, 1000
# Method for steps with a singular configuration. It tries each at full length, to step across: a shorter step would end
# nearer to the singular configuration, where larger errors are within the tolerance.
PASSING = VERN9


@dataclass(frozen=True)
class ResumePoint:
    """Data to continue a run with another set of active parts.

    Attributes
    ----------
    h : size of the next step, s; 0 to estimate one
    grid : number of completed fixed steps
    asked : number of output times passed
    sides : signs of event functions
    judged : present method, and its recent efficiency
    """

    h: float = 0.0
    grid: int = 0
    asked: int = 0
    sides: Sides = field(default_factory=dict)
    judged: Judged = field(default_factory=Judged)


@dataclass(frozen=True)
class RunPart:
    """Successive steps of one method.

    Attributes
    ----------
    method : Method
    start : state (13 n + k,) at the start of the first step
    angles : joint angles (K, 3) there, rad
    trail : (n, STEP_HEAD + size) times and states of the steps; see `RunState`
    """

    method: Method
    start: np.ndarray
    angles: np.ndarray
    trail: np.ndarray


@dataclass(frozen=True)
class Across:
    """A step across a singular configuration, taken by a Runge-Kutta method.

    Attributes
    ----------
    end : end of the step, s
    h : its size, s
    method : method of the run afterwards
    """

    end: float
    h: float
    method: Method


class CompiledRun:
    """Run with one set of active parts; it can be entered repeatedly, from states on the constraints.

    Parameters
    ----------
    solver : Solver
    method, settings : initial method, and settings of the run
    breaks : times at which steps end; jumps of functions found during the run are added
    asked : output times, s, or None to keep all steps
    statistics : updated during the run
    guards : event functions
    switch : the method to go on with while the steps of an explicit one are limited by stability
    trailing : whether to note all steps that are taken

    Attributes
    ----------
    trail : steps since the last call of `enter`, if they are recorded
    kept : states kept since that call
    whole : (K, 3) rad, full turns of joint angles at that call
    hit : keys of event functions with actions that cross zero at the present time, and their directions, 1 or -1
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
        # Taylor series do not resolve jumps within a step; the functions of such runs have none.
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
        # Uninitialized, as initialization would take as long as a short run.
        self._states = aligned(self._room * solver.size, fill=False)
        steps = max(1, min(TRAIL_ROOM // (STEP_HEAD + solver.size), MOST_ROOM))
        self._trail = aligned((steps + MOST_PARTS) * (STEP_HEAD + solver.size) if trailing else 0, fill=False)
        self._entry_steps = FIRST_ENTRY_STEPS

    def enter(self, flow: SparseFlow, t: float, y: np.ndarray, angles: np.ndarray, pace: ResumePoint) -> None:
        """Continue from a state (13 n + k,) on the constraints at time t, with joint angles (K, 3), rad."""
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
        """Keep the present state: that before the first step, and those before and after an event."""
        self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)
        if self._asked is not None:
            asked = self.run.counts[ASKED]
            if asked < len(self._asked) and self._asked[asked] <= self.reached:
                self.run.counts[ASKED] += 1

    @property
    def pace(self) -> ResumePoint:
        """Data to continue the run with another set of active parts."""
        counts = self.run.counts
        judged = self._pacing.judged(self.reached, self._tried)
        return ResumePoint(float(self.run.clock[H]), int(counts[GRID]), int(counts[ASKED]), self.watch.sides, judged)

    @property
    def state(self) -> np.ndarray:
        """Present state (13 n + k,)."""
        return self._rows(self.run.y)[0]

    @property
    def angles(self) -> np.ndarray:
        """Joint angles (K, 3) of the present state, rad, with full turns."""
        turns = Turns(self.solver.model.joints, self.run.counter.quadrants.reshape(1, -1, 2), self.whole)
        return turns.angles(self.solver.model.carried.state(self.state).orientation, 0)

    def jump(self, y: np.ndarray) -> None:
        """Change the present velocities and internal variables to those of a state (13 n + k,)."""
        run = self.run
        run.y[:] = self.solver.slots.state_to_lanes(y)
        run.counts[FRESH], run.counts[UNSETTLED], run.counts[WAS_REJECTED] = 1, 1, 0
        run.clock[PREVIOUS] = SMALLEST_ERROR
        self._pacing.jumped(self.reached, self._tried)
        velocity = self.solver.model.carried.state(y).angular_velocity
        run.counter.clock[FASTEST] = np.sqrt((velocity**2).sum(axis=1)).max(initial=0.0)

    def events(self) -> list[tuple[Hashable, float, int, float]]:
        """Return events since the last call: key of the event function, time, s, direction, and total energy, J."""
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
        """Largest number of independent rows so far."""
        return int(self.run.counts[BEST_RANK])

    @property
    def trouble(self) -> BaseException | None:
        """The exception of the last call of a user function, or None."""
        return self.solver.applied.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return the error of a force element whose loads at time t were not finite when last evaluated, or None.

        Also for friction that is close to having no solution at the present state.
        """
        return self.solver.applied.undefined(t) or nearly_unsolvable(self.solver, self.run.y, self.reached)

    def _begin(self) -> None:
        """Evaluate the state at entry and choose the size of the first step."""
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
        """Number of steps tried since the run was entered."""
        return int(self.run.counts[STEPS] + self.run.counts[REJECTED])

    @property
    def between(self) -> bool:
        """Whether the run is between two steps, with all output of the last one stored."""
        return bool(self.run.counts[WITHIN] == BETWEEN)

    def proceed(self, most: int | None = None) -> bool:
        """Compute for a fraction of a second, trying `most` steps at most; return whether the run is incomplete.

        Raises
        ------
        IntegrationError
            If the run cannot continue.
        """
        if not self._begun:
            self._begin()
        applied = self.solver.applied
        if self._across is not None:
            # Single steps, so that the end of this step is noticed.
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
        """Try at most `most` steps in compiled code, and store their output; return the reason for the end."""
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
            # Variations are integrated by a Runge-Kutta method, along the parts into which steps of Taylor series are
            # divided.
            method = self._method.instead if isinstance(self._method, Taylor) else self._method
            self.trail.append(RunPart(method, *here, noted.reshape(-1, STEP_HEAD + self.solver.size).copy()))
        run.counts[TRAILED] = 0
        self._count()
        steps, elapsed = run.counts[STEPS] + run.counts[REJECTED] - before, time.perf_counter() - started
        pace = steps / max(elapsed, 1e-6)
        self._entry_steps = int(min(max(1, ENTRY_TIME * pace), 10 * self._entry_steps))
        return int(outcome)

    def _look_at_pace(self) -> None:
        """Change the method if steps are limited by stability, or no longer; otherwise warn if appropriate."""
        change = self._pacing.other(self.run, self._tried)
        if change is not None:
            self._change(change)

    def _rescued(self, *, stalled: bool) -> bool:
        """Change to a method that may continue where the present one cannot; return whether there is one."""
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
        """Return the stepper of a method, created on first use."""
        if method.name not in self._steppers:
            if self._trailing and isinstance(method, ImplicitMethod):
                refuse_friction(
                    self.solver, "sensitivities along implicit steps, so these do not go on while it slides"
                )
            self._steppers[method.name] = stepper_of(self.solver, method)
        return self._steppers[method.name]

    def _go_on_without_series(self) -> None:
        """Change to a Runge-Kutta method where Taylor series do not converge, as at a jump or a pole of a force."""
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
        """Let a Runge-Kutta method repeat the step just tried, which contains a singular configuration."""
        clock = self.run.clock
        h = float(clock[T_NEW] - clock[T])
        self._across = Across(float(clock[T_NEW]), h, self._method)
        self._change_to(PASSING)
        clock[H] = h

    def _go_back(self) -> None:
        """Change back to the method before a step across a singular configuration."""
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
        """Search the step just computed for jumps of functions; if there are any, let the step end at the first."""
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
        """Keep the last accepted state, unless it is stored already."""
        if self.reached > self.kept.last:
            self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """Return flat states (times, 13 n + k) from states in lanes, (times * size,)."""
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
