"""When a run looks at what limits its steps, and which method is to go on.

The steps of an explicit method are short for one of two reasons: what moves changes fast, or something decays fast of
which nothing is seen any more. In the second case steps times rates need not come near the bound of stability. What
has decayed follows the motion, with an order that is lower than that of the method (Hairer and Wanner, Solving Ordinary
Differential Equations II, IV.15); so the error estimate keeps steps below that bound, the farther the smaller the
tolerance. So the motion itself is looked at: where it is a polynomial of low degree over many steps, an implicit method
takes one step for all of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from quirk.errors import InputError, StiffnessWarning
from quirk.integrators import RADAU_IIA9, ImplicitMethod, Method, Tableau

from ..march.run import PIECE, H, Run, Settings, T
from .solver import Solver
from .steppers import stepper_of
from .stiffness import FEWEST, fast_modes, smooth, stability_interval

# Steps tried until the first look, and how many times as much work until each further one.
FIRST_LOOK, GROWTH = 400, 2
# More steps than any run takes.
NEVER = 1 << 40
# Evaluations that take as long as an implicit step, and by how many times this must be less than explicit steps take.
IMPLICIT_COST, WORTH = 100, 2
# Into so many spans the steps that take as long are divided, with states noted at the ends of each.
SPANS = 13
# Steps tell nothing if they are less than this part of the longest of them, or of all since the last look: behind a
# jump they grow anew.
LEAST = 0.5
# Nothing is seen of a mode that falls by this power of e from one look to the next.
GONE = 10.0


class Pacing:
    """Looks at the steps of an adaptive run after an amount of work that does not depend on the clock.

    Parameters
    ----------
    method : the run begins with it; unless it is an explicit Runge-Kutta method nothing is looked at
    switch : the method that takes over in stiff stretches, or None to warn of them
    """

    def __init__(self, solver: Solver, method: Method, settings: Settings, switch: ImplicitMethod | None) -> None:
        self._solver, self._settings, self._switch = solver, settings, switch
        self._looking, self._implicit = isinstance(method, Tableau) and settings.fixed == 0, False
        self._noting = self._next = NEVER
        if isinstance(method, Tableau):
            self._explicit = method
            self._spacing = max(1, round(WORTH * IMPLICIT_COST / (SPANS * method.stages)))

    def start(self, t: float) -> None:
        """Begin anew, at time t."""
        self._work = 0
        if self._looking:
            self._plan(t, 0)

    def due(self, tried: int) -> int:
        """How many steps may be tried until `other` is to be asked again, after so many."""
        if not self._looking:
            return NEVER
        if tried < self._noting:
            return self._noting - tried
        return self._spacing - (tried - self._noting) % self._spacing

    def other(self, run: Run, tried: int) -> tuple[Method, Any] | None:
        """Return the method to go on with, and its stepper, or None if there is to be no change, between two steps."""
        if not self._looking or tried < self._noting:
            return None
        if not self._implicit and (tried - self._noting) % self._spacing == 0:
            self._note(run)
            if len(self._times) == FEWEST and not self._smooth():
                self._noting, self._rough = self._next, True  # most motions need no further notes
        if tried < self._next:
            return None
        self._work += self._cost * (tried - self._tried)
        t = float(run.clock[T])
        steps = (t - self._since) / (tried - self._tried)
        other = self._back(run.y, t, steps) if self._implicit else self._onward(run.y, t, steps)
        self._implicit ^= other is not None
        self._plan(t, tried)
        return other

    def _plan(self, t: float, tried: int) -> None:
        """Choose when to look again, at time t after so many steps tried."""
        self._cost = IMPLICIT_COST if self._implicit else self._explicit.stages
        work = max(FIRST_LOOK * self._explicit.stages, (GROWTH - 1) * self._work)
        self._since, self._tried, self._next = t, tried, tried + -(-work // self._cost)
        self._noting = self._next - (0 if self._implicit else SPANS * self._spacing)
        self._times: list[float] = []
        self._states: list[np.ndarray] = []
        self._allowed: list[float] = []
        self._pieces: set[int] = set()
        self._rough = False

    def _note(self, run: Run) -> None:
        """Keep what bodies do, the step that the errors allow, and between which breaks."""
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

    def _onward(self, y: np.ndarray, t: float, steps: float) -> tuple[Method, Any] | None:
        """Return the implicit method if the system is stiff, or warn; steps since the last look have this mean."""
        if self._rough or len(self._pieces) != 1:
            return None
        took = self._times[-1] - self._times[0]
        h = took / (SPANS * self._spacing)
        if took > WORTH * self._settings.max_step or h <= LEAST * max([steps, *self._allowed]) or not self._smooth():
            return None
        modes, missed = fast_modes(self._solver, y, t, h)
        rate = (-modes.real - missed).max(initial=0.0)
        if rate * (t - self._since) < GONE:
            return None
        method = self._switch or RADAU_IIA9
        advice = f'method="{method.name}" or "auto" takes longer steps'
        try:
            stepper = stepper_of(self._solver, method)
            if self._switch is not None:
                return method, stepper
        except InputError as error:
            # There is something in the system, such as friction that slides, that it does not take.
            advice = f'method="{method.name}" would take longer steps, but: {error}'
        self._looking = False
        warnings.warn(
            f"simulate: at t = {t:.4g} s the steps of {self._explicit.name}, {h:.2g} s, are limited by stability, "
            f"not by accuracy: the system is stiff, with motion that decays at {rate:.2g} 1/s; {advice}",
            StiffnessWarning,
            stacklevel=8,  # where `simulate` was called
        )
        return None

    def _back(self, y: np.ndarray, t: float, steps: float) -> tuple[Method, Any] | None:
        """Return the explicit method if its steps could be as long as those of the implicit one have been."""
        modes, _ = fast_modes(self._solver, y, t, steps)
        if len(modes) == 0 or steps * np.abs(modes).max() >= stability_interval(self._explicit.name):
            return None
        return self._explicit, stepper_of(self._solver, self._explicit)
