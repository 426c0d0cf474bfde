"""End times of the advances of a batch; repeated equal durations add up without round-off."""

from __future__ import annotations

from typing import Any

import numpy as np


class EndTimes:
    """End times of the advances of all members of a batch.

    After k advances of equal duration a member is at its time before them plus k times the duration.

    Parameters
    ----------
    times : (count,) present times of the members, s
    """

    def __init__(self, times: np.ndarray) -> None:
        self._origin, self._advances, self._duration = times.copy(), np.zeros(len(times), dtype=int), 0.0

    def after(self, times: np.ndarray, duration: float) -> np.ndarray:
        """Return the end times (count,) of an advance by `duration` from the present times (count,), all in s."""
        if self._duration != duration:
            self.restart(slice(None), times)
            self._duration = duration
        return self._origin + (self._advances + 1) * duration

    def count(self, members: Any) -> None:
        """Count an advance of some members, given by an index or an array of indices."""
        self._advances[members] += 1

    def restart(self, members: Any, times: Any) -> None:
        """Begin a new sequence of equal advances of some members at the given times, s."""
        self._origin[members], self._advances[members] = times, 0
