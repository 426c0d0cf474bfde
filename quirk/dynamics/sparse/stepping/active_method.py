"""The current integration method of a run, and switches to other methods.

A run switches to another method if it is faster (`method_switching`, `slip_switching`), if the current method fails,
and for steps across a singular configuration.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from quirk.errors import SeriesWarning, outside
from quirk.integrators import (
    IMPLICIT_METHODS,
    RADAU_IIA9,
    TABLEAUX,
    VERN9,
    ImplicitMethod,
    Method,
    Statistics,
    Tableau,
    Taylor,
)
from quirk.integrators.control import SMALLEST_ERROR

from ..solver.solver import Solver
from ..tangent.tangent import refuse_friction
from .method_switching import AFRESH, MethodChange, MethodCosts, MethodSwitching
from .methods import stepper_of
from .probed_functions import Functions
from .run_state import RunState, Settings
from .slip_switching import SlipSwitching, slides_in_plane

# Method for steps across singular configurations. Each is first attempted with the full length of the interval: a
# shorter step would end nearer to the singular configuration, where larger errors are within the tolerance.
PASSING = VERN9


def steps_tried(run: RunState) -> int:
    """Return the number of attempted time steps since the start of the run."""
    return int(run.counts.steps + run.counts.rejected)


@dataclass(frozen=True)
class Across:
    """An interval with a singular configuration, in which a Runge-Kutta method takes the steps.

    Attributes
    ----------
    end : end of the interval, s; the last step may end later
    h : length of the interval, s
    method : method to which the run returns after the interval
    """

    end: float
    h: float
    method: Method


class ActiveMethod:
    """The current integration method of a run.

    Methods with an argument `run` return the new state of the run.

    Parameters
    ----------
    solver : evaluator of the model
    method : initial method
    settings : settings of the run
    switch : implicit method to which the run changes while steps of an explicit one are limited by stability
    statistics : statistics of the run, in which switches are recorded
    trailing : whether all steps are recorded

    Attributes
    ----------
    first, present : initial and current method
    stepper : arrays and step loops of the current method
    functions : user functions, with their inputs and outputs at the stages of a step
    pacing : object that decides which method is faster
    across : interval with a singular configuration, which another method crosses, or None
    """

    def __init__(
        self,
        solver: Solver,
        method: Method,
        settings: Settings,
        switch: ImplicitMethod | None,
        statistics: Statistics,
        *,
        trailing: bool,
    ) -> None:
        self.solver, self._statistics, self._trailing = solver, statistics, trailing
        self.first = self.present = method
        self._steppers: dict[str, Any] = {}
        self.functions = Functions(solver, method, settings.fixed > 0)
        self.stepper = self.stepper_of(method)
        self.across: Across | None = None
        of_users = self.functions.count > 0
        self.pacing: MethodSwitching | SlipSwitching = MethodSwitching(
            solver, method, settings, switch, self.stepper_of, of_users=of_users
        )
        if isinstance(method, Tableau) and settings.fixed == 0 and not trailing and slides_in_plane(solver):
            self.pacing = SlipSwitching(solver, method, switch or RADAU_IIA9, self.stepper_of)

    def stepper_of(self, method: Method) -> Any:
        """Return the stepper of a method, the object that takes its steps; it is created at first use."""
        if method.name not in self._steppers:
            if self._trailing and isinstance(method, ImplicitMethod):
                refuse_friction(self.solver, "sensitivities along implicit steps")
            self._steppers[method.name] = stepper_of(self.solver, method)
        return self._steppers[method.name]

    def named(self, name: str) -> Method:
        """Return the method called `name`; it must be one that the run may use."""
        further = [self.first.instead] if isinstance(self.first, Taylor) else []
        every = [self.first, *further, PASSING, *TABLEAUX.values(), *IMPLICIT_METHODS.values()]
        return next(method for method in every if method.name == name)

    def use(self, method: Method) -> None:
        """Make `method` the current method."""
        self.present, self.stepper = method, self.stepper_of(method)
        self.functions = Functions(self.solver, method, fixed=False)

    def change_to(self, run: RunState, method: Method) -> RunState:
        """Switch to another method without changing the step size; return the new state of the run."""
        self.use(method)
        run.counts.fresh, run.counts.was_rejected = 1, 0
        run.clock.previous_error = SMALLEST_ERROR
        return run._replace(functions=self.functions.samples)

    def change(self, run: RunState, change: MethodChange) -> RunState:
        """Switch to the method and step size of `change`; return the new state of the run.

        The switch is recorded in the statistics if `change.recorded`.
        """
        if change.recorded:
            self._statistics.methods.append((float(run.clock.t), change.method.name))
        run = self.change_to(run, change.method)
        if change.h > 0:
            run.clock.h = change.h
        return run

    def start(self, run: RunState, t: float, costs: MethodCosts) -> RunState:
        """Start an interval of the run at time t (s) with the method in use at the end of the preceding interval.

        `costs` contains this method and the cost statistics of the preceding interval, on which method switching is
        based.
        """
        first = self.pacing.start(t, costs)
        if first is not None and (first.recorded or first.method is not self.present):
            run = self.change(run, first)
        return run

    def decide(self, run: RunState) -> RunState:
        """Switch to a faster method, if any: to an implicit method if stability limits the steps, or back.

        Returns the new state of the run. If the run has no implicit method to switch to, a warning of stiffness is
        issued.
        """
        change = self.pacing.decide(run, steps_tried(run))
        return run if change is None else self.change(run, change)

    def rescue(self, run: RunState, *, stalled: bool) -> RunState | None:
        """Switch to another method after a failure of the current method; return None if there is no other method.

        If `stalled`, the current method makes no progress.
        """
        if self.across is not None:
            return None
        change = self.pacing.rescue(run, steps_tried(run), stalled=stalled)
        if change is None:
            return None
        run.clock.mark = run.clock.t
        return self.change(run, change)

    def leave_series(self, run: RunState, start: float) -> RunState:
        """Switch from Taylor series to a Runge-Kutta method because the series does not converge, and issue a warning.

        The reason may be a jump of a force. `start` is the initial time of the whole run, s.
        """
        assert isinstance(self.present, Taylor)
        instead = self.present.instead
        warnings.warn(
            f"simulate: at t = {run.clock.t:.6g} s the Taylor series of the motion reaches no further, for example "
            f'because a load jumps; the run continues with method="{instead.name}"',
            SeriesWarning,
            stacklevel=outside(),
        )
        return self.change(run, MethodChange(instead, AFRESH * (run.clock.requested - start)))

    def step_across(self, run: RunState) -> RunState:
        """Switch to a Runge-Kutta method for an interval with a singular configuration.

        The interval extends from the start of the last step to the time clock.t_new.
        """
        h = float(run.clock.t_new - run.clock.t)
        self.across = Across(float(run.clock.t_new), h, self.present)
        run = self.change_to(run, PASSING)
        run.clock.h = h
        return run

    def return_from_across(self, run: RunState) -> RunState:
        """Switch back to the previous method after the steps across a singular configuration."""
        across, self.across = self.across, None
        assert across is not None
        run = self.change_to(run, across.method)
        run.clock.h = across.h
        return run
