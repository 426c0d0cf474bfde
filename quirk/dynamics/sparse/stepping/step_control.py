"""Choice of the ends of steps (at breaks, output times and events), and step-size control.

A break is a time at which the motion or its derivatives may jump; steps end at breaks and do not cross them. At a
singular configuration a constraint row becomes dependent on others, and its pivot in the factorization vanishes.
"""

from __future__ import annotations

from quirk.integrators.adaptive import next_end
from quirk.integrators.breaks import SMALLEST_STEP_ULPS
from quirk.integrators.control import (
    SMALLEST_ERROR,
    STALL_PROGRESS,
    STALL_STEPS,
    factor_after_acceptance,
    factor_after_rejection,
)
from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import EPSILON
from .run_state import END, FIRST, HIGH, LOW, PIECE_SIZE, RunState, Settings

# A step ends beside a singular configuration if a pivot of the rows, proportional to the square of the distance, is
# below BESIDE times its value at the start. It is then repeated with SHORTENED times its size: about a third of the way
# is left, and the next step, of the same size, ends a third of the way beyond. Each time the limit is multiplied by
# LESS: other rows with other pivots may have been selected since, and the step must end in any case.
BESIDE, SHORTENED, LESS = 1e-3, 2.0 / 3.0, 0.1

# Round-off over a pivot, times AMPLIFIED, must stay below the tolerance. Up to a limit FARTHEST for the pivots, a
# distance of a fifth of the step, the next two steps end further away, whether the step has ended before the singular
# configuration or behind it.
AMPLIFIED, FARTHEST = 100.0, 0.03

# Fraction of a step at which a singular configuration is far from the stages of all explicit methods: Verner's has some
# at 0.23 and 0.52, DOP853 at 0.33 and 0.6, Tsitouras' at 0.33 and 0.9. A step that was rejected at this size, or up to
# LONGER times it, is not tried again in this way.
BETWEEN_STAGES, LONGER = 0.42, 1.05

# Fraction of the way to a singular configuration that a step covers, so that the next, of the same size, passes it at
# 0.74 of itself: Verner's method has stages at 0.66 and 0.82, DOP853 at 0.65 and 0.86, Tsitouras' at 0.33 and 0.9, and
# a stage at the singular configuration has large errors.
APPROACH = 0.575

# The shortest step from time zero, s, where times have no resolution of their own.
LEAST = 1e-290


@kernel
def keeps_to_constraints(mechanism: Mechanism, settings: Settings) -> bool:
    """Return whether the run projects its states onto the constraints."""
    return mechanism.nodes.rows.shape[0] > 0 and settings.interval > 0


@kernel
def in_piece(run: RunState, t: float) -> float:
    """Return the time (s) at which y' is evaluated for a stage at time t (s).

    It is t, clipped to the interval between the two breaks around the step, so that no stage is beyond a jump. A break
    is a time at which the motion or its derivatives may jump.
    """
    o = PIECE_SIZE * run.counts.piece
    return min(max(t, run.pieces[o + LOW]), run.pieces[o + HIGH])


@kernel
def choose_end(settings: Settings, run: RunState) -> float:
    """Set the end of the next step, clock.t_new, limited by breaks, events and max_step; return the step size, s.

    Breaks are times at which steps must end.
    """
    clock, end = run.clock, run.pieces[PIECE_SIZE * run.counts.piece + END]
    if settings.fixed > 0:
        clock.t_new = min(fixed_step_end(settings, run), end)
        if abs(fixed_step_end(settings, run) - end) <= shortest(settings, run):
            clock.t_new = end
        clock.t_new = min(clock.t_new, clock.cap)
        return clock.t_new - clock.t
    end = min(end, clock.cap)
    clock.t_new = next_end(clock.t, clock.h, end, settings.max_step)
    clock.uncut = clock.h if clock.t_new >= end else 0.0
    return clock.t_new - clock.t


@kernel
def shortest(settings: Settings, run: RunState) -> float:
    """Return the smallest step size (s) that round-off of the times allows; it does not depend on the end time."""
    return max(SMALLEST_STEP_ULPS * EPSILON * abs(run.clock.t), LEAST)


@kernel
def fixed_step_end(settings: Settings, run: RunState) -> float:
    """Return the end time of the current fixed step, s, disregarding breaks and events."""
    n = run.counts.grid + 1
    return settings.end if n >= settings.fixed else settings.start + n * settings.step


