"""Event functions with counted turns, at states within a step.

Poses determine a joint angle up to full turns. The revolution counter of the run selects the turns, so that event
functions have the turns that results show. Rates of angles would not suffice: near gimbal lock, where the second of the
1-2-3 angles is near 90 degrees, the first and third change by half a turn in a short time.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.dynamics.model.revolution_counter import count_quadrants
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.applied import REFERENCE_AT, TURN_ENTRIES
from ..kernels.mechanism import Mechanism
from .event_functions import prepare, value_of, values
from .run_state import RunState, Settings


@kernel
def refer_turns(run: RunState, t: float, y: np.ndarray) -> None:
    """Set the reference angles of the event functions that count full turns, for the state y at time t (s).

    The state lies within the current step, whose bounds on rotations `begin_step` has computed, or at its start. The
    reference has an error of less than half a turn, which suffices for a law to select the full turns.
    """
    watched, counter, turns, h = run.watched, run.counter, run.watched.turns, t - run.clock.t
    turned = counter.clock.turned + counter.clock.ahead
    for n in range(turns.joint.shape[0]):
        k = turns.joint[n]
        if h > 0.0 and counter.due[k] < turned:
            count_quadrants(counter, k, run.y, y, h, turns.quadrants, 2 * k, turns.lead)
        else:
            turns.quadrants[2 * k], turns.quadrants[2 * k + 1] = counter.quadrants[2 * k], counter.quadrants[2 * k + 1]
        first, second = turns.quadrants[2 * k] + 0.5, turns.quadrants[2 * k + 1] + 0.5
        angle = at(turns.whole, n) + 0.5 * math.pi * (first + at(turns.sign, n) * second)
        o = watched.laws.turns[TURN_ENTRIES * n + REFERENCE_AT]
        put(watched.laws.inputs, o, at(turns.factor, n) * angle + at(turns.offset, n))
        put(watched.laws.inputs, o + 1, 0.0)
        put(watched.laws.inputs, o + 2, t)


@kernel
def values_within(
    mechanism: Mechanism, settings: Settings, run: RunState, t: float, y: np.ndarray, out: np.ndarray
) -> bool:
    """Compute the values and rates of all Q event functions at time t (s) and a state y of the step, in `out` (2 Q,).

    Returns False if a value is NaN.
    """
    refer_turns(run, t, y)
    return values(mechanism, run.watched, t, y, settings.alpha, settings.beta, out)


@kernel
def value_within(
    mechanism: Mechanism, settings: Settings, run: RunState, e: int, t: float, y: np.ndarray
) -> tuple[float, float]:
    """Return the value and the rate of event function e at time t (s) and a state y of the current step."""
    refer_turns(run, t, y)
    prepare(mechanism, run.watched, t, y, settings.alpha, settings.beta)
    return value_of(mechanism, run.watched, e, t, y)
