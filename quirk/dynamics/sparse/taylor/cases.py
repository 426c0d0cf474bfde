"""Length of the initial part of a step in which no force law switches its branch.

A guard is a quantity that a law compares with zero; along the Taylor series it is a polynomial in time. Its values lie
between its smallest and largest Bernstein coefficient (Farouki and Rajan, Computer Aided Geometric Design 4 (1987)
191), so that it does not change its sign if all coefficients have the same sign.
"""

from __future__ import annotations

from quirk.jit.compilation import kernel

from .tables import GUARD, LANES, START, STRIDE, TaylorElements

# Series of guards have two orders less than series of positions. Their truncation error is assumed to be less than
# LEFT_OUT times the sum of the last two terms.
LEFT_OUT = 4.0


@kernel
def unswitched_length(elements: TaylorElements, h: float, least: float) -> float:
    """Return the length (s) of the initial part of a step in which no force law switches its branch.

    h is the size of the step (s). It is halved until no guard, a quantity whose sign selects the branch of a law, may
    change its sign. The result is 0 if the length would be less than `least`, or if it cannot be determined.
    """
    count = elements.guards.shape[0] // GUARD
    if count == 0:
        return 0.0
    for n in range(count):
        for lane in range(elements.guards[GUARD * n + LANES]):
            while not keeps_sign(elements, n, lane, h):
                h *= 0.5
                if not h > least:
                    return 0.0
    return h


@kernel
def keeps_sign(elements: TaylorElements, n: int, lane: int, h: float) -> bool:
    """Return whether guard n certainly has the same sign throughout a step of size h (s).

    A guard is a quantity whose sign changes when a force law switches its branch; `lane` is the index of the law in a
    group of laws that are evaluated together.
    """
    guard, c, last = GUARD * n, elements.polynomial, elements.orders - 3
    o, stride = elements.guards[guard + START] + lane, elements.guards[guard + STRIDE]
    # Coefficients of powers of time over h, divided by the binomials 1 / `share` of the last order.
    power = share = 1.0
    for m in range(last + 1):
        c[m] = elements.numbers[o + m * stride] * power * share
        power, share = power * h, share * (m + 1.0) / (last - m) if m < last else share
    rest = LEFT_OUT * (abs(c[last]) + abs(c[last - 1]) * last)
    for k in range(last):
        for m in range(last, k, -1):
            c[m] += c[m - 1]
    low = high = c[0]
    for m in range(1, last + 1):
        low, high = min(low, c[m]), max(high, c[m])
    return low > rest or high < -rest
