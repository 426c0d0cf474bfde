"""Separate compilation of functions with loops and branches, which traced functions call by their address."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.np.unsafe.ndarray import to_fixed_tuple

# Nominal length of an array that is given only by its address; no function reads the length.
LONGEST = 1 << 40


@functools.cache
def compiled_separately(function: Callable[..., Any], constants: tuple[int, ...], numbers: int, count: int) -> Any:
    """Return a C function that calls `function` with an array, the integers `constants`, and further doubles.

    The C function takes three pointers: to the array, to an array with the `numbers` further doubles, and to an array
    to which the `count` results are written.
    """

    def call(array, inputs, results):  # type: ignore[no-untyped-def]
        elements = numba.carray(array, LONGEST)
        values = function(elements, *(constants + to_fixed_tuple(numba.carray(inputs, numbers), numbers)))  # type: ignore[call-arg]
        for k in range(count):
            results[k] = values[k]

    function = numba.njit(error_model="numpy")(function)
    doubles = types.CPointer(types.float64)
    return numba.cfunc(types.void(doubles, doubles, doubles))(call)
