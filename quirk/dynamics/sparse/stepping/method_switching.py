"""Switching between an explicit and an implicit method, to the one that advances further per evaluation of y'.

The steps of an explicit method are short for one of three reasons: the motion changes fast; a component that has
already decayed is stiff; or round-off limits the error estimate. In the second case step sizes may be well below the
stability bound, because the error estimate of decayed components has a lower order than the method (Hairer and Wanner,
Solving Ordinary Differential Equations II, IV.15), the more so the smaller the tolerance. Therefore the criterion is
the motion itself: if it is a polynomial of low degree over many explicit steps, an implicit method can take one step
instead of these.

A trial decides whether the implicit method is still faster: the explicit method takes a few steps, and the method that
advances further for its cost is used from then on. Costs are counted in evaluations and not measured in time, so that
runs are reproducible bit for bit. A decision is made when the work since the last decision equals all work before it,
so that wrong decisions at most double the cost of a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quirk.errors import InputError, StiffnessWarning, outside
from quirk.integrators import RADAU_IIA9, ImplicitMethod, Method, Tableau

from ..solver.solver import Solver
from .run_state import RunState, Settings
from .stiffness_detection import FEWEST, fast_modes, smooth

# Number of steps tried before the first decision, and growth of the work from each decision to the next.
FIRST_LOOK, GROWTH = 400, 2
# Number of steps for "never".
NEVER = 1 << 40
# Cost of an implicit step in evaluations (50 to 120 were measured), and the least gain for a switch of method.
IMPLICIT_COST, WORTH = 100, 2
# Number of intervals into which the explicit steps with the cost of WORTH implicit ones are divided; the state is
# recorded at the ends of each.
SPANS = 13
# Least ratio of the mean size of explicit steps to the size allowed by the error estimate for a limit by stability.
# Below it the step size is still growing, as after a jump.
LEAST = 0.5
# Cost of a switch of method, in evaluations of one body: compilation of derivatives, without and with user functions or
# laws. The implicit method must be in use for at least as long.
PREPARED, PREPARED_FOR_USERS = 3e4, 3e5
# Number of explicit steps in a trial; only the second half of them counts.
TRIAL = 40
# Modes count as damped if they decay faster than this fraction of the fastest rate. A mode is no longer visible in the
# motion after it has decayed by this power of e since the last decision.
DAMPED, GONE = 0.01, 10.0
# First step after a switch of method because the previous one failed, as a fraction of the duration.
AFRESH = 1e-8


@dataclass(frozen=True)
class MethodCosts:
    """Cost statistics of a run for method switching; they persist when constraints or forces are enabled or disabled.

    Attributes
    ----------
    implicit : whether the implicit method is in use
    work : cost up to the last decision, in evaluations of y'
    spent : cost since the last decision, in evaluations of y'
    advanced : time by which the run has advanced since the last decision, s
    """

    implicit: bool = False
    work: float = 0.0
    spent: float = 0.0
    advanced: float = 0.0


@dataclass(frozen=True)
class MethodChange:
    """A switch to another integration method.

    Attributes
    ----------
    method : the new method
    h : size of the next step, s, or 0 to keep the current step size
    recorded : whether the switch is recorded in the statistics of the run
    """

    method: Method
    h: float = 0.0
    recorded: bool = True


# Constant attributes, which a snapshot does not contain.
GIVEN = ("_solver", "_settings", "_switch", "_stepper", "_explicit", "_spacing", "_rest")


class MethodSwitching:
    """Decisions between an explicit and an implicit method for an adaptive run, at increasing intervals of work.

    Parameters
    ----------
    solver, settings : evaluator of the model, and settings of the run
    method : initial method; there are no decisions unless it is an explicit Runge-Kutta method
    switch : implicit method, or None to issue a warning if the system is stiff
    stepper : function that returns the stepper (arrays and step loops) of a method
    of_users : whether the system has user-defined functions or force elements
    """

    def __init__(
        self,
        solver: Solver,
        method: Method,
        settings: Settings,
        switch: ImplicitMethod | None,
        stepper: Callable[[Method], Any],
        *,
        of_users: bool,
    ) -> None:
        self._solver, self._settings, self._switch, self._stepper = solver, settings, switch, stepper
        self._looking = isinstance(method, Tableau) and settings.fixed == 0
        self._rest = PREPARED_FOR_USERS if of_users else PREPARED
        self._noting = self._next = NEVER
        self._costs, self._urged = MethodCosts(), False
        self._tried, self._since, self._half = 0, 0.0, (0.0, 0)
        self._trial: tuple[float, float] | None = None
        if isinstance(method, Tableau):
            self._explicit = method
            self._spacing = max(1, round(WORTH * IMPLICIT_COST / (SPANS * method.stages)))

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of all data that affect later decisions, by name."""
        return {name: copy(value) for name, value in vars(self).items() if name not in GIVEN}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Restore the data of a `snapshot`."""
        vars(self).update({name: copy(value) for name, value in saved.items()})

    @property
    def switches(self) -> bool:
        """Whether the run may switch to an implicit method if the system is stiff."""
        return self._looking and self._switch is not None

    def start(self, t: float, costs: MethodCosts) -> MethodChange | None:
        """Start an interval of the run at time t (s) with the cost statistics `costs` of the preceding interval.

        Returns a switch to the last method of the preceding interval; None if the run has no methods to choose from.
        """
        self._costs, self._urged, change = costs, False, None
        if self._switch is not None and self._looking:
            change = MethodChange(self._explicit, recorded=costs.implicit)
            if costs.implicit:
                try:
                    self._stepper(self._switch)
                    change = MethodChange(self._switch, recorded=False)
                except InputError:
                    pass  # the system has a part that it does not support, such as sliding friction
        if change is None or change.method is not self._switch:
            self._costs = replace(costs, implicit=False)
        self._plan(t, 0)
        return change

    def costs(self, t: float, tried: int) -> MethodCosts:
        """Return the cost statistics at time t (s), after `tried` attempted time steps."""
        if self._looking:
            self._account(t, tried)
        return self._costs

    def steps_to_decision(self, tried: int) -> int:
        """Return the number of steps, after `tried` attempted steps, until the next decision by `decide`."""
        if not self._looking:
            return NEVER
        if tried < self._noting:
            return self._noting - tried
        return self._every - (tried - self._noting) % self._every

    def decision_due(self, tried: int) -> bool:
        """Return whether `decide` must be called, after `tried` attempted steps."""
        return self._looking and tried >= self._noting and (tried - self._noting) % self._every == 0

    @property
    def _every(self) -> int:
        """Number of attempted steps between two states of the recorded motion, or between two checks of a trial."""
        return TRIAL // 2 if self._trial is not None else self._spacing

    def decide(self, run: RunState, tried: int) -> MethodChange | None:
        """Decide on the method between two steps; return a switch to another method, or None to keep the method.

        `tried` is the number of attempted time steps.
        """
        if not self._looking or tried < self._noting:
            return None
        t = float(run.clock.t)
        if self._trial is not None:
            if tried < self._next:
                self._half = t, tried
                return None
            return self._compare(t, tried)
        if self._costs.implicit:
            return self._try_explicit(run, t, tried)
        if (tried - self._noting) % self._spacing == 0:
            self._note(run)
            if len(self._times) == FEWEST and not self._smooth():
                self._noting, self._rough = self._next, True  # most motions are decided by these
        if tried < self._next:
            return None
        since = self._settled(t, tried)
        change = self._faster_method(run.y, t, since)
        if change is not None:
            self._costs = replace(self._costs, implicit=True)
        self._plan(t, tried)
        return change

    def jumped(self, t: float, tried: int, *, soon: bool = True) -> None:
        """Discard the recorded motion at a jump of the state or of loads, and plan a new recording.

        t is the time (s), and `tried` the number of attempted time steps. If not `soon`, the recording begins
        FIRST_LOOK steps later, because jumps may be so frequent that there are only a few steps between them.
        """
        if not self._looking or self._trial is not None or self._costs.implicit or (tried < self._noting and not soon):
            return
        self._account(t, tried)
        self._plan(t, tried)
        if not soon:
            self._noting, self._next = self._noting + FIRST_LOOK, self._next + FIRST_LOOK

    def rescue(self, run: RunState, tried: int, *, stalled: bool) -> MethodChange | None:
        """Return a switch to another method after a failure of the current method, or None if there is no other.

        If `stalled`, the current method makes no progress. `tried` is the number of attempted time steps.
        """
        if not self.switches:
            return None
        t = float(run.clock.t)
        if self._trial is not None:
            return self._return(t, tried)
        if self._costs.implicit:
            self._settled(t, tried)
            self._costs = replace(self._costs, implicit=False)
            self._plan(t, tried)
            h = AFRESH * (float(run.clock.requested) - self._settings.start)
            return MethodChange(self._explicit, h)
        if not stalled or self._urged:
            return None
        # Decide now; if the method stays, the run ends when it stalls again.
        self._urged = True
        self._account(t, tried)
        self._costs = replace(self._costs, spent=self._needed)
        self._plan(t, tried)
        return MethodChange(self._explicit, recorded=False)

    @property
    def _needed(self) -> float:
        """Amount of work between the last decision and the next one, in evaluations of y'."""
        return max(FIRST_LOOK * self._explicit.stages, (GROWTH - 1) * self._costs.work)

    def _account(self, t: float, tried: int) -> None:
        """Add the cost and the advanced time since the last call to the cost statistics.

        t is the current time (s) and `tried` the number of attempted time steps.
        """
        known, steps = self._costs, tried - self._tried
        cost = IMPLICIT_COST if known.implicit and self._trial is None else self._explicit.stages
        self._costs = replace(known, spent=known.spent + cost * steps, advanced=known.advanced + t - self._since)
        self._since, self._tried = t, tried

    def _settled(self, t: float, tried: int) -> float:
        """Start new cost statistics after a decision; return the time (s) advanced since the decision before.

        t is the current time (s), and `tried` the number of attempted time steps.
        """
        self._account(t, tried)
        known = self._costs
        self._costs = MethodCosts(known.implicit, known.work + known.spent)
        return known.advanced

    def _plan(self, t: float, tried: int) -> None:
        """Choose the step numbers at which the recording of the motion begins, and at which the next decision is made.

        t is the current time (s), and `tried` the number of attempted time steps.
        """
        self._since, self._tried, self._trial = t, tried, None
        if not self._looking:
            return
        cost = IMPLICIT_COST if self._costs.implicit else self._explicit.stages
        notes = 0 if self._costs.implicit else SPANS * self._spacing
        self._next = tried + max(notes, int(-(-(self._needed - self._costs.spent) // cost)))
        self._noting = self._next - notes
        self._times: list[float] = []
        self._states: list[np.ndarray] = []
        self._allowed: list[float] = []
        self._pieces: set[int] = set()
        self._rough = False

    def _note(self, run: RunState) -> None:
        """Record the current state, the step size allowed by the error, and the index of the interval between breaks.

        A break is a time at which a step must end.
        """
        t = float(run.clock.t)
        if not self._times or t > self._times[-1]:
            self._times.append(t)
            self._states.append(run.y.copy())
            self._allowed.append(float(run.clock.h))
            self._pieces.add(int(run.counts.piece))

    def _smooth(self) -> bool:
        """Return whether the recorded motion is smooth, so that an implicit method could take longer steps."""
        states = self._solver.slots.body_states(np.array(self._states))
        return smooth(np.array(self._times), states, self._settings.rtol, self._settings.atol)

    def _faster_method(self, y: np.ndarray, t: float, since: float) -> MethodChange | None:
        """Return the switch to the implicit method if it is faster at state y and time t (s); otherwise None.

        If the run has no implicit method and the system is stiff, a warning is issued. `since` is the time advanced
        since the last decision, s.
        """
        if self._rough or len(self._pieces) != 1:
            return None
        took = self._times[-1] - self._times[0]
        h = took / (SPANS * self._spacing)
        if took > WORTH * self._settings.max_step or h <= LEAST * max(self._allowed) or not self._smooth():
            return None
        modes, missed = fast_modes(self._solver, y, t, h)
        rate, speed = (-modes.real - missed).max(initial=0.0), np.abs(modes).max(initial=0.0)
        stiff, method = rate * since >= GONE, self._switch or RADAU_IIA9
        if not (self._worthwhile(t, h, rate, speed) if self._switch is not None else stiff):
            return None
        advice = f'method="{method.name}" or "auto" allows longer steps'
        try:
            self._stepper(method)
            if self._switch is not None:
                return MethodChange(method)
        except InputError as error:
            # The system has a part that the implicit method does not support, such as sliding friction.
            advice = f'method="{method.name}" would allow longer steps, but: {error}'
        if stiff:
            self._looking = False
            warnings.warn(
                f"simulate: at t = {t:.4g} s the steps of {self._explicit.name}, {h:.2g} s, are limited by stability, "
                f"not by accuracy: the system is stiff, with motion that decays at {rate:.2g} 1/s; {advice}",
                StiffnessWarning,
                stacklevel=outside(),
            )
        return None

    def _worthwhile(self, t: float, h: float, rate: float, speed: float) -> bool:
        """Return whether the implicit method saves more than the cost of its preparation, for example its compilation.

        The rest of the run, from time t (s) on, would take explicit steps of size h (s). `rate` is the largest rate of
        decay of the fast modes, and `speed` the largest magnitude of their eigenvalues, 1/s.
        """
        rest = (self._settings.end - t) / h * self._explicit.stages * self._solver.slots.bodies
        # The modes of internal variables are unknown.
        damped = rate > DAMPED * speed or self._solver.model.auxiliary.internal
        return bool(damped and rest >= self._rest)

    def _try_explicit(self, run: RunState, t: float, tried: int) -> MethodChange:
        """Begin a trial of the explicit method; return the switch to it.

        t is the current time (s), and `tried` the number of attempted time steps.
        """
        self._account(t, tried)
        h, known = float(run.clock.h), self._costs
        self._trial, self._half = (h, known.advanced / known.spent), (t, tried)
        self._noting, self._next = tried + TRIAL // 2, tried + TRIAL
        return MethodChange(self._explicit, recorded=False)

    def _compare(self, t: float, tried: int) -> MethodChange:
        """End a trial of the explicit method; return the switch to the method that advanced further for its cost.

        t is the current time (s), and `tried` the number of attempted time steps.
        """
        assert self._trial is not None
        (_, rate), (since, before) = self._trial, self._half
        if (t - since) / ((tried - before) * self._explicit.stages) < rate:
            return self._return(t, tried)
        self._settled(t, tried)
        self._costs = replace(self._costs, implicit=False)
        self._plan(t, tried)
        return MethodChange(self._explicit)

    def _return(self, t: float, tried: int) -> MethodChange:
        """End a trial of the explicit method without success; return the switch back to the implicit method.

        t is the current time (s), and `tried` the number of attempted time steps.
        """
        assert self._trial is not None and self._switch is not None
        h, _ = self._trial
        self._settled(t, tried)
        self._plan(t, tried)
        return MethodChange(self._switch, h, recorded=False)
