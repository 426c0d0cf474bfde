"""Location of jumps and ramps of a user function within a step whose stages do not resolve them.

Functions have the index p. Their inputs and outputs at the stages are interpolated by polynomials in time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quirk.integrators.jump_location import IN_TIME, Values, locate_change

from .probed_functions import Functions, ProbedStretch

# Difference of a function from its interpolation between the stages, over its change in the step, beyond which the
# stages have missed a change: for adaptive and for fixed steps, which have no tolerance. Smaller differences may be
# errors of the interpolation; the limit of the function is then raised to MORE times the difference.
ADAPTIVE_HIDDEN, FIXED_HIDDEN, MORE = 0.5, 0.2, 2.0
# Number of changes between neighboring floats that are not jumps, after which a function counts as noise.
NOISE = 3
# Intervals of fewer units in the last place are not searched: steps across ramps of round-off show nothing else.
LEAST_ULPS = 1000
# Signs of errors of inputs, to find how much they change outputs: four combinations at random.
SIGNS = np.random.default_rng(0).choice([-1.0, 1.0], (4, 1000))
# Jumps in one step of at least this fraction of the largest one are located together.
COMPARABLE = 0.3


class Discontinuity(NamedTuple):
    """A time at which a step must end because of a discontinuity.

    Attributes
    ----------
    time : the time, s
    first : maximum size of the next step, s
    ramp_end : None, or the end of a steep ramp that begins at `time`, at which a step must end, too, s
    """

    time: float
    first: float = np.inf
    ramp_end: float | None = None


def locate_discontinuities(
    functions: Functions, p: int, step: ProbedStretch, detected: float, rtol: float, atol: float
) -> list[Discontinuity]:
    """Return the times at which steps must end because of function p: jumps, or times before unresolved changes.

    Parameters
    ----------
    functions : all user functions with their values at the stages of the step
    p : index of the function
    step : times of the step
    detected : time, s, at which the function differs from its interpolant between stages; infinite if the search is due
        to a large difference between its values at the stages
    rtol, atol : relative and absolute tolerance of the run
    """

    def evaluate(t: float, at: float) -> np.ndarray:
        """Return the outputs of the function at time t (s), with inputs interpolated at time `at` (s)."""
        return functions.call(p, min(max(t, step.low), step.high), functions.inputs(p, step.part(at)))

    def value(t: float) -> np.ndarray:
        t = min(max(t, step.low), step.high)
        return evaluate(t, t)

    def deviation(t: float) -> np.ndarray:
        """Return the outputs of the function at time t (s) minus their interpolant between the stages."""
        return value(t) - functions.expected(p, step.part(t))

    limit, returned = functions.samples.limit, functions.returned(p)
    if not np.isfinite(limit[2 * p]) or not np.isfinite(returned).all():
        return []
    if not np.array_equal(value(step.middle), value(step.middle), equal_nan=True):
        limit[2 * p] = np.inf  # its outputs are not determined by its inputs
        return []
    nodes, off, change = step.times(functions.samples.fractions), 0.0, np.ptp(returned, axis=0).max()
    # The first node at or after that time.
    k = min(max(int(np.searchsorted(nodes, detected)), 1), len(nodes) - 1)
    # The jump is between stages that differ, or between a stage and the time at which it was detected.
    changes = np.abs(np.diff(returned, axis=0)).max(axis=1)
    significant = np.flatnonzero(changes > COMPARABLE * changes.max())
    intervals: list[tuple[Values, float, float]] = [(value, nodes[n], nodes[n + 1]) for n in significant]
    if detected < np.inf:
        beyond, outside = functions.beyond_range(p, step.part(detected))
        off = float(np.abs(deviation(detected)).max())
        outside = outside and not functions.fixed
        if not outside and not off > limit[2 * p] * change + functions.samples.explained[p]:
            return []
        if max(off, beyond) <= MORE * _effect_of_tolerances(functions, p, step, detected, rtol, atol):
            functions.samples.explained[p] = MORE * max(off, beyond)
            return []
        if outside and functions.is_soft(p, step.part(detected), beyond, step.h):
            functions.samples.explained[p] = MORE * beyond
            return []
        if outside:
            close = max(nodes[k - 1], detected - step.gap)
            return [Discontinuity(close if close > step.t else step.t + step.gap, step.gap)]
        intervals = [(deviation, nodes[k - 1], detected), (deviation, detected, nodes[k]), *intervals]
    discontinuities = [
        found for changing, a, b in intervals for found in _jumps(functions, p, evaluate, changing, a, b)
    ]
    if not discontinuities and functions.fixed:
        # A ramp between two stages may fill the time between them.
        discontinuities = _jumps(functions, p, evaluate, value, nodes[0], nodes[-1])
    if discontinuities or detected == np.inf:
        return discontinuities
    hidden = FIXED_HIDDEN if functions.fixed else ADAPTIVE_HIDDEN
    if off > hidden * change and step.h > step.gap:
        return [
            Discontinuity(step.middle)
            if functions.fixed
            else Discontinuity(max(nodes[k - 1], detected - step.gap), step.gap)
        ]
    limit[2 * p] = max(limit[2 * p], min(MORE * off / change, hidden))
    return []


def _effect_of_tolerances(
    functions: Functions, p: int, step: ProbedStretch, t: float, rtol: float, atol: float
) -> float:
    """Return the largest change of the outputs of function p at time t (s) by errors of its inputs within tolerances.

    A load that depends on a coordinate which constraints hold, for example, is almost zero at the stages, where states
    satisfy the constraints, but not between them, where its inputs are interpolated.
    """
    inputs = functions.inputs(p, step.part(t))
    outputs = functions.call(p, t, inputs)
    errors = SIGNS[:, : len(inputs)] * (rtol * np.abs(inputs) + atol)
    return max(float(np.abs(functions.call(p, t, inputs + error) - outputs).max()) for error in errors)


def _jumps(
    functions: Functions, p: int, evaluate: Callable[[float, float], np.ndarray], changing: Values, a: float, b: float
) -> list[Discontinuity]:
    """Return a list with the jump of function p between the times a and b (s); empty if there is no jump.

    For steps of fixed size, a steep ramp counts as a jump; other steps resolve it by their error control.
    ``evaluate(t, at)`` calls the function at time t with its inputs at time `at`; a jump that is due to the inputs and
    not to time is ignored. `changing` returns, as a function of time, the values in which the jump is searched: the
    outputs, or their deviation from the interpolant.
    """
    change = locate_change(changing, a, b) if b - a > LEAST_ULPS * np.spacing(max(abs(a), abs(b))) else None
    if change is None:
        return []
    before, after, stepwise = change
    if not stepwise and np.nextafter(before, np.inf) >= after:
        functions.false_alarms[p] += 1
        if functions.false_alarms[p] >= NOISE:
            functions.samples.limit[2 * p] = np.inf  # it is noise, without a limit at any time
    if not (change.jump or (stepwise and functions.fixed)):
        return []
    whole, in_time = (
        evaluate(after, after) - evaluate(before, before),
        evaluate(after, before) - evaluate(before, before),
    )
    if not np.abs(in_time).max() >= IN_TIME * np.abs(whole).max():
        return []
    return [Discontinuity(after) if change.jump else Discontinuity(before, ramp_end=after)]
