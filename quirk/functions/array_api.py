"""Replacements of numpy, `math` and built-in functions, for the evaluation of user functions on jets.

A jet is a number with time derivatives and a gradient. Operations without replacement raise NotTraceableError; the user
function then runs in Python.
"""

from __future__ import annotations

import builtins
import math
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numba.extending import is_jitted

from ..autodiff.condition import Condition
from ..autodiff.jet import Jet, where
from .expression import Derivative, Expression
from .tracer import NotTraceableError

# Maximum number of iterations of a loop in a user function. Loops are unrolled, so that longer ones would give long
# machine code.
MOST_PASSES = 200


def numpy_minimum(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers, or NaN if either is NaN, like `numpy.minimum`."""
    return where(b != b, b, where(b < a, b, a))


def numpy_maximum(a: Any, b: Any) -> Any:
    """Return the larger of two numbers, or NaN if either is NaN, like `numpy.maximum`."""
    return where(b != b, b, where(b > a, b, a))


def minimum(*values: Any) -> Any:
    """Return the smallest of several numbers, like Python's `min`."""
    return reduce(lambda a, b: where(b < a, b, a), _scalar_or_tuple(values))


def maximum(*values: Any) -> Any:
    """Return the largest of several numbers, like Python's `max`."""
    return reduce(lambda a, b: where(b > a, b, a), _scalar_or_tuple(values))


def clip(x: Any, low: Any, high: Any) -> Any:
    """Return x limited to the interval from `low` to `high`."""
    if low is None or high is None:
        raise NotTraceableError("a bound is left out")
    return numpy_minimum(numpy_maximum(x, low), high)


def sign(x: Any) -> Any:
    """Return the sign of x: -1, 0 or 1."""
    return where(x > 0, 1.0, where(x < 0, -1.0, x * 0.0))


def heaviside(x: Any, at_zero: Any) -> Any:
    """Return the Heaviside step function of x: 0 below zero, 1 above it, `at_zero` at zero."""
    return where(x > 0, 1.0, where(x < 0, 0.0, at_zero))


def norm(x: Any) -> Any:
    """Return the Euclidean norm of a vector, or the Frobenius norm of a matrix."""
    x = np.ravel(x)
    return np.sqrt(np.dot(x, x))


def python_of(x: Any) -> Any:
    """Return the Python function inside a numba-compiled function; return any other object unchanged."""
    return x.py_func if is_jitted(x) else x


def _scalar_or_tuple(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _elementwise(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Vectorize `function`, a function of `count` scalars, over arrays of jets or numbers."""
    of_arrays = np.frompyfunc(function, count, 1)
    return lambda *x: of_arrays(*x) if any(isinstance(part, np.ndarray) for part in x) else function(*x)


def _method(name: str) -> Callable[[Any], Any]:
    """Return a function that calls the numpy function `name`; for a jet, numpy calls the jet's method `name`."""
    return lambda x: getattr(np, name)(x)


def _array(x: Any, dtype: Any = None) -> np.ndarray:
    """Convert x to an array like `numpy.array`; arrays with jets have the dtype object.

    For jets, a `dtype` other than float or object raises NotTraceableError.
    """
    made = np.array(x, dtype=object)
    if not any(isinstance(entry, Jet) for entry in made.ravel()):
        return np.array(x, dtype=dtype)
    _check_type(dtype)
    return made


def _zeros(shape: Any, dtype: Any = None) -> np.ndarray:
    """Return an array of zeros of dtype object, whose elements can be set to jets.

    A `dtype` other than float or object raises NotTraceableError.
    """
    _check_type(dtype)
    made = np.empty(shape, dtype=object)
    made.fill(0.0)
    return made


def _zeros_like(x: Any) -> np.ndarray:
    given = np.asarray(x)
    return _zeros(given.shape, None if given.dtype == object else given.dtype)


def _check_type(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype) not in (np.dtype(float), np.dtype(object)):
        raise NotTraceableError(f"an array of {dtype!r}")


def _logical(condition: Callable[..., Any], on_truths: Callable[..., Any]) -> Callable[..., Any]:
    """Return a logical function that calls `condition` for Conditions of jets, and `on_truths` for truth values."""

    def combined(*truths: Any) -> Any:
        return condition(*truths) if any(isinstance(x, Condition) for x in truths) else on_truths(*truths)

    return combined


_WHERE = np.frompyfunc(where, 3, 1)
_HYPOT = _elementwise(lambda a, b: (a * a + b * b) ** 0.5, 2)
_RADIAN = np.pi / 180
NUMPY: dict[str, Any] = {
    "where": lambda *x: _WHERE(*x) if any(np.ndim(part) > 0 for part in x) else where(*x),
    "minimum": _elementwise(numpy_minimum, 2), "maximum": _elementwise(numpy_maximum, 2),
    "clip": _elementwise(clip, 3), "sign": _elementwise(sign, 1), "heaviside": _elementwise(heaviside, 2),
    "abs": abs, "absolute": abs, "fabs": abs, "square": lambda x: x * x, "power": operator.pow, "hypot": _HYPOT,
    "array": _array, "asarray": _array, "zeros": _zeros, "zeros_like": _zeros_like,
    "logical_and": _logical(operator.and_, np.logical_and), "logical_or": _logical(operator.or_, np.logical_or),
    "logical_not": _logical(operator.invert, np.logical_not),
    "deg2rad": lambda x: x * _RADIAN, "radians": lambda x: x * _RADIAN,
    "rad2deg": lambda x: x / _RADIAN, "degrees": lambda x: x / _RADIAN,
}  # fmt: skip
# Names of numpy functions and constants that need no replacement for arrays of jets.
PLAIN = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "cross",
    "dot", "vdot", "outer", "sum", "add", "subtract", "multiply", "divide", "negative", "concatenate", "stack",
    "hstack", "append", "eye", "ones", "pi", "e", "inf", "nan", "float64", "newaxis", "reciprocal", "inner",
    "matmul", "prod",
)  # fmt: skip
MATH = {
    **{name: _method(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log")},
    "asin": _method("arcsin"), "acos": _method("arccos"), "atan": _method("arctan"),
    "atan2": lambda y, x: np.arctan2(y, x), "hypot": _HYPOT, "fabs": abs, "pow": operator.pow,
    "radians": NUMPY["radians"], "degrees": NUMPY["degrees"],
    **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
}  # fmt: skip


def _number(x: Any = 0.0) -> Any:
    return x if isinstance(x, Jet) else float(x)


def short_range(*bounds: int) -> range:
    """Return `range(*bounds)`; raise NotTraceableError if a loop over it has more than MOST_PASSES iterations."""
    made = range(*bounds)
    if len(made) > MOST_PASSES:
        raise NotTraceableError(f"a loop of {len(made)} passes")
    return made


BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in ("abs", "len", "enumerate", "zip", "tuple", "list", "sum",
                                                  "pow", "int", "bool", "reversed", "True", "False",
                                                  "None", "slice", "all", "any", "map") if hasattr(builtins, name)},
    "min": minimum, "max": maximum, "float": _number, "range": short_range,
}  # fmt: skip


class TracedNames:
    """Namespace that replaces a module in user functions; it contains replacements of some functions of the module.

    Access to any other name, or to a name that the user has redefined in the module, raises NotTraceableError.
    """

    def __init__(
        self, module: types.ModuleType, names: dict[str, Any], parts: dict[str, TracedNames] | None = None
    ) -> None:
        given = {name: getattr(module, name, None) for name in names}
        originals = {name: x for name, x in given.items() if _is_genuine(x)}
        self._quirk_names = module, names, parts or {}, originals

    def __getattr__(self, name: str) -> Any:
        module, names, parts, originals = self._quirk_names
        if name in parts:
            return parts[name]
        if name not in originals or getattr(module, name, None) is not originals[name]:
            raise NotTraceableError(f"{module.__name__}.{name}")
        return names[name]

    @property
    def intact(self) -> bool:
        """Whether the user has redefined none of the replaced names of the module."""
        module, _, parts, originals = self._quirk_names
        own = all(getattr(module, name, None) is x for name, x in originals.items())
        return own and all(part.intact for part in parts.values())


# Python's built-in functions when QuIRK was imported.
_BUILT_IN = dict(vars(builtins))


def has_own_builtins(function: types.FunctionType) -> bool:
    """Whether all built-in functions that a function uses are Python's original ones, not redefined by the user."""
    names = set(function.__code__.co_names) & _BUILT_IN.keys()
    untyped: Any = function  # not every type checker has `__builtins__`
    own: dict[str, Any] = untyped.__builtins__
    return all(own.get(name) is _BUILT_IN[name] for name in names)


def _is_genuine(x: Any) -> bool:
    """Whether a value is a number, or a function of `math`, numpy or QuIRK."""
    if isinstance(x, float | np.ufunc) or x is None:
        return True
    return str(getattr(x, "__module__", "")).partition(".")[0] in ("math", "numpy", "quirk")


@dataclass(frozen=True)
class Vocabulary:
    """Replacements of the global names that user functions may use, for evaluation on jets or tracers.

    Attributes
    ----------
    modules : replacements of `math`, numpy and its submodules
    quirk : QuIRK's functions by name
    builtins : built-in functions by name
    replacements : replacements of all functions above, by id of the original function
    of_array : function that converts a global array that a user function reads to a read-only array
    """

    modules: dict[Any, TracedNames]
    quirk: dict[str, Any]
    builtins: dict[str, Any]
    replacements: dict[int, Any]
    of_array: Callable[[np.ndarray], Any]


_LINALG = TracedNames(np.linalg, {"norm": norm})
MODULES: dict[Any, Any] = {
    math: TracedNames(math, MATH),
    np: TracedNames(np, {**{name: getattr(np, name) for name in PLAIN}, **NUMPY}, {"linalg": _LINALG}),
    np.linalg: _LINALG,
}
# Replacements of functions that are imported by name, by id of the original.
KNOWN: dict[int, Any] = {
    **{id(getattr(math, name)): made for name, made in MATH.items() if callable(made)},
    **{id(getattr(np, name)): made for name, made in NUMPY.items()},
    **{id(getattr(np, name)): getattr(np, name) for name in PLAIN if callable(getattr(np, name))},
    **{id(getattr(builtins, name)): made for name, made in BUILTINS.items() if callable(made)},
    id(np.linalg.norm): norm,
    **{id(made): made for made in (where, minimum, maximum, clip, sign, heaviside, norm)},
}
# Types of constants that a user function may read. Subclasses are excluded, as they may define their own operators.
CONSTANTS = {int, float, str, bool, type(None), np.float64, np.int64, np.bool_, Jet, Expression, Derivative}


def _frozen(x: np.ndarray) -> np.ndarray:
    frozen = x.copy()
    frozen.setflags(write=False)
    return frozen


# Replacements for the evaluation of user functions of constraints and force laws on jets.
JETS = Vocabulary(MODULES, {"where": where}, BUILTINS, KNOWN, _frozen)
