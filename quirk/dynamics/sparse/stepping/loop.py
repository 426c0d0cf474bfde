"""The step loop of all methods: take, accept or reject steps, and compute output states within them.

A method is represented by compiled functions and a record with its data, the stepper. `march_of` generates its step
loop, which is compiled at its first use.

* ``take(mechanism, stepper, settings, run, h)`` fills run.y_new with the state at clock[T_NEW], projected onto the
  constraints if the run uses projection. It returns the ratio of error to tolerance, infinity if the state cannot be
  computed, 0 for fixed steps; and may shorten the step.
* ``between(mechanism, stepper, settings, run, t, state)`` fills a state within the step, and returns whether it is
  finite.
* ``estimate(stepper, run, x, h, state)`` fills an approximate state at fraction x of a step, without evaluations.
* ``close(stepper, settings, run)`` copies the results at the end of a step to the start of the next step.
* ``parts(mechanism, stepper, settings, run)`` returns the number of parts into which a recorded step is divided,
  at most MOST_PARTS: for methods whose steps are too long for the Runge-Kutta method that integrates variations.

The field `exponent` of the record is the inverse of the order of the error in the step size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.dynamics.model.revolution_counter import count_from, look_ahead, note_turns, turn_on
from quirk.integrators.control import FARTHEST_CORRECTION, LARGEST_CORRECTION, SMALLEST_ERROR
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.applied import refer
from ..kernels.bodies import finite, normalise
from ..kernels.evaluate import evaluate
from ..kernels.friction import turn_on_slip
from ..kernels.impose import copy
from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from ..kernels.redundancy import watch
from ..kernels.work import CORRECTION
from ..kernels.work_error import exchanged, work_tolerance
from .discontinuity_probe import carry_on
from .discontinuity_test import suspect
from .event_functions import ROOM, SAMPLES
from .event_location import crossings_of, take_sides
from .run_state import (
    AGAIN,
    ASKED,
    AT_THE_PAUSE,
    BEST_RANK,
    BETWEEN,
    CAP,
    CLEARED,
    COLLAPSED,
    DENSE,
    DONE,
    EARLIER,
    EVALUATIONS,
    EVENT,
    EVENTFUL,
    EXCHANGED,
    FRESH,
    GONE_ON,
    GRID,
    HAPPENED,
    HIGH,
    KEPT,
    LOST_BETWEEN,
    LOW,
    MISSED,
    NOT_FINITE,
    OFF_BETWEEN,
    OFF_CONSTRAINTS,
    PAUSED,
    PAUSES,
    PIECE,
    PIECE_SIZE,
    PIVOT,
    PREVIOUS,
    REJECTED,
    REST,
    RESTART,
    RESTARTS,
    RETAKEN,
    SINGULAR,
    SINGULAR_WITHIN,
    STALLED,
    STEP_END,
    STEP_HEAD,
    STEP_HIGH,
    STEP_LOW,
    STEP_START,
    STEPS,
    STOPPED,
    SUSPECT,
    T_NEW,
    TAKEN,
    TRAILED,
    UNDEFINED,
    UNSETTLED,
    WAS_REJECTED,
    WITHIN,
    RunState,
    Settings,
    T,
)
from .step_control import (
    accepted,
    choose_end,
    ends_beside_singular,
    keep_before_singular,
    keeps_to_constraints,
    passed_on,
    shortest,
    stalled,
    whole_step,
)

Kernel = Callable[..., Any]

# Maximum number of crossings of a function in a step that samples can resolve.
MOST_NOTED = 2 * SAMPLES
# Maximum number of parts of a recorded step.
MOST_PARTS = 32


@kernel
def wanted(settings: Settings, run: RunState) -> bool:
    """Whether an output state of this step has not been stored yet: at its end, or at a requested output time."""
    if settings.every:
        return run.counts[ASKED] < run.counts[STEPS]
    return run.counts[ASKED] < run.asked.shape[0] and run.asked[run.counts[ASKED]] <= run.clock[T_NEW]


@kernel
def pauses(run: RunState) -> bool:
    """Whether the run pauses within the step just taken, because all output times have been reached.

    The run does not pause at the end of the step if an event with an action occurs at this time.
    """
    counts, last = run.counts, run.asked.shape[0] - 1
    if counts[PAUSES] == 0 or counts[ASKED] <= last:
        return False
    return run.asked[last] < run.clock[T_NEW] or counts[EVENTFUL] == 0


@kernel
def begin_anew(mechanism: Mechanism, settings: Settings, run: RunState) -> None:
    """Begin a new step at the time of the pause; discard the rest of the present step, because loads have changed."""
    clock, counts, work = run.clock, run.counts, mechanism.work
    if counts[RESTARTS] == AT_THE_PAUSE:
        state = run.states[: run.y.shape[0]]
        clock[EXCHANGED] += exchanged(mechanism.forces, run.y, state)
        count_from(run.counter, 0, state)
        copy(state, run.y)
        clock[T] = clock[RESTART]
        if settings.fixed > 0 and whole_step(settings, run) - clock[T] <= shortest(settings, run):
            counts[GRID] += 1
    counts[RESTARTS], counts[WITHIN] = 0, BETWEEN
    counts[FRESH], counts[UNSETTLED], counts[WAS_REJECTED] = 1, 1, 0
    counts[EVENTFUL], counts[RETAKEN], counts[MISSED], counts[REST] = 0, 0, 0, 0
    clock[PREVIOUS], clock[CAP], clock[CLEARED] = SMALLEST_ERROR, math.inf, -math.inf
    # Pivots at the pause are between those at both ends of the step; values that are too large at most shorten the next
    # step.
    for row in range(work.pivots.shape[0]):
        put(work.pivots_before, row, max(at(work.pivots_before, row), at(work.pivots, row)))
    clock[PIVOT], clock[EARLIER] = 1.0, -math.inf


@kernel
def projects(mechanism: Mechanism, settings: Settings, run: RunState) -> bool:
    """Whether the state at the end of the present step is projected onto the constraints."""
    return keeps_to_constraints(mechanism, settings) and (run.counts[STEPS] + 1) % settings.interval == 0


@kernel
def land(mechanism: Mechanism, settings: Settings, run: RunState, away: bool) -> bool:
    """Normalize the quaternions in run.y_new and, if required, project the state onto the constraints.

    Returns False if the state is not finite, or too far from the constraints. `away` is true if the factorization in
    `work` belongs to a state that is not close to y_new.
    """
    arrived, y = finite(run.y_new), run.y_new
    normalise(mechanism.constants, y)
    if arrived and projects(mechanism, settings, run):
        arrived = project(mechanism, run.clock[T_NEW], y, settings.length, run.counts, away)
        farthest = FARTHEST_CORRECTION if settings.fixed > 0 else LARGEST_CORRECTION
        arrived = arrived and not at(mechanism.work.summary, CORRECTION) > farthest
    return arrived


@kernel
def slope_at(
    mechanism: Mechanism, settings: Settings, run: RunState, t: float, y: np.ndarray, slope: np.ndarray, on_rows: bool
) -> None:
    """Compute y' at time t and state y, and store it in `slope`.

    If y satisfies the constraints, `on_rows` must be true; the selection of independent rows is then checked.
    """
    evaluate(mechanism, t, y, settings.alpha, settings.beta, slope)
    run.counts[EVALUATIONS] += 1
    if on_rows and watch(mechanism, t, y, run.counts[BEST_RANK]):
        evaluate(mechanism, t, y, settings.alpha, settings.beta, slope)
        run.counts[EVALUATIONS] += 1


@kernel
def tolerance_of_work(
    mechanism: Mechanism, settings: Settings, run: RunState, y: np.ndarray, slope: np.ndarray
) -> tuple[float, float]:
    """Return the tolerance of the work in a step: a part in J, and a part per step size in W; see `work_error`.

    The state y, whose rates are `slope`, must have been evaluated last.
    """
    before = run.clock[EXCHANGED] + exchanged(mechanism.forces, run.y, y)
    h = run.clock[T_NEW] - run.clock[T]
    return work_tolerance(mechanism, y, slope, before, h, settings.rtol, settings.atol)


@kernel
def carry_functions_on(settings: Settings, run: RunState, stages: int) -> None:
    """Copy the inputs and outputs of user functions at the last stage to the start of the next step."""
    if settings.gap < math.inf:
        carry_on(run.functions, stages)


@kernel
def full(run: RunState) -> bool:
    """Whether the buffers have no space for another step or its events."""
    if (
        run.trail.shape[0] > 0
        and (run.counts[TRAILED] + MOST_PARTS) * (STEP_HEAD + run.y.shape[0]) > run.trail.shape[0]
    ):
        return True
    return run.counts[HAPPENED] > 0 and run.counts[HAPPENED] + MOST_NOTED * run.watched.side.shape[0] > ROOM


@kernel
def one_part(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
    """Return 1: a recorded step is not divided."""
    return 1


@kernel
def look_at_nothing(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
    """Accept a step in a run without event functions; return the code GONE_ON, with which the run continues."""
    return GONE_ON


@kernel
def take_no_sides(mechanism: Mechanism, settings: Settings, run: RunState) -> int:
    """Start a step in a run without event functions; return the code GONE_ON, with which the run continues."""
    run.counts[UNSETTLED] = 0
    return GONE_ON


def march_of(
    take: Kernel,
    between: Kernel,
    estimate: Kernel,
    close: Kernel,
    parts: Kernel = one_part,
    *,
    watching: bool,
    planned: bool = False,
) -> Kernel:
    """Return the step loop march(mechanism, stepper, settings, run, most_steps) of a method.

    The loop takes steps until the run ends or fails, or until `most_steps` steps have been tried, and returns a return
    code of `run_state`. If `watching`, it searches for events; code without this search compiles faster. `planned` is
    true if the ends of steps near singular configurations are chosen for the stages of explicit methods.
    """
    look = crossings_of(between, estimate, parts) if watching else look_at_nothing
    begin = take_sides if watching else take_no_sides

    @kernel
    def attempt(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
        """Try a step.

        Returns GONE_ON if the step is accepted or must be repeated with another size, and another return code
        otherwise.
        """
        clock, counts = run.clock, run.counts
        h = choose_end(settings, run)
        if not h >= shortest(settings, run):
            return COLLAPSED
        error = take(mechanism, stepper, settings, run, h)
        h = clock[T_NEW] - clock[T]
        if run.stop[0] != 0:
            return STOPPED
        if counts[SINGULAR_WITHIN] != 0:
            counts[SINGULAR_WITHIN] = 0
            counts[REJECTED] += 1
            return SINGULAR
        suspicious = suspect(mechanism, settings, run, 0.0 if settings.fixed > 0 else error)
        if run.stop[0] != 0:
            return STOPPED
        if suspicious:
            return SUSPECT
        if settings.fixed > 0:
            if not error <= 1.0:
                return OFF_CONSTRAINTS if finite(run.y_new) else NOT_FINITE
        elif not accepted(error, stepper.exponent, run, h):
            if planned:
                keep_before_singular(mechanism, run, h)
            return GONE_ON
        elif ends_beside_singular(mechanism, settings, run):
            return GONE_ON
        refer(mechanism.forces, clock[T_NEW])
        turn_on_slip(mechanism)
        counts[WITHIN] = TAKEN
        reason = look(mechanism, stepper, settings, run)
        if counts[WITHIN] == BETWEEN or reason == UNDEFINED:
            counts[WITHIN] = BETWEEN
            return reason
        counts[STEPS] += 1
        look_ahead(run.counter, run.y, run.y_new, h)
        counts[EVENTFUL] = 1 if reason == EVENT else 0
        return GONE_ON

    @kernel
    def write_down(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
        """Store the output states within the step just taken; return a return code of `run_state`."""
        clock, counts, size = run.clock, run.counts, run.y.shape[0]
        while wanted(settings, run):
            if counts[KEPT] >= run.times.shape[0]:
                return AGAIN
            t = clock[T_NEW] if settings.every else run.asked[counts[ASKED]]
            state = run.states[counts[KEPT] * size : (counts[KEPT] + 1) * size]
            within = t < clock[T_NEW]
            if within:
                arrived = between(mechanism, stepper, settings, run, t, state)
                if run.stop[0] != 0:
                    return STOPPED
                counts[WITHIN] = DENSE
                if not arrived:
                    return LOST_BETWEEN
            else:
                copy(run.y_new, state)
            astray = keeps_to_constraints(mechanism, settings) and (within or counts[STEPS] % settings.interval != 0)
            if astray and not project(mechanism, t, state, settings.length, counts, False):
                return OFF_BETWEEN
            note_turns(run.counter, counts[KEPT], run.y, state, t - clock[T])
            run.times[counts[KEPT]] = t
            counts[KEPT] += 1
            counts[ASKED] += 1
        return GONE_ON

    @kernel
    def leave_trail(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> bool:
        """Record the step just taken, if steps are recorded; return False if a state within it is not finite."""
        if run.trail.shape[0] == 0:
            return True
        clock, width, piece = run.clock, STEP_HEAD + run.y.shape[0], PIECE_SIZE * run.counts[PIECE]
        count = parts(mechanism, stepper, settings, run)
        t, h = clock[T], (clock[T_NEW] - clock[T]) / count
        for part in range(count):
            o, end = run.counts[TRAILED] * width, clock[T_NEW] if part + 1 == count else clock[T] + (part + 1) * h
            put(run.trail, o + STEP_START, t)
            put(run.trail, o + STEP_END, end)
            put(run.trail, o + STEP_LOW, run.pieces[piece + LOW])
            put(run.trail, o + STEP_HIGH, run.pieces[piece + HIGH])
            state = run.trail[o + STEP_HEAD : o + width]
            if part == 0:
                copy(run.y, state)
            else:
                found = between(mechanism, stepper, settings, run, t, state)
                if found and keeps_to_constraints(mechanism, settings):
                    found = project(mechanism, t, state, settings.length, run.counts, False)
                if not found:
                    return False
            run.counts[TRAILED] += 1
            t = end
        return True

    @kernel
    def march(
        mechanism: Mechanism,
        stepper: Any,
        settings: Settings,
        run: RunState,
        most_steps: int,
    ) -> int:
        """Take steps until the run ends or fails, or `most_steps` have been tried; return a code of `run_state`."""
        clock, counts, tried = run.clock, run.counts, 0
        if counts[RESTARTS] != 0:
            begin_anew(mechanism, settings, run)
        while True:
            if counts[WITHIN] == BETWEEN:
                if clock[T] >= settings.end:
                    return DONE
                if tried >= most_steps or full(run) or PIECE_SIZE * counts[PIECE] >= run.pieces.shape[0]:
                    return AGAIN
                if counts[UNSETTLED] != 0:
                    reason = begin(mechanism, settings, run)
                    if reason != GONE_ON:
                        return reason
                tried += 1
                reason = attempt(mechanism, stepper, settings, run)
                if reason != GONE_ON:
                    return reason
                if counts[WITHIN] == BETWEEN:
                    continue
                if counts[PAUSES] != 0 and counts[HAPPENED] > 0:
                    return PAUSED
            reason = write_down(mechanism, stepper, settings, run)
            if reason != GONE_ON:
                return reason
            if pauses(run):
                return PAUSED
            turn_on(run.counter, run.y, run.y_new, clock[T_NEW] - clock[T])
            if not leave_trail(mechanism, stepper, settings, run):
                return LOST_BETWEEN
            clock[EXCHANGED] += exchanged(mechanism.forces, run.y, run.y_new)
            copy(run.y_new, run.y)
            copy(mechanism.work.pivots_before, mechanism.work.pivots_earlier)
            copy(mechanism.work.pivots, mechanism.work.pivots_before)
            clock[EARLIER] = clock[T]
            clock[PIVOT] = 1.0
            close(stepper, settings, run)
            clock[T], counts[WITHIN] = clock[T_NEW], BETWEEN
            passed_on(settings, run)
            if counts[EVENTFUL] != 0:
                counts[EVENTFUL] = 0
                return EVENT
            if stalled(settings, run):
                return STALLED

    return march
