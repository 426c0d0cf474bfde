"""Hermite interpolation from values and derivatives at both ends of intervals."""

from __future__ import annotations

from math import comb, factorial

import numpy as np


def hermite_interpolants(
    start_values: np.ndarray, end_values: np.ndarray, x: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Hermite interpolants of degree 2 K + 1, and their rates, at one point in each of p intervals.

    Parameters
    ----------
    start_values, end_values : (p, K + 1, ...)
        Values at the start and at the end of each interval, with their first K time derivatives.
    x : (p,)
        Fraction of each interval, 0 to 1.
    h : (p,)
        Lengths of the intervals.

    Returns
    -------
    value, rate : (p, ...) interpolated values and their rates
    """
    terms = start_values.shape[1]
    start, shape = start_values[:, 0], (len(x),) + (1,) * (start_values.ndim - 2)
    value, rate = np.zeros_like(start), np.zeros_like(start)
    for k in range(terms):
        scale = h**k
        for ends, at, sign in ((start_values, x, 1.0), (end_values, 1.0 - x, -1.0)):
            weight, slope = _basis(k, terms, at)
            # The value at the start is added at the end, because the increment has higher precision.
            given = ends[:, k] - start if k == 0 else ends[:, k]
            value += (sign**k * scale * weight).reshape(shape) * given
            rate += (sign ** (k + 1) * scale / h * slope).reshape(shape) * given
    return value + start, rate


def _basis(k: int, n: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a basis polynomial of Hermite interpolation, and its derivative, at points x from 0 to 1.

    The polynomial has degree 2 n - 1; its k-th derivative is 1 at x = 0, and all other derivatives below n are zero at
    x = 0 and 1. The polynomial is x^k / k! (1 - x)^n (1 + n x + ... + C(n + j - 1, j) x^j + ...), j < n - k.
    """
    powers = x[:, None] ** np.arange(n)
    counts = np.array([comb(n + j - 1, j) for j in range(n - k)], dtype=float)
    series = powers[:, : n - k] @ counts
    series_rate = powers[:, : n - k - 1] @ (counts[1:] * np.arange(1, n - k))
    rest, rest_rate = (1 - x) ** n, -n * (1 - x) ** (n - 1)
    first = powers[:, k] / factorial(k)
    first_rate = powers[:, k - 1] / factorial(k - 1) if k > 0 else np.zeros_like(x)
    value = first * rest * series
    return value, first_rate * rest * series + first * (rest_rate * series + rest * series_rate)
