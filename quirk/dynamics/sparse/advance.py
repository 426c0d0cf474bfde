"""A run, compiled: steps, their closing and error, and the states asked for, entered once for many steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.compiled import entry, kernel
from quirk.integrators.combinations import Weights, combine, combine_error, sample
from quirk.integrators.control import (
    FARTHEST_CORRECTION,
    LARGEST_CORRECTION,
    SMALLEST_ERROR,
    SMALLEST_STEP_ULPS,
    STALL_PROGRESS,
    STALL_STEPS,
    factor_after_acceptance,
    factor_after_rejection,
)
from quirk.lanes import at, load, store

from .bodies import POSES, VELOCITIES, error_ratio, finite, normalise, poses
from .counting import Counter, look_ahead, note, turn_on
from .evaluate import CORRECTION, Work, copy, evaluate
from .factorise import Pattern, factorise, solve
from .loads import Forces, refer
from .project import EPSILON, factorise_at, project, tangential
from .redundancy import choose, count_generic, measure, watch
from .rows import Nodes, residuals


class Settings(NamedTuple):
    """What a run is asked to do.

    start, end: s · step: s, of so many `fixed` steps, or 0 of as many as the tolerances ask for · rtol, atol ·
    interval: every how many steps the state is projected, 0 for never · alpha, beta: Baumgarte's rates, 1/s ·
    length: size of the system, m · every: whether to keep all steps, or the states at the asked times
    """

    start: float
    end: float
    step: float
    fixed: int
    rtol: float
    atol: float
    interval: int
    alpha: float
    beta: float
    length: float
    every: bool


class Run(NamedTuple):
    """The state of a run between two entries; y and slopes in blocks of eight bodies.

    y, y_new, stage, change (size,) · k (buffers size,) slopes · clock, counts: see below · asked: times ·
    times, states: what was kept since the last entry · stop (1,): not zero to end the run · counter: of the turns of
    joints
    """

    y: np.ndarray
    y_new: np.ndarray
    stage: np.ndarray
    change: np.ndarray
    k: np.ndarray
    clock: np.ndarray
    counts: np.ndarray
    asked: np.ndarray
    times: np.ndarray
    states: np.ndarray
    stop: np.ndarray
    counter: Counter


# Entries of Run.clock: time, end of the step, step size to try, error of the last step, time STALL_STEPS ago.
T, T_NEW, H, PREVIOUS, MARK = range(5)
CLOCK = 5

# Entries of Run.counts. Projection counts its steps and factorisations in the first two; WITHIN is 0 between
# steps, 1 within one and 2 once its stages for dense output are there.
(
    CORRECTIONS, FACTORISATIONS, STEPS, REJECTED, EVALUATIONS, WAS_REJECTED, ASKED, KEPT, WITHIN, BEST_RANK, STALL,
) = range(11)  # fmt: skip
COUNTS = 11

# What `enter` can be asked to do: take steps; evaluate at (T, y); bring y onto the constraints; count the
# independent rows at y; choose as many; find Phi, or its rate, at y; solve with other blocks.
ADVANCE, EVALUATE, PROJECT, COUNT, CHOOSE, PHI, PHI_RATE, SOLVE = range(8)

# Why it returns: to be entered again, or at the end, or not able to go on.
AGAIN, DONE, COLLAPSED, NOT_FINITE, OFF_CONSTRAINTS, OFF_BETWEEN, STALLED, STOPPED = range(8)


@entry
def enter(
    task: int,
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    weights: Weights,
    settings: Settings,
    work: Work,
    run: Run,
    most_steps: int,
) -> int:
    """Do one of the tasks; returns why it stops, for ADVANCE at the latest after `most_steps` steps.

    The only way from Python into what is compiled here; and one function, since the compiler works anew on all
    that is called below each level of calls.
    """
    clock, counts, size, stages = run.clock, run.counts, run.y.shape[0], weights.stages
    alpha, beta, length = settings.alpha, settings.beta, settings.length
    constrained = nodes.rows.shape[0] > 0 and settings.interval > 0
    steps = 0
    while task == ADVANCE:
        if counts[WITHIN] == 0:
            if clock[T] >= settings.end:
                return DONE
            if steps >= most_steps:
                return AGAIN
            steps += 1
            h = choose_end(settings, run)
            if not h >= SMALLEST_STEP_ULPS * EPSILON * max(abs(clock[T]), abs(settings.end)):
                return COLLAPSED
            projecting = constrained and (counts[STEPS] + 1) % settings.interval == 0
            arrived = True
            for stage in range(1, stages + 1):
                y = run.y_new if stage == stages else run.stage
                t = clock[T] + weights.c[stage] * h
                combine(weights, stage, run.k, h, run.y, y)
                if stage == stages:
                    arrived = finite(y)
                    normalise(y)
                    if arrived and projecting:
                        arrived = project(constants, nodes, pattern, work, t, y, length, counts)
                        farthest = FARTHEST_CORRECTION if settings.fixed > 0 else LARGEST_CORRECTION
                        arrived = arrived and not at(work.summary, CORRECTION) > farthest
                    if not arrived:
                        break
                slope = run.k[stage * size : (stage + 1) * size]
                evaluate(constants, nodes, pattern, forces, work, t, y, alpha, beta, slope)
                counts[EVALUATIONS] += 1
                if stage == stages and projecting and watch(nodes, pattern, work, counts[BEST_RANK]):
                    evaluate(constants, nodes, pattern, forces, work, t, y, alpha, beta, slope)
                    counts[EVALUATIONS] += 1
            if run.stop[0] != 0:
                return STOPPED
            if settings.fixed == 0:
                error = np.inf
                if arrived:
                    error = step_error(constants, nodes, pattern, weights, settings, work, run, h, constrained)
                if not accepted(error, weights, run, h):
                    continue
            elif not arrived:
                return OFF_CONSTRAINTS if finite(run.y_new) else NOT_FINITE
            counts[STEPS] += 1
            counts[WITHIN] = 1
            refer(forces, clock[T_NEW])
            look_ahead(run.counter, run.y, run.y_new, h)
        # What is asked for in this step.
        h = clock[T_NEW] - clock[T]
        while wanted(settings, run):
            if counts[KEPT] >= run.times.shape[0]:
                return AGAIN
            t = next_time(settings, run)
            if t < clock[T_NEW] and counts[WITHIN] == 1:
                for stage in range(stages + 1, weights.buffers):
                    combine(weights, stage, run.k, h, run.y, run.stage)
                    t, slope = clock[T] + weights.c[stage] * h, run.k[stage * size : (stage + 1) * size]
                    evaluate(constants, nodes, pattern, forces, work, t, run.stage, alpha, beta, slope)
                    counts[EVALUATIONS] += 1
                counts[WITHIN] = 2
                t = next_time(settings, run)
            state = run.states[counts[KEPT] * size : (counts[KEPT] + 1) * size]
            if t < clock[T_NEW]:
                sample(weights, (t - clock[T]) / h, run.k, h, run.y, state)
                normalise(state)
            else:
                copy(run.y_new, state)
            astray = constrained and (t < clock[T_NEW] or counts[STEPS] % settings.interval != 0)
            if astray and not project(constants, nodes, pattern, work, t, state, length, counts):
                return OFF_BETWEEN
            note(run.counter, counts[KEPT], run.y, state, t - clock[T])
            run.times[counts[KEPT]] = t
            counts[KEPT] += 1
            counts[ASKED] += 1
        if settle(settings, run, stages):
            return STALLED
    # The other tasks concern one state.
    if task == EVALUATE:
        evaluate(constants, nodes, pattern, forces, work, clock[T], run.y, alpha, beta, run.k[:size])
    elif task == PROJECT:
        normalise(run.y)
        if constrained:
            factorise_at(constants, nodes, pattern, work, clock[T], run.y)
            if not project(constants, nodes, pattern, work, clock[T], run.y, length, counts):
                return OFF_CONSTRAINTS
    elif task in (COUNT, CHOOSE):
        factorise_at(constants, nodes, pattern, work, clock[T], run.y)
        measure(nodes, work)
        if task == COUNT:
            count_generic(nodes, pattern, work)
        elif not choose(nodes, pattern, work, counts[BEST_RANK]):
            return OFF_CONSTRAINTS
    elif task == SOLVE:
        factorise(pattern, 0, pattern.rows.shape[0], work.G, work.floor, work.B, work.Q)
        solve(pattern, work.B, work.Q, work.rhs, work.x)
    else:
        poses(constants, run.y, work.kin)
        residuals(nodes, clock[T], run.y, work.kin, 0 if task == PHI else 1, work.rhs)
    return DONE


@kernel
def choose_end(settings: Settings, run: Run) -> float:
    """Choose where the next step ends; returns its size."""
    clock = run.clock
    if settings.fixed > 0:
        n = run.counts[STEPS] + 1
        clock[T_NEW] = settings.end if n >= settings.fixed else settings.start + n * settings.step
    else:
        close = clock[T] + 1.01 * clock[H] >= settings.end
        clock[T_NEW] = settings.end if close else clock[T] + clock[H]
    return clock[T_NEW] - clock[T]


@kernel
def accepted(error: float, weights: Weights, run: Run, h: float) -> bool:
    """Judge a step by its error over the tolerance, and choose the size of the next."""
    clock, counts = run.clock, run.counts
    if not error <= 1.0:
        counts[REJECTED] += 1
        counts[WAS_REJECTED] = 1
        clock[H] = h * factor_after_rejection(error, weights.exponent)
        return False
    clock[H] = h * factor_after_acceptance(error, clock[PREVIOUS], counts[WAS_REJECTED] != 0, weights.exponent)
    clock[PREVIOUS] = max(error, SMALLEST_ERROR)
    counts[WAS_REJECTED] = 0
    return True


@kernel
def wanted(settings: Settings, run: Run) -> bool:
    """Whether this step holds a state that is to be kept: its end, once, or one at an asked time."""
    if settings.every:
        return run.counts[ASKED] < run.counts[STEPS]
    return run.counts[ASKED] < run.asked.shape[0] and run.asked[run.counts[ASKED]] <= run.clock[T_NEW]


@kernel
def next_time(settings: Settings, run: Run) -> float:
    """Time of the next state to be kept."""
    return run.clock[T_NEW] if settings.every else run.asked[run.counts[ASKED]]


@kernel
def settle(settings: Settings, run: Run, stages: int) -> bool:
    """Make the end of a step the start of the next; returns whether the steps lead nowhere."""
    clock, counts, size = run.clock, run.counts, run.y.shape[0]
    turn_on(run.counter, run.y, run.y_new, clock[T_NEW] - clock[T])
    copy(run.y_new, run.y)
    for o in range(0, size, 8):
        store(run.k, o, load(run.k, stages * size + o))
    clock[T] = clock[T_NEW]
    counts[WITHIN] = 0
    if settings.fixed > 0:
        return False
    counts[STALL] += 1
    if counts[STALL] < STALL_STEPS:
        return False
    counts[STALL] = 0
    progress = clock[T] - clock[MARK]
    if progress < STALL_PROGRESS * (settings.end - settings.start):
        return True
    clock[MARK] = clock[T]
    return False


@kernel
def step_error(
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    weights: Weights,
    settings: Settings,
    work: Work,
    run: Run,
    h: float,
    constrained: bool,
) -> float:
    """Error of a step over the tolerance; only what lies along the constraints counts where these are kept."""
    first = second = 0.0
    for estimate in range(weights.errors):
        combine_error(weights, estimate, run.k, h, run.change)
        if not finite(run.change):
            return np.inf
        worst = 0.0
        for level in (POSES, VELOCITIES):
            tangential(constants, nodes, pattern, work, run.y_new, run.change, level, constrained)
            ratio = error_ratio(constants, work.motion, run.y, run.y_new, level, settings.rtol, settings.atol)
            worst = max(worst, ratio) if ratio == ratio else np.inf
        if estimate == 0:
            first = worst
        else:
            second = worst
    if weights.errors == 1 or first <= 0.0 or first == np.inf:
        return first
    return first * first / np.sqrt(first * first + 0.01 * second * second)
