"""Numerical derivatives of functions that accept only floats.

A jet is a number with time derivatives and a gradient; a dual number has a value and derivatives along eight
directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from ..errors import InputError
from ..jit.simd import WIDTH
from .dual import Dual
from .jet import Jet

# INTERVALS: half lengths of the intervals on which interpolation is tried, s, the longest first. RESOLVED: an
# interpolation is accepted if the last three Chebyshev coefficients are below this fraction of the largest one.
INTERVALS, RESOLVED = 0.25 ** np.arange(17), 1e-11
# An interval on one side is used if it is more than this number of times as long as half the longest symmetric interval
# that is accurate. For smooth functions the ratio is at most that of successive INTERVALS.
SYMMETRIC = 4
# Difference from the value at the end of an interval on one side, relative to the largest value, that is not a jump.
CONTINUOUS = 1e-9
# Number of interpolation nodes in addition to one for each requested Taylor coefficient.
MORE_NODES = 10


def by_interpolation(function: Callable[..., Any], t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
    """Evaluate a function that accepts only floats at jets, by interpolation in time; return an array of jets.

    The function is evaluated along the Taylor polynomials of its arguments, which are jets, and interpolated in time.
    `t` is the time as a jet. The jets of the result have no gradient.
    """

    def at(x: Any, h: float) -> Any:
        if isinstance(x, np.ndarray):
            return np.array([at(entry, h) for entry in x])
        return float(np.polyval(x.taylor[::-1], h)) if isinstance(x, Jet) else float(x)

    def value(h: float) -> np.ndarray:
        return np.asarray(function(at(t, h), *(at(x, h) for x in arguments)), dtype=float)

    start = value(0.0)
    best = _taylor_coefficients(value, start, len(t.taylor))
    best[0] = start
    jets = np.empty(start.shape, dtype=object)
    for place in np.ndindex(*start.shape):
        jets[place] = Jet([float(c[place]) for c in best], [])
    return jets


def _taylor_coefficients(value: Callable[[float], np.ndarray], start: np.ndarray, terms: int) -> np.ndarray:
    """Return the Taylor coefficients (terms, ...) at zero of a function `value` of time, s, whose value is `start`.

    The function is interpolated on the longest interval on which this is accurate, because round-off errors of
    derivatives increase as the interval becomes shorter. The interval is symmetric about zero, or, close to a
    discontinuity, on the side of zero that does not contain it. Intervals on which the function fails are skipped.
    """
    best, least, trouble = np.empty((terms, *start.shape)), np.inf, None
    one_sided: tuple[float, np.ndarray] | None = None
    for interval in INTERVALS:
        if one_sided is not None and interval < one_sided[0] / SYMMETRIC:
            break
        try:
            missing, _, coefficients = _interpolated(value, terms, -interval, interval)
        except InputError as error:
            trouble = error
        else:
            if missing < least:
                best, least = coefficients, missing
            if missing < RESOLVED:
                return best
        if one_sided is None:
            one_sided = _beside_discontinuity(value, start, terms, interval)
    if one_sided is not None:
        return one_sided[1]
    if trouble is not None and least == np.inf:
        raise trouble
    return best


def _beside_discontinuity(
    value: Callable[[float], np.ndarray], start: np.ndarray, terms: int, length: float
) -> tuple[float, np.ndarray] | None:
    """Return the length (s) and the Taylor coefficients of an accurate interpolation of `value` on one side of zero.

    The result is None unless an interpolation on exactly one side, over an interval of this length, is accurate and has
    the value `start` at zero.
    """
    sides = []
    for low, high in ((0.0, length), (-length, 0.0)):
        try:
            missing, size, coefficients = _interpolated(value, terms, low, high)
        except InputError:
            continue
        if missing < RESOLVED and np.abs(coefficients[0] - start).max(initial=0.0) <= CONTINUOUS * size:
            sides.append((length, coefficients))
    return sides[0] if len(sides) == 1 else None


def _interpolated(
    value: Callable[[float], np.ndarray], terms: int, low: float, high: float
) -> tuple[float, float, np.ndarray]:
    """Interpolate a function of time by Chebyshev polynomials between the times `low` and `high`, s.

    Returns
    -------
    missing : magnitude of the last three Chebyshev coefficients, relative to the largest one
    size : magnitude of the largest Chebyshev coefficient
    coefficients : Taylor coefficients at time zero, (terms, ...)
    """
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    nodes = np.cos(np.pi * (np.arange(terms + MORE_NODES) + 0.5) / (terms + MORE_NODES))
    values = np.array([value(h) for h in middle + half * nodes])
    series = chebyshev.chebfit(nodes, values.reshape(len(nodes), -1), len(nodes) - 1)
    size = float(np.abs(series).max())
    slopes = np.array([chebyshev.chebval(-middle / half, chebyshev.chebder(series, k)) for k in range(terms)])
    scale = half ** np.arange(terms) * np.cumprod([1.0, *range(1, terms)])
    coefficients = (slopes / scale[:, None]).reshape(terms, *values.shape[1:])
    return float(np.abs(series[-3:]).max()) / max(size, np.finfo(float).tiny), size, coefficients


def in_directions(function: Callable[..., Any], t: Dual, arguments: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate a function that accepts only floats at dual numbers; return its value and eight derivatives.

    `arguments` are dual numbers, floats or arrays of them, and `t` is the time. The value has any shape (...). The
    derivatives (..., 8) are along the eight directions of the dual numbers; they are zero, and not computed, along
    directions along which all arguments are constant.
    """
    given = [np.asarray(x, dtype=object) for x in (t, *arguments)]
    value = np.asarray(function(*(_values(x) for x in given)), dtype=float)
    derivative = np.zeros((*value.shape, WIDTH))
    for d in range(WIDTH):
        slopes = [np.vectorize(lambda x, d=d: _slope(x, d), otypes=[float])(x) for x in given]
        if not any(slope.any() for slope in slopes):
            continue
        time, *along = (_lines(_values(x), slope) for x, slope in zip(given, slopes, strict=True))
        jets = by_interpolation(function, time, tuple(along))
        derivative[..., d] = np.vectorize(lambda jet: jet.taylor[1], otypes=[float])(jets)
    return value, derivative


def _values(x: np.ndarray) -> Any:
    found = np.vectorize(float, otypes=[float])(x)
    return found if found.ndim else float(found)


def _slope(x: Any, direction: int) -> float:
    return float(x.delta[direction]) if isinstance(x, Dual) and not isinstance(x.delta, int) else 0.0


def _lines(values: Any, slopes: np.ndarray) -> Any:
    """Return jets that are linear in time, with the given values at time zero and the given slopes."""
    jets = np.empty(slopes.shape, dtype=object)
    for place in np.ndindex(*slopes.shape):
        jets[place] = Jet([float(np.asarray(values)[place]), float(slopes[place])], [])
    return jets if jets.ndim else jets[()]
