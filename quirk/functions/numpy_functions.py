"""Replacements of numpy's functions for user functions that are compiled to machine code."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from .tracer import NotTraceableError, Tracer, Truth, chosen, operand, with_value
from .tracer_arrays import (
    TRUTH,
    TracerArray,
    data_of,
    divided,
    elementwise,
    from_numpy,
    product,
    raised,
    real,
    squares,
    total,
    wrapped,
)
from .tracer_conversions import as_constant, as_float_tracer, is_traced, to_float64

# Number of positional arguments that replacements of numpy functions accept, if not 2. Further arguments of numpy's
# functions, such as an output array, are not supported.
MOST_ARGUMENTS = {"where": 3, "clip": 3}


def of_numpy(name: str, of_tracers: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name`, which calls `of_tracers` if an argument contains a tracer."""
    original = getattr(np.linalg, name) if name == "norm" else getattr(np, name)
    most = original.nin if isinstance(original, np.ufunc) else MOST_ARGUMENTS.get(name, 2)

    @functools.wraps(of_tracers)
    def function(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > most or not named.keys() <= {"axis", "dtype"}:
            raise NotTraceableError(f"further arguments of numpy.{name}")
        named = {key: as_constant(x) for key, x in named.items()}
        if name == "asarray" and type(arguments[0]) is TracerArray:  # the same array, not a copy, even if constant
            return _same_array(*arguments, **named)
        if not is_traced(arguments):
            with np.errstate(all="ignore"):
                return from_numpy(original(*map(as_constant, arguments), **named))
        if named and named != {"dtype": float}:
            raise NotTraceableError(f"arguments of numpy.{name} by name")
        return of_tracers(*arguments)

    return function


def _elements(name: str, of_tracers: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name`, which applies `of_tracers` to each element of arrays."""
    return of_numpy(name, lambda *x: elementwise(of_tracers, getattr(np, name), *map(as_float_tracer, x)))


def _of_library(name: str, symbol: str) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name`, which calls the C library's function `symbol` for tracers."""

    def of_tracer(*x: Any) -> Any:
        numbers = [operand(number)[0] for number in x]
        first = next((number for number in numbers if isinstance(number, Jet)), None)
        if first is None:
            return getattr(np, name)(*x)
        jet, *further = (number if isinstance(number, Jet) else first.constant(number) for number in numbers)
        return Tracer(with_value(getattr(jet, name)(*further), symbol, *numbers), True)

    return _elements(name, of_tracer)


def _choose(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise, like `numpy.where` for scalars."""
    if isinstance(condition, Truth):
        return chosen(condition, a, b, True)
    return a if condition else b


def _np_reciprocal(x: Any) -> Any:
    """Return 1 / x, like `numpy.reciprocal`.

    NotTraceableError is raised if x may be an integer, because numpy then returns an integer.
    """
    return elementwise(lambda element: divided(1.0, element), np.reciprocal, x)


def _minimum(a: Any, b: Any) -> Any:
    return _choose((a < b) | (a != a), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return _choose((a > b) | (a != a), a, b)


def _clip(x: Any, low: Any, high: Any) -> Any:
    above = _choose((x >= low) | (x != x), x, low)
    return _choose((above <= high) | (above != above), above, high)


def _sign(x: Any) -> Any:
    return _choose(x > 0.0, 1.0, _choose(x < 0.0, -1.0, _choose(x == 0.0, 0.0, x)))


def _heaviside(x: Any, at_zero: Any) -> Any:
    return _choose(x > 0.0, 1.0, _choose(x < 0.0, 0.0, _choose(x == 0.0, at_zero, x)))


def _where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise, like `numpy.where`."""
    truths = _truths(condition)
    first, second = data_of(as_float_tracer(a)), data_of(as_float_tracer(b))
    if TRUTH in (first.dtype, second.dtype):
        raise NotTraceableError("truths are chosen from")
    if first.dtype == second.dtype != object:  # integers, whose zero has no sign
        if not isinstance(condition, Truth) or first.ndim or second.ndim:
            raise NotTraceableError("integers of arrays are chosen from")
        return chosen(condition, first[()], second[()], True)
    parts = np.broadcast_arrays(truths, real(first), real(second))
    selected = np.empty(parts[0].shape, dtype=object)
    for index in np.ndindex(*selected.shape):
        selected[index] = _choose(*(part[index] for part in parts))
    return wrapped(selected)


def _truths(condition: Any) -> np.ndarray:
    """Convert a condition to an array of truth values; a NotTraceableError is raised if it contains numbers."""
    data = data_of(condition)
    if data.dtype != TRUTH and not all(isinstance(x, Truth | np.bool_) for x in data.flat):
        raise NotTraceableError("a number in place of a condition")
    return data


def _not(x: Any) -> Any:
    if not isinstance(x, Truth):
        raise NotTraceableError("a number in place of a condition")
    return Truth(~x._quirk_condition, True)


def _both(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a replacement of a logical function of numpy, which combines two truth values by `combine`."""

    def combined(a: Any, b: Any) -> Any:
        if not all(isinstance(x, Truth) or type(x) in (bool, np.bool_) for x in (a, b)):
            raise NotTraceableError("a number in place of a condition")
        result = combine(a, b)
        return Truth(result._quirk_condition, True) if isinstance(result, Truth) else np.bool_(result)

    return combined


def _array(x: Any, dtype: Any = None) -> Any:
    if dtype is not None and as_constant(dtype) is not float:
        raise NotTraceableError(f"an array of {dtype!r}")
    return wrapped(data_of(x).copy()) if data_of(x).ndim else TracerArray(data_of(x))


def _same_array(x: Any, dtype: Any = None) -> Any:
    if type(x) is not TracerArray:
        return _array(x, dtype)
    if dtype is not None and (dtype is not float or x._quirk_data.dtype != object):
        raise NotTraceableError("an array is made anew with another type")
    return x


def _joined(parts: Sequence[Any], axis: int = 0) -> Any:
    return TracerArray(np.concatenate([real(data_of(part)) for part in parts], axis))


def _stacked(parts: Sequence[Any], axis: int = 0) -> Any:
    return TracerArray(np.stack([real(data_of(part)) for part in parts], axis))


def _append(a: Any, b: Any) -> Any:
    return _joined([TracerArray(real(data_of(x)).ravel()) for x in (a, b)])


def _cross(a: Any, b: Any) -> Any:
    if data_of(a).shape != (3,) or data_of(b).shape != (3,):
        raise NotTraceableError("a cross product of other than two vectors (3,)")
    (a0, a1, a2), (b0, b1, b2) = (TracerArray(real(data_of(x))) for x in (a, b))
    return _array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])


def _outer(a: Any, b: Any) -> Any:
    left, right = (TracerArray(real(data_of(x)).ravel()) for x in (a, b))
    return _array([[x * y for y in right] for x in left])


def _vectors(a: Any, b: Any) -> Any:
    if data_of(a).ndim != 1 or data_of(b).ndim != 1:
        raise NotTraceableError("a product of other than two vectors")
    return product(a, b)


def _dot(a: Any, b: Any) -> Any:
    return a * b if data_of(a).ndim == 0 or data_of(b).ndim == 0 else product(a, b)


def _prod(x: Any) -> Any:
    parts = list(TracerArray(real(data_of(x)).ravel()))
    return functools.reduce(operator.mul, parts)


def norm(x: Any) -> Any:
    """Return the Euclidean norm of an array that contains tracers, like `numpy.linalg.norm`."""
    return NUMPY_FUNCTIONS["sqrt"](squares(x))


def _np_power(a: Any, b: Any) -> Any:
    if type(b) in (int, float, np.float64, np.int64) and float(b) in (0, 1, 2, 0.5, -1):
        return a**b
    return elementwise(raised, np.power, as_float_tracer(a), as_float_tracer(b))


def _zeros_like(x: Any) -> Any:
    return TracerArray(np.full(data_of(x).shape, 0.0, dtype=object))


def _scaled(factor: float) -> Callable[[Any], Any]:
    return lambda x: x * factor


def _refused(*arguments: Any) -> Any:
    raise NotTraceableError("an array of unknown size")


_LIBRARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "sqrt": "sqrt",
    "exp": "exp", "log": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2",
    "hypot": "hypot",
}  # fmt: skip


_STRUCTURAL: dict[str, Callable[..., Any]] = {
    "where": _where, "array": _array, "asarray": _same_array, "zeros_like": _zeros_like, "concatenate": _joined,
    "stack": _stacked, "hstack": _joined, "append": _append, "cross": _cross, "outer": _outer, "inner": _vectors,
    "vdot": _vectors, "dot": _dot, "matmul": product, "sum": total, "prod": _prod,
    "logical_not": _not, "logical_and": _both(operator.and_), "logical_or": _both(operator.or_),
}  # fmt: skip


NUMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_library(name, symbol) for name, symbol in _LIBRARY.items()},
    "minimum": _elements("minimum", _minimum), "maximum": _elements("maximum", _maximum),
    "clip": _elements("clip", _clip), "sign": _elements("sign", _sign), "heaviside": _elements("heaviside", _heaviside),
    **{name: _elements(name, abs) for name in ("abs", "absolute", "fabs")},
    "square": _elements("square", lambda x: x * x), "reciprocal": of_numpy("reciprocal", _np_reciprocal),
    "negative": _elements("negative", operator.neg), "add": _elements("add", operator.add),
    "subtract": _elements("subtract", operator.sub), "multiply": _elements("multiply", operator.mul),
    "divide": _elements("divide", divided), "power": of_numpy("power", _np_power),
    **{name: _elements(name, _scaled(math.pi / 180.0)) for name in ("deg2rad", "radians")},
    **{name: _elements(name, _scaled(180.0 / math.pi)) for name in ("rad2deg", "degrees")},
    **{name: of_numpy(name, function) for name, function in _STRUCTURAL.items()},
    **{name: of_numpy(name, lambda *x: _refused(*x)) for name in ("zeros", "ones", "eye")},
    "float64": to_float64,
}  # fmt: skip
