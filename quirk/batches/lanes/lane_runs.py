"""SIMD runs of the members of a batch on several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.layout import OMEGA, ORIENTATION, POSITION, VELOCITY
from quirk.dynamics.sparse.kernels.applied import Forces
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.integrators import TABLEAUX
from quirk.integrators.breaks import PARTS
from quirk.integrators.combinations import weights_of
from quirk.integrators.fixed import step_count
from quirk.jit.simd import WIDTH

from .numbers import MemberNumbers, from_lanes, packed, states_from_lanes, states_in_lanes, workspace
from .plan import LanePlan
from .probes import LaneProbes, for_thread, probes_of, with_memory
from .records import ABRUPT, CORRECTED, CORRECTION_LEFT, NOT_A_NUMBER, NOTES, RATE_LEFT, RATIO, LaneNumbers, LaneSteps
from .steps import march_in_lanes

# A member is simulated separately if a correction of its poses exceeds FARTHEST (rad, or relative to the length of the
# system), if a pivot of a closing row is below 1 / LARGEST_RATIO of the row, or if its initial state violates the
# constraints by more than MET, relative to the size of the system and its speeds.
FARTHEST, LARGEST_RATIO, MET = 1e-3, 1e8, 1e-9
# Output times within this fraction of a step from the end of the step get the state at this end.
AT_AN_END = 1e-6
# Minimum number of integration steps, summed over groups, that a thread computes per call; the overhead of the calls is
# then negligible.
SMALLEST_SHARE = 100


class LaneRuns:
    """Fixed-step integrator of all members of a batch in SIMD lanes.

    Parameters
    ----------
    solver : compiled solver of the system, with its force laws
    plan : tables for the computation of the system in SIMD lanes
    method : name of an explicit method
    step : size of the integration steps, s
    threads : number of threads
    """

    def __init__(self, solver: Solver, plan: LanePlan, method: str, step: float, threads: int) -> None:
        self._solver, self.plan, self.step, self._threads = solver, plan, step, threads
        self._weights = weights_of(TABLEAUX[method])
        self._bodies = np.array([body for _, rows in solver.model.forces for body in rows], dtype=np.int64)
        self._n = len(solver.model.mass)
        self._rooms: list[tuple[Any, Forces, Any]] = []
        self._probes = probes_of(solver, method)

    def outputs_at_steps(self, start: float, end: float, times: np.ndarray) -> np.ndarray | None:
        """Return the number of steps before each output time; None if an output time lies within a step.

        The run is from `start` to `end`, and `times` (nt,) are the output times, all in s.
        """
        total = step_count(start, end, self.step)
        steps = np.rint((times - start) / self.step)
        steps[np.abs(times - end) <= AT_AN_END * self.step] = total
        ends = np.where(steps >= total, end, start + steps * self.step)
        return steps.astype(int) if (np.abs(ends - times) <= AT_AN_END * self.step).all() else None

    def packed(self, members: MemberNumbers) -> LaneNumbers:
        """Return the parameters of members in groups of eight, as required by `run`."""
        return packed(self.plan, members, self._bodies)

    def run(
        self,
        numbers: LaneNumbers,
        states: np.ndarray,
        start: float,
        end: float,
        steps: Sequence[int],
        follow: Callable[[np.ndarray], None] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states (count, outputs, n, 13) of all members after given numbers of steps, and a mask (count,).

        The mask is False for members that must be simulated separately: a state is not finite, is near a singular
        configuration, or violates the constraints.

        Parameters
        ----------
        numbers : parameters of the members, from `packed`
        states : (count, n, 13) initial states
        start, end : initial and final time, s
        steps : number of integration steps before each output
        follow : function that is called after each step with the states (count, n, 13), for example to count full
            turns of joint angles
        """
        count = len(states)
        groups = -(-count // WIDTH)
        flat = states_in_lanes(states)
        by_group = flat.reshape(groups, self._n + 1, STATE_SIZE, WIDTH)
        orientation = by_group[:, :, ORIENTATION : ORIENTATION + 4]
        orientation /= np.sqrt((orientation * orientation).sum(axis=2, keepdims=True))
        begun = by_group.copy()
        notes = np.zeros(groups * NOTES * WIDTH)
        probes = with_memory(self._probes, count, (end - start) / PARTS)
        times = LaneSteps(start, self.step, end, step_count(start, end, self.step))
        kept = np.empty((count, len(steps), self._n, states.shape[2]))

        def march(first: int, number: int) -> None:
            self._march(groups, numbers, times, first, number, flat, notes, probes)

        march(0, 0)
        good = _unmoved(begun, by_group, self.plan.tables.length)[:count]
        done = 0
        for k, number in enumerate(steps):
            while number > done:
                more = number - done if follow is None else 1
                march(done, more)
                done += more
                if follow is not None:
                    follow(states_from_lanes(flat, count, self._n))
            kept[:, k] = states_from_lanes(flat, count, self._n)
        noted = from_lanes(notes, count)
        with np.errstate(invalid="ignore"):
            good &= (noted[:, CORRECTION_LEFT] <= 1.0) & (noted[:, RATE_LEFT] <= 1.0)
            good &= (noted[:, CORRECTED] <= FARTHEST**2) & (noted[:, RATIO] <= LARGEST_RATIO)
            good &= (noted[:, NOT_A_NUMBER] == 0.0) & (noted[:, ABRUPT] == 0.0)
        return kept, good

    def _march(
        self,
        groups: int,
        numbers: Any,
        times: LaneSteps,
        first: int,
        count: int,
        flat: np.ndarray,
        notes: np.ndarray,
        probes: LaneProbes,
    ) -> None:
        threads = max(1, min(self._threads, groups))
        while len(self._rooms) < threads:
            table = self._solver.applied.table
            own = table._replace(inputs=table.inputs.copy(), outputs=table.outputs.copy(), sides=table.sides.copy())
            self._rooms.append((workspace(self.plan, self._n, self._weights.buffers), own, for_thread(probes).samples))
        shares = iter(_shares(groups, threads, count))

        def compute_shares(k: int) -> None:
            work, forces, samples = self._rooms[k]
            for begin, end in shares:
                march_in_lanes(
                    self.plan.tables, numbers, work, forces, self._weights, times, first, count, begin, end, flat,
                    notes, probes._replace(samples=samples),
                )  # fmt: skip

        if threads == 1:
            compute_shares(0)
            return
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(compute_shares, k) for k in range(1, threads)]
            compute_shares(0)
            for other in others:
                other.result()


