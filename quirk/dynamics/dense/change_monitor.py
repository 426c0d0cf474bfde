"""Detection of jumps of user functions and switching laws within accepted steps, for runs with the dense solver.

The functions are evaluated between the stages of each accepted step. The counterpart for compiled runs is
`quirk.dynamics.sparse.stepping.probed_functions`. A break is a time at which a step must end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.functions.motion_kernels import FUNCTION
from quirk.integrators import Breaks, InterpolatedStep
from quirk.integrators.jump_location import IN_TIME, Values, locate_change
from quirk.integrators.step import Function

from ..model.applied_loads import exerted
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .rows import constraint_rows

# Minimum number of intervals per step at whose ends the functions are sampled, if the step is longer than the gap:
# enough that a short pulse leaves some intervals unaffected.
LEAST_PARTS = 6
# Outlier test of the second differences of the samples: larger than OUTLIER times their lower octile plus ROUND_OFF
# times the largest value. At most MOST intervals of a step are examined.
OUTLIER, ROUND_OFF, MOST = 8.0, 1e-9, 4
# A step has missed a jump or pulse if y' differs from the slope of the interpolant by this fraction of the slope's
# variation.
HIDDEN = 0.5
# Difference quotients of the interpolant are taken over this fraction of the step.
DIFFERENCE = 1e-4


def user_function_values(
    model: Model, angles: Callable[[float], Mapping[str, np.ndarray]], fixed: bool
) -> Callable[[float, np.ndarray], np.ndarray] | None:
    """Return a function of (t, y) that evaluates all user functions of a model, or None if there are none.

    It returns loads, derivatives of prescribed motions, and right-hand sides b of constraint rows, or NaN if a function
    fails. Unless the step size is `fixed`, the loads of switching force laws are also evaluated. `angles` is a function
    of time that returns approximate joint angles with full turns.
    """
    elements = [(element, rows) for element, rows in model.forces if _is_sampled(element, fixed)]
    motions = [m for placed in model.relations for m in placed.relation.motions if m.kind == FUNCTION]
    relations = [placed.rows for placed in model.relations if placed.relation.of_user]
    if not elements and not motions and not relations:
        return None

    def values(t: float, y: np.ndarray) -> np.ndarray:
        state = model.auxiliary.state(y)
        if model.reads_angles:
            state.angles = dict(angles(t))
        kin = Kinematics.of(state)
        moving = PoseDerivatives.of(kin, 1)
        try:
            acts = [exerted(element, rows, moving, t, 0, kin.angles, kin.internal) for element, rows in elements]
            parts = [numbers.ravel() for acting in acts for numbers in (acting.loads, acting.rates)]
            parts += [m.derivatives(t)[1:] for m in motions]
            if relations:
                b = constraint_rows(model, kin, t).b
                parts += [b[rows] for rows in relations]
        except InputError:
            return np.array([np.nan])
        return np.concatenate(parts)

    return values


def _is_sampled(element: ForceElement, fixed: bool) -> bool:
    """Return whether a force element is evaluated between the stages of steps, to detect jumps.

    This applies to elements with a user function or a user-defined motion and, unless the step size is `fixed`, also to
    laws that may switch on and off.
    """
    of_law = element.of_user if fixed else element.wakes
    return of_law or any(element.motion(name).kind == FUNCTION for name in element.motions)


class ChangeMonitor:
    """Search of accepted steps for jumps of user functions.

    A step with a jump is repeated to end at the jump.

    Parameters
    ----------
    f : function of (t, y) that returns y'
    values : function of (t, y) that returns the values of all user functions
    breaks : times at which steps must end; located jumps are added
    gap : maximum time between two samples of the functions, s
    """

    def __init__(
        self, f: Function, values: Callable[[float, np.ndarray], np.ndarray], breaks: Breaks, gap: float
    ) -> None:
        self._f, self._values, self._breaks, self._gap = f, values, breaks, gap
        self._noisy = False

    def __call__(self, step: InterpolatedStep, fixed: bool = False) -> bool:
        """Search a step for jumps; return True if it must be repeated because a break was added within it.

        `fixed` is true for a step of fixed size.
        """
        h, piece = step.t_new - step.t, self._breaks.piece(step.t)
        if self._noisy or (h <= self._gap and not fixed):
            return False
        high = min(step.t_new, piece.high)

        def value(t: float) -> np.ndarray:
            t = min(max(t, piece.low), high)
            return self._values(t, step.near(t))

        times = np.linspace(step.t, step.t_new, max(LEAST_PARTS, math.ceil(h / self._gap)) + 1)
        samples = [value(t) for t in times]
        if not all(np.isfinite(a).all() for a in samples):
            return False  # a function that fails between stages does not affect the run
        changes = np.diff(samples, axis=0)
        bends = np.abs(np.diff(changes, axis=0)).max(axis=1)
        typical = np.sort(bends)[(len(bends) - 1) // 8]
        outliers = np.flatnonzero(bends > OUTLIER * typical + ROUND_OFF * np.abs(samples).max())
        if not outliers.size:
            return False
        if not np.array_equal(value(times[outliers[0]]), samples[outliers[0]]):
            self._noisy = True  # the values are not functions of time and state alone
            return False
        usual = np.median(changes, axis=0)
        unusual = np.abs(changes - usual).max(axis=1)
        slope = usual / (times[1] - times[0])
        suspects = {int(k + (unusual[k + 1] > unusual[k])) for k in outliers}
        intervals = sorted(suspects, key=lambda k: -unusual[k])[:MOST]
        added = [self._add_break(value, slope, step, times[k], times[k + 1], fixed) for k in intervals]
        return any(added)

    def _add_break(
        self, value: Values, slope: np.ndarray, step: InterpolatedStep, a: float, b: float, fixed: bool
    ) -> bool:
        """Search for a jump of the user functions between the times a and b (s); return whether a break was added.

        In steps of fixed size, a steep ramp counts as a jump; other steps resolve it by their error control.
        `value` is a function of time that returns the values of all user functions, and `slope` the typical rate of
        change of each value, which is subtracted. `fixed` is true if the size of the step is fixed.
        """
        change = locate_change(lambda t: value(t) - slope * (t - a), a, b)
        if fixed and not (change is not None and change.stepwise):
            # A ramp may fill the time between two samples.
            change = locate_change(lambda t: value(t) - slope * (t - a), step.t, step.t_new)
        if change is not None and (change.jump or (change.stepwise and fixed)):
            before, after = step.near(change.last_before), step.near(change.first_after)
            in_time = self._values(change.first_after, before) - self._values(change.last_before, before)
            total = self._values(change.first_after, after) - self._values(change.last_before, before)
            if np.abs(in_time).max() >= IN_TIME * np.abs(total).max():
                if change.jump:
                    return self._breaks.add(change.first_after)
                return self._breaks.find_ramp(change.last_before, change.first_after)
        suspect = a if self._slope_error(step, a) > self._slope_error(step, b) else b
        slopes = [self._slope(step, t) for t in (step.t, a, b, step.t_new)]
        if not self._slope_error(step, suspect) > HIDDEN * np.ptp(slopes, axis=0).max():
            return False
        if fixed:
            return step.t_new - step.t > self._gap and self._breaks.add(0.5 * (step.t + step.t_new))
        return self._breaks.add(max(step.t, suspect - self._gap), self._gap)

    def _slope_error(self, step: InterpolatedStep, t: float) -> float:
        """Return the largest difference at time t (s) between y' and the slope of the interpolant of the step."""
        return float(np.abs(self._f(t, step.near(t)) - self._slope(step, t)).max())

    def _slope(self, step: InterpolatedStep, t: float) -> np.ndarray:
        e = DIFFERENCE * (step.t_new - step.t)
        before, after = max(step.t, t - e), min(step.t_new, t + e)
        return (step.near(after) - step.near(before)) / (after - before)
