"""A run, compiled: steps, their closing and error, and the states asked for, entered once for many steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import entry, kernel
from quirk.integrators.adaptive import next_end
from quirk.integrators.breaks import SMALLEST_STEP_ULPS
from quirk.integrators.combinations import Weights, combine, combine_error, sample
from quirk.integrators.control import (
    FARTHEST_CORRECTION,
    LARGEST_CORRECTION,
    SMALLEST_ERROR,
    STALL_PROGRESS,
    STALL_STEPS,
    factor_after_acceptance,
    factor_after_rejection,
)
from quirk.lanes import at, load, store
from quirk.record import record

from .bodies import POSES, VELOCITIES, error_ratio, finite, normalise, poses
from .counting import Counter, look_ahead, note_turns, turn_on
from .evaluate import copy, evaluate, factorise_at
from .factorise import Pattern
from .loads import Forces, refer
from .orthogonal import substitute, triangularise
from .probe import Arrays, Asked, carry_on, failed, jumped, note, overlooked
from .project import project, tangential
from .redundancy import EPSILON, choose, judge, uniform_rows, watch
from .rows import Nodes, residuals
from .work import CORRECTION, RANK, TOLERANCE, Work


@record
class Settings(NamedTuple):
    """What a run is asked to do.

    start, end: s · step: s, of so many `fixed` steps, or 0 of as many as the tolerances ask for · rtol, atol ·
    interval: every how many steps the state is projected, 0 for never · alpha, beta: Baumgarte's rates, 1/s ·
    length: size of the system, m · every: whether to keep all steps, or the states at the asked times ·
    max_step: s · gap: s, at most so far apart functions are asked
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
    max_step: float
    gap: float


