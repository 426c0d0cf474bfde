"""A run, compiled: steps, their closing and error, and the states asked for, entered once for many steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from quirk.integrators.combinations import Weights, combine, combine_error, sample
from quirk.integrators.control import (
    SMALLEST_ERROR,
    SMALLEST_STEP_ULPS,
    STALL_PROGRESS,
    STALL_STEPS,
    factor_after_acceptance,
    factor_after_rejection,
)

from quirk.compiled import entry, kernel
from quirk.lanes import load, store

from .bodies import POSES, VELOCITIES, error_ratio, finite, normalise
from .evaluate import Work, copy, evaluate
from .factorise import Pattern
from .loads import Forces
from .project import EPSILON, factorise_at, project, tangential
from .redundancy import GENERIC_TOLERANCE, choose, factorise_above, measure, watch
from .rows import Nodes


class Settings(NamedTuple):
    """What a run is asked to do.

    start, end: s · step: s, of `count` fixed steps, or 0 of as many as the tolerances ask for · rtol, atol ·
    interval: every how many steps the state is projected, 0 for never · alpha, beta: Baumgarte's rates, 1/s ·
    length: size of the system, m · every: whether to keep all steps, or the states at the asked times
    """

    start: float
    end: float
    step: float
    count: int
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
    times, states: what was kept since the last entry · stop (1,): not zero to end the run
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


# Entries of Run.clock: time, end of the step, step size to try, error of the last step, time STALL_STEPS ago.
T, T_NEW, H, PREVIOUS, MARK = range(5)
CLOCK = 5

# Entries of Run.counts. Projection counts its steps and factorisations in the first two.
(
    CORRECTIONS, FACTORISATIONS, STEPS, REJECTED, EVALUATIONS, WAS_REJECTED, ASKED, KEPT, HALFWAY, BEST_RANK, STALL,
) = range(11)  # fmt: skip
COUNTS = 11

# What `enter` can be asked to do: take steps; evaluate at (T, y); bring y onto the constraints; count the
# independent rows at y; choose as many.
ADVANCE, EVALUATE, PROJECT, COUNT, CHOOSE = range(5)

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

    The only way from Python into what is compiled here, so that it is compiled once.
    """
    clock, counts = run.clock, run.counts
    if task != ADVANCE:
        return visit(task, constants, nodes, pattern, forces, settings, work, run)
    size, stages = run.y.shape[0], weights.stages
    constrained = nodes.rows.shape[0] > 0 and settings.interval > 0
    steps = 0
    while True:
        if counts[HALFWAY] == 0:
            if clock[T] >= settings.end:
                return DONE
            if steps >= most_steps:
                return AGAIN
            # How far.
            if settings.count > 0:
                n = counts[STEPS] + 1
                clock[T_NEW] = settings.end if n >= settings.count else settings.start + n * settings.step
            else:
                t_new = clock[T] + clock[H]
                clock[T_NEW] = settings.end if clock[T] + 1.01 * clock[H] >= settings.end else t_new
            h = clock[T_NEW] - clock[T]
            if not h >= SMALLEST_STEP_ULPS * EPSILON * max(abs(clock[T]), abs(settings.end)):
                return COLLAPSED
            steps += 1
            # Stages, the end of the step, and the evaluation there.
            projecting = constrained and (counts[STEPS] + 1) % settings.interval == 0
            arrived = True
            for stage in range(1, stages + 1):
                y = run.y_new if stage == stages else run.stage
                combine(weights, stage, run.k, h, run.y, y)
                if stage == stages:
                    arrived = finite(y)
                    if arrived:
                        normalise(y)
                        if projecting:
                            arrived = project(constants, nodes, pattern, work, y, settings.length, counts)
                    if not arrived:
                        break
                evaluate(
                    constants, nodes, pattern, forces, work, clock[T] + weights.c[stage] * h, y,
                    settings.alpha, settings.beta, run.k[stage * size : (stage + 1) * size],
                )  # fmt: skip
                counts[EVALUATIONS] += 1
                if run.stop[0] != 0:
                    return STOPPED
            if settings.count > 0:
                if not arrived:
                    return OFF_CONSTRAINTS if finite(run.y_new) else NOT_FINITE
            else:
                error = np.inf
                if arrived:
                    error = step_error(constants, nodes, pattern, weights, settings, work, run, h, constrained)
                if not error <= 1.0:
                    counts[REJECTED] += 1
                    counts[WAS_REJECTED] = 1
                    clock[H] = h * factor_after_rejection(error, weights.exponent)
                    continue
                factor = factor_after_acceptance(error, clock[PREVIOUS], counts[WAS_REJECTED] != 0, weights.exponent)
                clock[H] = h * factor
                clock[PREVIOUS] = max(error, SMALLEST_ERROR)
                counts[WAS_REJECTED] = 0
            counts[STEPS] += 1
            if projecting:
                watch(nodes, pattern, work, counts[BEST_RANK])
        # What lies in this step of what is asked for.
        outcome = keep(constants, nodes, pattern, forces, weights, settings, work, run)
        if outcome != DONE:
            return outcome
        # The end becomes the start.
        copy(run.y_new, run.y)
        for o in range(0, size, 8):
            store(run.k, o, load(run.k, stages * size + o))
        clock[T] = clock[T_NEW]
        if settings.count == 0:
            counts[STALL] += 1
            if counts[STALL] == STALL_STEPS:
                if clock[T] - clock[MARK] < STALL_PROGRESS * (settings.end - settings.start):
                    return STALLED
                counts[STALL] = 0
                clock[MARK] = clock[T]


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


