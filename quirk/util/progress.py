"""Progress line of a computation on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

PROGRESS_INTERVAL = 0.2  # s of wall time between two updates of the progress line
PATIENCE = 2.0  # s of wall time after which a line is shown that was not requested; short runs show none


class ProgressLine:
    """Progress line on standard error; rewritten in place on a terminal, elsewhere written only in its final state.

    Parameters
    ----------
    start, end : initial and final time of the run, s
    patience : wall time, s, before the line appears
    describe : function of the time (s) that returns the string to show; default: the time itself
    """

    def __init__(
        self, start: float, end: float, patience: float = 0.0, describe: Callable[[float], str] | None = None
    ) -> None:
        self.start, self.end, self.patience = start, end, patience
        self.describe = describe or (lambda t: f"t = {t:.3f} of {end:g} s")
        self.first = self.reached = start
        self.started = self.last = time.perf_counter()

    @classmethod
    def shown(
        cls, requested: bool | None, start: float, end: float, describe: Callable[[float], str] | None = None
    ) -> ProgressLine | None:
        """Return a new progress line, or None if no line is to be shown.

        The line is shown if `requested` is True, or if it is None and standard error is a terminal. The other arguments
        are as for the class.
        """
        if requested is None:
            return cls(start, end, PATIENCE, describe) if sys.stderr is not None and sys.stderr.isatty() else None
        return cls(start, end, describe=describe) if requested else None

    def update(self, t: float) -> None:
        """Rewrite the line for time t (s), unless it was rewritten less than PROGRESS_INTERVAL ago."""
        self.reached, now = t, time.perf_counter()
        if now - self.last > PROGRESS_INTERVAL and now - self.started >= self.patience and sys.stderr.isatty():
            self.last = now
            self._write(t, now, end="")

    def close(self, t: float) -> None:
        """Write the final state of the line, for time t (s), and end it."""
        now = time.perf_counter()
        if now - self.started >= self.patience:
            self._write(t, now, end="\n")

    def _write(self, t: float, clock: float, end: str) -> None:
        share = (t - self.start) / (self.end - self.start) if self.end > self.start else 1.0
        bar, spent = "#" * int(30 * share), clock - self.started
        here = (t - self.first) / (self.end - self.first) if self.end > self.first else 1.0
        left = f", {spent * (1 - here) / here:.0f} s left" if 0 < here < 1 else ""
        sys.stderr.write(f"\r[{bar:<30}] {share:4.0%}  {self.describe(t)}, {spent:.1f} s{left}   {end}")
        sys.stderr.flush()