@record
class Run(NamedTuple):
    """The state of a run between two entries; y and slopes in blocks of eight bodies.

    y, y_new, stage, change (size,) · k (buffers size,) slopes · clock, counts: see below · asked: times ·
    times, states: what was kept since the last entry · stop (1,): not zero to end the run · pieces (4 P,): of each
    `integrators.breaks.Piece` low, high, end and first · functions: those that a user wrote · counter: of the turns of
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
    pieces: np.ndarray
    functions: Asked
    counter: Counter


# Entries of Run.clock: time, end of the step, step size to try, error of the last step, time STALL_STEPS ago, step size
# to try where it is cut by the end of a piece, when a function was found to differ, up to when none needs a look.
T, T_NEW, H, PREVIOUS, MARK, UNCUT, SEEN, CLEARED = range(8)
CLOCK = 8

# Entries of each of Run.pieces.
LOW, HIGH, END, FIRST = range(4)
PIECE_SIZE = 4

# Entries of Run.counts. Projection counts its steps and factorisations in the first two; WITHIN is 0 between
# steps, 1 within one and 2 once its stages for dense output are there. GRID counts fixed steps that are whole, REST
# the steps to come that are not looked at when they are rejected; FRESH is 1 where the slope is to be found anew.
(
    CORRECTIONS, FACTORISATIONS, STEPS, REJECTED, EVALUATIONS, WAS_REJECTED, ASKED, KEPT, WITHIN, BEST_RANK, STALL,
    PIECE, GRID, REST, FRESH,
) = range(15)  # fmt: skip
COUNTS = 15

# What `enter` can be asked to do: take steps; evaluate at (T, y); bring y onto the constraints; count the
# independent rows at y; choose as many; find Phi, or its rate, at y; factorise other rows; solve with these.
ADVANCE, EVALUATE, PROJECT, COUNT, CHOOSE, PHI, PHI_RATE, TRIANGULARISE, SUBSTITUTE = range(9)

# Why it returns: to be entered again, or at the end, or not able to go on; SUSPECT before a step is judged in which a
# function may have changed abruptly.
(
    AGAIN, DONE, COLLAPSED, NOT_FINITE, OFF_CONSTRAINTS, OFF_BETWEEN, LOST_BETWEEN, STALLED, STOPPED, SUSPECT,
) = range(10)  # fmt: skip

# A step that is wrong by so many times its tolerance has likely met something abrupt.
ABRUPT_ERROR = 100.0


@entry(notice="compiling what runs need, usually for 10 to 30 s")
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
            if not h >= shortest(settings, run):
                return COLLAPSED
            projecting = constrained and (counts[STEPS] + 1) % settings.interval == 0
            arrived = True
            for stage in range(1 - counts[FRESH], stages + 1):
                y = run.y_new if stage == stages else run.stage if stage > 0 else run.y
                t = in_piece(run, clock[T] + weights.c[stage] * h)
                if stage > 0:
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
                if stage == stages and projecting and watch(constants, nodes, pattern, work, t, y, counts[BEST_RANK]):
                    evaluate(constants, nodes, pattern, forces, work, t, y, alpha, beta, slope)
                    counts[EVALUATIONS] += 1
                if run.stop[0] != 0:
                    return STOPPED
                note_all(forces, nodes, settings, run, stage)
            counts[FRESH] = 0
            error = 0.0
            if settings.fixed == 0:
                error = np.inf
                if arrived:
                    error = step_error(constants, nodes, pattern, weights, settings, work, run, h, constrained)
            suspicious = suspect(forces, nodes, settings, run, error)
            if run.stop[0] != 0:
                return STOPPED
            if suspicious:
                return SUSPECT
            if settings.fixed == 0:
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
                    t, slope = in_piece(run, clock[T] + weights.c[stage] * h), run.k[stage * size : (stage + 1) * size]
                    evaluate(constants, nodes, pattern, forces, work, t, run.stage, alpha, beta, slope)
                    counts[EVALUATIONS] += 1
                    if run.stop[0] != 0:
                        return STOPPED
                counts[WITHIN] = 2
                t = next_time(settings, run)
            state = run.states[counts[KEPT] * size : (counts[KEPT] + 1) * size]
            if t < clock[T_NEW]:
                sample(weights, (t - clock[T]) / h, run.k, h, run.y, state)
                normalise(state)
                if not finite(state):
                    return LOST_BETWEEN
            else:
                copy(run.y_new, state)
            astray = constrained and (t < clock[T_NEW] or counts[STEPS] % settings.interval != 0)
            if astray and not project(constants, nodes, pattern, work, t, state, length, counts):
                return OFF_BETWEEN
            note_turns(run.counter, counts[KEPT], run.y, state, t - clock[T])
            run.times[counts[KEPT]] = t
            counts[KEPT] += 1
            counts[ASKED] += 1
        if settle(settings, run, stages):
            return STALLED
    # The other tasks concern one state.
    if task == EVALUATE:
        evaluate(constants, nodes, pattern, forces, work, clock[T], run.y, alpha, beta, run.k[:size])
        # Where the constraints hold.
        if constrained and watch(constants, nodes, pattern, work, clock[T], run.y, counts[BEST_RANK]):
            evaluate(constants, nodes, pattern, forces, work, clock[T], run.y, alpha, beta, run.k[:size])
    elif task == PROJECT:
        normalise(run.y)
        if constrained:
            factorise_at(constants, nodes, pattern, work, clock[T], run.y)
            if not project(constants, nodes, pattern, work, clock[T], run.y, length, counts):
                return OFF_CONSTRAINTS
    elif task == COUNT:
        uniform_rows(nodes, pattern, work, clock[T], run.y)
        judge(work, work.summary[TOLERANCE])
    elif task == CHOOSE:
        if not choose(constants, nodes, pattern, work, clock[T], run.y, counts[BEST_RANK]):
            return OFF_CONSTRAINTS
    elif task == TRIANGULARISE:
        work.summary[RANK] = triangularise(
            work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor,
            work.summary[TOLERANCE],
        )  # fmt: skip
    elif task == SUBSTITUTE:
        substitute(work.fronts, work.triangle, work.rhs, work.x)
    else:
        poses(constants, run.y, work.kin)
        residuals(nodes, clock[T], run.y, work.kin, 0 if task == PHI else 1, work.rhs)
    return DONE


@kernel
def in_piece(run: Run, t: float) -> float:
    """Keep a time at which to evaluate off the breaks, on the side of the piece that the step is in."""
    o = PIECE_SIZE * run.counts[PIECE]
    return min(max(t, run.pieces[o + LOW]), run.pieces[o + HIGH])


@kernel
def choose_end(settings: Settings, run: Run) -> float:
    """Choose where the next step ends; returns its size."""
    clock, end = run.clock, run.pieces[PIECE_SIZE * run.counts[PIECE] + END]
    if settings.fixed > 0:
        clock[T_NEW] = min(whole_step(settings, run), end)
        if abs(whole_step(settings, run) - end) <= shortest(settings, run):
            clock[T_NEW] = end
        return clock[T_NEW] - clock[T]
    clock[T_NEW] = next_end(clock[T], clock[H], end, settings.max_step)
    clock[UNCUT] = clock[H] if clock[T_NEW] >= end else 0.0
    return clock[T_NEW] - clock[T]


@kernel
def shortest(settings: Settings, run: Run) -> float:
    """The shortest step that the resolution of the times allows."""
    return SMALLEST_STEP_ULPS * EPSILON * max(abs(run.clock[T]), abs(settings.end))


@kernel
def whole_step(settings: Settings, run: Run) -> float:
    """Where the present fixed step ends if nothing cuts it."""
    n = run.counts[GRID] + 1
    return settings.end if n >= settings.fixed else settings.start + n * settings.step


@kernel
def called_with(forces: Forces, nodes: Nodes) -> tuple[Arrays, Arrays]:
    """Arrays that functions of each kind get their inputs from, and write their outputs to."""
    relations = nodes.relations
    ins = forces.inputs, forces.outputs, relations.inputs, relations.outputs
    return ins, (forces.outputs, forces.inputs, relations.outputs, relations.inputs)


@kernel
def note_all(forces: Forces, nodes: Nodes, settings: Settings, run: Run, stage: int) -> None:
    """Record what functions were asked in a stage, and returned."""
    if settings.gap < math.inf:
        ins, outs = called_with(forces, nodes)
        note(run.functions, ins, outs, stage)


@kernel
def suspect(forces: Forces, nodes: Nodes, settings: Settings, run: Run, error: float) -> bool:
    """Whether functions need a closer look in a step with this error over the tolerance.

    They do where a step has overlooked something, is far from right, or is fixed and functions jump in it.
    """
    clock, counts = run.clock, run.counts
    clock[SEEN] = math.inf
    if settings.gap == math.inf or failed(run.functions):
        return False
    counts[REST] -= 1
    if not error <= 1.0:
        return counts[REST] <= 0 and not error <= ABRUPT_ERROR
    if settings.fixed > 0 and counts[REST] <= 0 and jumped(run.functions):
        return True
    h = clock[T_NEW] - clock[T]
    if h > settings.gap:
        ins, outs = called_with(forces, nodes)
        clock[SEEN] = overlooked(run.functions, ins, outs, (clock[T], h, settings.gap, clock[CLEARED]))
    return clock[SEEN] < math.inf


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
    clock[H] = max(clock[H], clock[UNCUT])
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
    if settings.gap < math.inf:
        carry_on(run.functions, stages)
    if settings.fixed > 0 and clock[T_NEW] >= whole_step(settings, run) - shortest(settings, run):
        counts[GRID] += 1
    clock[T] = clock[T_NEW]
    counts[WITHIN] = 0
    if clock[T] >= run.pieces[PIECE_SIZE * counts[PIECE] + END] and clock[T] < settings.end:
        # Beyond a break the slope is another, and what was learnt of the error says nothing.
        counts[PIECE] += 1
        counts[FRESH], counts[WAS_REJECTED], clock[PREVIOUS] = 1, 0, SMALLEST_ERROR
        clock[H] = min(clock[H], run.pieces[PIECE_SIZE * counts[PIECE] + FIRST])
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
