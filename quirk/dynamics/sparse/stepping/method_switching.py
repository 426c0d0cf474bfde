"""Which of two methods a run continues with: an explicit one, or an implicit one where that advances faster.

The steps of an explicit method are short for one of three reasons: the motion changes fast; something decays fast that
no longer shows in the motion; or round-off limits the error estimate. In the second case steps times rates need not
come near the bound of stability: what has decayed follows the motion with an order that is lower than that of the
method (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.15), so the error estimate keeps steps below
that bound, the farther the smaller the tolerance. So the motion itself decides: where it is a polynomial of low degree
over many explicit steps, an implicit method takes one step in place of all of them.

Whether the implicit method is still the better one is found by trial: the explicit method takes a few steps, and the
method that advances further for its cost continues. Costs are counted in evaluations and not measured by the clock, so
that runs repeat bit for bit. Each decision waits until the work since the last one equals all work before it, so that
wrong ones at most double the cost of a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quirk.errors import InputError, StiffnessWarning, outside
from quirk.integrators import RADAU_IIA9, ImplicitMethod, Method, Tableau

from ..solver.solver import Solver
from .run_state import PIECE, H, RunState, Settings, T
from .stiffness_detection import FEWEST, fast_modes, smooth

# Steps tried until the first look, and the growth of the work from each look to the next.
FIRST_LOOK, GROWTH = 400, 2
# More steps than any run takes.
NEVER = 1 << 40
# Evaluations that take as long as an implicit step (50 to 120 were measured), and the least gain for which to change.
IMPLICIT_COST, WORTH = 100, 2
# Number of intervals into which the explicit steps that cost as much as WORTH implicit ones are divided; the state is
# noted at the ends of each.
SPANS = 13
# Steps are not judged while the error allows longer ones by one over this factor: behind a jump they grow anew.
LEAST = 0.5
# A change of method is prepared for about as long as this many evaluations of one body take, and with functions or laws
# of users, whose derivatives are compiled for it, as long as the second number of them. Shorter rests are not worth it.
PREPARED, PREPARED_FOR_USERS = 3e4, 3e5
# Explicit steps tried to compare their progress with that of implicit ones; only the second half of them counts.
TRIAL = 40
# Modes count as damped if they decay by more than this part of the speed of the fastest. A mode no longer shows in the
# motion where it has fallen by this power of e since the last look.
DAMPED, GONE = 0.01, 10.0
# Part of a run that the first step takes after a change of method where the old one could not go on.
AFRESH = 1e-8


@dataclass(frozen=True)
class Judged:
    """What is known of the progress of a run, for the next interval of it with other active parts.

    Attributes
    ----------
    implicit : whether the implicit method is at work
    work : evaluations, or what takes as long, up to the last look
    spent : evaluations since
    advanced : s, since
    """

    implicit: bool = False
    work: float = 0.0
    spent: float = 0.0
    advanced: float = 0.0


@dataclass(frozen=True)
class MethodChange:
    """A change of method.

    Attributes
    ----------
    method : Method
    h : s, first step to try, or 0 for the present one
    told : whether it is to be noted in the statistics
    """

    method: Method
    h: float = 0.0
    told: bool = True


class MethodSwitching:
    """Decides after amounts of work which method an adaptive run continues with.

    Parameters
    ----------
    method : the run begins with it; unless it is an explicit Runge-Kutta method nothing is decided
    switch : the method that takes over where it is the better one, or None to warn of stiffness
    stepper : returns the stepper of a method
    of_users : whether users' functions or laws are part of the system
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
        self._judged, self._urged = Judged(), False
        self._tried, self._since, self._half = 0, 0.0, (0.0, 0)
        self._trial: tuple[float, float] | None = None
        if isinstance(method, Tableau):
            self._explicit = method
            self._spacing = max(1, round(WORTH * IMPLICIT_COST / (SPANS * method.stages)))

    @property
    def switches(self) -> bool:
        """Whether methods change where the system is stiff."""
        return self._looking and self._switch is not None

    def start(self, t: float, judged: Judged) -> MethodChange | None:
        """Begin at time t, after what is known so far; returns the method to begin with, if it is for this to say."""
        self._judged, self._urged, change = judged, False, None
        if self._switch is not None and self._looking:
            change = MethodChange(self._explicit, told=judged.implicit)
            if judged.implicit:
                try:
                    self._stepper(self._switch)
                    change = MethodChange(self._switch, told=False)
                except InputError:
                    pass  # something acts here that it does not take, such as friction that slides
        if change is None or change.method is not self._switch:
            self._judged = replace(judged, implicit=False)
        self._plan(t, 0)
        return change

    def judged(self, t: float, tried: int) -> Judged:
        """What is known at time t, after a number of steps tried."""
        if self._looking:
            self._account(t, tried)
        return self._judged

    def due(self, tried: int) -> int:
        """How many steps may be tried, after a number of them, until `other` is to be called again."""
        if not self._looking:
            return NEVER
        if tried < self._noting:
            return self._noting - tried
        spacing = TRIAL // 2 if self._trial is not None else self._spacing
        return spacing - (tried - self._noting) % spacing

    def other(self, run: RunState, tried: int) -> MethodChange | None:
        """Return the change of method, or None if there is to be none, between two steps."""
        if not self._looking or tried < self._noting:
            return None
        t = float(run.clock[T])
        if self._trial is not None:
            if tried < self._next:
                self._half = t, tried
                return None
            return self._compare(t, tried)
        if self._judged.implicit:
            return self._try_explicit(run, t, tried)
        if (tried - self._noting) % self._spacing == 0:
            self._note(run)
            if len(self._times) == FEWEST and not self._smooth():
                self._noting, self._rough = self._next, True  # most motions need no further notes
        if tried < self._next:
            return None
        since = self._settled(t, tried)
        change = self._onward(run.y, t, since)
        if change is not None:
            self._judged = replace(self._judged, implicit=True)
        self._plan(t, tried)
        return change

    def jumped(self, t: float, tried: int) -> None:
        """Take no notes across a jump of the state."""
        if self._looking and self._trial is None and not self._judged.implicit:
            self._account(t, tried)
            self._plan(t, tried)

    def rescue(self, run: RunState, tried: int, *, stalled: bool) -> MethodChange | None:
        """Return the change to a method that may go on where the present one cannot, or None if there is none."""
        if not self.switches:
            return None
        t = float(run.clock[T])
        if self._trial is not None:
            return self._return(t, tried)
        if self._judged.implicit:
            self._settled(t, tried)
            self._judged = replace(self._judged, implicit=False)
            self._plan(t, tried)
            h = AFRESH * (self._settings.end - self._settings.start)
            return MethodChange(self._explicit, h)
        if not stalled or self._urged:
            return None
        # The next look comes now; if that changes nothing the run ends when it stalls again.
        self._urged = True
        self._account(t, tried)
        self._judged = replace(self._judged, spent=self._needed)
        self._plan(t, tried)
        return MethodChange(self._explicit, told=False)

    @property
    def _needed(self) -> float:
        """Work from the last look to the next."""
        return max(FIRST_LOOK * self._explicit.stages, (GROWTH - 1) * self._judged.work)

    def _account(self, t: float, tried: int) -> None:
        """Add what was done since this was called last."""
        known, steps = self._judged, tried - self._tried
        cost = IMPLICIT_COST if known.implicit and self._trial is None else self._explicit.stages
        self._judged = replace(known, spent=known.spent + cost * steps, advanced=known.advanced + t - self._since)
        self._since, self._tried = t, tried

    def _settled(self, t: float, tried: int) -> float:
        """Let the next interval begin; returns how long the last one was, s."""
        self._account(t, tried)
        known = self._judged
        self._judged = Judged(known.implicit, known.work + known.spent)
        return known.advanced

    def _plan(self, t: float, tried: int) -> None:
        """Choose when to look, at time t after a number of steps tried."""
        self._since, self._tried, self._trial = t, tried, None
        if not self._looking:
            return
        cost = IMPLICIT_COST if self._judged.implicit else self._explicit.stages
        notes = 0 if self._judged.implicit else SPANS * self._spacing
        self._next = tried + max(notes, int(-(-(self._needed - self._judged.spent) // cost)))
        self._noting = self._next - notes
        self._times: list[float] = []
        self._states: list[np.ndarray] = []
        self._allowed: list[float] = []
        self._pieces: set[int] = set()
        self._rough = False

    def _note(self, run: RunState) -> None:
        """Keep the states of bodies, the step that the errors allow, and between which breaks."""
        t = float(run.clock[T])
        if not self._times or t > self._times[-1]:
            self._times.append(t)
            self._states.append(run.y.copy())
            self._allowed.append(float(run.clock[H]))
            self._pieces.add(int(run.counts[PIECE]))

    def _smooth(self) -> bool:
        """Whether the motion is smooth, as far as it was noted."""
        states = self._solver.slots.body_states(np.array(self._states))
        return smooth(np.array(self._times), states, self._settings.rtol, self._settings.atol)

    def _onward(self, y: np.ndarray, t: float, since: float) -> MethodChange | None:
        """Return the change to the implicit method where that is faster, or warn; the last look was `since` s ago."""
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
        advice = f'method="{method.name}" or "auto" takes longer steps'
        try:
            self._stepper(method)
            if self._switch is not None:
                return MethodChange(method)
        except InputError as error:
            # There is something in the system, such as friction that slides, that it does not take.
            advice = f'method="{method.name}" would take longer steps, but: {error}'
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
        """Whether to change from steps h to the implicit method, where modes of a speed decay at a rate, 1/s."""
        rest = (self._settings.end - t) / h * self._explicit.stages * self._solver.slots.bodies
        # Modes of internal variables are not among those that are known.
        damped = rate > DAMPED * speed or self._solver.model.carried.internal
        return bool(damped and rest >= self._rest)

    def _try_explicit(self, run: RunState, t: float, tried: int) -> MethodChange:
        """Begin a trial of the explicit method."""
        self._account(t, tried)
        h, known = float(run.clock[H]), self._judged
        self._trial, self._half = (h, known.advanced / known.spent), (t, tried)
        self._noting, self._next = tried + TRIAL // 2, tried + TRIAL
        return MethodChange(self._explicit, told=False)

    def _compare(self, t: float, tried: int) -> MethodChange:
        """Return the method that advanced further for its cost, at the end of a trial."""
        assert self._trial is not None
        (_, pace), (since, before) = self._trial, self._half
        if (t - since) / ((tried - before) * self._explicit.stages) < pace:
            return self._return(t, tried)
        self._settled(t, tried)
        self._judged = replace(self._judged, implicit=False)
        self._plan(t, tried)
        return MethodChange(self._explicit)

    def _return(self, t: float, tried: int) -> MethodChange:
        """End a trial with the implicit method."""
        assert self._trial is not None and self._switch is not None
        h, _ = self._trial
        self._settled(t, tried)
        self._plan(t, tried)
        return MethodChange(self._switch, h, told=False)
