"""Test for jumps of user functions in a step."""

from __future__ import annotations

import math

from quirk.jit.compilation import kernel
from quirk.jit.components import component

from ..kernels.applied import Forces
from ..kernels.mechanism import Mechanism
from ..kernels.rows import Nodes
from .discontinuity_probe import Arrays, failed, jumped, missed_change, record_stage, sampling_interval
from .run_state import RunState, Settings
from .step_control import in_piece

# Ratio of error to tolerance beyond which a step probably contains a jump.
ABRUPT_ERROR = 100.0


@kernel
def function_arrays(forces: Forces, nodes: Nodes) -> tuple[Arrays, Arrays]:
    """Return the arrays of inputs and the arrays of outputs of user functions, one array for each kind of function.

    The kinds are, in this order, force laws, functions of time in force laws, constraints, and functions of time in
    constraints.
    """
    relations = nodes.relations
    ins = forces.inputs, forces.motions.numbers, relations.inputs, relations.motions.numbers
    return ins, (forces.outputs, forces.inputs, relations.outputs, relations.inputs)


@kernel
def record_functions(mechanism: Mechanism, settings: Settings, run: RunState, stage: int) -> None:
    """Record the inputs and outputs of all user functions at the last evaluated stage, with the index `stage`."""
    if settings.gap < math.inf:
        ins, outs = function_arrays(mechanism.forces, mechanism.nodes)
        record_stage(run.functions, ins, outs, stage)


@component(effort=2)
def needs_search(mechanism: Mechanism, settings: Settings, run: RunState, error: float) -> bool:
    """Return whether a step must be searched for discontinuities of user functions.

    A step is searched if the values of a function at the stages do not lie on a smooth curve, or if the error of the
    step is very large; `error` is the ratio of this error to the tolerance. Steps of fixed size are also searched if a
    function differs from its extrapolation from the previous step.
    """
    clock, counts = run.clock, run.counts
    clock.deviation_time = math.inf
    if settings.gap == math.inf or failed(run.functions):
        return False
    counts.search_delay -= 1
    if not error <= 1.0:
        return counts.search_delay <= 0 and not error <= ABRUPT_ERROR
    if settings.fixed > 0 and counts.search_delay <= 0 and jumped(run.functions):
        return True
    h = clock.t_new - clock.t
    interval = sampling_interval(run.functions, h, settings.gap) if settings.fixed > 0 else settings.gap
    if h > interval:
        ins, outs = function_arrays(mechanism.forces, mechanism.nodes)
        step = clock.t, h, in_piece(run, clock.t), in_piece(run, clock.t_new)
        clock.deviation_time = missed_change(run.functions, ins, outs, step, interval, clock.cleared)
    return clock.deviation_time < math.inf
