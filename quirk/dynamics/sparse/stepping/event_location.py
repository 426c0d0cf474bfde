"""Location of zero crossings of event functions within a step.

All functions are evaluated at the end of each step and, if one is near zero, also in its middle, at the state given by
the cubic Hermite interpolant of the step. If these values indicate that a function may have crossed zero, or do not
resolve the function, the continuous extension of the step is sampled, with states projected onto the constraints, and
each crossing is located to round-off. A step with an event that has an action is repeated, to end at the event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from quirk.integrators.breaks import SMALLEST_STEP_ULPS
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from ..kernels.redundancy import EPSILON
from .event_functions import (
    AT_ZERO,
    BY_A_JUMP,
    NOTED,
    ROOM,
    SAMPLES,
    TOTAL,
    WAY,
    WHEN,
    WHICH,
    WatchedTables,
    energy,
    prepare,
    refer_to,
    value_of,
    values,
)
from .run_state import (
    BETWEEN,
    CAP,
    CAPPED,
    DENSE,
    EVENT,
    GONE_ON,
    HAPPENED,
    MISSED,
    REQUESTED,
    RETAKEN,
    STOPPED,
    T_NEW,
    TAKEN,
    UNDEFINED,
    UNSETTLED,
    WITHIN,
    RunState,
    Settings,
    T,
)
from .step_control import keeps_to_constraints

Kernel = Callable[..., Any]

# Maximum number of root-finding iterations per crossing, which is located between neighboring floats.
MOST_ITERATIONS = 100
# Number of golden-section steps in the search for the minimum of a function near zero.
DESCENTS = 40
GOLDEN = 0.3819660112501051
# Maximum number of repetitions of a step to end at the same event.
MOST_RETAKEN = 12
# Interval within which events are simultaneous, as a multiple of the smallest step.
TOGETHER = 2.0
# Distance from an event at which a step counts as ending at it, as a multiple of that interval.
ABOUT = 4.0
# Number of successive steps that end just before an event, by round-off, after which the event is taken to have
# happened.
MOST_MISSED = 3
# Distance from zero, over its change in the step, beyond which a function cannot cross in the step.
FAR = 4.0
# Crossings by less than this fraction of the largest magnitude of a function are round-off.
NOISE = 1e-14
# Fraction of the duration of a run in which a function that starts at zero counts as not moving.
AT_ONCE = 1e-13
# A function that has just crossed counts as still zero within this fraction of its largest magnitude.
AT_ZERO_STILL = 1e-9
# A function is held at zero after its event if its rate is below this fraction of the rate at the crossing, which is
# the round-off of an impulse.
HELD = 1e-13
# Deviation of a function within a step from its interpolant, over its largest magnitude, beyond which the step is
# sampled.
UNRESOLVED = 0.25
# Fractions of a step at which functions of unknown rate are evaluated to decide this; uneven, so that an oscillation is
# not met at the same phase.
PROBED = (0.11, 0.29, 0.67, 0.83)
# A function counts as zero at the start of a search below this fraction of its value at the end.
AS_GOOD_AS_ZERO = 1e-6


@kernel
def onto_constraints(mechanism: Mechanism, settings: Settings, run: RunState, t: float) -> None:
    """Project the state in run.watched at time t onto the constraints, if the run uses projection."""
    if keeps_to_constraints(mechanism, settings):
        project(mechanism, t, run.watched.state, settings.length, run.counts, False)


@kernel
def noise(settings: Settings, watched: WatchedTables, e: int) -> float:
    """Return the magnitude below which values of event function e are not significant.

    Smaller values are due to round-off or to the drift of constraints.
    """
    drifts = settings.interval <= 0 and (settings.alpha > 0.0 or settings.beta > 0.0)
    return (max(NOISE, settings.rtol) if drifts else NOISE) * watched.scale[e]


@kernel
def far(watched: WatchedTables, e: int, h: float) -> bool:
    """Whether event function e is too far from zero at both ends of a step of size h to cross zero within the step."""
    g0, r0, g1, r1 = (
        at(watched.start, 2 * e), at(watched.start, 2 * e + 1), at(watched.end, 2 * e), at(watched.end, 2 * e + 1),
    )  # fmt: skip
    moves = max(abs(g1 - g0), watched.change[e])
    if not math.isnan(r0):
        moves = max(moves, max(abs(r0), abs(r1)) * h)
    side = watched.side[e]
    return watched.built_in[e] != 0 and side != 0.0 and min(side * g0, side * g1) > FAR * moves


@kernel
def may_cross(side: float, g0: float, r0: float, g1: float, r1: float, h: float) -> bool:
    """Whether a function with the sign `side` may cross zero between two times that are h apart.

    g0 and g1 are its values at these times, r0 and r1 its rates.
    """
    a, b, p, q = side * g0, side * g1, side * r0 * h, side * r1 * h
    if not (p < 0.0 < q):
        return False
    # For a convex function both tangents meet below its minimum.
    s = (b - q - a) / (p - q)
    return a + p * s <= 0.0


@kernel
def may_cross_between(side: float, before: float, g0: float, g1: float, after: float) -> bool:
    """Whether a function of unknown rate may cross zero between two times, at which it has the sign `side`.

    Its values `before`, g0, g1 and `after` belong to four equidistant times; a crossing is sought between the inner
    two, of g0 and g1. Either `before` or `after` may be NaN. A convex function lies above the lines through the outer
    pairs of values.
    """
    p, q = side * (g0 - before), side * (after - g1)
    if math.isnan(p):
        return q > 0.0 and side * g1 - q <= 0.0
    if math.isnan(q):
        return p < 0.0 and side * g0 + p <= 0.0
    return may_cross(side, g0, side * p, g1, side * q, 1.0)


@kernel
def dips(side: float, g0: float, g1: float, g2: float) -> bool:
    """Whether the parabola through three equidistant values changes sign between the outer two.

    The values g0, g1 and g2 are in order of time, and `side` is the sign of the function at both ends.
    """
    a, b, c = side * g0, side * g1, side * g2
    bend, slope = a - 2.0 * b + c, 0.5 * (c - a)
    return bend > 0.0 and abs(slope) < bend and b - 0.5 * slope * slope / bend <= 0.0


@kernel
def unresolved(g0: float, r0: float, gm: float, rm: float, g1: float, r1: float, h: float) -> bool:
    """Whether a function varies too fast to be resolved by its values and rates at both ends and the middle of a step.

    g0, gm and g1 are its values and r0, rm and r1 its rates at the start, middle and end of a step of size h.
    """
    largest = max(abs(g0), abs(gm), abs(g1))
    value, rate = 0.5 * (g0 + g1) + 0.125 * h * (r0 - r1), 1.5 * (g1 - g0) / h - 0.25 * (r0 + r1)
    return max(abs(gm - value), abs(rm - rate) * h) > UNRESOLVED * largest


@kernel
def on_side(side: float, ga: float, gb: float) -> float:
    """Return the value of a function at the start of an interval that is searched for a root.

    The value is `ga`. If `ga` counts as zero, it is replaced by the magnitude of `gb`, the value at the end, with the
    sign `side`: if a function is zero at the start, leaves zero and returns, a search that began with zero would find
    the start itself.
    """
    return ga if side * ga > AS_GOOD_AS_ZERO * abs(gb) else side * abs(gb)


@kernel
def note(run: RunState, e: int, t: float, way: float, total: float) -> None:
    """Record that event function e crosses zero at time t, with total energy `total`, J.

    The direction `way` is 1 if the function rises and -1 if it falls.
    """
    o = NOTED * run.counts[HAPPENED]
    put(run.watched.noted, o + WHEN, t)
    put(run.watched.noted, o + WHICH, float(e))
    put(run.watched.noted, o + WAY, way)
    put(run.watched.noted, o + TOTAL, total)
    run.counts[HAPPENED] += 1


@kernel
def sign(x: float) -> float:
    """Return the sign of x: -1, 0 or 1, and 0 for NaN."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


