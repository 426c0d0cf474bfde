"""Linear combinations of slopes in compiled code: stages, error estimates and dense output.

A slope is a value of f(t, y). The array `k` holds all slopes of a step, one after the other; a block is eight adjacent
elements of a slope or state.
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..jit.compilation import inlined, kernel
from ..jit.record import record
from ..jit.simd import at, load, splat, store
from .tableau import Tableau

# Number of elements in four blocks of eight.
FOUR = 32


@record
class Weights(NamedTuple):
    """Nonzero weights of a Butcher tableau with s stages, as arrays for compiled code.

    Attributes
    ----------
    stages : number of stages s
    buffers : number of slopes, s + 1 + x: s stages, the end of the step, and x additional stages for dense output
    errors : number of error estimates
    exponent : reciprocal of the order of the error estimate
    c : (s + 1 + x,) times of the evaluations as fractions of the step
    first : (s + 1 + x + errors + 1,) index in `slope` and `weight` at which each row begins; the rows are stages, y_new
        (row s), stages for dense output, and error estimates
    slope, weight : index of the slope and its weight, for each nonzero weight
    dense : ((s + 1 + x) d,) weights of the Bernstein polynomials of degree d
    binomial : (d,) binomial coefficients
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


@cache
def weights_of(tableau: Tableau) -> Weights:
    """Return the nonzero weights of a tableau as arrays."""
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
    """Set `out` (N,) to y + h times the weighted sum of the slopes y', with the weights in row `row` of the tableau.

    h is the step size, `y` is (N,), and the flat array `k` holds the slopes of N components each, one after the other.
    """
    size = out.shape[0]
    whole = size - size % FOUR
    for o in range(0, whole, FOUR):
        p, q, r, s = four_weighted_sums(weights, row, k, size, o)
        store(out, o, load(y, o) + h * p)
        store(out, o + 8, load(y, o + 8) + h * q)
        store(out, o + 16, load(y, o + 16) + h * r)
        store(out, o + 24, load(y, o + 24) + h * s)
    for o in range(whole, size, 8):
        store(out, o, load(y, o) + h * weighted_sum(weights, row, k, size, o))


@kernel
def combine_error(weights: Weights, estimate: int, k: np.ndarray, h: float, out: np.ndarray) -> None:
    """Set `out` (N,) to the error estimate with index `estimate`: h times a weighted sum of the slopes y'.

    h is the step size. The flat array `k` holds the slopes of N components each, one after the other.
    """
    size, row = out.shape[0], weights.buffers + estimate
    whole = size - size % FOUR
    for o in range(0, whole, FOUR):
        p, q, r, s = four_weighted_sums(weights, row, k, size, o)
        store(out, o, h * p)
        store(out, o + 8, h * q)
        store(out, o + 16, h * r)
        store(out, o + 24, h * s)
    for o in range(whole, size, 8):
        store(out, o, h * weighted_sum(weights, row, k, size, o))


@inlined
def four_weighted_sums(weights: Weights, row: int, k: np.ndarray, size: int, o: int) -> tuple[Any, Any, Any, Any]:
    """Return the weighted sums of the slopes for 32 adjacent elements, as four blocks of eight.

    The first element is element o of a state. `row` is the row of weights of the tableau, `size` the number of elements
    of a state, and the flat array `k` holds the slopes one after the other. The four sums are independent, so that the
    processor computes them in parallel.
    """
    p = q = r = s = splat(0.0)
    for e in range(weights.first[row], weights.first[row + 1]):
        weight, place = at(weights.weight, e), weights.slope[e] * size + o
        p, q = p + weight * load(k, place), q + weight * load(k, place + 8)
        r, s = r + weight * load(k, place + 16), s + weight * load(k, place + 24)
    return p, q, r, s


@inlined
def weighted_sum(weights: Weights, row: int, k: np.ndarray, size: int, o: int) -> Any:
    """Return the weighted sum of the slopes for the eight adjacent elements that begin at element o of a state.

    `row` is the row of weights of the tableau, `size` the number of elements of a state, and the flat array `k` holds
    the slopes one after the other.
    """
    p = splat(0.0)
    for e in range(weights.first[row], weights.first[row + 1]):
        p = p + at(weights.weight, e) * load(k, weights.slope[e] * size + o)
    return p


@kernel
def sample(weights: Weights, theta: float, k: np.ndarray, h: float, y: np.ndarray, out: np.ndarray) -> None:
    """Set `out` (N,) to the state at time t + theta h by dense output, for a step of size h from the state y (N,) at t.

    The flat array `k` holds the slopes y' of N components each, one after the other.
    """
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
