"""Derivatives along given states, or along positions that constraints prescribe, compiled: entered once for many.

Positions are continued from one time to the next by their Taylor polynomials and brought onto the constraints. Where
that moves them too far, the way is taken in parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.compiled import entry, kernel
from quirk.lanes import at, greater, highest, load, splat, store

from .bodies import KIN, STATE, normalise, speed
from .evaluate import CORRECTION, RANK, Work, copy
from .factorise import Pattern
from .layout import OMEGA, OMEGA_TERM, ORIENTATION, POSITION, POSITION_TERM, VELOCITY
from .loads import Forces
from .project import factorise_at, project
from .rows import Nodes
from .series import find_series
from .series_rows import Series
from .vectors import cross, dot, load3, minus, plus, store3, times

# A correction beyond FARTHEST, rad or lengths of the system, may lead to another assembly of the mechanism, and so may
# one that changes velocities by more than a part ASTRAY of them: where branches of motion meet, poses are close
# together and velocities are not. Then the way is taken in parts, down to a part SHORTEST of the whole. Velocities
# that lead less far than STILL, in the same units, are round-off.
FARTHEST, ASTRAY, SHORTEST, STILL = 0.05, 0.05, 1e-9, 1e-12


class Path(NamedTuple):
    """Where derivatives are asked for, and what was found.

    times (nt,) · states (nt size,) · present, trial, guess, orientations: of one state, the last with a column for each
    order · accelerations: coefficients of each time and order · counts: see below · clock (1,): time reached.
    """

    times: np.ndarray
    states: np.ndarray
    present: np.ndarray
    trial: np.ndarray
    guess: np.ndarray
    orientations: np.ndarray
    accelerations: np.ndarray
    counts: np.ndarray
    clock: np.ndarray


# Entries of Path.counts: steps of projections, their factorisations, times done, parts of the way.
CORRECTIONS, FACTORISATIONS, ROW, PARTS = range(4)
COUNTS = 4

# Why `follow` returns.
ARRIVED, STUCK, SINGULAR, STOPPED = range(4)


@entry
def follow(
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    work: Work,
    series: Series,
    path: Path,
    stop: np.ndarray,
    length: float,
    order: int,
    rank: int,
    tracking: bool,
) -> int:
    """Find `order` coefficients of accelerations at all times; returns why it stops.

    With `tracking` the states follow from the first one; `rank` rows are to be independent.
    """
    size = path.present.shape[0]
    while path.counts[ROW] < path.times.shape[0]:
        row = path.counts[ROW]
        if tracking and row > 0:
            outcome = reach(
                constants, nodes, pattern, forces, work, series, path, path.times[row], length, order, rank
            )  # fmt: skip
            if outcome != ARRIVED:
                return outcome
            copy(path.present, path.states[row * size : (row + 1) * size])
        else:
            copy(path.states[row * size : (row + 1) * size], path.present)
            path.clock[0] = path.times[row]
            find_series(constants, nodes, pattern, forces, work, series, path.clock[0], path.present, order, rank)
            if tracking and work.summary[RANK] < rank:
                return SINGULAR
        if stop[0] != 0:
            return STOPPED
        keep(series, path, work.kin.shape[0], order)
        path.counts[ROW] += 1
    return ARRIVED


@kernel
def reach(
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    work: Work,
    series: Series,
    path: Path,
    end: float,
    length: float,
    order: int,
    rank: int,
) -> int:
    """Go on to the time `end`, in parts if need be."""
    start = path.clock[0]
    ahead = end - start
    while path.clock[0] < end:
        t = end if path.clock[0] + ahead >= end else path.clock[0] + ahead
        predict(series.bodies, path, work.kin.shape[0], t - path.clock[0], order)
        copy(path.trial, path.guess)
        arrived = project(constants, nodes, pattern, work, t, path.trial, length, path.counts)
        arrived = arrived and at(work.summary, CORRECTION) <= FARTHEST
        arrived = arrived and expected(path, length, t - path.clock[0])
        if arrived:
            # Once more with the rows of the very place, which are more to the point than those from where it started.
            factorise_at(constants, nodes, pattern, work, t, path.trial)
            arrived = project(constants, nodes, pattern, work, t, path.trial, length, path.counts)
        if arrived:
            copy(path.trial, path.present)
            ahead = 2.0 * (t - path.clock[0])
            path.clock[0] = t
            path.counts[PARTS] += 1
            find_series(constants, nodes, pattern, forces, work, series, t, path.present, order, rank)
            if work.summary[RANK] < rank:
                return SINGULAR
        else:
            ahead = 0.5 * (t - path.clock[0])
            if ahead < SHORTEST * (end - start):
                return STUCK
            factorise_at(constants, nodes, pattern, work, path.clock[0], path.present)
    return ARRIVED


@kernel
def expected(path: Path, length: float, h: float) -> bool:
    """Whether the velocities of `trial` are about those that were predicted."""
    largest = splat(0.0)
    for block in range(path.trial.shape[0] // STATE):
        v, w = block * STATE + 8 * VELOCITY, block * STATE + 8 * OMEGA
        dv = minus(load3(path.trial, v), load3(path.guess, v))
        dw = minus(load3(path.trial, w), load3(path.guess, w))
        largest = greater(largest, dot(dw, dw) + dot(dv, dv) * (1.0 / (length * length)))
    change = highest(largest) ** 0.5
    fastest = max(speed(path.present, length), speed(path.trial, length))
    return change <= ASTRAY * fastest or change * h <= STILL


@kernel
def predict(bodies: np.ndarray, path: Path, size: int, h: float, order: int) -> None:
    """Fill `trial` with the state a time h later, by the Taylor polynomials of the motion."""
    whole = path.present.shape[0]
    for block in range(whole // STATE):
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
        # q' = q omega / 2
        q = s + 8 * ORIENTATION
        for c in range(4):
            store(path.orientations, q + 8 * c, load(path.present, q + 8 * c))
        for n in range(order + 1):
            w, v = zero, (zero, zero, zero)
            for m in range(n + 1):
                o = m * whole + q
                qw, qv = load(path.orientations, o), load3(path.orientations, o + 8)
                spin = load3(bodies, (n - m) * size + k + 8 * OMEGA_TERM)
                w = w - dot(qv, spin)
                v = plus(v, plus(times(spin, qw), cross(qv, spin)))
            o, scale = (n + 1) * whole + q, 0.5 / (n + 1)
            store(path.orientations, o, scale * w)
            store3(path.orientations, o + 8, times(v, scale))
        for c in range(4):
            value = zero
            for m in range(order + 1, -1, -1):
                value = h * value + load(path.orientations, m * whole + q + 8 * c)
            store(path.trial, q + 8 * c, value)
    normalise(path.trial)


@kernel
def keep(series: Series, path: Path, size: int, order: int) -> None:
    """Note the coefficients of one time."""
    row = path.counts[ROW]
    for k in range(order):
        for block in range(size // KIN):
            o = ((row * order + k) * (size // KIN) + block) * 48
            here = k * size + block * KIN
            for c in range(3):
                store(path.accelerations, o + 8 * c, load(series.bodies, here + 2 * size + 8 * (POSITION_TERM + c)))
                store(path.accelerations, o + 24 + 8 * c, load(series.bodies, here + size + 8 * (OMEGA_TERM + c)))
