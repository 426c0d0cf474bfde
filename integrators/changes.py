"""Where within an interval a function of time changes, by halving it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# What is smooth changes by an eighth as much after so many halvings; what keeps this part of its change does not.
HALVINGS, KEPT = 3, 0.5
# On both sides of a jump, so many units in the last place of the time away from it, a function is nearly as it is next
# to the jump: its change there is this part of the jump at most. Noise has no such sides.
BESIDE_ULPS, SIDEWAYS = 16, 0.25
# A jump is one in time if with the state held this part of it is left.
IN_TIME = 0.5

Values = Callable[[float], np.ndarray]


class Change(NamedTuple):
    """The last time before a change and the first after it, and whether it is a jump: these times are neighbors."""

    before: float
    after: float
    jump: bool


def located(value: Values, before: float, after: float) -> Change | None:
    """Return where between two times most of the change of a function happens, or None if it is spread out.

    Values that are not numbers count as spread out.
    """
    low, high = value(before), value(after)
    begin, end, largest, count = before, after, _size(high - low), 0
    if not np.finfo(float).tiny < largest < np.inf:
        return None
    while True:
        middle = 0.5 * (begin + end)
        if not begin < middle < end:
            return Change(begin, end, _has_sides(value, begin, end, low, high))
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


def _has_sides(value: Values, before: float, after: float, low: np.ndarray, high: np.ndarray) -> bool:
    """Whether a function is about the same a little before a jump, and a little after it."""
    unit = BESIDE_ULPS * np.spacing(max(abs(before), abs(after)))
    jump = SIDEWAYS * _size(high - low)
    return bool(_size(value(before - unit) - low) <= jump and _size(value(after + unit) - high) <= jump)


def _size(change: np.ndarray) -> float:
    return float(np.abs(change).max(initial=0.0))
