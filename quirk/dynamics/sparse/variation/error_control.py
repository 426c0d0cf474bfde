"""Error control of state variations, in compiled code: error per step relative to the largest variation so far.

Variations are derivatives of the state along directions of the initial state and of parameters. The error of the motion
determines the step sizes of a run, but variations may change much faster than the motion, or while the system is at
rest. Their error in a step is estimated from their rates at the stages, like the error of the state. A step that is too
long for the variations is divided into substeps.

The pivot of a row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import OMEGA, ORIENTATION, POSITION, VELOCITY
from quirk.integrators.control import factor_after_acceptance, factor_after_rejection
from quirk.jit.compilation import kernel
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import WIDTH, aligned, at, put

from ..kernels.bodies import STATE
from ..kernels.factorisation import pivots
from ..kernels.mechanism import Mechanism
from ..stepping.radau_iterations import NEAR, SHRUNK

# Number of kinds of components, each with an error relative to its own largest variation: poses, velocities and
# internal variables.
KINDS = 3
# Tolerance of a step as a multiple of rtol times the largest variation. In steps that resolve the variations the error
# is hardly ever more than ten times rtol.
OVER_RTOL = 100.0
# Lower limit of the tolerance, due to round-off.
LEAST_TOLERANCE = 1e-11
# Variations are ignored if doubling the parameter moves poses by less than this, over the length of the system, or in
# rad.
UNSEEN = 1e-13
# An error per time that decreases by less than the power LEAST_ORDER of the step size is not an error of the method,
# but due to round-off or to a kink. After STALLED attempts with such errors, errors up to ROUGHLY times as large are
# ignored. This limit is multiplied by FORGOTTEN in each step with an error below FAR_BELOW of it.
LEAST_ORDER, STALLED, ROUGHLY = 2.0, 2, 1000.0
FAR_BELOW, FORGOTTEN = 1e-5, 0.9
# Length of the shortest substep, as a fraction of the step. If that is still too long, steps are no longer subdivided.
SHORTEST = 1e-4
# Errors below this fraction of the tolerance may be round-off and are not extrapolated to longer substeps.
SAYS_NOTHING = 1e-4


@fields
class Subdivision(Fields):
    """Subdivision of the steps of a run for its state variations.

    Attributes
    ----------
    length : length of the next substep, s
    coarse : first time at which even the shortest substeps were too long, s
    smallest_pivot, largest_pivot : minimum and maximum, over the stages of a substep, of the smallest pivot of the
        constraint rows
    worst : largest estimated ratio of error to tolerance of an undivided step
    """

    length: float
    coarse: float
    smallest_pivot: float
    largest_pivot: float
    worst: float


@record
class Resolution(NamedTuple):
    """Error control of state variations in eight directions, for each of KINDS kinds of components.

    The kinds are poses, velocities and internal variables. Names in capitals are constants of this module.

    Attributes
    ----------
    tolerance : allowed ratio of the error to the largest variation, 0 for no control
    subdivision : subdivision of steps
    ignored_error : (8,) pose errors that are ignored in each direction, relative to the characteristic length or in rad
    largest : (8 KINDS,) largest variation so far
    error, second_error : (8 KINDS,) two error estimates of the step
    previous_error : (8 KINDS,) error per time in the previous attempt, 1/s
    floor : (8 KINDS,) error per time that is ignored, 1/s
    stalled : (8 KINDS,) number of attempts that hardly reduced the error
    """

    tolerance: float
    subdivision: Subdivision
    ignored_error: np.ndarray
    largest: np.ndarray
    error: np.ndarray
    second_error: np.ndarray
    previous_error: np.ndarray
    floor: np.ndarray
    stalled: np.ndarray


def resolution_of(rtol: float, sizes: np.ndarray) -> Resolution:
    """Return the error control of the state variations of a run with relative tolerance `rtol`.

    There is no error control for `rtol` = 0. `sizes` (D,) are the magnitudes of the D parameters, 0 if unknown. The
    error of a variation is ignored if it is negligible even for a change of the parameter by its own magnitude.
    """
    tolerance = max(OVER_RTOL * rtol, LEAST_TOLERANCE) if rtol > 0 else 0.0
    least = np.zeros(WIDTH)
    least[: len(sizes)] = np.divide(UNSEEN, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    parts = Subdivision()
    parts.fill(np.inf)
    parts.worst = 0.0
    return Resolution(tolerance, parts, least, *(aligned(WIDTH * KINDS) for _ in range(6)))


@kernel
def larger(a: float, b: float) -> float:
    """Return the larger of two nonnegative numbers; infinity if the second is NaN."""
    return max(a, b) if b == b else np.inf


@kernel
def largest_of(blocks: int, change: np.ndarray, length: float, out: np.ndarray, o: int, grows: bool) -> None:
    """Write the largest components of `change` of each kind to KINDS elements of `out`, beginning at element `o`.

    The kinds are poses, velocities and internal variables; linear components of poses and velocities are divided by
    `length`. If `grows`, an element keeps its previous value if it is larger. `blocks` is the number of blocks of eight
    bodies, and `length` (m) the characteristic length of the system.
    """
    poses = velocities = variables = 0.0
    for slot in range(8 * blocks):
        s = slot // 8 * STATE + slot % 8
        for c in range(3):
            poses = larger(poses, abs(at(change, s + 8 * (POSITION + c))) / length)
            velocities = larger(velocities, abs(at(change, s + 8 * (VELOCITY + c))) / length)
            velocities = larger(velocities, abs(at(change, s + 8 * (OMEGA + c))))
        for c in range(4):
            poses = larger(poses, abs(at(change, s + 8 * (ORIENTATION + c))))
    for n in range(blocks * STATE, change.shape[0]):
        variables = larger(variables, abs(at(change, n)))
    put(out, o, max(poses, at(out, o)) if grows else poses)
    put(out, o + 1, max(velocities, at(out, o + 1)) if grows else velocities)
    put(out, o + 2, max(variables, at(out, o + 2)) if grows else variables)


@kernel
def weigh_estimates(resolution: Resolution, o: int) -> None:
    """Combine both error estimates of a step into one, as for states (Hairer, Norsett and Wanner 1993, II.10).

    The estimates begin at element o of their arrays.
    """
    for k in range(o, o + KINDS):
        first, second = at(resolution.error, k), at(resolution.second_error, k)
        if first > 0.0:
            put(resolution.error, k, first * first / math.sqrt(first * first + 0.01 * second * second))


@kernel
def begin_attempts(resolution: Resolution) -> None:
    """Reset the data about previous attempts, with other lengths of substeps, before a new step."""
    for k in range(resolution.previous_error.shape[0]):
        put(resolution.previous_error, k, np.inf)
        put(resolution.stalled, k, 0.0)


@kernel
def worst_error(resolution: Resolution, directions: int, h: float, previous_h: float) -> float:
    """Return the largest ratio of error to tolerance in a substep; if it exceeds 1, the substep must be shortened.

    `directions` is the number of variations; `h` and `previous_h` are the lengths of this and the previous attempt, s.
    """
    worst = 0.0
    for k in range(KINDS * directions):
        error, allowed = at(resolution.error, k), resolution.tolerance * at(resolution.largest, k)
        allowed = max(allowed, at(resolution.ignored_error, k // KINDS) / (h if k % KINDS == 1 else 1.0))
        if not error < np.inf or not allowed < np.inf:
            return np.inf
        rate, floor = error / h, at(resolution.floor, k)
        if rate <= floor:
            if rate < FAR_BELOW * floor:
                put(resolution.floor, k, FORGOTTEN * floor)
            continue
        if error > allowed:
            if rate > at(resolution.previous_error, k) * (h / previous_h) ** LEAST_ORDER:
                put(resolution.stalled, k, at(resolution.stalled, k) + 1.0)
            put(resolution.previous_error, k, rate)
            if at(resolution.stalled, k) >= STALLED:
                put(resolution.floor, k, ROUGHLY * rate)
                continue
        if allowed > 0.0:
            worst = max(worst, error / allowed)
    return worst


@kernel
def substep_end(resolution: Resolution, begin: float, end: float, repeated: bool) -> float:
    """Return the end time of the next substep, s.

    The interval from `begin` to `end` (s), the rest of the step, is divided into equal substeps of about
    `resolution.subdivision.length` seconds. If `repeated` is set because the last substep was rejected, the number of
    substeps is rounded up, so that no substep is longer than this; otherwise it is rounded to the nearest integer.
    """
    parts = math.ceil((end - begin) / resolution.subdivision.length - (0.0 if repeated else 0.5))
    return begin + (end - begin) / parts if parts > 1.0 else end


@kernel
def begin_pivots(resolution: Resolution) -> None:
    """Reset the range of the smallest pivot over the stages, before a new substep."""
    resolution.subdivision.smallest_pivot = np.inf
    resolution.subdivision.largest_pivot = 0.0


@kernel
def note_pivot(mechanism: Mechanism, resolution: Resolution) -> None:
    """Update the range of the smallest pivot over the stages of a substep with the pivots of the last evaluation."""
    pivot = pivots(mechanism)[2]
    resolution.subdivision.smallest_pivot = min(pivot, resolution.subdivision.smallest_pivot)
    resolution.subdivision.largest_pivot = max(pivot, resolution.subdivision.largest_pivot)


@kernel
def holds_singular(resolution: Resolution) -> bool:
    """Return whether a substep seems to contain a singular configuration, so that the step must not be subdivided.

    Derivatives are not defined at the singular configuration. The stages of the original step do not coincide with it,
    but the end of a substep might.
    """
    least = resolution.subdivision.smallest_pivot
    return least < NEAR and least < SHRUNK * resolution.subdivision.largest_pivot


@kernel
def must_not_divide(resolution: Resolution) -> bool:
    """Return whether a substep must not be shortened any further.

    The result is true if it contains a singular configuration, or if the shortest substep was already too long.
    """
    return holds_singular(resolution) or resolution.subdivision.coarse < np.inf


@kernel
def accept_substep(
    resolution: Resolution, error: float, exponent: float, begin: float, h: float, step_size: float
) -> bool:
    """Return whether a substep of length h (s) is accepted, and set the length of the next substep.

    `error` is the ratio of error to tolerance, which is proportional to h^(1 / `exponent`). `begin` is the
    start of the substep (s), and `step_size` the length of the undivided step (s).
    """
    if must_not_divide(resolution):
        error = 0.0
    if error > SAYS_NOTHING:
        resolution.subdivision.worst = max(error * (step_size / h) ** (1.0 / exponent), resolution.subdivision.worst)
    if error > 1.0 and h > SHORTEST * step_size:
        resolution.subdivision.length = h * factor_after_rejection(error, exponent)
        return False
    if error > 1.0:
        resolution.subdivision.coarse = begin
    longer = h * factor_after_acceptance(error, 1.0, False, exponent)
    resolution.subdivision.length = max(longer, SHORTEST * step_size)
    begin_attempts(resolution)
    return True
