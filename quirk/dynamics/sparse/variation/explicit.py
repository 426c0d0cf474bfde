"""State variations in eight directions over the steps of an explicit run, in compiled code.

Variations are derivatives of the state along directions of the initial state and of parameters. The steps of the run
are repeated, and at each stage the derivatives of the accelerations are computed with the factorization of the stage.
Variations are propagated by the linearized Runge-Kutta step, projection and continuous extension. The result is the
derivative of the computed states at fixed steps; a step that is too long for the variations is subdivided, see
`accept_substep`.

The pivot of a row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.integrators.combinations import Weights, combine, combine_error, sample
from quirk.jit.compilation import entry, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, put

from ..kernels.applied import refer
from ..kernels.bodies import CON, normalise
from ..kernels.constraint_solve import copy
from ..kernels.friction import align_with_slip
from ..kernels.mechanism import Mechanism
from ..stepping.run_state import STEP_END, STEP_HEAD, STEP_HIGH, STEP_LOW, STEP_START
from ..tangent.state_variations import change_of_rates
from ..tangent.tables import Tangents
from .error_control import (
    KINDS,
    Resolution,
    accept_substep,
    begin_attempts,
    begin_pivots,
    largest_of,
    note_pivot,
    substep_end,
    weigh_estimates,
    worst_error,
)
from .output import write_start, writer_of
from .variations_at_state import differentiate_slope, note_extents


@record
class ExplicitVariation(NamedTuple):
    """State variations in D <= 8 directions along a run of a Runge-Kutta method.

    A state has `size` elements. The method has B stages, including the additional stages of dense output.

    Attributes
    ----------
    weights : coefficients of the Runge-Kutta method
    directions : number of directions D
    alpha, beta : Baumgarte's rates, 1/s
    projects : whether the run is projected onto the constraints
    rank : largest number of independent rows so far
    length : characteristic length of the system, m
    extents : (8 steps,) norm of the pose variations at the end of each step
    pivots : (steps,) smallest pivot of the rows at the end of each step
    trail : steps as in `RunState`, followed by the final state
    requested_times, states : (nt,) output times, s, and (nt size,) states at these times
    clock : (1,) time of the slopes at the start of the step, s
    outputs_done : (1,) number of output times already processed
    motions, moved : variations of prescribed motions, and the indices of their inputs in force laws and relations
    taylor : scratch array for the value and time derivatives of one motion
    slopes : (B size,) y' at the stages
    stage : (size,) state at a stage
    changes, changes_new, changes_at : (D size,) variations at the start of the step, at its end, and at a stage or
        output time
    rates : (D B size,) time derivatives of the variations at the stages
    output_variations : (D nt size,) variations at output times
    stop : (1,) nonzero if a user function requests the end of the run
    part, y_new : a substep with the layout of `trail`, and the state at its end
    resolution : error control
    """

    weights: Weights
    directions: int
    alpha: float
    beta: float
    projects: bool
    rank: int
    length: float
    extents: np.ndarray
    pivots: np.ndarray
    trail: np.ndarray
    requested_times: np.ndarray
    states: np.ndarray
    clock: np.ndarray
    outputs_done: np.ndarray
    motions: MotionTable
    moved: np.ndarray
    taylor: np.ndarray
    slopes: np.ndarray
    stage: np.ndarray
    changes: np.ndarray
    changes_new: np.ndarray
    changes_at: np.ndarray
    rates: np.ndarray
    output_variations: np.ndarray
    stop: np.ndarray
    part: np.ndarray
    y_new: np.ndarray
    resolution: Resolution


@kernel
def vary(
    mechanism: Mechanism,
    tangents: Tangents,
    variation: ExplicitVariation,
    t: float,
    y: np.ndarray,
    stage: int,
    changes: np.ndarray,
    projected: bool,
) -> None:
    """Compute the slopes y' of a state y and of its variations `changes`, as stage number `stage` of a step.

    t is the time of the stage, s. If `projected` is true, the stage is the end of a step whose state was projected onto
    the constraints; the variations are then projected first.
    """
    size, buffers = y.shape[0], variation.weights.buffers
    ydot = variation.slopes[stage * size : (stage + 1) * size]
    differentiate_slope(mechanism, tangents, variation, t, y, ydot, changes, projected)
    for d in range(variation.directions):
        o = (d * buffers + stage) * size
        change = changes[d * size : (d + 1) * size]
        change_of_rates(mechanism, tangents, y, change, d, variation.rates[o : o + size])


@kernel
def combine_changes(variation: ExplicitVariation, row: int, h: float, out: np.ndarray) -> None:
    """Compute the variations at a stage as those at the start plus h times a weighted sum of their rates, in `out`.

    The weights are row `row` of the Runge-Kutta coefficients a_ij, and h is the step size, s. `out` (D size,) contains
    D variations of states with `size` elements.
    """
    size, span = variation.stage.shape[0], variation.weights.buffers * variation.stage.shape[0]
    for d in range(variation.directions):
        start, rates = variation.changes[d * size : (d + 1) * size], variation.rates[d * span : (d + 1) * span]
        combine(variation.weights, row, rates, h, start, out[d * size : (d + 1) * size])


@kernel
def between_changes(
    mechanism: Mechanism,
    tangents: Tangents,
    weights: Weights,
    variation: ExplicitVariation,
    step: np.ndarray,
    t: float,
    first: bool,
) -> None:
    """Compute the variations at time t (s) within a step by dense output, in variation.changes_at.

    The additional stages of the dense output are computed if t is the `first` output time of the step. `step` contains
    the times of the step and the state at its start, as in `RunState.trail`; `weights` are the coefficients of the
    Runge-Kutta method.
    """
    size = variation.stage.shape[0]
    start, y = at(step, STEP_START), step[STEP_HEAD : step.shape[0]]
    h = at(step, STEP_END) - start
    if first:
        for stage in range(weights.stages + 1, weights.buffers):
            combine(weights, stage, variation.slopes, h, y, variation.stage)
            combine_changes(variation, stage, h, variation.changes_at)
            when = min(max(start + weights.c[stage] * h, at(step, STEP_LOW)), at(step, STEP_HIGH))
            vary(mechanism, tangents, variation, when, variation.stage, stage, variation.changes_at, False)
    span = weights.buffers * size
    for d in range(variation.directions):
        rates, out = variation.rates[d * span : (d + 1) * span], variation.changes_at[d * size : (d + 1) * size]
        sample(weights, (t - start) / h, rates, h, variation.changes[d * size : (d + 1) * size], out)


write_changes = writer_of(between_changes)


@kernel
def propagate_substep(
    mechanism: Mechanism,
    tangents: Tangents,
    variation: ExplicitVariation,
    part: np.ndarray,
    y_new: np.ndarray,
    ends: bool,
) -> None:
    """Propagate the variations over the substep `part`, which ends at the state y_new.

    y_new must be given if `ends`, that is, if the substep ends with the step of the run; otherwise it is computed.
    `part` has the layout of `RunState.trail`: the times of the substep and the state at its start.
    """
    weights, h = variation.weights, at(part, STEP_END) - at(part, STEP_START)
    start, low, high, y = at(part, STEP_START), at(part, STEP_LOW), at(part, STEP_HIGH), part[STEP_HEAD : part.shape[0]]
    stages = weights.stages
    begin_pivots(variation.resolution)
    for stage in range(1, stages):
        combine(weights, stage, variation.slopes, h, y, variation.stage)
        combine_changes(variation, stage, h, variation.changes_at)
        when = min(max(start + weights.c[stage] * h, low), high)
        vary(mechanism, tangents, variation, when, variation.stage, stage, variation.changes_at, False)
        if variation.stop[0] != 0:
            return
        note_pivot(mechanism, variation.resolution)
    if not ends:
        combine(weights, stages, variation.slopes, h, y, y_new)
        normalise(mechanism.constants, y_new)
    combine_changes(variation, stages, h, variation.changes_new)
    end = min(max(start + weights.c[stages] * h, low), high)
    vary(mechanism, tangents, variation, end, y_new, stages, variation.changes_new, variation.projects)
    put(variation.clock, 0, end)


@kernel
def substep_error(mechanism: Mechanism, variation: ExplicitVariation, h: float, previous_h: float) -> float:
    """Return the ratio of the error of the variations in a substep of length h (s) to the tolerance.

    `previous_h` is the length of the previous attempt, s.
    """
    weights, size, resolution = variation.weights, variation.stage.shape[0], variation.resolution
    blocks, span, length = mechanism.constants.shape[0] // CON, weights.buffers * size, variation.length
    if not resolution.tolerance > 0.0:
        return 0.0
    for d in range(variation.directions):
        rates, of_step = variation.rates[d * span : (d + 1) * span], slice(d * size, (d + 1) * size)
        largest_of(blocks, variation.changes[of_step], length, resolution.largest, KINDS * d, True)
        largest_of(blocks, variation.changes_new[of_step], length, resolution.largest, KINDS * d, True)
        combine_error(weights, 0, rates, h, variation.stage)
        largest_of(blocks, variation.stage, length, resolution.error, KINDS * d, False)
        if weights.errors > 1:
            combine_error(weights, 1, rates, h, variation.stage)
            largest_of(blocks, variation.stage, length, resolution.second_error, KINDS * d, False)
            weigh_estimates(resolution, KINDS * d)
    return worst_error(resolution, variation.directions, h, previous_h)


@kernel
def end_substep(mechanism: Mechanism, tangents: Tangents, variation: ExplicitVariation, part: np.ndarray) -> None:
    """Store the variations at output times in a substep, and start the next substep at its end.

    `part` has the layout of `RunState.trail`.
    """
    weights, size = variation.weights, variation.stage.shape[0]
    stages, span = weights.stages, weights.buffers * variation.stage.shape[0]
    refer(mechanism.forces, at(part, STEP_END))
    align_with_slip(mechanism)
    write_changes(mechanism, tangents, weights, variation, part)
    copy(variation.slopes[stages * size : (stages + 1) * size], variation.slopes[:size])
    for d in range(variation.directions):
        rates = variation.rates[d * span : (d + 1) * span]
        copy(rates[stages * size : (stages + 1) * size], rates[:size])
    copy(variation.changes_new, variation.changes)


@kernel
def propagate_step(
    mechanism: Mechanism,
    tangents: Tangents,
    variation: ExplicitVariation,
    step: int,
    part: np.ndarray,
    end: float,
    y_end: np.ndarray,
) -> None:
    """Propagate the variations over a step, subdivided as needed, up to the state y_end at its end time `end` (s).

    Initially `part` contains the step, in the layout of `RunState.trail`; it is advanced to the start of each substep.
    `step` is the index of the step.
    """
    whole, exponent, resolution = end - at(part, STEP_START), variation.weights.exponent, variation.resolution
    begin_attempts(resolution)
    tried, reached = np.inf, at(part, STEP_START)
    while reached < end:
        part_end = substep_end(resolution, reached, end, tried < np.inf)
        put(part, STEP_END, part_end)
        ends, h = part_end >= end, part_end - reached
        y_new = y_end if ends else variation.y_new
        propagate_substep(mechanism, tangents, variation, part, y_new, ends)
        if variation.stop[0] != 0:
            return
        error = substep_error(mechanism, variation, h, tried)
        if not accept_substep(resolution, error, exponent, reached, h, whole):
            tried = h
            continue
        note_extents(mechanism, variation, step)
        end_substep(mechanism, tangents, variation, part)
        copy(y_new, part[STEP_HEAD : part.shape[0]])
        put(part, STEP_START, part_end)
        tried, reached = np.inf, part_end


@entry(needed_by="sensitivities need", effort=8)
def vary_along(mechanism: Mechanism, tangents: Tangents, variation: ExplicitVariation, first: int, last: int) -> None:
    """Propagate the variations of a run over the steps `first` to `last` - 1, or until `stop` (1,) is set.

    Before step 0 the variations are projected onto the constraints.
    """
    part, width = variation.part, STEP_HEAD + variation.stage.shape[0]
    for n in range(first, last):
        copy(variation.trail[n * width : (n + 1) * width], part)
        y_end = variation.trail[(n + 1) * width + STEP_HEAD : (n + 2) * width]
        start, end = at(part, STEP_START), at(part, STEP_END)
        begin, y = min(max(start, at(part, STEP_LOW)), at(part, STEP_HIGH)), part[STEP_HEAD:width]
        if n == first or begin != variation.clock[0]:
            vary(mechanism, tangents, variation, begin, y, 0, variation.changes, n == 0 and variation.projects)
        if n == 0:
            write_start(variation, start)
        propagate_step(mechanism, tangents, variation, n, part, end, y_end)
        if variation.stop[0] != 0:
            return
