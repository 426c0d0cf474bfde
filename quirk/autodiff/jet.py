"""Jets: truncated Taylor series with gradients, for exact derivatives of constraints and forces.

A jet represents a quantity along a motion. It holds the value and the first K time derivatives as Taylor coefficients
x, x', x''/2, ..., and the gradient with respect to small displacements of the bodies, which is itself a Taylor series
of order G. Sums, products and elementary functions of jets are jets, by Leibniz' rule and the recurrences for truncated
Taylor series (Griewank and Walther, Evaluating Derivatives, 2008, table 13.2).

Coefficients are floats or, while machine code is generated, traced values, which record the operations on them
(`quirk.jit.tracing`). The same source code works for both types, unless it branches on a comparison of jets, which is
possible for floats only. The integer 0 as a coefficient means zero for every input; operations on it are skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..jit.scalar import Scalar, is_zero, plus, times
from . import power_series as series
from .condition import BranchingError, Condition
from .elementary import COMPARISONS, apply, inverse
from .power_series import convolution


class Jet:
    """A quantity with its time derivatives and its gradient.

    Attributes
    ----------
    taylor : K + 1 Taylor coefficients
        Coefficient k is the k-th time derivative divided by k!.
    gradient : list with one entry for each body
        For each body G + 1 Taylor coefficients of the gradient, with eight entries each. The first six entries belong
        to the derivatives with respect to translations of the body along the axes of the inertial frame, and rotations
        about them; two are unused. None if the quantity does not depend on the body.
    """

    def __init__(self, taylor: Sequence[Any], gradient: Sequence[Any]) -> None:
        self.taylor, self.gradient = list(taylor), list(gradient)

    @property
    def value(self) -> Any:
        """Value of the quantity, without derivatives."""
        return self.taylor[0]

    @property
    def rate(self) -> Jet:
        """Time derivative of the quantity: a jet with one time derivative fewer and without gradient."""
        coefficients = [times(k, c) for k, c in enumerate(self.taylor)][1:]
        return Jet(coefficients, [None] * len(self.gradient))

    def shifted(self, x: Any) -> Jet:
        """Return the sum of this jet and the constant `x`."""
        return Jet([plus(self.value, x), *self.taylor[1:]], self.gradient)

    def _chain(self, taylor: Sequence[Any], slope: Sequence[Any]) -> Jet:
        """Return a function f of this jet as a jet, with the gradient by the chain rule.

        `taylor` contains the Taylor coefficients in time of f, and `slope` those of the derivative f' at this jet.
        """
        return Jet(taylor, self._times_slope(slope))

    def _times_slope(self, slope: Sequence[Any]) -> list[Any]:
        """Return the product of the gradient of this jet and the Taylor series with the coefficients `slope`."""
        return [None if g is None else [convolution(slope, g, 0, k) for k in range(len(g))] for g in self.gradient]

    @property
    def _slopes(self) -> int:
        """Number of Taylor coefficients of the gradient, or 0 for a jet without gradient.

        The chain rule for a function of the jet needs this number of coefficients of the function's derivative.
        """
        return max((len(g) for g in self.gradient if g is not None), default=0)

    @property
    def _ungraded(self) -> bool:
        """Whether the jet has no gradient, because it is independent of all bodies."""
        return self.gradient.count(None) == len(self.gradient)

    @property
    def bare(self) -> Jet:
        """Copy of the jet without gradient."""
        return Jet(self.taylor, [None] * len(self.gradient))

    def constant(self, x: Any) -> Jet:
        """Return the constant `x` as a jet with the same number of derivatives as this jet."""
        return Jet([x, *[0] * (len(self.taylor) - 1)], [None] * len(self.gradient))

    def __neg__(self) -> Jet:
        return self * -1.0

    def __pos__(self) -> Jet:
        return self

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return self.shifted(other)
        taylor = [plus(a, b) for a, b in zip(self.taylor, other.taylor, strict=False)]
        ungraded = self._ungraded and other._ungraded
        return Jet(taylor, self.gradient if ungraded else _added(self.gradient, other.gradient))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if not isinstance(other, Jet):
            return self._chain([times(c, other) for c in self.taylor], [other])
        order = min(len(self.taylor), len(other.taylor))
        taylor = [convolution(self.taylor, other.taylor, 0, k) for k in range(order)]
        if self._ungraded and other._ungraded:
            return Jet(taylor, self.gradient)
        return Jet(taylor, _added(self._times_slope(other.taylor), other._times_slope(self.taylor)))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self * (other.reciprocal() if isinstance(other, Jet) else 1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.reciprocal() * other

    def __pow__(self, exponent: Any) -> Jet:
        if isinstance(exponent, Jet):
            power = (self.log() * exponent).exp()
            # x**n is defined for negative x and integer n, where log(x) is not.
            return Jet([apply("pow", self.value, exponent.value), *power.taylor[1:]], power.gradient)
        if isinstance(exponent, int | float | np.integer) and float(exponent).is_integer():
            exponent = int(exponent)  # by products, which are defined for negative numbers, too
        if isinstance(exponent, int) and exponent < 0:
            return (self**-exponent).reciprocal()
        if isinstance(exponent, int):
            power = self.constant(1.0)
            for _ in range(exponent):
                power = power * self
            return power
        exponent = float(exponent)
        slope = [times(c, exponent) for c in series.powers(self.taylor, exponent - 1.0, self._slopes)]
        return self._chain(series.powers(self.taylor, exponent, len(self.taylor)), slope)

    def reciprocal(self) -> Jet:
        """Return 1 / x for this jet x."""
        taylor = series.reciprocal(self.taylor, len(self.taylor))
        slope = [times(convolution(taylor, taylor, 0, k), -1.0) for k in range(self._slopes)]
        return self._chain(taylor, slope)

    def sqrt(self) -> Jet:
        """Return the square root of this jet."""
        taylor = series.square_root(self.taylor)
        return self._chain(taylor, [times(c, 0.5) for c in series.reciprocal(taylor, self._slopes)])

    def exp(self) -> Jet:
        """Return the exponential function of this jet."""
        taylor = series.exponential(self.taylor)
        return self._chain(taylor, taylor)

    def log(self) -> Jet:
        """Return the natural logarithm of this jet."""
        return self._chain(series.logarithm(self.taylor), series.reciprocal(self.taylor, self._slopes))

    def sine_and_cosine(self) -> tuple[Jet, Jet]:
        """Return the sine and the cosine of this jet, an angle in rad."""
        sine, cosine = series.sine_and_cosine(self.taylor)
        slope = [times(c, -1.0) for c in sine[: self._slopes]]
        return self._chain(sine, cosine), self._chain(cosine, slope)

    def sin(self) -> Jet:
        """Return the sine of this jet, an angle in rad."""
        return self.sine_and_cosine()[0]

    def cos(self) -> Jet:
        """Return the cosine of this jet, an angle in rad."""
        return self.sine_and_cosine()[1]

    def tan(self) -> Jet:
        """Return the tangent of this jet, an angle in rad."""
        sine, cosine = self.sine_and_cosine()
        return sine / cosine

    def sinh(self) -> Jet:
        """Return the hyperbolic sine of this jet."""
        return self._chain(*series.hyperbolic_sine_and_cosine(self.taylor))

    def cosh(self) -> Jet:
        """Return the hyperbolic cosine of this jet."""
        sine, cosine = series.hyperbolic_sine_and_cosine(self.taylor)
        return self._chain(cosine, sine)

    def tanh(self) -> Jet:
        """Return the hyperbolic tangent of this jet."""
        return self._chain(*series.hyperbolic_tangent(self.taylor))

    def hypot(self, other: Any) -> Jet:
        """Return the length sqrt(self^2 + other^2) of the vector (self, other)."""
        return (self * self + other * other).sqrt()

    def arctan2(self, x: Any) -> Jet:
        """Return the polar angle of the point (x, self), rad, in (-pi, pi]."""
        x = x if isinstance(x, Jet) else self.constant(x)
        # (x^2 + y^2) angle' = x y' - y x', for time derivatives and gradients.
        along, across = x.bare, self.bare
        scale = (across * across + along * along).reciprocal()
        by_y, by_x = along * scale, -across * scale
        rate = by_y * self.rate + by_x * x.rate
        taylor = [apply("atan2", self.value, x.value), *(times(c, 1 / (k + 1)) for k, c in enumerate(rate.taylor))]
        return Jet(taylor, _added(self._times_slope(by_y.taylor), x._times_slope(by_x.taylor)))

    def arctan(self) -> Jet:
        """Return the arc tangent of this jet, rad."""
        return self.arctan2(1.0)

    def arcsin(self) -> Jet:
        """Return the arc sine of this jet, rad."""
        return self.arctan2((1.0 - self * self).sqrt())

    def arccos(self) -> Jet:
        """Return the arc cosine of this jet, rad."""
        return (1.0 - self * self).sqrt().arctan2(self)

    def wrapped(self, period: Any) -> Jet:
        """Return this jet minus the multiple of `period` that brings its value closest to zero."""
        period = period.value if isinstance(period, Jet) else period
        turns = apply("rint", self.value * inverse(period))
        return self.shifted(-period * turns)

    def __float__(self) -> float:
        raise TypeError(
            "a function that is to be differentiated got a jet, not a number: use +, -, *, /, ** and numpy's sin, cos, "
            "tan, arcsin, arccos, arctan, arctan2, sqrt, exp and log on its arguments, not those of math"
        )

    def __format__(self, form: str) -> str:
        return format(self.value, form)

    def __bool__(self) -> bool:
        return bool(_compared("!=", self, 0.0))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return isinstance(other, Jet | int | float | np.number) and _compared("==", self, other)

    def __ne__(self, other: object) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        return not isinstance(other, Jet | int | float | np.number) or _compared("!=", self, other)

    def __hash__(self) -> int:
        raise BranchingError("a jet cannot be looked up in a table: the entry has no derivatives")

    def __lt__(self, other: Any) -> Any:
        return _compared("<", self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared(">=", self, other)

    def __abs__(self) -> Any:
        return where(self < 0.0, -self, self)


def _compared(operator: str, left: Any, right: Any) -> Any:
    """Compare two numbers or jets; `operator` is a string such as "<".

    Returns a bool, or a Condition while machine code is generated.
    """
    a, b = (x.value if isinstance(x, Jet) else x for x in (left, right))
    if isinstance(a, Scalar):
        truth, of = a.compared(operator, b), left
    elif isinstance(b, Scalar):
        truth, of = b.compared(_MIRRORED[operator], a), right
    else:
        return COMPARISONS[operator](float(a), float(b))
    return Condition(truth, of) if isinstance(truth, Scalar) else truth


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def where(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise, with the derivatives of the selected value.

    Examples
    --------
    >>> quirk.where(3.0 > 2.0, 1.0, 0.0)
    1.0
    """
    if any(isinstance(x, np.ndarray) for x in (condition, a, b)):
        return _where_each(condition, a, b)
    if not isinstance(condition, Condition):
        return a if condition else b
    a, b = (x if isinstance(x, Jet) else condition.of.constant(x) for x in (a, b))

    def selected(x: Any, y: Any) -> Any:
        if is_zero(x) and is_zero(y):
            return 0
        kind = next(type(z) for z in (x, y, condition.value) if isinstance(z, Scalar))
        return kind.chosen(condition.value, x, y)

    def of_gradients(g: Any, h: Any) -> Any:
        if g is None and h is None:
            return None
        return [selected(x, y) for x, y in zip(g or [0] * len(h), h or [0] * len(g), strict=True)]

    return Jet(
        [selected(x, y) for x, y in zip(a.taylor, b.taylor, strict=False)],
        [of_gradients(g, h) for g, h in zip(a.gradient, b.gradient, strict=True)],
    )


def _added(gradient: Sequence[Any], addend: Sequence[Any]) -> list[Any]:
    """Return the sum of the gradients of two jets."""
    return [
        b if a is None else a if b is None else [plus(x, y) for x, y in zip(a, b, strict=True)]
        for a, b in zip(gradient, addend, strict=True)
    ]


_where_each = np.frompyfunc(where, 3, 1)
