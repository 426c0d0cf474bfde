"""Location of the times within a step at which an event function crosses zero, to round-off."""

from __future__ import annotations

import math
from typing import Any

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from .crossing_tests import keeps_rising, may_cross, may_cross_between, may_dip, noise, unresolved
from .event_turns import value_within
from .method_kernels import between
from .run_state import RunState, Settings, StepPosition
from .step_control import keeps_to_constraints

# Maximum number of root-finding iterations per crossing, which is located between neighboring floats.
MOST_ITERATIONS = 100
# Number of golden-section steps in the search for the minimum of a function near zero.
DESCENTS = 40
GOLDEN = 0.3819660112501051
# Maximum number of bisections of an interval in search of a sharp minimum.
MOST_BISECTIONS = 40
# Maximum number of halvings of an interval at whose start a function leaves zero, and multiple of the round-off of its
# values below which they do not show its sign.
MOST_HALVINGS, NEAR_ZERO = 60, 4.0
# Length of the shortest part of an interval in which a function is resolved, over that of the interval; and maximum
# number of parts, with those that are divided further.
SHORTEST_PART, MOST_PARTS = 2.0**-12, 200
# Maximum number of earlier crossings that are searched, and distance before a crossing at which the search ends, over
# the distance from the start.
MOST_EARLIER, JUST_BEFORE = 4, 1e-3
# A function counts as zero at the start of a search below this fraction of its value at the end.
AS_GOOD_AS_ZERO = 1e-6


@kernel
def project_watched_state(mechanism: Mechanism, settings: Settings, run: RunState, t: float) -> None:
    """Project the state run.watched.state, at time t (s), onto the constraints, if the run uses projection."""
    if keeps_to_constraints(mechanism, settings):
        project(mechanism, t, run.watched.state, settings.length, run.counts, False)


@kernel
def sampled(mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, t: float) -> float:
    """Return the value of event function e at time t (s) within the step.

    The state is computed by the continuous extension and projected onto the constraints.
    """
    value, _ = sampled_with_rate(mechanism, stepper, settings, run, e, t)
    return value


@kernel
def sampled_with_rate(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, t: float
) -> tuple[float, float]:
    """Return the value and the rate of event function e at time t (s) within the step; see `sampled`."""
    between(mechanism, stepper, settings, run, t, run.watched.state)
    run.counts.position = StepPosition.DENSE
    project_watched_state(mechanism, settings, run, t)
    return value_within(mechanism, settings, run, e, t, run.watched.state)


@kernel
def nonzero_value(side: float, ga: float, gb: float) -> float:
    """Return the value of an event function at the start of an interval, modified for a root search if it is zero.

    The result is `ga`, the value at the start, unless it counts as zero. Then it is the magnitude of `gb`, the value at
    the end, with the sign `side`, because a search that began with zero would find the start of the interval again.
    """
    return ga if side * ga > AS_GOOD_AS_ZERO * abs(gb) else side * abs(gb)


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
    """Return the first time between a and b (s) at which event function e no longer has the sign `side`, to round-off.

    ga and gb are its values at a and b. The method is the Illinois variant of false position, with bisection where the
    variant is slow. Reaching zero counts as a crossing, unless the function is zero at a.
    """
    width, onto, fresh, moved = b - a, side * ga > 0.0, True, 0
    ga = nonzero_value(side, ga, gb) if gb != 0.0 else ga
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
def minimum_crossing(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float, a: float, c: float
) -> float:
    """Return a time between a and c (s) at which event function e has the opposite of the sign `side`, or infinity.

    The minimum of the function, or its maximum for negative `side`, is searched by the golden-section method.
    """
    b = a + GOLDEN * (c - a)
    gb, below = side * sampled(mechanism, stepper, settings, run, e, b), -noise(settings, run, e)
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
def dip_crossing(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float,
    a: float, ga: float, ra: float, c: float, gc: float, rc: float,
) -> float:  # fmt: skip
    """Return a time between a and c (s) at which event function e has the opposite of the sign `side`, or infinity.

    ga and gc are its values, ra and rc its rates at both times. The function is searched where it first falls and then
    rises: it may have a sharp minimum there, as the distance of two points that pass each other closely. The interval
    is halved until the function is far from zero in it, or its tangents show that it may cross zero.
    """
    least = noise(settings, run, e)
    for _ in range(MOST_BISECTIONS):
        if not may_dip(side, ga, ra, gc, rc, c - a, least):
            return math.inf
        if may_cross(side, ga, ra, gc, rc, c - a):
            return minimum_crossing(mechanism, stepper, settings, run, e, side, a, c)
        t = 0.5 * (a + c)
        g, rate = sampled_with_rate(mechanism, stepper, settings, run, e, t)
        if side * g < -least:
            return t
        if side * rate < 0.0:
            a, ga, ra = t, g, rate
        else:
            c, gc, rc = t, g, rate
    return math.inf


