"""SIMD computation of the members of a batch: eight members per vector register."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..bodies import rotation
from ..bodies.state import State
from ..constraints import Constraint
from ..dynamics.model.metric import body_lengths
from ..dynamics.model.model import Model
from ..dynamics.sparse.kernels.round_off_detection import MODERATE
from ..dynamics.sparse.solver.solver import Solver
from ..forces.law_layout import REFERENCE
from ..system.system import System
from .batch_inputs import BatchInputs
from .batch_state import BatchState
from .lanes.functions import prints_of_laws
from .lanes.lane_runs import LaneRuns
from .lanes.numbers import MemberNumbers, by_member
from .lanes.plan import planned, unsuited
from .lanes.records import LaneNumbers
from .member_numbers import member_numbers, turning_places, with_inputs
from .turn_tracker import TurnTracker
from .variation import VariedNumber


class LaneMembers:
    """Fixed-step integrator of the members of a batch, eight at a time in SIMD lanes.

    Parameters
    ----------
    solver : compiled solver of the system of the batch
    numbers : parameters of all members
    runs : integrator of all lanes
    axes : (count, k, 2, 3) pairs of axes that the joints of each member keep parallel, fixed in body i and body j, in
        body axes; or (1, k, 2, 3) for all members
    """

    def __init__(self, solver: Solver, numbers: MemberNumbers, runs: LaneRuns, axes: np.ndarray | None = None) -> None:
        self._solver, self._numbers, self._runs = solver, numbers, runs
        self._axes = aligned_axes(solver.model)[None] if axes is None else axes
        self._packed = runs.packed(numbers)
        self._turning = turning_places(solver)
        self._prints = prints_of_laws(solver.model)
        # Members whose inertias differ more are computed by themselves, with as many digits as they need.
        least = np.linalg.eigvalsh(numbers.inertia)[..., 0] / body_lengths(solver.model) ** 2
        self._moderate = numbers.mass.max(axis=1) <= MODERATE * np.minimum(numbers.mass, least).min(axis=1)

    @classmethod
    def of(
        cls,
        system: System,
        varied: Sequence[VariedNumber],
        count: int,
        options: Mapping[str, Any],
        state: State,
        threads: int,
    ) -> LaneMembers | str:
        """Return the SIMD integrator of the members of a batch, or a string: the reason why lanes do not support them.

        Parameters
        ----------
        system, varied, count : system of the batch, parameters that differ between members, number of members
        options : settings of the run by name, as in `simulate`
        state : initial state of all members
        threads : number of threads
        """
        reason = unsuited(system, options)
        if reason:
            return reason
        solver = system.plant.solver()
        plan = planned(system.model, solver, state, 0.0, options["stabilization"] == "projection")
        if isinstance(plan, str):
            return plan
        moved = [one for one in varied if one.part and isinstance(system[one.part], Constraint)]
        if moved and (plan.drops or system.model.reads_angles):
            return f"{moved[0].title}, on which redundant rows or counted angles may depend"
        numbers = member_numbers(system, solver, plan, varied, count)
        if numbers is None:
            return "force laws that differ in more than numbers"
        return cls(solver, numbers, LaneRuns(solver, plan, options["method"], options["step"], threads))

    def motions(
        self,
        members: np.ndarray,
        state: BatchState,
        inputs: BatchInputs | None,
        start: float,
        end: float,
        times: np.ndarray,
        tracked: Iterable[str] = (),
    ) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]] | None:
        """Simulate some members from their present states, and return their states at the output times.

        Returns None if an output time lies within a step, or if a user function has changed since compilation.

        Parameters
        ----------
        members : indices of the members
        state, inputs : present states and inputs of all members; None for the inputs given at construction
        start, end : initial and final time, s
        times : (nt,) output times, s
        tracked : names of further joints whose full turns are counted

        Returns
        -------
        states : (members, nt, n, 13) at the output times
        good : (members,) mask of the members whose states are valid
        angles : final angles (members, 3), rad, by name of each joint that is tracked or has its full turns counted
        """
        steps = self._runs.outputs_at_steps(start, end, times)
        if steps is None or prints_of_laws(self._solver.model) != self._prints:
            return None
        if inputs is not None:
            with_inputs(self._numbers, self._solver, inputs)
        self._refer(members, state, start)
        if len(members) == len(self._numbers.mass):
            numbers = self._packed
            numbers.inputs[:] = by_member(self._numbers.inputs)
        else:
            numbers = self._runs.packed(self._numbers.of(members))
        begin = state.bodies[members]
        joints, near = self._solver.model.joints, {name: angles[members] for name, angles in state.angles.items()}
        tracked = [name for name in tracked if name in joints.number]
        tracker = TurnTracker(joints, begin, near, self._runs.step) if tracked else None
        follow = None if tracker is None else tracker.follow
        states, good = self._runs.run(numbers, begin, start, end, steps.tolist(), follow)
        good &= self._faces(members, begin) & self._moderate[members]
        angles = {} if tracker is None else {name: tracker.angles[:, joints.number[name]] for name in tracked}
        return states, good, angles | self._counted(numbers, states[:, -1], end)

    def _faces(self, members: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return a mask (members,), False for members with a joint whose axes are opposite instead of parallel.

        Opposite axes also satisfy the constraint rows of the joint, but runs of a single system reject such states.
        `states` are (members, n, 13).
        """
        joints = self._solver.model.joint_bodies
        pairs = np.array([pair for joint, pair in joints for _ in joint.aligned_axes])
        if not len(pairs):
            return np.ones(len(states), dtype=bool)
        axes = self._axes if len(self._axes) == 1 else self._axes[members]
        ground = np.broadcast_to(rotation.IDENTITY, (len(states), 1, 4))
        R = rotation.matrix(np.concatenate([states[..., 3:7], ground], axis=1))
        x, y = np.moveaxis(
            np.einsum("mkfab,mkfb->mkfa", R[:, pairs], np.broadcast_to(axes, (len(R), *axes.shape[1:]))), 2, 0
        )
        with np.errstate(invalid="ignore"):
            facing: np.ndarray = (np.einsum("mka,mka->mk", x, y) >= 0.0).all(axis=1)
        return facing

    def _refer(self, members: np.ndarray, state: BatchState, start: float) -> None:
        """Set the reference angles and rates, from which full turns are counted, to the present values of the members.

        `start` is the present time, s.
        """
        if not self._turning:
            return
        joints = self._solver.model.joints
        bodies = State.unpack(state.bodies[members].reshape(len(members), -1))
        near = np.zeros((len(members), len(joints.ends), 3))
        for name, angles in state.angles.items():
            if name in joints.number:
                near[:, joints.number[name]] = angles[members]
        with np.errstate(invalid="ignore"):
            angles, rates = joints.nearest_angles(bodies, near), joints.rates(bodies)
        for place, name, axis in self._turning:
            k = joints.number[name]
            self._numbers.inputs[members, place : place + REFERENCE] = np.stack(
                [angles[:, k, axis], rates[:, k, axis], np.full(len(members), start)], axis=1
            )

    def _counted(self, numbers: LaneNumbers, states: np.ndarray, end: float) -> dict[str, np.ndarray]:
        """Return the angles (members, 3), rad, at time `end` (s) by name of each joint whose full turns are counted.

        The number of full turns follows from the last reference angles in `numbers`. `states` are the final states.
        """
        if not self._turning:
            return {}
        count, joints = len(states), self._solver.model.joints
        inputs = numbers.inputs.reshape(-1, self._numbers.inputs.shape[1])[:count]
        near = np.zeros((count, len(joints.ends), 3))
        for place, name, axis in self._turning:
            value, rate, time = inputs[:, place : place + REFERENCE].T
            near[:, joints.number[name], axis] = value + rate * (end - time)
        with np.errstate(invalid="ignore"):
            angles = joints.nearest_angles(State.unpack(states.reshape(count, -1)), near)
        return {name: angles[:, joints.number[name]] for _, name, _ in self._turning}


def aligned_axes(model: Model) -> np.ndarray:
    """Return the pairs of axes that joints keep parallel, (k, 2, 3): fixed to body i and to body j, in body axes."""
    axes = [
        [frame.matrix[:, axis] for frame in (joint.frame_i, joint.frame_j)]
        for joint, _ in model.joint_bodies
        for axis in joint.aligned_axes
    ]
    return np.array(axes, dtype=float).reshape(-1, 2, 3)
