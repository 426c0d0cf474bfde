"""Eight doubles as one value, `Lanes`: the vector registers of the processor inside compiled kernels.

A kernel reads `load(array, at)`, computes with + - * / and writes `store(array, at, lanes)`; the same source
runs as plain Python, where lanes are arrays of eight. The last five functions need constants and serve traced
functions alone. Arrays are flat and C-contiguous; an index counts elements, is never negative and is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .scalar import Scalar
from .tracing import WIDTH, TracedValue, traced

# A cache line: lanes that lie across two of them load at half speed.
ALIGNMENT = 64


def aligned(size: int, fill: bool = True) -> np.ndarray:
    """A flat array whose first element is at the start of a cache line: of zeros, or not set if `fill` is False."""
    raw = (np.zeros if fill else np.empty)(size + ALIGNMENT // 8)
    first = (-raw.ctypes.data % ALIGNMENT) // 8
    return raw[first : first + size]


@traced
def load(array: Any, at: Any) -> Any:
    """Eight neighbors of a flat array, from element `at` on."""
    return array.load(at) if isinstance(array, Scalar) else array[at : at + WIDTH].copy()


@traced
def store(array: Any, at: Any, lanes: Any) -> None:
    """Write eight neighbors of a flat array."""
    if isinstance(array, Scalar):
        array.store(at, lanes)
    else:
        array[at : at + WIDTH] = lanes


@traced
def halved(array: Any) -> Any:
    """The same array for `load` and `store` of four neighbors each, where the other four of eight do not matter."""
    return array.halved() if isinstance(array, Scalar) else array


@traced
def widened(lanes: Any) -> Any:
    """Four lanes and zeros in the other four."""
    return lanes.widened() if isinstance(lanes, TracedValue) else np.where(np.arange(WIDTH) < WIDTH // 2, lanes, 0.0)


@traced
def zero_of(array: Any) -> Any:
    """Zero in as many lanes as `load` reads of an array."""
    return array.zero.splat(array.lanes) if isinstance(array, Scalar) else np.zeros(WIDTH)


@traced
def at(array: Any, index: Any) -> Any:
    """One element of a flat array."""
    return array[index]


@traced
def put(array: Any, index: Any, x: Any) -> None:
    """Write one element of a flat array."""
    array[index] = x


@traced
def add(array: Any, index: Any, x: Any) -> None:
    """Add to one element of a flat array."""
    array[index] = array[index] + x


@traced
def splat(x: Any) -> Any:
    """One number in all lanes."""
    return x.splat() if isinstance(x, Scalar) else np.full(WIDTH, x)


@traced
def total(lanes: Any) -> Any:
    """Sum over the lanes, in a fixed order of pairs."""
    if isinstance(lanes, TracedValue):
        return lanes.folded(lanes.builder.fadd)
    four = lanes[:4] + lanes[4:]
    two = four[:2] + four[2:]
    return float(two[0] + two[1])


@traced
def highest(lanes: Any) -> Any:
    """Largest of the lanes."""
    if isinstance(lanes, TracedValue):
        build = lanes.builder
        return lanes.folded(lambda a, b: build.select(build.fcmp_ordered(">", b, a), b, a))
    return float(lanes.max())


@traced
def root(lanes: Any) -> Any:
    """Square roots."""
    return lanes.root() if isinstance(lanes, TracedValue) else np.sqrt(lanes)


@traced
def greater(a: Any, b: Any) -> Any:
    """The larger of two, lane by lane; `a` where `b` is not a number."""
    return a.greater(b) if isinstance(a, TracedValue) else np.where(b > a, b, a)


def spread(lanes: Any, lane: int) -> Any:
    """One lane, a constant, in all lanes."""
    return lanes.spread(lane) if isinstance(lanes, TracedValue) else np.full(WIDTH, lanes[lane])


def permuted(lanes: Any, order: Sequence[int]) -> Any:
    """The first lanes in another order, a constant, and the others as they are."""
    return lanes.permuted(order) if isinstance(lanes, TracedValue) else lanes[[*order, *range(len(order), len(lanes))]]


def lane_of(lanes: Any, lane: int) -> Any:
    """The number in one lane, a constant."""
    return lanes.lane(lane) if isinstance(lanes, Scalar) else float(lanes[lane])


def replaced(lanes: Any, lane: int, x: Any) -> Any:
    """The same lanes but for one, a constant, which is `x`."""
    if isinstance(lanes, Scalar):
        return lanes.replaced(lane, x)
    lanes = lanes.copy()
    lanes[lane] = x
    return lanes


def reciprocal_above(size: Any, limit: Any, x: Any) -> Any:
    """1 / x where `size` is above a limit, 0 where it is not; what is not a number stays so."""
    if isinstance(size, TracedValue):
        return size.reciprocal_above(limit, x)
    return 0.0 if size <= limit else 1.0 / x
