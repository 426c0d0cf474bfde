"""Vectors of eight doubles for the vector registers of the processor, in compiled kernels.

The eight entries of a vector are its lanes. A kernel reads a vector with `load(array, at)`, computes with + - * / and
writes it with `store(array, at, lanes)`; the same source runs as plain Python, where a vector is an array (8,).
Functions here that are not marked `traced` take constant indices, and only traced functions can call them (see
`quirk.jit.tracing`). Arrays are flat and C-contiguous; indices count elements, must not be negative and are not
checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .lane_types import WIDTH
from .scalar import Scalar
from .traced_value import TracedValue
from .tracing import traced

# Alignment of arrays, bytes: the size of a cache line. Vectors that cross a cache line are loaded at half speed.
ALIGNMENT = 64


def aligned(size: int, fill: bool = True) -> np.ndarray:
    """Return a flat array aligned to a cache line, filled with zeros, or uninitialized if `fill` is False."""
    raw = (np.zeros if fill else np.empty)(size + ALIGNMENT // 8)
    first = (-raw.ctypes.data % ALIGNMENT) // 8
    return raw[first : first + size]


@traced
def load(array: Any, at: Any) -> Any:
    """Load a vector of eight adjacent elements of a flat array, beginning at element `at`."""
    return array.load(at) if isinstance(array, Scalar) else array[at : at + WIDTH].copy()


@traced
def store(array: Any, at: Any, lanes: Any) -> None:
    """Store a vector of eight lanes in adjacent elements of a flat array, beginning at element `at`."""
    if isinstance(array, Scalar):
        array.store(at, lanes)
    else:
        array[at : at + WIDTH] = lanes


@traced
def halved(array: Any) -> Any:
    """Return a view of an array in which `load` and `store` access only the first four of every eight elements."""
    return array.halved() if isinstance(array, Scalar) else array


@traced
def widened(lanes: Any) -> Any:
    """Extend a vector of four lanes to eight lanes with zeros."""
    return lanes.widened() if isinstance(lanes, TracedValue) else np.where(np.arange(WIDTH) < WIDTH // 2, lanes, 0.0)


@traced
def zero_of(array: Any) -> Any:
    """Return a vector of zeros with as many lanes as `load` reads from an array: eight, or four if it is halved."""
    return array.zero.splat(array.lanes) if isinstance(array, Scalar) else np.zeros(WIDTH)


@traced
def at(array: Any, index: Any) -> Any:
    """Return one element of a flat array."""
    return array[index]


@traced
def put(array: Any, index: Any, x: Any) -> None:
    """Set one element of a flat array to x."""
    array[index] = x


@traced
def add(array: Any, index: Any, x: Any) -> None:
    """Add x to one element of a flat array."""
    array[index] = array[index] + x


@traced
def splat(x: Any) -> Any:
    """Return a vector with x in all lanes."""
    return x.splat() if isinstance(x, Scalar) else np.full(WIDTH, x)


@traced
def total(lanes: Any) -> Any:
    """Return the sum of the lanes of a vector, added pairwise in a fixed order."""
    if isinstance(lanes, TracedValue):
        return lanes.folded(lanes.builder.fadd)
    four = lanes[:4] + lanes[4:]
    two = four[:2] + four[2:]
    return float(two[0] + two[1])


@traced
def highest(lanes: Any) -> Any:
    """Return the largest lane of a vector."""
    if isinstance(lanes, TracedValue):
        build = lanes.builder
        return lanes.folded(lambda a, b: build.select(build.fcmp_ordered(">", b, a), b, a))
    return float(lanes.max())


@traced
def root(lanes: Any) -> Any:
    """Return the square roots of the lanes of a vector."""
    return lanes.root() if isinstance(lanes, TracedValue) else np.sqrt(lanes)


@traced
def rounding_error(a: Any, b: Any, product: Any) -> Any:
    """Return the exact difference a b - product, where `product` is the product of a and b rounded to double."""
    for x in (a, b):
        if isinstance(x, TracedValue):
            return x.fused(b if x is a else a, -product)
    (high_a, low_a), (high_b, low_b) = _halves(a), _halves(b)
    return ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def _halves(x: Any) -> tuple[Any, Any]:
    """Return two numbers of 26 binary digits each, whose sum is x (Dekker, Numer. Math. 18 (1971) 224-242)."""
    scaled = 134217729.0 * x  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high


@traced
def greater(a: Any, b: Any) -> Any:
    """Return the larger of two vectors, lane by lane; where `b` is NaN, the result is `a`."""
    return a.greater(b) if isinstance(a, TracedValue) else np.where(b > a, b, a)


def spread(lanes: Any, lane: int) -> Any:
    """Return a vector with lane `lane` of another vector in all lanes; the index is a constant."""
    return lanes.spread(lane) if isinstance(lanes, TracedValue) else np.full(len(lanes), lanes[lane])


def permuted(lanes: Any, order: Sequence[int]) -> Any:
    """Return a vector with its first lanes permuted; `order` contains their constant indices."""
    return lanes.permuted(order) if isinstance(lanes, TracedValue) else lanes[[*order, *range(len(order), len(lanes))]]


def lane_of(lanes: Any, lane: int) -> Any:
    """Return the number in lane `lane` of a vector; the index is a constant."""
    return lanes.lane(lane) if isinstance(lanes, Scalar) else float(lanes[lane])


def replaced(lanes: Any, lane: int, x: Any) -> Any:
    """Return a copy of a vector in which lane `lane` is replaced by x; the index is a constant."""
    if isinstance(lanes, Scalar):
        return lanes.replaced(lane, x)
    lanes = lanes.copy()
    lanes[lane] = x
    return lanes


def reciprocal_above(size: Any, limit: Any, x: Any) -> Any:
    """Return 1 / x, or 0 if `size` is at most `limit`; if `size` is NaN, the result is 1 / x."""
    if isinstance(size, TracedValue):
        return size.reciprocal_above(limit, x)
    return 0.0 if size <= limit else 1.0 / x


@traced
def load4(array: Any, at: Any) -> Any:
    """Load a vector of four adjacent elements of a flat array, beginning at element `at`."""
    return array.load4(at) if isinstance(array, Scalar) else array[at : at + WIDTH // 2].copy()


@traced
def store4(array: Any, at: Any, lanes: Any) -> None:
    """Store a vector of four lanes in adjacent elements of a flat array, beginning at element `at`."""
    if isinstance(array, Scalar):
        array.store4(at, lanes)
    else:
        array[at : at + WIDTH // 2] = lanes


def gathered(array: Any, indices: Sequence[Any]) -> Any:
    """Return a vector of elements of a flat array with the given eight indices."""
    if isinstance(array, Scalar):
        return array.gathered(indices)
    return array[np.array(indices, dtype=np.int64)]


def shuffled(a: Any, b: Any, order: Sequence[int]) -> Any:
    """Return the lanes with indices `order` of the concatenated vectors a and b."""
    return a.shuffled(b, order) if isinstance(a, TracedValue) else np.concatenate([a, b])[list(order)]


def transposed8(rows: Sequence[Any]) -> list[Any]:
    """Return the columns of a matrix (8, 8) whose rows are given as eight vectors."""
    rows = list(rows)
    for step in (1, 2, 4):
        low = [k + half * WIDTH for k in range(WIDTH) if not k & step for half in (0, 1)]
        order = sorted(low, key=lambda k: (k % WIDTH // (2 * step), k // WIDTH, k % step))
        for k in range(WIDTH):
            if not k & step:
                a, b = rows[k], rows[k + step]
                rows[k] = shuffled(a, b, order)
                rows[k + step] = shuffled(a, b, [o + step for o in order])
    return rows
