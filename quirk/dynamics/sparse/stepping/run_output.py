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

# Space for output states: number of floats, and maximum number of states.
ROOM, MOST_ROOM = 2**22, 2**14
# Space for recorded steps, number of floats: allocation of as much takes negligible time.
TRAIL_ROOM = 2**18


@dataclass(frozen=True)
class RunPart:
    """Successive steps of one method.

    Attributes
    ----------
    method : Method
    start : (13 n + k,) state at the start of the first step
    angles : (K, 3) joint angles at the start of the first step, rad
    trail : (steps, STEP_HEAD + size) times and initial states of the steps; see `RunState`
    """

    method: Method
    start: np.ndarray
    angles: np.ndarray
    trail: np.ndarray


class RunOutput:
    """Arrays that compiled code fills with output, and the output copied from them.

    Parameters
    ----------
    solver : Solver
    asked : requested output times, s, or None to store the states of all steps
    trailing : whether to record all steps

    Attributes
    ----------
    asked : requested output times, s, or None
    room : maximum number of output states of one call of compiled code
    states, trail : arrays of a `RunState`
    kept : copied output states
    parts : recorded steps
    """

    def __init__(self, solver: Solver, asked: np.ndarray | None, *, trailing: bool) -> None:
        self._slots, self._size, self.asked = solver.slots, solver.size, asked
        room = max(1, min(ROOM // solver.size, MOST_ROOM))
        self.room = room if asked is None else max(1, min(room, len(asked)))
        # Uninitialized, as initialization would take as long as a short run.
        self.states = aligned(self.room * solver.size, fill=False)
        steps = max(1, min(TRAIL_ROOM // (STEP_HEAD + solver.size), MOST_ROOM))
        self.trail = aligned((steps + MOST_PARTS) * (STEP_HEAD + solver.size) if trailing else 0, fill=False)

    def clear(self) -> None:
        """Discard all output."""
        self.kept = OutputBuffer()
        self.parts: list[RunPart] = []

    def rows(self, lanes: np.ndarray) -> np.ndarray:
        """Convert states (times * size,) in blocks of eight bodies to flat states (times, 13 n + k)."""
        return self._slots.state_from_lanes(lanes.reshape(-1, self._size))

    def add(self, t: float, lanes: np.ndarray, quadrants: np.ndarray) -> None:
        """Store the state (size,) at time t (s), with the counted quadrants (2 K,) of the angles of K joints.

        `lanes` is the state in blocks of eight bodies.
        """
        self.kept.add(np.array([t]), self.rows(lanes), quadrants)

    def take(self, run: RunState, method: Method, here: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Copy the output of compiled code from its arrays.

        If steps are recorded, `here` is the state (13 n + k,) and the joint angles (K, 3), rad, at the start of the
        first step.
        """
        kept = run.counts.stored
        if kept:
            quadrants = run.counter.kept[: kept * len(run.counter.quadrants)]
            self.kept.add(run.times[:kept].copy(), self.rows(run.states[: kept * self._size]), quadrants)
        steps = run.trail[: run.counts.recorded * (STEP_HEAD + self._size)]
        if here is not None and len(steps):
            # Variations are integrated by a Runge-Kutta method, along the parts into which steps of Taylor series are
            # divided.
            used = method.instead if isinstance(method, Taylor) else method
            self.parts.append(RunPart(used, *here, steps.reshape(-1, STEP_HEAD + self._size).copy()))
        run.counts.recorded = 0
