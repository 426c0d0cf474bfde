"""Double-double arithmetic in traced functions: each number is the unevaluated sum of two doubles (32 digits).

Sums and products are those of Dekker (Numer. Math. 18 (1971) 224-242) and Knuth (The Art of Computer Programming 2,
4.2.2, theorem B), but the lower parts of a sum are added in double precision: errors are a few times 1e-32 of the
largest term. The functions of `quirk.dynamics.model.vectors` accept double-double numbers in place of doubles.
"""

from __future__ import annotations

from typing import Any

from .simd import rounding_error
from .traced_value import exactly


class DoubleDouble:
    """A number, or a vector of eight numbers, given as the sum high + low of two doubles.

    `low` is None if the number is a double. In traced functions, `high` and `low` are traced values, which emit the
    operations on them as instructions.
    """

    __array_ufunc__ = None  # numpy leaves operations to this class

    def __init__(self, high: Any, low: Any = None) -> None:
        self.high, self.low = high, low

    def remainder(self, rounded: Any) -> Any:
        """Return this number minus a nearby double `rounded`, as a double."""
        with exactly():
            return self.high - rounded if self.low is None else (self.high - rounded) + self.low

    def inverse(self) -> DoubleDouble:
        """Return the reciprocal of this number, by one Newton step from the reciprocal in double precision."""
        first = 1.0 / self.high
        return first + DoubleDouble(first) * (1.0 + self * (-1.0 * first)).high

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-1.0 * self.high, None if self.low is None else -1.0 * self.low)

    def __add__(self, other: Any) -> DoubleDouble:
        a, b = self, other if isinstance(other, DoubleDouble) else DoubleDouble(other)
        with exactly():
            total = a.high + b.high
            part = total - a.high
            rest = (a.high - (total - part)) + (b.high - part)
            for low in (a.low, b.low):
                rest = rest if low is None else rest + low
            return _normal(total, rest)

    __radd__ = __add__

    def __sub__(self, other: Any) -> DoubleDouble:
        return self + (-other if isinstance(other, DoubleDouble) else -1.0 * other)

    def __rsub__(self, other: Any) -> DoubleDouble:
        return -self + other

    def __mul__(self, other: Any) -> DoubleDouble:
        a, b = self, other if isinstance(other, DoubleDouble) else DoubleDouble(other)
        with exactly():
            product = a.high * b.high
            rest = rounding_error(a.high, b.high, product)
            if b.low is not None:
                rest = rest + a.high * b.low
            if a.low is not None:
                rest = rest + a.low * b.high
            return _normal(product, rest)

    __rmul__ = __mul__


def _normal(high: Any, low: Any) -> DoubleDouble:
    """Return the normalized double-double number: the rounded sum high + low, and the rounding error of this sum.

    The magnitude of `low` must be smaller than that of `high`.
    """
    total = high + low
    return DoubleDouble(total, low - (total - high))
