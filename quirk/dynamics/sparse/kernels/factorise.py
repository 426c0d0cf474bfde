"""Block factorization of S = A M^-1 A^T over joints and hubs, which are bodies with many joints.

Unknowns are the multipliers lambda of every joint and, scaled by W^-1, the accelerations z_h of hub bodies due to
constraints:

    [ S     G_h ] [ lambda ]   [ b - A a ]
    [ G_h^T -1  ] [  z_h   ] = [    0    ]

with the constraint rows A, the mass matrix M = (W W^T)^-1 and G = A W. S is taken over all bodies that are not hubs.
Unknowns are eliminated in nodes: the rows of a joint, up to six, or a hub body. A block couples two nodes and is stored
in rows of eight elements. When node n is eliminated, its blocks B to later nodes are stored, and Q = B^T D^-, where D^-
is the inverse of the diagonal block and replaces it. B has a row for each row of node n, and Q a row for each row of
the later node. The pivot of a row is its squared distance from the span of the rows before it. A row whose pivot is
below a floor is dependent, and D^- is zero in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.jit.compilation import inlined, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, halved, load, splat, store, zero_of
from quirk.jit.tracing import traced

from .invert import inversion
from .rows import UNITS

# Number of nodes processed (rows, factorization, forward substitution) before the next ones: their blocks fit into the
# processor's cache.
STRETCH = 256

# Products of rows through a body: for forces of both along fixed inertial axes, or for any forces.
CONSTANT, TURNING = range(2)


@record
class Pattern(NamedTuple):
    """Pattern of L blocks of K nodes: their positions, and the products and updates that form each block.

    A node is a joint, or a hub: a body with many joints. B and Q are the factors, see the module docstring. Names in
    capitals are constants of this module.

    Attributes
    ----------
    rows : (K,) number of rows of each node, 0 for nodes without selected rows
    sign : (K,) sign of the pivots: 1, and -1 for hubs
    first : (K + 1,) first block of each node, its diagonal block
    start, turned : (L,) first element of each block in the arrays B and Q
    column : (L,) later node of each block
    term : (L + 1,) first product of each block
    kind, left, right, left_force, right_force : (T,) kind of each product, and the indices of its factors in G
    weight : (T,) weight of the forces in each product
    update : (L + 1,) first update of each block by earlier nodes
    Q, B, source : (U,) first elements of both factors of each update, and the number of rows of B
    visits : (K,) nodes in the order in which the elimination first needs their rows
    due : for each group of STRETCH nodes, the number of leading nodes in `visits` whose rows its elimination needs
    narrow : (K,) whether vectors of four elements suffice for the node
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
    """Factorize the nodes (joints, or bodies with many joints) from `begin` to `end`: compute the factors B and Q.

    Diagonal blocks in B are replaced by their inverses; G is the array of all rows. Rows whose pivot does not exceed
    `floor` (8 K,), for K nodes, are dropped as dependent. Vectors of four elements are used if the node and all nodes
    coupled with it have at most four rows.
    """
    for n in range(begin, end):
        rows = at(pattern.rows, n)
        if rows == 0:
            continue
        if at(pattern.narrow, n) != 0:
            _eliminate_few(rows, pattern, n, halved(G), floor, halved(B), halved(Q), halved(UNITS))
        elif rows < 5:
            _eliminate_few(rows, pattern, n, G, floor, B, Q, UNITS)
        elif rows == 5:
            _eliminate_5(pattern, n, G, floor, B, Q, UNITS)
        else:
            _eliminate_6(pattern, n, G, floor, B, Q, UNITS)


@inlined
def _eliminate_few(
    rows: int,
    pattern: Pattern,
    n: int,
    G: np.ndarray,
    floor: np.ndarray,
    B: np.ndarray,
    Q: np.ndarray,
    units: np.ndarray,
) -> None:
    if rows == 1:
        _eliminate_1(pattern, n, G, floor, B, Q, units)
    elif rows == 2:
        _eliminate_2(pattern, n, G, floor, B, Q, units)
    elif rows == 3:
        _eliminate_3(pattern, n, G, floor, B, Q, units)
    else:
        _eliminate_4(pattern, n, G, floor, B, Q, units)


def _elimination(m: int) -> Any:
    """Return the compiled function that eliminates a node (joint) of m rows.

    In the machine code of this function m is a constant, so that rows stay in registers.
    """
    invert = inversion(m)
    zeros = traced(lambda array: (zero_of(array),) * m)

    @inlined
    def eliminate(
        pattern: Pattern,
        n: int,
        G: np.ndarray,
        floor: np.ndarray,
        B: np.ndarray,
        Q: np.ndarray,
        units: np.ndarray,
    ) -> None:
        diagonal, following = at(pattern.first, n), at(pattern.first, n + 1)
        inverse = zeros(B)
        for block in range(diagonal, following):
            rows = _form(pattern, block, zeros(B), G, B, Q, units)
            if block == diagonal:
                inverse = invert(rows, at(pattern.sign, n), 8 * n, floor)
                store_rows(B, at(pattern.start, block), inverse)
            else:
                o, q = at(pattern.start, block), at(pattern.turned, block)
                store_rows(B, o, rows)
                # Q = B^T D^-
                for row in range(at(pattern.rows, at(pattern.column, block))):
                    store(Q, q + 8 * row, column_times(B, o + row, inverse))

    return eliminate