@kernel
def well_sampled(settings: Settings, run: RunState, e: int, m: int, h: float) -> bool:
    """Return whether the samples of event function e resolve it in interval m of the step, between samples m - 1 and m.

    Both samples are compared with the interpolant through their neighbors; h is the size of the intervals, s.
    """
    watched, samples, least = run.watched, run.counts.samples, noise(settings, run, e)
    size = 2 * watched.side.shape[0]
    for n in range(max(m - 1, 1), min(m, samples - 1) + 1):
        o = n * size + 2 * e
        if unresolved(
            at(watched.samples, o - size), at(watched.samples, o - size + 1),
            at(watched.samples, o), at(watched.samples, o + 1),
            at(watched.samples, o + size), at(watched.samples, o + size + 1), 2.0 * h, least,
        ):  # fmt: skip
            return False
    return True


@kernel
def crossing_in_parts(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float,
    a: float, ga: float, ra: float, c: float, gc: float, rc: float,
) -> float:  # fmt: skip
    """Search an interval in parts, each short enough to resolve the function, for a crossing as `dip_crossing` does.

    For arguments and result see there. The function may rise before it falls and rises again, or be negative twice.
    """
    least = noise(settings, run, e)
    if min(side * ga, side * gc) <= least:
        return math.inf
    t, g, rate, part, shortest = a, ga, ra, 0.5 * (c - a), (c - a) * SHORTEST_PART
    for _ in range(MOST_PARTS):
        last = t + 1.25 * part >= c
        b, gb, rb = c, gc, rc
        if not last:
            b = t + part
            gb, rb = sampled_with_rate(mechanism, stepper, settings, run, e, b)
        middle = 0.5 * (t + b)
        gm, rm = sampled_with_rate(mechanism, stepper, settings, run, e, middle)
        if side * gm < -least:
            return middle
        if b - t > shortest and unresolved(g, rate, gm, rm, gb, rb, b - t, least):
            part = 0.5 * (b - t)
            continue
        if side * gb < -least:
            return b
        there = dip_crossing(mechanism, stepper, settings, run, e, side, t, g, rate, middle, gm, rm)
        if there == math.inf:
            there = dip_crossing(mechanism, stepper, settings, run, e, side, middle, gm, rm, b, gb, rb)
        if there < math.inf or last:
            return there
        t, g, rate, part = b, gb, rb, 2.0 * part
    return math.inf


