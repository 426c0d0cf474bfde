"""Tapes: recorded lists of a function's operations, evaluated on Taylor series of any order.

A function of jets is run once on recording numbers in place of floats. Each operation appends a line to the tape, with
the line numbers of its operands; identical operations share a line. The same code then evaluates the lines for Taylor
series of any order, one order after the other, by the recurrences of Griewank and Walther, Evaluating Derivatives
(2008), table 13.2. Comparisons give conditions, which are recorded like numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..jit.scalar import Entries, Scalar
from .elementary import apply

# Operation codes. SINE and COSINE of a number occupy consecutive lines, as do the other pairs of functions in PAIRS.
(
    CONSTANT, INPUT, ADD, SUBTRACT, NEGATE, MULTIPLY, SCALE, SQUARE, DIVIDE, ROOT, EXPONENTIAL, LOGARITHM, POWER,
    SINE, COSINE, SINE_H, COSINE_H, TANGENT_H, SLOPE_H, ANGLE, CHOOSE, NEAREST, LESS, LESS_EQUAL, EQUAL, AND, OR, NOT,
) = range(28)  # fmt: skip

# Operations whose recurrences for a Taylor coefficient contain the lower coefficients of operands and result.
NONLINEAR = {
    MULTIPLY, SQUARE, DIVIDE, ROOT, EXPONENTIAL, LOGARITHM, POWER, SINE, COSINE, SINE_H, COSINE_H, TANGENT_H, SLOPE_H,
    ANGLE,
}  # fmt: skip
# Operations with a result that is piecewise constant in time.
STEPWISE = {NEAREST, LESS, LESS_EQUAL, EQUAL, AND, OR, NOT}

UNARY = {"sqrt": ROOT, "exp": EXPONENTIAL, "log": LOGARITHM, "rint": NEAREST}
# Functions that are computed in pairs, by name: the operation codes of both functions of the pair, and the index (0 or
# 1) of the named one.
PAIRS = {
    "sin": (SINE, COSINE, 0), "cos": (SINE, COSINE, 1), "sinh": (SINE_H, COSINE_H, 0), "cosh": (SINE_H, COSINE_H, 1),
    "tanh": (TANGENT_H, SLOPE_H, 0),
}  # fmt: skip

# Line of a tape: an operation code and its operands, which are numbers of earlier lines or, for INPUT, the index of an
# input.
Line = tuple[int, ...]
NUMBERS = (int, float, np.integer, np.floating)


@dataclass
class Tape:
    """A list of arithmetic operations, each on results of earlier operations.

    Attributes
    ----------
    lines : operations with their operands
    constants : values of the CONSTANT lines, by line number
    steady : for each line, whether its result is constant along a motion
    """

    lines: list[Line] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    steady: list[bool] = field(default_factory=list)
    _line_of: dict[Any, int] = field(default_factory=dict)

    def input(self, index: int, *, steady: bool) -> Recorded:
        """Return input `index` of the function; a `steady` input is constant along a motion."""
        return self._line((INPUT, index), steady)

    def constant(self, x: float) -> Recorded:
        """Return the constant `x` as a recorded number."""
        key = (CONSTANT, float(x).hex())
        if key not in self._line_of:
            self.constants[len(self.lines)] = float(x)
            self._line_of[key] = self._append((CONSTANT,), True)
        return Recorded(self, self._line_of[key])

    def operation(self, code: int, *operands: Any) -> Recorded:
        """Append an operation to the tape, or reuse an equal line, and return its result.

        `code` is the operation code. Signs are factored out of sums, products and quotients, so that operations that
        differ only in sign share a line.
        """
        places, negative = tuple(self.place(x) for x in operands), False
        if code in (ADD, SUBTRACT, MULTIPLY, DIVIDE):
            code, places, negative = self._unsigned_operation(code, *places)
        elif code == EQUAL:
            places = tuple(sorted(places))
        still = all(self.steady[place] for place in places)
        if code == MULTIPLY and not still:
            a, b = places
            if self.steady[a] or self.steady[b]:
                code, places = SCALE, (b, a) if self.steady[a] else (a, b)
            elif a == b:
                code, places = SQUARE, (a,)
        found = self._line((code, *places), still or code in STEPWISE)
        return self._line((NEGATE, found.place), self.steady[found.place]) if negative else found

    def _unsigned_operation(self, code: int, a: int, b: int) -> tuple[int, tuple[int, int], bool]:
        """Return an equivalent operation without negated operands, for the operation `code` on lines a and b.

        The results are the operation code, the numbers of both lines, and whether the result must be negated.
        """
        (a, minus_a), (b, minus_b) = self._unsigned_line(a), self._unsigned_line(b)
        if code == DIVIDE:
            return DIVIDE, (a, b), minus_a != minus_b
        if code == MULTIPLY:
            return MULTIPLY, (min(a, b), max(a, b)), minus_a != minus_b
        minus_b = minus_b != (code == SUBTRACT)
        kind = ADD if minus_a == minus_b else SUBTRACT
        return kind, (min(a, b), max(a, b)), minus_a if a <= b else minus_b

    def _unsigned_line(self, place: int) -> tuple[int, bool]:
        """Return the line number of a number without its negative sign, and whether it had one.

        A negated number is a NEGATE line or a negative constant; `place` is its line number.
        """
        if place in self.constants:
            negative = self.constants[place] < 0
            return (self.constant(-self.constants[place]).place if negative else place), negative
        code, *operands = self.lines[place]
        return (operands[0], True) if code == NEGATE else (place, False)

    def pair(self, name: str, x: Any) -> Recorded:
        """Append the function `name` of x, with the function computed together with it, such as sine and cosine.

        The result of `name` is returned. Equal lines are reused.
        """
        one, other, which = PAIRS[name]
        place = self.place(x)
        first = self._line((one, place), self.steady[place])
        second = self._line((other, place), self.steady[place])
        assert second.place == first.place + 1
        return (first, second)[which]

    def place(self, x: Any) -> int:
        """Return the line number of a recorded number, or of a constant."""
        return x.place if isinstance(x, Recorded) else self.constant(x).place

    def _line(self, line: Line, steady: bool) -> Recorded:
        if line not in self._line_of:
            self._line_of[line] = self._append(line, steady)
        return Recorded(self, self._line_of[line])

    def _append(self, line: Line, steady: bool) -> int:
        self.lines.append(line)
        self.steady.append(steady)
        return len(self.lines) - 1

    def needed(self, places: Sequence[int]) -> list[int]:
        """Return the numbers of the lines `places` and of all lines on which they depend, in increasing order."""
        found, todo = set(), list(places)
        while todo:
            place = todo.pop()
            if place in found:
                continue
            found.add(place)
            code, *operands = self.lines[place]
            todo += [] if code == INPUT else operands
            if code in PARTNERS:
                todo.append(place + PARTNERS[code])
        return sorted(found)


# Offset, 1 or -1, from a line of a pair of functions to the other line of the pair, by operation code.
PARTNERS = {place: 1 - 2 * k for one, other, _ in PAIRS.values() for k, place in enumerate((one, other))}


class Recorded(Scalar):
    """The result of a tape line; operations on it append further lines.

    Attributes
    ----------
    tape : the tape
    place : number of the tape line
    """

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape, self.place = tape, place

    @property
    def written(self) -> bool:
        """Always true: operations on this number are recorded instead of computed."""
        return True

    @property
    def constant_value(self) -> float | None:
        """Value of a constant; None for other numbers."""
        return self.tape.constants.get(self.place)

    def splat(self) -> RecordedLanes:
        """Return eight copies of this number as lanes; copies of the constant zero are the integer 0."""
        return RecordedLanes([0 if self.constant_value == 0.0 else self] * 8)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (Recorded, *NUMBERS)):
            return NotImplemented
        if _value(other) == 0.0:
            return self
        if self.constant_value == 0.0:
            return other
        return self.tape.operation(ADD, self, other)

    __radd__ = __add__

    def __neg__(self) -> Any:
        if self.constant_value is not None:
            return -self.constant_value
        code, *operands = self.tape.lines[self.place]
        return Recorded(self.tape, operands[0]) if code == NEGATE else self.tape.operation(NEGATE, self)

    def __pos__(self) -> Recorded:
        return self

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, (Recorded, *NUMBERS)):
            return NotImplemented
        return self if _value(other) == 0.0 else self.tape.operation(SUBTRACT, self, other)

    def __rsub__(self, other: Any) -> Any:
        if not isinstance(other, NUMBERS):
            return NotImplemented
        return -self if other == 0.0 else self.tape.operation(SUBTRACT, other, self)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, (Recorded, *NUMBERS)):
            return NotImplemented
        factor, mine = _value(other), self.constant_value
        if factor is not None and mine is not None:
            return factor * mine
        for known, rest in ((factor, self), (mine, other)):
            if known == 0.0:
                return 0.0
            if known == 1.0:
                return rest
            if known == -1.0:
                return -rest
        return self.tape.operation(MULTIPLY, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, NUMBERS):
            return self * (1.0 / other)
        if not isinstance(other, Recorded):
            return NotImplemented
        if self.tape.steady[other.place]:
            return self * self.tape.operation(DIVIDE, 1.0, other)
        return self.tape.operation(DIVIDE, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.tape.operation(DIVIDE, other, self) if isinstance(other, NUMBERS) else NotImplemented

    def function(self, name: str, *numbers: Any) -> Any:
        """Record a call of the function `name`, and return its result.

        `name` is the name of a function of the module `math`, or "rint".
        """
        values = [_value(x) for x in numbers]
        if None not in values:
            return apply(name, *values)
        if name in PAIRS:
            return self.tape.pair(name, numbers[0])
        if name == "atan2":
            y, x = numbers
            return self.tape.operation(ANGLE, y, x, y * y + x * x)
        if name == "pow":
            return self._power(*numbers)
        return self.tape.operation(UNARY[name], numbers[0])

    def _power(self, x: Any, exponent: Any) -> Any:
        if self.tape.steady[self.tape.place(exponent)]:
            return self.tape.operation(POWER, x, exponent)
        return apply("exp", exponent * apply("log", x))

    def compared(self, operator: str, other: Any) -> Any:
        """Record and return the comparison of this number with another."""
        if operator in (">", ">="):
            code = LESS if operator == ">" else LESS_EQUAL
            return self.tape.operation(code, other, self)
        if operator in ("==", "!="):
            equal = self.tape.operation(EQUAL, self, other)
            return equal if operator == "==" else self.tape.operation(NOT, equal)
        return self.tape.operation(LESS if operator == "<" else LESS_EQUAL, self, other)

    def logical(self, name: str, other: Any) -> Recorded:
        """Combine this condition with another one by the operator `name`, "and_" or "or_", or negate it by "xor"."""
        if name == "xor":
            return self.tape.operation(NOT, self)
        other = other if isinstance(other, Recorded) else float(other)
        return self.tape.operation(AND if name == "and_" else OR, self, other)

    @classmethod
    def chosen(cls, truth: Recorded, a: Any, b: Any) -> Any:
        """Return `a` where a condition is true and `b` otherwise, for single numbers or eight lanes."""
        if isinstance(a, Entries) or isinstance(b, Entries):
            return RecordedLanes.chosen(truth, a, b)
        return truth.tape.operation(CHOOSE, truth, a, b)

    def __float__(self) -> float:
        raise TypeError("a number of a tape has no value")


def _value(x: Any) -> float | None:
    """Return the value of a constant as a float, or None for a recorded number that depends on the inputs."""
    return x.constant_value if isinstance(x, Recorded) else float(x)


class RecordedLanes(Entries):
    """Eight recorded numbers in place of a vector of eight numbers, such as the gradient of a jet."""

    number = Recorded


class RecordedArray(Scalar):
    """A flat array of recorded numbers: the inputs of a function, or its outputs.

    Attributes
    ----------
    outputs : stored outputs, by index
    """

    def __init__(self, tape: Tape, given: Any = None) -> None:
        self.tape, self._given = tape, given
        self.outputs: dict[int, Any] = {}

    @property
    def written(self) -> bool:
        """Always true: operations on this array are recorded instead of computed."""
        return True

    @property
    def zero(self) -> Recorded:
        """The number zero, as a constant on the tape."""
        return self.tape.constant(0.0)

    def __getitem__(self, index: int) -> Any:
        return self._given(index)

    def __setitem__(self, index: int, x: Any) -> None:
        self.outputs[index] = x

    def store(self, index: int, lanes: Any) -> None:
        """Store eight numbers in adjacent elements, beginning at element `index`."""
        for k, x in enumerate(lanes.entries):
            self[index + k] = x


def is_constant_zero(x: Any) -> bool:
    """Whether a recorded number is the constant zero."""
    value = _value(x)
    return value is not None and (value == 0.0 and not math.isnan(value))
