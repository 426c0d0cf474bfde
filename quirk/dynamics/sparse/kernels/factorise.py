"""Block factorization of S = A M^-1 A^T over joints and hubs, which are bodies with many joints.

Unknowns are the multipliers lambda of every joint and, scaled by W^-1, the accelerations z_h of hubs due to
constraints:

    [ S     G_h ] [ lambda ]   [ b - A a ]
    [ G_h^T -1  ] [  z_h   ] = [    0    ]

with the constraint rows A, the mass matrix M = (W W^T)^-1, G = A W, and its columns G_h of hubs. The rows prescribe A
times the accelerations to be b, and a are the unconstrained accelerations. S is taken over all bodies that are not
hubs. Unknowns are eliminated in nodes: the rows of a joint, up to six, or a hub. A block couples two nodes and is
stored in rows of eight elements. When node n is eliminated, its blocks B to later nodes are stored, and Q = B^T D^-,
where D^- is the inverse of the diagonal block and replaces it. B has a row for each row of node n, and Q a row for each
row of the later node. The pivot of a row is its squared distance from the span of the rows before it. A row whose pivot
is below a floor is dependent; its row and column of D^- are zero.
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

# Number of nodes for which rows, factorization and forward substitution are completed before the next nodes begin. The
# blocks of 256 nodes fit into the processor's cache.
STRETCH = 256

# Kinds of products of two rows at a common body: both forces along fixed inertial axes, or forces of any direction.
CONSTANT, TURNING = range(2)


@record
class Pattern(NamedTuple):
    """Sparsity pattern of the block factorization: K nodes, L blocks, and the products that form each block.

    A node is a joint, or a hub: a body with many joints. The initial block of two nodes is a sum of products of rows, T
    in total. Elimination of earlier nodes subtracts products of blocks B and Q, U in total; see the module docstring.
    Names in capitals are constants of this module.

    Attributes
    ----------
    rows : (K,) number of rows of each node, 0 for nodes without selected rows
    sign : (K,) sign of the pivots: 1 for joints, -1 for hubs
    first : (K + 1,) index of the first block of each node, its diagonal block
    start, turned : (L,) index of the first element of each block in the arrays B and Q
    column : (L,) later node of each block
    term : (L + 1,) index of the first product of rows of each block
    kind, left, right, left_force, right_force : (T,) kind of each product of rows, and the indices in G of the moments
        of both rows and of their forces
    weight : (T,) factor of the forces in each product of rows
    update : (L + 1,) index of the first product of blocks that is subtracted from each block
    Q, B, source : (U,) indices of both factors of each product of blocks in the arrays Q and B, and the number of rows
        of B
    visits : (K,) nodes in the order in which the elimination first needs their rows
    due : for each group of STRETCH nodes, the number of leading nodes in `visits` whose rows its elimination needs
    narrow : (K,) 1 if vectors of four elements suffice for the node, otherwise 0
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
    """Factorize the nodes from `begin` to `end`: compute their blocks B and Q, with inverses of diagonal blocks in B.

    A node is a joint, or a hub: a body with many joints. G is the array of all rows. Rows whose pivot does not exceed
    their `floor` (8 K,), for K nodes, are dropped as dependent. Vectors of four elements are used if a node and all
    nodes coupled with it have at most four rows.
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

    m is a constant in the machine code of this function, so that the rows of a block stay in registers.
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
    """Return one block of the matrix: the products of rows that form it, minus its updates by earlier nodes.

    `block` is the index of the block in the pattern. `rows` are vectors of zeros, one for each row of the block. B and
    Q are the factors, G is the array of all constraint rows, and `units` contains the rows of the unit matrix.
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
    """Return the rows of a block plus the product of three rows of G with the vectors x, y and z.

    The three rows of G have eight elements each and begin at index l. Row p of the block increases by the sum of x, y
    and z, each multiplied by element p of its row of G.
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
    """Return the rows of a block minus the product of a column of Q and the vector x.

    Row p decreases by x times element q + 8 p of Q.
    """
    return tuple(row - at(Q, q + 8 * p) * x for p, row in enumerate(rows))


@traced
def minus_block_product(rows: Any, Q: Any, q: Any, B: Any, b: Any) -> Any:
    """Return the rows of a block minus the product of a block of Q and a block of B.

    The factors begin at index q of Q and index b of B. The block of B has as many rows as the result.
    """
    for r in range(len(rows)):
        rows = minus_product(rows, Q, q + r, load(B, b + 8 * r))
    return rows


@traced
def column_times(B: Any, o: Any, rows: Any) -> Any:
    """Return the product of a column of B and a matrix given by `rows`.

    The column consists of the elements o, o + 8, o + 16, ... of B, one for each row.
    """
    products = [at(B, o + 8 * r) * row for r, row in enumerate(rows)]
    return sum(products[1:], products[0])


@traced
def store_rows(array: Any, o: Any, rows: Any) -> None:
    """Store rows of eight elements consecutively in `array`, beginning at index o."""
    for p, row in enumerate(rows):
        store(array, o + 8 * p, row)


_eliminate_1, _eliminate_2, _eliminate_3, _eliminate_4, _eliminate_5, _eliminate_6 = map(_elimination, range(1, 7))


@kernel
def forward(pattern: Pattern, begin: int, end: int, B: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Substitute forward for nodes `begin` to `end`: set x to D^- rhs, and subtract B^T x from later elements of rhs.

    B are the blocks of a node to later ones, and D^- the inverse of its diagonal block, both stored in the array B. x
    and rhs have eight elements for each node (joint).
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
    """Substitute backward: replace the result of `forward` in x by the solution of the factorized equations.

    Q are the blocks computed by `factorise`. x has eight elements for each node (joint); elements of dropped rows are
    zero.
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
    """Solve S x = rhs with the block factorization; rhs is overwritten.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M. x and rhs have eight elements for each node
    (joint); x is zero in dropped rows. B and Q are the blocks computed by `factorise`.
    """
    forward(pattern, 0, pattern.rows.shape[0], B, rhs, x)
    backward(pattern, Q, x)
