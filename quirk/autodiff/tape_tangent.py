"""Evaluation of tapes on dual numbers.

Each line of a tape is evaluated once, to a dual number: its value and derivatives along eight directions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..jit.scalar import times
from .dual import Dual
from .elementary import apply
from .tape import (
    ADD,
    AND,
    ANGLE,
    CHOOSE,
    CONSTANT,
    DIVIDE,
    EQUAL,
    EXPONENTIAL,
    INPUT,
    LESS,
    LESS_EQUAL,
    LOGARITHM,
    MULTIPLY,
    NEAREST,
    NEGATE,
    NOT,
    OR,
    POWER,
    ROOT,
    SCALE,
    SINE,
    SINE_H,
    SQUARE,
    SUBTRACT,
    TANGENT_H,
    RecordedArray,
    Tape,
)

FUNCTIONS = {EXPONENTIAL: "exp", LOGARITHM: "log", ROOT: "sqrt", NEAREST: "rint"}
# Operator of each comparison, and the equivalent operator for exchanged operands.
COMPARISONS = {LESS: ("<", ">"), LESS_EQUAL: ("<=", ">="), EQUAL: ("==", "==")}
# Names of both functions of a pair, and for each of them the ratio of its derivative to the other function.
TURNS = {SINE: ("sin", "cos", 1.0, -1.0), SINE_H: ("sinh", "cosh", 1.0, 1.0)}


def recorded(fill: Callable[[Any, Any, Any], None], time: int) -> tuple[Tape, RecordedArray, RecordedArray]:
    """Record a function ``fill(t, inputs, outputs)`` on a tape.

    `time` is the index of the time among the inputs. The results are the tape, the inputs and the outputs.
    """
    tape = Tape()
    inputs = RecordedArray(tape, functools.partial(tape.input, steady=False))
    outputs = RecordedArray(tape)
    fill(inputs[time], inputs, outputs)
    return tape, inputs, outputs


def replayed(tape: Tape, places: Sequence[int], read: Callable[[int], Any]) -> dict[int, Any]:
    """Evaluate lines of a tape, and all lines on which they depend, for dual numbers; return results by line number.

    Both alternatives of a `where` are computed, and one is selected.

    Parameters
    ----------
    tape : tape of a function
    places : numbers of the lines whose results are requested
    read : function that returns input k as a dual number or as a constant
    """
    found: dict[int, Any] = {}
    for place in tape.needed(places):
        if place not in found:
            _take(tape, place, read, found)
    return found


def _take(tape: Tape, place: int, read: Callable[[int], Any], found: dict[int, Any]) -> None:
    code, *operands = tape.lines[place]
    if code == CONSTANT:
        found[place] = tape.constants[place]
        return
    if code == INPUT:
        found[place] = read(operands[0])
        return
    x = [found[p] for p in operands]
    if code in TURNS or code == TANGENT_H:
        found[place], found[place + 1] = _pair(code, x[0])
    else:
        found[place] = _result(code, x)


def _result(code: int, x: Sequence[Any]) -> Any:
    if code == ADD:
        return x[0] + x[1]
    if code == SUBTRACT:
        return x[0] - x[1]
    if code == NEGATE:
        return -x[0]
    if code in (MULTIPLY, SCALE):
        return x[0] * x[1]
    if code == SQUARE:
        return Dual(x[0].value * x[0].value, times(x[0].delta, x[0].value + x[0].value))
    if code == DIVIDE:
        return x[0] / x[1]
    if code == POWER:
        return apply("pow", *x)
    if code == ANGLE:
        return apply("atan2", x[0], x[1])
    if code in COMPARISONS:
        operator, exchanged = COMPARISONS[code]
        return x[0].compared(operator, x[1]) if isinstance(x[0], Dual) else x[1].compared(exchanged, x[0])
    if code == CHOOSE:
        return Dual.chosen(*x)
    if code in (AND, OR):
        return x[0].logical("and_" if code == AND else "or_", x[1])
    if code == NOT:
        return x[0].logical("xor", True)
    return apply(FUNCTIONS[code], x[0])


def _pair(code: int, x: Dual) -> tuple[Dual, Dual]:
    """Return the values of a pair of functions at x that are computed together, such as sine and cosine.

    `code` is the operation code of the first function.
    """
    if code == TANGENT_H:
        tangent = apply("tanh", x.value)
        slope = 1.0 - tangent * tangent
        change = times(x.delta, slope)
        return Dual(tangent, change), Dual(slope, times(change, -2.0 * tangent))
    one, other, of_first, of_second = TURNS[code]
    first, second = apply(one, x.value), apply(other, x.value)
    return Dual(first, times(times(x.delta, second), of_first)), Dual(second, times(times(x.delta, first), of_second))
