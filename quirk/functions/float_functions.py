"""Replacements of `math`, numpy and built-in functions for user functions that are compiled to machine code.

A user function is run once on tracers, objects that represent numbers and record the operations on them. For constant
arguments each replacement is the original function. For tracers the machine code gives the same bits as the original,
except for numpy functions that numpy computes with its own SIMD code (docs/forces.md). Operations without replacement
raise NotTraceableError.

Terms: a jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..autodiff import jet as jets
from .array_api import TracedNames, Vocabulary, short_range
from .tracer import NotTraceableError, Tracer, Truth, checked, chosen, operand, with_value
from .tracer_arrays import (
    TRUTH,
    TracerArray,
    constant,
    data_of,
    divided,
    elementwise,
    from_numpy,
    plain,
    product,
    raised,
    real,
    squares,
    total,
    wrapped,
)

# Since Python 3.12 `sum` uses compensated summation for floats.
SUM_COMPENSATES = sys.version_info >= (3, 12)

# Maximum number of positional arguments; further ones would be an array for the result, and similar.
MOST_ARGUMENTS = {"where": 3, "clip": 3}


def _is_traced(x: Any) -> bool:
    """Whether a value contains a tracer, whose value is unknown until the machine code runs."""
    if type(x) in (list, tuple):
        return any(map(_is_traced, x))
    return isinstance(x, Tracer | Truth) or (type(x) is TracerArray and not constant(x._quirk_data))


def _untraced(x: Any) -> Any:
    """Return a constant as an ordinary Python or numpy value."""
    if type(x) in (list, tuple):
        return type(x)(map(_untraced, x))
    if x is _float or x is _float64:
        return float  # as a dtype
    return plain(x._quirk_data).copy() if type(x) is TracerArray else x


def _of_numpy(name: str, of_tracers: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name`, which calls `of_tracers` if any argument is a tracer."""
    original = getattr(np.linalg, name) if name == "norm" else getattr(np, name)
    most = original.nin if isinstance(original, np.ufunc) else MOST_ARGUMENTS.get(name, 2)

    @functools.wraps(of_tracers)
    def function(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > most or not named.keys() <= {"axis", "dtype"}:
            raise NotTraceableError(f"further arguments of numpy.{name}")
        named = {key: _untraced(x) for key, x in named.items()}
        if name == "asarray" and type(arguments[0]) is TracerArray:  # the same array, not a copy, even if constant
            return _same_array(*arguments, **named)
        if not _is_traced(arguments):
            with np.errstate(all="ignore"):
                return from_numpy(original(*map(_untraced, arguments), **named))
        if named and named != {"dtype": float}:
            raise NotTraceableError(f"arguments of numpy.{name} by name")
        return of_tracers(*arguments)

    return function


def _of_math(name: str, of_jet: Callable[..., Any], symbol: str = "") -> Callable[..., Any]:
    """Return a replacement of the `math` function `name`, which applies `of_jet` to the jets of tracers.

    `symbol` is the name of the function in the C library.
    """
    original = getattr(math, name)

    def function(*arguments: Any) -> Any:
        if not _is_traced(arguments):
            return original(*arguments)
        numbers = [operand(x)[0] for x in arguments]
        first = next(x for x in numbers if isinstance(x, jets.Jet))
        found = of_jet(*(x if isinstance(x, jets.Jet) else first.constant(x) for x in numbers))
        return checked(Tracer(with_value(found, symbol or name, *numbers), False))

    return function


def _elements(name: str, of_tracers: Callable[..., Any]) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name` that applies `of_tracers` to each element of arrays."""
    return _of_numpy(name, lambda *x: elementwise(of_tracers, getattr(np, name), *map(_unwhole, x)))


def _unwhole(x: Any) -> Any:
    """Convert a tracer of an integer to a tracer of a float, as numpy's functions do; return other values unchanged."""
    return Tracer(x._quirk_jet, True) if isinstance(x, Tracer) else x


def _of_library(name: str, symbol: str) -> Callable[..., Any]:
    """Return a replacement of the numpy function `name` that calls the function `symbol` of the C library."""

    def of_tracer(*x: Any) -> Any:
        numbers = [operand(one)[0] for one in x]
        first = next((one for one in numbers if isinstance(one, jets.Jet)), None)
        if first is None:
            return getattr(np, name)(*x)
        own, *others = (one if isinstance(one, jets.Jet) else first.constant(one) for one in numbers)
        return Tracer(with_value(getattr(own, name)(*others), symbol, *numbers), True)

    return _elements(name, of_tracer)


def _choose(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise, as `numpy.where` does for scalars."""
    if isinstance(condition, Truth):
        return chosen(condition, a, b, True)
    return a if condition else b


def _np_reciprocal(x: Any) -> Any:
    """Return 1 / x.

    NotTraceableError is raised if x may be an integer, because numpy then returns an integer.
    """
    return elementwise(lambda one: divided(1.0, one), np.reciprocal, x)


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
    """Return `a` where a condition is true and `b` otherwise, as `numpy.where` does."""
    truths = _truths(condition)
    one, two = data_of(_unwhole(a)), data_of(_unwhole(b))
    if TRUTH in (one.dtype, two.dtype):
        raise NotTraceableError("truths are chosen from")
    if one.dtype == two.dtype != object:  # integers, whose zero has no sign
        if not isinstance(condition, Truth) or one.ndim or two.ndim:
            raise NotTraceableError("integers of arrays are chosen from")
        return chosen(condition, one[()], two[()], True)
    parts = np.broadcast_arrays(truths, real(one), real(two))
    found = np.empty(parts[0].shape, dtype=object)
    for place in np.ndindex(*found.shape):
        found[place] = _choose(*(part[place] for part in parts))
    return wrapped(found)


def _truths(condition: Any) -> np.ndarray:
    data = data_of(condition)
    if data.dtype != TRUTH and not all(isinstance(x, Truth | np.bool_) for x in data.flat):
        raise NotTraceableError("a number in place of a condition")
    return data


def _not(x: Any) -> Any:
    if not isinstance(x, Truth):
        raise NotTraceableError("a number in place of a condition")
    return Truth(~x._quirk_condition, True)


def _both(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def combined(a: Any, b: Any) -> Any:
        if not all(isinstance(x, Truth) or type(x) in (bool, np.bool_) for x in (a, b)):
            raise NotTraceableError("a number in place of a condition")
        found = combine(a, b)
        return Truth(found._quirk_condition, True) if isinstance(found, Truth) else np.bool_(found)

    return combined


def _array(x: Any, dtype: Any = None) -> Any:
    if dtype is not None and _untraced(dtype) is not float:
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
    one, two = (TracerArray(real(data_of(x)).ravel()) for x in (a, b))
    return _array([[x * y for y in two] for x in one])


def _vectors(a: Any, b: Any) -> Any:
    if data_of(a).ndim != 1 or data_of(b).ndim != 1:
        raise NotTraceableError("a product of other than two vectors")
    return product(a, b)


def _dot(a: Any, b: Any) -> Any:
    return a * b if data_of(a).ndim == 0 or data_of(b).ndim == 0 else product(a, b)


def _prod(x: Any) -> Any:
    parts = list(TracerArray(real(data_of(x)).ravel()))
    return functools.reduce(operator.mul, parts)


def _norm(x: Any) -> Any:
    return _NUMPY["sqrt"](squares(x))


def _np_power(a: Any, b: Any) -> Any:
    if type(b) in (int, float, np.float64, np.int64) and float(b) in (0, 1, 2, 0.5, -1):
        return a**b
    return elementwise(raised, np.power, _unwhole(a), _unwhole(b))


def _zeros_like(x: Any) -> Any:
    return TracerArray(np.full(data_of(x).shape, 0.0, dtype=object))


def _float(x: Any = 0.0) -> Any:
    return Tracer(x._quirk_jet, False) if isinstance(x, Tracer) else float(x)


def _float64(x: Any = 0.0) -> Any:
    return Tracer(x._quirk_jet, True) if isinstance(x, Tracer) else from_numpy(np.float64(_untraced(x)))


def _least(way: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement of `min` or `max` by the comparison `way`; of equal values the first is returned."""

    def better(a: Any, b: Any) -> Any:
        truth = way(b, a)
        if not isinstance(truth, Truth):
            return b if truth else a
        both = all(operand(x)[1] for x in (a, b))
        return chosen(truth, b, a, both)

    def least(*values: Any) -> Any:
        return functools.reduce(better, values[0] if len(values) == 1 else values)

    return least


def _sum(values: Any, start: Any = 0) -> Any:
    parts = [start, *values]
    floats = [x for x in parts if type(x) is float or (isinstance(x, Tracer) and not x._quirk_numpy)]
    if SUM_COMPENSATES and floats and _is_traced(parts):
        raise NotTraceableError("floats are added by sum")
    return functools.reduce(operator.add, parts) if _is_traced(parts) else sum(parts[1:], start)


def _list(values: Any = ()) -> list[Any]:
    return list(values)


def _tuple(values: Any = ()) -> tuple[Any, ...]:
    return tuple(values)


def _pow(x: Any, exponent: Any) -> Any:
    return x**exponent


def _chosen_by_user(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise: the replacement of `quirk.where`, for numbers only."""
    if any(type(x) in (TracerArray, list, tuple) for x in (condition, a, b)):
        raise NotTraceableError("arrays are chosen from")
    if any(isinstance(x, bool | np.bool_ | Truth) for x in (a, b)):
        raise NotTraceableError("truths are chosen from")
    if not isinstance(condition, Truth):
        return a if condition else b
    return chosen(condition, a, b, operand(a)[1] and operand(b)[1])


def _scaled(factor: float) -> Callable[[Any], Any]:
    return lambda x: x * factor


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
_NUMPY: dict[str, Callable[..., Any]] = {
    **{name: _of_library(name, symbol) for name, symbol in _LIBRARY.items()},
    "minimum": _elements("minimum", _minimum), "maximum": _elements("maximum", _maximum),
    "clip": _elements("clip", _clip), "sign": _elements("sign", _sign), "heaviside": _elements("heaviside", _heaviside),
    **{name: _elements(name, abs) for name in ("abs", "absolute", "fabs")},
    "square": _elements("square", lambda x: x * x), "reciprocal": _of_numpy("reciprocal", _np_reciprocal),
    "negative": _elements("negative", operator.neg), "add": _elements("add", operator.add),
    "subtract": _elements("subtract", operator.sub), "multiply": _elements("multiply", operator.mul),
    "divide": _elements("divide", divided), "power": _of_numpy("power", _np_power),
    **{name: _elements(name, _scaled(math.pi / 180.0)) for name in ("deg2rad", "radians")},
    **{name: _elements(name, _scaled(180.0 / math.pi)) for name in ("rad2deg", "degrees")},
    **{name: _of_numpy(name, function) for name, function in _STRUCTURAL.items()},
    **{name: _of_numpy(name, lambda *x: _refused(*x)) for name in ("zeros", "ones", "eye")},
    "float64": _float64,
}  # fmt: skip


def _refused(*arguments: Any) -> Any:
    raise NotTraceableError("an array of unknown size")


_JET = {
    name: operator.methodcaller(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log")
}
_MATH: dict[str, Callable[..., Any]] = {
    **{name: _of_math(name, of_jet) for name, of_jet in _JET.items()},
    **{name: _of_math(name, operator.methodcaller(f"arc{name[1:]}")) for name in ("asin", "acos", "atan")},
    "atan2": _of_math("atan2", lambda y, x: y.arctan2(x)),
    "hypot": _of_math("hypot", lambda a, b: a.hypot(b)),
    "fabs": _of_math("fabs", abs),
    "pow": _of_math("pow", operator.pow),
    "radians": lambda x: _float(x) * (math.pi / 180.0), "degrees": lambda x: _float(x) * (180.0 / math.pi),
}  # fmt: skip
_CONSTANTS = {math: ("pi", "e", "tau", "inf", "nan"), np: ("pi", "e", "inf", "nan", "newaxis")}
_BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in ("abs", "len", "enumerate", "zip", "int", "bool", "reversed", "slice",
                                                  "all", "any", "map", "round")},
    "min": _least(operator.lt), "max": _least(operator.gt), "float": _float, "range": short_range, "sum": _sum,
    "list": _list, "tuple": _tuple, "pow": _pow,
}  # fmt: skip

_LINALG = TracedNames(np.linalg, {"norm": _of_numpy("norm", _norm)})
FLOATS = Vocabulary(
    modules={
        math: TracedNames(math, {**_MATH, **{name: getattr(math, name) for name in _CONSTANTS[math]}}),
        np: TracedNames(np, {**_NUMPY, **{name: getattr(np, name) for name in _CONSTANTS[np]}}, {"linalg": _LINALG}),
        np.linalg: _LINALG,
    },
    quirk={"where": _chosen_by_user},
    builtins=_BUILTINS,
    of_array=lambda x: _frozen(x),
    known={
        **{id(getattr(math, name)): made for name, made in _MATH.items()},
        **{id(getattr(np, name)): made for name, made in _NUMPY.items()},
        id(np.linalg.norm): _LINALG.norm,
        id(jets.where): _chosen_by_user,
        **{id(getattr(builtins, name)): made for name, made in _BUILTINS.items()},
    },
)


def _frozen(x: np.ndarray) -> TracerArray:
    """Return a read-only TracerArray with the values of an array that a user function refers to."""
    found = from_numpy(np.array(x))
    if not isinstance(found, TracerArray):
        found = TracerArray(data_of(found))
    found._quirk_data.setflags(write=False)
    return found


def traced_arguments(arguments: Sequence[Any], numpy: bool = False) -> list[Any]:
    """Convert jets to tracers, and arrays of jets to arrays of tracers.

    `numpy` is true if the user function receives numpy.float64 instead of float.
    """
    found: list[Any] = []
    for x in arguments:
        if isinstance(x, np.ndarray):
            data = np.empty(x.shape, dtype=object)
            for place in np.ndindex(*x.shape):
                element: Any = x[place]
                data[place] = Tracer(element, True) if isinstance(element, jets.Jet) else float(element)
            found.append(TracerArray(data))
        else:
            found.append(Tracer(x, numpy) if isinstance(x, jets.Jet) else x)
    return found


def untraced(x: Any) -> Any:
    """Convert the result of a user function run on tracers to jets, floats, or arrays and lists of these."""
    if type(x) is TracerArray:
        return np.array([untraced(part) for part in x], dtype=object) if x.ndim else untraced(wrapped(x._quirk_data))
    if type(x) in (list, tuple):
        return type(x)(map(untraced, x))
    if isinstance(x, Truth) or type(x) in (bool, np.bool_):
        raise NotTraceableError("a truth is returned")
    return operand(x)[0]
