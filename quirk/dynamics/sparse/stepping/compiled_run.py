"""Runs by compiled code.

The compiled step loop is called repeatedly, for a fraction of a second each time (an entry), with progress reports and
checks for Ctrl-C in between. A flat state (13 n + k,) holds 13 numbers for each of n bodies and k auxiliary states; in
blocks of eight bodies it has `size` elements. There are K joints. A snapshot is a copy of all data from which a run can
be continued.

Breaks are times at which steps must end.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.model.output_buffer import OutputBuffer
from quirk.dynamics.model.revolution_counter import FASTEST
from quirk.errors import InputError, SeriesWarning, outside
from quirk.integrators import (
    IMPLICIT_METHODS,
    RADAU_IIA9,
    TABLEAUX,
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
from quirk.integrators.breaks import PARTS
from quirk.integrators.control import SMALLEST_ERROR
from quirk.integrators.fixed import stepped_off
from quirk.integrators.step import IntegrationError, stalled
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.jit.record import copies, put_back, real_arrays
from quirk.jit.simd import aligned
from quirk.jit.unlocked import present

from ..kernels.project import CORRECTIONS, FACTORISATIONS
from ..solver.solver import Solver
from ..tangent.tangent import refuse_friction
from .discontinuity_location import closer_look
from .event_functions import AT_ZERO, NOTED, speeds
from .loop import MOST_PARTS
from .method_switching import AFRESH, Judged, MethodChange, MethodSwitching
from .methods import stepper_of
from .probed_functions import Functions, ProbedStretch
from .rhs import SparseFlow
from .run_state import (
    AGAIN,
    ASKED,
    AT_ITS_START,
    AT_THE_PAUSE,
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
    FIRST,
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
    PAUSED,
    PAUSES,
    PIECE,
    PIECE_SIZE,
    PIVOT,
    PREVIOUS,
    REJECTED,
    REQUESTED,
    REST,
    RESTART,
    RESTARTS,
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
from .watched_quantities import EventFunction, EventMonitor, Sides, distinct_crossings

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
    """Data with which a run continues after parts have been enabled or disabled.

    Attributes
    ----------
    h : size of the next step, s; 0 to estimate one
    grid : number of completed fixed steps
    asked : number of output times already passed
    sides : signs of event functions by key, see `EventMonitor.sides`
    judged : present method and its progress, see `Judged`
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
    start : (13 n + k,) state at the start of the first step
    angles : (K, 3) joint angles at the start of the first step, rad
    trail : (steps, STEP_HEAD + size) times and initial states of the steps; see `RunState`
    """

    method: Method
    start: np.ndarray
    angles: np.ndarray
    trail: np.ndarray


# Attributes of a run, besides arrays, that a snapshot contains; and the arrays of the revolution counter that change.
ATTRIBUTES = (
    "settings", "_start", "_angles", "_before", "_begun", "_rest", "_noted", "paused", "_unknown", "whole", "hit",
)  # fmt: skip
OF_COUNTER = ("quadrants", "due", "counted", "lead", "spare", "clock", "kept")


@dataclass(frozen=True)
class RunMemory:
    """Snapshot of a run, without the data of its solver.

    Attributes
    ----------
    method : name of the present method
    attributes : attributes of the run, by name
    across : end, size and method of a step across a singular configuration taken by another method, or None
    pacing : data of `MethodSwitching` or `SlipPacing`
    strikes, evaluations : `Functions.strikes` and `SparseFlow.evaluations`
    pieces, laws, arrays : copies of the intervals between breaks, of the inputs and outputs of laws, and of arrays
    """

    method: str
    attributes: dict[str, Any]
    across: tuple[float, float, str] | None
    pacing: dict[str, Any]
    strikes: list[int]
    evaluations: int
    pieces: np.ndarray
    laws: list[np.ndarray]
    arrays: list[np.ndarray]


@dataclass(frozen=True)
class Across:
    """A step across a singular configuration, taken by a Runge-Kutta method.

    Attributes
    ----------
    end : end of the step, s
    h : size of the step, s
    method : method of the run afterwards
    """

    end: float
    h: float
    method: Method


class CompiledRun:
    """A run with a given set of enabled parts.

    It can be started repeatedly, from states that satisfy the constraints.

    Parameters
    ----------
    solver : Solver
    method, settings : initial method, and settings of the run
    breaks : times at which steps must end, s; jumps of functions located during the run are added
    asked : requested output times, s, or None to keep the states of all steps
    statistics : numbers of steps, evaluations etc., updated during the run
    guards : event functions whose zero crossings are located
    switch : implicit method to which the run changes while steps of an explicit one are limited by stability
    trailing : whether to record all steps
    pausing : whether to pause within a step after the last output time, until the next one is requested

    Attributes
    ----------
    trail : recorded steps since the last call of `enter`
    kept : output states since the last call of `enter`
    whole : (K, 3) full turns of joint angles at the last call of `enter`, rad
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
        pausing: bool = False,
    ) -> None:
        self._given_method = self._method = method
        self._trailing, self._pausing = trailing, pausing
        self.solver, self.settings, self.statistics = solver, settings, statistics
        self._breaks, self._asked = breaks, asked
        self._functions = Functions(solver, method, settings.fixed > 0)
        # Taylor series do not resolve jumps within a step; the functions of such runs have none.
        self._gap, self._longest = settings.gap, settings.max_step
        self._looks = settings.look < np.inf
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
        """Continue from a state y at time t, with joint angles (K, 3), rad; y satisfies the constraints."""
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
        clock[REQUESTED] = self.settings.end
        counts[PAUSES] = int(self._pausing)
        if self._asked is not None:
            counts[ASKED] = pace.asked
            if self.settings.end == np.inf:
                self._refer_to(float(self._asked[-1]))
        self._noted: list[tuple[int, float, int]] = []
        self.paused = self._unknown = False
        self.watch.take(pace.sides)
        first = self._pacing.start(t, pace.judged)
        if first is not None and (first.told or first.method is not self._method):
            self._change(first)

    def request(self, t: float) -> None:
        """Set the next output time t (s); the run pauses there."""
        self.run.asked[0], self.run.counts[ASKED], self.paused = t, 0, False

    def _refer_to(self, t: float) -> None:
        """Set the time scale below which times are negligible, from the requested time t (s) and the step size.

        Other runs take this time scale from their end time, which a run that pauses does not have.
        """
        clock, settings = self.run.clock, self.settings
        h = float(clock[H])
        asked = max(t - settings.start, PARTS * h) if h < np.inf else t - settings.start
        clock[REQUESTED] = settings.start + asked
        if isinstance(self._method, Taylor):
            # Series that end, as that of free flight does, allow a step of infinite size.
            settings = settings._replace(max_step=self._longest if h < np.inf else min(self._longest, asked))
        if self._looks or settings.gap < np.inf:
            # Same intervals as in a run that ends here, but no more parts per step than that run has.
            apart = max(t - settings.start, min(h, asked)) / PARTS
            gap, look = apart if settings.gap < np.inf else np.inf, apart if self._looks else np.inf
            settings = settings._replace(gap=gap, look=look)
        self.settings = settings

    def resume(self) -> bool:
        """Continue to the requested time if it lies within the last step; return whether it does."""
        run, counts, stop = self.run, self.run.counts, self.solver.applied.stop
        if counts[WITHIN] == BETWEEN or counts[RESTARTS] or not run.asked[0] < run.clock[T_NEW]:
            return False
        if self._calls_python:
            while not self.paused:
                self.proceed()
            return True
        stop[0] = counts[KEPT] = 0
        outcome = self._march(self.solver.mechanism, self.stepper.record, self.settings, run, 0)
        if outcome != PAUSED:
            raise self._error(outcome)
        self.paused = True
        return True

    def restart(self) -> None:
        """Discard the rest of the step after the pause, because loads have been changed from outside.

        The next step begins at the time of the pause with the present step size.
        """
        run, table = self.run, self.watch.table
        if not self._begun:
            self._renew_pieces(self.reached)
            return
        if self.paused and not self.now < run.clock[T_NEW]:
            run.asked[0], run.counts[ASKED] = np.inf, 0
            self.proceed(0)  # complete the step
        now = self.now
        if run.counts[WITHIN] != BETWEEN:
            if self.watch.guards:
                table.side[:] = table.before
                for e, t, way in self._noted:
                    if run.clock[T] < t <= now:
                        table.side[e] = way
                table.hit[:] = 0
            self._breaks.forget(now)
        self._renew_pieces(now)
        if not run.counts[RESTARTS]:
            self._pacing.jumped(now, self._tried, soon=False)
            run.counts[RESTARTS] = AT_THE_PAUSE if self.paused else AT_ITS_START
            run.clock[RESTART] = now

    def begin_anew(self) -> None:
        """Discard the rest of the present step after a call of `restart`; the run is then between two steps."""
        if self.run.counts[RESTARTS]:
            self.proceed(0)
        self.count()

    def _renew_pieces(self, t: float) -> None:
        """Determine the intervals between breaks after time t, at which the next step begins."""
        self.run = self.run._replace(pieces=np.array(self._breaks.pieces(t)).ravel())
        self.run.counts[PIECE] = 0

    @property
    def _memory(self) -> list[np.ndarray]:
        """Arrays of the run on which later steps depend, except those of the solver."""
        run = self.run
        own = [run.y, run.y_new, run.clock, run.counts, run.asked, run.states]
        counter = [x for name, x in zip(run.counter._fields, run.counter, strict=True) if name in OF_COUNTER]
        watched = real_arrays(run.watched, ("laws", "readings", "noted", "samples"))
        functions = real_arrays(run.functions)
        return [*own, *counter, *watched, run.watched.hit, *functions, *self.stepper.memory]

    def snapshot(self) -> RunMemory:
        """Return a copy of all data from which the run can be continued, except those of its solver."""
        attributes = {name: copy(getattr(self, name)) for name in ATTRIBUTES}
        across = None if self._across is None else (self._across.end, self._across.h, self._across.method.name)
        return RunMemory(
            self._method.name, attributes, across, self._pacing.snapshot(), self._functions.strikes.copy(),
            self._flow.evaluations, self.run.pieces.copy(), self.watch.laws.snapshot(), copies(self._memory),
        )  # fmt: skip

    def recall(self, saved: RunMemory) -> None:
        """Restore a snapshot of this run or of another run of the same system.

        The run must have been started before.
        """
        if saved.method != self._method.name:
            self._change_to(self._method_called(saved.method))
        for name, value in saved.attributes.items():
            setattr(self, name, copy(value))
        if saved.across is not None:
            end, h, name = saved.across
            self._across = Across(end, h, self._method_called(name))
        else:
            self._across = None
        self.kept = OutputBuffer()
        self._pacing.recall(saved.pacing)
        self._functions.strikes = saved.strikes.copy()
        self._flow.evaluations = saved.evaluations
        self.run = self.run._replace(pieces=saved.pieces.copy())
        self.watch.laws.recall(saved.laws)
        put_back(self._memory, saved.arrays)

    def learned(self) -> tuple[Any, ...]:
        """Return data that a later run with the same enabled parts can use.

        These are the method, its settings, and the detected jumps and changes of user functions.
        """
        asked = self._functions.asked
        arrays = copies([asked.limit, asked.changes, self.watch.table.change])
        return self._method.name, self.settings, self._functions.strikes.copy(), arrays

    def take_over(self, learned: tuple[Any, ...]) -> None:
        """Take the data that another run with the same enabled parts returned as `learned`, before the first start."""
        name, self.settings, self._functions.strikes, arrays = learned
        if name != self._method.name:
            method = self._method_called(name)
            self._method, self.stepper = method, self._stepper_of(method)
            self._functions = Functions(self.solver, method, fixed=False)
        put_back([self._functions.asked.limit, self._functions.asked.changes, self.watch.table.change], arrays)

    def _method_called(self, name: str) -> Method:
        """Return the method with a given name; it is one of those to which the run may switch."""
        given = self._given_method
        further = [given.instead] if isinstance(given, Taylor) else []
        every = [given, *further, PASSING, *TABLEAUX.values(), *IMPLICIT_METHODS.values()]
        return next(method for method in every if method.name == name)

    def keep_here(self) -> None:
        """Store the present state as output: the initial state, or a state before or after an event."""
        self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)
        if self._asked is not None:
            asked = self.run.counts[ASKED]
            if asked < len(self._asked) and self._asked[asked] <= self.reached:
                self.run.counts[ASKED] += 1

    @property
    def now(self) -> float:
        """Present time (s): the time of the pause, or the end of the last step."""
        return float(self.run.asked[0]) if self.paused else self.reached

    @property
    def lanes_now(self) -> np.ndarray:
        """State at the time `now`, in blocks of eight bodies."""
        return self.run.states[: self.solver.size] if self.paused else self.run.y

    @property
    def quadrants_now(self) -> np.ndarray:
        """Counted quadrants (2 K,) of the joint angles at the time `now`."""
        counter = self.run.counter
        return counter.kept[: len(counter.quadrants)] if self.paused else counter.quadrants

    def keep_now(self) -> None:
        """Store the state at the time `now` as output."""
        self.kept.add(np.array([self.now]), self._rows(self.lanes_now.copy()), self.quadrants_now)

    @property
    def pace(self) -> ResumePoint:
        """Data with which the run can continue with another set of enabled parts."""
        counts = self.run.counts
        judged = self._pacing.judged(self.reached, self._tried)
        return ResumePoint(float(self.run.clock[H]), int(counts[GRID]), int(counts[ASKED]), self.watch.sides, judged)

    @property
    def state(self) -> np.ndarray:
        """Present state (13 n + k,)."""
        return self._rows(self.run.y)[0]

    @property
    def angles(self) -> np.ndarray:
        """Joint angles (K, 3) with full turns at the present state, rad."""
        turns = Turns(self.solver.model.joints, self.run.counter.quadrants.reshape(1, -1, 2), self.whole)
        return turns.angles(self.solver.model.carried.state(self.state).orientation, 0)

    def jump(self, y: np.ndarray) -> None:
        """Replace the present velocities and internal variables by those of the state y."""
        run = self.run
        run.y[:] = self.solver.slots.state_to_lanes(y)
        run.counts[FRESH], run.counts[UNSETTLED], run.counts[WAS_REJECTED] = 1, 1, 0
        run.clock[PREVIOUS] = SMALLEST_ERROR
        self._pacing.jumped(self.reached, self._tried)
        velocity = self.solver.model.carried.state(y).angular_velocity
        run.counter.clock[FASTEST] = np.sqrt((velocity**2).sum(axis=1)).max(initial=0.0)

    def events(self) -> list[tuple[Hashable, float, int, float]]:
        """Return the events since the last call: key of the event function, time, s, direction and total energy, J."""
        if not self.run.counts[HAPPENED]:
            return []
        noted = self.watch.table.noted[: NOTED * self.run.counts[HAPPENED]].reshape(-1, NOTED)
        self.run.counts[HAPPENED] = 0
        # The next step size is infinite where a series is a polynomial.
        step = min(self.run.clock[H], self.run.clock[T_NEW] - self.settings.start)
        guards, noted = self.watch.guards, distinct_crossings(noted, float(step))
        if self._pausing:
            self._noted = [(int(e), float(t), int(way)) for t, e, way, _ in noted]
        return [(guards[int(e)].key, float(t), int(way), float(energy)) for t, e, way, energy in noted]

    @property
    def reached(self) -> float:
        """Time that the run has reached, s."""
        return float(self.run.clock[T])

    @property
    def rank(self) -> int:
        """Largest number of independent rows so far."""
        return int(self.run.counts[BEST_RANK])

    @property
    def trouble(self) -> BaseException | None:
        """Exception of the last call of a user function, or None."""
        return self.solver.applied.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return the exception for a force element whose loads at time t were not finite, or None.

        If the equations of friction are nearly unsolvable at the present state, this is stated in the exception.
        """
        return self.solver.applied.undefined(t) or nearly_unsolvable(self.solver, self.run.y, self.reached)

    def _check_repeatable(self, t: float, y: np.ndarray) -> None:
        """Raise an InputError for a force whose function does not return the same again at the state just evaluated.

        `StatefulWarning` tells of functions that set what they read.
        """
        applied, remembers = self.solver.applied, self.solver.refuse.remembers
        before = applied.table.outputs.copy()
        self._flow(t, y)
        element = applied.changed_since(before)
        functions = [] if element is None else [*element.sources, *(value.function for value in element.functions)]
        if element is None or any(remembers(function) for function in functions):
            return
        raise InputError(
            f"{element}: its function returns different values at the same time, {t:g} s, and the same state; adaptive "
            "steps need a function of its arguments alone: hold random values over intervals by "
            "quirk.Motion.steps(times, values) or quirk.Sampled, or take fixed steps (step=)"
        )

    def _begin(self) -> None:
        """Evaluate the initial state and choose the size of the first step."""
        flow, settings, solver, y, t = self._flow, self.settings, self.solver, self._start, self.reached
        piece = self._breaks.piece(t)
        rates = solver.model.joints.rates(solver.model.carried.state(y))
        self.watch.laws.refer(t, self._angles, rates)
        solver.applied.refer(t, self._angles)
        slope = flow(piece.low, y)
        if settings.fixed == 0 and solver.applied.calls_python:
            self._check_repeatable(piece.low, y)
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
        """Number of steps tried since the run was started."""
        return int(self.run.counts[STEPS] + self.run.counts[REJECTED])

    @property
    def between(self) -> bool:
        """Whether the run is between two steps, with all output of the last step stored."""
        return bool(self.run.counts[WITHIN] == BETWEEN)

    def proceed(self, most: int | None = None) -> bool:
        """Advance the run for a fraction of a second, by at most `most` steps; return False at its end.

        Raises
        ------
        IntegrationError
            If the run cannot continue.
        """
        if not self._begun:
            self._begin()
        if self.settings.end == np.inf > self.run.asked[-1]:
            self._refer_to(float(self.run.asked[-1]))
        if PIECE_SIZE * self.run.counts[PIECE] >= len(self.run.pieces):
            self._renew_pieces(self.reached)
            self.run.clock[H] = min(self.run.clock[H], self.run.pieces[FIRST])
        applied = self.solver.applied
        closes = self._pausing and not self.between and not self.run.counts[RESTARTS]
        if closes and (self._across is not None or self._pacing.looks(self._tried)):
            most = 0  # complete the step in which the run has paused first
        elif self._across is not None:
            # Single steps, to notice the end of the step across.
            most = 1
            if self.between and self.reached >= self._across.end:
                self._go_back()
        elif self.settings.end == np.inf and isinstance(self._method, Taylor):
            most = 1  # the size of the next step may be infinite, see `_refer_to`
        due = self._pacing.due(self._tried)
        most = min(self._entry_steps, due, self._entry_steps if most is None else most)
        if self._pausing and not self._calls_python:
            # Ctrl-C may arrive before the results of compiled code have been stored.
            applied.stop[0] = 0
            outcome = EVENT if self._unknown and self.watch.table.hit.any() else self._enter(most)
            if outcome == SUSPECT:
                self._look_closer()
        else:
            # Store results before exceptions are raised, Ctrl-C included.
            with self.watch.laws.calling(), applied.calling(), DeferredInterrupt(applied.stop):
                outcome = self._enter(most)
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
        if outcome not in (AGAIN, DONE, STOPPED, SUSPECT, EVENT, PAUSED):
            self.count()
            raise self._error(outcome)
        table, self._unknown = self.watch.table, False
        self.paused = outcome == PAUSED and self.run.counts[ASKED] > 0
        if outcome == AGAIN and self.between and self._across is None:
            self._look_at_pace()
        if outcome != EVENT:
            self.hit = []
            if self.watch.guards:
                table.at_speed[:] = 0.0
            # The handler of Ctrl-C did not raise, so the run continues.
            return outcome != DONE
        self.hit = [(self.watch.guards[e].key, int(table.side[e])) for e in np.flatnonzero(table.hit)]
        table.at_speed[:] = np.where(table.hit == AT_ZERO, speeds(table.end[1::2]), 0.0)
        table.hit[:] = 0
        self.count()
        return True

    def _enter(self, most: int) -> int:
        """Try at most `most` steps in compiled code and store their output; return a return code of `run_state`."""
        run, started = self.run, time.perf_counter()
        here = (self.state, self.angles) if len(run.trail) else None
        run.counts[KEPT] = 0
        before, self._unknown = self._tried, True
        outcome = self._march(self.solver.mechanism, self.stepper.record, self.settings, run, most)
        if not self._pausing:
            self._take_output(here)
        steps, elapsed = self._tried - before, time.perf_counter() - started
        pace = steps / max(elapsed, 1e-6)
        self._entry_steps = int(min(max(1, ENTRY_TIME * pace), 10 * self._entry_steps))
        return int(outcome)

    @property
    def _march(self) -> Any:
        """The compiled step loop of the present method."""
        return present(self.stepper.watching if self.watch.guards else self.stepper.march)

    @property
    def _calls_python(self) -> bool:
        """Whether compiled code may call functions in Python."""
        return self.solver.applied.calls_python or self.watch.laws.calls_python

    def _take_output(self, here: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Store output states and, if steps are recorded, the steps since the state and joint angles in `here`."""
        run, kept = self.run, self.run.counts[KEPT]
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
        self.count()

    def _look_at_pace(self) -> None:
        """Switch to the implicit method if stability limits the steps, or back.

        If that is not possible, warn of stiffness.
        """
        change = self._pacing.other(self.run, self._tried)
        if change is not None:
            self._change(change)

    def _rescued(self, *, stalled: bool) -> bool:
        """Switch to another method where the present one cannot continue; return False if there is no other."""
        change = None if self._across is not None else self._pacing.rescue(self.run, self._tried, stalled=stalled)
        if change is None:
            return False
        self.run.clock[MARK] = self.run.clock[T]
        self._change(change)
        return True

    def _change(self, change: MethodChange) -> None:
        """Continue with the method and step size of `change`; the statistics record the switch."""
        if change.told:
            self.statistics.methods.append((self.reached, change.method.name))
        self._change_to(change.method)
        if change.h > 0:
            self.run.clock[H] = change.h

    def _stepper_of(self, method: Method) -> Any:
        """Return the object that takes steps with a method; it is created at its first use."""
        if method.name not in self._steppers:
            if self._trailing and isinstance(method, ImplicitMethod):
                refuse_friction(self.solver, "sensitivities along implicit steps")
            self._steppers[method.name] = stepper_of(self.solver, method)
        return self._steppers[method.name]

    def _go_on_without_series(self) -> None:
        """Switch to a Runge-Kutta method where the Taylor series does not converge, as at a jump of a force."""
        assert isinstance(self._method, Taylor)
        warnings.warn(
            f"simulate: at t = {self.reached:.6g} s the Taylor series of the motion reaches no further, for example "
            f'because a load jumps; the run continues with method="{self._method.instead.name}"',
            SeriesWarning,
            stacklevel=outside(),
        )
        instead = self._method.instead
        self._change(MethodChange(instead, AFRESH * (self.run.clock[REQUESTED] - self.settings.start)))
        if self._functions.count:
            self.settings = self.settings._replace(gap=self._gap)

    def _step_across(self) -> None:
        """Repeat the last step, which contains a singular configuration, with a Runge-Kutta method."""
        clock = self.run.clock
        h = float(clock[T_NEW] - clock[T])
        self._across = Across(float(clock[T_NEW]), h, self._method)
        self._change_to(PASSING)
        clock[H] = h

    def _go_back(self) -> None:
        """Return to the previous method after a step across a singular configuration."""
        across, self._across = self._across, None
        assert across is not None
        self._change_to(across.method)
        self.run.clock[H] = across.h

    def _change_to(self, method: Method) -> None:
        """Continue with another method and the present step size."""
        self._method, self.stepper = method, self._stepper_of(method)
        self._functions = Functions(self.solver, method, fixed=False)
        self.run = self.run._replace(functions=self._functions.asked)
        self.run.counts[FRESH], self.run.counts[WAS_REJECTED] = 1, 0
        self.run.clock[PREVIOUS] = SMALLEST_ERROR

    def _look_closer(self) -> None:
        """Search the step just computed for jumps of user functions, and shorten it to end at the first one."""
        settings, counts, clock = self.settings, self.run.counts, self.run.clock
        t, h, piece = float(clock[T]), float(clock[T_NEW] - clock[T]), self._breaks.piece(float(clock[T]))
        step = ProbedStretch(t, h, piece.low, min(piece.high, float(clock[T_NEW])), settings.gap)
        functions, seen = self._functions, float(clock[SEEN])
        added = [
            self._breaks.find(*found) for p in range(functions.count) for found in closer_look(functions, p, step, seen)
        ]
        if any(added):
            self._renew_pieces(t)
            counts[FRESH], clock[H] = int(self.run.pieces[LOW] > t), h
            counts[REST], self._rest = 0, LEAST_REST
            return
        clock[CLEARED] = max(clock[CLEARED], clock[SEEN]) if clock[SEEN] < np.inf else clock[CLEARED]
        counts[REST] = self._rest
        self._rest = min(REST_GROWTH * self._rest, MOST_REST)

    def close(self) -> None:
        """Store the last accepted state as output if it is not stored yet."""
        if self.reached > self.kept.last:
            self.kept.add(np.array([self.reached]), self._rows(self.run.y), self.run.counter.quadrants)

    def _rows(self, lanes: np.ndarray) -> np.ndarray:
        """Convert states (times * size,) in blocks of eight bodies to flat states (times, 13 n + k)."""
        return self.solver.slots.state_from_lanes(lanes.reshape(-1, self.solver.size))

    def count(self) -> None:
        """Update the statistics of the run."""
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
