"""The step loop of all methods: computation, acceptance or rejection of steps, and storage of output states."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from quirk.dynamics.model.revolution_counter import begin_step, continue_from, end_step
from quirk.integrators.control import SMALLEST_ERROR
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.applied import refer
from ..kernels.bodies import finite
from ..kernels.constraint_solve import copy
from ..kernels.friction import align_with_slip
from ..kernels.mechanism import Mechanism
from ..kernels.work_error import work_magnitude
from ..kernels.workspace import METHOD
from .discontinuity_test import needs_search
from .event_location import search_for_events
from .event_sides import determine_signs
from .method_kernels import close, needs_runge_kutta, replan, take
from .run_state import PIECE_SIZE, Restart, RunState, Settings, StepOutcome, StepPosition
from .singular_steps import ends_beside_singular, store_pivots
from .step_control import accepted, advance_indices, choose_end, divided, fixed_step_end, shortest, stalled
from .step_output import buffers_full, pauses, record_step, store_outputs


@kernel
def begin_anew(mechanism: Mechanism, settings: Settings, run: RunState) -> None:
    """Discard the rest of the current step, because loads have changed, and begin a new step.

    The new step begins at the start of the current step or, if the run has paused within it, at the pause; y' is
    evaluated again.
    """
    clock, counts, work = run.clock, run.counts, mechanism.work
    if counts.restarts == Restart.AT_PAUSE:
        state = run.states[: run.y.shape[0]]
        clock.exchanged += work_magnitude(mechanism.forces, run.y, state)
        continue_from(run.counter, 0, state)
        copy(state, run.y)
        clock.t = clock.restart
        if settings.fixed > 0 and fixed_step_end(settings, run) - clock.t <= shortest(settings, run):
            counts.grid += 1
    counts.restarts, counts.position = 0, StepPosition.BETWEEN
    counts.fresh, counts.unsettled, counts.was_rejected = 1, 1, 0
    counts.eventful, counts.retaken, counts.missed, counts.search_delay = 0, 0, 0, 0
    clock.previous_error, clock.cap, clock.cleared = SMALLEST_ERROR, math.inf, -math.inf
    # Pivots at the pause are between those at both ends of the step; values that are too large at most shorten the next
    # step.
    for row in range(work.pivots.shape[0]):
        put(work.pivots_before, row, max(at(work.pivots_before, row), at(work.pivots, row)))
    clock.clearance, clock.earlier, clock.method = 1.0, -math.inf, at(work.summary, METHOD)
    clock.usual = clock.crossing = 0.0


@kernel
def accept_without_search(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> StepOutcome:
    """Return GONE_ON: in a run without event functions, steps are not searched for events."""
    return StepOutcome.GONE_ON


@kernel
def ignore_signs(mechanism: Mechanism, settings: Settings, run: RunState) -> StepOutcome:
    """Return GONE_ON: in a run without event functions, no signs need to be determined at the start of a step."""
    run.counts.unsettled = 0
    return StepOutcome.GONE_ON


@kernel
def try_step(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> StepOutcome:
    """Attempt a step; if its error is within the tolerance, set the position of the run to its end (TAKEN).

    Returns GONE_ON in this case, or if the step must be repeated with another size; otherwise the code of a failure, or
    SUSPECT if the step must be searched for jumps.
    """
    clock, counts = run.clock, run.counts
    h = choose_end(settings, run)
    if not h >= shortest(settings, run):
        return StepOutcome.COLLAPSED
    error = take(mechanism, stepper, settings, run, h)
    h = clock.t_new - clock.t
    if run.stop[0] != 0:
        return StepOutcome.STOPPED
    if counts.singular_within != 0 or needs_runge_kutta(mechanism, stepper, settings, run, h, error < math.inf):
        counts.singular_within = 0
        counts.rejected += 1
        return StepOutcome.SINGULAR
    suspicious = needs_search(mechanism, settings, run, 0.0 if settings.fixed > 0 else error)
    if run.stop[0] != 0:
        return StepOutcome.STOPPED
    if suspicious:
        return StepOutcome.SUSPECT
    if settings.fixed > 0:
        if not error <= 1.0:
            if divided(mechanism, error, run, settings, h):
                return StepOutcome.GONE_ON
            return StepOutcome.OFF_CONSTRAINTS if finite(run.y_new) else StepOutcome.NOT_FINITE
    elif not accepted(error, stepper.exponent, run, h):
        replan(mechanism, stepper, run, h, error < math.inf)
        return StepOutcome.GONE_ON
    elif ends_beside_singular(mechanism, settings, run):
        return StepOutcome.GONE_ON
    refer(mechanism.forces, clock.t_new)
    align_with_slip(mechanism)
    counts.position = StepPosition.TAKEN
    return StepOutcome.GONE_ON


@kernel
def complete(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> bool:
    """Record the last computed step, and make its end the current state of the run.

    Returns False if a state within the recorded step is not finite.
    """
    clock = run.clock
    end_step(run.counter, run.y, run.y_new, clock.t_new - clock.t)
    if not record_step(mechanism, stepper, settings, run):
        return False
    clock.exchanged += work_magnitude(mechanism.forces, run.y, run.y_new)
    copy(run.y_new, run.y)
    store_pivots(mechanism, run)
    close(stepper, settings, run)
    clock.t, run.counts.position = clock.t_new, StepPosition.BETWEEN
    if clock.usual > 0.0:
        clock.h, clock.usual = max(clock.h, clock.usual), 0.0
        replan(mechanism, stepper, run, clock.h, False)
        clock.usual = clock.crossing = 0.0
    advance_indices(settings, run)
    return True


def step_loop(*, watching: bool) -> Callable[..., StepOutcome]:
    """Return the compiled step loop take_steps(mechanism, stepper, settings, run, most_steps).

    If `watching`, the loop searches for events; code without this search compiles faster.
    """
    begin, look = (determine_signs, search_for_events) if watching else (ignore_signs, accept_without_search)

    @kernel
    def attempt(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> StepOutcome:
        """Attempt a step, and search it for events.

        Returns GONE_ON if the step is accepted or must be repeated with another size, and another return code
        otherwise.
        """
        counts = run.counts
        reason = try_step(mechanism, stepper, settings, run)
        if counts.position == StepPosition.BETWEEN:
            return reason
        reason = look(mechanism, stepper, settings, run)
        if counts.position == StepPosition.BETWEEN or reason == StepOutcome.UNDEFINED:
            counts.position = StepPosition.BETWEEN
            return reason
        counts.steps += 1
        begin_step(run.counter, run.y, run.y_new, run.clock.t_new - run.clock.t)
        counts.eventful = 1 if reason == StepOutcome.EVENT else 0
        return StepOutcome.GONE_ON

    @kernel
    def take_steps(
        mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, most_steps: int
    ) -> StepOutcome:
        """Take steps until the run ends or fails, or until `most_steps` have been attempted; return a `StepOutcome`."""
        clock, counts, tried = run.clock, run.counts, 0
        if counts.restarts != Restart.NONE:
            begin_anew(mechanism, settings, run)
        while True:
            if counts.position == StepPosition.BETWEEN:
                if clock.t >= settings.end:
                    return StepOutcome.DONE
                if tried >= most_steps or buffers_full(run) or PIECE_SIZE * counts.piece >= run.pieces.shape[0]:
                    return StepOutcome.AGAIN
                if counts.unsettled != 0:
                    reason = begin(mechanism, settings, run)
                    if reason != StepOutcome.GONE_ON:
                        return reason
                tried += 1
                reason = attempt(mechanism, stepper, settings, run)
                if reason != StepOutcome.GONE_ON:
                    return reason
                if counts.position == StepPosition.BETWEEN:
                    continue
                if counts.pauses != 0 and counts.happened > 0:
                    return StepOutcome.PAUSED
            reason = store_outputs(mechanism, stepper, settings, run)
            if reason != StepOutcome.GONE_ON:
                return reason
            if pauses(run):
                return StepOutcome.PAUSED
            if not complete(mechanism, stepper, settings, run):
                return StepOutcome.LOST_BETWEEN
            if counts.eventful != 0:
                counts.eventful = 0
                return StepOutcome.EVENT
            if stalled(settings, run):
                return StepOutcome.STALLED

    return take_steps


take_steps, take_watched_steps = step_loop(watching=False), step_loop(watching=True)
