"""Tests whether an event function may cross zero in an interval, from a few of its values and rates.

Names end with 0 for values at the start, with m for values in the middle, and with 1 for values at the end of a step of
size h (s). `side` is the current sign of a function, 1 or -1; 0 if it has not left zero.
"""

from __future__ import annotations

import math

from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from .event_functions import WatchedTables
from .event_scales import scale_at_rest
from .run_state import RunState, Settings

# Distance of a function from zero, over its change in the step, beyond which it cannot cross zero in the step.
FAR = 4.0
# Crossings by less than this fraction of the largest magnitude of a function are round-off.
NOISE = 1e-14
# Crossings by less than this fraction of the positions or velocities of a system are round-off: twice the residual that
# projections leave, see `kernels.project`.
ROUND_OFF = 4e-15
# Largest rate of a function in a part of a step, over its larger rate at both ends.
STEEPER = 1.5
# Deviation of a function within a step from its interpolant, over its largest magnitude, beyond which the step is
# sampled.
UNRESOLVED = 0.25
# Deviation of a function that leaves zero from its tangent, over the value of the tangent, up to which it has not
# returned to zero.
LEAVING = 0.5


@kernel
def relative_noise(settings: Settings, watched: WatchedTables, e: int) -> float:
    """Return the magnitude below which values of event function e are insignificant relative to its largest value.

    Smaller values are due to round-off or, with Baumgarte's feedback, to the drift of constraints. The result is in the
    unit of the function.
    """
    drifts = settings.interval <= 0 and (settings.alpha > 0.0 or settings.beta > 0.0)
    return (max(NOISE, settings.rtol) if drifts else NOISE) * watched.scale[e]


@kernel
def noise(settings: Settings, run: RunState, e: int) -> float:
    """Return the magnitude below which values of event function e are insignificant, in the unit of the function.

    It is at least the round-off of the positions or velocities of the system, because constraints or friction may hold
    the quantity at the level of its event up to this round-off. If the last step ended at an event but fell short of
    its zero, it is also at least twice the remaining distance. It is larger for a function that is held at zero.
    """
    return max(round_off(settings, run, e), at(run.watched.held, e))


@kernel
def round_off(settings: Settings, run: RunState, e: int) -> float:
    """Return the `noise` of event function e as if it were not held at zero, in the unit of the function."""
    least = max(relative_noise(settings, run.watched, e), ROUND_OFF * scale_at_rest(settings, run, e))
    return max(least, at(run.watched.tolerance, e), 2.0 * at(run.watched.missing, e))


@kernel
def far_from_zero(watched: WatchedTables, e: int, h: float) -> bool:
    """Return whether event function e is too far from zero to cross it in a step of size h.

    The test compares its values at both ends of the step with its change within the step.
    """
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
    """Return whether a function with the sign `side` may cross zero between two times that are h (s) apart.

    g0 and g1 are its values at these times, r0 and r1 its rates. It may cross if the tangents at both times meet beyond
    zero, as the minimum of a convex function lies above this point.
    """
    a, b, p, q = side * g0, side * g1, side * r0 * h, side * r1 * h
    if not (p < 0.0 < q):
        return False
    # For a convex function both tangents meet below its minimum.
    s = (b - q - a) / (p - q)
    return a + p * s <= 0.0


@kernel
def may_dip(side: float, g0: float, r0: float, g1: float, r1: float, h: float, least: float) -> bool:
    """Return whether a function with the sign `side` may fall to zero and rise again between two times, h (s) apart.

    g0 and g1 are its values at these times, r0 and r1 its rates. It need not be convex, but may have a sharp minimum,
    as the distance of two points that pass each other closely. Its rate is at most STEEPER times those at both times.
    A function below `least` leaves or reaches zero: its rate is round-off.
    """
    if min(side * g0, side * g1) <= least:
        return may_cross(side, g0, r0, g1, r1, h)
    if not side * r0 <= 0.0 < side * r1:
        return False
    return side * (g0 + g1) <= STEEPER * max(abs(r0), abs(r1)) * h


