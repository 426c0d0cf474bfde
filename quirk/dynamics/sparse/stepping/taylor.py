"""Steps by Taylor series: one evaluation and factorization per step, with dense output at no additional cost.

The kernels of a method are described in the module `method_kernels`. `stepper` contains the data of the method. A force
law may have branches, such as a stop with and without contact; a guard is a quantity whose sign changes when the law
changes its branch.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component

from ..kernels.bodies import finite, normalise
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from .loop import take_steps, take_watched_steps
from .method_kernels import MOST_PARTS, implement
from .run_state import RunState, Settings
from .step_control import in_piece
from .step_kernels import keep_last_stage, project_step_end, projects, slope_at, slope_at_start
from .step_series import (
    StepSeries,
    coefficients,
    defect,
    store_work_tolerance,
    sum_series,
)
from .taylor_passages import series_reaches_singular, watch_pivots
from .taylor_step_size import compute_series, step_size_for_order

# Allowed difference of the rates at the end of a step from those of the series, over the rate of the last term at the
# tolerance. With a larger difference the truncated terms are larger than the last ones, and the step is repeated.
ASTRAY = 3.0
# A Runge-Kutta step of order nine is as accurate as a series with terms up to PARTS_ORDER if it is shorter by the
# factor PART than the step size of these terms.
PARTS_ORDER, PART = 10, 1.3
# Number of intervals in which the first interval of a step is tested if guards show that laws may change their branch.
LOOKS = 3
# Maximum number of reductions of a step by these tests.
MOST_TIMES = 50


@component(effort=9)
def take(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float) -> float:
    """Take a step of size h, or shorter if the series converges slowly; return the ratio of error to tolerance."""
    known, clock = stepper.step_data, run.clock
    if run.counts.fresh != 0 or known.since != clock.t:
        slope_at_start(mechanism, settings, run, stepper.slope)
        run.counts.fresh = 0
        if run.stop[0] != 0:
            return np.inf
        store_work_tolerance(mechanism, stepper, settings, run, run.y, stepper.slope)
        compute_series(mechanism, stepper, settings, False, in_piece(run, clock.t), run.y, stepper.slope)
        known.since = clock.t
    if h > known.longest and settings.fixed == 0:
        clock.t_new = clock.t + known.longest
        h = clock.t_new - clock.t
        if not h > 0.0:
            return np.inf
    if h > max(longest_unchecked(stepper, settings), known.unswitched) and settings.fixed == 0:
        clock.t_new = clock.t + agreement_length(mechanism, stepper, settings, run, h)
        if run.stop[0] != 0:
            return np.inf
        h = clock.t_new - clock.t
    if settings.fixed == 0:
        h = watch_pivots(mechanism, stepper, settings, run, h)
        if run.stop[0] != 0:
            return np.inf
    if not arrive(mechanism, stepper, settings, run, h):
        return np.inf
    if settings.fixed > 0:
        return 0.0
    return defect(mechanism, stepper, settings, h, h, run.y_new) / ASTRAY


@kernel
def longest_unchecked(stepper: StepSeries, settings: Settings) -> float:
    """Return the maximum size (s) of a step that may be tested only at its end.

    It is zero if force laws may change their branch: for example, a damper may act so briefly that its load is zero at
    both ends of the step.
    """
    return (
        0.0
        if settings.comparison_interval < np.inf and stepper.elements.guards.shape[0] > 0
        else settings.comparison_interval
    )


@kernel
def agreement_length(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float) -> float:
    """Return the time (s) after the start of a step of size h (s) up to which y' agrees with its Taylor series.

    y' and the derivative of the series are compared at several times, because a load may act only in a part of the step
    and not affect the series at either end. If they disagree, the shortened step is tested again, at more times.
    """
    for _ in range(MOST_TIMES):
        found = agreement_length_once(mechanism, stepper, settings, run, h)
        if run.stop[0] != 0 or found >= h:
            break
        h = found
    return h


@kernel
def agreement_length_once(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float
) -> float:
    """Return the time (s) after the start of a step of size h (s) up to which y' agrees with its Taylor series.

    They are compared at increasing times, with intervals of at most `settings.comparison_interval`. The result is h if
    they agree at all times, and otherwise the last time at which they agree. If they disagree already at the first
    time, the result is this time, because a step that ends there is tested at its end. If a force law may change its
    branch, there are more comparisons within the first interval.
    """
    first, unswitched = min(h, settings.comparison_interval), stepper.step_data.unswitched
    if stepper.elements.guards.shape[0] > 0:
        for n in range(1 + int(unswitched / first * LOOKS), LOOKS):
            if deviates(mechanism, stepper, settings, run, first * n / LOOKS, h):
                return first * max(n - 1, 1) / LOOKS
    count = math.ceil(h / settings.comparison_interval)
    for n in range(1 + int(unswitched / h * count), count):
        if deviates(mechanism, stepper, settings, run, h * n / count, h):
            return h * max(n - 1, 1) / count
    return h


@kernel
def deviates(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, time: float, h: float
) -> bool:
    """Return whether y' differs from the derivative of its Taylor series by more than the tolerance.

    They are compared at `time` (s) after the start of a step of size h (s).
    """
    y = run.y_new
    sum_series(stepper, time, y)
    normalise(mechanism.constants, y)
    slope_at(mechanism, settings, run, in_piece(run, run.clock.t + time), y, stepper.end_slope, False)
    store_work_tolerance(mechanism, stepper, settings, run, y, stepper.end_slope)
    return run.stop[0] != 0 or not defect(mechanism, stepper, settings, time, h, y) <= ASTRAY


@kernel
def arrive(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, h: float) -> bool:
    """Compute the state at the end of a step of size h (s), y' at this state, and the Taylor series of the next step.

    Returns False if the projection onto the constraints fails, or if the run must stop.
    """
    sum_series(stepper, h, run.y_new)
    if not project_step_end(mechanism, settings, run, True):
        return False
    t = in_piece(run, run.clock.t_new)
    slope_at(mechanism, settings, run, t, run.y_new, stepper.end_slope, projects(mechanism, settings, run))
    if run.stop[0] != 0:
        return False
    # First, while the multipliers of the evaluation are present.
    store_work_tolerance(mechanism, stepper, settings, run, run.y_new, stepper.end_slope)
    compute_series(mechanism, stepper, settings, True, t, run.y_new, stepper.end_slope)
    return True


@kernel
def between(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, t: float, state: np.ndarray
) -> bool:
    """Sum the Taylor series at time t (s) within the step, and write the state to `state`.

    Returns False if the state is not finite.
    """
    sum_series(stepper, t - run.clock.t, state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def estimate(stepper: StepSeries, run: RunState, x: float, h: float, state: np.ndarray) -> None:
    """Sum the Taylor series at fraction x of a step of size h (s), and write the state to `state`."""
    sum_series(stepper, x * h, state)


@kernel
def close(stepper: StepSeries, settings: Settings, run: RunState) -> None:
    """Make the Taylor series computed at the end of the step, and its maximum step size, those of the current step."""
    known = stepper.step_data
    known.since, known.half = run.clock.t_new, 1.0 - known.half
    known.longest, known.last, known.unswitched = known.next_longest, known.next_last, known.next_unswitched
    copy(stepper.end_slope, stepper.slope)
    if settings.fixed == 0:
        run.clock.h = known.longest
    keep_last_stage(settings, run, 1)


@kernel
def parts(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState) -> int:
    """Return the number of parts into which a recorded step is divided.

    A Runge-Kutta step of order nine over each part is then as accurate as the Taylor series over the whole step.
    """
    order = min(PARTS_ORDER, int(stepper.step_data.last))
    longest = PART * step_size_for_order(
        mechanism, stepper, settings, coefficients(stepper, stepper.step_data.half), run.y, order
    )
    h = run.clock.t_new - run.clock.t
    return min(MOST_PARTS, max(1, math.ceil(h / longest))) if longest > 0.0 else MOST_PARTS


implement(
    StepSeries,
    take=take,
    between=between,
    estimate=estimate,
    close=close,
    parts=parts,
    needs_runge_kutta=series_reaches_singular,
)


@entry(needed_by="runs by Taylor series need", effort=8)
def taylor_steps(mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, most_steps: int) -> int:
    """Take at most `most_steps` steps by Taylor series.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_steps(mechanism, stepper, settings, run, most_steps).value


@entry(needed_by="runs by Taylor series with events need", effort=12)
def taylor_steps_with_events(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps by Taylor series, with a search for events.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_watched_steps(mechanism, stepper, settings, run, most_steps).value
