"""Synchronization of a run with real time."""

from __future__ import annotations

import time

# Delay of a run, s, beyond which the clock is restarted, so that the run need not catch up.
LATEST = 0.1


class Pace:
    """Clock that delays a run, so that it is at most `speed` times as fast as real time.

    Parameters
    ----------
    speed : ratio of simulated time to real time
    t : present time of the run, s
    """

    def __init__(self, speed: float, t: float) -> None:
        self._speed, self._t, self._since = speed, t, time.perf_counter()

    def set(self, t: float) -> None:
        """Restart the clock: the present real time corresponds to the simulated time t, s."""
        self._t, self._since = t, time.perf_counter()

    def wait(self, t: float) -> None:
        """Wait until real time has reached the simulated time t (s)."""
        ahead = self._since + (t - self._t) / self._speed - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        elif ahead < -LATEST:
            self.set(t)