@inlined
def _form(
    pattern: Pattern, block: int, rows: Any, G: np.ndarray, B: np.ndarray, Q: np.ndarray, units: np.ndarray
) -> Any:
    """Return one block of the matrix: `rows` plus the products that form it, minus its updates by earlier nodes.

    `block` is the index of the block in the pattern; B and Q are the factors, G is the array of all rows, and `units`
    contains the rows of the unit matrix.
    """
    for t in range(at(pattern.term, block), at(pattern.term, block + 1)):
        r, weight = at(pattern.right, t), at(pattern.weight, t)
        rows = plus_product(rows, G, at(pattern.left, t), load(G, r), load(G, r + 8), load(G, r + 16))
        if at(pattern.kind, t) == CONSTANT:
            rows = plus_diagonal(rows, weight, units)
        else:
            r = at(pattern.right_force, t)
            x, y, z = weight * load(G, r), weight * load(G, r + 8), weight * load(G, r + 16)
            rows = plus_product(rows, G, at(pattern.left_force, t), x, y, z)
    for u in range(at(pattern.update, block), at(pattern.update, block + 1)):
        q, b = at(pattern.Q, u), at(pattern.B, u)
        if at(pattern.source, u) == len(rows):
            rows = minus_block_product(rows, Q, q, B, b)
        else:
            for r in range(at(pattern.source, u)):
                rows = minus_product(rows, Q, q + r, load(B, b + 8 * r))
    return rows


@traced
def plus_product(rows: Any, G: Any, l: Any, x: Any, y: Any, z: Any) -> Any:
    """Return the rows of a block plus a product of elements of G.

    Row p increases by the sum of x, y and z times element p of three rows of G, which begin at element l.
    """
    return tuple(row + at(G, l + p) * x + at(G, l + 8 + p) * y + at(G, l + 16 + p) * z for p, row in enumerate(rows))


@traced
def plus_diagonal(rows: Any, weight: Any, units: Any) -> Any:
    """Return the rows of a block with `weight` added to the first three diagonal elements.

    `units` holds the rows of the unit matrix.
    """
    return tuple(row + weight * load(units, 8 * p) if p < 3 else row for p, row in enumerate(rows))


@traced
def minus_product(rows: Any, Q: Any, q: Any, x: Any) -> Any:
    """Return the rows of a block minus the product of a row of Q and the vector x.

    Row p decreases by the vector x times element q + 8 p of Q.
    """
    return tuple(row - at(Q, q + 8 * p) * x for p, row in enumerate(rows))


@traced
def minus_block_product(rows: Any, Q: Any, q: Any, B: Any, b: Any) -> Any:
    """Return the rows of a block minus the product of two blocks, at element q of Q and element b of B."""
    for r in range(len(rows)):
        rows = minus_product(rows, Q, q + r, load(B, b + 8 * r))
    return rows


@traced
def column_times(B: Any, o: Any, rows: Any) -> Any:
    """Return the sum over r of rows[r] times element o + 8 r of B: the product of the rows and a column of B."""
    products = [at(B, o + 8 * r) * row for r, row in enumerate(rows)]
    return sum(products[1:], products[0])


@traced
def store_rows(array: Any, o: Any, rows: Any) -> None:
    """Store rows of eight elements consecutively in `array`, beginning at element o."""
    for p, row in enumerate(rows):
        store(array, o + 8 * p, row)


_eliminate_1, _eliminate_2, _eliminate_3, _eliminate_4, _eliminate_5, _eliminate_6 = map(_elimination, range(1, 7))


@kernel
def forward(pattern: Pattern, begin: int, end: int, B: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Substitute forward for nodes `begin` to `end`: set x to D^- rhs, and update later elements of rhs.

    D^- are the inverses of the diagonal blocks, stored in B. x and rhs have eight elements for each node (joint).
    """
    for n in range(begin, end):
        m, d = at(pattern.rows, n), at(pattern.start, at(pattern.first, n))
        row = splat(0.0)
        for r in range(m):
            row = row + at(rhs, 8 * n + r) * load(B, d + 8 * r)
        store(x, 8 * n, row)
        for block in range(at(pattern.first, n) + 1, at(pattern.first, n + 1)):
            o, c = at(pattern.start, block), 8 * at(pattern.column, block)
            row = load(rhs, c)
            for r in range(m):
                row = row - at(x, 8 * n + r) * load(B, o + 8 * r)
            store(rhs, c, row)


@kernel
def backward(pattern: Pattern, Q: np.ndarray, x: np.ndarray) -> None:
    """Substitute backward: replace the result of `forward` in x by the solution, with zeros in dropped rows.

    Q are the factors of `factorise`.
    """
    count = pattern.rows.shape[0]
    for k in range(count):
        n = count - 1 - k
        row = load(x, 8 * n)
        for block in range(at(pattern.first, n) + 1, at(pattern.first, n + 1)):
            q, c = at(pattern.turned, block), at(pattern.column, block)
            for r in range(at(pattern.rows, c)):
                row = row - at(x, 8 * c + r) * load(Q, q + 8 * r)
        store(x, 8 * n, row)


@kernel
def solve(pattern: Pattern, B: np.ndarray, Q: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Solve S x = rhs; x and rhs have eight elements for each node (joint), and rhs is overwritten.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M. Entries of dropped rows are zero. B and Q are the
    factors of `factorise`.
    """
    forward(pattern, 0, pattern.rows.shape[0], B, rhs, x)
    backward(pattern, Q, x)
