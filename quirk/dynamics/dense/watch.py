"""Detection of what a step has passed over of users' functions, and of laws that come and go, in runs by Python.

The functions are evaluated between the stages of each accepted step. `quirk.dynamics.sparse.stepping.probed_functions`
does so for compiled runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.functions.motion_kernels import FUNCTION
from quirk.integrators import Breaks, Sampled
from quirk.integrators.changes import IN_TIME, Values, located
from quirk.integrators.step import Function

from ..model.applied_loads import exerted
from ..model.model import Model
from ..model.time_derivatives import MotionTower
from .rows import constraint_rows

# Functions are asked at so many times of a step, if that is longer than the gap, that a short load leaves some as they
# are.
LEAST_PARTS = 6
# Changes between neighboring times are looked at, up to MOST of a step, if they differ from those beside them by so
# many times what all but an eighth do at least.
OUTLIER, ROUND_OFF, MOST = 8.0, 1e-9, 4
# The step has not seen what differs from its own slopes by this part of their change.
HIDDEN = 0.5
# Slopes of a step are differences over this part of it.
DIFFERENCE = 1e-4


def asked_values(
    model: Model, angles: Callable[[float], Mapping[str, np.ndarray]], fixed: bool
) -> Callable[[float, np.ndarray], np.ndarray] | None:
    """Return a function of (t, y) for the values of all users' functions in one array; None if there are none.

    Of laws that come and go, too, but in steps of a `fixed` size. Their values are loads, derivatives of motions, and
    entries of b; nan where a function fails. `angles` gives about what joints' angles are at a time, all turns counted.
    """
    elements = [(element, rows) for element, rows in model.forces if _asks(element, fixed)]
    motions = [m for placed in model.relations for m in placed.relation.motions if m.kind == FUNCTION]
    relations = [placed.rows for placed in model.relations if placed.relation.of_user]
    if not elements and not motions and not relations:
        return None

    def values(t: float, y: np.ndarray) -> np.ndarray:
        state = model.carried.state(y)
        if model.reads_angles:
            state.angles = dict(angles(t))
        kin = Kinematics.of(state)
        moving = MotionTower.of(kin, 1)
        try:
            acts = [exerted(element, rows, moving, t, 0, kin.angles, kin.internal) for element, rows in elements]
            parts = [numbers.ravel() for found in acts for numbers in (found.loads, found.rates)]
            parts += [m.derivatives(t)[1:] for m in motions]
            if relations:
                b = constraint_rows(model, kin, t).b
                parts += [b[rows] for rows in relations]
        except InputError:
            return np.array([np.nan])
        return np.concatenate(parts)

    return values


def _asks(element: ForceElement, fixed: bool) -> bool:
    """Whether a force element has a function of a user, or follows one; or may come and go."""
    found = element.of_user if fixed else element.wakes
    return found or any(element.motion(name).kind == FUNCTION for name in element.motions)


class ChangeMonitor:
    """Searches accepted steps for abrupt changes of users' functions, and makes steps end there.

    Parameters
    ----------
    f, values : y' and the values of all users' functions, as functions of (t, y)
    breaks : times at which steps end, to which it adds
    gap : the longest time between two calls of the functions, s
    """

    def __init__(
        self, f: Function, values: Callable[[float, np.ndarray], np.ndarray], breaks: Breaks, gap: float
    ) -> None:
        self._f, self._values, self._breaks, self._gap = f, values, breaks, gap
        self._noisy = False

    def __call__(self, step: Sampled, fixed: bool = False) -> bool:
        """Search a step; returns whether it is to be taken again, as a break was added within it."""
        h, piece = step.t_new - step.t, self._breaks.piece(step.t)
        if self._noisy or h <= self._gap:
            return False
        high = min(step.t_new, piece.high)

        def value(t: float) -> np.ndarray:
            t = min(max(t, piece.low), high)
            return self._values(t, step.near(t))

        times = np.linspace(step.t, step.t_new, max(LEAST_PARTS, math.ceil(h / self._gap)) + 1)
        asked = [value(t) for t in times]
        if not all(np.isfinite(a).all() for a in asked):
            return False  # where a function fails, the run need not ask it
        changes = np.diff(asked, axis=0)
        bends = np.abs(np.diff(changes, axis=0)).max(axis=1)
        typical = np.sort(bends)[(len(bends) - 1) // 8]
        outliers = np.flatnonzero(bends > OUTLIER * typical + ROUND_OFF * np.abs(asked).max())
        if not outliers.size:
            return False
        if not np.array_equal(value(times[outliers[0]]), asked[outliers[0]]):
            self._noisy = True  # they are no functions of time and state
            return False
        usual = np.median(changes, axis=0)
        unusual = np.abs(changes - usual).max(axis=1)
        slope = usual / (times[1] - times[0])
        found = {int(k + (unusual[k + 1] > unusual[k])) for k in outliers}
        intervals = sorted(found, key=lambda k: -unusual[k])[:MOST]
        added = [self._placed(value, slope, step, times[k], times[k + 1], fixed) for k in intervals]
        return any(added)

    def _placed(self, value: Values, slope: np.ndarray, step: Sampled, a: float, b: float, fixed: bool) -> bool:
        """Add a break for a change between a and b beyond the usual slope, if there is one; returns whether."""
        change = located(lambda t: value(t) - slope * (t - a), a, b)
        if change is not None and change.jump:
            before, after = step.near(change.before), step.near(change.after)
            in_time = self._values(change.after, before) - self._values(change.before, before)
            whole = self._values(change.after, after) - self._values(change.before, before)
            if np.abs(in_time).max() >= IN_TIME * np.abs(whole).max():
                return self._breaks.add(change.after)
        seen = a if self._off(step, a) > self._off(step, b) else b
        slopes = [self._slope(step, t) for t in (step.t, a, b, step.t_new)]
        if not self._off(step, seen) > HIDDEN * np.ptp(slopes, axis=0).max():
            return False
        if fixed:
            return step.t_new - step.t > self._gap and self._breaks.add(0.5 * (step.t + step.t_new))
        return self._breaks.add(max(step.t, seen - self._gap), self._gap)

    def _off(self, step: Sampled, t: float) -> float:
        """Return the largest difference between y' and the slope of a step's interpolation at time t."""
        return float(np.abs(self._f(t, step.near(t)) - self._slope(step, t)).max())

    def _slope(self, step: Sampled, t: float) -> np.ndarray:
        e = DIFFERENCE * (step.t_new - step.t)
        before, after = max(step.t, t - e), min(step.t_new, t + e)
        return (step.near(after) - step.near(before)) / (after - before)