@kernel
def crossing_after_rise(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float,
    a: float, ga: float, ra: float, c: float, gc: float, rc: float,
) -> float:  # fmt: skip
    """Return a time between a and c (s) at which event function e has the opposite of the sign `side`, or infinity.

    The function leaves zero at time a: ga and gc are its values, ra and rc its rates at both times. A body that
    rebounds slowly returns within an interval far shorter than this one, and may have passed a thin surface at its end.
    The interval is therefore halved toward time a until the function is near its tangent, or near zero.
    """
    least, found = noise(settings, run, e), math.inf
    for _ in range(MOST_HALVINGS):
        t = a + 0.5 * (c - a)
        g, rate = sampled_with_rate(mechanism, stepper, settings, run, e, t)
        if side * g < -least:
            found = t
        elif side * gc >= -least:
            found = min(found, dip_crossing(mechanism, stepper, settings, run, e, side, t, g, rate, c, gc, rc))
        if abs(g) <= NEAR_ZERO * least or keeps_rising(side, ga, ra, g, rate, t - a):
            break
        c, gc, rc = t, g, rate
    return found


@kernel
def first_root(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float,
    a: float, ga: float, ra: float, c: float, gc: float,
) -> float:  # fmt: skip
    """Return the first time between a and c (s) at which event function e no longer has the sign `side`, to round-off.

    ga and gc are its values at both times, and ra is its rate at time a, NaN if unknown. The function has the opposite
    sign at time c. If it has that sign twice, `root` may find the second time; the part before is then searched.
    """
    t = root(mechanism, stepper, settings, run, e, side, a, ga, c, gc)
    if math.isnan(ra) or side * ga <= noise(settings, run, e):
        return t
    for _ in range(MOST_EARLIER):
        b = t - JUST_BEFORE * (t - a)
        gb, rb = sampled_with_rate(mechanism, stepper, settings, run, e, b)
        there = crossing_in_parts(mechanism, stepper, settings, run, e, side, a, ga, ra, b, gb, rb)
        if there == math.inf:
            break
        g = sampled(mechanism, stepper, settings, run, e, there)
        t = root(mechanism, stepper, settings, run, e, side, a, ga, there, g)
    return t


@kernel
def next_crossing(
    mechanism: Mechanism, stepper: Any, settings: Settings, run: RunState, e: int, side: float, since: float
) -> float:
    """Return the first time (s) after `since` at which event function e no longer has the sign `side`, or infinity."""
    watched, clock = run.watched, run.clock
    h, size, least = clock.t_new - clock.t, 2 * watched.side.shape[0], -noise(settings, run, e)
    samples = run.counts.samples
    for m in range(1, samples + 1):
        b = clock.t + h * m / samples if m < samples else clock.t_new
        if b <= since:
            continue
        before, o = clock.t + h * (m - 1) / samples, m * size + 2 * e
        a, g, rate = max(before, since), at(watched.samples, o), at(watched.samples, o + 1)
        # If the function has just crossed, its value is zero.
        ga = at(watched.samples, o - size) if before >= since else 0.0
        falls = at(watched.samples, o - size + 1)
        if side * g < least or (g == 0.0 and side * ga > -least):
            return first_root(mechanism, stepper, settings, run, e, side, a, ga, falls, b, g)
        if before < since:
            continue
        if math.isnan(rate):
            earlier = at(watched.samples, o - 2 * size) if m > 1 else math.nan
            later = at(watched.samples, o + size) if m < samples else math.nan
            if not may_cross_between(side, earlier, ga, g, later):
                continue
            there = minimum_crossing(mechanism, stepper, settings, run, e, side, a, b)
        else:
            there = math.inf
            if m == 1 and (side * falls >= 0.0 or abs(ga) <= -least) and abs(g) > -least:
                there = crossing_after_rise(mechanism, stepper, settings, run, e, side, a, ga, falls, b, g, rate)
            if there == math.inf and not well_sampled(settings, run, e, m, h / samples):
                there = crossing_in_parts(mechanism, stepper, settings, run, e, side, a, ga, falls, b, g, rate)
            if there == math.inf:
                there = dip_crossing(mechanism, stepper, settings, run, e, side, a, ga, falls, b, g, rate)
        if there < math.inf:
            g = sampled(mechanism, stepper, settings, run, e, there)
            return first_root(mechanism, stepper, settings, run, e, side, a, ga, falls, there, g)
    return math.inf
