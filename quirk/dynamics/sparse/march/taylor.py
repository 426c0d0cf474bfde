"""Taylor series as a stepper of the march: one evaluation and factorisation a step, dense output for nothing."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import entry, kernel
from quirk.lanes import greater, highest, load, splat, store
from quirk.record import record

from ...layout import OMEGA, OMEGA_TERM, ORIENTATION, POSITION, POSITION_TERM, VELOCITY
from ...vectors import dot, load3, minus, plus, store3, times
from ..kernels.applied import variables_error
from ..kernels.bodies import CON, KIN, POSES, STATE, VELOCITIES, error_ratio, finite, motion_of, normalise
from ..kernels.evaluate import copy
from ..kernels.mechanism import Mechanism
from ..kernels.project import tangential
from ..kernels.work import LEAST
from ..taylor.bodies import QUATERNION, state_at
from ..taylor.cases import same_cases
from ..taylor.expand import Pair, expand
from ..taylor.tables import Elements
from .control import choose_end, in_piece, keeps_to_constraints
from .march import MOST_PARTS, carry_functions_on, land, march_of, projects, slope_at
from .run import FRESH, T_NEW, H, Run, Settings, T


@record
class Series(NamedTuple):
    """The series of the present step and of the next, and what finds them.

    exponent: 1 / order · elements: of the model, with the number of terms · bodies, carried: twice the coefficients,
    one half for either step · slope, ahead (size,): y' at the start of the step and at its end ·
    change (size,): scratch · known: see below
    """

    exponent: float
    elements: Elements
    bodies: np.ndarray
    carried: np.ndarray
    slope: np.ndarray
    ahead: np.ndarray
    change: np.ndarray
    known: np.ndarray


# Entries of Series.known: time at which the present step starts, which half is its own, how long it may be, with which
# last order, and how far no law changes over to another case; then the same of the next step.
SINCE, HALF, LONGEST, LAST, SURE, NEXT_LONGEST, NEXT_LAST, NEXT_SURE = range(8)
KNOWN = 8

# Steps are so long that the last terms are this part of the tolerance, so that the errors of many steps stay below it.
LAST_TERMS = 0.1
# Rows are about to become dependent where a pivot, over the squared length of its row, is below this.
NEARLY_DEPENDENT = 1e-2
# There round-off grows from order to order, as it does not elsewhere, and a series of fewer terms may reach farther. It
# is taken if that is so much farther; and not fewer than so many terms.
FARTHER, FEWEST = 1.2, 4
# A step that ends so close to a singular configuration that the next reaches less than this part of it goes further by
# this factor, to pass: its last terms are then about the tolerance.
STUCK, FURTHER = 0.5, 1.1
# The rates at the end of a step may differ from those of the series by so much, in what the last term adds at the
# tolerance, before the step is taken again: then the terms left out are larger than the last ones tell.
ASTRAY = 3.0
# A Runge-Kutta step of order nine is as exact as a series whose terms of this order are, if it is so many times shorter
# than they reach.
PARTS_ORDER, PART = 10, 1.3


@kernel
def half(stepper: Series, which: float, of_bodies: bool) -> int:
    """Where one of both halves of the coefficients starts."""
    length = stepper.bodies.shape[0] if of_bodies else stepper.carried.shape[0]
    return int(which) * (length // 2)


@kernel
def find(
    mechanism: Mechanism, stepper: Series, settings: Settings, ahead: bool, t: float, y: np.ndarray, slope: np.ndarray
) -> None:
    """Fill the series of this step or the next at a state that was evaluated last, and how far it reaches."""
    known, orders = stepper.known, stepper.elements.orders
    which = 1.0 - known[HALF] if ahead else known[HALF]
    first, length = half(stepper, which, True), stepper.bodies.shape[0] // 2
    bodies = stepper.bodies[first : first + length]
    first, length = half(stepper, which, False), stepper.carried.shape[0] // 2
    carried = stepper.carried[first : first + length]
    expand(mechanism, stepper.elements, (bodies, carried), int(which), t, y, slope)
    last, best, longest = orders - 1, orders - 1, 0.0
    fewest = FEWEST if nearly_dependent(mechanism, settings) else orders - 2
    farthest = reach(mechanism, stepper, settings, (bodies, carried), y, last)
    while last > fewest:
        below = reach(mechanism, stepper, settings, (bodies, carried), y, last - 1)
        both = min(farthest, below)
        if last < orders - 1 and not both > FARTHER * longest:
            break
        best, longest, farthest, last = last, both, below, last - 1
    # What is behind the end of the run does not matter.
    sure = same_cases(stepper.elements, min(longest, settings.end - t), settings.look)
    if ahead:
        known[NEXT_LONGEST], known[NEXT_LAST], known[NEXT_SURE] = longest, 1.0 * best, sure
    else:
        known[LONGEST], known[LAST], known[SURE] = longest, 1.0 * best, sure


@kernel
def reach(
    mechanism: Mechanism, stepper: Series, settings: Settings, coefficients: Pair, y: np.ndarray, order: int
) -> float:
    """How long a step may be for the terms of one order: of poses, and one order less of all else.

    Where rows are about to become dependent only what lies along the constraints has to keep to the tolerance: all else
    is small while it changes nothing in second order, and projection takes it away.
    """
    constants, change = mechanism.constants, stepper.change
    take_terms(coefficients, stepper.elements.orders, order, change)
    rtol, atol = settings.rtol, settings.atol
    longest = length_for(stretch(y, change, mechanism.constants.shape[0] // CON) / (atol + rtol), order)
    split = nearly_dependent(mechanism, settings)
    for level in (POSES, VELOCITIES):
        power = order if level == POSES else order - 1
        motion_of(constants, y, change, level, mechanism.work.motion)
        whole = error_ratio(constants, mechanism.work.motion, y, y, level, rtol, atol)
        longest = min(longest, length_for(whole * rtol**0.5 if split else whole, power))
        if split:
            tangential(mechanism, y, change, level, True)
            along = error_ratio(constants, mechanism.work.motion, y, y, level, rtol, atol)
            longest = min(longest, length_for(along, power))
    return min(longest, length_for(variables_error(mechanism.forces, change, y, y, rtol, atol), order - 1))


@kernel
def nearly_dependent(mechanism: Mechanism, settings: Settings) -> bool:
    """Whether rows are about to become dependent at the state evaluated last."""
    return keeps_to_constraints(mechanism, settings) and mechanism.work.summary[LEAST] < NEARLY_DEPENDENT


@kernel
def stretch(y: np.ndarray, change: np.ndarray, blocks: int) -> float:
    """The largest part of a change of quaternions that is along them: no turn, but terms of turns alternate with it.

    A body that starts to turn from rest has turns in every fourth term alone.
    """
    largest = splat(0.0)
    for block in range(blocks):
        q = block * STATE + 8 * ORIENTATION
        part = load(y, q) * load(change, q) + dot(load3(y, q + 8), load3(change, q + 8))
        largest = greater(largest, part * part)
    return highest(largest) ** 0.5


@kernel
def take_terms(coefficients: Pair, orders: int, order: int, change: np.ndarray) -> None:
    """Fill `change`, a change of state, with the coefficients of one order of poses and one less of all else."""
    bodies, carried = coefficients
    blocks, count = bodies.shape[0] // (orders * KIN), carried.shape[0] // orders
    for block in range(blocks):
        s, o = block * STATE, (block * orders + order) * KIN
        r = load3(bodies, o + 8 * POSITION_TERM)
        store3(change, s + 8 * POSITION, r)
        store3(change, s + 8 * VELOCITY, times(r, 1.0 * order))
        store3(change, s + 8 * OMEGA, load3(bodies, o - KIN + 8 * OMEGA_TERM))
        store(change, s + 8 * ORIENTATION, load(bodies, o + 8 * QUATERNION))
        store3(change, s + 8 * (ORIENTATION + 1), load3(bodies, o + 8 * (QUATERNION + 1)))
    for o in range(0, count, 8):
        store(change, blocks * STATE + o, load(carried, (order - 1) * count + o))


@kernel
def length_for(ratio: float, order: int) -> float:
    """How long a step may be for terms with a coefficient so many times the tolerance; 0 for what is no number."""
    if ratio == 0.0:
        return np.inf
    return (LAST_TERMS / ratio) ** (1.0 / order) if ratio < np.inf else 0.0


@kernel
def sum_up(stepper: Series, run: Run, h: float, state: np.ndarray) -> None:
    """Fill the state a time h after the start of the present step."""
    orders, which = stepper.elements.orders, stepper.known[HALF]
    first, length = half(stepper, which, True), stepper.bodies.shape[0] // 2
    bodies = stepper.bodies[first : first + length]
    last = int(stepper.known[LAST])
    state_at(bodies, orders, last, h, state)
    first, behind = half(stepper, which, False), length // (orders * KIN) * STATE
    count = stepper.carried.shape[0] // 2 // orders
    for o in range(0, count, 8):
        lanes = splat(0.0)
        for m in range(last - 1, 0, -1):
            lanes = (lanes + load(stepper.carried, first + m * count + o)) * h
        store(state, behind + o, load(stepper.carried, first + o) + lanes)


@kernel
def take(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, h: float) -> float:
    """Take a step, or a shorter one if the series does not reach so far; returns its error over the tolerance."""
    known, clock = stepper.known, run.clock
    if run.counts[FRESH] != 0 or known[SINCE] != clock[T]:
        slope_at(mechanism, settings, run, in_piece(run, clock[T]), run.y, stepper.slope, False)
        run.counts[FRESH] = 0
        if run.stop[0] != 0:
            return np.inf
        find(mechanism, stepper, settings, False, in_piece(run, clock[T]), run.y, stepper.slope)
        known[SINCE] = clock[T]
    if h > known[LONGEST] and settings.fixed == 0:
        clock[T_NEW] = clock[T] + known[LONGEST]
        h = clock[T_NEW] - clock[T]
        if not h > 0.0:
            return np.inf
    if h > max(settings.look, known[SURE]) and settings.fixed == 0:
        clock[T_NEW] = clock[T] + agreed(mechanism, stepper, settings, run, h)
        h = clock[T_NEW] - clock[T]
        if run.stop[0] != 0:
            return np.inf
    if not arrive(mechanism, stepper, settings, run, h):
        return np.inf
    if settings.fixed > 0:
        return 0.0
    cut = clock[T_NEW] < clock[T] + known[LONGEST]
    if nearly_dependent(mechanism, settings) and known[NEXT_LONGEST] < STUCK * h and not cut:
        clock[H] = FURTHER * h
        h = choose_end(settings, run)
        if not arrive(mechanism, stepper, settings, run, h):
            return np.inf
    return defect(mechanism, stepper, settings, run, h, h, run.y_new) / ASTRAY


@kernel
def agreed(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, h: float) -> float:
    """Return how far into a step of size h its series is right where it is looked at; h if everywhere.

    At least to where it is looked at first: what the end of so short a step tells is enough. A load may come and go, or
    turn over and back, without a trace in the series at both ends; not as long as no law changes over to another case.
    """
    count = math.ceil(h / settings.look)
    for n in range(1 + int(stepper.known[SURE] / h * count), count):
        within, y = h * n / count, run.y_new
        sum_up(stepper, run, within, y)
        normalise(mechanism.constants, y)
        slope_at(mechanism, settings, run, in_piece(run, run.clock[T] + within), y, stepper.ahead, False)
        if run.stop[0] != 0 or not defect(mechanism, stepper, settings, run, within, h, y) <= ASTRAY:
            return h * max(n - 1, 1) / count
    return h


@kernel
def arrive(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, h: float) -> bool:
    """Fill the state at the end of a step, its rates and its series; returns whether there is such a state."""
    sum_up(stepper, run, h, run.y_new)
    if not land(mechanism, settings, run, True):
        return False
    t = in_piece(run, run.clock[T_NEW])
    slope_at(mechanism, settings, run, t, run.y_new, stepper.ahead, projects(mechanism, settings, run))
    if run.stop[0] != 0:
        return False
    # First, while the multipliers of the evaluation are there.
    find(mechanism, stepper, settings, True, t, run.y_new, stepper.ahead)
    return True


@kernel
def defect(
    mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, h: float, whole: float, y: np.ndarray
) -> float:
    """How far the rates of the state y, a time h after the start of a step, are from those of the series.

    Over what the last term adds at the end of a step of `whole` size: the order over that, times the tolerance of
    velocities, or of internal variables. Where laws may change cases in the step, the last term is taken as it is at y:
    what else differs has another cause, which may act during the whole step.
    """
    last, known = int(stepper.known[LAST]), stepper.known
    weight = whole / last
    if settings.look < np.inf and whole > known[SURE]:
        weight = whole / max(1.0, last * (h / known[LONGEST]) ** last)
    rates_apart(stepper, h, weight)
    tangential(mechanism, y, stepper.change, VELOCITIES, keeps_to_constraints(mechanism, settings))
    motion, rtol, atol = mechanism.work.motion, settings.rtol, settings.atol
    ratio = error_ratio(mechanism.constants, motion, y, y, VELOCITIES, rtol, atol)
    if not ratio < np.inf:
        return np.inf
    return max(ratio, variables_error(mechanism.forces, stepper.change, y, y, rtol, atol))


@kernel
def rates_apart(stepper: Series, h: float, weight: float) -> None:
    """Fill `change` with the rates in `ahead` without those of the series a time h after its start, times a weight."""
    ahead, change, last = stepper.ahead, stepper.change, int(stepper.known[LAST])
    first, length = half(stepper, stepper.known[HALF], True), stepper.bodies.shape[0] // 2
    bodies, orders = stepper.bodies[first : first + length], stepper.elements.orders
    blocks = length // (orders * KIN)
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
    first, count = half(stepper, stepper.known[HALF], False), stepper.carried.shape[0] // 2 // orders
    for o in range(0, count, 8):
        rate = splat(0.0)
        for m in range(last - 1, 0, -1):
            rate = rate * h + load(stepper.carried, first + m * count + o) * (1.0 * m)
        store(change, blocks * STATE + o, (load(ahead, blocks * STATE + o) - rate) * weight)


@kernel
def between(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, t: float, state: np.ndarray) -> bool:
    """Fill a state within the step."""
    sum_up(stepper, run, t - run.clock[T], state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def middle(stepper: Series, run: Run, h: float, state: np.ndarray) -> None:
    """Fill the middle of the step."""
    sum_up(stepper, run, 0.5 * h, state)


@kernel
def close(stepper: Series, settings: Settings, run: Run) -> None:
    """Let the series at the end of a step be that of the next, which tells how long this may be."""
    known = stepper.known
    known[SINCE], known[HALF] = run.clock[T_NEW], 1.0 - known[HALF]
    known[LONGEST], known[LAST], known[SURE] = known[NEXT_LONGEST], known[NEXT_LAST], known[NEXT_SURE]
    copy(stepper.ahead, stepper.slope)
    if settings.fixed == 0:
        run.clock[H] = known[LONGEST]
    carry_functions_on(settings, run, 1)


@kernel
def parts(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run) -> int:
    """Into how many parts a step is cut for a Runge-Kutta method of order nine to take them as exactly."""
    first, length = half(stepper, stepper.known[HALF], True), stepper.bodies.shape[0] // 2
    bodies = stepper.bodies[first : first + length]
    first, length = half(stepper, stepper.known[HALF], False), stepper.carried.shape[0] // 2
    carried = stepper.carried[first : first + length]
    order = min(PARTS_ORDER, int(stepper.known[LAST]))
    longest = PART * reach(mechanism, stepper, settings, (bodies, carried), run.y, order)
    h = run.clock[T_NEW] - run.clock[T]
    return min(MOST_PARTS, max(1, math.ceil(h / longest))) if longest > 0.0 else MOST_PARTS


march = march_of(take, between, middle, close, parts, watching=False)
watching_march = march_of(take, between, middle, close, parts, watching=True)


@entry(notice="compiling what runs by Taylor series need, usually for 10 to 30 s")
def march_taylor(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, most_steps: int) -> int:
    """March by Taylor series; see `march_of`."""
    return march(mechanism, stepper, settings, run, most_steps)


@entry(notice="compiling what runs by Taylor series with events need, usually for 10 to 40 s")
def march_taylor_watching(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, most_steps: int) -> int:
    """March by Taylor series and look for events; see `march_of`."""
    return watching_march(mechanism, stepper, settings, run, most_steps)
