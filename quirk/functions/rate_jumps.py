"""Times at which the rate of a prescribed motion jumps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .expression import Expression
from .motion_kernels import FUNCTION

if TYPE_CHECKING:
    from .motion import Motion

# Number of intervals of a run in which the rate is examined; of several jumps in one interval, one is found.
INTERVALS = 1000
# Smallest jump, relative to the largest rate during the run; smaller ones are round-off of the user's function.
SMALLEST_JUMP = 1e-9
# The integration error of the second derivative over an interval falls by 8 when the interval is halved if the motion
# is smooth, by 2 if its second derivative jumps, and does not fall if the rate jumps.
SMOOTH = 4.0
# Jumps are located to this number of ulps of the time. Jumps that are within NEAR ulps of the start or end of the run
# are ignored: steps do not cross them. The rates on both sides are evaluated at a distance of SIDE ulps.
LOCATED_ULPS, NEAR_ULPS, SIDE_ULPS = 2, 64, 4


class RateJump(NamedTuple):
    """Jump of the rate of a motion from `before` to `after`, m/s or rad/s.

    The time `t` (s) is a few ulps later than the jump, so that the rate at this time is `after`: at the jump itself,
    sign and abs have another derivative than on both sides.
    """

    t: float
    before: float
    after: float


def rate_jumps(motion: Motion, start: float, end: float) -> list[RateJump]:
    """Return the jumps of the rate of a motion between the times `start` and `end` (s), in chronological order.

    User functions and texts with ``where``, ``abs`` and similar functions are examined; other motions have no such
    jumps. Times at which a function fails are skipped.
    """
    jumps: list[RateJump] = []
    for part in motion.parts:
        function = part.functions[0] if part.kind == FUNCTION else None
        if function is None or (isinstance(function, Expression) and function.smooth):
            continue
        rate, slope = part.functions[1:3]
        assert rate is not None and slope is not None
        jumps += jumps_of_rate(rate, slope, start, end)
    return sorted(jumps)


def described(jumps: Sequence[RateJump]) -> str:
    """Return a clause for messages about one or more jumps of a rate, and what results lack there."""
    t, before, after = (value + 0.0 for value in jumps[0])  # without the sign of a zero
    more = f", and at {len(jumps) - 1} more times" if len(jumps) > 1 else ""
    return (
        f"jumps from {before:.6g} to {after:.6g} at t = {t:.9g} s{more}: velocities jump there too, and the result "
        "lacks the impulse and its work"
    )


class _Sample(NamedTuple):
    """Rate and second derivative of a motion at the time `t`, s."""

    t: float
    rate: float
    slope: float


def jumps_of_rate(
    rate: Callable[[float], float], slope: Callable[[float], float], start: float, end: float
) -> list[RateJump]:
    """Return the jumps of the function `rate` between the times `start` and `end` (s); its derivative is `slope`.

    Times at which a function fails are skipped.
    """

    def sample(t: float) -> _Sample:
        try:
            return _Sample(t, float(rate(t)), float(slope(t)))
        except Exception:  # user functions may raise any exception
            return _Sample(t, math.nan, math.nan)

    def deviation(a: _Sample, b: _Sample) -> float:
        return abs(b.rate - a.rate - 0.5 * (b.t - a.t) * (a.slope + b.slope))

    with np.errstate(all="ignore"):
        samples = [sample(float(t)) for t in np.linspace(start, end, INTERVALS + 1)]
        smallest = SMALLEST_JUMP * max((abs(s.rate) for s in samples if math.isfinite(s.rate)), default=0.0)
        jumps = []
        for a, b in pairwise(samples):
            error, resolution = deviation(a, b), float(np.spacing(max(abs(start), abs(b.t))))
            # Comparisons with NaN are False.
            while error > smallest and b.t - a.t > LOCATED_ULPS * resolution:
                middle = sample(0.5 * (a.t + b.t))
                halves = (a, middle), (middle, b)
                a, b = max(halves, key=lambda half: deviation(*half))
                former, error = error, deviation(a, b)
                if error * SMOOTH < former:
                    break
            else:
                inside = start + NEAR_ULPS * resolution < b.t < end - NEAR_ULPS * resolution
                if inside and smallest < error < math.inf:
                    before, after = (sample(t) for t in (a.t - SIDE_ULPS * resolution, b.t + SIDE_ULPS * resolution))
                    jumps.append(RateJump(after.t, before.rate, after.rate))
    return jumps
