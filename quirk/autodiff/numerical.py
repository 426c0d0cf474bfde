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
# Number of interpolation nodes in addition to one for each requested Taylor coefficient.
MORE_NODES = 10


def by_interpolation(function: Callable[..., Any], t: Jet, arguments: tuple[Any, ...]) -> np.ndarray:
    """Evaluate a function that accepts only floats at jets, by interpolation in time; return an array of jets.

    The function is evaluated along the Taylor polynomials of its arguments, which are jets. The results are
    interpolated by Chebyshev polynomials on the longest time interval on which these are accurate, because round-off
    errors of derivatives increase as the interval becomes shorter. Intervals on which the function fails are skipped.
    `t` is the time as a jet. The jets of the result have no gradient.
    """
    terms = len(t.taylor)

    def at(x: Any, h: float) -> Any:
        if isinstance(x, np.ndarray):
            return np.array([at(entry, h) for entry in x])
        return float(np.polyval(x.taylor[::-1], h)) if isinstance(x, Jet) else float(x)

    def value(h: float) -> np.ndarray:
        return np.asarray(function(at(t, h), *(at(x, h) for x in arguments)), dtype=float)

    start = value(0.0)
    nodes = np.cos(np.pi * (np.arange(terms + MORE_NODES) + 0.5) / (terms + MORE_NODES))
    best, least, trouble = np.empty((terms, *start.shape)), np.inf, None
    for interval in INTERVALS:
        try:
            values = np.array([value(h) for h in interval * nodes])
        except InputError as error:
            trouble = error
            continue
        series = chebyshev.chebfit(nodes, values.reshape(len(nodes), -1), len(nodes) - 1)
        missing = np.abs(series[-3:]).max() / max(np.abs(series).max(), np.finfo(float).tiny)
        if missing < least:
            least = missing
            slopes = [chebyshev.chebval(0.0, chebyshev.chebder(series, k)) for k in range(terms)]
            scale = interval ** np.arange(terms) * np.cumprod([1.0, *range(1, terms)])
            best = (np.array(slopes) / scale[:, None]).reshape(terms, *start.shape)
        if missing < RESOLVED:
            break
    if trouble is not None and least == np.inf:
        raise trouble
    best[0] = start
    jets = np.empty(start.shape, dtype=object)
    for place in np.ndindex(*start.shape):
        jets[place] = Jet([float(c[place]) for c in best], [])
    return jets


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
