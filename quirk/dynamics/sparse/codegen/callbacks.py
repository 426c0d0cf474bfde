"""Callbacks for user functions compiled with numba.

A callback is a C function that calls the user function from compiled code and checks the returned value. The type of
the value is checked when the C function is created, its length and finiteness at each call. If a call fails,
`outputs[FAILED]` is set; the law then repeats the call in Python, which raises an error with the cause.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import overload

from quirk.forces.value import FAILED
from quirk.jit.function_pointers import pointer_to_compiled

# Numbers of components of the arguments after the time: position, quaternion, velocity and angular velocity of a body;
# or coordinate and rate of a joint. 0 denotes a scalar.
OF_BODY, OF_JOINT = (3, 4, 3, 3), (0, 0)
INPUTS = sum(OF_BODY)
INPUT_ROOM = 2 * INPUTS


def is_compiled(function: Any) -> bool:
    """Return whether a function has been compiled with numba."""
    return hasattr(function, "py_func") and hasattr(function, "get_call_template")


@functools.cache
def compiled_pointer(function: Any, sizes: tuple[int, ...]) -> Any:
    """Return the address of a C function that calls a user's numba function.

    `sizes` are the numbers of components of the arguments after the time, 0 for scalars. The C function is compiled
    once per process. The result is None if the function cannot be compiled for these arguments, or if its result is not
    numeric.
    """
    wrapper = {OF_BODY: _of_body, OF_JOINT: _of_joint}.get(sizes)
    try:
        return None if wrapper is None else pointer_to_compiled(wrapper(function))
    except numba.NumbaError:
        return None


def _of_body(function: Any) -> Callable[..., None]:
    def call(t, inputs, outputs):  # type: ignore[no-untyped-def]
        # A copy, so that the call can be repeated with the same arguments if the function modifies them.
        body, good = numba.carray(inputs, INPUT_ROOM), False
        for c in range(INPUTS):
            body[INPUTS + c] = body[c]
        try:
            good = take_vector(function(t, body[13:16], body[16:20], body[20:23], body[23:26]), outputs)
        except Exception:
            good = False
        if not good:
            outputs[FAILED] = 1.0

    return call


def _of_joint(function: Any) -> Callable[..., None]:
    def call(t, inputs, outputs):  # type: ignore[no-untyped-def]
        good = False
        try:
            good = take_number(function(t, inputs[0], inputs[1]), outputs)
        except Exception:
            good = False
        if not good:
            outputs[FAILED] = 1.0

    return call


def take_vector(load: Any, outputs: Any) -> bool:
    """Write a load of three finite numbers to `outputs`; return False for any other load.

    The function is implemented for compiled code only; a call in Python raises a TypeError.
    """
    raise TypeError("take_vector is implemented for compiled code only")


def take_number(load: Any, outputs: Any) -> bool:
    """Write a load that is a finite number to `outputs`; return False for any other load.

    The function is implemented for compiled code only; a call in Python raises a TypeError.
    """
    raise TypeError("take_number is implemented for compiled code only")


@overload(take_vector)
def _typed_vector(load, outputs):  # type: ignore[no-untyped-def]
    if isinstance(load, types.Tuple | types.UniTuple | types.NamedTuple | types.NamedUniTuple):
        known = len(load) == 3 and all(_is_real(entry) for entry in load.types)
    else:
        listed = (isinstance(load, types.Array) and load.ndim == 1) or isinstance(load, types.List | types.ListType)
        known = listed and _is_real(load.dtype)

    def take(load, outputs):  # type: ignore[no-untyped-def]
        if len(load) != 3 or not (math.isfinite(load[0]) and math.isfinite(load[1]) and math.isfinite(load[2])):
            return False
        outputs[0], outputs[1], outputs[2] = load[0], load[1], load[2]
        return True

    return take if known else None


@overload(take_number)
def _typed_number(load, outputs):  # type: ignore[no-untyped-def]
    def take(load, outputs):  # type: ignore[no-untyped-def]
        if not math.isfinite(load):
            return False
        outputs[0] = load
        return True

    return take if _is_real(load) else None


def _is_real(kind: Any) -> bool:
    return isinstance(kind, types.Integer | types.Float)
