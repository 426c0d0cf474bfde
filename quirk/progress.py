"""How far a computation has come, on standard error."""

from __future__ import annotations

import sys
import time

PROGRESS_INTERVAL = 0.2  # s of wall time between two updates of the progress line


class ProgressLine:
    """A line on standard error that says how far a run has come; only its last state where no one watches."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end, self.reached = start, end, start
        self.started = self.shown = time.perf_counter()

    def update(self, t: float) -> None:
        """Rewrite the line, unless that happened a moment ago."""
        self.reached, now = t, time.perf_counter()
        if now - self.shown > PROGRESS_INTERVAL and sys.stderr.isatty():
            self.shown = now
            self._write(t, now, end="")

    def close(self, t: float) -> None:
        """Write the line a last time and leave it."""
        self._write(t, time.perf_counter(), end="\n")

    def _write(self, t: float, now: float, end: str) -> None:
        share = (t - self.start) / (self.end - self.start) if self.end > self.start else 1.0
        bar = "#" * int(30 * share)
        sys.stderr.write(f"\r[{bar:<30}] {share:4.0%}  t = {t:.3f} of {self.end:g} s, {now - self.started:.1f} s{end}")
        sys.stderr.flush()
