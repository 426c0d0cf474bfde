"""Replacements of `math` and built-in functions in user functions that are compiled to machine code."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import Any

from ..autodiff.jet import Jet
from .array_api import short_range
from .tracer import NotTraceableError, Tracer, Truth, checked, chosen, operand, with_value
from .tracer_conversions import is_traced, to_float

# Whether `sum` uses compensated summation for floats, as since Python 3.12; machine code adds without compensation.
SUM_COMPENSATES = sys.version_info >= (3, 12)


def _of_math(name: str, of_jet: Callable[..., Any], symbol: str = "") -> Callable[..., Any]:
    """Return a replacement of the `math` function `name`, which applies `of_jet` to the jets of tracers.

    `symbol` is the name of the function in the C library if it differs from `name`.
    """
    original = getattr(math, name)

    def function(*arguments: Any) -> Any:
        if not is_traced(arguments):
            return original(*arguments)
        numbers = [operand(x)[0] for x in arguments]
        first = next(x for x in numbers if isinstance(x, Jet))
        jet = of_jet(*(x if isinstance(x, Jet) else first.constant(x) for x in numbers))
        return checked(Tracer(with_value(jet, symbol or name, *numbers), False))

    return function


def _least(precedes: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return a replacement of `min` or `max`, which compares by `precedes`; the first of equal values is returned."""

    def better(a: Any, b: Any) -> Any:
        truth = precedes(b, a)
        if not isinstance(truth, Truth):
            return b if truth else a
        of_numpy = all(operand(x)[1] for x in (a, b))
        return chosen(truth, b, a, of_numpy)

    def least(*values: Any) -> Any:
        return functools.reduce(better, values[0] if len(values) == 1 else values)

    return least


def _sum(values: Any, start: Any = 0) -> Any:
    parts = [start, *values]
    floats = [x for x in parts if type(x) is float or (isinstance(x, Tracer) and not x._quirk_numpy)]
    if SUM_COMPENSATES and floats and is_traced(parts):
        raise NotTraceableError("floats are added by sum")
    return functools.reduce(operator.add, parts) if is_traced(parts) else sum(parts[1:], start)


def _list(values: Any = ()) -> list[Any]:
    return list(values)


def _tuple(values: Any = ()) -> tuple[Any, ...]:
    return tuple(values)


def _pow(x: Any, exponent: Any) -> Any:
    return x**exponent


_JET = {
    name: operator.methodcaller(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log")
}


MATH_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_math(name, of_jet) for name, of_jet in _JET.items()},
    **{name: _of_math(name, operator.methodcaller(f"arc{name[1:]}")) for name in ("asin", "acos", "atan")},
    "atan2": _of_math("atan2", lambda y, x: y.arctan2(x)),
    "hypot": _of_math("hypot", lambda a, b: a.hypot(b)),
    "fabs": _of_math("fabs", abs),
    "pow": _of_math("pow", operator.pow),
    "radians": lambda x: to_float(x) * (math.pi / 180.0), "degrees": lambda x: to_float(x) * (180.0 / math.pi),
}  # fmt: skip


BUILTIN_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in ("abs", "len", "enumerate", "zip", "int", "bool", "reversed", "slice",
                                                  "all", "any", "map", "round")},
    "min": _least(operator.lt), "max": _least(operator.gt), "float": to_float, "range": short_range, "sum": _sum,
    "list": _list, "tuple": _tuple, "pow": _pow,
}  # fmt: skip
