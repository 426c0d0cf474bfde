"""Switching between an explicit and an implicit method while bodies slide in a plane.

Friction with coefficient mu and normal force N rotates the slip velocity v of a mass m into the direction of the
driving loads, at a rate mu N / (m |v|). While bodies slide slowly, for example at the onset of sliding, this rate is
far above all other rates of the system. The run is then stiff, and uses an implicit method until the slip is fast
enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.forces import Friction
from quirk.forces.law_layout import COORDINATE
from quirk.integrators import ImplicitMethod, Method, Tableau

from ..solver.solver import Solver
from .method_switching import MethodChange, MethodCosts
from .run_state import RunState
from .stiffness_detection import fast_modes, stability_interval

# Number of steps between tests, of the explicit and of the implicit method.
LOOK, LOOK_BACK = 10, 4
# Step size times the rate of rotation of the slip above which the explicit method is limited by stability.
SETTLES = 1.0
# Number of tests of the explicit method from one computation of the fastest modes to the next: bodies that turn easily
# yield more to friction than by their masses. And fraction of the interval of stability from which on it limits steps.
SELDOM, LIMITED = 16, 0.7
# Determinant of the equations of friction below which they are about to have no solution, where a run must end.
UNSOLVABLE = 0.02


class SlipSwitching:
    """Decisions between two methods, from the rate at which slip directions approach the direction of driving loads.

    The rate is tested every few steps. Systems with a part that the implicit method does not support keep the explicit
    method.

    Parameters
    ----------
    solver : solver of a system for which `slides_in_plane` is true
    explicit, implicit : methods between which the run switches, beginning with the explicit method
    stepper : function that returns the stepper of a method, or raises an InputError if the system does not support it
    """

    switches = True

    def __init__(
        self, solver: Solver, explicit: Tableau, implicit: ImplicitMethod, stepper: Callable[[Method], Any]
    ) -> None:
        self._solver, self._explicit, self._other, self._stepper = solver, explicit, implicit, stepper
        self._supported: bool | None = None  # unknown until the implicit method is needed
        self._implicit, self._urged, self._costs = False, False, MethodCosts()

    def snapshot(self) -> dict[str, Any]:
        """Return a copy of all data that affect later decisions, by name."""
        names = "_since", "_tried", "_looks", "_implicit", "_urged", "_costs"
        return {name: getattr(self, name) for name in names}

    def recall(self, saved: Mapping[str, Any]) -> None:
        """Restore the data of a `snapshot`."""
        vars(self).update(saved)

    def start(self, t: float, costs: MethodCosts) -> MethodChange:
        """Start at time t (s) with the explicit method; return the switch to it.

        The cost statistics `costs` of the preceding interval of the run are only stored.
        """
        self._since, self._tried, self._looks, self._costs = t, 0, 0, costs
        self._implicit = self._urged = False
        return MethodChange(self._explicit, recorded=False)

    def costs(self, t: float, tried: int) -> MethodCosts:
        """Return the cost statistics that were passed to `start`, unchanged.

        The arguments are not used; they are those of `MethodSwitching.costs`.
        """
        return self._costs

    def jumped(self, t: float, tried: int, *, soon: bool = True) -> None:
        """Restart the interval until the next test of the slip, after a jump of the state at time t (s).

        `tried` is the number of time steps attempted so far in the run. `soon` is not used; the signature is that of
        `MethodSwitching.jumped`.
        """
        self._since, self._tried = t, tried

    def steps_to_decision(self, tried: int) -> int:
        """Return the number of steps until `decide` tests the slip again, after `tried` attempted steps."""
        return max(1, self._tried + self._every - tried)

    def decision_due(self, tried: int) -> bool:
        """Return whether `decide` is due to test the slip, after `tried` attempted steps."""
        return tried - self._tried >= self._every

    @property
    def _every(self) -> int:
        return LOOK_BACK if self._implicit else LOOK

    def decide(self, run: RunState, tried: int) -> MethodChange | None:
        """Test the slip between two steps; return a switch to another method, or None.

        `tried` is the number of attempted time steps.
        """
        count, t = tried - self._tried, float(run.clock.t)
        if count < self._every or not t > self._since:  # all steps since then may have been rejected
            return None
        steps = (t - self._since) / count
        self._since, self._tried = t, tried
        self._looks += 1
        stiff = steps * settling_rate(self._solver, run.y, t) >= SETTLES
        if not stiff and (self._implicit or self._looks % SELDOM == 0):
            modes, _ = fast_modes(self._solver, run.y, t, steps)
            limit = stability_interval(self._explicit.name) * (1.0 if self._implicit else LIMITED)
            stiff = len(modes) == 0 or steps * np.abs(modes).max() >= limit
        return None if stiff == self._implicit else self._changed()

    def rescue(self, run: RunState, tried: int, *, stalled: bool) -> MethodChange | None:
        """Return a switch to the other method after a failure of the current method, or None if it would fail again.

        The explicit method is given up if it is `stalled`, that is, makes no progress, and only once in each interval
        of the run. `tried` is the number of attempted time steps.
        """
        if not self._implicit:
            if not stalled or self._urged:
                return None
            self._urged = True
        self._since, self._tried = float(run.clock.t), tried
        return self._changed()

    def _changed(self) -> MethodChange | None:
        """Return the switch to the other method, or None if the system does not support the implicit method."""
        if not self._implicit and not self._supports_implicit():
            return None
        self._implicit ^= True
        return MethodChange(self._other if self._implicit else self._explicit)

    def _supports_implicit(self) -> bool:
        """Whether the implicit method supports all parts of the system; its stepper is created at the first call."""
        if self._supported is None:
            try:
                self._stepper(self._other)
                self._supported = True
            except InputError:
                self._supported = False
        return self._supported


def nearly_unsolvable(solver: Solver, y: np.ndarray, t: float) -> InputError | None:
    """Return the exception for a friction force that grows without bound at time t (s) and state y, or None.

    The criterion is a determinant of the friction equations close to zero; the determinant is 1 if friction does not
    affect its own normal loads. The exception names the friction element with the largest force.
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
    """Return whether the system has a friction element with two slip components, whose slip direction can change."""
    return bool((solver.frictions.size > 1).any())


def settling_rate(solver: Solver, y: np.ndarray, t: float) -> float:
    """Return the largest rate (1/s) at which a slip direction approaches its steady direction.

    t is the time (s), and y the state. Friction elements with a slip speed below their smallest resolved speed are
    ignored.
    """
    solver.rates(t, y)
    table, outputs, inputs = solver.frictions, solver.applied.table.outputs, solver.applied.table.inputs
    mass = np.append(solver.model.mass, np.inf)
    rates = np.zeros(len(mass))
    sliding = [(element, rows) for element, rows in solver.model.forces if isinstance(element, Friction)]
    for k in np.flatnonzero(table.size > 1):
        size = int(table.size[k])
        element, bodies = sliding[k]
        slip = np.linalg.norm(outputs[int(table.slip[k]) + COORDINATE * np.arange(1, size + 1)])
        floor = float(inputs[int(table.direction[k]) + size])
        if slip > floor or element.begins:
            for row in bodies:
                rates[row] += abs(float(table.magnitude[k])) / (mass[row] * max(float(slip), floor))
    return float(rates.max())
