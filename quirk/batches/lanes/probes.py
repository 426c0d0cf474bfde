"""Detection of jumps of user functions within the steps of members in SIMD lanes.

Runs of a single system divide a step of fixed size if a user function jumps in it, or changes too fast to be resolved
by the stages (`quirk.dynamics.sparse.stepping.discontinuity_test`). Lanes use the same test; a member that fails it is
simulated separately.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.dynamics.sparse.kernels.applied import Forces
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.discontinuity_probe import (
    FunctionSamples,
    continue_from_last_stage,
    failed,
    jumped,
    missed_change,
    record_stage,
    sampling_interval,
)
from quirk.dynamics.sparse.stepping.probed_functions import Functions
from quirk.integrators import TABLEAUX
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import WIDTH, at, put

# Stage at which functions are not recorded.
NOWHERE = -1


@record
class LaneProbes(NamedTuple):
    """Records of the user functions of all members: their inputs and outputs at the stages of the present step.

    Attributes
    ----------
    samples : working record of one member's functions, to which the data of each member are copied
    memory : (members, size) changes, inputs and outputs of the functions of each member, see `FunctionSamples`
    gap : maximum interval between two calls of a function, s
    stages : number of stages of an integration step
    nothing : (0,) empty array in place of the arrays of gap functions, which are not used
    """

    samples: FunctionSamples
    memory: np.ndarray
    gap: float
    stages: int
    nothing: np.ndarray


def probes_of(solver: Solver, method: str) -> LaneProbes:
    """Return records of the user functions of a system for an integration method, without memory for members."""
    functions = Functions(solver, TABLEAUX[method], True)
    return LaneProbes(functions.samples, np.zeros(0), math.inf, TABLEAUX[method].stages, np.zeros(0))


def with_memory(probes: LaneProbes, members: int, gap: float) -> LaneProbes:
    """Return records of user functions with memory for `members` members, initialized for the start of a run.

    The memory holds changes, inputs and outputs of the functions; `gap` is the maximum interval between two calls, s.
    """
    samples = probes.samples
    own = np.concatenate([samples.changes, np.zeros_like(samples.inputs), np.zeros_like(samples.outputs)])
    return probes._replace(memory=np.tile(own, -(-members // WIDTH) * WIDTH), gap=gap)


def for_thread(probes: LaneProbes) -> LaneProbes:
    """Return a copy of the records for use by one thread, which shares only the memory of the members."""
    a = probes.samples
    own = a._replace(
        limit=a.limit.copy(), explained=a.explained.copy(), changes=a.changes.copy(), basis=a.basis.copy(),
        inputs=a.inputs.copy(), outputs=a.outputs.copy(),
    )  # fmt: skip
    return probes._replace(samples=own)


@kernel
def move_memory(probes: LaneProbes, member: int, back: bool) -> None:
    """Copy the records of member `member` from `probes.memory` to `probes.samples`, or back if `back` is true."""
    samples = probes.samples
    c, i, o = samples.changes.shape[0], samples.inputs.shape[0], samples.outputs.shape[0]
    place = (c + i + o) * member
    for k in range(c):
        if back:
            put(probes.memory, place + k, at(samples.changes, k))
        else:
            put(samples.changes, k, at(probes.memory, place + k))
    for k in range(i):
        if back:
            put(probes.memory, place + c + k, at(samples.inputs, k))
        else:
            put(samples.inputs, k, at(probes.memory, place + c + k))
    for k in range(o):
        if back:
            put(probes.memory, place + c + i + k, at(samples.outputs, k))
        else:
            put(samples.outputs, k, at(probes.memory, place + c + i + k))


@kernel
def probe(probes: LaneProbes, forces: Forces, member: int, stage: int, before: float, t: float) -> bool:
    """Record the inputs and outputs of a member's user functions at a stage, and test for jumps in the step.

    The test is made at the end of the step, stage number `stages`. `t` is the time of the stage and `before` the start
    time of the step, s. The force laws `forces` must have been evaluated last for this member. Returns True if a user
    function may have jumped.
    """
    samples = probes.samples
    ins = forces.inputs, forces.outputs, probes.nothing, probes.nothing
    outs = forces.outputs, forces.inputs, probes.nothing, probes.nothing
    move_memory(probes, member, False)
    record_stage(samples, ins, outs, stage)
    found = False
    if stage == probes.stages:
        if not failed(samples):
            h = t - before
            found, interval = jumped(samples), sampling_interval(samples, h, probes.gap)
            if not found and h > interval:
                found = missed_change(samples, ins, outs, (before, h, before, t), interval, -math.inf) < math.inf
        continue_from_last_stage(samples, probes.stages, False)
    move_memory(probes, member, True)
    return found
