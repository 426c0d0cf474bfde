"""Location of an abrupt change of a function of time, a jump or a steep ramp, by bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .breaks import SIDE_ULPS

# A function changes abruptly if, after HALVINGS bisections, the interval still contains at least the fraction KEPT of
# the change; of the change of a smooth function it contains about an eighth.
HALVINGS, KEPT = 3, 0.5
# Fractions of an interval at which it is divided: the second applies where the function is NaN in the middle, as
# abs(x)/x is at a zero of x.
DIVISIONS = 0.5, 0.4375
# Test for a step from one level to another: at NEAR and FAR times the width of an interval before and after it, the
# function differs from its values at the ends of the interval by at most the fractions SETTLED and SIDEWAYS of their
# difference. Noise and short pulses fail the test.
NEAR, FAR, SETTLED, SIDEWAYS = 1, 8, 0.05, 0.25
# The levels beside a ramp are parabolas through values between its edge and FARTHEST times its half width from its
# middle, or the end of the searched interval, at the fractions LEVEL of this distance; an end that is closer than
# CLOSEST times the half width ends the ramp.
FARTHEST, CLOSEST, LEVEL = 16.0, 2.0, (1.0, 0.8, 0.6)
# A ramp begins where a straight line through its differences EDGE and 2 EDGE from the level before it, as fractions of
# its change, is zero, and ends likewise. These are located to the fraction EDGE_RESOLUTION of the half width.
EDGE, EDGE_RESOLUTION = 1e-6, 1e-10
# A jump along the motion is due to time, not to the state, if at least this fraction of it remains when the state is
# held constant.
IN_TIME = 0.5

Values = Callable[[float], np.ndarray]


class Change(NamedTuple):
    """Narrow time interval in which a function of time changes abruptly.

    Attributes
    ----------
    last_before, first_after : last time before the change and first time after it; consecutive floats for a jump
        between two values, one float in between for the sign of a number, which is zero there
    stepwise : whether the function is nearly constant before and after the change
    """

    last_before: float
    first_after: float
    stepwise: bool

    @property
    def jump(self) -> bool:
        """Whether the function jumps: steps that end and begin at `first_after` do not meet values in between."""
        unit = np.spacing(max(abs(self.last_before), abs(self.first_after)))
        return bool(self.stepwise and self.first_after - self.last_before <= SIDE_ULPS * unit)


def locate_change(value: Values, start: float, stop: float) -> Change | None:
    """Return the narrow interval in which most of the change of a function of time occurs.

    `value` is the function, and `start` and `stop` are the times between which it changes. The result is None if the
    change is spread over the whole interval, or if the function is NaN at `start` or `stop`.
    """
    low, high = value(start), value(stop)
    begin, end, largest, count, halvings = start, stop, _size(high - low), 0, 0
    if not np.finfo(float).tiny < largest < np.inf:
        return None
    while True:
        inside = [a for a in (begin + part * (end - begin) for part in DIVISIONS) if begin < a < end]
        finite = ((a, there) for a in inside if np.isfinite(there := value(a)).all())
        middle, there = next(finite, (end, high))
        if middle == end:
            return _whole_change(value, begin, end, start, stop)
        if _size(there - low) >= _size(high - there):
            end, high = middle, there
        else:
            begin, low = middle, there
        change = _size(high - low)
        count = 0 if change > largest else count + 1
        largest, halvings = max(largest, change), halvings + 1
        if count >= HALVINGS and not change >= KEPT * largest:
            return None if halvings == HALVINGS else _whole_change(value, begin, end, start, stop)


def _whole_change(value: Values, begin: float, end: float, start: float, stop: float) -> Change:
    """Return the whole of an abrupt change that the interval from `begin` to `end` contains in part.

    `value` is the function, which has been searched from `start` to `stop`. If the function does not step from one
    level to another, the result is the interval itself.
    """
    before, after, middle = begin, end, 0.5 * (begin + end)
    # Below a power of two, floats are closer than above it: narrower intervals would not become wider.
    while (width := max(after - before, np.spacing(max(abs(before), abs(after))))) <= (stop - start) / 2**HALVINGS:
        low, high = value(before), value(after)
        jump = _size(high - low)
        if all(
            _size(value(before - far * width) - low) <= most * jump
            and _size(value(after + far * width) - high) <= most * jump
            for far, most in ((NEAR, SETTLED), (FAR, SIDEWAYS))
        ):
            change = Change(before, after, True)
            if change.jump:
                return change
            first, last = (_edge(value, middle, 0.5 * width, limit, EDGE * jump) for limit in (start, stop))
            return Change(first, last, True)
        before, after = middle - width, middle + width
    return Change(begin, end, False)


def _edge(value: Values, middle: float, reach: float, end: float, difference: float) -> float:
    """Return the beginning or end of a ramp around the time `middle`, the one toward the time `end`.

    The ramp lies within the time `reach` from the middle, and the searched interval ends at `end`. The edge is
    extrapolated from the times at which the function differs from its level beside the ramp by `difference` and by
    twice as much.
    """
    side = 1.0 if end > middle else -1.0
    farthest = min(abs(end - middle), FARTHEST * reach)
    if farthest < CLOSEST * reach:
        return end
    parabola = np.linalg.solve(np.vander(LEVEL), [value(middle + side * farthest * place) for place in LEVEL])

    def last(allowed: float) -> float:
        """Return the last time toward the ramp at which the function differs by at most `allowed` from its level."""
        inside, outside = middle - side * reach, middle + side * farthest * min(LEVEL)
        while abs(outside - inside) > EDGE_RESOLUTION * reach:
            t = 0.5 * (inside + outside)
            if t in (inside, outside):
                break
            level = np.vander([side * (t - middle) / farthest], len(LEVEL))[0] @ parabola
            if _size(value(t) - level) <= allowed:
                outside = t
            else:
                inside = t
        return outside

    return 2 * last(difference) - last(2 * difference)


def _size(change: np.ndarray) -> float:
    return float(np.abs(change).max(initial=0.0))
