"""Conversions between numbers, jets and tracers, for user functions that are compiled to machine code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from .tracer import NotTraceableError, Tracer, Truth, operand
from .tracer_arrays import TracerArray, constant, data_of, from_numpy, plain, wrapped


def is_traced(x: Any) -> bool:
    """Whether a value contains a tracer, and is therefore unknown until the machine code runs."""
    if type(x) in (list, tuple):
        return any(map(is_traced, x))
    return isinstance(x, Tracer | Truth) or (type(x) is TracerArray and not constant(x._quirk_data))


def as_constant(x: Any) -> Any:
    """Convert a constant, such as a TracerArray without tracers, to a Python or numpy object."""
    if type(x) in (list, tuple):
        return type(x)(map(as_constant, x))
    if x is to_float or x is to_float64:
        return float  # as a dtype
    return plain(x._quirk_data).copy() if type(x) is TracerArray else x


def as_float_tracer(x: Any) -> Any:
    """Convert an integer tracer to a float tracer, as numpy's functions do; return other values unchanged."""
    return Tracer(x._quirk_jet, True) if isinstance(x, Tracer) else x


def to_float(x: Any = 0.0) -> Any:
    """Convert a tracer or number to a Python float, or to a tracer of one."""
    return Tracer(x._quirk_jet, False) if isinstance(x, Tracer) else float(x)


def to_float64(x: Any = 0.0) -> Any:
    """Convert a tracer or number to a numpy.float64, or to a tracer of one."""
    return Tracer(x._quirk_jet, True) if isinstance(x, Tracer) else from_numpy(np.float64(as_constant(x)))


def frozen(x: np.ndarray) -> TracerArray:
    """Return a read-only TracerArray with the values of a global array of a user function."""
    array = from_numpy(np.array(x))
    if not isinstance(array, TracerArray):
        array = TracerArray(data_of(array))
    array._quirk_data.setflags(write=False)
    return array


def traced_arguments(arguments: Sequence[Any], numpy: bool = False) -> list[Any]:
    """Convert jets to tracers, and arrays of jets to arrays of tracers.

    `numpy` is true if the user function receives arguments of type numpy.float64 instead of float.
    """
    converted: list[Any] = []
    for x in arguments:
        if isinstance(x, np.ndarray):
            data = np.empty(x.shape, dtype=object)
            for index in np.ndindex(*x.shape):
                element: Any = x[index]
                data[index] = Tracer(element, True) if isinstance(element, Jet) else float(element)
            converted.append(TracerArray(data))
        else:
            converted.append(Tracer(x, numpy) if isinstance(x, Jet) else x)
    return converted


def untraced(x: Any) -> Any:
    """Convert the result of a user function run on tracers to jets, floats, or arrays and lists of these."""
    if type(x) is TracerArray:
        return np.array([untraced(part) for part in x], dtype=object) if x.ndim else untraced(wrapped(x._quirk_data))
    if type(x) in (list, tuple):
        return type(x)(map(untraced, x))
    if isinstance(x, Truth) or type(x) in (bool, np.bool_):
        raise NotTraceableError("a truth is returned")
    return operand(x)[0]
