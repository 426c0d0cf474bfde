"""The first time within a sampled step at which an event function crosses zero."""

from __future__ import annotations

import math
from typing import Any

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.mechanism import Mechanism
from .crossing_tests import may_cross_between, noise, unresolved
from .event_dips import crossing_after_rise, crossing_in_parts, dip_crossing, minimum_crossing
from .event_roots import root, sampled, sampled_with_rate
from .run_state import RunState, Settings

# Maximum number of earlier crossings that are searched, and distance before a crossing at which the search ends, over
# the distance from the start.
MOST_EARLIER, JUST_BEFORE = 4, 1e-3


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
