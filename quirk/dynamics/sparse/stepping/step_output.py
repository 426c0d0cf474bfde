"""Output of the step loop: states at requested times, and recorded steps."""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.revolution_counter import store_quadrants
from quirk.jit.compilation import kernel
from quirk.jit.simd import put

from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from .event_functions import MOST_CROSSINGS, MOST_SAMPLES
from .method_kernels import MOST_PARTS, between, parts
from .run_state import (
    HIGH,
    LOW,
    PIECE_SIZE,
    STEP_END,
    STEP_HEAD,
    STEP_HIGH,
    STEP_LOW,
    STEP_START,
    RunState,
    Settings,
    StepOutcome,
    StepPosition,
)
from .step_control import keeps_to_constraints

# Maximum number of crossings of a function in a step that samples can resolve.
MOST_NOTED = 2 * MOST_SAMPLES


@kernel
def output_due(settings: Settings, run: RunState) -> bool:
    """Return whether the last computed step contains an output state that has not been stored yet.

    Output states are the states at the output times or, if all steps are stored, at the ends of the steps.
    """
    if settings.all_steps:
        return run.counts.passed < run.counts.steps
    return (
        run.counts.passed < run.requested_times.shape[0] and run.requested_times[run.counts.passed] <= run.clock.t_new
    )


@kernel
def pauses(run: RunState) -> bool:
    """Return whether the run pauses within the last computed step, because the last requested output time is reached.

    The run does not pause at the end of the step if an event with an action occurs there.
    """
    counts, last = run.counts, run.requested_times.shape[0] - 1
    if counts.pauses == 0 or counts.passed <= last:
        return False
    return run.requested_times[last] < run.clock.t_new or counts.eventful == 0


@kernel
def buffers_full(run: RunState) -> bool:
    """Return whether the output buffers have no space for another step or its events."""
    if (
        run.trail.shape[0] > 0
        and (run.counts.recorded + MOST_PARTS) * (STEP_HEAD + run.y.shape[0]) > run.trail.shape[0]
    ):
        return True
    return run.counts.happened > 0 and run.counts.happened + MOST_NOTED * run.watched.side.shape[0] > MOST_CROSSINGS


@kernel
def store_outputs(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
    """Store the output states within the last computed step; return a code of `run_state.StepOutcome`."""
    clock, counts, size = run.clock, run.counts, run.y.shape[0]
    while output_due(settings, run):
        if counts.stored >= run.times.shape[0]:
            return StepOutcome.AGAIN
        t = clock.t_new if settings.all_steps else run.requested_times[counts.passed]
        state = run.states[counts.stored * size : (counts.stored + 1) * size]
        within = t < clock.t_new
        if within:
            arrived = between(mechanism, stepper, settings, run, t, state)
            if run.stop[0] != 0:
                return StepOutcome.STOPPED
            counts.position = StepPosition.DENSE
            if not arrived:
                return StepOutcome.LOST_BETWEEN
        else:
            copy(run.y_new, state)
        astray = keeps_to_constraints(mechanism, settings) and (within or counts.steps % settings.interval != 0)
        if astray and not project(mechanism, t, state, settings.length, counts, False):
            return StepOutcome.OFF_BETWEEN
        store_quadrants(run.counter, counts.stored, run.y, state, t - clock.t)
        run.times[counts.stored] = t
        counts.stored += 1
        counts.passed += 1
    return StepOutcome.GONE_ON


@kernel
def record_step(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> bool:
    """Record the last computed step, if steps are recorded; return False if a state within it is not finite."""
    if run.trail.shape[0] == 0:
        return True
    clock, width, piece = run.clock, STEP_HEAD + run.y.shape[0], PIECE_SIZE * run.counts.piece
    count = parts(mechanism, stepper, settings, run)
    t, h = clock.t, (clock.t_new - clock.t) / count
    for part in range(count):
        o, end = run.counts.recorded * width, clock.t_new if part + 1 == count else clock.t + (part + 1) * h
        put(run.trail, o + STEP_START, t)
        put(run.trail, o + STEP_END, end)
        put(run.trail, o + STEP_LOW, run.pieces[piece + LOW])
        put(run.trail, o + STEP_HIGH, run.pieces[piece + HIGH])
        state = run.trail[o + STEP_HEAD : o + width]
        if part == 0:
            copy(run.y, state)
        else:
            arrived = between(mechanism, stepper, settings, run, t, state)
            if arrived and keeps_to_constraints(mechanism, settings):
                arrived = project(mechanism, t, state, settings.length, run.counts, False)
            if not arrived:
                return False
        run.counts.recorded += 1
        t = end
    return True
