"""Variations of a state over one collocation step, in compiled code.

Variations are derivatives of the state along directions of the initial state and of parameters. The step is solved
again together with its variations.

The increments Z are the differences of the states at the collocation points from the state y at the start of the step,
and satisfy Z = h A f(y + Z), with the step size h and the coefficients A. Their variations dZ satisfy dZ = h A (J (dy +
dZ) + f_p), with the derivatives J of f with respect to the state and f_p in the direction of the parameter at each
point. Both are computed by the same iterations with the same factorized matrices: Newton's method also converges to the
derivatives of its solution, because each iteration uses the tangent at the current points. The axes rotate as in the
steps of the run; their angular velocities are not varied.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, store

from ..kernels.bodies import CON
from ..kernels.mechanism import Mechanism
from ..stepping.radau_iterations import correct, corrections
from ..stepping.radau_record import Radau, add_weighted_sum, clear, slope_to_rotating, state_at_point
from ..stepping.rotating_axes import TURNED, subtract_rotation, to_inertial, to_rotating
from ..stepping.run_state import Clock, Counts, Settings
from ..stepping.step_control import in_piece
from ..tangent.state_variations import change_of_rates, extent
from ..tangent.tables import Tangents
from .error_control import (
    Resolution,
    begin_pivots,
    note_pivot,
)
from .variations_at_state import differentiate_slope

# Maximum number of iterations.
MOST = 60
# The increments of the state are no longer corrected once their corrections are within the tolerance and no longer
# decrease by this factor: further corrections are round-off, which would prevent convergence of equally small
# variations.
SHRINKING = 0.5
# Convergence of a variation: its estimated relative error is below EXACT, or corrections below FINE of it no longer
# decrease and are round-off.
EXACT, FINE = 1e-14, 1e-8
# A variation is round-off, of a parameter without effect, if LONG corrections agree within the factor ALIKE, in the
# geometric mean, with the LONG before: errors of the states decrease much faster.
LONG, ALIKE = 10, 2.0
LEAST = np.finfo(float).tiny
# Entries per variation: last correction, sums of logarithms of the last LONG corrections and of those before, and 1
# once it has converged.
BEFORE, LEVEL, EARLIER, FOUND = range(4)
CONVERGENCE = 4


@record
class ImplicitVariation(NamedTuple):
    """State variations in D <= 8 directions along a run of a collocation method with s points.

    A state has `size` elements. Fields not listed here are described in `ExplicitVariation`. Names in capitals are
    constants of this module.

    Attributes
    ----------
    failed : (1,) time of a step with variations that did not converge, s, or NaN
    y : (size,) state at the start of the step
    clock, counts, pieces : times, counters and intervals of the step, as in `RunState`
    slope, stage, rotating_state : (size,) scratch arrays
    base, rates : (D size,) variations at the start of the step and their time derivatives, in the rotating axes
    z, f : (D s size,) variations of the increments and slopes
    convergence : (CONVERGENCE per variation,) convergence data, such as the norm of the last correction
    turned : rotation of the axes at a time within the step
    """

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
    outputs_done: np.ndarray
    motions: MotionTable
    moved: np.ndarray
    taylor: np.ndarray
    changes: np.ndarray
    changes_new: np.ndarray
    changes_at: np.ndarray
    output_variations: np.ndarray
    stop: np.ndarray
    part: np.ndarray
    y_new: np.ndarray
    resolution: Resolution
    failed: np.ndarray
    y: np.ndarray
    clock: Clock
    counts: Counts
    pieces: np.ndarray
    slope: np.ndarray
    stage: np.ndarray
    rotating_state: np.ndarray
    base: np.ndarray
    rates: np.ndarray
    z: np.ndarray
    f: np.ndarray
    convergence: np.ndarray
    turned: np.ndarray


@kernel
def slopes_of_changes(
    mechanism: Mechanism, tangents: Tangents, stepper: Radau, variation: ImplicitVariation, h: float
) -> None:
    """Compute the slopes y' at all collocation points of the step, and their variations.

    h is the step size, s.
    """
    size, s, blocks = variation.y.shape[0], stepper.points, mechanism.constants.shape[0] // CON
    begin_pivots(variation.resolution)
    for i in range(s):
        turned = (i + 1) * TURNED * blocks
        t = in_piece(variation, variation.clock.t + stepper.nodes[i] * h)
        for d in range(variation.directions):
            variation_at(variation, s, d, i)
            to_inertial(
                stepper.turned,
                turned,
                blocks,
                variation.rotating_state,
                variation.changes_at[d * size : (d + 1) * size],
            )
        state_at_point(mechanism, stepper, i, variation.stage)
        differentiate_slope(
            mechanism, tangents, variation, t, variation.stage, variation.slope, variation.changes_at, False
        )
        note_pivot(mechanism, variation.resolution)
        slope_to_rotating(mechanism, stepper, variation.slope, i + 1, stepper.f[i * size : (i + 1) * size])
        for d in range(variation.directions):
            change = variation.changes_at[d * size : (d + 1) * size]
            change_of_rates(mechanism, tangents, variation.stage, change, d, variation.slope)
            o = (d * s + i) * size
            to_rotating(stepper.turned, turned, blocks, variation.slope, variation.f[o : o + size])
            variation_at(variation, s, d, i)
            subtract_rotation(stepper.implicit.axes, variation.rotating_state, variation.f[o : o + size])


@kernel
def variation_at(variation: ImplicitVariation, points: int, d: int, i: int) -> None:
    """Compute the variation of the state in direction d at collocation point i, in variation.rotating_state.

    The variation is in the rotating axes. `points` is the number of collocation points.
    """
    size, o = variation.y.shape[0], (d * points + i) * variation.y.shape[0]
    for c in range(0, size, 8):
        store(variation.rotating_state, c, load(variation.base, d * size + c) + load(variation.z, o + c))


@kernel
def correct_changes(
    mechanism: Mechanism,
    stepper: Radau,
    settings: Settings,
    variation: ImplicitVariation,
    h: float,
    n: int,
    state_converged: bool,
) -> int:
    """Correct the variations of the increments in iteration n; return the number of converged variations.

    The number is negative if a variation is not finite. Variations only count as converged once the state has converged
    (`state_converged`). h is the step size, s.
    """
    s, size, found = stepper.points, variation.y.shape[0], 0
    blocks, length = mechanism.constants.shape[0] // CON, settings.length
    for d in range(variation.directions):
        z = variation.z[d * s * size : (d + 1) * s * size]
        corrections(mechanism, stepper, variation.f[d * s * size : (d + 1) * s * size], z, h)
        whole, most = extent(blocks, variation.base[d * size : (d + 1) * size], length, h), 0.0
        for i in range(s):
            clear(variation.rotating_state)
            add_weighted_sum(stepper.back, i * s, s, stepper.u, 1.0, variation.rotating_state)
            most = max(most, extent(blocks, variation.rotating_state, length, h))
            for o in range(0, size, 8):
                store(z, i * size + o, load(z, i * size + o) + load(variation.rotating_state, o))
            whole = max(whole, extent(blocks, z[i * size : (i + 1) * size], length, h))
        if not (whole < np.inf and most < np.inf):
            return -1
        if converged(variation.convergence, CONVERGENCE * d, most, whole, n, state_converged):
            found += 1
    return found


@kernel
def converged(convergence: np.ndarray, o: int, correction: float, norm: float, n: int, state_converged: bool) -> bool:
    """Return whether a variation of norm `norm` has converged after its n-th correction, of norm `correction`.

    The convergence data of the variation begin at element o of `convergence` and are updated. `state_converged` is true
    if the state itself has converged.
    """
    if n == 0:
        for k in range(CONVERGENCE):
            put(convergence, o + k, 0.0)
    before, level = at(convergence, o + BEFORE), at(convergence, o + LEVEL) + math.log(max(correction, LEAST))
    small = correction < FINE * norm and correction > SHRINKING * before
    exact = correction < before and correction / before * correction < EXACT * (1.0 - correction / before) * norm
    found = correction == 0.0 or (n > 1 and (small or exact))
    if n % LONG == LONG - 1:
        found = found or (n > LONG and abs(level - at(convergence, o + EARLIER)) < LONG * math.log(ALIKE))
        put(convergence, o + EARLIER, level)
        level = 0.0
    put(convergence, o + BEFORE, correction)
    put(convergence, o + LEVEL, level)
    if found and state_converged:
        put(convergence, o + FOUND, 1.0)
    return at(convergence, o + FOUND) > 0.0


@kernel
def solve_step(
    mechanism: Mechanism,
    tangents: Tangents,
    stepper: Radau,
    settings: Settings,
    variation: ImplicitVariation,
    h: float,
) -> bool:
    """Solve for the increments of the step and their variations; return False if the iteration does not converge.

    h is the step size, s.
    """
    moved, settled = np.inf, False
    clear(variation.z)
    for n in range(MOST):
        slopes_of_changes(mechanism, tangents, stepper, variation, h)
        if variation.stop[0] != 0:
            return False
        if not settled:
            before = moved
            corrections(mechanism, stepper, stepper.f, stepper.z, h)
            moved = correct(mechanism, stepper, settings, variation)
            settled = moved == 0.0 or (moved < 1.0 and moved > SHRINKING * before)
        found = correct_changes(mechanism, stepper, settings, variation, h, n, moved < 1.0)
        if found < 0 or not moved < np.inf:
            return False
        if found == variation.directions:
            return True
    return False
