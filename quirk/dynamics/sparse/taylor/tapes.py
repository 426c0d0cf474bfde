"""Tapes in kernels: coefficients of all their operations, one order after the other, for eight elements at a time.

`quirk.tape` says what a tape is. Elements with the same tape, such as all hinges of a chain, share it and lie side by
side in the lanes of registers, in groups of eight.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import inlined, kernel
from quirk.lanes import at, load, put, root, splat, store
from quirk.record import record
from quirk.tape import (
    ADD,
    AND,
    ANGLE,
    CHOOSE,
    CONSTANT,
    COSINE,
    COSINE_H,
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
    SLOPE_H,
    SQUARE,
    SUBTRACT,
    TANGENT_H,
)

# Entries of each line of code: the operation; which of the values of a group its result and its operands are; and which
# of the histories, -1 for none.
CODE, RESULT, A, B, C, RESULT_KEPT, A_KEPT, B_KEPT, C_KEPT = range(9)
LINE = 9


@record
class Tapes(NamedTuple):
    """Code of all tapes, and what it computes for all groups.

    code (LINE per line) · numbers: constants, that of a line at its operand A · values: the present coefficients of all
    groups, eight lanes each, the first of each group being zero · histories: all coefficients of those values that
    recurrences ask for, one after the other, `orders` each
    """

    code: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    histories: np.ndarray
    orders: int


@kernel
def first_coefficients(tapes: Tapes, begin: int, end: int, v0: int, h0: int) -> None:
    """Run lines of code on values: fills the coefficients of order 0 of a group whose values start at v0."""
    values, code = tapes.values, tapes.code
    for line in range(begin, end):
        o = LINE * line
        op, v, a, b = code[o + CODE], v0 + 8 * code[o + RESULT], v0 + 8 * code[o + A], v0 + 8 * code[o + B]
        if op == CONSTANT:
            store(values, v, splat(at(tapes.numbers, code[o + A])))
        elif op == ADD:
            store(values, v, load(values, a) + load(values, b))
        elif op == SUBTRACT:
            store(values, v, load(values, a) - load(values, b))
        elif op == NEGATE:
            store(values, v, splat(0.0) - load(values, a))
        elif op == MULTIPLY or op == SCALE:
            store(values, v, load(values, a) * load(values, b))
        elif op == SQUARE:
            store(values, v, load(values, a) * load(values, a))
        elif op == DIVIDE:
            store(values, v, load(values, a) / load(values, b))
        elif op == ROOT:
            store(values, v, root(load(values, a)))
        elif op != INPUT:
            c = v0 + 8 * code[o + C]
            for lane in range(8):
                put(values, v + lane, function_of(op, at(values, a + lane), at(values, b + lane), at(values, c + lane)))
        if code[o + RESULT_KEPT] >= 0:
            store(tapes.histories, h0 + 8 * tapes.orders * code[o + RESULT_KEPT], load(values, v))


@kernel
def function_of(op: int, a: float, b: float, c: float) -> float:
    """Return the value of an operation that there is none of in registers."""
    if op == EXPONENTIAL:
        return math.exp(a)
    if op == LOGARITHM:
        return math.log(a)
    if op == POWER:
        return a**b
    if op == SINE:
        return math.sin(a)
    if op == COSINE:
        return math.cos(a)
    if op == SINE_H:
        return math.sinh(a)
    if op == COSINE_H:
        return math.cosh(a)
    if op == TANGENT_H:
        return math.tanh(a)
    if op == SLOPE_H:
        return 1.0 - math.tanh(a) ** 2
    if op == ANGLE:
        return math.atan2(a, b)
    if op == CHOOSE:
        return b if a != 0.0 else c
    if op == NEAREST:
        return np.rint(a)
    return truth_of(op, a, b)


@kernel
def truth_of(op: int, a: float, b: float) -> float:
    """Return 1.0 for a truth and 0.0 for what is not true."""
    holds = False
    if op == LESS:
        holds = a < b
    elif op == LESS_EQUAL:
        holds = a <= b
    elif op == EQUAL:
        holds = a == b
    elif op == AND:
        holds = a != 0.0 and b != 0.0
    elif op == OR:
        holds = a != 0.0 or b != 0.0
    elif op == NOT:
        holds = a == 0.0
    return 1.0 if holds else 0.0


@kernel
def next_coefficients(tapes: Tapes, begin: int, end: int, v0: int, h0: int, k: int) -> None:
    """Run lines of code: fills the coefficients of order k > 0 from those of all lower orders."""
    values, histories, code, stride = tapes.values, tapes.histories, tapes.code, 8 * tapes.orders
    for line in range(begin, end):
        o = LINE * line
        op, v, a = code[o + CODE], v0 + 8 * code[o + RESULT], v0 + 8 * code[o + A]
        ha, hb = h0 + stride * code[o + A_KEPT], h0 + stride * code[o + B_KEPT]
        if op == MULTIPLY:
            found = product(histories, ha, hb, 0, k, k)
        elif op == SCALE:
            found = load(values, a) * load(values, v0 + 8 * code[o + B])
        elif op == ADD:
            found = load(values, a) + load(values, v0 + 8 * code[o + B])
        elif op == SUBTRACT:
            found = load(values, a) - load(values, v0 + 8 * code[o + B])
        elif op == NEGATE:
            found = splat(0.0) - load(values, a)
        elif op == SQUARE:
            found = square(histories, ha, k)
        elif op == DIVIDE:
            hv = h0 + stride * code[o + RESULT_KEPT]
            found = (load(histories, ha + 8 * k) - product(histories, hb, hv, 1, k, k)) / load(histories, hb)
        else:
            found = of_function(tapes, o, v0, h0, k)
        store(values, v, found)
        if code[o + RESULT_KEPT] >= 0:
            store(histories, h0 + stride * code[o + RESULT_KEPT] + 8 * k, found)


@kernel
def of_function(tapes: Tapes, o: int, v0: int, h0: int, k: int) -> object:
    """Return coefficient k of a function, from the recurrence of the differential equation that it solves."""
    values, histories, code, stride = tapes.values, tapes.histories, tapes.code, 8 * tapes.orders
    op, kept = code[o + CODE], code[o + RESULT_KEPT]
    a, b, v = h0 + stride * code[o + A_KEPT], h0 + stride * code[o + B_KEPT], h0 + stride * kept
    by_order = 1.0 / k
    found = splat(0.0)
    if op == ROOT:
        found = (load(histories, a + 8 * k) - product(histories, v, v, 1, k - 1, k)) / (2.0 * load(histories, v))
    elif op == EXPONENTIAL:
        found = by_order * weighted(histories, a, v, k, k)
    elif op == LOGARITHM:
        found = (load(histories, a + 8 * k) - by_order * weighted(histories, v, a, k - 1, k)) / load(histories, a)
    elif op == SINE or op == SINE_H:
        found = by_order * weighted(histories, a, v + stride, k, k)  # its partner is the next one kept
    elif op == COSINE:
        found = -by_order * weighted(histories, a, v - stride, k, k)
    elif op == COSINE_H:
        found = by_order * weighted(histories, a, v - stride, k, k)
    elif op == TANGENT_H:
        found = by_order * weighted(histories, a, v + stride, k, k)
    elif op == SLOPE_H:
        found = splat(0.0) - square(histories, v - stride, k)
    elif op == POWER:
        found = power(histories, a, v, load(values, v0 + 8 * code[o + B]), k)
    elif op == ANGLE:
        # (x^2 + y^2) angle' = x y' - y x'
        c = h0 + stride * code[o + C_KEPT]
        turning = weighted(histories, a, b, k, k) - weighted(histories, b, a, k, k)
        found = by_order * (turning - weighted(histories, v, c, k - 1, k)) / load(histories, c)
    elif op == CHOOSE:
        x, y = v0 + 8 * code[o + B], v0 + 8 * code[o + C]
        result = v0 + 8 * code[o + RESULT]
        for lane in range(8):
            taken = x if at(values, v0 + 8 * code[o + A] + lane) != 0.0 else y
            put(values, result + lane, at(values, taken + lane))
        found = load(values, result)
    return found


@inlined
def product(histories: np.ndarray, a: int, b: int, first: int, last: int, k: int) -> object:
    """Return the sum of a_m b_(k-m) over m from `first` to `last`."""
    found = splat(0.0)
    for m in range(first, last + 1):
        found = found + load(histories, a + 8 * m) * load(histories, b + 8 * (k - m))
    return found


@inlined
def square(histories: np.ndarray, a: int, k: int) -> object:
    """Return coefficient k of the square of a."""
    found, half = splat(0.0), (k + 1) // 2
    for m in range(half):
        found = found + load(histories, a + 8 * m) * load(histories, a + 8 * (k - m))
    found = found + found
    if k % 2 == 0:
        middle = load(histories, a + 8 * (k // 2))
        found = found + middle * middle
    return found


@inlined
def weighted(histories: np.ndarray, a: int, b: int, last: int, k: int) -> object:
    """Return the sum of m a_m b_(k-m) over m from 1 to `last`."""
    found = splat(0.0)
    for m in range(1, last + 1):
        found = found + (1.0 * m) * load(histories, a + 8 * m) * load(histories, b + 8 * (k - m))
    return found


@inlined
def power(histories: np.ndarray, a: int, v: int, exponent: object, k: int) -> object:
    """Return coefficient k of v = a^exponent: a v' = exponent v a'."""
    found = splat(0.0)
    for m in range(1, k + 1):
        weight = exponent * (1.0 * m) - (1.0 * (k - m))
        found = found + weight * load(histories, a + 8 * m) * load(histories, v + 8 * (k - m))
    return found / (float(k) * load(histories, a))
