"""Elementary functions of floats, traced values and dual numbers."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ..jit.scalar import Scalar
from ..jit.traced_value import TracedValue

COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def apply(name: str, *numbers: Any) -> Any:
    """Evaluate the function `name`, such as "sin", at `numbers`; the result is NaN where the function is undefined.

    The numbers are floats, traced values, or other numbers that replace floats, such as dual numbers.
    """
    scalars = [x for x in numbers if isinstance(x, Scalar)]
    if scalars:
        # Dual numbers accept traced constants, but not the other way round.
        first = next((x for x in scalars if not isinstance(x, TracedValue)), scalars[0])
        return first.function(name, *numbers)
    return float(np.rint(numbers[0])) if name == "rint" else _FUNCTIONS[name](*map(float, numbers))


def _guarded(function: Any) -> Any:
    """Return a version of `function` that returns NaN instead of raising an exception, like compiled code."""

    def guarded(*x: float) -> float:
        try:
            return float(function(*x))
        except (ValueError, OverflowError):
            return math.nan

    return guarded


_FUNCTIONS = {
    name: _guarded(getattr(math, name))
    for name in ("sqrt", "exp", "log", "sin", "cos", "sinh", "cosh", "tanh", "atan2", "pow")
}


def inverse(x: Any) -> Any:
    """Return 1 / x, or NaN for the float x = 0; as in compiled code, no exception is raised."""
    return 1.0 / x if isinstance(x, Scalar) or x != 0 else math.nan
