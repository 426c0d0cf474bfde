"""Runs by compiled code.

The compiled step loop is called repeatedly, for a fraction of a second each time; between two calls, progress is
reported and Ctrl-C is checked. A flat state (13 n + k,) consists of 13 components for each of n bodies and of k
auxiliary states; the layout of compiled code, in blocks of eight bodies, has `size` elements. There are K joints. A
break is a time at which a step must end.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.model.output_buffer import OutputBuffer
from quirk.integrators import Breaks, ImplicitMethod, Method, Statistics, Taylor
from quirk.integrators.control import SMALLEST_ERROR
from quirk.jit.entry_length import EntryLength
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.jit.unlocked import present

from ..solver.solver import Solver
from .active_method import ActiveMethod, steps_tried
from .discontinuity_search import DiscontinuitySearch, renew_pieces
from .resume_point import ResumePoint
from .rhs import SparseFlow
from .run_errors import error_of
from .run_events import RunEvents
from .run_output import RunOutput
from .run_start import begin, new_run
from .run_state import FIRST, PIECE_SIZE, Restart, Settings, StepOutcome, StepPosition
from .slip_switching import nearly_unsolvable
from .watched_quantities import EventFunction, EventMonitor

# Return codes with which a run may be continued.
GOING_ON = (
    StepOutcome.AGAIN,
    StepOutcome.DONE,
    StepOutcome.STOPPED,
    StepOutcome.SUSPECT,
    StepOutcome.EVENT,
    StepOutcome.PAUSED,
)


class CompiledRun:
    """A run with a constant set of enabled constraints and forces.

    The run can be started repeatedly, from states that satisfy the constraints.

    Parameters
    ----------
    solver : evaluator of the model
    method, settings : initial method, and settings of the run
    breaks : times at which steps must end; jumps of functions located during the run are added
    requested_times : requested output times, s, or None to store the states after all steps
    statistics : numbers of steps, evaluations etc., updated during the run
    guards : event functions whose zero crossings are located
    switch : implicit method to which the run changes while steps of an explicit one are limited by stability
    trailing : whether to record all steps, for evaluation of the motion at any time

    Attributes
    ----------
    run : state of the run between two calls of compiled code
    method : the current integration method
    output : states and recorded steps since the last call of `enter`
    search : search for jumps of user functions
    watch : event functions
    happened : events located in the run
    whole : (K, 3) full turns of the angles of K joints at the last call of `enter`, rad
    """

    def __init__(
        self,
        solver: Solver,
        method: Method,
        settings: Settings,
        breaks: Breaks,
        requested_times: np.ndarray | None,
        statistics: Statistics,
        guards: Sequence[EventFunction],
        switch: ImplicitMethod | None = None,
        trailing: bool = False,
    ) -> None:
        self.solver, self.statistics = solver, statistics
        self._breaks = breaks
        self.search = DiscontinuitySearch(breaks)
        self.output = RunOutput(solver, requested_times, trailing=trailing)
        self.method = ActiveMethod(solver, method, settings, switch, statistics, trailing=trailing)
        # Taylor series do not resolve jumps within a step; the functions of such runs have none.
        probes = self.method.functions.count > 0 and not isinstance(method, Taylor)
        self._original_settings, self.settings = settings, settings if probes else settings._replace(gap=np.inf)
        self.watch = EventMonitor(guards, solver)
        self.happened = RunEvents(self.watch)
        self._entry = EntryLength()

    def enter(self, flow: SparseFlow, t: float, y: np.ndarray, angles: np.ndarray, resume: ResumePoint) -> None:
        """Set the initial state of the run: a state y on the constraints at time t (s).

        `angles` (K, 3), rad, are the angles of K joints, and `flow` is the right-hand side y' = f(t, y); `resume`
        contains the step size and counters with which the run continues.
        """
        solver, state = self.solver, self.solver.model.auxiliary.state(y)
        self.flow, self._start, self._angles = flow, y, angles
        self._before = replace(self.statistics)
        self.run = new_run(self.method, self.settings, self._breaks, self.watch, self.output, t, y, resume)
        if self.method.across is not None:
            self.run = self.method.return_from_across(self.run)
            self.run.clock.h = resume.h
        self.output.clear()
        self.whole = solver.model.joints.full_turns(state.orientation, angles)
        self.happened.clear()
        self.search.clear()
        self._begun = False
        self.watch.take(resume.sides)
        self.watch.count_from(self.whole)
        self.run = self.method.start(self.run, t, resume.costs)

    def _begin(self) -> None:
        """Evaluate the initial state and choose the size of the first step, unless the run has already begun."""
        if not self._begun:
            begin(self.run, self.method, self.settings, self._breaks, self.watch, self.flow, self._start, self._angles)
            self._begun = True

    def proceed(self, max_steps: int | None = None) -> bool:
        """Advance the run by at most `max_steps` time steps, for a fraction of a second of computing time.

        Returns False once the run has reached its end.

        Raises
        ------
        IntegrationError
            If the run cannot continue.
        """
        self._begin()
        if PIECE_SIZE * self.run.counts.piece >= len(self.run.pieces):
            self.run = renew_pieces(self.run, self._breaks, self.reached)
            self.run.clock.h = min(self.run.clock.h, self.run.pieces[FIRST])
        outcome = self._rescued(self._called(self._limit(max_steps)))
        if outcome not in GOING_ON:
            self.count()
            raise error_of(outcome, self.run, self.method, self.output, self._breaks, self.watch)
        if outcome == StepOutcome.AGAIN and self.between and self.method.across is None:
            self.run = self.method.decide(self.run)
        self._note_outcome(outcome)
        # After STOPPED the handler of Ctrl-C did not raise, so the run continues.
        return outcome != StepOutcome.DONE

    def _limit(self, max_steps: int | None) -> int:
        """Return the maximum number of steps of the next call of compiled code, at most `max_steps` if given.

        If a step across a singular configuration has been completed, the run first returns to its previous method.
        """
        across = self.method.across
        if across is not None:
            # Single steps, to notice the end of the interval.
            max_steps = 1
            if self.between and self.reached >= across.end:
                self.run = self.method.return_from_across(self.run)
        due = self.method.pacing.steps_to_decision(steps_tried(self.run))
        return min(self._entry.steps, due, self._entry.steps if max_steps is None else max_steps)

    def _called(self, max_steps: int) -> int:
        """Attempt at most `max_steps` steps, and search a suspicious last step for jumps of user functions.

        Returns the reason to stop, a code of `run_state.StepOutcome`. Ctrl-C and exceptions of user functions are
        deferred until the output is stored.
        """
        applied = self.solver.applied
        # Store results before exceptions are raised, Ctrl-C included.
        with self.watch.calling(), applied.calling(), DeferredInterrupt(applied.stop):
            outcome = self._enter(max_steps)
            if outcome == StepOutcome.SUSPECT:
                self.run = self.search.search(self.run, self.method.functions, self.settings)
        return outcome

    def _enter(self, max_steps: int) -> int:
        """Attempt at most `max_steps` steps in compiled code and store their output; return the reason to stop.

        The reason is a code of `run_state.StepOutcome`.
        """
        run, began = self.run, time.perf_counter()
        start = (self.state, self.angles) if len(run.trail) else None
        run.counts.stored = 0
        tried = steps_tried(run)
        outcome = self._step_loop(self.solver.mechanism, self.method.stepper.record, self.settings, run, max_steps)
        self._take_output(start)
        self._entry.adapt(steps_tried(run) - tried, began)
        return int(outcome)

    @property
    def _step_loop(self) -> Any:
        """The compiled step loop of the current method, with or without a search for events."""
        stepper = self.method.stepper
        return present(stepper.watched_loop if self.watch.guards else stepper.loop)

    @property
    def _calls_python(self) -> bool:
        """Whether compiled code may call functions in Python."""
        return self.solver.applied.calls_python or self.watch.laws.calls_python

    def _take_output(self, start: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Copy the output states and, if steps are recorded, the steps of the last call of compiled code.

        `start` is the state (13 n + k,) and the joint angles (K, 3), rad, at the start of the first of these steps, or
        None if steps are not recorded.
        """
        self.output.take(self.run, self.method.present, start)
        self.count()

    def _rescued(self, outcome: int) -> int:
        """Switch to another method if the current method has failed; return the code AGAIN after a switch.

        `outcome` is the return code of the last call of compiled code, which is returned unchanged if no switch is
        needed or possible.
        """
        if outcome == StepOutcome.SINGULAR:
            self.run = self.method.step_across(self.run)
            return StepOutcome.AGAIN
        if outcome == StepOutcome.COLLAPSED and isinstance(self.method.present, Taylor):
            self.run = self.method.leave_series(self.run, self.settings.start)
            if self.method.functions.count:
                self.settings = self.settings._replace(gap=self._original_settings.gap)
            return StepOutcome.AGAIN
        if outcome in (StepOutcome.COLLAPSED, StepOutcome.STALLED):
            rescued = self.method.rescue(self.run, stalled=outcome == StepOutcome.STALLED)
            if rescued is not None:
                self.run = rescued
                return StepOutcome.AGAIN
        return outcome

    def _note_outcome(self, outcome: int) -> None:
        """Store which event functions with actions cross zero at the current time, if `outcome` is EVENT.

        `outcome` is the return code of the last call of compiled code, a `run_state.StepOutcome`.
        """
        if outcome == StepOutcome.EVENT:
            self.happened.note_hits()
            self.count()
        else:
            self.happened.note_none()

    def restart(self) -> None:
        """Discard the rest of the current step, because the user has changed loads.

        The next step begins at the current time with the current step size.
        """
        run = self.run
        if not self._begun:
            self.run = renew_pieces(run, self._breaks, self.reached)
            return
        now = self.present_time
        if run.counts.position != StepPosition.BETWEEN:
            self.happened.reset_signs(run, now)
            self._breaks.forget(now)
        self.run = renew_pieces(run, self._breaks, now)
        if not run.counts.restarts:
            self.method.pacing.jumped(now, steps_tried(run), soon=False)
            run.counts.restarts = Restart.AT_STEP_START
            run.clock.restart = now

    def begin_anew(self) -> None:
        """Discard the rest of the current step if `restart` was called, so that the run is between two steps."""
        if self.run.counts.restarts:
            self.proceed(0)
        self.count()

    def jump(self, y: np.ndarray) -> None:
        """Replace the current velocities and internal variables by those of the state y (13 n + k,)."""
        run = self.run
        run.y[:] = self.solver.slots.state_to_lanes(y)
        run.counts.fresh, run.counts.unsettled, run.counts.was_rejected = 1, 1, 0
        run.clock.previous_error = SMALLEST_ERROR
        self.method.pacing.jumped(self.reached, steps_tried(run))
        velocity = self.solver.model.auxiliary.state(y).angular_velocity
        run.counter.clock.fastest = np.sqrt((velocity**2).sum(axis=1)).max(initial=0.0)

    def note_own_jump(self, key: Hashable, y: np.ndarray, *, switched: bool) -> None:
        """Store the side of the event function `key` after the action of its event; see `RunEvents.note_own_jump`."""
        self.happened.note_own_jump(self.solver, self.reached, key, y, switched=switched)

    def store_state(self) -> None:
        """Store the current state as output: the initial state, or a state before or after an event."""
        self.output.add(self.reached, self.run.y, self.run.counter.quadrants)
        times, passed = self.output.requested_times, self.run.counts.passed
        if times is not None and passed < len(times) and times[passed] <= self.reached:
            self.run.counts.passed += 1

    def close(self) -> None:
        """Store the last accepted state as output unless it has already been stored."""
        if self.reached > self.buffer.last:
            self.output.add(self.reached, self.run.y, self.run.counter.quadrants)

    def events(self) -> list[tuple[Hashable, float, int, float]]:
        """Return the events since the last call.

        Each event consists of the key of its event function, its time, s, its direction and the total energy, J.
        """
        return self.happened.take(self.run, self.settings.start)

    def count(self) -> None:
        """Update the statistics of the run."""
        counts, statistics, initial = self.run.counts, self.statistics, self._before
        statistics.steps = initial.steps + int(counts.steps)
        statistics.rejected = initial.rejected + int(counts.rejected)
        statistics.evaluations = initial.evaluations + self.flow.evaluations + int(counts.evaluations)
        called = {**self.solver.applied.in_python, **self.watch.laws.in_python}
        statistics.in_python |= {who: (int(calls), spent) for who, (calls, spent) in called.items() if calls}
        statistics.corrections = initial.corrections + int(counts.corrections)
        statistics.factorisations = initial.factorisations + int(counts.factorisations)

    @property
    def hit(self) -> list[tuple[Hashable, int]]:
        """Keys of event functions with actions that cross zero at the current time, each with its direction, ±1."""
        return self.happened.hit

    @property
    def buffer(self) -> OutputBuffer:
        """States at output times, with these times, stored since the last call of the compiled code."""
        return self.output.stored

    @property
    def between(self) -> bool:
        """Whether the run is between two steps, with all output of the last step stored."""
        return bool(self.run.counts.position == StepPosition.BETWEEN)

    @property
    def reached(self) -> float:
        """Time at the end of the last completed step, s."""
        return float(self.run.clock.t)

    @property
    def present_time(self) -> float:
        """Current time, s: the end of the last completed step."""
        return self.reached

    @property
    def present_lanes(self) -> np.ndarray:
        """State (size,) at the time `present_time`, in the layout of compiled code: blocks of eight bodies."""
        return self.run.y

    @property
    def present_quadrants(self) -> np.ndarray:
        """Quadrants (2 K,) of the angles of K joints at the time `present_time`, counted over full turns.

        The angles of each joint are represented by two vectors in the plane; each element is the quadrant of one
        vector.
        """
        return self.run.counter.quadrants

    @property
    def state(self) -> np.ndarray:
        """Current state (13 n + k,) of n bodies and k auxiliary states."""
        return self.output.rows(self.run.y)[0]

    @property
    def angles(self) -> np.ndarray:
        """Joint angles (K, 3) with full turns at the current state, rad, for K joints."""
        turns = Turns(self.solver.model.joints, self.run.counter.quadrants.reshape(1, -1, 2), self.whole)
        return turns.angles(self.solver.model.auxiliary.state(self.state).orientation, 0)

    @property
    def resume_point(self) -> ResumePoint:
        """Step size, counters, event signs and cost statistics with which the run continues.

        They are passed to the next run after constraints or forces have been enabled or disabled.
        """
        counts = self.run.counts
        costs = self.method.pacing.costs(self.reached, steps_tried(self.run))
        return ResumePoint(float(self.run.clock.h), int(counts.grid), int(counts.passed), self.watch.sides, costs)

    @property
    def rank(self) -> int:
        """Largest number of independent constraint rows so far."""
        return int(self.run.counts.best_rank)

    @property
    def trouble(self) -> BaseException | None:
        """Exception of the last call of a user function, or None."""
        return self.solver.applied.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return the exception for a force element whose loads at time t (s) were not finite, or None.

        The exception also names a user function that failed at time t or later, even if later calls succeeded. If the
        equations of friction are nearly unsolvable at the current state, the exception says so.
        """
        applied = self.solver.applied
        failed = applied.undefined(t) or applied.failed_since(t)
        return failed or nearly_unsolvable(self.solver, self.run.y, self.reached)