@kernel
def may_cross_between(side: float, previous: float, g0: float, g1: float, following: float) -> bool:
    """Return whether a function of unknown rate may cross zero between two times at which it has the sign `side`.

    `previous`, g0, g1 and `following` are the values at four equidistant times; a crossing is sought between g0 and g1.
    One of `previous` and `following` may be NaN (unknown). A convex function lies above the lines through `previous`
    and g0 and through g1 and `following`; it may cross if these lines meet beyond zero.
    """
    p, q = side * (g0 - previous), side * (following - g1)
    if math.isnan(p):
        return q > 0.0 and side * g1 - q <= 0.0
    if math.isnan(q):
        return p < 0.0 and side * g0 + p <= 0.0
    return may_cross(side, g0, side * p, g1, side * q, 1.0)


@kernel
def parabola_crosses(side: float, g0: float, g1: float, g2: float) -> bool:
    """Return whether the parabola through three equidistant values changes sign between the outer two.

    The values g0, g1 and g2 are in order of time, and `side` is the sign of the function at both ends.
    """
    a, b, c = side * g0, side * g1, side * g2
    bend, slope = a - 2.0 * b + c, 0.5 * (c - a)
    return bend > 0.0 and abs(slope) < bend and b - 0.5 * slope * slope / bend <= 0.0


@kernel
def unresolved(g0: float, r0: float, gm: float, rm: float, g1: float, r1: float, h: float, least: float) -> bool:
    """Return whether an event function varies too fast to be resolved by three values and rates in a step.

    g0, gm and g1 are its values and r0, rm and r1 its rates at the start, middle and end of a step of size h (s). The
    value in the middle must be nearer to the cubic through the others than any of them is to zero, but for those below
    `least`, at which the function leaves or reaches zero.
    """
    largest, smallest = max(abs(g0), abs(gm), abs(g1)), math.inf
    for g in (abs(g0), abs(gm), abs(g1)):
        smallest = min(smallest, g) if g > least else smallest
    value, rate = 0.5 * (g0 + g1) + 0.125 * h * (r0 - r1), 1.5 * (g1 - g0) / h - 0.25 * (r0 + r1)
    missed = abs(gm - value)
    return max(missed, abs(rm - rate) * h) > UNRESOLVED * largest or missed > smallest


@kernel
def keeps_rising(side: float, g0: float, r0: float, g: float, rate: float, h: float) -> bool:
    """Return whether a function with the sign `side` is still about where its value and rate h (s) before lead it.

    g0 and r0 are this value and rate, with which the function leaves zero, and g and `rate` the present ones. If it
    keeps to the tangent, the function has not returned to zero in between.
    """
    expected = side * (g0 + r0 * h)
    return max(abs(side * g - expected), abs(rate - r0) * h) <= LEAVING * expected


@kernel
def sign(x: float) -> float:
    """Return the sign of x: -1, 0 or 1, and 0 for NaN."""
    return 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0


@kernel
def suspicious(settings: Settings, run: RunState, e: int, h: float) -> bool:
    """Return whether event function e may cross zero in the current step of size h.

    The test uses its values at the start, in the middle and at the end of the step. The sign of a function that was
    zero is stored once it has left zero.
    """
    watched, least = run.watched, noise(settings, run, e)
    side = watched.side[e]
    g0, gm, g1 = at(watched.start, 2 * e), at(watched.middle, 2 * e), at(watched.end, 2 * e)
    if side == 0.0:
        watched.side[e] = sign(g1) if abs(g1) > least else 0.0
        return False
    if min(side * gm, side * g1) < -least:
        return True
    if (gm == 0.0 or g1 == 0.0) and side * g0 > least:
        return True
    if max(abs(g0), abs(gm), abs(g1)) <= least:
        return False
    r0, rm, r1 = at(watched.start, 2 * e + 1), at(watched.middle, 2 * e + 1), at(watched.end, 2 * e + 1)
    if math.isnan(rm):
        return may_cross_between(side, math.nan, g0, gm, g1) or may_cross_between(side, g0, gm, g1, math.nan)
    if (side * r0 >= 0.0 or abs(g0) <= least) and not keeps_rising(side, g0, r0, gm, rm, 0.5 * h):
        return True
    if parabola_crosses(side, g0, gm, g1) or unresolved(g0, r0, gm, rm, g1, r1, h, least):
        return True
    return may_dip(side, g0, r0, gm, rm, 0.5 * h, least) or may_dip(side, gm, rm, g1, r1, 0.5 * h, least)
