"""Number of steps per call of a compiled loop; between two calls, progress is reported and Ctrl-C is handled."""

from __future__ import annotations

import time

# Target wall time of one call, s: short enough for smooth progress lines and prompt reaction to Ctrl-C.
CALL_TIME = 0.1
# Number of steps of the first call, whose duration is unknown, and largest ratio of this number between two calls.
FIRST_STEPS, GROWTH = 10, 10


class EntryLength:
    """Number of steps per call of a compiled loop, adapted to a wall time of about CALL_TIME.

    Attributes
    ----------
    steps : number of steps of the next call
    """

    def __init__(self) -> None:
        self.steps = FIRST_STEPS

    def adapt(self, done: int, began: float) -> None:
        """Adapt the number of steps of the next call to the speed of the last one, which took `done` steps.

        `began` is the start of the last call, as a value of `time.perf_counter()`, s.
        """
        speed = done / max(time.perf_counter() - began, 1e-6)
        self.steps = int(min(max(1, CALL_TIME * speed), GROWTH * self.steps))
