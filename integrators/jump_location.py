"""Location of a jump of a function of time, by bisection."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# A function changes abruptly if, after HALVINGS bisections, the interval still contains at least the fraction KEPT of
# the change; of the change of a smooth function it contains about an eighth.
HALVINGS, KEPT = 3, 0.5
# Test of a jump: at this many ulps of the time before and after it, the function must differ from the values beside the
# jump by at most this fraction of the jump. Noise fails the test.
BESIDE_ULPS, SIDEWAYS = 16, 0.25
# A jump along the motion is due to time, not to the state, if at least this fraction of it remains when the state is
# held constant.
IN_TIME = 0.5

Values = Callable[[float], np.ndarray]


class Change(NamedTuple):
    """Narrow time interval in which a function of time changes abruptly.

    Attributes
    ----------
    last_before, first_after : last time before the change and first time after it; consecutive floats for a jump
    jump : whether the function jumps
    """

    last_before: float
    first_after: float
    jump: bool


def locate_change(value: Values, start: float, stop: float) -> Change | None:
    """Return the narrow interval in which most of the change of a function of time occurs.

    `value` is the function, and `start` and `stop` are the times between which it changes. The result is None if the
    change is spread over the whole interval, or if the function has NaN values.
    """
    low, high = value(start), value(stop)
    begin, end, largest, count = start, stop, _size(high - low), 0
    if not np.finfo(float).tiny < largest < np.inf:
        return None
    while True:
        middle = 0.5 * (begin + end)
        if not begin < middle < end:
            return Change(begin, end, _is_jump(value, begin, end, low, high))
        there = value(middle)
        if _size(there - low) >= _size(high - there):
            end, high = middle, there
        else:
            begin, low = middle, there
        change = _size(high - low)
        count = 0 if change > largest else count + 1
        largest = max(largest, change)
        if count >= HALVINGS and not change >= KEPT * largest:
            return None if count == HALVINGS else Change(begin, end, False)


def _is_jump(value: Values, before: float, after: float, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether a function is nearly constant before and after a suspected jump between two times.

    `value` is the function, and `low` and `high` are its values at the times `before` and `after`.
    """
    unit = BESIDE_ULPS * np.spacing(max(abs(before), abs(after)))
    jump = SIDEWAYS * _size(high - low)
    return bool(_size(value(before - unit) - low) <= jump and _size(value(after + unit) - high) <= jump)


def _size(change: np.ndarray) -> float:
    return float(np.abs(change).max(initial=0.0))
