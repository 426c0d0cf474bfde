"""Functions given by a table: a spline through the points, extended linearly.

A curve consists of p polynomials in ascending order of x. Polynomial k is written in powers of x - starts[k] and
applies from x = starts[k] to starts[k + 1]; the first one also applies below starts[0], the last one to infinity.

A jet is a number with derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autodiff.jet import where
from ..errors import InputError
from ..functions.motion import Motion
from ..util import validate

# Number of coefficients of each piece of a spline of degree 5.
COEFFICIENTS = 6


def curve(owner: str, argument: str, table: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the curve through the points of a table (x, y), as abscissas `starts` (p,) and coefficients (p, 6).

    The coefficients are in ascending powers of x - starts[k]. Between the points the curve is the spline of degree 5 of
    `Motion.spline`; outside it is linear, along the end tangents. `owner` and `argument` name the table in errors.
    """
    try:
        x, y = table
        through = Motion.spline(x, y)
    except (InputError, TypeError, ValueError) as error:
        raise InputError(
            f"{owner}: {argument} must be a table of two rows, increasing abscissae and as many values: ({error})"
        ) from None
    breaks, inner = through.breaks, through.coefficients
    pieces = np.zeros((len(breaks) + 1, COEFFICIENTS))
    pieces[1:-1, : inner.shape[1]] = inner
    pieces[0, :2], pieces[-1, :2] = through.derivatives(breaks[0], 1), through.derivatives(breaks[-1], 1)
    return validate.array(owner, argument, np.append(breaks[:1], breaks), (len(pieces),)), pieces


def integral(starts: np.ndarray, pieces: np.ndarray, zero: float) -> np.ndarray:
    """Return the coefficients (p, 7) of the integral of a curve of p polynomials; the integral is zero at x = `zero`.

    `pieces` (p, 6) are the coefficients of the curve in ascending powers of x - starts[k]; polynomial k begins at x =
    starts[k].
    """
    integrated = np.zeros((len(pieces), COEFFICIENTS + 1))
    integrated[:, 1:] = pieces / np.arange(1, COEFFICIENTS + 1)
    for p in range(2, len(pieces)):
        integrated[p, 0] = np.polyval(integrated[p - 1, ::-1], starts[p] - starts[p - 1])
    integrated[:, 0] -= on_curve(zero, starts, integrated)
    return integrated


def on_curve(x: Any, starts: Any, pieces: Any) -> Any:
    """Return the value of a piecewise polynomial curve at x, a float or a jet.

    Row k of `pieces` (p, c) has the c coefficients of polynomial k in ascending powers of x - starts[k]. The polynomial
    begins at x = starts[k].
    """
    start, coefficients = starts[0], list(pieces[0])
    for p in range(1, len(pieces)):
        beyond = x >= starts[p]
        start = where(beyond, starts[p], start)
        coefficients = [where(beyond, a, b) for a, b in zip(pieces[p], coefficients, strict=True)]
    value: Any = 0.0
    for coefficient in reversed(coefficients):
        value = value * (x - start) + coefficient
    return value
