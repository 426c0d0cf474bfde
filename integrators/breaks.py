"""Times at which steps end, since what is integrated need not be smooth there."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from .step import Function, IntegrationError

# Steps shorter than so many units in the last place of the time make no progress; where such steps are not shorter than
# this part of a run, it is the time that is too late.
SMALLEST_STEP_ULPS, LATE = 16, 1e-10
# Functions that may change at any time are asked at least so often in a run, so that what lasts for a thousandth of it
# is found.
PARTS = 1000
# In units in the last place of the times: what lies closer together than APART is one break, and f is evaluated SIDE
# before and after a break, so that it does not matter to which side the break itself belongs.
APART_ULPS, SIDE_ULPS = 64, 4


class Piece(NamedTuple):
    """A stretch of time over which f is smooth, as far as is known.

    low, high: between which f is evaluated · end: where the last step ends · first: the longest first step
    """

    low: float
    high: float
    end: float
    first: float


def in_piece(f: Function, piece: Piece) -> Function:
    """Return f, evaluated at times within a piece: off the breaks, on its side."""
    return lambda t, y: f(min(max(t, piece.low), piece.high), y)


class Breaks:
    """The breaks of a run, of which more may be found on the way; and the longest step.

    Parameters
    ----------
    start, end : between which times count
    times : in any order
    max_step : longest step, in the same unit
    """

    def __init__(self, start: float, end: float, times: Iterable[float] = (), max_step: float = np.inf) -> None:
        self.start, self.end, self.max_step = start, end, max_step
        self._unit = float(np.spacing(max(abs(start), abs(end))))
        self._times: list[float] = []
        self._first: dict[float, float] = {}
        for t in times:
            self.add(float(t))

    @property
    def times(self) -> tuple[float, ...]:
        """The breaks known so far, in the order of time."""
        return tuple(self._times)

    def add(self, t: float, first: float = np.inf) -> bool:
        """Let steps end at time t, and the next begin with at most `first`; False if that is so already."""
        if not self.start <= t <= self.end:
            return False
        k = bisect_left(self._times, t)
        for known in self._times[max(k - 1, 0) : k + 1]:
            if abs(known - t) <= APART_ULPS * self._unit:
                tighter = first < self._first.get(known, np.inf)
                if tighter:
                    self._first[known] = first
                return tighter
        insort(self._times, t)
        if first < np.inf:
            self._first[t] = first
        return True

    def piece(self, t: float) -> Piece:
        """Return the piece in which a step from time t lies."""
        near, side = APART_ULPS * self._unit, SIDE_ULPS * self._unit
        k = bisect_right(self._times, t + near)
        behind = self._times[k - 1] if k and self._times[k - 1] >= t - near else None
        ahead = self._times[k] if k < len(self._times) else np.inf
        return Piece(
            low=t if behind is None else behind + side,
            high=min(self.end, ahead - side),
            end=ahead if ahead < self.end - near else self.end,
            first=np.inf if behind is None else self._first.get(behind, np.inf),
        )

    def shortest(self, t: float) -> float:
        """Return the shortest step from time t that the resolution of the times allows."""
        return SMALLEST_STEP_ULPS * float(np.spacing(max(abs(t), abs(self.end))))

    def late(self, t: float) -> IntegrationError | None:
        """Return what to say of steps that are too short, if that is since times around t are far apart."""
        if self.shortest(t) <= LATE * (self.end - self.start):
            return None
        return IntegrationError(
            f"steps shorter than {self.shortest(t):.1e} s are needed, and times as late as this are "
            f"{np.spacing(abs(t)):.1e} s apart: let the run start nearer to t = 0, and forces count time from there",
            t,
        )

    def pieces(self, t: float) -> list[Piece]:
        """Return all pieces from time t, at which a step begins, to the end of the run."""
        pieces = [self.piece(t)]
        while pieces[-1].end < self.end:
            pieces.append(self.piece(pieces[-1].end))
        return pieces
