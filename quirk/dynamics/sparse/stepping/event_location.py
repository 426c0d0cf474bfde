"""Location of zero crossings of event functions within a step.

All functions are evaluated at the end of each step and, if one is near zero, also at an approximate state in the middle
of the step. If these values indicate that a function may have crossed zero, or do not resolve the function, it is
sampled at equidistant times, at states of the continuous extension projected onto the constraints, and each crossing is
located to round-off. A step with an event that has an action is repeated, to end at the event.
"""

from __future__ import annotations

import math
from typing import Any

from quirk.dynamics.model.revolution_counter import begin_step
from quirk.integrators.breaks import SMALLEST_STEP_ULPS
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import EPSILON
from .crossing_tests import UNRESOLVED, far_from_zero, noise, relative_noise, sign, suspicious
from .event_crossings import next_crossing
from .event_functions import (
    AT_ZERO,
    MOST_CROSSINGS,
    MOST_SAMPLES,
    SAMPLES,
    UNWATCHED,
    WatchedTables,
    energy,
)
from .event_roots import project_watched_state
from .event_scales import update_scales
from .event_sides import AT_ONCE, missing_to_zero, record_crossing
from .event_turns import values_within
from .method_kernels import between, estimate, parts
from .run_state import RunState, Settings, StepOutcome, StepPosition

# Maximum number of repetitions of a step to end at the same event.
MOST_RETAKEN = 12
# Interval within which events are simultaneous, as a multiple of the smallest step.
TOGETHER = 2.0
# Distance from an event at which a step counts as ending at it, as a multiple of that interval.
ABOUT = 4.0
# Number of successive steps that end just before an event, by round-off, after which the event is taken to have
# happened.
MOST_MISSED = 3
# Fractions of a step at which functions of unknown rate are evaluated, to decide whether it is sampled; uneven, so that
# an oscillation is not met at the same phase.
PROBED = (0.11, 0.29, 0.67, 0.83)


@kernel
def resolved(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, h: float) -> bool:
    """Return whether a step of size h resolves the event functions whose rates are unknown.

    Their values at the fractions PROBED of the step are compared with the parabola through its ends and middle.
    """
    watched, any_unknown = run.watched, False
    for e in range(watched.side.shape[0]):
        any_unknown = any_unknown or (watched.built_in[e] == 0 and math.isnan(at(watched.end, 2 * e + 1)))
    if not any_unknown:
        return True
    for x in PROBED:
        estimate(stepper, run, x, h, watched.state)
        values_within(mechanism, settings, run, run.clock.t + x * h, watched.state, watched.samples)
        for e in range(watched.side.shape[0]):
            if watched.built_in[e] != 0 or not math.isnan(at(watched.end, 2 * e + 1)):
                continue
            g0, gm, g1 = at(watched.start, 2 * e), at(watched.middle, 2 * e), at(watched.end, 2 * e)
            parabola = (1.0 - x) * (1.0 - 2.0 * x) * g0 + 4.0 * x * (1.0 - x) * gm + x * (2.0 * x - 1.0) * g1
            largest = max(abs(g0), abs(gm), abs(g1))
            if abs(at(watched.samples, 2 * e) - parabola) > UNRESOLVED * largest:
                return False
    return True


