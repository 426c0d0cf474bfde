"""Elimination by blocks of a matrix with a symmetric pattern, in kernels: unsymmetric, pivots within nodes."""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import at, load, put, splat, store, total

from .tables import NODE, Coupling


@kernel
def factorise_blocks(coupling: Coupling, factor: np.ndarray, scratch: np.ndarray) -> None:
    """Factorise in place: diagonal blocks become their inverses D^-1, lower ones L D^-1; upper ones stay."""
    place = 0
    for k in range(coupling.size.shape[0]):
        d, n = coupling.diagonal[k], coupling.size[k]
        invert(factor, d, n, scratch)
        begin, end = coupling.first[k], coupling.first[k + 1]
        for i in range(begin, end):
            lower, rows = coupling.lower[i], coupling.size[coupling.column[i]]
            for row in range(rows):
                o = lower + 8 * row
                lanes = splat(0.0)
                for c in range(n):
                    lanes = lanes + at(factor, o + c) * load(factor, d + 8 * c)
                store(factor, o, lanes)
            for j in range(begin, end):
                take_away(factor, coupling.target[place], lower, coupling.upper[j], rows, n)
                place += 1


@kernel
def take_away(factor: np.ndarray, target: int, left: int, right: int, rows: int, inner: int) -> None:
    """Subtract the product of two blocks from a third."""
    for row in range(rows):
        lanes = load(factor, target + 8 * row)
        for c in range(inner):
            lanes = lanes - at(factor, left + 8 * row + c) * load(factor, right + 8 * c)
        store(factor, target + 8 * row, lanes)


@kernel
def invert(factor: np.ndarray, d: int, n: int, scratch: np.ndarray) -> None:
    """Invert a block of n rows in place, by Gauss and Jordan's elimination with the largest pivot of each column.

    What is singular becomes infinite or not a number, which whoever uses the solution notices.
    """
    for row in range(n):
        store(scratch, 8 * row, splat(0.0))
        put(scratch, 9 * row, 1.0)
    for c in range(n):
        best, pivot = c, abs(at(factor, d + 9 * c))
        for row in range(c + 1, n):
            size = abs(at(factor, d + 8 * row + c))
            if size > pivot:
                best, pivot = row, size
        if best != c:
            exchange(factor, d + 8 * c, d + 8 * best)
            exchange(scratch, 8 * c, 8 * best)
        inverse = 1.0 / at(factor, d + 9 * c)
        own, other = inverse * load(factor, d + 8 * c), inverse * load(scratch, 8 * c)
        for row in range(n):
            if row != c:
                x = at(factor, d + 8 * row + c)
                store(factor, d + 8 * row, load(factor, d + 8 * row) - x * own)
                store(scratch, 8 * row, load(scratch, 8 * row) - x * other)
        store(factor, d + 8 * c, own)
        store(scratch, 8 * c, other)
    for row in range(n):
        store(factor, d + 8 * row, load(scratch, 8 * row))


@kernel
def exchange(array: np.ndarray, one: int, two: int) -> None:
    """Exchange two rows."""
    lanes = load(array, one)
    store(array, one, load(array, two))
    store(array, two, lanes)


@kernel
def solve_blocks(coupling: Coupling, factor: np.ndarray, vector: np.ndarray) -> None:
    """Replace right-hand sides (NODE N,) by the solution."""
    count = coupling.size.shape[0]
    for k in range(count):
        mine = load(vector, NODE * k)
        for i in range(coupling.first[k], coupling.first[k + 1]):
            later, lower = coupling.column[i], coupling.lower[i]
            for row in range(coupling.size[later]):
                o = NODE * later + row
                put(vector, o, at(vector, o) - total(load(factor, lower + 8 * row) * mine))
    for back in range(count):
        k = count - 1 - back
        for i in range(coupling.first[k], coupling.first[k + 1]):
            theirs, upper = load(vector, NODE * coupling.column[i]), coupling.upper[i]
            for row in range(coupling.size[k]):
                o = NODE * k + row
                put(vector, o, at(vector, o) - total(load(factor, upper + 8 * row) * theirs))
        mine, d = load(vector, NODE * k), coupling.diagonal[k]
        for row in range(coupling.size[k]):
            put(vector, NODE * k + row, total(load(factor, d + 8 * row) * mine))
