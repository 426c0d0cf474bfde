"""Choice of steps near and across singular configurations.

At a singular configuration a constraint row becomes dependent on others: its pivot, the squared distance from the span
of the rows before it in the order of elimination, vanishes. The square root of the pivot is approximately linear in
time near the singular configuration, so that the time at which it vanishes follows from its values at the ends of
steps.

Several motions are possible at a singular configuration. At a small distance d from it, round-off of positions rotates
velocities by an angle of EPSILON / d^2. Therefore steps do not end close to a singular configuration, and no stage of a
step across it is close to it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import EPSILON
from ..kernels.workspace import METHOD
from .run_state import END, PIECE_SIZE, RunState, Settings

# Distance of the end of a step from a singular configuration, as a fraction of the step, below which the step is
# repeated with another size: BESIDE, or CLEAR if AMPLIFIED times round-off over the pivot exceeds the tolerance. The
# distance is multiplied by LESS at each repetition, so that a step is eventually accepted even if other rows, with
# other pivots, are selected each time.
BESIDE, CLEAR, AMPLIFIED, LESS = 0.03, 0.15, 10.0, 0.3

# Fraction of the time to a singular configuration that a step covers if the next step is to cross it. A next step of
# the same size crosses it at the fraction 0.37 of the step, between the stages of most methods.
APPROACH = 0.73

# Largest time to a singular configuration, over the step size, for which it limits the step.
BEYOND = 1.25

# Allowed excess of a step size that puts the singular configuration between two stages over the given limit.
LONGER = 1.02


@kernel
def same_rows(mechanism: Mechanism, run: RunState) -> bool:
    """Return whether the same rows are selected, in the same order, at the start and at the end of the step."""
    work = mechanism.work
    if at(work.summary, METHOD) != run.clock.method:
        return False
    for row in range(work.pivots.shape[0]):
        if (at(work.pivots, row) > 0.0) != (at(work.pivots_before, row) > 0.0):
            return False
    return True


@kernel
def store_pivots(mechanism: Mechanism, run: RunState) -> None:
    """Copy the pivots at the end of the step to those at the start of the next one.

    This must be done before clock.t is advanced.
    """
    clock, work = run.clock, mechanism.work
    clock.earlier = clock.t if same_rows(mechanism, run) else -math.inf
    copy(work.pivots_before, work.pivots_earlier)
    copy(work.pivots, work.pivots_before)
    clock.method, clock.clearance, clock.crossing = at(work.summary, METHOD), 1.0, 0.0


@kernel
def vanishing_time(earlier: float, before: float, now: float, lag: float, h: float) -> float:
    """Return the time (s) after the start of a step of size h (s) at which a pivot vanishes; infinity if it does not.

    `earlier`, `before` and `now` are square roots of the pivot: at the start of the previous step, at the start of this
    step, a time `lag` (s) later, and at its end. The square root continues with a negative sign after the pivot has
    vanished, so that `now` may have either sign; the one with the smaller second difference is used. The square root is
    interpolated by a parabola.
    """
    if not lag < math.inf:
        return h * before / (before - now) if before > now else math.inf
    slope = (before - earlier) / lag
    ahead, behind = now - before - slope * h, -now - before - slope * h
    bend = (ahead if abs(ahead) < abs(behind) else behind) / (h * (h + lag))
    slope += bend * lag
    square = slope * slope - 4.0 * bend * before
    if square < 0.0:
        return math.inf
    part = square**0.5 - slope
    return 2.0 * before / part if part > 0.0 else math.inf


@kernel
def leads_across_singular(mechanism: Mechanism, run: RunState, h: float) -> bool:
    """Return whether a step of size h (s) is expected to lead across a singular configuration.

    The square roots of the pivots are extrapolated linearly from the preceding step.
    """
    work, part = mechanism.work, h / (h + run.clock.t - run.clock.earlier)
    for row in range(work.pivots.shape[0]):
        if 0.0 < at(work.pivots_before, row) < part * part * at(work.pivots_earlier, row):
            return True
    return False


@kernel
def time_to_singular(mechanism: Mechanism, run: RunState, h: float, ended: bool, least: float) -> float:
    """Return the time (s) from the start of the step to the next singular configuration; infinity if none is near.

    If the step of size h has `ended`, the time is interpolated between both ends, otherwise it is extrapolated from the
    last two steps. Times up to `least`, s, are disregarded.
    """
    work, clock, nearest = mechanism.work, run.clock, math.inf
    lag = clock.t - clock.earlier
    ended = ended and same_rows(mechanism, run)
    for row in range(work.pivots.shape[0]):
        earlier, before, now = at(work.pivots_earlier, row), at(work.pivots_before, row), at(work.pivots, row)
        way = math.inf
        if before > 0.0 and ended:
            way = vanishing_time(earlier**0.5, before**0.5, now**0.5, lag if earlier > 0.0 else math.inf, h)
        elif earlier > before > 0.0:
            way = lag * before**0.5 / (earlier**0.5 - before**0.5)
        if least < way < nearest:
            nearest = way
    return nearest


@kernel
def passing_step(passages: np.ndarray, way: float, limit: float) -> float:
    """Return the size (s) of a step toward or across a singular configuration.

    `way` is the time (s) from the start of the step to the singular configuration, and `limit` the maximum size of the
    step, s. `passages` are the fractions of a step, ascending, that are far from all stages; the step is sized such
    that the singular configuration is at one of them. If this would make the step too long, the step ends before the
    singular configuration, at a distance from which the next step can cross it.
    """
    if way < limit * passages[0]:
        return limit  # much closer to the start of the step than to any stage
    for k in range(passages.shape[0]):
        if way <= LONGER * limit * passages[k]:
            return way / passages[k]
    return min(limit, APPROACH * way)


@kernel
def ends_beside_singular(mechanism: Mechanism, settings: Settings, run: RunState) -> bool:
    """Return whether a step with tolerable error ends too close to a singular configuration.

    If so, another size of the step is chosen. Steps that must end at a break or an event are accepted.
    """
    clock, counts, work = run.clock, run.counts, mechanism.work
    if clock.t_new >= min(run.pieces[PIECE_SIZE * counts.piece + END], clock.cap):
        return False
    h, near = clock.t_new - clock.t, False
    for row in range(work.pivots.shape[0]):
        before, now = at(work.pivots_before, row), at(work.pivots, row)
        if now > 0.0 and before > now:
            clear = clock.clearance * (CLEAR if settings.rtol * now < AMPLIFIED * EPSILON else BESIDE)
            # The distance of the end, as a fraction of the step, if the singular configuration is within the step;
            # otherwise it is a little larger.
            root = now**0.5
            near = near or root < clear * (before**0.5 + root)
    if not near:
        return False
    counts.rejected += 1
    counts.was_rejected = 1
    way = time_to_singular(mechanism, run, h, True, h / 2)
    clock.h, clock.clearance, clock.usual = APPROACH * min(way, h), LESS * clock.clearance, max(clock.usual, h)
    return True


@kernel
def plan_passage(mechanism: Mechanism, run: RunState, passages: np.ndarray, h: float, ended: bool) -> None:
    """Choose the next step size if a rejected step leads across a singular configuration, or ends before one.

    The error of a step with a stage close to the singular configuration is not representative of other steps. The step
    is therefore first repeated with a similar size, such that the singular configuration is between two stages.
    `passages` are the fractions of a step that are far from all stages; h (s) is the size of the rejected step, and
    `ended` is true if its end was computed.
    """
    clock = run.clock
    way = time_to_singular(mechanism, run, h, ended, 0.0)
    if not way < BEYOND * h:
        return
    limit = clock.h if clock.usual > 0.0 else h
    clock.h = passing_step(passages, way, limit)
    clock.usual, clock.crossing = max(clock.usual, limit), 1.0 if clock.h > way else 0.0


@kernel
def leave_to_runge_kutta(run: RunState, way: float, h: float) -> bool:
    """Return whether a step of size h (s) leads across a singular configuration, or ends before it by a small distance.

    `way` is the time from the start of the step to the singular configuration, s. If the result is true, clock.t_new
    becomes the time at which the distance from it is at least that at the start of the step.
    """
    if not way < BEYOND * h:
        return False
    run.clock.t_new = run.clock.t + max(h, 2.0 * way)
    return True


@kernel
def reaches_singular(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, h: float, ended: bool
) -> bool:
    """Return whether a step of size h (s) leads across a singular configuration, or ends shortly before one.

    `ended` is true if the end of the step has been computed. If the result is true, a Runge-Kutta method takes the
    steps up to clock.t_new, which is set.
    """
    return settings.fixed == 0 and leave_to_runge_kutta(run, time_to_singular(mechanism, run, h, ended, 0.0), h)