@kernel
def keep(
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    weights: Weights,
    settings: Settings,
    work: Work,
    run: Run,
) -> int:
    """Keep the end of the step, or the states within it that are asked for; AGAIN if there is no room left.

    Entry HALFWAY of the counts tells whether the step has been entered: 1, and 2 once its stages for dense
    output are there.
    """
    clock, counts = run.clock, run.counts
    size, room = run.y.shape[0], run.times.shape[0]
    h = clock[T_NEW] - clock[T]
    counts[HALFWAY] = max(counts[HALFWAY], 1)
    while settings.every or (counts[ASKED] < run.asked.shape[0] and run.asked[counts[ASKED]] <= clock[T_NEW]):
        if counts[KEPT] >= room:
            return AGAIN
        t = clock[T_NEW] if settings.every else run.asked[counts[ASKED]]
        state = run.states[counts[KEPT] * size : (counts[KEPT] + 1) * size]
        on_constraints = t >= clock[T_NEW] and (settings.interval > 0 and counts[STEPS] % settings.interval == 0)
        if t >= clock[T_NEW]:
            copy(run.y_new, state)
        else:
            if counts[HALFWAY] == 1:
                for stage in range(weights.stages + 1, weights.buffers):
                    combine(weights, stage, run.k, h, run.y, run.stage)
                    evaluate(
                        constants, nodes, pattern, forces, work, clock[T] + weights.c[stage] * h, run.stage,
                        settings.alpha, settings.beta, run.k[stage * size : (stage + 1) * size],
                    )  # fmt: skip
                    counts[EVALUATIONS] += 1
                counts[HALFWAY] = 2
            sample(weights, (t - clock[T]) / h, run.k, h, run.y, state)
            normalise(state)
        if settings.interval > 0 and nodes.rows.shape[0] > 0 and not on_constraints:
            if not project(constants, nodes, pattern, work, state, settings.length, counts):
                return OFF_BETWEEN
        run.times[counts[KEPT]] = t
        counts[KEPT] += 1
        if settings.every:
            break
        counts[ASKED] += 1
    counts[HALFWAY] = 0
    return DONE


@kernel
def visit(
    task: int,
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    settings: Settings,
    work: Work,
    run: Run,
) -> int:
    """Do one of the tasks that do not take steps."""
    size = run.y.shape[0]
    if task == EVALUATE:
        evaluate(
            constants, nodes, pattern, forces, work, run.clock[T], run.y, settings.alpha, settings.beta, run.k[:size]
        )
    elif task == PROJECT:
        normalise(run.y)
        if settings.interval == 0 or nodes.rows.shape[0] == 0:
            return DONE
        factorise_at(constants, nodes, pattern, work, run.y)
        if not project(constants, nodes, pattern, work, run.y, settings.length, run.counts):
            return OFF_CONSTRAINTS
    else:
        factorise_at(constants, nodes, pattern, work, run.y)
        measure(nodes, work)
        if task == COUNT:
            factorise_above(nodes, pattern, work, GENERIC_TOLERANCE)
        elif not choose(nodes, pattern, work, run.counts[BEST_RANK]):
            return OFF_CONSTRAINTS
    return DONE
