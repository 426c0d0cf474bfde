"""A run taken step by step in Python: with the dense reference, and with SciPy's integrators."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from quirk.integrators import Recorder, Sampled, Statistics
from quirk.interruption import Held

from .counting import look_ahead, note_turns, turn_on
from .dense.flow import Flow
from .layout import Slots
from .sparse.host.flow import SparseFlow
from .turns import Turns


class SteppedRun:
    """A run whose steps Python takes, with the interface of `quirk.dynamics.sparse.host.run.CompiledRun`.

    Attributes
    ----------
    quadrants : of the joints, (2 K,) for each state kept so far
    """

    def __init__(
        self,
        flow: Flow | SparseFlow,
        steps: Iterator[Sampled],
        recorder: Recorder,
        angles: np.ndarray,
        statistics: Statistics,
        *,
        fixed: bool,
    ) -> None:
        self._flow, self._steps, self._recorder, self._statistics = flow, steps, recorder, statistics
        self.reached, self._state = recorder.start
        self._model = flow.model
        state, joints = flow.model.carried.state(self._state), flow.model.joints
        self._slots = Slots.along([], len(state.position), flow.model.carried.size)
        self._counter = joints.counter(self._slots, state, 1, blind=fixed)
        self.quadrants = [self._counter.quadrants.copy() for _ in recorder.times]
        self._whole = Turns.since(joints, state.orientation, angles, np.zeros((0, 0))).whole
        if flow.model.reads_angles:
            flow.refer(self.reached, angles, joints.rates(state))

    @property
    def times(self) -> list[np.ndarray]:
        """Times (k,) of the states kept so far."""
        return [np.array(self._recorder.times)]

    @property
    def states(self) -> list[np.ndarray]:
        """Flat states (nt, 13 n + k) kept so far."""
        return [np.array(self._recorder.states)]

    @property
    def turns(self) -> Turns:
        """The turns of joints at the states kept so far."""
        quadrants = np.vstack(self.quadrants)
        return Turns(self._model.joints, quadrants.reshape(len(quadrants), -1, 2), self._whole)

    @property
    def rank(self) -> int:
        """Number of independent rows met along the way."""
        return self._flow.rank

    @property
    def trouble(self) -> BaseException | None:
        """Why the last evaluation failed."""
        return self._flow.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return None: a force without finite loads has raised an error already, which `trouble` holds."""
        return None

    def proceed(self) -> bool:
        """Take one step; returns whether there was one to take."""
        # Trial steps may overflow; they are rejected, or end the run with an error. Ctrl-C is heard by `flow`, and at
        # the end when all is written down.
        with Held(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            step = next(self._steps, None)
            if step is not None:
                self._recorder.add(step)
                self._count(step.t_new, step.y_new)
                self.reached, self._state = step.t_new, step.y_new
        self._statistics.evaluations = self._flow.evaluations
        return step is not None

    def close(self) -> None:
        """Keep also the state that a run reached which ended early."""
        self._recorder.close(self.reached, self._state)
        if len(self.quadrants) < len(self._recorder.times):
            self.quadrants.append(self._counter.quadrants.copy())

    def _count(self, t_new: float, y_new: np.ndarray) -> None:
        """Count the turns of joints in a step, up to its end and to each state kept in it."""
        t, counter, lanes = self.reached, self._counter, self._slots.state_to_lanes
        y, end = lanes(self._state), lanes(y_new)
        look_ahead(counter, y, end, t_new - t)
        for row in range(len(self.quadrants), len(self._recorder.times)):
            note_turns(counter, 0, y, lanes(self._recorder.states[row]), self._recorder.times[row] - t)
            self.quadrants.append(counter.kept.copy())
        turn_on(counter, y, end, t_new - t)
        if self._model.reads_angles:
            state, joints = self._model.carried.state(y_new), self._model.joints
            counted = joints.angles(joints.plane_vectors(state.orientation), counter.quadrants.reshape(-1, 2))
            self._flow.refer(t_new, counted + self._whole, joints.rates(state))
