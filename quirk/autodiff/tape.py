"""Tapes: what a function does to numbers, written down as a list of operations that can be run on Taylor series.

A function of QuIRK's jets is run once on numbers of this module, in the place of floats. Each operation appends a line
to a tape; what comes to the same line shares it. The operations then serve coefficients of any order, one order after
the other, by the recurrences of Griewank and Walther, Evaluating Derivatives (2008), table 13.2: no code depends on the
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..jit.scalar import Entries, Scalar
from .jet import apply

# Operations. What follows in parentheses are the operands; SINE and COSINE come in pairs, as do the others of PAIRS,
# the partner being the next line. Those from LESS on are of constants, or give what is constant between jumps.
(
    CONSTANT, INPUT, ADD, SUBTRACT, NEGATE, MULTIPLY, SCALE, SQUARE, DIVIDE, ROOT, EXPONENTIAL, LOGARITHM, POWER,
    SINE, COSINE, SINE_H, COSINE_H, TANGENT_H, SLOPE_H, ANGLE, CHOOSE, NEAREST, LESS, LESS_EQUAL, EQUAL, AND, OR, NOT,
) = range(28)  # fmt: skip

# Operations that need all coefficients of their operands and of their own result, not the present ones alone.
NONLINEAR = {
    MULTIPLY, SQUARE, DIVIDE, ROOT, EXPONENTIAL, LOGARITHM, POWER, SINE, COSINE, SINE_H, COSINE_H, TANGENT_H, SLOPE_H,
    ANGLE,
}  # fmt: skip
# Operations whose result does not change along a motion, but where it jumps.
STEPWISE = {NEAREST, LESS, LESS_EQUAL, EQUAL, AND, OR, NOT}

UNARY = {"sqrt": ROOT, "exp": EXPONENTIAL, "log": LOGARITHM, "rint": NEAREST}
PAIRS = {
    "sin": (SINE, COSINE, 0), "cos": (SINE, COSINE, 1), "sinh": (SINE_H, COSINE_H, 0), "cosh": (SINE_H, COSINE_H, 1),
    "tanh": (TANGENT_H, SLOPE_H, 0),
}  # fmt: skip

# An operation and its operands, numbers of lines before it; of INPUT which input it is.
Line = tuple[int, ...]
NUMBERS = (int, float, np.integer, np.floating)


@dataclass
class Tape:
    """Operations, each on the results of earlier ones.

    Attributes
    ----------
    lines : the operations
    constants : value of each line that is a CONSTANT
    steady : of each line whether its result does not change along a motion
    """

    lines: list[Line] = field(default_factory=list)
    constants: dict[int, float] = field(default_factory=dict)
    steady: list[bool] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def input(self, index: int, *, steady: bool) -> Recorded:
        """Return an input; a steady one does not change along a motion."""
        return self._line((INPUT, index), steady)

    def constant(self, x: float) -> Recorded:
        """Return a number."""
        key = (CONSTANT, float(x).hex())
        if key not in self._known:
            self.constants[len(self.lines)] = float(x)
            self._known[key] = self._append((CONSTANT,), True)
        return Recorded(self, self._known[key])

    def operation(self, code: int, *operands: Any) -> Recorded:
        """Append an operation on numbers, unless it is there; returns its result.

        Sums, products and quotients are of numbers without their signs, so that those that differ in sign are one.
        """
        places, negative = tuple(self.place(x) for x in operands), False
        if code in (ADD, SUBTRACT, MULTIPLY, DIVIDE):
            code, places, negative = self._without_signs(code, *places)
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

    def _without_signs(self, code: int, a: int, b: int) -> tuple[int, tuple[int, int], bool]:
        """Return an operation on two lines as one on lines without signs, and whether its negative is meant."""
        (a, minus_a), (b, minus_b) = self._without_sign(a), self._without_sign(b)
        if code == DIVIDE:
            return DIVIDE, (a, b), minus_a != minus_b
        if code == MULTIPLY:
            return MULTIPLY, (min(a, b), max(a, b)), minus_a != minus_b
        minus_b = minus_b != (code == SUBTRACT)
        kind = ADD if minus_a == minus_b else SUBTRACT
        return kind, (min(a, b), max(a, b)), minus_a if a <= b else minus_b

    def _without_sign(self, place: int) -> tuple[int, bool]:
        """Return the line of which one is the negative, and whether it is; else the line itself."""
        if place in self.constants:
            negative = self.constants[place] < 0
            return (self.constant(-self.constants[place]).place if negative else place), negative
        code, *operands = self.lines[place]
        return (operands[0], True) if code == NEGATE else (place, False)

    def pair(self, name: str, x: Any) -> Recorded:
        """Append two operations that need each other, unless they are there; returns the one of this name."""
        one, other, which = PAIRS[name]
        place = self.place(x)
        first = self._line((one, place), self.steady[place])
        second = self._line((other, place), self.steady[place])
        assert second.place == first.place + 1
        return (first, second)[which]

    def place(self, x: Any) -> int:
        """Return the line of a number."""
        return x.place if isinstance(x, Recorded) else self.constant(x).place

    def _line(self, line: Line, steady: bool) -> Recorded:
        if line not in self._known:
            self._known[line] = self._append(line, steady)
        return Recorded(self, self._known[line])

    def _append(self, line: Line, steady: bool) -> int:
        self.lines.append(line)
        self.steady.append(steady)
        return len(self.lines) - 1

    def needed(self, places: Sequence[int]) -> list[int]:
        """Return the lines on which those at some places depend, in order, themselves among them."""
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


# Where the other one of a pair is.
PARTNERS = {place: 1 - 2 * k for one, other, _ in PAIRS.values() for k, place in enumerate((one, other))}


class Recorded(Scalar):
    """The result of a line of a tape: operations on it append lines.

    Attributes
    ----------
    place : number of the line
    """

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape, self.place = tape, place

    @property
    def written(self) -> bool:
        """Yes: no value is known."""
        return True

    @property
    def known(self) -> float | None:
        """Its value if it is a constant of the function, else None."""
        return self.tape.constants.get(self.place)

    def splat(self) -> RecordedLanes:
        """Return the number in all lanes; zero costs nothing there."""
        return RecordedLanes([0 if self.known == 0.0 else self] * 8)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, (Recorded, *NUMBERS)):
            return NotImplemented
        if _value(other) == 0.0:
            return self
        if self.known == 0.0:
            return other
        return self.tape.operation(ADD, self, other)

    __radd__ = __add__

    def __neg__(self) -> Any:
        if self.known is not None:
            return -self.known
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
        factor, mine = _value(other), self.known
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
        """Return a function of numbers, one of those of `math` or "rint"."""
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
        """Return whether this number is less than another, or in what relation else."""
        if operator in (">", ">="):
            code = LESS if operator == ">" else LESS_EQUAL
            return self.tape.operation(code, other, self)
        if operator in ("==", "!="):
            equal = self.tape.operation(EQUAL, self, other)
            return equal if operator == "==" else self.tape.operation(NOT, equal)
        return self.tape.operation(LESS if operator == "<" else LESS_EQUAL, self, other)

    def logical(self, name: str, other: Any) -> Recorded:
        """Return a truth combined with another one, or with True, by "and_", "or_" or "xor"."""
        if name == "xor":
            return self.tape.operation(NOT, self)
        other = other if isinstance(other, Recorded) else float(other)
        return self.tape.operation(AND if name == "and_" else OR, self, other)

    @classmethod
    def chosen(cls, truth: Recorded, a: Any, b: Any) -> Any:
        """Return `a` where a truth holds, and `b` where it does not: numbers or lanes."""
        if isinstance(a, Entries) or isinstance(b, Entries):
            return RecordedLanes.chosen(truth, a, b)
        return truth.tape.operation(CHOOSE, truth, a, b)

    def __float__(self) -> float:
        raise TypeError("a number of a tape has no value")


def _value(x: Any) -> float | None:
    """The value of a number that is known."""
    return x.known if isinstance(x, Recorded) else float(x)


class RecordedLanes(Entries):
    """Eight numbers of a tape side by side: what gradients of jets are made of."""

    number = Recorded


class RecordedArray(Scalar):
    """A flat array of numbers of a tape: inputs, or outputs that a function fills.

    Attributes
    ----------
    found : what was written, by place
    """

    def __init__(self, tape: Tape, given: Any = None) -> None:
        self.tape, self._given = tape, given
        self.found: dict[int, Any] = {}

    @property
    def written(self) -> bool:
        """Yes: no value is known."""
        return True

    @property
    def zero(self) -> Recorded:
        """The number zero."""
        return self.tape.constant(0.0)

    def __getitem__(self, index: int) -> Any:
        return self._given(index)

    def __setitem__(self, index: int, x: Any) -> None:
        self.found[index] = x

    def store(self, index: int, lanes: Any) -> None:
        """Write eight neighbors."""
        for k, x in enumerate(lanes.entries):
            self[index + k] = x


def is_nothing(x: Any) -> bool:
    """Whether a number that was written down is zero, whatever the inputs are."""
    value = _value(x)
    return value is not None and (value == 0.0 and not math.isnan(value))
