"""Keeping a run in step with the clock on the wall."""

from __future__ import annotations

import time

# A run that is later than this, s, goes on from where it is instead of hurrying after.
LATEST = 0.1


class Pace:
    """Waits until the clock has come to where a run is.

    Parameters
    ----------
    speed : simulated time over real time
    t : s, where the run is now
    """

    def __init__(self, speed: float, t: float) -> None:
        self._speed, self._t, self._since = speed, t, time.perf_counter()

    def set(self, t: float) -> None:
        """Go on from t, s, now."""
        self._t, self._since = t, time.perf_counter()

    def wait(self, t: float) -> None:
        """Wait until it is time for t, s."""
        ahead = self._since + (t - self._t) / self._speed - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -LATEST:
            self.set(t)
