"""A tape taken again by dual numbers: what a function gives with its changes in eight directions, each line once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .duals import Dual
from .jets import BranchingError, apply
from .scalar import times
from .tape import (
    ADD,
    ANGLE,
    CONSTANT,
    DIVIDE,
    EXPONENTIAL,
    INPUT,
    LOGARITHM,
    MULTIPLY,
    NEGATE,
    POWER,
    ROOT,
    SCALE,
    SINE,
    SINE_H,
    SQUARE,
    SUBTRACT,
    TANGENT_H,
    Tape,
)

FUNCTIONS = {EXPONENTIAL: "exp", LOGARITHM: "log", ROOT: "sqrt"}
# Of a pair of functions their names, and how the derivative of the first follows from the second and the other way.
TURNS = {SINE: ("sin", "cos", 1.0, -1.0), SINE_H: ("sinh", "cosh", 1.0, 1.0)}


def replayed(tape: Tape, places: Sequence[int], read: Callable[[int], Any]) -> dict[int, Any]:
    """Return the results of the lines of a tape that some places need, by place.

    Parameters
    ----------
    tape : without cases
    places : of the lines that are asked for
    read : gives input k as a dual number, or as one that does not change

    Raises
    ------
    BranchingError : if the tape chooses between cases, or rounds
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
    if code in FUNCTIONS:
        return apply(FUNCTIONS[code], x[0])
    raise BranchingError("a tape that chooses between cases")


def _pair(code: int, x: Dual) -> tuple[Dual, Dual]:
    """Two functions that need each other."""
    if code == TANGENT_H:
        tangent = apply("tanh", x.value)
        slope = 1.0 - tangent * tangent
        change = times(x.delta, slope)
        return Dual(tangent, change), Dual(slope, times(change, -2.0 * tangent))
    one, other, of_first, of_second = TURNS[code]
    first, second = apply(one, x.value), apply(other, x.value)
    return Dual(first, times(times(x.delta, second), of_first)), Dual(second, times(times(x.delta, first), of_second))