@kernel
def take_sides(mechanism: Mechanism, settings: Settings, run: RunState) -> int:
    """Determine the sign of each event function at the start of a step; return the code EVENT, GONE_ON or UNDEFINED.

    If the sign differs from that at the end of the last step, the state has jumped, and a crossing is recorded, except
    for an event whose own action caused the jump. A function that is zero gets the sign of its rate.
    """
    watched, clock, reason = run.watched, run.clock, GONE_ON
    run.counts[UNSETTLED] = 0
    if not values(mechanism, watched, clock[T], run.y, settings.alpha, settings.beta, watched.start):
        return UNDEFINED
    refer_to(watched, clock[T], watched.start)
    for e in range(watched.side.shape[0]):
        g, rate, before = at(watched.start, 2 * e), at(watched.start, 2 * e + 1), watched.side[e]
        watched.scale[e] = max(watched.scale[e], abs(g))
        if watched.positive[e] != 0:
            watched.side[e] = 1.0
            continue
        still = abs(g) <= max(abs(rate) * AT_ONCE * (clock[REQUESTED] - settings.start), noise(settings, watched, e))
        speed, watched.at_speed[e] = watched.at_speed[e], 0.0
        own = speed > 0.0
        if still or (own and abs(g) <= AT_ZERO_STILL * watched.scale[e]):
            # The rate of a quantity that is held constant, such as the gap of a closed contact, is round-off and is
            # ignored.
            moves = abs(rate) * (clock[REQUESTED] - settings.start) > noise(settings, watched, e)
            if moves and abs(rate) > HELD * speed:
                watched.side[e] = sign(rate)
            elif own and abs(g) > 0.5 * noise(settings, watched, e):  # so that round-off keeps its sign
                watched.side[e] = sign(g)
            else:
                watched.side[e] = before
            continue
        watched.side[e] = sign(g)
        if not own and before * g < 0.0 and watched.direction[e] * g >= 0.0:
            if watched.acts[e] == 0:
                total = energy(mechanism, watched, clock[T], run.y, settings.alpha, settings.beta)
                note(run, e, clock[T], sign(g), total)
            else:
                watched.hit[e], reason = BY_A_JUMP, EVENT
    return reason


