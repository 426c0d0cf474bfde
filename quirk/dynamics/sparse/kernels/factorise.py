"""Block factorisation of S = A M^-1 A^T over joints and hub bodies, and solves with it.

Unknowns are the multipliers lambda of every joint and, scaled by W^-1, what hub bodies are accelerated by:

    [ S     G_h ] [ lambda ]   [ b - A a ]
    [ G_h^T -1  ] [  z_h   ] = [    0    ]

with G = A W and S taken over all bodies that are not hubs. Blocks are rows of eight lanes. Node n of the
order keeps its blocks B to later nodes as they are when its turn comes, and Q = B^T D^- with D^- the inverse of
its diagonal block, in whose place it is kept: B has a row for each of its own rows, Q for each of the later
node's. D^- is zero in rows that depend on rows before them: their pivot, the squared distance of the row from
those, has gone below a floor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.compiled import inlined, kernel
from quirk.lanes import at, halved, lane_of, load, reciprocal_above, replaced, splat, spread, store, zero_of
from quirk.record import record
from quirk.traced import traced

from .rows import UNITS

# Number of nodes for which rows, factorisation and forward substitution are done before the next ones: their blocks
# fit into the processor's cache.
STRETCH = 256

# Products of rows through a body: both with constant forces along the axes of N, or with any forces.
CONSTANT, TURNING = range(2)


@record
class Pattern(NamedTuple):
    """The pattern of the blocks: their places, and the products and updates of which each consists; K nodes, L blocks.

    rows (K,), 0 of nodes that are left out · sign (K,) of the pivots: 1, and -1 for hubs · first (K + 1,) first block
    of each node, its diagonal one · start, turned (L,) first element of each block of B and of Q · column (L,) the
    later node · term (L + 1,) first of the products that a block starts from · kind, left, right, left_force,
    right_force (T,) elements of G, three lanes each, of which a product consists · weight (T,) that of the
    forces · update (L + 1,) first of what earlier nodes take from a block · Q, B, source (U,) the elements of both
    factors and the number of rows of B · visits (K,) the nodes in the order in which their rows are needed, by
    their own elimination or that of an earlier node · due: how many of them after each stretch of the elimination.
    """

    rows: np.ndarray
    sign: np.ndarray
    first: np.ndarray
    start: np.ndarray
    turned: np.ndarray
    column: np.ndarray
    term: np.ndarray
    kind: np.ndarray
    left: np.ndarray
    right: np.ndarray
    left_force: np.ndarray
    right_force: np.ndarray
    weight: np.ndarray
    update: np.ndarray
    Q: np.ndarray
    B: np.ndarray
    source: np.ndarray
    visits: np.ndarray
    due: np.ndarray
    narrow: np.ndarray


@kernel
def factorise(
    pattern: Pattern, begin: int, end: int, G: np.ndarray, floor: np.ndarray, B: np.ndarray, Q: np.ndarray
) -> None:
    """Fill B, with D^- in place of diagonal blocks, and Q, for the nodes from `begin` to `end`.

    Rows with a pivot that is not above `floor` (8 K,) are left out. Where neither a node nor any to which it has blocks
    has more than four rows, four lanes will do.
    """
    for n in range(begin, end):
        if pattern.rows[n] == 0:
            continue
        if pattern.narrow[n] != 0:
            _few_rows(pattern, n, halved(G), floor, halved(B), halved(Q))
        else:
            _many_rows(pattern, n, G, floor, B, Q)


@inlined
def _few_rows(pattern: Pattern, n: int, G: np.ndarray, floor: np.ndarray, B: np.ndarray, Q: np.ndarray) -> None:
    m, sign, diagonal, following = pattern.rows[n], pattern.sign[n], pattern.first[n], pattern.first[n + 1]
    for block in range(diagonal, following):
        _form(pattern, block, m, G, B, Q, halved(UNITS))
    d = pattern.start[diagonal]
    if m == 1:
        _invert_1(sign, 8 * n, d, floor, B)
    elif m == 2:
        _invert_2(sign, 8 * n, d, floor, B)
    elif m == 3:
        _invert_3(sign, 8 * n, d, floor, B)
    else:
        _invert_4(sign, 8 * n, d, floor, B)
    for block in range(diagonal + 1, following):
        o, q = pattern.start[block], pattern.turned[block]
        other = pattern.rows[pattern.column[block]]
        if m == 3 and other == 3:
            _multiply_3(o, q, d, B, Q)
        else:
            _multiply(o, q, d, m, other, B, Q)


@inlined
def _many_rows(pattern: Pattern, n: int, G: np.ndarray, floor: np.ndarray, B: np.ndarray, Q: np.ndarray) -> None:
    m, sign, diagonal, following = pattern.rows[n], pattern.sign[n], pattern.first[n], pattern.first[n + 1]
    for block in range(diagonal, following):
        _form(pattern, block, m, G, B, Q, UNITS)
    d = pattern.start[diagonal]
    if m == 1:
        _invert_1(sign, 8 * n, d, floor, B)
    elif m == 2:
        _invert_2(sign, 8 * n, d, floor, B)
    elif m == 3:
        _invert_3(sign, 8 * n, d, floor, B)
    elif m == 4:
        _invert_4(sign, 8 * n, d, floor, B)
    elif m == 5:
        _invert_5(sign, 8 * n, d, floor, B)
    else:
        _invert_6(sign, 8 * n, d, floor, B)
    for block in range(diagonal + 1, following):
        o, q = pattern.start[block], pattern.turned[block]
        other = pattern.rows[pattern.column[block]]
        if m == 5 and other == 5:
            _multiply_5(o, q, d, B, Q)
        else:
            _multiply(o, q, d, m, other, B, Q)


@inlined
def _multiply(o: int, q: int, d: int, m: int, other: int, B: np.ndarray, Q: np.ndarray) -> None:
    """Fill Q = B^T D^- for a block of m rows and so many columns."""
    for row in range(other):
        lanes = zero_of(B)
        for r in range(m):
            lanes = lanes + at(B, o + row + 8 * r) * load(B, d + 8 * r)
        store(Q, q + 8 * row, lanes)


def _inversion(m: int) -> Any:
    """Return the inversion of a diagonal block of m rows, written out."""

    def invert(sign: Any, h: Any, d: Any, floor: Any, B: Any) -> None:
        """Exchange steps; rows whose pivot is not above the floor become zero."""
        rows = [load(B, d + 8 * p) for p in range(m)]
        for r in range(m):
            # Zero leaves the row out: all that follows multiplies with it.
            pivot = lane_of(rows[r], r)
            inverse = reciprocal_above(pivot * sign, at(floor, h + r), pivot)
            mine = replaced(rows[r], r, 1.0) * inverse
            rows = [row if p == r else replaced(row, r, 0.0) - spread(row, r) * mine for p, row in enumerate(rows)]
            rows[r] = mine
        for p in range(m):
            store(B, d + 8 * p, rows[p])

    return traced(invert)


def _multiplication(m: int) -> Any:
    """Return the product Q = B^T D^- of a square block of m rows, written out."""

    def multiply(o: Any, q: Any, d: Any, B: Any, Q: Any) -> None:
        inverse = [load(B, d + 8 * r) for r in range(m)]
        for row in range(m):
            lanes = at(B, o + row) * inverse[0]
            for r in range(1, m):
                lanes = lanes + at(B, o + row + 8 * r) * inverse[r]
            store(Q, q + 8 * row, lanes)

    return traced(multiply)


_invert_1, _invert_2, _invert_3, _invert_4, _invert_5, _invert_6 = (_inversion(m) for m in range(1, 7))
# Joints of the commonest kinds meeting their like; others take loops.
_multiply_3, _multiply_5 = _multiplication(3), _multiplication(5)


@inlined
def _plus_product(
    r0: Any, r1: Any, r2: Any, r3: Any, r4: Any, r5: Any, m: int, G: np.ndarray, l: int, x: Any, y: Any, z: Any
) -> Any:
    """Add to row p of m the lanes x, y and z times elements p of the three rows of G from `l` on."""
    r0 = r0 + at(G, l) * x + at(G, l + 8) * y + at(G, l + 16) * z
    if m > 1:
        r1 = r1 + at(G, l + 1) * x + at(G, l + 9) * y + at(G, l + 17) * z
    if m > 2:
        r2 = r2 + at(G, l + 2) * x + at(G, l + 10) * y + at(G, l + 18) * z
    if m > 3:
        r3 = r3 + at(G, l + 3) * x + at(G, l + 11) * y + at(G, l + 19) * z
    if m > 4:
        r4 = r4 + at(G, l + 4) * x + at(G, l + 12) * y + at(G, l + 20) * z
    if m > 5:
        r5 = r5 + at(G, l + 5) * x + at(G, l + 13) * y + at(G, l + 21) * z
    return r0, r1, r2, r3, r4, r5


@inlined
def _form(pattern: Pattern, block: int, m: int, G: np.ndarray, B: np.ndarray, Q: np.ndarray, units: np.ndarray) -> None:
    """Sum up a block row by row: its products, less what earlier nodes take. Written out to stay in registers."""
    r0 = r1 = r2 = r3 = r4 = r5 = zero_of(B)
    for t in range(pattern.term[block], pattern.term[block + 1]):
        l, r, weight = pattern.left[t], pattern.right[t], pattern.weight[t]
        x, y, z = load(G, r), load(G, r + 8), load(G, r + 16)
        r0, r1, r2, r3, r4, r5 = _plus_product(r0, r1, r2, r3, r4, r5, m, G, l, x, y, z)
        if pattern.kind[t] == CONSTANT:
            r0 = r0 + weight * load(units, 0)
            r1 = r1 + weight * load(units, 8)
            r2 = r2 + weight * load(units, 16)
        else:
            l, r = pattern.left_force[t], pattern.right_force[t]
            x, y, z = weight * load(G, r), weight * load(G, r + 8), weight * load(G, r + 16)
            r0, r1, r2, r3, r4, r5 = _plus_product(r0, r1, r2, r3, r4, r5, m, G, l, x, y, z)
    for u in range(pattern.update[block], pattern.update[block + 1]):
        l, r = pattern.Q[u], pattern.B[u]
        for _ in range(pattern.source[u]):
            x = load(B, r)
            r0 = r0 - at(Q, l) * x
            if m > 1:
                r1 = r1 - at(Q, l + 8) * x
            if m > 2:
                r2 = r2 - at(Q, l + 16) * x
            if m > 3:
                r3 = r3 - at(Q, l + 24) * x
            if m > 4:
                r4 = r4 - at(Q, l + 32) * x
            if m > 5:
                r5 = r5 - at(Q, l + 40) * x
            l += 1
            r += 8
    o = pattern.start[block]
    store(B, o, r0)
    if m > 1:
        store(B, o + 8, r1)
    if m > 2:
        store(B, o + 16, r2)
    if m > 3:
        store(B, o + 24, r3)
    if m > 4:
        store(B, o + 32, r4)
    if m > 5:
        store(B, o + 40, r5)


@kernel
def forward(pattern: Pattern, begin: int, end: int, B: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Fill x (8 K,) for the nodes from `begin` to `end` with D^- rhs, and take what follows from it from later ones."""
    for n in range(begin, end):
        m, d = pattern.rows[n], pattern.start[pattern.first[n]]
        row = splat(0.0)
        for r in range(m):
            row = row + at(rhs, 8 * n + r) * load(B, d + 8 * r)
        store(x, 8 * n, row)
        for block in range(pattern.first[n] + 1, pattern.first[n + 1]):
            o, c = pattern.start[block], 8 * pattern.column[block]
            row = load(rhs, c)
            for r in range(m):
                row = row - at(x, 8 * n + r) * load(B, o + 8 * r)
            store(rhs, c, row)


@kernel
def backward(pattern: Pattern, Q: np.ndarray, x: np.ndarray) -> None:
    """Turn what `forward` has left in x into the solution; left-out rows get zero."""
    count = pattern.rows.shape[0]
    for k in range(count):
        n = count - 1 - k
        row = load(x, 8 * n)
        for block in range(pattern.first[n] + 1, pattern.first[n + 1]):
            q, c = pattern.turned[block], pattern.column[block]
            for r in range(pattern.rows[c]):
                row = row - at(x, 8 * c + r) * load(Q, q + 8 * r)
        store(x, 8 * n, row)


@kernel
def solve(pattern: Pattern, B: np.ndarray, Q: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Fill x (8 K,) with the solution for `rhs` (8 K,), which is used up; left-out rows get zero."""
    forward(pattern, 0, pattern.rows.shape[0], B, rhs, x)
    backward(pattern, Q, x)
