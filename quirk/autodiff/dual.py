"""Dual numbers with derivatives in eight directions, for forward-mode differentiation.

A dual number is a value and its derivatives along eight directions (Griewank and Walther, Evaluating Derivatives, 2008,
section 3.1). The derivatives are stored as lanes: the eight entries of a vector register. Values and derivatives are
floats or, while machine code is generated, traced values, which represent numbers of the machine code. Dual numbers
replace floats in jets, so that the same code of force laws and constraints also yields derivatives.

The integer 0 in place of derivatives means that they are zero for every input; operations on it are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..jit.lane_types import WIDTH
from ..jit.scalar import Entries, Scalar, is_zero, plus, times
from ..jit.simd import at, load, put, splat, store
from ..jit.traced_value import TracedValue
from .elementary import COMPARISONS, apply

# Types of numbers without derivatives that can be added to a dual number or multiplied by it.
NUMBERS = (int, float, np.integer, np.floating, TracedValue)


class Dual(Scalar):
    """A number with its derivatives in eight directions.

    Attributes
    ----------
    value : float or traced value
    delta : eight lanes, one derivative per direction; 0 if all are zero
    """

    def __init__(self, value: Any, delta: Any) -> None:
        self.value, self.delta = value, delta

    @property
    def written(self) -> bool:
        """Whether operations on this number emit instructions of machine code instead of computing values."""
        return isinstance(self.value, TracedValue)

    def splat(self) -> DualLanes:
        """Return eight copies of this number as lanes; copies of the constant zero are the integer 0."""
        nothing = isinstance(self.value, float) and self.value == 0.0 and is_zero(self.delta)
        return DualLanes([0 if nothing else self] * WIDTH)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, plus(self.delta, other.delta))
        return Dual(self.value + other, self.delta) if isinstance(other, NUMBERS) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, times(self.delta, -1.0))

    def __pos__(self) -> Dual:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, (Dual, *NUMBERS)) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return -self + other if isinstance(other, NUMBERS) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Dual):
            delta = plus(times(self.delta, other.value), times(other.delta, self.value))
            return Dual(self.value * other.value, delta)
        return Dual(self.value * other, times(self.delta, other)) if isinstance(other, NUMBERS) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return self * (1.0 / other)
        return self * (1.0 / other) if isinstance(other, Dual) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        if not isinstance(other, NUMBERS):
            return NotImplemented
        inverse = 1.0 / self.value if self.written or self.value != 0.0 else float("nan")
        return Dual(other * inverse, times(self.delta, -other * inverse * inverse))

    def function(self, name: str, *numbers: Any) -> Dual:
        """Evaluate the function `name`, such as "sin", at dual or other numbers; NaN where it is undefined."""
        x = [number if isinstance(number, Dual) else Dual(number, 0) for number in numbers]
        values = [one.value for one in x]
        found = apply(name, *values)
        slopes = _SLOPES[name](found, *values)
        parts = [times(one.delta, slope) for one, slope in zip(x, slopes, strict=True)]
        return Dual(found, parts[0] if len(parts) == 1 else plus(*parts))

    def compared(self, operator: str, other: Any) -> Any:
        """Compare the values of two numbers; `operator` is a string such as "<".

        Returns a bool, or a traced condition while machine code is generated.
        """
        a, b = self.value, other.value if isinstance(other, Dual) else other
        if isinstance(a, TracedValue):
            return a.compared(operator, b)
        return COMPARISONS[operator](float(a), float(b))

    @classmethod
    def chosen(cls, truth: TracedValue, a: Any, b: Any) -> Dual:
        """Return `a` where a condition is true and `b` otherwise, with the derivatives of the selected number.

        `truth` is a condition that is evaluated by the machine code.
        """
        one, two = (x if isinstance(x, Dual) else Dual(x, 0) for x in (a, b))
        if is_zero(one.delta) and is_zero(two.delta):
            return Dual(truth.selected(one.value, two.value), 0)
        return Dual(truth.selected(one.value, two.value), truth.selected(_lanes(one.delta), _lanes(two.delta)))

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, form: str) -> str:
        return format(self.value, form)


def _lanes(delta: Any) -> Any:
    return 0.0 if is_zero(delta) else delta


class DualLanes(Entries):
    """Eight dual numbers in place of a vector of eight numbers, such as the gradient of a jet."""

    number = Dual


class DualArray(Scalar):
    """A flat array of dual numbers: `count` values, followed by eight derivatives of each value.

    Attributes
    ----------
    values : flat array of floats, or an array of the generated machine code
    count : number of dual numbers
    """

    def __init__(self, values: Any, count: int) -> None:
        self.values, self.count = values, count

    @property
    def written(self) -> bool:
        """Whether operations on this array emit instructions of machine code instead of computing values."""
        return isinstance(self.values, TracedValue)

    @property
    def zero(self) -> Dual:
        """The dual number zero, with zero derivatives."""
        return Dual(0.0, 0)

    def __getitem__(self, index: int) -> Dual:
        return Dual(at(self.values, index), load(self.values, self.count + WIDTH * index))

    def __setitem__(self, index: int, x: Any) -> None:
        number = x if isinstance(x, Dual) else Dual(1.0 * x, 0)
        put(self.values, index, number.value)
        delta = splat(self.values.zero if self.written else 0.0) if is_zero(number.delta) else number.delta
        store(self.values, self.count + WIDTH * index, delta)

    def store(self, index: int, lanes: Any) -> None:
        """Store eight dual numbers in adjacent elements, beginning at element `index`."""
        for k, x in enumerate(lanes.entries):
            self[index + k] = x

    @staticmethod
    def size(count: int) -> int:
        """Return the number of floats in an array of `count` dual numbers."""
        return (1 + WIDTH) * count


def of_values(function: Callable[..., Any], array: Any, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate a function at the values of dual numbers; return the results as dual numbers with zero derivatives.

    The function is called with the floats of the DualArray `array` and the values of `arguments`.
    """
    values = [x.value if isinstance(x, Dual) else x for x in arguments]
    return tuple(Dual(x, 0) for x in function(array.values, *values))


def _atan2_slopes(_: Any, y: Any, x: Any) -> tuple[Any, Any]:
    scale = 1.0 / (x * x + y * y) if isinstance(x * y, TracedValue) or x * x + y * y > 0.0 else float("nan")
    return x * scale, -y * scale


def _pow_slopes(found: Any, x: Any, exponent: Any) -> tuple[Any, Any]:
    return exponent * apply("pow", x, exponent - 1.0), found * apply("log", x)


# By name of a function f: a function of the value of f and of its arguments that returns the partial derivatives of f.
_SLOPES: dict[str, Callable[..., tuple[Any, ...]]] = {
    "sqrt": lambda f, x: (0.5 / f if isinstance(f, TracedValue) or f != 0.0 else float("nan"),),
    "exp": lambda f, x: (f,),
    "log": lambda f, x: (1.0 / x if isinstance(x, TracedValue) or x != 0.0 else float("nan"),),
    "sin": lambda f, x: (apply("cos", x),),
    "cos": lambda f, x: (-apply("sin", x),),
    "sinh": lambda f, x: (apply("cosh", x),),
    "cosh": lambda f, x: (apply("sinh", x),),
    "tanh": lambda f, x: (1.0 - f * f,),
    "rint": lambda f, x: (0,),
    "atan2": _atan2_slopes,
    "pow": _pow_slopes,
}
