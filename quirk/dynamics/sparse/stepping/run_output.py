"""Output of a compiled run: states at output times, and all steps if they are recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.dynamics.model.output_buffer import OutputBuffer
from quirk.integrators import Method, Taylor
from quirk.jit.simd import aligned

from ..solver.solver import Solver
from .method_kernels import MOST_PARTS
from .run_state import STEP_HEAD, RunState

# Size of the buffer for output states: number of floats, and maximum number of states.
STATE_FLOATS, MOST_STATES = 2**22, 2**14
# Number of floats in the buffer for recorded steps; small enough that its allocation takes negligible time.
TRAIL_FLOATS = 2**18


@dataclass(frozen=True)
class RunPart:
    """A sequence of successive steps taken by the same method.

    Attributes
    ----------
    method : integration method of the steps
    start : (13 n + k,) state at the start of the first step
    angles : (K, 3) joint angles at the start of the first step, rad
    trail : (steps, STEP_HEAD + size) times and initial states of the steps; see `RunState`
    """

    method: Method
    start: np.ndarray
    angles: np.ndarray
    trail: np.ndarray


class RunOutput:
    """Output arrays written by compiled code, and the output copied from them so far.

    Parameters
    ----------
    solver : evaluator of the model
    requested_times : requested output times, s, or None to store the states after all steps
    trailing : whether to record all steps

    Attributes
    ----------
    requested_times : requested output times, s, or None
    capacity : maximum number of output states of one call of compiled code
    states, trail : arrays of a `RunState`
    stored : copied output states
    parts : recorded steps
    """

    def __init__(self, solver: Solver, requested_times: np.ndarray | None, *, trailing: bool) -> None:
        self._slots, self._size, self.requested_times = solver.slots, solver.size, requested_times
        capacity = max(1, min(STATE_FLOATS // solver.size, MOST_STATES))
        self.capacity = capacity if requested_times is None else max(1, min(capacity, len(requested_times)))
        # Uninitialized, as initialization would take as long as a short run.
        self.states = aligned(self.capacity * solver.size, fill=False)
        steps = max(1, min(TRAIL_FLOATS // (STEP_HEAD + solver.size), MOST_STATES))
        self.trail = aligned((steps + MOST_PARTS) * (STEP_HEAD + solver.size) if trailing else 0, fill=False)

    def clear(self) -> None:
        """Discard all output."""
        self.stored = OutputBuffer()
        self.parts: list[RunPart] = []

    def rows(self, lanes: np.ndarray) -> np.ndarray:
        """Convert states `lanes` (times * size,) in blocks of eight bodies to flat states (times, 13 n + k)."""
        return self._slots.state_from_lanes(lanes.reshape(-1, self._size))

    def add(self, t: float, lanes: np.ndarray, quadrants: np.ndarray) -> None:
        """Store a state at time t (s) as output.

        `lanes` (size,) is the state in blocks of eight bodies, and `quadrants` (2 K,) are the quadrants of the angles
        of K joints, counted over full turns.
        """
        self.stored.add(np.array([t]), self.rows(lanes), quadrants)

    def take(self, run: RunState, method: Method, start: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Copy the output of the last call of compiled code from its arrays.

        If steps are recorded, `start` is the state (13 n + k,) and the joint angles (K, 3), rad, at the start of the
        first step.
        """
        count = run.counts.stored
        if count:
            quadrants = run.counter.kept[: count * len(run.counter.quadrants)]
            self.stored.add(run.times[:count].copy(), self.rows(run.states[: count * self._size]), quadrants)
        steps = run.trail[: run.counts.recorded * (STEP_HEAD + self._size)]
        if start is not None and len(steps):
            # Variations are integrated by a Runge-Kutta method, along the parts into which steps of Taylor series are
            # divided.
            method_of_steps = method.instead if isinstance(method, Taylor) else method
            self.parts.append(RunPart(method_of_steps, *start, steps.reshape(-1, STEP_HEAD + self._size).copy()))
        run.counts.recorded = 0