@kernel
def suspicious(settings: Settings, watched: WatchedTables, e: int, h: float) -> bool:
    """Whether event function e may cross zero in the present step of size h."""
    side = watched.side[e]
    g0, gm, g1 = at(watched.start, 2 * e), at(watched.middle, 2 * e), at(watched.end, 2 * e)
    if side == 0.0:
        watched.side[e] = sign(g1) if abs(g1) > noise(settings, watched, e) else 0.0
        return False
    if min(side * gm, side * g1) < -noise(settings, watched, e):
        return True
    if (gm == 0.0 or g1 == 0.0) and side * g0 > noise(settings, watched, e):
        return True
    if max(abs(g0), abs(gm), abs(g1)) <= noise(settings, watched, e):
        return False
    r0, rm, r1 = at(watched.start, 2 * e + 1), at(watched.middle, 2 * e + 1), at(watched.end, 2 * e + 1)
    if math.isnan(rm):
        return may_cross_between(side, math.nan, g0, gm, g1) or may_cross_between(side, g0, gm, g1, math.nan)
    if dips(side, g0, gm, g1) or unresolved(g0, r0, gm, rm, g1, r1, h):
        return True
    return may_cross(side, g0, r0, gm, rm, 0.5 * h) or may_cross(side, gm, rm, g1, r1, 0.5 * h)


