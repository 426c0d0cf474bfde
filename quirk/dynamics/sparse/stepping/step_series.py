"""Taylor series of the current and the next step, and their evaluation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import (
    FACTOR,
    MOMENT,
    OMEGA,
    OMEGA_TERM,
    ORIENTATION,
    POSITION,
    POSITION_TERM,
    VELOCITY,
)
from quirk.dynamics.model.vectors import dot, load3, minus, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import greater, highest, load, splat, store, total

from ..kernels.applied import variables_error
from ..kernels.bodies import CON, KIN, POSES, STATE, VELOCITIES, WRENCH, error_ratio
from ..kernels.mechanism import Mechanism
from ..kernels.project import tangential
from ..kernels.work_error import work_error
from ..kernels.workspace import LEAST
from ..taylor.bodies import QUATERNION, state_at
from ..taylor.expand import Pair
from ..taylor.tables import TaylorElements
from .run_state import RunState, Settings
from .step_control import keeps_to_constraints
from .step_kernels import tolerance_of_work


@fields
class SeriesData(Fields):
    """Times, step sizes and tolerances of the current and the next step of the Taylor series method.

    Attributes
    ----------
    since : start time of the current step, s
    half : index (0 or 1) of the half of the arrays with the coefficients of the current step
    longest : maximum size of the current step, s
    last : highest order in use in the current step
    unswitched : size of the current step up to which no force law changes its branch, s
    next_longest, next_last, next_unswitched : the same quantities for the next step
    of_work, of_power : tolerance of the work in a step at the last evaluated state: a constant, J, and a part per unit
        of step size, W
    watched : 1 if the pivots in the middle of the current step are known, otherwise 0
    """

    since: float
    half: float
    longest: float
    last: float
    unswitched: float
    next_longest: float
    next_last: float
    next_unswitched: float
    of_work: float
    of_power: float
    watched: float


@record
class StepSeries(NamedTuple):
    """Taylor series of the current and the next step, with tables for their computation.

    Names in capitals are constants of this module.

    Attributes
    ----------
    exponent : reciprocal of the order of the error
    elements : tables for the Taylor series of all constraints and force elements
    bodies, auxiliary : coefficients of bodies and of auxiliary states, with one half of each array for each step
    slope, end_slope : (size,) y' at the start of the step and at its end
    change : (size,) scratch array
    middle_pivots : pivots of all rows in the middle of the step, if step_data.watched is 1
    step_data : times, step sizes and tolerances of the two steps
    """

    exponent: float
    elements: TaylorElements
    bodies: np.ndarray
    auxiliary: np.ndarray
    slope: np.ndarray
    end_slope: np.ndarray
    change: np.ndarray
    middle_pivots: np.ndarray
    step_data: SeriesData


# Pivot, over the squared length of its row, below which rows are nearly dependent.
NEARLY_DEPENDENT = 1e-2


@kernel
def coefficients(stepper: StepSeries, half: float) -> Pair:
    """Return the Taylor coefficients of bodies and of auxiliary states in one half (0 or 1) of the arrays."""
    length, count = stepper.bodies.shape[0] // 2, stepper.auxiliary.shape[0] // 2
    first, behind = int(half) * length, int(half) * count
    return stepper.bodies[first : first + length], stepper.auxiliary[behind : behind + count]


@kernel
def copy_terms(series: Pair, orders: int, order: int, change: np.ndarray) -> None:
    """Copy the coefficients of one order of a Taylor series to `change`.

    The coefficients have order `order` for poses, and order `order` - 1 for all other components of the state. The
    arrays `series` contain `orders` coefficients of each component.
    """
    bodies, auxiliary = series
    blocks, count = bodies.shape[0] // (orders * KIN), auxiliary.shape[0] // orders
    for block in range(blocks):
        s, o = block * STATE, (block * orders + order) * KIN
        r = load3(bodies, o + 8 * POSITION_TERM)
        store3(change, s + 8 * POSITION, r)
        store3(change, s + 8 * VELOCITY, times(r, 1.0 * order))
        store3(change, s + 8 * OMEGA, load3(bodies, o - KIN + 8 * OMEGA_TERM))
        store(change, s + 8 * ORIENTATION, load(bodies, o + 8 * QUATERNION))
        store3(change, s + 8 * (ORIENTATION + 1), load3(bodies, o + 8 * (QUATERNION + 1)))
    for o in range(0, count, 8):
        store(change, blocks * STATE + o, load(auxiliary, (order - 1) * count + o))


@kernel
def sum_series(stepper: StepSeries, h: float, state: np.ndarray) -> None:
    """Compute the state at time h (s) after the start of the current step by summing its Taylor series, in `state`."""
    bodies, auxiliary = coefficients(stepper, stepper.step_data.half)
    orders, last = stepper.elements.orders, int(stepper.step_data.last)
    state_at(bodies, orders, last, h, state)
    behind, count = bodies.shape[0] // (orders * KIN) * STATE, auxiliary.shape[0] // orders
    for o in range(0, count, 8):
        lanes = splat(0.0)
        for m in range(last - 1, 0, -1):
            lanes = (lanes + load(auxiliary, m * count + o)) * h
        store(state, behind + o, load(auxiliary, o) + lanes)


@kernel
def defect(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, h: float, full_step: float, y: np.ndarray
) -> float:
    """Return the ratio of the error of the series at time h (s) after the start of a step to the tolerance.

    The error is estimated from the difference between y' and the derivative of the series, multiplied by the size
    `full_step` of the whole step over the number of terms. If force laws may change their branch, this factor depends
    on h, because the difference may persist for the whole step. The tolerance is evaluated at the state y.
    """
    last, known = int(stepper.step_data.last), stepper.step_data
    weight = full_step / last
    if settings.comparison_interval < np.inf and full_step > known.unswitched:
        weight = full_step / max(1.0, last * (h / known.longest) ** last)
    slope_difference(stepper, h, weight)
    tangential(mechanism, y, stepper.change, VELOCITIES, keeps_to_constraints(mechanism, settings))
    rtol, atol = settings.rtol, settings.atol
    found = ratio(mechanism, y, VELOCITIES, nearly_dependent(mechanism, settings), rtol, atol)
    if not found < np.inf:
        return np.inf
    found = max(found, variables_error(mechanism.forces, stepper.change, y, y, rtol, atol))
    return max(found, work_error(mechanism.forces, stepper.change, known.of_work + full_step * known.of_power))


@kernel
def store_work_tolerance(
    mechanism: Mechanism, stepper: StepSeries, settings: Settings, run: RunState, y: np.ndarray, slope: np.ndarray
) -> None:
    """Store the tolerance of work at the last evaluated state y.

    The multipliers of this evaluation must still be stored; `slope` is y'.
    """
    energy, power = tolerance_of_work(mechanism, settings, run, y, slope)
    stepper.step_data.of_work, stepper.step_data.of_power = energy, power


@kernel
def nearly_dependent(mechanism: Mechanism, settings: Settings) -> bool:
    """Return whether constraint rows are nearly dependent at the last evaluated state."""
    return keeps_to_constraints(mechanism, settings) and mechanism.work.summary[LEAST] < NEARLY_DEPENDENT


@kernel
def ratio(mechanism: Mechanism, y: np.ndarray, level: int, ill_conditioned: bool, rtol: float, atol: float) -> float:
    """Return the largest ratio of the errors in work.motion to the tolerance, at the state y.

    `level` selects errors of poses or of velocities. If `ill_conditioned`, constraint rows are nearly dependent and
    round-off of all velocities is proportional to the largest velocity; errors are then measured relative to this
    velocity. `rtol` and `atol` are the relative and absolute tolerances.
    """
    constants, motion = mechanism.constants, mechanism.work.motion
    if level == POSES or not ill_conditioned:
        return error_ratio(constants, motion, y, y, level, rtol, atol)
    fastest = turning = shifted = turned = check = splat(0.0)
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        v, omega = load3(y, s + 8 * VELOCITY), load3(y, s + 8 * OMEGA)
        shift, turn = load3(motion, f), rows_times(constants, c + 8 * FACTOR, load3(motion, f + MOMENT))
        fastest, turning = greater(fastest, dot(v, v)), greater(turning, dot(omega, omega))
        shifted, turned = greater(shifted, dot(shift, shift)), greater(turned, dot(turn, turn))
        check = check + (dot(shift, shift) + dot(turn, turn))
    linear = highest(shifted) ** 0.5 / (atol + rtol * highest(fastest) ** 0.5)
    angular = highest(turned) ** 0.5 / (atol + rtol * highest(turning) ** 0.5)
    return max(linear, angular) + 0.0 * total(check)


@kernel
def slope_difference(stepper: StepSeries, h: float, weight: float) -> None:
    """Compute `weight` times the difference of y' from the derivative of the Taylor series at time h (s).

    The time is measured from the start of the step. `stepper.end_slope` contains y', and the result is written to
    `stepper.change`.
    """
    ahead, change, last = stepper.end_slope, stepper.change, int(stepper.step_data.last)
    bodies, auxiliary = coefficients(stepper, stepper.step_data.half)
    orders = stepper.elements.orders
    blocks, count = bodies.shape[0] // (orders * KIN), auxiliary.shape[0] // orders
    for block in range(blocks):
        k, s, zero = block * orders * KIN, block * STATE, splat(0.0)
        linear = angular = zero, zero, zero
        for m in range(last, 0, -1):
            r, omega = load3(bodies, k + m * KIN + 8 * POSITION_TERM), load3(bodies, k + m * KIN + 8 * OMEGA_TERM)
            if m > 1:
                linear = plus(times(linear, h), times(r, m * (m - 1.0)))
            if m < last:
                angular = plus(times(angular, h), times(omega, 1.0 * m))
        store3(change, s + 8 * VELOCITY, times(minus(load3(ahead, s + 8 * VELOCITY), linear), weight))
        store3(change, s + 8 * OMEGA, times(minus(load3(ahead, s + 8 * OMEGA), angular), weight))
    for o in range(0, count, 8):
        rate = splat(0.0)
        for m in range(last - 1, 0, -1):
            rate = rate * h + load(auxiliary, m * count + o) * (1.0 * m)
        store(change, blocks * STATE + o, (load(ahead, blocks * STATE + o) - rate) * weight)
