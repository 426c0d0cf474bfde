"""Tracers: placeholders for numbers, which record the operations of a user function.

A tracer supports only operations whose machine code gives bit-identical results with Python; all others raise
NotTraceableError, and the function then runs in Python. Results for which Python may raise an error, such as 1/0, are
recorded (`checking`) and checked at run time: if one is not finite, the Python function is called instead. A tracer
contains a jet, a number with derivatives. The components of the jet are traced values, which emit instructions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..autodiff.condition import BranchingError, Condition
from ..autodiff.jet import Jet, where
from ..jit.traced_value import LARGEST_INDEX, TracedValue


class NotTraceableError(BranchingError):
    """Error raised if a function uses an operation whose machine code may differ from Python."""


class _Trace(threading.local):
    """State of the tracing in the current thread; several threads may trace at the same time.

    Attributes
    ----------
    checks : results for which Python may raise an error if they are not finite; see `checking`
    """

    def __init__(self) -> None:
        self.checks: list[Any] = []


_TRACE = _Trace()


@contextmanager
def checking() -> Iterator[list[Any]]:
    """Context manager that collects the results for which Python may raise an error if they are not finite."""
    before, _TRACE.checks = _TRACE.checks, []
    try:
        yield _TRACE.checks
    finally:
        _TRACE.checks = before


def refusing(message: str) -> Callable[..., Any]:
    """Return a function that raises NotTraceableError with the message `message` for any arguments."""

    def refused(*arguments: Any, **named: Any) -> Any:
        raise NotTraceableError(message)

    return refused


_REFUSED = refusing("a number is used for more than arithmetic")


class _Opaque:
    """Base class of objects for which Python's default operations raise NotTraceableError."""

    __slots__ = ()
    # numpy leaves operators to this class.
    __array_ufunc__ = None

    __hash__ = None  # type: ignore[assignment]
    __bool__ = __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = __sizeof__ = __dir__ = _REFUSED
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _REFUSED


