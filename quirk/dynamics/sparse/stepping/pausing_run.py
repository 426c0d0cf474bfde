"""Runs that pause within a step, at times requested one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.joint_angles import Turns
from quirk.integrators import Taylor
from quirk.integrators.breaks import PARTS

from .active_method import steps_tried
from .compiled_run import CompiledRun
from .resume_point import ResumePoint
from .rhs import SparseFlow
from .run_errors import error_of
from .run_state import Restart, StepOutcome, StepPosition

# Longest first step after an event or a change of inputs, over the time since the start of the run. Steps of motions
# without an error, such as free flight, may grow at each of them, until round-off of a step hides the present.
LONGEST = 100.0
# Longest step, over the same time, of a run without end.
GROWN = 1e4


class PausingRun(CompiledRun):
    """A run that pauses at a requested time within the step that contains it, until the next time is requested.

    Steps do not depend on the requested times. Only the state at the pause is available; `store_present_state` stores
    it as output.

    Attributes
    ----------
    paused : whether the run has paused at the requested time
    """

    def enter(self, flow: SparseFlow, t: float, y: np.ndarray, angles: np.ndarray, resume: ResumePoint) -> None:
        """Set the initial state of the run: a state y on the constraints at time t (s).

        `angles` (K, 3), rad, are the angles of K joints, and `flow` is the right-hand side y' = f(t, y); `resume`
        contains the step size and counters with which the run continues.
        """
        self.paused = self._unknown = False
        super().enter(flow, t, y, angles, resume)
        self._limit_step(t)
        self.run.counts.pauses = 1
        if self.settings.end == np.inf:
            self._refer_to(float(self.run.requested_times[-1]))

    def request(self, t: float) -> None:
        """Set the next output time t (s), at which the run pauses."""
        self.run.requested_times[0], self.run.counts.passed, self.paused = t, 0, False

    def _refer_to(self, t: float) -> None:
        """Set the time scale relative to which times are negligible, from the requested time t (s) and the step size.

        Other runs derive this scale from their end time, but a run that pauses has no end time.
        """
        clock, settings, original = self.run.clock, self.settings, self._original_settings
        h = float(clock.h)
        span = max(t - settings.start, PARTS * h) if h < np.inf else t - settings.start
        clock.requested = settings.start + span
        if isinstance(self.method.present, Taylor):
            # A Taylor series with finitely many terms, as that of free flight, allows a step of infinite size.
            longest = original.max_step if h < np.inf else min(original.max_step, span)
            settings = settings._replace(max_step=longest)
        if min(original.comparison_interval, settings.gap, original.watch_interval) < np.inf:
            # Same intervals as in a run that ends here, but no more parts per step than that run has.
            interval = max(t - settings.start, min(h, span)) / PARTS
            used = {
                "gap": settings.gap,
                "comparison_interval": original.comparison_interval,
                "watch_interval": original.watch_interval,
            }
            changes: dict[str, Any] = {name: interval for name, value in used.items() if value < np.inf}
            settings = settings._replace(**changes)
        self.settings = settings

    def proceed(self, max_steps: int | None = None) -> bool:
        """Advance the run for a fraction of a second of computing time; return False at its end.

        `max_steps` is the maximum number of time steps.
        """
        self._begin()
        if self.settings.end == np.inf > self.run.requested_times[-1]:
            self._refer_to(float(self.run.requested_times[-1]))
        if self.between:
            self._limit_step(self.reached, GROWN)
        return super().proceed(max_steps)

    def _limit(self, max_steps: int | None) -> int:
        """Return the maximum number of steps of the next call of compiled code, at most `max_steps` if given."""
        run, method = self.run, self.method
        closes = not self.between and not run.counts.restarts
        if closes and (method.across is not None or method.pacing.decision_due(steps_tried(run))):
            return 0  # complete the step in which the run has paused first
        if method.across is None and self.settings.end == np.inf and isinstance(method.present, Taylor):
            max_steps = 1  # the size of the next step may be infinite, see `_refer_to`
        return super()._limit(max_steps)

    def _called(self, max_steps: int) -> int:
        """Attempt at most `max_steps` steps; return the reason to stop, a code of `run_state.StepOutcome`."""
        if self._calls_python:
            return super()._called(max_steps)
        # Ctrl-C may arrive before the results of compiled code have been stored.
        self.solver.applied.stop[0] = 0
        outcome = StepOutcome.EVENT if self._unknown and self.watch.table.hit.any() else self._enter(max_steps)
        if outcome == StepOutcome.SUSPECT:
            self.run = self.search.search(self.run, self.method.functions, self.settings)
        return outcome

    def _enter(self, max_steps: int) -> int:
        """Attempt at most `max_steps` steps in compiled code; return a code of `run_state.StepOutcome`."""
        self._unknown = True
        return super()._enter(max_steps)

    def _take_output(self, start: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Store nothing: the only output of such a run is the state at the pause, stored by `store_present_state`.

        `start` is not used.
        """

    def _note_outcome(self, outcome: int) -> None:
        """Store whether the run has paused, and which event functions with actions cross zero at the current time.

        `outcome` is the return code of the last call of compiled code, a `run_state.StepOutcome`.
        """
        self.paused, self._unknown = outcome == StepOutcome.PAUSED and bool(self.run.counts.passed > 0), False
        super()._note_outcome(outcome)

    def resume(self) -> bool:
        """Continue to the requested time if it lies within the last computed step, without a new step.

        Returns True in this case, and otherwise False.
        """
        run, counts, stop = self.run, self.run.counts, self.solver.applied.stop
        if counts.position == StepPosition.BETWEEN or counts.restarts or not run.requested_times[0] < run.clock.t_new:
            return False
        if self._calls_python:
            while not self.paused:
                self.proceed()
            return True
        stop[0] = counts.stored = 0
        outcome = self._step_loop(self.solver.mechanism, self.method.stepper.record, self.settings, run, 0)
        if outcome != StepOutcome.PAUSED:
            raise error_of(outcome, run, self.method, self.output, self._breaks, self.watch)
        self.paused = True
        return True

    def restart(self) -> None:
        """Discard the rest of the step after the pause, because the user has changed loads.

        The next step begins at the time of the pause with the current step size.
        """
        if self.paused and not self.present_time < self.run.clock.t_new:
            self.run.requested_times[0], self.run.counts.passed = np.inf, 0
            self.proceed(0)  # complete the step
        super().restart()
        self._limit_step(self.present_time)
        if self.paused and self.run.counts.restarts:
            self.run.counts.restarts = Restart.AT_PAUSE

    def _limit_step(self, t: float, longest: float = LONGEST) -> None:
        """Limit the size of the next step, which begins at time t (s), to `longest` times the time since the start."""
        clock, start = self.run.clock, self.settings.start
        if start < t and clock.h < np.inf:
            clock.h = min(float(clock.h), longest * (t - start))

    @property
    def present_time(self) -> float:
        """Current time (s): the time of the pause, or the end of the last step."""
        return float(self.run.requested_times[0]) if self.paused else self.reached

    @property
    def present_lanes(self) -> np.ndarray:
        """State (size,) at the time `present_time`, in the layout of compiled code: blocks of eight bodies."""
        return self.run.states[: self.solver.size] if self.paused else self.run.y

    @property
    def present_quadrants(self) -> np.ndarray:
        """Quadrants (2 K,) of the angles of K joints at the time `present_time`, counted over full turns.

        The angles of each joint are represented by two vectors in the plane; each element is the quadrant of one
        vector.
        """
        counter = self.run.counter
        return counter.kept[: len(counter.quadrants)] if self.paused else counter.quadrants

    @property
    def present_angles(self) -> np.ndarray:
        """Angles (K, 3), rad, of K joints at the time `present_time`, with full turns."""
        model, flat = self.solver.model, self.output.rows(self.present_lanes)[0]
        turns = Turns(model.joints, self.present_quadrants.reshape(1, -1, 2), self.whole)
        return turns.angles(model.auxiliary.state(flat).orientation, 0)

    def store_present_state(self) -> None:
        """Store the state at the time `present_time` as output."""
        self.output.add(self.present_time, self.present_lanes.copy(), self.present_quadrants)
