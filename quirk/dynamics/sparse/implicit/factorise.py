"""Block elimination of an unsymmetric matrix with a symmetric sparsity pattern, in compiled code.

Pivots are chosen within the diagonal block of a node. The matrix is real or complex: its `parts` are one array, or two
arrays for the real and imaginary parts. The blocks are at the beginning of these arrays, and each is given by the index
of its first element.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.compilation import kernel

from .numbers import (
    clear_lanes,
    difference,
    load_lanes,
    number,
    product,
    reciprocal,
    square,
    store_lanes,
    summed,
    totals,
    write,
    write_real,
)
from .tables import NODE, BodyCoupling


@kernel
def factorise_blocks(coupling: BodyCoupling, parts: Any, scratch: int) -> None:
    """Factorize the block matrix in place: diagonal blocks D become D^-1, lower blocks L become L D^-1.

    Upper blocks only receive the updates of the elimination. `parts` are the arrays of the matrix, and `scratch` is the
    index of a scratch block.
    """
    place = 0
    for k in range(coupling.size.shape[0]):
        d, n = coupling.diagonal[k], coupling.size[k]
        invert(parts, d, n, scratch)
        begin, end = coupling.first[k], coupling.first[k + 1]
        for i in range(begin, end):
            lower, rows = coupling.lower[i], coupling.size[coupling.column[i]]
            for row in range(rows):
                o = lower + 8 * row
                x = product(number(parts, o), load_lanes(parts, d))
                for c in range(1, n):
                    x = summed(x, product(number(parts, o + c), load_lanes(parts, d + 8 * c)))
                store_lanes(parts, o, x)
            for j in range(begin, end):
                subtract_product(parts, coupling.target[place], lower, coupling.upper[j], rows, n)
                place += 1


@kernel
def subtract_product(parts: Any, target: int, left: int, right: int, rows: int, inner: int) -> None:
    """Subtract the product of the blocks `left` and `right` from the block `target`.

    Each block is given by the index of its first element in `parts`, the arrays of the matrix. `rows` is the number of
    rows of `left` and of `target`, and `inner` the number of columns of `left`.
    """
    for row in range(rows):
        x = load_lanes(parts, target + 8 * row)
        for c in range(inner):
            x = difference(x, product(number(parts, left + 8 * row + c), load_lanes(parts, right + 8 * c)))
        store_lanes(parts, target + 8 * row, x)


@kernel
def invert(parts: Any, d: int, n: int, scratch: int) -> None:
    """Invert the block of n rows at element d in place, by Gauss-Jordan elimination with pivoting within columns.

    A singular block becomes infinite or NaN; callers must check the solution. `parts` are the arrays of the matrix, and
    `scratch` is the index of a scratch block.
    """
    for row in range(n):
        clear_lanes(parts, scratch + 8 * row)
        write_real(parts, scratch + 9 * row, 1.0)
    for c in range(n):
        best, pivot = c, square(number(parts, d + 9 * c))
        for row in range(c + 1, n):
            size = square(number(parts, d + 8 * row + c))
            if size > pivot:
                best, pivot = row, size
        if best != c:
            swap_rows(parts, d + 8 * c, d + 8 * best)
            swap_rows(parts, scratch + 8 * c, scratch + 8 * best)
        inverse = reciprocal(number(parts, d + 9 * c))
        own = product(inverse, load_lanes(parts, d + 8 * c))
        other = product(inverse, load_lanes(parts, scratch + 8 * c))
        for row in range(n):
            if row != c:
                x = number(parts, d + 8 * row + c)
                o, p = d + 8 * row, scratch + 8 * row
                store_lanes(parts, o, difference(load_lanes(parts, o), product(x, own)))
                store_lanes(parts, p, difference(load_lanes(parts, p), product(x, other)))
        store_lanes(parts, d + 8 * c, own)
        store_lanes(parts, scratch + 8 * c, other)
    for row in range(n):
        store_lanes(parts, d + 8 * row, load_lanes(parts, scratch + 8 * row))


@kernel
def swap_rows(parts: Any, first: int, second: int) -> None:
    """Exchange two rows of eight elements in `parts`, which begin at elements `first` and `second`."""
    x = load_lanes(parts, first)
    store_lanes(parts, first, load_lanes(parts, second))
    store_lanes(parts, second, x)


@kernel
def solve_blocks(coupling: BodyCoupling, parts: Any, vector: int) -> None:
    """Replace a right-hand side by the solution of the factorized system, in place.

    The right-hand side begins at element `vector` of the arrays `parts`, and has NODE elements for each node.
    """
    count = coupling.size.shape[0]
    for k in range(count):
        mine = load_lanes(parts, vector + NODE * k)
        for i in range(coupling.first[k], coupling.first[k + 1]):
            later, lower = coupling.column[i], coupling.lower[i]
            for row in range(coupling.size[later]):
                o = vector + NODE * later + row
                write(parts, o, difference(number(parts, o), totals(product(load_lanes(parts, lower + 8 * row), mine))))
    for back in range(count):
        k = count - 1 - back
        for i in range(coupling.first[k], coupling.first[k + 1]):
            theirs, upper = load_lanes(parts, vector + NODE * coupling.column[i]), coupling.upper[i]
            for row in range(coupling.size[k]):
                o = vector + NODE * k + row
                write(
                    parts, o, difference(number(parts, o), totals(product(load_lanes(parts, upper + 8 * row), theirs)))
                )
        mine = load_lanes(parts, vector + NODE * k)
        for row in range(coupling.size[k]):
            x = totals(product(load_lanes(parts, coupling.diagonal[k] + 8 * row), mine))
            write(parts, vector + NODE * k + row, x)
