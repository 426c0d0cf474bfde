"""Signs of event functions at the start of a run and after jumps of the state, and the record of zero crossings."""

from __future__ import annotations

import math

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, store

from ..kernels.evaluate import evaluate
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import EPSILON
from .crossing_tests import noise, sign
from .event_functions import BY_A_JUMP, NOTED, TOTAL, WAY, WHEN, WHICH, WatchedTables, energy, prepare, value_of
from .event_scales import update_scales
from .event_turns import values_within
from .run_state import RunState, Settings, StepOutcome

# A function counts as zero at the start of a step if it would reach zero, at its rate, within this fraction of the
# duration of the run.
AT_ONCE = 1e-13
# A function that has just crossed zero in an event counts as zero below this fraction of its largest magnitude.
AT_ZERO_STILL = 1e-9
# A function is held at zero after its event if its rate is below this fraction of the rate at the crossing, which is
# the round-off of an impulse.
HELD = 1e-13
# Interval of the difference quotient for an unknown rate, as a fraction of the next step or of the run, whichever is
# shorter; and its minimum in units of the round-off of the time. Within this fraction of a step the rate is nearly
# constant; changes that are smaller than the round-off of the function count as zero.
AHEAD, LEAST_AHEAD = 1e-4, 256.0


@kernel
def record_crossing(run: RunState, e: int, t: float, direction: float, total: float) -> None:
    """Record that event function e crosses zero at time t (s), with total energy `total`, J.

    `direction` is 1 if the function rises and -1 if it falls. For a crossing in the direction that is not watched, e is
    UNWATCHED minus the index of the function.
    """
    o = NOTED * run.counts.happened
    put(run.watched.crossings, o + WHEN, t)
    put(run.watched.crossings, o + WHICH, float(e))
    put(run.watched.crossings, o + WAY, direction)
    put(run.watched.crossings, o + TOTAL, total)
    run.counts.happened += 1


@kernel
def missing_to_zero(watched: WatchedTables, e: int) -> float:
    """Return the magnitude of event function e at the start of a step if it has not reached the zero that it crosses.

    The result is zero if its value has the sign that it takes beyond this zero.
    """
    g = at(watched.start, 2 * e)
    return abs(g) if g * watched.side[e] < 0.0 and abs(g) <= AT_ZERO_STILL * watched.scale[e] else 0.0


@kernel
def rate_ahead(mechanism: Mechanism, settings: Settings, run: RunState, e: int) -> float:
    """Return the rate of event function e at the start of a step, from the motion just after it; NaN if unresolved.

    The function is evaluated once more at a state a little later, extrapolated along y'. `run.watched.start` contains
    its value at the start, where the last evaluation must have been.
    """
    watched, clock = run.watched, run.clock
    step = settings.step if settings.fixed > 0 else clock.h
    interval = AHEAD * min(step, clock.requested - settings.start)
    ahead = clock.t + max(interval, LEAST_AHEAD * EPSILON * abs(clock.t))
    dt = ahead - clock.t
    evaluate(mechanism, clock.t, run.y, settings.alpha, settings.beta, watched.slope)
    for o in range(0, run.y.shape[0], 8):
        store(watched.state, o, load(run.y, o) + dt * load(watched.slope, o))
    prepare(mechanism, watched, ahead, watched.state, settings.alpha, settings.beta)
    value, _ = value_of(mechanism, watched, e, ahead, watched.state)
    change = value - at(watched.start, 2 * e)
    prepare(mechanism, watched, clock.t, run.y, settings.alpha, settings.beta)
    return change / dt if abs(change) > noise(settings, run, e) else math.nan


@kernel
def determine_signs(mechanism: Mechanism, settings: Settings, run: RunState) -> StepOutcome:
    """Determine the sign of each event function at the start of a step; return the code EVENT, GONE_ON or UNDEFINED.

    A function that is zero has the sign of its rate. If a sign differs from that at the end of the last step, the state
    has jumped, or the last step ended at an event just before this crossing. The crossing is then recorded, unless it
    is due to a jump caused by the action of the same event, or the function is zero because it has crossed zero in an
    event at this instant, to which further events belong. A function that is held at zero since its event, such as the
    distance of two bodies that its action has welded together, keeps its sign.
    """
    watched, clock, reason = run.watched, run.clock, StepOutcome.GONE_ON
    run.counts.unsettled = 0
    if not values_within(mechanism, settings, run, clock.t, run.y, watched.start):
        return StepOutcome.UNDEFINED
    update_scales(mechanism, settings, run, run.y, 0.0)
    for e in range(watched.side.shape[0]):
        g, rate, before = at(watched.start, 2 * e), at(watched.start, 2 * e + 1), watched.side[e]
        if watched.positive[e] != 0:
            watched.side[e] = 1.0
            continue
        still = abs(g) <= noise(settings, run, e)  # the rate may be unknown, NaN
        still = still or abs(g) <= abs(rate) * AT_ONCE * (clock.requested - settings.start)
        own, speed = watched.at_speed[e] > 0.0, abs(watched.at_speed[e])
        watched.at_speed[e] = -speed
        crossed = speed > 0.0 and abs(g) <= AT_ZERO_STILL * watched.scale[e]
        held, watched.held[e] = watched.held[e] > 0.0 and abs(g) <= watched.held[e], 0.0
        if still or crossed or held:
            if (speed > 0.0 or held) and math.isnan(rate):
                rate = rate_ahead(mechanism, settings, run, e)
            # The rate of a quantity that is held constant, such as the gap of a closed contact, is round-off and is
            # ignored.
            moves = abs(rate) * (clock.requested - settings.start) > noise(settings, run, e)
            if moves and abs(rate) > HELD * speed:
                watched.side[e] = sign(rate)
            elif crossed or held:
                watched.held[e] = AT_ZERO_STILL * watched.scale[e]
                watched.side[e] = before
            elif speed > 0.0 and abs(g) > 0.5 * noise(settings, run, e):  # so that round-off keeps its sign
                watched.side[e] = sign(g)
            else:
                watched.side[e] = before
        else:
            watched.side[e] = sign(g)
        side = watched.side[e]
        watched.missing[e] = missing_to_zero(watched, e) if crossed else 0.0
        if not own and not crossed and before * side < 0.0 and watched.direction[e] * side >= 0.0:
            if watched.acts[e] == 0:
                total = energy(mechanism, watched, clock.t, run.y, settings.alpha, settings.beta)
                record_crossing(run, e, clock.t, side, total)
            else:
                watched.hit[e], reason = BY_A_JUMP, StepOutcome.EVENT
    for e in range(watched.side.shape[0]):
        if reason != StepOutcome.EVENT:
            watched.at_speed[e] = 0.0
    return reason
