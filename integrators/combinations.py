"""The sums that steps consist of, in kernels: stages, error estimates and dense output of flat states."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import at, load, splat, store
from quirk.record import record

from .tableau import Tableau


@record
class Weights(NamedTuple):
    """A tableau as kernels see it: s stages, the closing evaluation, x stages for dense output.

    stages s · buffers s + 1 + x · errors: number of error estimates · exponent: 1 / (order of the estimate) ·
    c (s + 1 + x,) · first (s + 1 + x + errors + 1,) where the weights of each row start: stages, y_new (row s),
    stages for dense output, error estimates · slope, weight: which slopes, and how much of each ·
    dense ((s + 1 + x) d,) weights of the Bernstein polynomials of degree d · binomial (d,)
    """

    stages: int
    buffers: int
    errors: int
    exponent: float
    c: np.ndarray
    first: np.ndarray
    slope: np.ndarray
    weight: np.ndarray
    dense: np.ndarray
    binomial: np.ndarray


def weights_of(tableau: Tableau) -> Weights:
    """Return the weights of a tableau that are not zero."""
    rows = [*tableau.a, tableau.b, *tableau.extra_a, *tableau.errors]
    kept = [np.flatnonzero(row) for row in rows]
    degree = tableau.dense.shape[1]
    return Weights(
        stages=tableau.stages,
        buffers=tableau.buffers,
        errors=len(tableau.errors),
        exponent=1 / (tableau.error_order + 1),
        c=np.concatenate([tableau.c, [1.0], tableau.extra_c]),
        first=np.concatenate([[0], np.cumsum([len(k) for k in kept])]).astype(np.int64),
        slope=np.concatenate(kept).astype(np.int64),
        weight=np.concatenate([row[k] for row, k in zip(rows, kept, strict=True)]),
        dense=tableau.dense.ravel().copy(),
        binomial=np.array([comb(degree, j) for j in range(1, degree + 1)], dtype=float),
    )


@kernel
def combine(weights: Weights, row: int, k: np.ndarray, h: float, y: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with y + h times the sum of slopes `k` that a row asks for."""
    size = out.shape[0]
    first, last = weights.first[row], weights.first[row + 1]
    for o in range(0, size, 8):
        sum_of_slopes = splat(0.0)
        for e in range(first, last):
            sum_of_slopes = sum_of_slopes + at(weights.weight, e) * load(k, weights.slope[e] * size + o)
        store(out, o, load(y, o) + h * sum_of_slopes)


@kernel
def combine_error(weights: Weights, estimate: int, k: np.ndarray, h: float, out: np.ndarray) -> None:
    """Fill `out` with h times the sum of slopes of an error estimate."""
    size = out.shape[0]
    row = weights.buffers + estimate
    first, last = weights.first[row], weights.first[row + 1]
    for o in range(0, size, 8):
        sum_of_slopes = splat(0.0)
        for e in range(first, last):
            sum_of_slopes = sum_of_slopes + at(weights.weight, e) * load(k, weights.slope[e] * size + o)
        store(out, o, h * sum_of_slopes)


@kernel
def sample(weights: Weights, theta: float, k: np.ndarray, h: float, y: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` with the continuous extension at y + theta h."""
    size, degree = out.shape[0], weights.binomial.shape[0]
    for o in range(0, size, 8):
        store(out, o, load(y, o))
    for stage in range(weights.buffers):
        slope = 0.0
        for j in range(degree):
            power = theta ** (j + 1) * (1.0 - theta) ** (degree - 1 - j)
            slope += at(weights.dense, stage * degree + j) * at(weights.binomial, j) * power
        for o in range(0, size, 8):
            store(out, o, load(out, o) + (h * slope) * load(k, stage * size + o))
