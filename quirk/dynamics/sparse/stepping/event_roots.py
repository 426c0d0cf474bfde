"""Values of an event function within a step, and the time at which it crosses zero between two times, to round-off."""

from __future__ import annotations

from typing import Any

from quirk.jit.compilation import kernel

from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from .event_turns import value_within
from .method_kernels import between
from .run_state import RunState, Settings, StepPosition
from .step_control import keeps_to_constraints

# Maximum number of root-finding iterations per crossing, which is located between neighboring floats.
MOST_ITERATIONS = 100
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
