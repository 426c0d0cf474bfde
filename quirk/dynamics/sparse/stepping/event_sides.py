"""Signs of event functions at the start of a run and after jumps of the state, and the record of zero crossings."""

from __future__ import annotations

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.mechanism import Mechanism
from .crossing_tests import noise, sign
from .event_functions import BY_A_JUMP, NOTED, TOTAL, WAY, WHEN, WHICH, energy
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


@kernel
def record_crossing(run: RunState, e: int, t: float, direction: float, total: float) -> None:
    """Record that event function e crosses zero at time t (s), with total energy `total`, J.

    `direction` is 1 if the function rises and -1 if it falls.
    """
    o = NOTED * run.counts.happened
    put(run.watched.crossings, o + WHEN, t)
    put(run.watched.crossings, o + WHICH, float(e))
    put(run.watched.crossings, o + WAY, direction)
    put(run.watched.crossings, o + TOTAL, total)
    run.counts.happened += 1


@kernel
def determine_signs(mechanism: Mechanism, settings: Settings, run: RunState) -> StepOutcome:
    """Determine the sign of each event function at the start of a step; return the code EVENT, GONE_ON or UNDEFINED.

    A function that is zero has the sign of its rate. If a sign differs from that at the end of the last step, the state
    has jumped, or the last step ended at an event just before this crossing. The crossing is then recorded, unless it
    is due to a jump caused by the action of the same event.
    """
    watched, clock, reason = run.watched, run.clock, StepOutcome.GONE_ON
    run.counts.unsettled = 0
    if not values_within(mechanism, settings, run, clock.t, run.y, watched.start):
        return StepOutcome.UNDEFINED
    update_scales(mechanism, settings, run, run.y)
    for e in range(watched.side.shape[0]):
        g, rate, before = at(watched.start, 2 * e), at(watched.start, 2 * e + 1), watched.side[e]
        if watched.positive[e] != 0:
            watched.side[e] = 1.0
            continue
        still = abs(g) <= noise(settings, run, e)  # the rate may be unknown, NaN
        still = still or abs(g) <= abs(rate) * AT_ONCE * (clock.requested - settings.start)
        speed, watched.at_speed[e] = watched.at_speed[e], 0.0
        own = speed > 0.0
        if still or (own and abs(g) <= AT_ZERO_STILL * watched.scale[e]):
            # The rate of a quantity that is held constant, such as the gap of a closed contact, is round-off and is
            # ignored.
            moves = abs(rate) * (clock.requested - settings.start) > noise(settings, run, e)
            if moves and abs(rate) > HELD * speed:
                watched.side[e] = sign(rate)
            elif own and abs(g) > 0.5 * noise(settings, run, e):  # so that round-off keeps its sign
                watched.side[e] = sign(g)
            else:
                watched.side[e] = before
        else:
            watched.side[e] = sign(g)
        side = watched.side[e]
        if not own and before * side < 0.0 and watched.direction[e] * side >= 0.0:
            if watched.acts[e] == 0:
                total = energy(mechanism, watched, clock.t, run.y, settings.alpha, settings.beta)
                record_crossing(run, e, clock.t, side, total)
            else:
                watched.hit[e], reason = BY_A_JUMP, StepOutcome.EVENT
    return reason
