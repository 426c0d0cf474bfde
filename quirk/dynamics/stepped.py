"""A run taken step by step in Python: with the dense reference, and with SciPy's integrators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quirk.integrators import Recorder, Sampled, Statistics
from quirk.interruption import Held

from .flow import Flow
from .sparse.flow import SparseFlow


class SteppedRun:
    """Takes steps and records what is asked for; see `quirk.dynamics.sparse.run.CompiledRun`."""

    def __init__(
        self, flow: Flow | SparseFlow, steps: Iterator[Sampled], recorder: Recorder, statistics: Statistics
    ) -> None:
        self._flow, self._steps, self._recorder, self._statistics = flow, steps, recorder, statistics
        self.reached, self._state = recorder.start

    @property
    def times(self) -> list[np.ndarray]:
        """Times (k,) of the states kept so far."""
        return [np.array(self._recorder.times)]

    @property
    def states(self) -> list[np.ndarray]:
        """States (k, 13 n) kept so far."""
        return [np.array(self._recorder.states)]

    @property
    def rank(self) -> int:
        """Number of independent rows met along the way."""
        return self._flow.rank

    @property
    def trouble(self) -> BaseException | None:
        """Why the last evaluation failed."""
        return self._flow.trouble

    def proceed(self) -> bool:
        """Take one step; returns whether there was one to take."""
        # Trial steps may overflow; they are rejected, or end the run with an error. Ctrl-C is heard by `flow`, and at
        # the end when all is written down.
        with Held(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            step = next(self._steps, None)
            if step is not None:
                self._recorder.add(step)
                self.reached, self._state = step.t_new, step.y_new
        self._statistics.evaluations = self._flow.evaluations
        return step is not None

    def close(self) -> None:
        """Keep also the state that a run reached which ended early."""
        self._recorder.close(self.reached, self._state)
