"""Whether a step may have met or passed over an abrupt change of a user's function."""

from __future__ import annotations

import math

from quirk.jit.compilation import kernel

from ..kernels.applied import Forces
from ..kernels.mechanism import Mechanism
from ..kernels.rows import Nodes
from .discontinuity_probe import Arrays, failed, jumped, note, overlooked
from .run_state import CLEARED, REST, SEEN, T_NEW, RunState, Settings, T
from .step_control import in_piece

# A step that is wrong by so many times its tolerance has likely met something abrupt.
ABRUPT_ERROR = 100.0


@kernel
def called_with(forces: Forces, nodes: Nodes) -> tuple[Arrays, Arrays]:
    """Arrays that functions of each kind get their inputs from, and write their outputs to."""
    relations = nodes.relations
    ins = forces.inputs, forces.outputs, relations.inputs, relations.outputs
    return ins, (forces.outputs, forces.inputs, relations.outputs, relations.inputs)


@kernel
def note_all(mechanism: Mechanism, settings: Settings, run: RunState, stage: int) -> None:
    """Record what functions were asked in a stage, and returned."""
    if settings.gap < math.inf:
        ins, outs = called_with(mechanism.forces, mechanism.nodes)
        note(run.functions, ins, outs, stage)


@kernel
def suspect(mechanism: Mechanism, settings: Settings, run: RunState, error: float) -> bool:
    """Whether functions need a closer look in a step with this error over the tolerance.

    They do where a step has overlooked something, is far from right, or is fixed and functions jump in it.
    """
    clock, counts = run.clock, run.counts
    clock[SEEN] = math.inf
    if settings.gap == math.inf or failed(run.functions):
        return False
    counts[REST] -= 1
    if not error <= 1.0:
        return counts[REST] <= 0 and not error <= ABRUPT_ERROR
    if settings.fixed > 0 and counts[REST] <= 0 and jumped(run.functions):
        return True
    h = clock[T_NEW] - clock[T]
    if h > settings.gap:
        ins, outs = called_with(mechanism.forces, mechanism.nodes)
        step = clock[T], h, in_piece(run, clock[T]), in_piece(run, clock[T_NEW])
        clock[SEEN] = overlooked(run.functions, ins, outs, step, settings.gap, clock[CLEARED])
    return clock[SEEN] < math.inf
