"""Step size and number of terms of the Taylor series method."""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, splat, store

from ..kernels.applied import variables_error
from ..kernels.bodies import CON, POSES, VELOCITIES, motion_of, parallel_component
from ..kernels.mechanism import Mechanism
from ..kernels.project import tangential
from ..kernels.work_error import work_error
from ..taylor.cases import unswitched_length
from ..taylor.expand import Pair, expand
from .run_state import Settings
from .step_series import (
    StepSeries,
    coefficients,
    copy_terms,
    nearly_dependent,
    ratio,
)

# Size of the last terms over the tolerance, so that the accumulated errors of many steps stay below it.
LAST_TERMS = 0.1
# Where rows are nearly dependent, round-off grows from order to order, so a series of fewer terms may allow a
# longer step. It is used if the step is longer by FARTHER, with at least FEWEST terms.
FARTHER, FEWEST = 1.2, 4
# Terms below this count as zero, as their inverse overflows.
LEAST = 1e-300


@kernel
def compute_series(
    mechanism: Mechanism,
    stepper: StepSeries,
    settings: Settings,
    ahead: bool,
    t: float,
    y: np.ndarray,
    slope: np.ndarray,
) -> None:
    """Compute the Taylor series that starts at the last evaluated state, and the maximum step size.

    The state is y at time t (s), with y' in `slope`. The series belongs to the next step if `ahead`, otherwise to the
    current step.
    """
    known, orders = stepper.step_data, stepper.elements.orders
    which = 1.0 - known.half if ahead else known.half
    found = coefficients(stepper, which)
    expand(mechanism, stepper.elements, found, int(which), t, y, slope, settings.rtol)
    last, best, longest = orders - 1, orders - 1, 0.0
    fewest = FEWEST if nearly_dependent(mechanism, settings) else orders - 2
    farthest = step_size_for_order(mechanism, stepper, settings, found, y, last)
    while last > fewest:
        below = step_size_for_order(mechanism, stepper, settings, found, y, last - 1)
        both = min(farthest, below)
        if last < orders - 1 and not both > FARTHER * longest:
            break
        best, longest, farthest, last = last, both, below, last - 1
    # The step size beyond the end of the run is irrelevant.
    sure = unswitched_length(stepper.elements, min(longest, settings.end - t), settings.comparison_interval)
    if ahead:
        known.next_longest, known.next_last, known.next_unswitched = longest, 1.0 * best, sure
    else:
        known.longest, known.last, known.unswitched = longest, 1.0 * best, sure


@kernel
def step_size_for_order(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, series: Pair, y: np.ndarray, order: int
) -> float:
    """Return the maximum step size (s) for which the terms of one order of the series are within the tolerance.

    The terms have order `order` for poses, and order `order` - 1 for all other components of the state. If constraint
    rows are nearly dependent, only the component of the terms tangential to the constraints must fully satisfy the
    tolerance, because projection removes the normal component. `series` contains the Taylor coefficients of bodies and
    of auxiliary states, and y is the state at the start of the step.
    """
    constants, change = mechanism.constants, stepper.change
    copy_terms(series, stepper.elements.orders, order, change)
    size = normalize(change)
    rtol, atol = settings.rtol, settings.atol
    longest = step_size_for(
        parallel_component(y, change, mechanism.constants.shape[0] // CON) / (atol + rtol), size, order
    )
    split = nearly_dependent(mechanism, settings)
    for level in (POSES, VELOCITIES):
        power = order if level == POSES else order - 1
        motion_of(constants, y, change, level, mechanism.work.motion)
        whole = ratio(mechanism, y, level, split, rtol, atol)
        longest = min(longest, step_size_for(whole * rtol**0.5 if split else whole, size, power))
        if split:
            tangential(mechanism, y, change, level, True)
            along = ratio(mechanism, y, level, True, rtol, atol)
            longest = min(longest, step_size_for(along, size, power))
    longest = min(longest, step_size_for(variables_error(mechanism.forces, change, y, y, rtol, atol), size, order - 1))
    return min(longest, step_size_for_work(mechanism, stepper, change, size, order - 1))


@kernel
def step_size_for_work(mechanism: Mechanism, stepper: StepSeries, change: np.ndarray, size: float, order: int) -> float:
    """Return the maximum step size (s) for which one term of the Taylor series of the work satisfies its tolerance.

    The tolerance is a constant (J) plus a power (W) times the step size; for simplicity, the term must be within either
    of the two. If both are zero, because all velocities and loads are zero, the result is infinite; the error is then
    tested at the end of the step.

    Parameters
    ----------
    mechanism, stepper : the system, and the series of the current step with the tolerances of the work
    change : term of the state in the series, scaled to avoid overflow
    size : scale of `change`, as returned by `normalize`
    order : power of the step size in this term
    """
    energy, power, longest = stepper.step_data.of_work, stepper.step_data.of_power, 0.0
    if not energy + power > 0.0:
        return np.inf
    if energy > 0.0:
        longest = step_size_for(work_error(mechanism.forces, change, energy), size, order)
    if power > 0.0 and order > 1:
        longest = max(longest, step_size_for(work_error(mechanism.forces, change, power), size, order - 1))
    return longest


@kernel
def normalize(change: np.ndarray) -> float:
    """Divide the terms in `change` by their largest magnitude, in place, and return this magnitude.

    Without scaling, squares of coefficients would overflow for motions that last microseconds, and underflow for
    motions that last years.
    """
    largest = splat(0.0)
    for o in range(0, change.shape[0], 8):
        lanes = load(change, o)
        largest = greater(largest, greater(lanes, -lanes))
    size = highest(largest)
    if not LEAST < size < np.inf:
        return 1.0
    for o in range(0, change.shape[0], 8):
        store(change, o, load(change, o) * (1.0 / size))
    return size


@kernel
def step_size_for(ratio: float, size: float, order: int) -> float:
    """Return the step size (s) for which the terms of one order are below the tolerance; 0 if they are not finite.

    For a step size of 1 s, the largest term is `size` times `ratio` times the tolerance.
    """
    if ratio == 0.0:
        return np.inf
    return (LAST_TERMS / ratio / size) ** (1.0 / order) if ratio < np.inf else 0.0