def _shares(groups: int, threads: int, steps: int) -> list[tuple[int, int]]:
    """Return the work items for several threads, as pairs (first group, last group + 1), in the order of computation.

    Each idle thread takes the next item. The items become smaller toward the end, so that threads slowed down by other
    programs compute fewer of them, and all threads end at nearly the same time. `groups` is the number of groups of
    members, and `steps` the number of integration steps.
    """
    smallest = -(-SMALLEST_SHARE // max(steps, 1))
    bounds = [0]
    while bounds[-1] < groups:
        left = groups - bounds[-1]
        bounds.append(bounds[-1] + min(left, max(smallest, left // (2 * threads)) if threads > 1 else left))
    return list(pairwise(bounds))


def _unmoved(before: np.ndarray, after: np.ndarray, length: float) -> np.ndarray:
    """Return a mask (lanes,) that is true where the projection has not changed the initial state of the member.

    `before` and `after` (groups, n + 1, 13, 8) are the states in lanes before and after the projection; `before` is
    overwritten. `length` (m) is the characteristic length.
    """

    def largest(states: np.ndarray, first: int, end: int) -> np.ndarray:
        return states[:, first:end].max(axis=1).ravel()

    with np.errstate(invalid="ignore"):
        change = np.abs(np.subtract(after, before, out=before), out=before).max(axis=1)
        size = np.maximum(after.max(axis=1), -after.min(axis=1))
        reach, spin = length + largest(size, POSITION, ORIENTATION), largest(size, OMEGA, STATE_SIZE)
        speed = largest(size, VELOCITY, OMEGA) + reach * spin
        met = largest(change, POSITION, ORIENTATION) <= MET * reach
        met &= largest(change, ORIENTATION, VELOCITY) <= MET
        met &= largest(change, VELOCITY, OMEGA) <= MET * np.maximum(speed, MET)
        return met & (largest(change, OMEGA, STATE_SIZE) <= MET * np.maximum(spin + speed / reach, MET))
