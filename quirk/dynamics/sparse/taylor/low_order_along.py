"""Derivatives of the motion at many times, in compiled code: at given states, or for driven motions.

For driven motions, which have no degree of freedom, only the state at the first time is given. Later states follow by
tracking: from one time to the next, positions are extrapolated by their Taylor polynomials and projected onto the
constraints, in several steps if projection would change them much.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import OMEGA, OMEGA_TERM, ORIENTATION, POSITION, POSITION_TERM, VELOCITY
from quirk.dynamics.model.revolution_counter import Counter, begin_step, end_step, store_quadrants
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, store3, times
from quirk.jit.compilation import entry, kernel
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import at, greater, highest, put, splat, store

from ..kernels.bodies import CON, KIN, STATE, speed
from ..kernels.constraint_solve import copy
from ..kernels.evaluate import factorise_at
from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from ..kernels.redundancy import selects_again
from ..kernels.workspace import CORRECTION, RANK
from .low_order import compute_series
from .low_order_rows import LowOrderSeries

# Limits of a step in tracking. LAST_TERM: last term of the Taylor polynomials of poses, in rad or lengths of the
# system; about a quarter of the finest tooth of gears, so that no tooth is skipped. FARTHEST: correction of poses,
# beyond which another assembly of the mechanism may be reached. ASTRAY: relative change of velocities by projection:
# where branches of motion meet, poses are close together and velocities are not. SHORTEST: least step, as a fraction of
# the interval between output times. STILL: displacement by velocities that counts as round-off. UNCOUNTED: rad, error
# of the rotation by the mean of the rates at both ends, used to count turns.
LAST_TERM, FARTHEST, ASTRAY, SHORTEST, STILL, UNCOUNTED = 4e-3, 1e-2, 0.05, 1e-9, 1e-12, 0.5

# Offsets per order of a rotation vector theta: theta itself, and theta x omega.
THETA, ONCE = 0, 24


@fields
class PathCounts(Fields):
    """Counters of a `SeriesPath`.

    Attributes
    ----------
    corrections, factorisations : numbers of iterations and factorizations in projections
    row : number of output times completed
    steps : number of time steps
    attempts : number of steps tried since the last completed output time
    """

    corrections: int
    factorisations: int
    row: int
    steps: int
    attempts: int


@fields
class PathClock(Fields):
    """Present time and step size of a `SeriesPath`.

    Attributes
    ----------
    reached : time reached, s
    next_step : size of the next step, s, or 0 for the whole interval to the next output time
    """

    reached: float
    next_step: float


@record
class SeriesPath(NamedTuple):
    """Output times at which derivatives of the motion are required, with the results.

    There are nt output times, and a state has `size` elements.

    Attributes
    ----------
    times : (nt,) output times, s
    states : (nt size,) states at these times, given or found by tracking
    present, trial, guess : (size,) last state, state at the end of the present step, and its extrapolation
    turns : scratch array for Taylor coefficients of rotation vectors
    accelerations : Taylor coefficients of the accelerations for each time and order
    counts, clock : counters; present time and step size
    stop : (1,) nonzero if a user function requests the end
    counter : revolution counter along tracked states
    length : characteristic length of the system, m
    rank : number of independent rows
    tracking : whether later states are tracked from the first, for systems without degrees of freedom
    """

    times: np.ndarray
    states: np.ndarray
    present: np.ndarray
    trial: np.ndarray
    guess: np.ndarray
    turns: np.ndarray
    accelerations: np.ndarray
    counts: PathCounts
    clock: PathClock
    stop: np.ndarray
    counter: Counter
    length: float
    rank: int
    tracking: bool


# Return codes of `follow`: all times done; call again; step size collapsed; singular configuration; stopped by a user
# function. The last two are set by the caller: Ctrl-C; too many steps.
ARRIVED, AGAIN, STUCK, SINGULAR, STOPPED, INTERRUPTED, TOO_MANY = range(7)


@entry(needed_by="kinematics, jerk and load rates need", effort=9)
def follow(mechanism: Mechanism, series: LowOrderSeries, path: SeriesPath, most_steps: int) -> int:
    """Compute the Taylor coefficients of the accelerations at all times of `path`, by tracking the motion if required.

    At most `most_steps` time steps are taken per call. Returns ARRIVED when all times are done, AGAIN if another call
    is needed, STUCK if the step size has become too small, SINGULAR at a singular configuration, or STOPPED by a user
    function.
    """
    work = mechanism.work
    size = path.present.shape[0]
    for _ in range(most_steps):
        row = path.counts.row
        if row >= path.times.shape[0]:
            return ARRIVED
        if path.tracking and row > 0:
            path.counts.attempts += 1
            outcome = approach(mechanism, series, path, path.times[row])
            if outcome == AGAIN:
                continue
            if outcome != ARRIVED:
                return outcome
            path.clock.next_step, path.counts.attempts = 0.0, 0
            copy(path.present, path.states[row * size : (row + 1) * size])
        else:
            copy(path.states[row * size : (row + 1) * size], path.present)
            t = path.times[row]
            path.clock.reached = t
            compute_series(mechanism, series, t, path.present, path.rank, path.tracking)
            if path.tracking and work.summary[RANK] < path.rank:
                return SINGULAR
        if path.stop[0] != 0:
            return STOPPED
        store_quadrants(path.counter, row, path.present, path.present, 0.0)
        # At a singular configuration accelerations are defined and their derivatives are not.
        keep(series, path, work.kin.shape[0], work.summary[RANK] >= path.rank)
        path.counts.row += 1
    return ARRIVED if path.counts.row >= path.times.shape[0] else AGAIN


@kernel
def approach(mechanism: Mechanism, series: LowOrderSeries, path: SeriesPath, end: float) -> int:
    """Track the motion by one step towards the time `end` (s); return a code.

    The code is ARRIVED if `end` is reached, AGAIN if the step ends earlier or must be repeated with half its size,
    STUCK if the step size has become too small, or SINGULAR at a singular configuration.
    """
    constants, work = mechanism.constants, mechanism.work
    clock, length = path.clock, path.length
    whole = end - path.times[path.counts.row - 1]
    ahead = clock.next_step if clock.next_step > 0.0 else whole
    t = end if clock.reached + ahead >= end else clock.reached + ahead
    h = t - clock.reached
    arrived = predict(series, path, work.kin.shape[0], h)
    copy(path.trial, path.guess)
    arrived = arrived and project(mechanism, t, path.trial, length, path.counts, False)
    arrived = arrived and at(work.summary, CORRECTION) <= FARTHEST
    arrived = arrived and expected(constants, path, h)
    if arrived:
        # Project again with the rows at the new state, which are more accurate than those of the start. Rows selected
        # earlier may be nearly dependent there.
        factorise_at(mechanism, t, path.trial)
        if selects_again(mechanism, t, path.trial, path.rank):
            factorise_at(mechanism, t, path.trial)
        arrived = project(mechanism, t, path.trial, length, path.counts, False)
    if not arrived:
        clock.next_step = 0.5 * h
        # Half the resolution of the times may be rounded up to the full interval.
        if clock.next_step < SHORTEST * whole or not clock.reached < clock.reached + clock.next_step < t:
            return STUCK
        factorise_at(mechanism, clock.reached, path.present)
        return AGAIN
    begin_step(path.counter, path.present, path.trial, h)
    end_step(path.counter, path.present, path.trial, h)
    copy(path.trial, path.present)
    clock.next_step, clock.reached = 2.0 * h, t
    path.counts.steps += 1
    compute_series(mechanism, series, t, path.present, path.rank, True)
    if work.summary[RANK] < path.rank:
        return SINGULAR
    return ARRIVED if t >= end else AGAIN


@kernel
def expected(constants: np.ndarray, path: SeriesPath, h: float) -> bool:
    """Return whether projection has changed the extrapolated velocities only slightly.

    If not, the positions may belong to another branch of the motion. `path` contains the extrapolated and the projected
    state, `guess` and `trial`. h is the time step, s. `constants` are the constants of the bodies.
    """
    largest, length = splat(0.0), path.length
    for block in range(constants.shape[0] // CON):
        v, w = block * STATE + 8 * VELOCITY, block * STATE + 8 * OMEGA
        dv = minus(load3(path.trial, v), load3(path.guess, v))
        dw = minus(load3(path.trial, w), load3(path.guess, w))
        largest = greater(largest, dot(dw, dw) + dot(dv, dv) * (1.0 / (length * length)))
    change = highest(largest) ** 0.5
    fastest = max(speed(constants, path.present, length), speed(constants, path.trial, length))
    return (change <= ASTRAY * fastest and change * h <= FARTHEST) or change * h <= STILL


@kernel
def predict(series: LowOrderSeries, path: SeriesPath, size: int, h: float) -> bool:
    """Extrapolate the motion by the time h (s) with its Taylor polynomials, and write the state to `path.trial`.

    `path.present` is the initial state. Returns whether the extrapolation is accurate: the last terms are below
    LAST_TERM, and rotations are close to those due to the mean angular velocity. `size` is the number of elements of
    one order of the coefficients.
    """
    bodies, order, length, whole = series.bodies, series.order, path.length, path.present.shape[0]
    largest, last, power = splat(0.0), (order + 1) * whole, h ** (2 * (order + 1))
    uncounted = splat(0.0)
    for block in range(size // KIN):
        s, k, zero = block * STATE, block * KIN, splat(0.0)
        position = velocity = omega = zero, zero, zero
        for m in range(order + 1, -1, -1):
            term = load3(bodies, m * size + k + 8 * POSITION_TERM)
            position = plus(times(position, h), term)
            if m > 0:
                velocity = plus(times(velocity, h), times(term, 1.0 * m))
            if m <= order:
                omega = plus(times(omega, h), load3(bodies, m * size + k + 8 * OMEGA_TERM))
        store3(path.trial, s + 8 * POSITION, position)
        store3(path.trial, s + 8 * VELOCITY, velocity)
        store3(path.trial, s + 8 * OMEGA, omega)
        # q exp(theta / 2) with theta' = omega + theta x omega / 2 + theta x (theta x omega) / 12 + ..., exact for a
        # fixed axis whatever the angle (Bortz, IEEE Trans. Aerosp. Electron. Syst. 7 (1971)).
        angle = zero, zero, zero
        store3(path.turns, s + THETA, angle)
        for n in range(order + 1):
            rate = load3(bodies, n * size + k + 8 * OMEGA_TERM)
            once = twice = zero, zero, zero
            for m in range(n + 1):
                theta = load3(path.turns, m * whole + s + THETA)
                once = plus(once, cross(theta, load3(bodies, (n - m) * size + k + 8 * OMEGA_TERM)))
                if m > 0:
                    twice = plus(twice, cross(theta, load3(path.turns, (n - m) * whole + s + ONCE)))
            store3(path.turns, n * whole + s + ONCE, once)
            rate = plus(plus(rate, times(once, 0.5)), times(twice, 1.0 / 12.0))
            store3(path.turns, (n + 1) * whole + s + THETA, times(rate, 1.0 / (n + 1)))
        for n in range(order + 1, 0, -1):
            angle = times(plus(angle, load3(path.turns, n * whole + s + THETA)), h)
        theta, r = load3(path.turns, last + s + THETA), load3(bodies, (order + 1) * size + k + 8 * POSITION_TERM)
        largest = greater(largest, power * (dot(theta, theta) + dot(r, r) * (1.0 / (length * length))))
        missed = zero, zero, zero
        for n in range(2, order + 1):
            term = load3(bodies, n * size + k + 8 * OMEGA_TERM)
            missed = plus(missed, times(term, h ** (n + 1) * (0.5 - 1.0 / (n + 1))))
        uncounted = greater(uncounted, dot(missed, missed))
        store3(path.trial, s + 8 * (ORIENTATION + 1), angle)
        turn_by(path.present, path.trial, s + 8 * ORIENTATION)
    return highest(largest) <= LAST_TERM * LAST_TERM and highest(uncounted) <= UNCOUNTED * UNCOUNTED


@kernel
def turn_by(present: np.ndarray, trial: np.ndarray, q: int) -> None:
    """Rotate the orientations of eight bodies in `present` by rotation vectors in body axes; write them to `trial`.

    On entry `trial` contains the rotation vectors in the place of the quaternions, which begin at index q of both
    arrays.
    """
    for lane in range(q, q + 8):
        a, b, c = at(trial, lane + 8), at(trial, lane + 16), at(trial, lane + 24)
        half = 0.5 * math.sqrt(a * a + b * b + c * c)
        w, scale = math.cos(half), 0.5 * math.sin(half) / half if half > 0.0 else 0.5
        a, b, c = scale * a, scale * b, scale * c
        pw, px, py, pz = at(present, lane), at(present, lane + 8), at(present, lane + 16), at(present, lane + 24)
        put(trial, lane, pw * w - px * a - py * b - pz * c)
        put(trial, lane + 8, pw * a + px * w + py * c - pz * b)
        put(trial, lane + 16, pw * b - px * c + py * w + pz * a)
        put(trial, lane + 24, pw * c + px * b - py * a + pz * w)


@kernel
def keep(series: LowOrderSeries, path: SeriesPath, size: int, regular: bool) -> None:
    """Copy the Taylor coefficients of the accelerations at one output time from `series` to `path`.

    `regular` is false at a singular configuration; coefficients above order 0 are then set to NaN. `size` is the number
    of elements of one order.
    """
    row, order = path.counts.row, series.order
    for k in range(order):
        for block in range(size // KIN):
            o = ((row * order + k) * (size // KIN) + block) * 48
            here, defined = k * size + block * KIN, 0.0 if regular or k == 0 else np.nan
            linear = load3(series.bodies, here + 2 * size + 8 * POSITION_TERM)
            angular = load3(series.bodies, here + size + 8 * OMEGA_TERM)
            for c in range(3):
                store(path.accelerations, o + 8 * c, linear[c] + defined)
                store(path.accelerations, o + 24 + 8 * c, angular[c] + defined)
