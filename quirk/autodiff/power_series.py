"""Products and elementary functions of truncated power series, given as lists of Taylor coefficients.

The recurrences are those of Griewank and Walther, Evaluating Derivatives, 2008, table 13.2. Coefficients are of the
types that jets accept (`quirk.autodiff.jet`); terms with the integer 0 are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..jit.scalar import plus, times
from .elementary import apply, inverse


def convolution(a: Sequence[Any], b: Sequence[Any], first: int, k: int) -> Any:
    """Return coefficient k of a product of power series: the sum of a_m b_(k-m) over m from `first` to k."""
    total: Any = 0
    for m in range(first, min(k + 1, len(a))):
        x, y = a[m], b[k - m]
        # This loop dominates the time of functions on jets, so the test for zero is inlined.
        if not ((type(x) is int and x == 0) or (type(y) is int and y == 0)):
            total = plus(total, x * y)
    return total


def reciprocal(x: Sequence[Any], terms: int) -> list[Any]:
    """Return the first `terms` Taylor coefficients of 1 / x."""
    first = inverse(x[0])
    result = [first][:terms]
    for k in range(1, terms):
        result.append(times(convolution(x, result, 1, k), -first))
    return result


def square_root(x: Sequence[Any]) -> list[Any]:
    """Return the Taylor coefficients of the square root of x."""
    root = [apply("sqrt", x[0])]
    half = 0.5 * inverse(root[0])
    for k in range(1, len(x)):
        inner = _total([times(root[m], root[k - m]) for m in range(1, k)])
        root.append(times(plus(x[k], times(inner, -1.0)), half))
    return root


def exponential(x: Sequence[Any]) -> list[Any]:
    """Return the Taylor coefficients of exp(x)."""
    result = [apply("exp", x[0])]
    for k in range(1, len(x)):
        result.append(convolution(_weighted(x, k), result, 1, k))
    return result


def logarithm(x: Sequence[Any]) -> list[Any]:
    """Return the Taylor coefficients of the natural logarithm of x."""
    scale = inverse(x[0])
    result = [apply("log", x[0])]
    for k in range(1, len(x)):
        inner = _total([times(w, x[k - m]) for m, w in enumerate(_weighted(result, k))])
        result.append(times(plus(x[k], times(inner, -1.0)), scale))
    return result


def sine_and_cosine(x: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the Taylor coefficients of sin(x) and cos(x), x in rad, by coupled recurrences."""
    sine, cosine = [apply("sin", x[0])], [apply("cos", x[0])]
    for k in range(1, len(x)):
        weights = _weighted(x, k)
        sine.append(convolution(weights, cosine, 1, k))
        cosine.append(times(convolution(weights, sine, 1, k), -1.0))
    return sine, cosine


def hyperbolic_sine_and_cosine(x: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the Taylor coefficients of sinh(x) and cosh(x), by coupled recurrences."""
    sine, cosine = [apply("sinh", x[0])], [apply("cosh", x[0])]
    for k in range(1, len(x)):
        weights = _weighted(x, k)
        sine.append(convolution(weights, cosine, 1, k))
        cosine.append(convolution(weights, sine, 1, k))
    return sine, cosine


def hyperbolic_tangent(x: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the Taylor coefficients of tanh(x) and of its derivative 1 - tanh(x)^2."""
    tangent = [apply("tanh", x[0])]
    slope = [1.0 - tangent[0] * tangent[0]]
    for k in range(1, len(x)):
        tangent.append(convolution(_weighted(x, k), slope, 1, k))
        slope.append(times(convolution(tangent, tangent, 0, k), -1.0))
    return tangent, slope


def powers(x: Sequence[Any], exponent: float, terms: int) -> list[Any]:
    """Return the first `terms` Taylor coefficients of x^p for the non-integer exponent p = `exponent`.

    The recurrence (x^p)' = p x^(p-1) x' needs no logarithm, so that at x = 0 the derivatives up to order p exist.
    """
    if terms == 0:
        return []
    y, slope = [apply("pow", x[0], exponent)], powers(x, exponent - 1.0, terms - 1)
    for k in range(1, terms):
        products = [times(times(slope[k - m], m), x[m]) for m in range(1, min(k, len(x) - 1) + 1)]
        y.append(times(_total(products), exponent / k))
    return y


def _total(terms: Sequence[Any]) -> Any:
    """Return the sum of numbers, or the integer 0 for an empty sequence."""
    result: Any = 0
    for term in terms:
        result = plus(result, term)
    return result


def _weighted(x: Sequence[Any], k: int) -> list[Any]:
    """Return coefficients 0 to k of x, each coefficient m multiplied by m / k, for recurrences that contain x'."""
    return [times(m / k if m else 0, c) for m, c in enumerate(x[: k + 1])]
