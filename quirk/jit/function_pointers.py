"""Calls of user functions through pointers, so that kernels do not depend on the functions and are compiled once.

Each function has the signature ``function(t, inputs, outputs)`` with two pointers to doubles.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, type_callable

POINTER = ctypes.POINTER(ctypes.c_double)
SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_double, POINTER, POINTER)


def pointer_to_python(function: Callable[[float], None]) -> Any:
    """Return a C function that calls the Python function ``function(t)``.

    The pointers to inputs and outputs are not passed on: `function` must read and write arrays of its own. The C
    function exists as long as the returned object; a reference must be kept while the address is in use.
    """
    return SIGNATURE(lambda t, inputs, outputs: function(t))


def pointer_to_filler(
    function: Callable[[float, np.ndarray], None], size: int, watch: Callable[..., Callable[[float], None]]
) -> Any:
    """Return a C function that calls ``function(t, outputs)`` in Python; `outputs` is an array of `size` floats.

    `watch` wraps a function so that its exceptions are caught. Outputs are NaN after an exception.
    """
    place = np.zeros(size)
    watched = watch(lambda t: function(t, place))

    def fill(t: float, inputs: Any, outputs: Any) -> None:
        place[:] = np.nan
        watched(t)
        for k in range(size):
            outputs[k] = place[k]

    return SIGNATURE(fill)


def pointer_to_compiled(function: Any) -> Any:
    """Return a C function compiled by numba from ``function(t, inputs, outputs)`` with pointers to doubles."""
    doubles = types.CPointer(types.float64)
    return numba.cfunc(types.void(types.float64, doubles, doubles))(function)


def address_of(function: Any) -> int:
    """Return the address of a C function created by this module."""
    address = getattr(function, "address", None)
    return int(address if address is not None else ctypes.cast(function, ctypes.c_void_p).value or 0)


def call(address: int, t: float, inputs: np.ndarray, first_in: int, outputs: np.ndarray, first_out: int) -> None:
    """Call the function at `address` with time t and pointers into two flat arrays.

    `first_in` and `first_out` are the indices of the first input and of the first output in these arrays.
    """
    pointers = [a[first:].ctypes.data_as(POINTER) for a, first in ((inputs, first_in), (outputs, first_out))]
    SIGNATURE(int(address))(t, *pointers)


@type_callable(call)
def _typed_call(context: Any) -> Any:
    return lambda address, t, inputs, first_in, outputs, first_out: types.void


@lower_builtin(call, types.Integer, types.Float, types.Array, types.Integer, types.Array, types.Integer)
def _lowered_call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    double = ir.DoubleType()
    kind = ir.FunctionType(ir.VoidType(), [double, double.as_pointer(), double.as_pointer()])
    pointers = []
    for k in (2, 4):
        data = context.make_array(signature.args[k])(context, builder, args[k]).data
        index = context.cast(builder, args[k + 1], signature.args[k + 1], types.intp)
        pointers.append(builder.gep(data, [index]))
    builder.call(builder.inttoptr(args[0], kind.as_pointer()), [args[1], *pointers])
    return context.get_dummy_value()
