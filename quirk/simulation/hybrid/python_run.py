"""Runs whose steps are taken in Python, by the dense reference solver or by SciPy's integrators.

These runs have no events, contacts or dry friction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np

from quirk.dynamics.dense.flow import Flow
from quirk.dynamics.model.layout import Slots
from quirk.dynamics.model.output_buffer import OutputBuffer
from quirk.dynamics.model.revolution_counter import begin_step, end_step, store_quadrants
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.dynamics.sparse.stepping.rhs import SparseFlow
from quirk.dynamics.sparse.stepping.run_state import Settings
from quirk.integrators import InterpolatedStep, Recorder, Statistics
from quirk.jit.keyboard_interrupt import DeferredInterrupt


class PythonRun:
    """Run with steps taken in Python; it has the interface of `CompiledRun`, but no events.

    Parameters
    ----------
    solver : Solver
    steps : function of a time, s, a state vector and a resume point (with the step size) that yields integration steps
    settings, output_times, statistics : settings, requested output times and statistics, as in `CompiledRun`

    Attributes
    ----------
    buffer : states stored since the last call of `enter`
    whole : (K, 3) full turns of the angles of K joints at that call, rad
    hit : event functions that are zero; always empty
    """

    hit: ClassVar[tuple[()]] = ()

    def __init__(
        self,
        solver: Solver,
        steps: Callable[[Any, float, np.ndarray, ResumePoint], Iterator[InterpolatedStep]],
        settings: Settings,
        output_times: np.ndarray | None,
        statistics: Statistics,
    ) -> None:
        self._steps_from, self._settings, self._output_times, self._statistics = (
            steps,
            settings,
            output_times,
            statistics,
        )
        self._model, self._outputs_passed, self._solver = solver.model, 0, solver

    def enter(
        self, flow: Flow | SparseFlow, t: float, y: np.ndarray, angles: np.ndarray, resume_point: ResumePoint
    ) -> None:
        """Continue at time t (s) from a state vector y that satisfies the constraints.

        `flow` is the right-hand side of the equations of motion, `angles` (K, 3) are the 1-2-3 angles of K joints, rad,
        and `resume_point` contains the step size.
        """
        self._flow, self.reached, self._state = flow, t, y
        self._h, self._grid = resume_point.h, resume_point.grid
        self._evaluations = self._statistics.evaluations
        pending = None if self._output_times is None else self._output_times[resume_point.outputs_passed :]
        self._recorder = Recorder(pending, flow)
        self._outputs_passed = resume_point.outputs_passed
        state, joints = flow.model.auxiliary.state(y), flow.model.joints
        self._slots = Slots.along([], len(state.position), flow.model.auxiliary.size)
        self._counter = joints.counter(self._slots, state, 1, blind=self._settings.fixed > 0)
        self.buffer, self.whole = OutputBuffer(), joints.full_turns(state.orientation, angles)
        self._steps: Iterator[InterpolatedStep] | None = None
        self._refer(angles)

    def store_state(self) -> None:
        """Store the present state as an output."""
        self._recorder.keep(self.reached, self._state)
        self._recorder.clear()
        self._store(self.reached, self._state, self._counter.quadrants)

    @property
    def resume_point(self) -> ResumePoint:
        """Data for continuing with other constraints or forces: step size, and index of the next output time."""
        passed = self._outputs_passed + self._recorder.behind
        return ResumePoint(self._h, self._grid, passed)

    @property
    def state(self) -> np.ndarray:
        """Present state vector (13 n + k,) of n bodies and k auxiliary states."""
        return self._state

    @property
    def angles(self) -> np.ndarray:
        """Present 1-2-3 angles (K, 3) of K joints, rad, with all turns counted."""
        joints = self._model.joints
        vectors = joints.plane_vectors(self._model.auxiliary.state(self._state).orientation)
        return joints.angles(vectors, self._counter.quadrants.reshape(-1, 2)) + self.whole

    def restart(self) -> None:
        """Begin a new integration step at the present time, because the user has changed loads."""
        self._steps = None

    def begin_anew(self) -> None:
        """Do nothing: between two calls of `proceed`, steps taken in Python are complete."""

    def jump(self, y: np.ndarray) -> None:
        """Replace the present state vector by y (13 n + k,)."""
        self._state, self._steps = y, None

    @property
    def present_time(self) -> float:
        """Time reached, s."""
        return self.reached

    @property
    def present_lanes(self) -> np.ndarray:
        """Present state (size,) in the memory layout of the compiled solver."""
        lanes: np.ndarray = self._solver.slots.state_to_lanes(self._state)
        return lanes

    @property
    def present_quadrants(self) -> np.ndarray:
        """Quadrants (2 K,) of the two polar angles of each of K joints at present."""
        return self._counter.quadrants

    def events(self) -> tuple[()]:
        """Empty tuple: these runs have no event functions."""
        return ()

    @property
    def rank(self) -> int:
        """Number of independent constraint rows."""
        return self._flow.rank

    @property
    def trouble(self) -> BaseException | None:
        """Exception that made the last evaluation of the equations of motion fail, or None."""
        return self._flow.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return None: for a force element with non-finite loads, the exception is in `trouble`."""
        return None

    @property
    def between(self) -> bool:
        """True: between two calls of `proceed`, steps taken in Python are complete."""
        return True

    def proceed(self, max_steps: int | None = None) -> bool:
        """Take one integration step; return False at the end of the run.

        The argument `max_steps` is unused.
        """
        # Trial steps may overflow; they are rejected, or end the run with an error. Ctrl-C takes effect in `flow`, and
        # at the end when all results are stored.
        with DeferredInterrupt(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self._steps is None:
                self._steps = self._steps_from(self._flow, self.reached, self._state, self.resume_point)
            step = next(self._steps, None)
            if step is not None:
                self._h = step.t_new - step.t
                self._recorder.add(step)
                self._count(step.t_new, step.y_new)
                self.reached, self._state = step.t_new, step.y_new
                self._refer(self.angles)
        settings = self._settings
        if settings.fixed > 0:
            self._grid = int((self.reached - settings.start) / settings.step + 1e-9)
        self._statistics.evaluations = self._evaluations + self._flow.evaluations
        return step is not None

    def close(self) -> None:
        """Store the final state of the run as an output."""
        if self.reached > self.buffer.last:
            self.store_state()

    def _store(self, t: float, y: np.ndarray, quadrants: np.ndarray) -> None:
        self.buffer.add(np.array([t]), np.array(y)[None], quadrants)

    def _count(self, t_new: float, y_new: np.ndarray) -> None:
        """Update the counts of full turns of joints at the end of a step, and at each output within the step.

        `t_new` (s) and `y_new` are the time and the state vector at the end of the step.
        """
        t, counter, lanes = self.reached, self._counter, self._slots.state_to_lanes
        y, end = lanes(self._state), lanes(y_new)
        begin_step(counter, y, end, t_new - t)
        for when, state in zip(self._recorder.times, self._recorder.states, strict=True):
            store_quadrants(counter, 0, y, lanes(state), when - t)
            self._store(when, state, counter.kept)
        self._recorder.clear()
        end_step(counter, y, end, t_new - t)

    def _refer(self, angles: np.ndarray) -> None:
        """Set the reference for counting full turns to the present joint angles (K, 3) of K joints, rad."""
        if self._model.reads_angles:
            self._flow.refer(self.reached, angles, self._model.joints.rates(self._model.auxiliary.state(self._state)))
