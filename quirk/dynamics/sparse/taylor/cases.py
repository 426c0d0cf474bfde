"""How far into a step laws of forces stay with the cases that they choose at its start.

What a law compares, a guard, is a polynomial along the series. In the form of Bernstein it lies between its least and
its largest coefficient (Farouki and Rajan, Computer Aided Geometric Design 4 (1987) 191), so that it keeps its sign if
they have the same.
"""

from __future__ import annotations

from quirk.jit.compilation import kernel

from .tables import GUARD, LANES, START, STRIDE, TaylorElements

# Guards know two orders less than positions. What is left out of one is taken to be less than so many times the last
# two terms that it has.
LEFT_OUT = 4.0


@kernel
def same_cases(elements: TaylorElements, h: float, least: float) -> float:
    """How far into a step of size h no law changes over to another case; 0 if not even as far as `least`, or unknown.

    A half, a quarter, … of the step where a guard may change its sign in the whole.
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
    """Whether a guard of one element has the same sign all along a step of size h."""
    guard, c, last = GUARD * n, elements.polynomial, elements.orders - 3
    o, stride = elements.guards[guard + START] + lane, elements.guards[guard + STRIDE]
    # Coefficients of powers of the time over h, over the binomials of the last order, of which `share` is one.
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