@kernel
def sample(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> None:
    """Compute values and rates of all event functions at the ends of run.counts.samples equal intervals of the step."""
    watched, clock, samples = run.watched, run.clock, run.counts.samples
    size, h = 2 * watched.side.shape[0], clock.t_new - clock.t
    for o in range(size):
        put(watched.samples, o, at(watched.start, o))
        put(watched.samples, samples * size + o, at(watched.end, o))
    run.counts.position = StepPosition.TAKEN
    for m in range(1, samples):
        t = clock.t + h * m / samples
        between(mechanism, stepper, settings, run, t, watched.state)
        run.counts.position = StepPosition.DENSE
        project_watched_state(mechanism, settings, run, t)
        values_within(mechanism, settings, run, t, watched.state, watched.middle)
        for o in range(size):
            put(watched.samples, m * size + o, at(watched.middle, o))


@kernel
def correct_first_signs(settings: Settings, run: RunState) -> None:
    """Correct the signs, in the first step of a run, of event functions that start at zero and have unknown rates.

    The sign becomes the sign of the mean rate in the first sampled interval, so that a crossing at the end of one run
    is not recorded again at the start of the next one.
    """
    watched, clock = run.watched, run.clock
    if clock.t > settings.start:
        return
    for e in range(watched.side.shape[0]):
        if not math.isnan(at(watched.start, 2 * e + 1)) or watched.positive[e] != 0:
            continue
        g, later = at(watched.start, 2 * e), at(watched.samples, 2 * (watched.side.shape[0] + e))
        rate = (later - g) * run.counts.samples / (clock.t_new - clock.t)
        if abs(g) <= abs(rate) * AT_ONCE * (clock.requested - settings.start):
            watched.side[e] = sign(rate)


@kernel
def first_action(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> float:
    """Return the time (s) of the first event with an action in the step; infinity if there is none.

    The index of its event function is stored in run.counts.capped.
    """
    watched, first = run.watched, math.inf
    for e in range(watched.side.shape[0]):
        if watched.acts[e] == 0:
            continue
        side, since = watched.side[e], run.clock.t
        while True:
            t = next_crossing(mechanism, stepper, settings, run, e, side, since)
            if not t < first:
                break
            side, since = -side, t
            if watched.direction[e] * side >= 0.0:
                first, run.counts.capped = t, e
                break
    return first


@kernel
def note_crossings(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int) -> bool:
    """Record the zero crossings of event function e in the step; return whether a crossing triggers an action.

    Crossings in the direction that is not watched are recorded, too, because the rest of the step may be discarded.
    """
    watched, since, acts = run.watched, run.clock.t, False
    while run.counts.happened < MOST_CROSSINGS:
        t = next_crossing(mechanism, stepper, settings, run, e, watched.side[e], since)
        if t == math.inf:
            break
        side = -watched.side[e]
        watched.side[e], since = side, t
        if watched.direction[e] * side < 0.0:
            record_crossing(run, UNWATCHED - e, t, side, math.nan)
            continue
        if watched.acts[e] == 0:
            between(mechanism, stepper, settings, run, t, watched.state)
            project_watched_state(mechanism, settings, run, t)
            total = energy(mechanism, watched, t, watched.state, settings.alpha, settings.beta)
            record_crossing(run, e, t, side, total)
        else:
            # The step ends here: values beyond the crossing are round-off.
            watched.hit[e], acts = AT_ZERO, True
            break
    return acts


@kernel
def rate_at_end(run: RunState, e: int) -> float:
    """Return the rate of event function e at the end of a sampled step.

    If the rate is unknown, the difference quotient over the last sampled interval is returned.
    """
    watched, clock, samples = run.watched, run.clock, run.counts.samples
    rate = at(watched.end, 2 * e + 1)
    if math.isnan(rate):
        before = at(watched.samples, 2 * (watched.side.shape[0] * (samples - 1) + e))
        rate = (at(watched.end, 2 * e) - before) * samples / (clock.t_new - clock.t)
    return rate


@kernel
def about_to_cross(settings: Settings, run: RunState, e: int, tolerance: float) -> bool:
    """Return whether a crossing of event function e just after the end of the step is counted as a crossing at its end.

    This is so if a further step up to the crossing would be too short for the round-off of times. `tolerance` is the
    interval (s) within which events count as simultaneous.
    """
    watched, clock, last = run.watched, run.clock, run.clock.t_new >= settings.end
    g, side, rate = at(watched.end, 2 * e), watched.side[e], rate_at_end(run, e)
    open_to = watched.hit[e] == 0 and watched.direction[e] * side <= 0.0
    # A function that is held at zero also has a rate, of round-off.
    moves = -side * rate * (clock.t_new - clock.t) > noise(settings, run, e)
    open_to = open_to and ((last and moves) or (watched.acts[e] != 0 and run.counts.retaken > 0))
    negligible = relative_noise(settings, watched, e)
    about = side * rate < 0.0 and side * g + side * rate * ABOUT * tolerance <= negligible
    near = side * g <= noise(settings, run, e) or clock.t_new - clock.t <= ABOUT * tolerance
    near = near or run.counts.missed >= MOST_MISSED
    about = about or (run.counts.retaken > 0 and run.counts.capped == e and near)
    return open_to and about


@kernel
def record_crossings(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, tolerance: float
) -> StepOutcome:
    """Record the zero crossings in the step; return EVENT if a crossing at its end triggers an action, else GONE_ON.

    Crossings at times that differ by less than `tolerance` (s) are simultaneous.
    """
    watched, clock, reason = run.watched, run.clock, StepOutcome.GONE_ON
    for e in range(watched.side.shape[0]):
        if note_crossings(mechanism, stepper, settings, run, e):
            reason = StepOutcome.EVENT
        if not about_to_cross(settings, run, e, tolerance):
            continue
        side = watched.side[e]
        watched.side[e] = -side
        if watched.acts[e] != 0:
            watched.hit[e], reason = AT_ZERO, StepOutcome.EVENT
        else:
            total = energy(mechanism, watched, clock.t_new, run.y_new, settings.alpha, settings.beta)
            record_crossing(run, e, clock.t_new, -side, total)
    return reason


@kernel
def any_near_zero(watched: WatchedTables, h: float, long_step: bool) -> bool:
    """Return whether an event function may be near zero in a step of size h (s).

    The signs at the start of the step are stored. `long_step` is true for a step that is recorded in several parts;
    functions with unknown rates then count as near zero.
    """
    near = False
    for e in range(watched.side.shape[0]):
        watched.side_at_start[e] = watched.side[e]
        unknown = math.isnan(at(watched.end, 2 * e + 1))
        near = near or not far_from_zero(watched, e, h) or (long_step and unknown)
    return near


@kernel
def must_be_sampled(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, near_zero: bool, long_step: bool
) -> bool:
    """Return whether event functions must be sampled within the step, because one of them may cross zero.

    `near_zero` is the result of `any_near_zero`; `long_step` is true for a step that is recorded in several parts.
    """
    watched, clock, h = run.watched, run.clock, run.clock.t_new - run.clock.t
    any_may = run.counts.retaken > 0 or clock.t_new >= settings.end
    any_may = any_may or (near_zero and (long_step or not resolved(mechanism, stepper, settings, run, h)))
    for e in range(watched.side.shape[0]):
        # For all functions, because `suspicious` also stores the sign of a function that has left zero.
        may = near_zero and suspicious(settings, run, e, h)
        any_may = any_may or may
    return any_may


@kernel
def sample_count(settings: Settings, h: float, may: bool) -> int:
    """Return the number of equal intervals of a step of size h (s) at whose ends event functions are sampled.

    `may` is whether the values at the ends and in the middle of the step show that a function may cross zero. Otherwise
    the result is 1, no sampling, unless event functions may vary faster than the motion, so that three values are not
    sufficient.
    """
    least = SAMPLES if may else 1
    return max(least, min(math.ceil(h / settings.watch_interval), MOST_SAMPLES))


@kernel
def start_next_step(mechanism: Mechanism, settings: Settings, run: RunState) -> None:
    """Copy the values of event functions from the end of a step to the start of the next; update their magnitudes.

    A step that ends at an event may, by inaccuracy, end just before the zero. How far is stored, so that the next step
    does not find the event again.
    """
    watched, count = run.watched, run.watched.side.shape[0]
    for e in range(count):
        watched.change[e] = abs(at(watched.end, 2 * e) - at(watched.start, 2 * e))
    for o in range(2 * count):
        put(watched.start, o, at(watched.end, o))
    for e in range(count):
        watched.missing[e] = missing_to_zero(watched, e)
    update_scales(mechanism, settings, run, run.y_new, run.clock.t_new - run.clock.t)


@kernel
def search_for_events(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> StepOutcome:
    """Search an accepted step for events; return the reason to leave the step loop, or GONE_ON.

    If an event with an action occurs within the step, the step must be repeated to end at this event: its time is
    stored in clock.cap, and counts.position becomes BETWEEN.
    """
    watched, clock, counts = run.watched, run.clock, run.counts
    h = clock.t_new - clock.t
    if watched.side.shape[0] == 0:
        return StepOutcome.GONE_ON
    begin_step(run.counter, run.y, run.y_new, h)
    known = values_within(mechanism, settings, run, clock.t_new, run.y_new, watched.end)
    long_step = parts(mechanism, stepper, settings, run) > 1
    near = any_near_zero(watched, h, long_step)
    if near:
        estimate(stepper, run, 0.5, h, watched.state)
        project_watched_state(mechanism, settings, run, clock.t + 0.5 * h)
        known = values_within(mechanism, settings, run, clock.t + 0.5 * h, watched.state, watched.middle) and known
    if run.stop[0] != 0:
        counts.position = StepPosition.BETWEEN
        return StepOutcome.STOPPED
    if not known:
        return StepOutcome.UNDEFINED
    together = TOGETHER * SMALLEST_STEP_ULPS * EPSILON * max(abs(clock.t), abs(clock.t_new))
    reason = StepOutcome.GONE_ON
    counts.samples = sample_count(settings, h, must_be_sampled(mechanism, stepper, settings, run, near, long_step))
    if counts.samples > 1:
        sample(mechanism, stepper, settings, run)
        correct_first_signs(settings, run)
        first = first_action(mechanism, stepper, settings, run)
        first = max(first, clock.t + together)
        if first < clock.t_new - together and counts.retaken < MOST_RETAKEN:
            clock.cap = first
            counts.retaken += 1
            counts.position = StepPosition.BETWEEN
            return StepOutcome.GONE_ON
        reason = record_crossings(mechanism, stepper, settings, run, together)
        values_within(mechanism, settings, run, clock.t_new, run.y_new, watched.end)
        # States within the step must be bit-identical with those of a run without events.
        counts.position = StepPosition.TAKEN
    start_next_step(mechanism, settings, run)
    counts.missed = counts.missed + 1 if counts.retaken > 0 and reason != StepOutcome.EVENT else 0
    clock.cap, counts.retaken = math.inf, 0
    return reason
