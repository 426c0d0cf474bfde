"""Whether a step resolves the changes of a state: their own error, beside how large they have been, in kernels.

Steps are as long as the error of the motion allows. Changes may move where the motion does not, as about a state at
rest, or much faster than it. Their error in a step follows from their rates at the stages, as that of the state does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import OMEGA, ORIENTATION, POSITION, VELOCITY
from quirk.integrators.control import factor_after_acceptance, factor_after_rejection
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import WIDTH, aligned, at, put

from ..kernels.bodies import STATE
from ..kernels.factorisation import pivots
from ..kernels.mechanism import Mechanism
from ..stepping.radau import NEAR, SHRUNK

# Poses, velocities and internal variables: each kind is judged beside its own largest change.
KINDS = 3
# The error of a step may be so many times `rtol` of the largest change. Along steps that resolve the changes it is
# hardly ever more than ten times as large.
OVER_RTOL = 100.0
# Nor is it held below this, which round-off leaves.
LEAST_TOLERANCE = 1e-11
# What would move poses by less than so many lengths of the system and rad if a number were doubled does not show.
UNSEEN = 1e-13
# An error per time that shrinks by less than this power of the length of the step is no error of the method, but of
# round-off or of a kink. After so many attempts with such errors, those of this multiple count as none; of less with
# each step whose error is less than this part of that.
LEAST_ORDER, STALLED, ROUGHLY = 2.0, 2, 1000.0
FAR_BELOW, FORGOTTEN = 1e-5, 0.9
# A step that is too long for the changes is cut into parts that are not shorter than this part of it. Where that is not
# enough, steps are no longer cut.
SHORTEST = 1e-4
# An error below this part of the tolerance may be round-off, and does not tell that of a longer part.
SAYS_NOTHING = 1e-4
# The length of the next part, s; from what time on parts were too long, s; the least pivot of the rows at the stages of
# a part and the greatest of these; the largest error over the tolerance of a step, by its order, had it not been cut.
LENGTH, COARSE, LEAST, GREATEST, WORST = range(5)


@record
class Resolution(NamedTuple):
    """How well steps resolve changes along eight directions, of each of KINDS.

    tolerance: of an error over the largest change, 0 for no look · clock: LENGTH to WORST · least (8,): errors of
    poses, over the length of the system and in rad, that do not show · largest, error, second, before, floor
    (8 KINDS,): the largest change so far, the error of the step, its other estimate, and per time the error of the last
    attempt and what counts as none · stalled (8 KINDS,): how many attempts hardly lessened an error
    """

    tolerance: float
    clock: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    error: np.ndarray
    second: np.ndarray
    before: np.ndarray
    floor: np.ndarray
    stalled: np.ndarray


def resolution_of(rtol: float, sizes: np.ndarray) -> Resolution:
    """Return the record for a run with some tolerance, 0 where no errors are looked at.

    `sizes` (D,) are those of the numbers that change, 0 where not known: what does not show if one is doubled is not
    looked at.
    """
    tolerance = max(OVER_RTOL * rtol, LEAST_TOLERANCE) if rtol > 0 else 0.0
    least = np.zeros(WIDTH)
    least[: len(sizes)] = np.divide(UNSEEN, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    return Resolution(tolerance, np.array([np.inf] * WORST + [0.0]), least, *(aligned(WIDTH * KINDS) for _ in range(6)))


@kernel
def larger(a: float, b: float) -> float:
    """The larger of two sizes; infinite if the second is not a number."""
    return max(a, b) if b == b else np.inf


@kernel
def largest_of(blocks: int, change: np.ndarray, length: float, out: np.ndarray, o: int, grows: bool) -> None:
    """Fill KINDS elements of `out` from `o` on with the largest parts of a change, or let these grow to it.

    Of places over a length and of turns, of velocities likewise, and of internal variables.
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
    """Let both estimates of an error give one, as for states (Hairer, Norsett and Wanner 1993, II.10)."""
    for k in range(o, o + KINDS):
        first, second = at(resolution.error, k), at(resolution.second, k)
        if first > 0.0:
            put(resolution.error, k, first * first / math.sqrt(first * first + 0.01 * second * second))


