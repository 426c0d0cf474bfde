"""Inverses of diagonal blocks in the block factorization of S = A M^-1 A^T.

A is the matrix of constraint rows and M the mass matrix. A diagonal block is symmetric and has a row for each
constraint row of a joint; a row is a vector of eight elements. The pivot of a row is its diagonal element after
elimination of the rows before it. A row is dropped as dependent if its pivot does not exceed a lower limit, its floor.

Most joints have three or five rows. Their blocks are inverted by cofactors, with one division for three rows and one
for the other two, unless a row is dropped or more than four binary digits are lost. All other blocks are inverted by
exchange steps (Gauss-Jordan), row by row, which is slower, because each step depends on the division of the previous
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from quirk.jit.compilation import inlined
from quirk.jit.simd import at, lane_of, permuted, reciprocal_above, replaced, spread
from quirk.jit.tracing import traced

# Cofactors are used if the determinant exceeds this fraction of the product of the diagonal elements, which is its
# upper bound (Hadamard). The round-off of cofactors is proportional to this product, so at most four binary digits are
# lost.
SHARE = 1.0 / 16.0

# Smallest product of three elements that is computed accurately, with a margin to the smallest normal number, 2.2e-308.
LEAST = 1e-290


def inversion(m: int) -> Callable[..., Any]:
    """Return the function that inverts symmetric blocks of m rows in compiled code.

    Its arguments are the rows of the block; the sign of the pivots, 1 or -1; the index in `floor` of the lower limit of
    the first pivot; and `floor`. It returns the rows of the inverse, with zeros in rows whose pivot does not exceed its
    limit.
    """
    return {3: _invert_3, 5: _invert_5}.get(m, _exchange)


@inlined
def _invert_3(rows: Any, sign: float, h: int, floor: np.ndarray) -> Any:
    inverse, minors = _cofactors_of_3(rows)
    if _three_pivots(minors, h, floor):
        return inverse
    return _exchange(rows, sign, h, floor)


@inlined
def _invert_5(rows: Any, sign: float, h: int, floor: np.ndarray) -> Any:
    inverse, minors, of_rest = _cofactors_of_5(rows)
    if _three_pivots(minors, h, floor) and _two_pivots(of_rest, h + 3, floor):
        return inverse
    return _exchange(rows, sign, h, floor)


@inlined
def _three_pivots(minors: Any, h: int, floor: np.ndarray) -> bool:
    """Return whether three pivots exceed their lower limits, and their product is accurate.

    `minors` are the leading minors of one, two and three rows, and the product of the diagonal elements. The last minor
    is the product of the pivots; it is accurate if it exceeds a fraction of the product of the diagonal, its upper
    bound (Hadamard). The limits begin at index h of `floor`.
    """
    first, second, determinant, bound = minors
    # One branch, which almost always has the same outcome.
    above = (first > at(floor, h)) & (second > at(floor, h + 1) * first) & (determinant > at(floor, h + 2) * second)
    return above & (determinant > SHARE * bound) & (bound > LEAST)


@inlined
def _two_pivots(minors: Any, h: int, floor: np.ndarray) -> bool:
    """Return whether two pivots exceed their lower limits, and their product is accurate.

    `minors` are the leading minors of one and two rows, and the product of the diagonal elements. The last minor is the
    product of the pivots; it is accurate if it exceeds a fraction of the product of the diagonal, its upper bound
    (Hadamard). The limits begin at index h of `floor`.
    """
    first, determinant, bound = minors
    above = (first > at(floor, h)) & (determinant > at(floor, h + 1) * first)
    return above & (determinant > SHARE * bound) & (bound > LEAST)


@traced
def _exchange(rows: Any, sign: Any, h: Any, floor: Any) -> tuple[Any, ...]:
    """Return the rows of the inverse of a symmetric block, computed by exchange steps (Gauss-Jordan).

    `sign` is the sign of the pivots; their lower limits begin at index h of `floor`. Dropped rows of the inverse are
    zero.
    """
    rows = list(rows)
    for r in range(len(rows)):
        # Zero drops the row: all later terms are multiplied by it.
        pivot = lane_of(rows[r], r)
        inverse = reciprocal_above(pivot * sign, at(floor, h + r), pivot)
        mine = replaced(rows[r], r, 1.0) * inverse
        rows = [row if p == r else replaced(row, r, 0.0) - spread(row, r) * mine for p, row in enumerate(rows)]
        rows[r] = mine
    return tuple(rows)


@traced
def _cofactors_of_3(rows: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the rows of the inverse of a block of three rows, by cofactors, and the minors for `_three_pivots`."""
    cofactors, inverse, minors = _cofactors(rows)
    return tuple(row * inverse for row in cofactors), minors


@traced
def _cofactors_of_5(rows: Any) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Return the rows of the inverse of a block of five rows, and the minors for `_three_pivots` and `_two_pivots`.

    The first three rows are eliminated together, by cofactors, and then the other two in the Schur complement.
    """
    cofactors, inverse, minors = _cofactors(rows)
    own = [_with(row, [float(c == p) for c in range(3)]) for p, row in enumerate(rows[:3])]
    # Inverse determinants are applied as late as possible, since the divisions take longer.
    upper = [_combined(cofactor, own) for cofactor in cofactors]
    fourth, fifth = (_with(row, [0.0] * 3) - inverse * _combined(row, upper) for row in rows[3:])
    upper = [row * inverse for row in upper]
    a, b, c = lane_of(fourth, 3), lane_of(fourth, 4), lane_of(fifth, 4)
    bound = a * c
    determinant = bound - b * b
    inverse = reciprocal_above(determinant, 0.0, determinant)
    fourth, fifth = _with(fourth, [1.0, 0.0], 3), _with(fifth, [0.0, 1.0], 3)
    lower = [c * fourth - b * fifth, a * fifth - b * fourth]
    upper = [_with(row, [0.0] * 2, 3) - inverse * _combined(row, lower, 3) for row in upper]
    return (*upper, *(row * inverse for row in lower)), minors, (a, determinant, bound)


def _cofactors(rows: Sequence[Any]) -> tuple[list[Any], Any, tuple[Any, Any, Any, Any]]:
    """Return the cofactors of the leading three rows and columns of a block, and the inverse of their determinant.

    The third result is a tuple: the leading minors of one, two and three rows, and the product of the diagonal.
    """
    following, other = ([permuted(row, order) for row in rows[:3]] for order in ((1, 2, 0), (2, 0, 1)))
    # Each row is the cross product of the other two.
    cofactors = [following[p - 2] * other[p - 1] - other[p - 2] * following[p - 1] for p in range(3)]
    terms = rows[0] * cofactors[0]
    determinant = lane_of(terms, 0) + (lane_of(terms, 1) + lane_of(terms, 2))
    first, second = lane_of(rows[0], 0), lane_of(cofactors[2], 2)
    bound = first * (lane_of(rows[1], 1) * lane_of(rows[2], 2))
    return cofactors, reciprocal_above(determinant, 0.0, determinant), (first, second, determinant, bound)


def _with(row: Any, numbers: Sequence[Any], begin: int = 0) -> Any:
    """Return a copy of the vector `row` in which `numbers` replace the elements from index `begin` on."""
    for lane, x in enumerate(numbers, begin):
        row = replaced(row, lane, x)
    return row


def _combined(factors: Any, rows: Sequence[Any], begin: int = 0) -> Any:
    """Return the linear combination of `rows` with the elements of `factors` from index `begin` on as coefficients."""
    products = [spread(factors, lane) * row for lane, row in enumerate(rows, begin)]
    return sum(products[1:], products[0])
