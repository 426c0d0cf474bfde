"""Choice of the ends of steps (at breaks, output times and events), and step-size control.

A break is a time at which the motion or its derivatives may jump; steps end at breaks and do not cross them.
"""

from __future__ import annotations

import math

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

from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import EPSILON
from .run_state import END, FIRST, HIGH, LOW, PIECE_SIZE, RunState, Settings

# Smallest step size at time zero, s, where the spacing of floats gives no lower limit.
LEAST = 1e-290
# Maximum number of times that a step of fixed size is halved. Iterations that do not converge in a part of 1e-6 of the
# step do not do so because the step is long.
MOST_DIVISIONS = 20


@kernel
def keeps_to_constraints(mechanism: Mechanism, settings: Settings) -> bool:
    """Return whether the run projects its states onto the constraints."""
    return mechanism.nodes.rows.shape[0] > 0 and settings.interval > 0


@kernel
def in_piece(run: RunState, t: float) -> float:
    """Return time t (s) of a stage, clipped to the interval between the two breaks around the step.

    y' is evaluated at the returned time, so that no stage is beyond a jump. A break is a time at which the motion or
    its derivatives may jump.
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
        if run.counts.divisions > 0:
            part = math.ldexp(settings.step, -run.counts.divisions)
            clock.t_new = next_end(clock.t, part, clock.t_new, math.inf)
        return clock.t_new - clock.t
    end = min(end, clock.cap)
    clock.t_new = next_end(clock.t, clock.h, end, settings.max_step)
    clock.uncut = clock.h if clock.t_new >= end else 0.0
    return clock.t_new - clock.t


@kernel
def shortest(settings: Settings, run: RunState) -> float:
    """Return the smallest step size (s) that the round-off of times allows.

    It does not depend on the end time of the run.
    """
    return max(SMALLEST_STEP_ULPS * EPSILON * abs(run.clock.t), LEAST)


@kernel
def fixed_step_end(settings: Settings, run: RunState) -> float:
    """Return the end time of the current fixed step, s, disregarding breaks and events."""
    n = run.counts.grid + 1
    return settings.end if n >= settings.fixed else settings.start + n * settings.step


@kernel
def divided(mechanism: Mechanism, error: float, run: RunState, settings: Settings, h: float) -> bool:
    """Return whether a step of fixed size is repeated in parts, because the iterations of its method do not converge.

    This happens where friction slides, whose direction turns fast. Otherwise steps are too long for the motion. `error`
    is that which the method returns: infinite if the step cannot be taken for another reason. h is the size of the
    attempted step or part, s.
    """
    if not error < math.inf or mechanism.frictions.element.shape[0] == 0:
        return False
    run.counts.rejected += 1
    while run.counts.divisions < MOST_DIVISIONS:
        run.counts.divisions += 1
        if math.ldexp(settings.step, -run.counts.divisions) < 0.9 * h:
            return True
    return False


@kernel
def accepted(error: float, exponent: float, run: RunState, h: float) -> bool:
    """Return whether a step of size h is accepted; set the size of the next step, or of its repetition.

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
def advance_indices(settings: Settings, run: RunState) -> None:
    """Advance the indices of the interval between breaks and of the fixed step, if the run has reached their ends."""
    clock, counts = run.clock, run.counts
    counts.divisions = max(counts.divisions - 1, 0)
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
    """Return whether the step sizes chosen by error control have become too small for progress of the run.

    The function is called once per step; the progress is tested every STALL_STEPS calls.
    """
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
