"""State variations over the steps of an implicit run, in compiled code.

Each step is solved again from its start by Radau collocation together with its variations, see `collocation`. A step
that is too long for the variations is divided into substeps, see `accept_substep`.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import entry, kernel
from quirk.jit.simd import at, load, put, store

from ..implicit.solve import solve
from ..kernels.applied import refer
from ..kernels.bodies import CON, normalise
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from ..stepping.radau import store_polynomial
from ..stepping.radau_error import STRICT
from ..stepping.radau_iterations import begin, compute_derivatives, factorise
from ..stepping.radau_record import Radau, add_weighted_sum, clear, state_at_point, weigh_points
from ..stepping.rotating_axes import TURNED, subtract_rotation, to_inertial, to_rotating, turn_axes
from ..stepping.run_state import HIGH, LOW, PIECE_SIZE, STEP_END, STEP_HEAD, STEP_HIGH, STEP_LOW, STEP_START, Settings
from ..stepping.step_control import in_piece
from ..tangent.state_variations import change_of_rates, keep_units
from ..tangent.tables import Tangents
from .collocation import ImplicitVariation, solve_step, variation_at
from .error_control import (
    KINDS,
    SHORTEST,
    accept_substep,
    begin_attempts,
    largest_of,
    must_not_divide,
    substep_end,
    worst_error,
)
from .output import write_start, writer_of
from .variations_at_state import differentiate_slope, note_extents


@kernel
def between_points(
    mechanism: Mechanism,
    tangents: Tangents,
    stepper: Radau,
    variation: ImplicitVariation,
    step: np.ndarray,
    t: float,
    first: bool,
) -> None:
    """Compute the variations at time t (s) within a step by the collocation polynomial, in variation.changes_at.

    `step` holds the times of the step and the state at its start, as in `RunState.trail`; `first` is not used.
    """
    s, size, blocks = stepper.points, variation.y.shape[0], mechanism.constants.shape[0] // CON
    start = at(step, STEP_START)
    weigh_points(stepper, (t - start) / (at(step, STEP_END) - start))
    turn_axes(stepper.implicit.axes, t - stepper.step_data.centre, variation.turned, 0)
    row = variation.outputs_done[0]
    for d in range(variation.directions):
        change = variation.changes_at[d * size : (d + 1) * size]
        copy(variation.base[d * size : (d + 1) * size], variation.rotating_state)
        add_weighted_sum(
            stepper.basis, 0, s, variation.z[d * s * size : (d + 1) * s * size], 1.0, variation.rotating_state
        )
        to_inertial(variation.turned, 0, blocks, variation.rotating_state, change)
        keep_units(mechanism.constants, variation.states[row * size : (row + 1) * size], change)


write_changes = writer_of(between_points)


@kernel
def project_end(
    mechanism: Mechanism, tangents: Tangents, stepper: Radau, variation: ImplicitVariation, end: float
) -> None:
    """Project the variations at the end of a substep, at time `end` (s), onto the linearized constraints.

    The state at this time must have been computed before.
    """
    s, size, blocks = stepper.points, variation.y.shape[0], mechanism.constants.shape[0] // CON
    turned = s * TURNED * blocks
    for d in range(variation.directions):
        change = variation.changes_new[d * size : (d + 1) * size]
        variation_at(variation, s, d, s - 1)
        to_inertial(stepper.turned, turned, blocks, variation.rotating_state, change)
        keep_units(mechanism.constants, variation.y_new, change)
    if not variation.projects:
        return
    differentiate_slope(
        mechanism, tangents, variation, end, variation.y_new, variation.slope, variation.changes_new, True
    )
    for d in range(variation.directions):
        last = variation.z[((d + 1) * s - 1) * size : (d + 1) * s * size]
        to_rotating(stepper.turned, turned, blocks, variation.changes_new[d * size : (d + 1) * size], last)
        for o in range(0, size, 8):
            store(last, o, load(last, o) - load(variation.base, d * size + o))


@kernel
def begin_changes(
    mechanism: Mechanism, tangents: Tangents, stepper: Radau, variation: ImplicitVariation, projected: bool
) -> None:
    """Transform the variations at the start of a substep, and their time derivatives, to the rotating axes.

    If `projected` is true, the state was projected onto the constraints, and the variations are projected first.
    """
    size, blocks = variation.y.shape[0], mechanism.constants.shape[0] // CON
    t = in_piece(variation, variation.clock.t)
    differentiate_slope(mechanism, tangents, variation, t, variation.y, variation.slope, variation.changes, projected)
    for d in range(variation.directions):
        change, base = variation.changes[d * size : (d + 1) * size], variation.base[d * size : (d + 1) * size]
        rates = variation.rates[d * size : (d + 1) * size]
        to_rotating(stepper.turned, 0, blocks, change, base)
        change_of_rates(mechanism, tangents, variation.y, change, d, variation.slope)
        to_rotating(stepper.turned, 0, blocks, variation.slope, rates)
        subtract_rotation(stepper.implicit.axes, base, rates)


@kernel
def substep_error(
    mechanism: Mechanism, stepper: Radau, settings: Settings, variation: ImplicitVariation, h: float, previous_h: float
) -> float:
    """Return the ratio of the error of the variations in a substep of length h (s) to the tolerance.

    The error is estimated as for the state, see `quirk.dynamics.sparse.stepping.radau`; `previous_h` is the length of
    the previous attempt, s.
    """
    s, size, e, resolution = stepper.points, variation.y.shape[0], h * stepper.inverse[0], variation.resolution
    blocks, length = mechanism.constants.shape[0] // CON, variation.length
    if not resolution.tolerance > 0.0:
        return 0.0
    right, found, matrix = stepper.w[:size], stepper.u[:size], stepper.matrices[: stepper.implicit.size]
    for d in range(variation.directions):
        largest_of(blocks, variation.base[d * size : (d + 1) * size], length, resolution.largest, KINDS * d, True)
        variation_at(variation, s, d, s - 1)
        largest_of(blocks, variation.rotating_state, length, resolution.largest, KINDS * d, True)
        clear(right)
        add_weighted_sum(stepper.e, 0, s, variation.z[d * s * size : (d + 1) * s * size], 1.0, right)
        for o in range(0, size, 8):
            store(right, o, load(right, o) + e * load(variation.rates, d * size + o))
        solve(stepper.implicit, mechanism.constants, stepper.centre, (e,), (matrix,), (right,), (found,))
        to_inertial(stepper.turned, s * TURNED * blocks, blocks, found, variation.rotating_state)
        largest_of(blocks, variation.rotating_state, length, resolution.error, KINDS * d, False)
        for k in range(KINDS * d, KINDS * (d + 1)):
            # The estimate is of order s, the method of order 2 s - 1.
            largest, error = at(resolution.largest, k), at(resolution.error, k)
            if largest > 0.0:
                put(resolution.error, k, largest * (error / (STRICT * largest)) ** (2.0 * s / (s + 1.0)))
    return worst_error(resolution, variation.directions, h, previous_h)


@kernel
def propagate_substep(
    mechanism: Mechanism,
    tangents: Tangents,
    stepper: Radau,
    settings: Settings,
    variation: ImplicitVariation,
    begins: bool,
    ends: bool,
    previous_h: float,
) -> float:
    """Propagate the variations over a substep; return the ratio of their error to the tolerance.

    The result is infinite if the iterations do not converge. `begins` is true if the substep begins the run, `ends` if
    it ends the step of the run; `previous_h` is the length of the previous attempt, s.
    """
    s, h = stepper.points, at(variation.part, STEP_END) - at(variation.part, STEP_START)
    compute_derivatives(mechanism, stepper, settings, variation, h)
    begin(mechanism, stepper, variation, h)
    factorise(mechanism, stepper, h)
    begin_changes(mechanism, tangents, stepper, variation, begins and variation.projects)
    if begins:
        write_start(variation, variation.clock.t)
    if not solve_step(mechanism, tangents, stepper, settings, variation, h):
        return np.inf
    if not ends:
        state_at_point(mechanism, stepper, s - 1, variation.y_new)
        normalise(mechanism.constants, variation.y_new)
    return substep_error(mechanism, stepper, settings, variation, h, previous_h)


@kernel
def propagate_step(
    mechanism: Mechanism,
    tangents: Tangents,
    stepper: Radau,
    settings: Settings,
    variation: ImplicitVariation,
    step: int,
    end: float,
    y_end: np.ndarray,
) -> None:
    """Propagate the variations over a step, subdivided as needed, to the state y_end at its end time `end`, s.

    `step` is the index of the step.
    """
    part, clock, resolution = variation.part, variation.clock, variation.resolution
    whole, exponent = end - at(part, STEP_START), 0.5 / stepper.points
    begin_attempts(resolution)
    tried, reached = np.inf, at(part, STEP_START)
    begins = step == 0
    while reached < end:
        part_end = substep_end(resolution, reached, end, tried < np.inf)
        put(part, STEP_END, part_end)
        ends, h = part_end >= end, part_end - reached
        copy(part[STEP_HEAD : part.shape[0]], variation.y)
        if ends:
            copy(y_end, variation.y_new)
        clock.t = reached
        error = propagate_substep(mechanism, tangents, stepper, settings, variation, begins, ends, tried)
        if variation.stop[0] != 0:
            return
        begins = False
        if error == np.inf and (h <= SHORTEST * whole or must_not_divide(resolution)):
            put(variation.failed, 0, reached)
            return
        if not accept_substep(resolution, error, exponent, reached, h, whole):
            tried = h
            continue
        project_end(mechanism, tangents, stepper, variation, in_piece(variation, part_end))
        store_polynomial(mechanism, stepper, variation, h)
        note_extents(mechanism, variation, step)
        refer(mechanism.forces, part_end)
        write_changes(mechanism, tangents, stepper, variation, part)
        copy(variation.changes_new, variation.changes)
        copy(variation.y_new, part[STEP_HEAD : part.shape[0]])
        put(part, STEP_START, part_end)
        tried, reached = np.inf, part_end


@entry(needed_by="sensitivities of stiff runs need", effort=20)
def vary_along_radau(
    mechanism: Mechanism,
    tangents: Tangents,
    stepper: Radau,
    settings: Settings,
    variation: ImplicitVariation,
    first: int,
    last: int,
) -> None:
    """Propagate the variations of a run over the steps `first` to `last` - 1, or until `stop` (1,) is set.

    Before step 0 the variations are projected onto the constraints.
    """
    part, width, piece = variation.part, STEP_HEAD + variation.y.shape[0], PIECE_SIZE * variation.counts.piece
    for n in range(first, last):
        copy(variation.trail[n * width : (n + 1) * width], part)
        put(variation.pieces, piece + LOW, at(part, STEP_LOW))
        put(variation.pieces, piece + HIGH, at(part, STEP_HIGH))
        if n == 0:
            stepper.step_data.past_step = 0.0
        y_end = variation.trail[(n + 1) * width + STEP_HEAD : (n + 2) * width]
        propagate_step(mechanism, tangents, stepper, settings, variation, n, at(part, STEP_END), y_end)
        if variation.stop[0] != 0 or variation.failed[0] < np.inf:
            return
