"""When a run looks at what limits its steps, and what it does about it."""

from __future__ import annotations

import warnings

import numpy as np

from quirk.errors import StiffnessWarning
from quirk.integrators import ImplicitMethod, Method, Tableau

from ..march.run import Settings
from .solver import Solver
from .stiffness import fastest_decay, stability_interval

# Steps tried until the first look, and how many times as many until each further one.
FIRST_LOOK, GROWTH = 500, 2
# More steps than any run takes.
NEVER = 1 << 40
# Steps are limited by stability if the fastest decay takes more than this part of the stability interval in them.
LIMITED = 0.5


class Pacing:
    """Looks at the steps of an adaptive explicit run after a number of them that does not depend on the clock.

    Parameters
    ----------
    switch : the method to go on with, or None to warn
    """

    def __init__(self, solver: Solver, method: Method, settings: Settings, switch: ImplicitMethod | None) -> None:
        self._solver, self._method, self._switch = solver, method, switch
        self._looking = isinstance(method, Tableau) and settings.fixed == 0

    def start(self, t: float) -> None:
        """Begin anew, at time t."""
        self._since, self._tried, self._next = t, 0, FIRST_LOOK

    def due(self, tried: int) -> int:
        """How many steps may be tried until the next look, after so many."""
        return max(1, self._next - tried) if self._looking else NEVER

    def other(self, y: np.ndarray, t: float, tried: int) -> ImplicitMethod | None:
        """Return the method to go on with at a state (size,), if the steps up to there were limited by stability."""
        if not self._looking or tried < self._next:
            return None
        assert isinstance(self._method, Tableau)
        h = (t - self._since) / (tried - self._tried)
        self._since, self._tried, self._next = t, tried, GROWTH * tried
        rate = fastest_decay(self._solver, y, t)
        if h * rate < LIMITED * stability_interval(self._method.name):
            return None
        self._looking = False
        if self._switch is None:
            warnings.warn(
                f"simulate: at t = {t:.4g} s the steps of {self._method.name}, {h:.2g} s, are limited by stability, "
                f"not by accuracy: the system is stiff, with motion that decays at {rate:.2g} 1/s; "
                'method="RadauIIA9" or "auto" takes longer steps',
                StiffnessWarning,
                stacklevel=7,  # where `simulate` was called
            )
        return self._switch