class Tracer(_Opaque):
    """Placeholder for a number, which records the operations on it.

    Attributes
    ----------
    _quirk_jet : the number with its derivatives
    _quirk_numpy : whether the number is a numpy.float64 in Python and not a float; its operations raise no errors
    _quirk_integer : True if the number is an integer in Python, whose zero has no sign; None if it is a float; a
        Condition, evaluated by the machine code, if it may be either
    """

    __slots__ = ("_quirk_integer", "_quirk_jet", "_quirk_numpy")

    def __init__(self, jet: Jet, numpy: bool, integer: Any = None) -> None:
        self._quirk_jet, self._quirk_numpy, self._quirk_integer = jet, numpy, integer

    def __add__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: b + a)

    def __sub__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: b - a)

    def __mul__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: b * a)

    def __truediv__(self, other: Any) -> Any:
        return _combined(self, other, quotient, raises=True)

    def __rtruediv__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: quotient(b, a), raises=True)

    def __pow__(self, other: Any) -> Any:
        return _combined(self, other, power, raises=True)

    def __rpow__(self, other: Any) -> Any:
        return _combined(self, other, lambda a, b: power(b, a), raises=True)

    def __neg__(self) -> Tracer:
        whole, jet = self._quirk_integer, self._quirk_jet
        if whole is None:
            return Tracer(-jet, self._quirk_numpy)
        return Tracer(0.0 - jet if whole is True else where(whole, 0.0 - jet, -jet), self._quirk_numpy, whole)

    def __pos__(self) -> Tracer:
        return self

    def __abs__(self) -> Tracer:
        jet = self._quirk_jet
        return Tracer(with_value(abs(jet), "fabs", jet), self._quirk_numpy, self._quirk_integer)

    def __eq__(self, other: object) -> Any:
        return _compared("__eq__", self, other)

    def __ne__(self, other: object) -> Any:
        return _compared("__ne__", self, other)

    def __lt__(self, other: Any) -> Any:
        return _compared("__lt__", self, other)

    def __le__(self, other: Any) -> Any:
        return _compared("__le__", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compared("__gt__", self, other)

    def __ge__(self, other: Any) -> Any:
        return _compared("__ge__", self, other)

    __hash__ = None


class Truth(_Opaque):
    """Result of a comparison of tracers, for `where` and the operators ``&``, ``|`` and ``~``."""

    __slots__ = ("_quirk_condition", "_quirk_numpy")

    def __init__(self, condition: Condition, numpy: bool) -> None:
        self._quirk_condition, self._quirk_numpy = condition, numpy

    def __bool__(self) -> bool:
        raise BranchingError("a branch on a comparison while machine code is being written")

    def __invert__(self) -> Truth:
        if not self._quirk_numpy:  # ~True is -2
            raise NotTraceableError("a truth of Python is inverted")
        return Truth(~self._quirk_condition, True)

    def __and__(self, other: Any) -> Truth:
        return self._with(other, lambda a, b: a & b)

    def __or__(self, other: Any) -> Truth:
        return self._with(other, lambda a, b: a | b)

    __rand__, __ror__ = __and__, __or__

    def _with(self, truth: Any, combine: Callable[[Any, Any], Condition]) -> Truth:
        if isinstance(truth, Truth):
            numpy = self._quirk_numpy or truth._quirk_numpy
            return Truth(combine(self._quirk_condition, truth._quirk_condition), numpy)
        if type(truth) not in (bool, np.bool_):
            return NotImplemented
        return Truth(combine(self._quirk_condition, bool(truth)), self._quirk_numpy or type(truth) is np.bool_)


# Types of constants that can be combined with tracers by arithmetic; the value is True if the result is a numpy number.
CONSTANTS = {float: False, int: False, bool: False, np.float64: True, np.int64: True}


def operand(x: Any) -> tuple[Any, bool, Any]:
    """Return a number x as a jet or float, with the attributes `_quirk_numpy` and `_quirk_integer` of a `Tracer`.

    NotTraceableError is raised if x is not a number.
    """
    if isinstance(x, Tracer):
        return x._quirk_jet, x._quirk_numpy, x._quirk_integer
    if type(x) not in CONSTANTS:
        raise NotTraceableError(f"a number is combined with {type(x).__name__}")
    whole = type(x) in (int, bool, np.int64)
    if whole and abs(int(x)) > LARGEST_INDEX:
        raise NotTraceableError("an integer that no float stands for")
    return float(x), CONSTANTS[type(x)], whole or None


def _combined(left: Tracer, right: Any, combine: Callable[[Any, Any], Any], raises: bool = False) -> Any:
    """Apply a binary operator to a tracer and another number.

    `combine` computes the result from two jets; `raises` is true if Python's operator may raise an error.
    """
    if type(right).__name__ == "TracerArray":
        return NotImplemented
    jet, numpy, whole = operand(right)
    if left._quirk_integer is not None and whole is not None:
        raise NotTraceableError("integers are combined, whose zero has no sign")
    numpy = numpy or left._quirk_numpy
    found = Tracer(combine(left._quirk_jet, jet), numpy)
    return checked(found) if raises and not numpy else found


def checked(x: Tracer) -> Tracer:
    """Record x as a result that must be finite at run time, because Python may otherwise raise an error; return x."""
    _TRACE.checks.append(x._quirk_jet.value)
    return x


def _compared(name: str, left: Tracer, right: Any) -> Any:
    if type(right).__name__ == "TracerArray":
        return NotImplemented
    jet, numpy, _ = operand(right)
    found = getattr(left._quirk_jet, name)(jet)
    numpy = numpy or left._quirk_numpy
    if isinstance(found, Condition):
        return Truth(found, numpy)
    return np.bool_(found) if numpy else bool(found)


def value_of(name: str, *arguments: Any) -> Any:
    """Return the value, without derivatives, of the C library's function `name` for jets and floats.

    The result is None if the value of a jet is neither a float nor a traced value, such as a dual number.
    """
    values = [x.value if isinstance(x, Jet) else x for x in arguments]
    first = next((x for x in values if isinstance(x, TracedValue)), None)
    if first is not None and all(isinstance(x, TracedValue | float) for x in values):
        return first.function(name, *values)
    if not all(type(x) is float for x in values):
        return None
    try:
        return float(getattr(math, name)(*values))
    except (ValueError, OverflowError):
        return math.nan


def with_value(jet: Jet, name: str, *arguments: Any) -> Jet:
    """Return a jet with the derivatives of `jet` and the value of the C library's function `name` at `arguments`.

    If the values are dual numbers, `jet` is returned unchanged.
    """
    value = value_of(name, *arguments)
    return jet if value is None else Jet([value, *jet.taylor[1:]], jet.gradient)


def quotient(a: Any, b: Any) -> Jet:
    """Return the quotient of two jets or floats, with a correctly rounded value."""
    jet = a / b if isinstance(b, Jet) or b != 0.0 else a * math.nan
    x, y = (z.value if isinstance(z, Jet) else z for z in (a, b))
    if isinstance(x, TracedValue) or isinstance(y, TracedValue):
        return Jet([x / y, *jet.taylor[1:]], jet.gradient)
    return Jet([x / y if y else math.nan, *jet.taylor[1:]], jet.gradient) if not is_scalar(x, y) else jet


def is_scalar(*numbers: Any) -> bool:
    """Whether any argument is neither a float nor a traced value, such as a dual number."""
    return not all(isinstance(x, float | TracedValue) for x in numbers)


def power(a: Any, b: Any) -> Jet:
    """Return the power a**b of floats or jets, with the value of the C library's `pow`."""
    jet = a**b if isinstance(a, Jet) else b.constant(a) ** b
    return with_value(jet, "pow", a, b)


def chosen(truth: Any, a: Any, b: Any, numpy: bool) -> Any:
    """Return `a` where a condition is true and `b` otherwise, as a tracer.

    `numpy` is true if the result is a numpy scalar.
    """
    x, _, whole = operand(a)
    y, _, other = operand(b)
    condition = truth._quirk_condition
    if isinstance(whole, Condition) or isinstance(other, Condition):
        raise NotTraceableError("integers are chosen from twice")
    if whole is not other:
        whole = condition if whole else ~condition
    return Tracer(where(condition, x, y), numpy, whole)
