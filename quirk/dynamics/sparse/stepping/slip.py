"""Which method a run goes on with while bodies slide in a plane.

Friction turns slip v into the direction in which loads drive it, at a rate mu N / (m |v|). Where bodies begin to slide,
or slide slowly, that rate is far above all others: the run is stiff, and goes on with an implicit method until slip is
fast enough.
"""

from __future__ import annotations

import numpy as np

from quirk.errors import InputError
from quirk.forces import Friction
from quirk.forces.law import COORDINATE
from quirk.integrators import ImplicitMethod, Tableau

from ..solver.solver import Solver
from .method_switching import Judged, MethodChange
from .run_state import RunState, T
from .stiffness_detection import fast_modes, stability_interval

# Steps from one look to the next, of explicit and of implicit methods.
LOOK, LOOK_BACK = 10, 4
# Steps times the rate at which slip turns above which explicit steps are too short.
SETTLES = 1.0
# Determinant of the equations of friction below which it is about to have no solution, where a run cannot go on.
UNSOLVABLE = 0.02


class SlipPacing:
    """Looks every few steps at how fast the direction of slip settles.

    Parameters
    ----------
    solver : with friction of which `slides_in_plane` is true
    explicit, implicit : the methods between which the run changes; it begins with the first
    """

    switches = True

    def __init__(self, solver: Solver, explicit: Tableau, implicit: ImplicitMethod) -> None:
        self._solver, self._explicit, self._other = solver, explicit, implicit
        self._implicit, self._judged = False, Judged()

    def start(self, t: float, judged: Judged) -> MethodChange:
        """Begin at time t; what is known of other intervals is kept for those behind this one."""
        self._since, self._tried, self._judged, self._implicit = t, 0, judged, False
        return MethodChange(self._explicit, told=False)

    def judged(self, t: float, tried: int) -> Judged:
        """What is known of other intervals of the run."""
        return self._judged

    def jumped(self, t: float, tried: int) -> None:
        """Begin to count anew at a jump of the state."""
        self._since, self._tried = t, tried

    def due(self, tried: int) -> int:
        """How many steps may be tried until `other` is to be called again, after a number of them."""
        return max(1, self._tried + self._every - tried)

    @property
    def _every(self) -> int:
        return LOOK_BACK if self._implicit else LOOK

    def other(self, run: RunState, tried: int) -> MethodChange | None:
        """Return the change of method, or None if there is to be none, between two steps."""
        count, t = tried - self._tried, float(run.clock[T])
        if count < self._every:
            return None
        steps = (t - self._since) / count
        self._since, self._tried = t, tried
        stiff = steps * settling_rate(self._solver, run.y, t) >= SETTLES
        if self._implicit and not stiff:
            modes, _ = fast_modes(self._solver, run.y, t, steps)
            stiff = len(modes) == 0 or steps * np.abs(modes).max() >= stability_interval(self._explicit.name)
        return None if stiff == self._implicit else self._changed()

    def rescue(self, run: RunState, tried: int, *, stalled: bool) -> MethodChange | None:
        """Return the change to the explicit method where the implicit one cannot go on; None if that is at work."""
        if not self._implicit:
            return None
        self._since, self._tried = float(run.clock[T]), tried
        return self._changed()

    def _changed(self) -> MethodChange:
        self._implicit ^= True
        return MethodChange(self._other if self._implicit else self._explicit)


def nearly_unsolvable(solver: Solver, y: np.ndarray, t: float) -> InputError | None:
    """Return the error of the largest friction of sliding bodies if it grows without bound at a state (size,).

    It does so where the determinant of its equations, 1 without any reaction upon loads, goes to zero.
    """
    table = solver.frictions
    sliding = [element for element, _ in solver.model.forces if isinstance(element, Friction)]
    if not sliding:
        return None
    solver.rates(t, y)
    if np.isfinite(table.magnitude).all() and table.solvable[0] > UNSOLVABLE:
        return None
    largest = int(np.argmax(np.nan_to_num(np.abs(table.magnitude), nan=np.inf)))
    return InputError(f"{sliding[largest]}: {Friction.undefined}")


def slides_in_plane(solver: Solver) -> bool:
    """Whether the slip of anything that slides has more components than one, and so a direction that settles."""
    return bool((solver.frictions.size > 1).any())


def settling_rate(solver: Solver, y: np.ndarray, t: float) -> float:
    """Return the rate, 1/s, at which the direction of slip settles at a state (size,), of the body where it is largest.

    Slip below the floor of a friction has a direction that is given.
    """
    solver.rates(t, y)
    table, outputs, inputs = solver.frictions, solver.applied.table.outputs, solver.applied.table.inputs
    mass = np.append(solver.model.mass, np.inf)
    rates = np.zeros(len(mass))
    sliding = [rows for element, rows in solver.model.forces if isinstance(element, Friction)]
    for k in np.flatnonzero(table.size > 1):
        size = int(table.size[k])
        slip = np.linalg.norm(outputs[int(table.slip[k]) + COORDINATE * np.arange(1, size + 1)])
        if slip > inputs[int(table.direction[k]) + size]:
            for row in sliding[k]:
                rates[row] += abs(float(table.magnitude[k])) / (mass[row] * slip)
    return float(rates.max())
