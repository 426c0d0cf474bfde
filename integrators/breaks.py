"""Breaks: times at which steps end because the right-hand side f(t, y) may be discontinuous.

A piece is the interval between two consecutive breaks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .step import Function, IntegrationError

# Smallest step, in ulps of the time; shorter steps make no progress. If the smallest step exceeds the fraction LATE of
# the run's duration, floating-point times are too coarse for the run.
SMALLEST_STEP_ULPS, LATE = 16, 1e-10
# Minimum number of samples per run of functions that may change at any time: a pulse of a thousandth of the run's
# duration is detected.
PARTS = 1000
# In ulps of the time: breaks closer than APART are merged, and f is evaluated SIDE before and after a break, so that
# the side to which the break itself belongs does not matter.
APART_ULPS, SIDE_ULPS = 64, 4
# Number of recurring breaks that are computed ahead at a time, in units of `interval`.
RECURRING = 100


class Piece(NamedTuple):
    """Time interval between two consecutive breaks, over which f(t, y) is assumed to be smooth.

    Attributes
    ----------
    low, high : smallest and largest time at which f is evaluated
    end : end of the last step in the interval
    first : maximum size of the first step in the interval
    """

    low: float
    high: float
    end: float
    first: float


def in_piece(f: Function, piece: Piece) -> Function:
    """Return the function f(t, y) with t limited to the interval `piece`, so that f is not evaluated beyond a break."""
    return lambda t, y: f(min(max(t, piece.low), piece.high), y)


class Breaks:
    """The breaks of a run and its maximum step size; breaks can be added during the run.

    Parameters
    ----------
    start, end : times of the start and end of the run; breaks outside are ignored; the end may be infinite
    times : breaks in any order
    max_step : maximum step size, in the unit of time
    recurring : function that returns all other breaks between two times, for runs without an end
    interval : longest time between two recurring breaks, in the unit of time
    """

    def __init__(
        self,
        start: float,
        end: float,
        times: Iterable[float] = (),
        max_step: float = np.inf,
        recurring: Callable[[float, float], Iterable[float]] | None = None,
        interval: float = np.inf,
    ) -> None:
        self.start, self.end, self.max_step = start, end, max_step
        self._recurring, self._interval, self._recurring_until = recurring, interval, start
        self._times: list[float] = []
        self._first: dict[float, float] = {}
        self._located: list[float] = []
        self._stop = np.inf
        for t in times:
            self.add(float(t))

    def snapshot(self) -> tuple[Any, ...]:
        """Return a copy of all known breaks, as argument of `recall`."""
        return list(self._times), dict(self._first), list(self._located), self._recurring_until, self._stop

    def recall(self, saved: tuple[Any, ...]) -> None:
        """Restore the breaks as they were when `snapshot` returned `saved`."""
        times, first, found, self._recurring_until, self._stop = saved
        self._times, self._first, self._located = list(times), dict(first), list(found)

    def _spacing(self, t: float) -> float:
        """Return the spacing of floating-point numbers near time t."""
        return float(np.spacing(max(abs(self.start), abs(t))))

    @property
    def times(self) -> tuple[float, ...]:
        """The known breaks, in increasing order."""
        return tuple(self._times)

    def add(self, t: float, first: float = np.inf) -> bool:
        """Add a break at time t, after which the first step has at most the size `first`.

        Returns False if nothing changes: t is out of range, or already a break with an equal or smaller `first`.
        """
        if not self.start <= t <= self.end:
            return False
        known = self._known_break(t)
        if known is not None:
            tighter = first < self._first.get(known, np.inf)
            if tighter:
                self._first[known] = first
            return tighter
        insort(self._times, t)
        if first < np.inf:
            self._first[t] = first
        return True

    def _known_break(self, t: float) -> float | None:
        """Return the known break that equals time t up to round-off, or None."""
        k = bisect_left(self._times, t)
        for known in self._times[max(k - 1, 0) : k + 1]:
            if abs(known - t) <= APART_ULPS * self._spacing(t):
                return known
        return None

    def stop_at(self, t: float) -> float:
        """Add a break at time t, which is the end of the last interval returned by `pieces` until the next call.

        Returns
        -------
        float
            Time of the break: t, or the time of a known break that differs from t by round-off only; infinity if t is
            not before the end.
        """
        if t >= self.end - APART_ULPS * self._spacing(t):
            self._stop = np.inf
        else:
            self._add_recurring(t)
            self.add(t)
            known = self._known_break(t)
            self._stop = t if known is None else known
        return self._stop

    def find(self, t: float, first: float = np.inf) -> bool:
        """Add a break that was located at time t during the run; `first` and the result are as for `add`.

        `forget` discards such breaks.
        """
        new = self.add(t, first)
        if new:
            self._located.append(t)
        return new

    def find_ramp(self, begin: float, end: float) -> bool:
        """Add breaks at both ends of a steep ramp that was located from time `begin` to `end` during the run.

        An end that would be one with a break within the ramp, such as its other end, is moved away from it. Returns
        whether a break was added.
        """
        apart = (APART_ULPS + 1) * self._spacing(end)
        within = self._known_break(begin)
        first = self.find(begin if within is None or within <= begin else within - apart)
        within = self._known_break(end)
        last = self.find(end if within is None or within >= end else within + apart)
        return first or last

    def forget(self, t: float) -> bool:
        """Discard the breaks after time t that were located during the run; return True if there were any."""
        if not self._located:
            return False
        later = [found for found in self._located if found > t]
        self._located = [found for found in self._located if found <= t]
        self._times = [known for known in self._times if known not in later]
        for found in later:
            self._first.pop(found, None)
        return bool(later)

    def _add_recurring(self, t: float) -> None:
        """Add recurring breaks until at least one is later than time t."""
        if self._recurring is not None and not (self._times and self._times[-1] > t + APART_ULPS * self._spacing(t)):
            until = max(t, self._recurring_until) + RECURRING * self._interval
            for found in self._recurring(self._recurring_until, until):
                self.add(float(found))
            self._recurring_until = until

    def piece(self, t: float) -> Piece:
        """Return the interval between two consecutive breaks that contains a step starting at time t."""
        self._add_recurring(t)
        merged = APART_ULPS * self._spacing(t)
        k = bisect_right(self._times, t + merged)
        last_break = self._times[k - 1] if k and self._times[k - 1] >= t - merged else None
        next_break = self._times[k] if k < len(self._times) else np.inf
        return Piece(
            low=t if last_break is None else last_break + SIDE_ULPS * self._spacing(last_break),
            high=self.end
            if next_break == np.inf
            else min(self.end, next_break - SIDE_ULPS * self._spacing(next_break)),
            end=next_break if next_break < self.end - merged else self.end,
            first=np.inf if last_break is None else self._first.get(last_break, np.inf),
        )

    def shortest(self, t: float) -> float:
        """Return the smallest step size at time t that the resolution of floating-point times allows."""
        return SMALLEST_STEP_ULPS * float(
            np.spacing(max(abs(t), abs(self.end if np.isfinite(self.end) else self.start)))
        )

    def late(self, t: float) -> IntegrationError | None:
        """Return an IntegrationError if the spacing of floating-point numbers near time t is too large for this run.

        The result is None if steps of the required size can be resolved.
        """
        if self.shortest(t) <= LATE * (self.end - self.start):
            return None
        return IntegrationError(
            f"steps shorter than {self.shortest(t):.1e} s are needed, and times as late as this are "
            f"{np.spacing(abs(t)):.1e} s apart: let the run start nearer to t = 0, and forces count time from there",
            t,
        )

    def pieces(self, t: float) -> list[Piece]:
        """Return all intervals between consecutive breaks from time t, the start of a step, to the end of the run.

        In a run with recurring breaks, the intervals end at the last known break.
        """
        pieces = [self.piece(t)]
        end = min(self.end if self._recurring is None else self._times[-1], self._stop)
        while pieces[-1].end < end:
            pieces.append(self.piece(pieces[-1].end))
        return pieces
