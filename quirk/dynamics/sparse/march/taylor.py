"""Taylor series as a stepper of the march: one evaluation and factorisation a step, dense output for nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.compiled import entry, kernel
from quirk.lanes import greater, highest, load, root, splat, store, total
from quirk.record import record

from ...layout import OMEGA, OMEGA_TERM, POSITION_TERM, VELOCITY
from ...vectors import dot, load3, minus, plus, times
from ..kernels.applied import ELEMENT_SIZE, VARIABLE_COUNT, VARIABLES_IN_Y
from ..kernels.bodies import CON, KIN, STATE, finite, normalise
from ..kernels.evaluate import copy
from ..kernels.mechanism import Mechanism
from ..taylor.bodies import QUATERNION, state_at
from ..taylor.expand import expand
from ..taylor.tables import Elements
from .control import in_piece
from .march import carry_functions_on, land, march_of, projects, slope_at
from .run import FRESH, T_NEW, H, Run, Settings, T


@record
class Series(NamedTuple):
    """The series of the present step and of the next, and what finds them.

    exponent: 1 / order · elements: of the model, with the number of terms · bodies, carried: twice the coefficients,
    one half for either step · slope, ahead (size,): y' at the start of the step and at its end · known: see below
    """

    exponent: float
    elements: Elements
    bodies: np.ndarray
    carried: np.ndarray
    slope: np.ndarray
    ahead: np.ndarray
    known: np.ndarray


# Entries of Series.known: time at which the present step starts, which half is its own, and how long it and the next
# may be.
SINCE, HALF, LONGEST, NEXT = range(4)
KNOWN = 4

# Steps are so long that the last terms are this part of the tolerance.
LAST_TERMS = 1.0
# The rates at the end of a step may differ from those of the series by so much, in what the last term adds at the
# tolerance, before the step is taken again: then the terms left out are larger than the last ones tell.
ASTRAY = 10.0


@kernel
def half(stepper: Series, which: float, of_bodies: bool) -> int:
    """Where one of both halves of the coefficients starts."""
    length = stepper.bodies.shape[0] if of_bodies else stepper.carried.shape[0]
    return int(which) * (length // 2)


@kernel
def find(
    mechanism: Mechanism, stepper: Series, settings: Settings, which: float, t: float, y: np.ndarray, slope: np.ndarray
) -> float:
    """Fill one half with the series at a state that was evaluated last; returns how long a step with it may be."""
    first, length = half(stepper, which, True), stepper.bodies.shape[0] // 2
    bodies = stepper.bodies[first : first + length]
    first, length = half(stepper, which, False), stepper.carried.shape[0] // 2
    carried = stepper.carried[first : first + length]
    expand(mechanism, stepper.elements, (bodies, carried), int(which), t, y, slope)
    orders = stepper.elements.orders
    longest = min(
        reach(bodies, orders, orders - 1, settings.rtol, settings.atol),
        reach(bodies, orders, orders - 2, settings.rtol, settings.atol),
    )
    count = carried.shape[0] // orders
    for order in (orders - 2, orders - 3):
        longest = min(longest, reach_of_variables(mechanism, carried, count, order, settings.rtol, settings.atol))
    return longest


@kernel
def reach(bodies: np.ndarray, orders: int, order: int, rtol: float, atol: float) -> float:
    """How long a step may be for the terms of one order: of poses, and one order less of velocities."""
    size = bodies.shape[0] // orders
    pose = rate = check = splat(0.0)
    for k in range(0, size, KIN):
        o, v = order * size + k, size + k
        r, q = load3(bodies, o + 8 * POSITION_TERM), load3(bodies, o + 8 * (QUATERNION + 1))
        w = load(bodies, o + 8 * QUATERNION)
        scale = root(dot(load3(bodies, k + 8 * POSITION_TERM), load3(bodies, k + 8 * POSITION_TERM)))
        pose = greater(pose, root(dot(r, r)) / (atol + rtol * scale))
        pose = greater(pose, root(dot(q, q) + w * w) * (1.0 / (atol + rtol)))
        speed = root(dot(load3(bodies, v + 8 * POSITION_TERM), load3(bodies, v + 8 * POSITION_TERM)))
        rate = greater(rate, (1.0 * order) * root(dot(r, r)) / (atol + rtol * speed))
        omega, now = load3(bodies, o - size + 8 * OMEGA_TERM), load3(bodies, k + 8 * OMEGA_TERM)
        rate = greater(rate, root(dot(omega, omega)) / (atol + rtol * root(dot(now, now))))
        check = check + (pose + rate)
    if not total(check) < np.inf:
        return 0.0
    return min(length_for(highest(pose), order), length_for(highest(rate), order - 1))


@kernel
def length_for(ratio: float, order: int) -> float:
    """How long a step may be for terms with a coefficient so many times the tolerance."""
    return (LAST_TERMS / ratio) ** (1.0 / order) if ratio > 0.0 else np.inf


@kernel
def reach_of_variables(
    mechanism: Mechanism, carried: np.ndarray, count: int, order: int, rtol: float, atol: float
) -> float:
    """The same of the internal variables of force elements."""
    forces, longest = mechanism.forces, np.inf
    behind = mechanism.constants.shape[0] // CON * STATE
    for e in range(0, forces.entries.shape[0], ELEMENT_SIZE):
        first = forces.entries[e + VARIABLES_IN_Y] - behind
        for n in range(first, first + forces.entries[e + VARIABLE_COUNT]):
            ratio = abs(carried[order * count + n]) / (atol + rtol * abs(carried[n]))
            longest = min(longest, length_for(ratio, order)) if ratio == ratio else 0.0
    return longest


@kernel
def sum_up(stepper: Series, run: Run, h: float, state: np.ndarray) -> None:
    """Fill the state a time h after the start of the present step."""
    orders, which = stepper.elements.orders, stepper.known[HALF]
    first, length = half(stepper, which, True), stepper.bodies.shape[0] // 2
    bodies = stepper.bodies[first : first + length]
    size = length // orders
    state_at(bodies, size, orders - 1, h, state)
    first, behind = half(stepper, which, False), size // KIN * STATE
    count = stepper.carried.shape[0] // 2 // orders
    for o in range(0, count, 8):
        lanes = splat(0.0)
        for m in range(orders - 2, 0, -1):
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
        known[LONGEST] = find(mechanism, stepper, settings, known[HALF], in_piece(run, clock[T]), run.y, stepper.slope)
        known[SINCE] = clock[T]
    if h > known[LONGEST] and settings.fixed == 0:
        h = known[LONGEST]
        clock[T_NEW] = clock[T] + h
        if not clock[T_NEW] > clock[T]:
            return np.inf
    sum_up(stepper, run, h, run.y_new)
    if not land(mechanism, settings, run):
        return np.inf
    t = in_piece(run, clock[T_NEW])
    slope_at(mechanism, settings, run, t, run.y_new, stepper.ahead, projects(mechanism, settings, run))
    if run.stop[0] != 0:
        return np.inf
    error = defect(stepper, settings, h, run.y_new) / ASTRAY if settings.fixed == 0 else 0.0
    if error <= 1.0:
        known[NEXT] = find(mechanism, stepper, settings, 1.0 - known[HALF], t, run.y_new, stepper.ahead)
    return error


@kernel
def defect(stepper: Series, settings: Settings, h: float, y: np.ndarray) -> float:
    """How far the rates at the end of a step are from those of the series, over what the last term adds there.

    That is the order over h, times the tolerance of velocities.
    """
    orders, ahead = stepper.elements.orders, stepper.ahead
    first, length = half(stepper, stepper.known[HALF], True), stepper.bodies.shape[0] // 2
    bodies, size = stepper.bodies[first : first + length], length // orders
    scale, largest, check = h / (orders - 1.0), splat(0.0), splat(0.0)
    for block in range(size // KIN):
        k, s, zero = block * KIN, block * STATE, splat(0.0)
        linear = angular = zero, zero, zero
        for m in range(orders - 1, 0, -1):
            r, omega = load3(bodies, m * size + k + 8 * POSITION_TERM), load3(bodies, m * size + k + 8 * OMEGA_TERM)
            if m > 1:
                linear = plus(times(linear, h), times(r, m * (m - 1.0)))
            if m < orders - 1:
                angular = plus(times(angular, h), times(omega, 1.0 * m))
        v, w = load3(y, s + 8 * VELOCITY), load3(y, s + 8 * OMEGA)
        dv, dw = minus(load3(ahead, s + 8 * VELOCITY), linear), minus(load3(ahead, s + 8 * OMEGA), angular)
        ratio = root(dot(dv, dv)) / (settings.atol + settings.rtol * root(dot(v, v)))
        other = root(dot(dw, dw)) / (settings.atol + settings.rtol * root(dot(w, w)))
        largest = greater(largest, greater(ratio, other))
        check = check + (ratio + other)
    return scale * highest(largest) if total(check) < np.inf else np.inf


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
    known[SINCE], known[HALF], known[LONGEST] = run.clock[T_NEW], 1.0 - known[HALF], known[NEXT]
    copy(stepper.ahead, stepper.slope)
    if settings.fixed == 0:
        run.clock[H] = known[LONGEST]
    carry_functions_on(settings, run, 1)


march = march_of(take, between, middle, close, watching=False)
watching_march = march_of(take, between, middle, close, watching=True)


@entry(notice="compiling what runs by Taylor series need, usually for 10 to 30 s")
def march_taylor(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, most_steps: int) -> int:
    """March by Taylor series; see `march_of`."""
    return march(mechanism, stepper, settings, run, most_steps)


@entry(notice="compiling what runs by Taylor series with events need, usually for 10 to 40 s")
def march_taylor_watching(mechanism: Mechanism, stepper: Series, settings: Settings, run: Run, most_steps: int) -> int:
    """March by Taylor series and look for events; see `march_of`."""
    return watching_march(mechanism, stepper, settings, run, most_steps)
