"""Functions available in expressions, for floats and jets (numbers with derivatives)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from quirk.autodiff.jet import Jet, where

CONSTANTS = {"pi": math.pi, "tau": math.tau, "e": math.e}


class Function(NamedTuple):
    """A function that expressions can call.

    Attributes
    ----------
    of : the Python function
    least, most : minimum and maximum number of arguments; `most` is None for no maximum
    """

    of: Callable[..., Any]
    least: int
    most: int | None


def number(x: Any) -> Any:
    """Return x as a float, or unchanged if it is a jet; raise a ValueError for other types."""
    if isinstance(x, Jet):
        return x
    if isinstance(x, bool | np.bool_) or not isinstance(x, int | float | np.number):
        raise ValueError(f"expected a number instead of {_described(x)}")
    return float(x)


def vector(x: Any) -> np.ndarray:
    """Return x if it is a one-dimensional array; raise a ValueError otherwise."""
    if not isinstance(x, np.ndarray) or x.ndim != 1:
        raise ValueError(f"expected a vector instead of {_described(x)}")
    return x


def power(x: Any, exponent: Any) -> Any:
    """Return the number x to the power `exponent`, for floats and jets."""
    x, exponent = number(x), number(exponent)
    if isinstance(x, Jet) or isinstance(exponent, Jet):
        # Integer powers of jets are unrolled products.
        if not isinstance(exponent, Jet) and exponent.is_integer() and abs(exponent) > HIGHEST_POWER:
            raise ValueError(f"whole powers may be {HIGHEST_POWER} at most; got {exponent:g}")
        return (x if isinstance(x, Jet) else exponent.constant(x)) ** exponent
    return math.pow(x, exponent)


HIGHEST_POWER = 100


def _described(x: Any) -> str:
    if isinstance(x, bool | np.bool_):
        return "a comparison"
    if isinstance(x, np.ndarray):
        return f"a vector of {x.size}" if x.ndim == 1 else "a matrix"
    return "a body or frame; select a quantity, such as .position.x" if hasattr(x, "position") else "something else"


def _of_number(name: str, on_floats: Callable[[float], float]) -> Function:
    """Return a Function of one number, which calls the method `name` of jets, and `on_floats` for floats."""

    def of(x: Any) -> Any:
        x = number(x)
        return getattr(x, name)() if isinstance(x, Jet) else on_floats(x)

    return Function(of, 1, 1)


def _least(*values: Any) -> Any:
    found = number(values[0])
    for value in map(number, values[1:]):
        found = where(value < found, value, found)
    return found


def _largest(*values: Any) -> Any:
    found = number(values[0])
    for value in map(number, values[1:]):
        found = where(value > found, value, found)
    return found


def _clip(x: Any, low: Any, high: Any) -> Any:
    return _least(_largest(x, low), high)


def _sign(x: Any) -> Any:
    x = number(x)
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, x * 0.0))


def _atan2(y: Any, x: Any) -> Any:
    y, x = number(y), number(x)
    if isinstance(x, Jet) or isinstance(y, Jet):
        return (y if isinstance(y, Jet) else x.constant(y)).arctan2(x)
    return math.atan2(y, x)


def _root_of_sum(*parts: Any) -> Any:
    total: Any = 0.0
    for part in parts:
        total = total + part * part
    return total.sqrt() if isinstance(total, Jet) else math.sqrt(total)


def _dot(a: Any, b: Any) -> Any:
    a, b = vector(a), vector(b)
    if a.size != b.size:
        raise ValueError(f"dot takes vectors of one length; got {a.size} and {b.size}")
    return sum((x * y for x, y in zip(a[1:], b[1:], strict=True)), a[0] * b[0])


def _cross(a: Any, b: Any) -> Any:
    a, b = vector(a), vector(b)
    if (a.size, b.size) != (3, 3):
        raise ValueError(f"cross takes two vectors of 3; got {a.size} and {b.size}")
    return np.cross(a, b)


FUNCTIONS = {
    "sin": _of_number("sin", math.sin), "cos": _of_number("cos", math.cos), "tan": _of_number("tan", math.tan),
    "asin": _of_number("arcsin", math.asin), "acos": _of_number("arccos", math.acos),
    "atan": _of_number("arctan", math.atan), "atan2": Function(_atan2, 2, 2),
    "sinh": _of_number("sinh", math.sinh), "cosh": _of_number("cosh", math.cosh), "tanh": _of_number("tanh", math.tanh),
    "exp": _of_number("exp", math.exp), "log": _of_number("log", math.log), "sqrt": _of_number("sqrt", math.sqrt),
    "abs": Function(lambda x: abs(number(x)), 1, 1), "sign": Function(_sign, 1, 1),
    "min": Function(_least, 1, None), "max": Function(_largest, 1, None), "clip": Function(_clip, 3, 3),
    "hypot": Function(lambda *x: _root_of_sum(*map(number, x)), 1, None),
    "radians": Function(lambda x: number(x) * (math.pi / 180), 1, 1),
    "dot": Function(_dot, 2, 2), "cross": Function(_cross, 2, 2),
    "norm": Function(lambda x: _root_of_sum(*vector(x)), 1, 1),
}  # fmt: skip
# Functions without kinks and jumps.
SMOOTH = frozenset({"sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "exp", "log", "radians", "dot", "cross"})
# Name of the function that selects one of two arguments by a condition; only the selected argument is evaluated.
WHERE = "where"
NAMES = (*FUNCTIONS, WHERE)