@kernel
def accepted(error: float, exponent: float, run: RunState, h: float) -> bool:
    """Return whether a step of size h is accepted, and set the size of the next step.

    `error` is the ratio of error to tolerance, which is proportional to h^(1 / `exponent`).
    """
    clock, counts = run.clock, run.counts
    if not error <= 1.0:
        counts.rejected += 1
        counts.was_rejected = 1
        clock.h = h * factor_after_rejection(error, exponent)
        return False
    clock.h = h * factor_after_acceptance(error, clock.previous_error, counts.was_rejected != 0, exponent)
    clock.h = max(clock.h, clock.uncut)
    clock.previous_error = max(error, SMALLEST_ERROR)
    counts.was_rejected = 0
    return True


@kernel
def ends_beside_singular(mechanism: Mechanism, settings: Settings, run: RunState) -> bool:
    """Return whether a step with tolerable error ends near a singular configuration; if so, set another step size.

    Several motions are possible at a singular configuration. If the next step started at a small distance d from it,
    round-off of positions would rotate velocities by an angle of EPSILON / d^2, so that steps would become ever shorter
    and might follow another motion. Steps that must end at a break or an event are accepted.
    """
    clock, counts, work = run.clock, run.counts, mechanism.work
    lost = 1.0
    for row in range(work.pivots.shape[0]):
        before, now = at(work.pivots_before, row), at(work.pivots, row)
        if now > 0.0 and before > 0.0:
            lost = min(lost, now / before)
    beside = min(max(BESIDE, AMPLIFIED * EPSILON / max(settings.rtol, EPSILON)), FARTHEST)
    if not lost < beside * clock.pivot:
        return False
    if clock.t_new >= min(run.pieces[PIECE_SIZE * counts.piece + END], clock.cap):
        return False
    counts.rejected += 1
    counts.was_rejected = 1
    clock.h, clock.pivot = SHORTENED * (clock.t_new - clock.t), LESS * clock.pivot
    return True


@kernel
def leads_across_singular(mechanism: Mechanism, run: RunState, h: float) -> bool:
    """Return whether a step of size h leads across a singular configuration.

    The square root of the pivot of a row is approximately linear in time. It is extrapolated from the last two steps;
    the step leads across a singular configuration if the extrapolated value vanishes within it.
    """
    work, part = mechanism.work, h / (h + run.clock.t - run.clock.earlier)
    for row in range(work.pivots.shape[0]):
        if 0.0 < at(work.pivots_before, row) < part * part * at(work.pivots_earlier, row):
            return True
    return False


@kernel
def shorten_before_singular(mechanism: Mechanism, run: RunState, h: float) -> None:
    """Shorten the next step if a rejected step of size h leads across a singular configuration.

    The step is first shortened until the singular configuration is far from all stages. If the shorter step is also
    rejected, it is shortened to end before the singular configuration, at such a distance that a second step of equal
    size has the singular configuration in its middle part. If the second step is too long, both are shortened.
    Otherwise a step might end just before the singular configuration, and the error of the next step would be mostly
    round-off.
    """
    if not leads_across_singular(mechanism, run, h):
        return
    clock, work, ahead = run.clock, mechanism.work, h
    for row in range(work.pivots.shape[0]):
        earlier, before = at(work.pivots_earlier, row), at(work.pivots_before, row)
        if earlier > before > 0.0:
            distance = before**0.5
            ahead = min(ahead, distance * (clock.t - clock.earlier) / (earlier**0.5 - distance))
    clock.h = ahead / BETWEEN_STAGES if h > LONGER * ahead / BETWEEN_STAGES else APPROACH * ahead


@kernel
def advance_indices(settings: Settings, run: RunState) -> None:
    """Advance the indices of the interval between breaks and of the fixed step at the end of each."""
    clock, counts = run.clock, run.counts
    if settings.fixed > 0 and clock.t >= fixed_step_end(settings, run) - shortest(settings, run):
        counts.grid += 1
    if clock.t >= run.pieces[PIECE_SIZE * counts.piece + END] and clock.t < settings.end:
        # After a break the slope is different, and the previous error is irrelevant.
        counts.piece += 1
        counts.fresh, counts.was_rejected, clock.previous_error = 1, 0, SMALLEST_ERROR
        if PIECE_SIZE * counts.piece < run.pieces.shape[0]:  # more of them may be found before the next step
            clock.h = min(clock.h, run.pieces[PIECE_SIZE * counts.piece + FIRST])


@kernel
def stalled(settings: Settings, run: RunState) -> bool:
    """Return whether the step sizes chosen by error control have become too small for progress of the run."""
    clock, counts = run.clock, run.counts
    if settings.fixed > 0:
        return False
    counts.stall += 1
    if counts.stall < STALL_STEPS:
        return False
    counts.stall = 0
    progress = clock.t - clock.mark
    if progress < STALL_PROGRESS * (clock.requested - settings.start):
        return True
    clock.mark = clock.t
    return False
