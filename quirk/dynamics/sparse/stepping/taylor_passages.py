"""Singular configurations within steps by Taylor series: steps close to one are left to a Runge-Kutta method.

At a singular configuration the pivot of a row vanishes; its square root changes its sign there. A Taylor series that
starts close to it consists of round-off from some order on. Steps are long, and a square root may vanish within a step
without a visible trend at both ends; therefore the pivots are also computed in the middle of the step.
"""

from __future__ import annotations

import math

from quirk.dynamics.model.revolution_counter import fastest
from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.bodies import CON, normalise
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from .run_state import RunState, Settings
from .singular_steps import leave_to_runge_kutta, same_rows, time_to_singular
from .step_control import in_piece
from .step_kernels import slope_at
from .step_series import StepSeries, sum_series

# Largest rotation of a body in a step within which a pivot may vanish, rad. The square root of a pivot, which is at
# most one, changes by about the rotation of the bodies; over larger rotations three values do not determine its course.
TURN = 1.0

# A series is summed across a singular configuration if both ends of the step are farther from it than the fraction
# APART of the step. A step may end before a singular configuration if the next step is longer than STUCK times it.
APART, STUCK = 0.1, 0.5


@kernel
def watch_pivots(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float) -> float:
    """Compute the pivots in the middle of a step of size h (s) if one of them may vanish within it.

    Returns the step size, which is shortened such that no body rotates by more than TURN, and sets clock.t_new.
    """
    clock, known, work = run.clock, stepper.step_data, mechanism.work
    rate = fastest(run.y, mechanism.constants.shape[0] // CON)
    known.watched = 0.0
    for row in range(work.pivots_before.shape[0]):
        if 0.0 < at(work.pivots_before, row) < (rate * h) ** 2:
            known.watched = 1.0
    if known.watched == 0.0:
        return h
    if rate * h > TURN:
        clock.t_new = clock.t + TURN / rate
        h = clock.t_new - clock.t
    sum_series(stepper, h / 2, run.y_new)
    normalise(mechanism.constants, run.y_new)
    slope_at(mechanism, settings, run, in_piece(run, clock.t + h / 2), run.y_new, stepper.end_slope, False)
    copy(work.pivots, stepper.middle_pivots)
    return h


@kernel
def vanishing_time(before: float, middle: float, now: float, h: float) -> float:
    """Return the time (s) after the start of a step of size h (s) at which a pivot vanishes, infinity if it does not.

    `before`, `middle` and `now` are the magnitudes of the square root of the pivot at the start, in the middle and at
    the end of the step. Their signs are those with the smallest second difference, and a parabola passes through them.
    """
    least, a, b = math.inf, 0.0, 0.0
    for of_middle in (1.0, -1.0):
        for of_end in (1.0, -1.0):
            m, n = of_middle * middle, of_end * now
            second = before - 2.0 * m + n
            if abs(second) < least:
                least, a, b = abs(second), 2.0 * second, 4.0 * m - 3.0 * before - n
    square = b * b - 4.0 * a * before
    if square < 0.0:
        return math.inf
    part = square**0.5 - b
    return h * 2.0 * before / part if part > 0.0 else math.inf


@kernel
def series_reaches_singular(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float, ended: bool
) -> bool:
    """Return whether a step of size h (s) begins or ends so close to a singular configuration that its series fails.

    `ended` is true if the end of the step has been computed. If the result is true, a Runge-Kutta method takes the
    steps up to clock.t_new, which is set.
    """
    if settings.fixed > 0:
        return False
    if not ended:
        return leave_to_runge_kutta(run, time_to_singular(mechanism, run, h, False, 0.0), h)
    if stepper.step_data.watched > 0.0 and same_rows(mechanism, run):
        way = time_within(mechanism, stepper, h)
    else:
        way = time_to_singular(mechanism, run, h, True, 0.0)
    if way > h:
        return stepper.step_data.next_longest <= STUCK * h and leave_to_runge_kutta(run, way, h)
    return not APART * h < way < (1.0 - APART) * h and leave_to_runge_kutta(run, way, h)


@kernel
def time_within(mechanism: Mechanism, stepper: StepSeries, h: float) -> float:
    """Return the time (s) from the start of a step to the next singular configuration; infinity if none is near.

    It is interpolated from the pivots at the start, in the middle and at the end of the step, of size h (s).
    """
    work, nearest = mechanism.work, math.inf
    for row in range(work.pivots.shape[0]):
        before, middle, now = at(work.pivots_before, row), at(stepper.middle_pivots, row), at(work.pivots, row)
        if before > 0.0:
            nearest = min(nearest, vanishing_time(before**0.5, middle**0.5, now**0.5, h))
    return nearest
