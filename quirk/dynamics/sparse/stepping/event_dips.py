"""Search for a zero crossing of an event function between two times at which it has the same sign.

The distance of a body from a thin surface is positive on both sides of it, and a slow rebound may end soon after it has
begun: an interval is divided until its parts resolve the function.
"""

from __future__ import annotations

import math
from typing import Any

from quirk.jit.compilation import kernel

from ..kernels.mechanism import Mechanism
from .crossing_tests import keeps_rising, may_cross, may_dip, noise, unresolved
from .event_roots import sampled, sampled_with_rate
from .run_state import RunState, Settings

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