@kernel
def begin_attempts(resolution: Resolution) -> None:
    """Forget the attempts at another step."""
    for k in range(resolution.before.shape[0]):
        put(resolution.before, k, np.inf)
        put(resolution.stalled, k, 0.0)


@kernel
def worst_error(resolution: Resolution, directions: int, h: float, h_before: float) -> float:
    """The largest error of a step over the tolerance, which is more than 1 where a shorter step is needed.

    `h` and `h_before` are its length and that of the last attempt at it, s.
    """
    worst = 0.0
    for k in range(KINDS * directions):
        error, allowed = at(resolution.error, k), resolution.tolerance * at(resolution.largest, k)
        allowed = max(allowed, at(resolution.least, k // KINDS) / (h if k % KINDS == 1 else 1.0))
        if not error < np.inf or not allowed < np.inf:
            return np.inf
        rate, floor = error / h, at(resolution.floor, k)
        if rate <= floor:
            if rate < FAR_BELOW * floor:
                put(resolution.floor, k, FORGOTTEN * floor)
            continue
        if error > allowed:
            if rate > at(resolution.before, k) * (h / h_before) ** LEAST_ORDER:
                put(resolution.stalled, k, at(resolution.stalled, k) + 1.0)
            put(resolution.before, k, rate)
            if at(resolution.stalled, k) >= STALLED:
                put(resolution.floor, k, ROUGHLY * rate)
                continue
        if allowed > 0.0:
            worst = max(worst, error / allowed)
    return worst


@kernel
def end_of_part(resolution: Resolution, begin: float, end: float, again: bool) -> float:
    """Where a part of a step ends, of as many equal ones up to its end as are hardly longer than those before.

    They are not longer at all where a part is tried `again`.
    """
    parts = math.ceil((end - begin) / at(resolution.clock, LENGTH) - (0.0 if again else 0.5))
    return begin + (end - begin) / parts if parts > 1.0 else end


@kernel
def begin_pivots(resolution: Resolution) -> None:
    """Forget the pivots at the stages of another part."""
    put(resolution.clock, LEAST, np.inf)
    put(resolution.clock, GREATEST, 0.0)


@kernel
def note_pivot(mechanism: Mechanism, resolution: Resolution) -> None:
    """Note the least pivot of the rows at a stage, which was evaluated last."""
    pivot = pivots(mechanism)[2]
    put(resolution.clock, LEAST, min(pivot, at(resolution.clock, LEAST)))
    put(resolution.clock, GREATEST, max(pivot, at(resolution.clock, GREATEST)))


@kernel
def holds_singular(resolution: Resolution) -> bool:
    """Whether there is a singular configuration within a part: a step that passes it is not to be cut there.

    Next to it there is no tangent; stages of the step as it was taken lie beside.
    """
    least = at(resolution.clock, LEAST)
    return least < NEAR and least < SHRUNK * at(resolution.clock, GREATEST)


@kernel
def left_whole(resolution: Resolution) -> bool:
    """Whether a part is not to be cut further, whatever its error."""
    return holds_singular(resolution) or at(resolution.clock, COARSE) < np.inf


@kernel
def resolved(resolution: Resolution, error: float, exponent: float, begin: float, h: float, whole: float) -> bool:
    """Whether a part of a step of some `whole` length stands, by its error over the tolerance; chooses the next length.

    The error grows as the length to the power 1 / `exponent`.
    """
    if left_whole(resolution):
        error = 0.0
    if error > SAYS_NOTHING:
        put(resolution.clock, WORST, max(error * (whole / h) ** (1.0 / exponent), at(resolution.clock, WORST)))
    if error > 1.0 and h > SHORTEST * whole:
        put(resolution.clock, LENGTH, h * factor_after_rejection(error, exponent))
        return False
    if error > 1.0:
        put(resolution.clock, COARSE, begin)
    longer = h * factor_after_acceptance(error, 1.0, False, exponent)
    put(resolution.clock, LENGTH, max(longer, SHORTEST * whole))
    begin_attempts(resolution)
    return True