def crossings_of(between: Kernel, estimate: Kernel, parts: Kernel) -> Kernel:
    """Return the kernel that searches a step for zero crossings; its arguments are kernels of the stepper."""

    @kernel
    def resolved(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, h: float) -> bool:
        """Whether a step of size h resolves the user functions of unknown rate.

        Their values at the fractions PROBED of the step are compared with the parabola through its ends and middle.
        """
        watched, any_unknown = run.watched, False
        for e in range(watched.side.shape[0]):
            any_unknown = any_unknown or (watched.built_in[e] == 0 and math.isnan(at(watched.end, 2 * e + 1)))
        if not any_unknown:
            return True
        for x in PROBED:
            estimate(stepper, run, x, h, watched.state)
            values(
                mechanism, watched, run.clock[T] + x * h, watched.state, settings.alpha, settings.beta, watched.samples
            )
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
    def sampled(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, t: float) -> float:
        """Return the value of event function e at time t within the step."""
        watched = run.watched
        between(mechanism, stepper, settings, run, t, watched.state)
        run.counts[WITHIN] = DENSE
        onto_constraints(mechanism, settings, run, t)
        prepare(mechanism, watched, t, watched.state, settings.alpha, settings.beta)
        value, _ = value_of(mechanism, watched, e, t, watched.state)
        return value

    @kernel
    def root(
        mechanism: Mechanism,
        stepper: Any,
        settings: Settings,
        run: RunState,
        e: int,
        side: float,
        a: float,
        ga: float,
        b: float,
        gb: float,
    ) -> float:
        """Return the first time between a and b, to round-off, at which event function e no longer has the sign `side`.

        ga and gb are its values at a and b. The root is found by the Illinois variant of false position, with bisection
        where this variant is slow. A function that reaches zero has crossed, unless it was zero at the start.
        """
        width, onto, fresh, moved = b - a, side * ga > 0.0, True, 0
        ga = on_side(side, ga, gb) if gb != 0.0 else ga
        for n in range(MOST_ITERATIONS):
            if b - a <= 2.2e-16 * (abs(a) + abs(b)):
                break
            t = b - gb * (b - a) / (gb - ga) if gb != ga else a
            if gb == 0.0 and fresh:
                # The function may have been zero for some time.
                t = b - 4.4e-16 * (abs(a) + abs(b))
            fresh = gb != 0.0
            if (n % 3 == 2 and b - a > 0.25 * width) or not a < t < b:
                t = 0.5 * (a + b)
            if n % 3 == 2:
                width = b - a
            if t <= a or t >= b:
                break
            g = sampled(mechanism, stepper, settings, run, e, t)
            if side * g < 0.0 or (g == 0.0 and onto):
                b, gb = t, g
                ga = 0.5 * ga if moved > 0 else ga
                moved = 1
            else:
                a, ga = t, g
                gb = 0.5 * gb if moved < 0 else gb
                moved = -1
        return b

    @kernel
    def lowest(
        mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float, a: float, c: float
    ) -> float:
        """Return a time between a and c at which event function e no longer has the sign `side`, or infinity.

        The function is minimized, or maximized for negative `side`, by the golden-section method.
        """
        b = a + GOLDEN * (c - a)
        gb, below = side * sampled(mechanism, stepper, settings, run, e, b), -noise(settings, run.watched, e)
        for _ in range(DESCENTS):
            if gb < below:
                return b
            t = b + GOLDEN * (c - b) if c - b > b - a else b - GOLDEN * (b - a)
            if t == b:
                break
            g = side * sampled(mechanism, stepper, settings, run, e, t)
            if g < gb:
                if t > b:
                    a = b
                else:
                    c = b
                b, gb = t, g
            elif t > b:
                c = t
            else:
                a = t
        return b if gb < below else math.inf

    @kernel
    def next_crossing(
        mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float, since: float
    ) -> float:
        """Return the first time after `since` at which event function e no longer has the sign `side`, or infinity."""
        watched, clock = run.watched, run.clock
        h, size, least = clock[T_NEW] - clock[T], 2 * watched.side.shape[0], -noise(settings, watched, e)
        for m in range(1, SAMPLES + 1):
            b = clock[T] + h * m / SAMPLES if m < SAMPLES else clock[T_NEW]
            if b <= since:
                continue
            before, o = clock[T] + h * (m - 1) / SAMPLES, m * size + 2 * e
            a, g, rate = max(before, since), at(watched.samples, o), at(watched.samples, o + 1)
            # If the function has just crossed, its value is zero.
            ga = at(watched.samples, o - size) if before >= since else 0.0
            if side * g < least or (g == 0.0 and side * ga > -least):
                return root(mechanism, stepper, settings, run, e, side, a, ga, b, g)
            if before < since:
                continue
            if math.isnan(rate):
                earlier = at(watched.samples, o - 2 * size) if m > 1 else math.nan
                later = at(watched.samples, o + size) if m < SAMPLES else math.nan
                if not may_cross_between(side, earlier, ga, g, later):
                    continue
            elif not may_cross(side, ga, at(watched.samples, o - size + 1), g, rate, h / SAMPLES):
                continue
            there = lowest(mechanism, stepper, settings, run, e, side, a, b)
            if there < math.inf:
                g = sampled(mechanism, stepper, settings, run, e, there)
                return root(mechanism, stepper, settings, run, e, side, a, ga, there, g)
        return math.inf

    @kernel
    def sample(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> None:
        """Compute values and rates of all event functions at equidistant times along the step."""
        watched, clock = run.watched, run.clock
        size, h = 2 * watched.side.shape[0], clock[T_NEW] - clock[T]
        for o in range(size):
            put(watched.samples, o, at(watched.start, o))
            put(watched.samples, SAMPLES * size + o, at(watched.end, o))
        run.counts[WITHIN] = TAKEN
        for m in range(1, SAMPLES):
            t = clock[T] + h * m / SAMPLES
            between(mechanism, stepper, settings, run, t, watched.state)
            run.counts[WITHIN] = DENSE
            onto_constraints(mechanism, settings, run, t)
            values(mechanism, watched, t, watched.state, settings.alpha, settings.beta, watched.middle)
            for o in range(size):
                put(watched.samples, m * size + o, at(watched.middle, o))

    @kernel
    def first_that_acts(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> float:
        """Return the time (s) of the first event with an action in the step; infinity if there is none."""
        watched, first = run.watched, math.inf
        for e in range(watched.side.shape[0]):
            if watched.acts[e] == 0:
                continue
            side, since = watched.side[e], run.clock[T]
            while True:
                t = next_crossing(mechanism, stepper, settings, run, e, side, since)
                if not t < first:
                    break
                side, since = -side, t
                if watched.direction[e] * side >= 0.0:
                    first, run.counts[CAPPED] = t, e
                    break
        return first

    @kernel
    def settle(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, together: float) -> int:
        """Record the zero crossings in the step; return EVENT if one at its end has an action, otherwise GONE_ON.

        Crossings at times that differ by less than `together` are simultaneous.
        """
        watched, clock, reason = run.watched, run.clock, GONE_ON
        last = clock[T_NEW] >= settings.end
        for e in range(watched.side.shape[0]):
            since = clock[T]
            while run.counts[HAPPENED] < ROOM:
                t = next_crossing(mechanism, stepper, settings, run, e, watched.side[e], since)
                if t == math.inf:
                    break
                side = -watched.side[e]
                watched.side[e], since = side, t
                if watched.direction[e] * side < 0.0:
                    continue
                if watched.acts[e] == 0:
                    between(mechanism, stepper, settings, run, t, watched.state)
                    onto_constraints(mechanism, settings, run, t)
                    total = energy(mechanism, watched, t, watched.state, settings.alpha, settings.beta)
                    note(run, e, t, side, total)
                else:
                    watched.hit[e], reason = AT_ZERO, EVENT
            # A function that is about to cross counts as crossing now: round-off may prevent the crossing if steps
            # cannot get shorter.
            g, side, rate = at(watched.end, 2 * e), watched.side[e], at(watched.end, 2 * e + 1)
            open_to = watched.hit[e] == 0 and watched.direction[e] * side <= 0.0
            # A function that is held at zero also has a rate, of round-off.
            moves = -side * rate * (clock[T_NEW] - clock[T]) > noise(settings, watched, e)
            open_to = open_to and ((last and moves) or (watched.acts[e] != 0 and run.counts[RETAKEN] > 0))
            about = side * rate < 0.0 and side * g + side * rate * ABOUT * together <= noise(settings, watched, e)
            near = side * g <= noise(settings, watched, e) or clock[T_NEW] - clock[T] <= ABOUT * together
            near = near or run.counts[MISSED] >= MOST_MISSED
            about = about or (run.counts[RETAKEN] > 0 and run.counts[CAPPED] == e and near)
            if not (open_to and about):
                continue
            watched.side[e] = -side
            if watched.acts[e] != 0:
                watched.hit[e], reason = AT_ZERO, EVENT
            else:
                total = energy(mechanism, watched, clock[T_NEW], run.y_new, settings.alpha, settings.beta)
                note(run, e, clock[T_NEW], -side, total)
        return reason

    @kernel
    def look(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState) -> int:
        """Search a step that satisfies the tolerance for events; return a return code of `stepping.run_state`.

        If the step must be repeated to end at an event, at clock[CAP], counts[WITHIN] is set to BETWEEN (no step
        pending).
        """
        watched, clock, counts = run.watched, run.clock, run.counts
        count, h = watched.side.shape[0], clock[T_NEW] - clock[T]
        if count == 0:
            return GONE_ON
        alpha, beta = settings.alpha, settings.beta
        known = values(mechanism, watched, clock[T_NEW], run.y_new, alpha, beta, watched.end)
        long_step = parts(mechanism, stepper, settings, run) > 1
        any_near = False
        for e in range(count):
            watched.before[e] = watched.side[e]
            unknown = math.isnan(at(watched.end, 2 * e + 1))
            any_near = any_near or not far(watched, e, h) or (long_step and unknown)
        if any_near:
            estimate(stepper, run, 0.5, h, watched.state)
            onto_constraints(mechanism, settings, run, clock[T] + 0.5 * h)
            known = values(mechanism, watched, clock[T] + 0.5 * h, watched.state, alpha, beta, watched.middle) and known
        if run.stop[0] != 0:
            counts[WITHIN] = BETWEEN
            return STOPPED
        if not known:
            return UNDEFINED
        together = TOGETHER * SMALLEST_STEP_ULPS * EPSILON * max(abs(clock[T]), abs(clock[T_NEW]))
        any_may = counts[RETAKEN] > 0 or clock[T_NEW] >= settings.end
        any_may = any_may or (any_near and (long_step or not resolved(mechanism, stepper, settings, run, h)))
        for e in range(count):
            # Without a short cut, since `suspicious` also notes the sign of a function that has left zero.
            may = any_near and suspicious(settings, watched, e, h)
            any_may = any_may or may
        reason = GONE_ON
        if any_may:
            sample(mechanism, stepper, settings, run)
            first = first_that_acts(mechanism, stepper, settings, run)
            first = max(first, clock[T] + together)
            if first < clock[T_NEW] - together and counts[RETAKEN] < MOST_RETAKEN:
                clock[CAP] = first
                counts[RETAKEN] += 1
                counts[WITHIN] = BETWEEN
                return GONE_ON
            reason = settle(mechanism, stepper, settings, run, together)
            values(mechanism, watched, clock[T_NEW], run.y_new, alpha, beta, watched.end)
            # States within the step must be bit-identical with those of a run without events.
            counts[WITHIN] = TAKEN
        refer_to(watched, clock[T_NEW], watched.end)
        for e in range(count):
            watched.change[e] = abs(at(watched.end, 2 * e) - at(watched.start, 2 * e))
        for o in range(2 * count):
            put(watched.start, o, at(watched.end, o))
        for e in range(count):
            watched.scale[e] = max(watched.scale[e], abs(at(watched.end, 2 * e)))
        counts[MISSED] = counts[MISSED] + 1 if counts[RETAKEN] > 0 and reason != EVENT else 0
        clock[CAP], counts[RETAKEN] = math.inf, 0
        return reason

    return look
