"""Orthogonal factorization of the constraint rows along the elimination tree: R with R^T R = S, without forming S.

A is the matrix of constraint rows, M = (W W^T)^-1 the mass matrix and S = A M^-1 A^T. G = A W has a row for each
constraint row, over the scaled velocities of all bodies. Householder reflections make G^T upper triangular, node by
node of the elimination (multifrontal QR: Duff and Reid, ACM Trans. Math. Softw. 9 (1983); Davis, ACM Trans. Math.
Softw. 38 (2011)). A diagonal entry of R is the distance of a row from the span of the rows eliminated before it, and
not the square of this distance. Dependent rows are therefore distinguished from badly scaled rows down to round-off.
The front of a node is the dense matrix in which its columns are eliminated; rows that remain are passed to the front of
its parent in the elimination tree.

A node is a group of up to six rows of a joint, or a hub, a body with many joints. The accelerations of hubs are
separate unknowns. The matrix over multipliers and these accelerations is L diag(+1, -1) L^T with L = (R | X)^T, +1 for
joints and -1 for hubs. R couples nodes of one kind and is computed by reflections; X couples nodes of different kinds
and is computed by substitution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store, total


@record
class Fronts(NamedTuple):
    """Tables of the fronts, the dense matrices in which nodes are eliminated, for K nodes with L blocks.

    A node is a joint, or a hub: a body with many joints. G is the array of all constraint rows.

    Attributes
    ----------
    rows, sign, first, column, start : numbers of rows and signs of the nodes, and positions of all blocks, as in
        `Pattern`
    order : (K,) nodes in postorder of the elimination tree
    place : (L,) position of each block in the front of the node's parent in this tree
    child, child_first : children of all nodes, concatenated, and (K + 1,) the index of the first child of each node
    bound : (2 K,) maximum numbers of rows that belong to joints, and to hubs, in each front
    body_first : (K + 1,) index of the first body whose joints enter the front of each node
    side_first : index of the first joint of each body
    side_place : for each joint of each body, the block of the front that belongs to it
    side_force, side_moment : for each joint of each body, the indices in G of its forces and moments
    term_first : (L + 1,) index of the first product of rows of each block
    left, right, left_force, right_force : products of rows that couple joints with hubs, see `Pattern`
    pair_first : (K + 1,) index of the first pair of blocks of each node
    first_factor, second_factor, target, pair_rows : the product of the blocks `first_factor` and `second_factor` of a
        pair is subtracted from block `target`, which has `pair_rows` rows
    """

    rows: np.ndarray
    sign: np.ndarray
    first: np.ndarray
    column: np.ndarray
    start: np.ndarray
    order: np.ndarray
    place: np.ndarray
    child_first: np.ndarray
    child: np.ndarray
    bound: np.ndarray
    body_first: np.ndarray
    side_first: np.ndarray
    side_place: np.ndarray
    side_force: np.ndarray
    side_moment: np.ndarray
    term_first: np.ndarray
    left: np.ndarray
    right: np.ndarray
    left_force: np.ndarray
    right_force: np.ndarray
    pair_first: np.ndarray
    first_factor: np.ndarray
    second_factor: np.ndarray
    target: np.ndarray
    pair_rows: np.ndarray


@record
class Triangle(NamedTuple):
    """Factors of the orthogonal factorization of K nodes, with scratch arrays for its computation.

    The factor R couples nodes of the same kind (joint or hub), X nodes of different kinds. A hub is a body with many
    joints. The front of a node is the dense matrix in which it is eliminated.

    Attributes
    ----------
    factor : R and X by blocks, eight elements for each row of the earlier node; dropped rows are zero
    distance : (8 K,) distance of each row from the span of the rows before it, relative to the norm of the row
    front, stack, reflector : scratch arrays
    remaining : (2 K,) numbers of rows of joints, and of hubs, that remain in the front of each node for its parent
    stack_position : (K,) position of the remaining rows on the stack, as a float
    """

    factor: np.ndarray
    distance: np.ndarray
    front: np.ndarray
    stack: np.ndarray
    reflector: np.ndarray
    remaining: np.ndarray
    stack_position: np.ndarray


@component(effort=3)
def triangularise(
    fronts: Fronts,
    triangle: Triangle,
    G: np.ndarray,
    scale: np.ndarray,
    weight: np.ndarray,
    lengths: np.ndarray,
    floor: np.ndarray,
    tolerance: float,
) -> int:
    """Compute the orthogonal factorization of the rows G, in `triangle`; return the number of independent rows.

    A row is dropped as dependent if its distance from the span of the rows before it is at most `tolerance` times its
    norm, or if the square of this distance is at most `floor` (8 K,), for K nodes.

    Parameters
    ----------
    G : array of all constraint rows
    scale : factor of the forces of each joint at each body: a sign over the square root of the body's mass
    weight : factors of the forces in products of rows that couple joints with hubs, bodies with many joints
    lengths : (8 K,) squared norms of the rows
    """
    couple(fronts, G, weight, triangle.factor)
    kept, top = 0, 0
    for visit in range(fronts.order.shape[0]):
        n = fronts.order[visit]
        top = gather(fronts, triangle, n, G, scale, top)
        kept += eliminate(fronts, triangle, n, lengths, floor, tolerance)
        couplings(fronts, triangle, n)
        top = push_remaining_rows(fronts, triangle, n, top)
    return kept


@kernel
def couple(fronts: Fronts, G: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> None:
    """Initialize the blocks of `factor` that couple joints with hubs by products of rows in G.

    A hub is a body with many joints, whose acceleration is an unknown. `weight` contains the factors of the forces in
    these products; G is the array of all constraint rows.
    """
    for n in range(fronts.rows.shape[0]):
        for block in range(fronts.first[n] + 1, fronts.first[n + 1]):
            if fronts.sign[fronts.column[block]] == fronts.sign[n]:
                continue
            for p in range(fronts.rows[n]):
                row = splat(0.0)
                for t in range(fronts.term_first[block], fronts.term_first[block + 1]):
                    l, r, lf, rf = fronts.left[t], fronts.right[t], fronts.left_force[t], fronts.right_force[t]
                    for c in range(3):
                        row = row + at(G, l + 8 * c + p) * load(G, r + 8 * c)
                        row = row + (weight[t] * at(G, lf + 8 * c + p)) * load(G, rf + 8 * c)
                store(factor, fronts.start[block] + 8 * p, row)


@kernel
def gather(fronts: Fronts, triangle: Triangle, n: int, G: np.ndarray, scale: np.ndarray, top: int) -> int:
    """Assemble the front of node n from the remaining rows of its children and the rows of its bodies.

    A front is the dense matrix in which a node, a joint or a hub (a body with many joints), is eliminated. Rows of
    joints come first, then rows of hubs; their numbers are stored in `triangle.remaining`. `scale` contains the factors
    of forces in the array G of all constraint rows. `top` is the top of the stack of remaining rows; the new top is
    returned.
    """
    front, stride, rows = triangle.front, front_stride(fronts, n), triangle.remaining
    for o in range(0, (fronts.bound[2 * n] + fronts.bound[2 * n + 1]) * stride, 8):
        store(front, o, splat(0.0))
    rows[2 * n] = rows[2 * n + 1] = 0
    for c in range(fronts.child_first[n], fronts.child_first[n + 1]):
        k = fronts.child[c]
        o = int(triangle.stack_position[k])
        top = min(top, o)
        for kind in range(2):
            for _ in range(int(rows[2 * k + kind])):
                row = front_base(fronts, n, kind) + stride * int(rows[2 * n + kind])
                for block in range(fronts.first[k] + 1, fronts.first[k + 1]):
                    store(front, row + 8 * fronts.place[block], load(triangle.stack, o))
                    o += 8
                rows[2 * n + kind] += 1
    for body in range(fronts.body_first[n], fronts.body_first[n + 1]):
        row = stride * int(rows[2 * n])
        for side in range(fronts.side_first[body], fronts.side_first[body + 1]):
            o = row + 8 * fronts.side_place[side]
            for c in range(3):
                store(front, o + c * stride, scale[side] * load(G, fronts.side_force[side] + 8 * c))
                store(front, o + (3 + c) * stride, load(G, fronts.side_moment[side] + 8 * c))
        rows[2 * n] += 6
    if fronts.sign[n] < 0.0:
        for r in range(6):
            put(front, front_base(fronts, n, 1) + (int(rows[2 * n + 1]) + r) * stride + r, 1.0)
        rows[2 * n + 1] += 6
    return top


@kernel
def front_stride(fronts: Fronts, n: int) -> int:
    """Return the number of elements per row of the front of node n, the dense matrix in which it is eliminated."""
    return 8 * (fronts.first[n + 1] - fronts.first[n])


@kernel
def front_base(fronts: Fronts, n: int, kind: int) -> int:
    """Return the index at which the rows of joints (`kind` 0) or of hubs (`kind` 1) begin in the front of node n.

    A front is the dense matrix in which a node is eliminated; a hub is a body with many joints.
    """
    return kind * fronts.bound[2 * n] * front_stride(fronts, n)


@kernel
def eliminate(
    fronts: Fronts, triangle: Triangle, n: int, lengths: np.ndarray, floor: np.ndarray, tolerance: float
) -> int:
    """Make the columns of node n triangular in its front by reflections; return the number of independent rows.

    A front is the dense matrix in which a node is eliminated. Rows of the factor are stored, and the remaining rows of
    the front are moved to its top. A row is dropped if its distance from the span of the rows before it is at most
    `tolerance` times its norm, or the square of the distance at most `floor`; rows of hubs (bodies with many joints)
    are never dropped, and not counted. `lengths` are the squared norms of the rows.
    """
    own = 0 if fronts.sign[n] > 0.0 else 1
    front, factor, m, stride = triangle.front, triangle.factor, fronts.rows[n], front_stride(fronts, n)
    base, count, diagonal = (
        front_base(fronts, n, own),
        int(triangle.remaining[2 * n + own]),
        fronts.start[fronts.first[n]],
    )
    p = 0
    for r in range(m):
        distance = column_length(front, base + p * stride + r, stride, count - p)
        length = math.sqrt(lengths[8 * n + r]) if own == 0 else 1.0
        triangle.distance[8 * n + r] = distance / length if length > 0.0 else 0.0
        kept = own == 1 or (distance > tolerance * length and distance * distance > floor[8 * n + r])
        if kept:
            reflect(fronts, triangle, n, base + p * stride, r, 0, count - p, distance)
        for block in range(fronts.first[n], fronts.first[n + 1]):
            if fronts.sign[fronts.column[block]] == fronts.sign[n]:
                o = base + p * stride + 8 * (block - fronts.first[n])
                store(factor, fronts.start[block] + 8 * r, load(front, o) if kept else splat(0.0))
        p += 1 if kept else 0
    # Clear unreflected entries below the diagonal and in the columns of dropped rows.
    for r in range(m):
        for c in range(m):
            if c < r or at(factor, diagonal + 9 * c) == 0.0:
                put(factor, diagonal + 8 * r + c, 0.0)
    for row in range(p, count):
        for o in range(0, stride, 8):
            store(front, base + (row - p) * stride + o, load(front, base + row * stride + o))
    triangle.remaining[2 * n + own] = count - p
    return p if own == 0 else 0


@kernel
def column_length(front: np.ndarray, o: int, stride: int, count: int) -> float:
    """Return the norm of a column of `front`: `count` elements at intervals of `stride`, from index o on."""
    squares = 0.0
    for row in range(count):
        x = at(front, o + row * stride)
        squares += x * x
    return math.sqrt(squares)


@kernel
def reflect(
    fronts: Fronts, triangle: Triangle, n: int, o: int, lane: int, begin: int, count: int, length: float
) -> None:
    """Make all but the first element of a column of a front zero, by a Householder reflection of `count` rows.

    A front is the dense matrix in which node n is eliminated. The rows begin at index o of the front. The column has
    the index `lane` in block `begin`, and the norm `length`. The reflection is applied to this block and to the later
    blocks of the same kind (joint or hub); in all other blocks these rows are zero.
    """
    front, v, stride, first = triangle.front, triangle.reflector, front_stride(fronts, n), fronts.first[n]
    for row in range(count):
        put(v, row, at(front, o + row * stride + 8 * begin + lane))
    head = at(v, 0)
    pivot = -length if head > 0.0 else length
    put(v, 0, head - pivot)
    scale = 1.0 / (length * (length + abs(head)))
    kind = fronts.sign[fronts.column[first + begin]]
    for block in range(begin, fronts.first[n + 1] - first):
        if fronts.sign[fronts.column[first + block]] != kind:
            continue
        along = splat(0.0)
        for row in range(count):
            along = along + at(v, row) * load(front, o + row * stride + 8 * block)
        along = along * scale
        for row in range(count):
            place = o + row * stride + 8 * block
            store(front, place, load(front, place) - at(v, row) * along)
    put(front, o + 8 * begin + lane, pivot)
    for row in range(1, count):
        put(front, o + row * stride + 8 * begin + lane, 0.0)


@kernel
def couplings(fronts: Fronts, triangle: Triangle, n: int) -> None:
    """Compute the blocks of the factor that couple node n with nodes of the other kind (joint or hub).

    A hub is a body with many joints. Products of these blocks with other blocks of node n are subtracted from blocks of
    later nodes.
    """
    factor, sign, m, d = triangle.factor, fronts.sign[n], fronts.rows[n], fronts.start[fronts.first[n]]
    other = 1 if sign > 0.0 else 0
    stride, found = front_stride(fronts, n), False
    base = front_base(fronts, n, other) + stride * int(triangle.remaining[2 * n + other])
    for block in range(fronts.first[n] + 1, fronts.first[n + 1]):
        if fronts.sign[fronts.column[block]] == sign:
            continue
        found = True
        o = fronts.start[block]
        for r in range(m):
            row = sign * load(factor, o + 8 * r)
            for c in range(r):
                row = row - at(factor, d + 8 * c + r) * load(factor, o + 8 * c)
            pivot = at(factor, d + 9 * r)
            store(factor, o + 8 * r, row * (1.0 / pivot) if pivot != 0.0 else splat(0.0))
            store(triangle.front, base + r * stride + 8 * (block - fronts.first[n]), load(factor, o + 8 * r))
    if found:
        triangle.remaining[2 * n + other] += m
    for pair in range(fronts.pair_first[n], fronts.pair_first[n + 1]):
        one, two, target = fronts.first_factor[pair], fronts.second_factor[pair], fronts.target[pair]
        for r in range(fronts.pair_rows[pair]):
            row = load(factor, target + 8 * r)
            for p in range(m):
                row = row - (sign * at(factor, one + 8 * p + r)) * load(factor, two + 8 * p)
            store(factor, target + 8 * r, row)


@kernel
def push_remaining_rows(fronts: Fronts, triangle: Triangle, n: int, top: int) -> int:
    """Push the rows that remain in the front of node n onto the stack for its parent; return the new top of the stack.

    A front is the dense matrix in which a node is eliminated. If it has more rows than columns left, the rows are first
    made triangular. `top` is the present top of the stack.
    """
    front, stack, stride, first = triangle.front, triangle.stack, front_stride(fronts, n), fronts.first[n]
    triangle.stack_position[n] = top
    for kind in range(2):
        base, count, columns = front_base(fronts, n, kind), int(triangle.remaining[2 * n + kind]), 0
        sign = 1.0 if kind == 0 else -1.0
        for block in range(first + 1, fronts.first[n + 1]):
            columns += fronts.rows[fronts.column[block]] if fronts.sign[fronts.column[block]] == sign else 0
        if count > columns:
            p = 0
            for block in range(first + 1, fronts.first[n + 1]):
                if fronts.sign[fronts.column[block]] != sign:
                    continue
                for r in range(fronts.rows[fronts.column[block]]):
                    o = base + p * stride
                    length = column_length(front, o + 8 * (block - first) + r, stride, count - p)
                    if length > 0.0:
                        reflect(fronts, triangle, n, o, r, block - first, count - p, length)
                        p += 1
            count = p
        triangle.remaining[2 * n + kind] = count
        for row in range(count):
            for o in range(8, stride, 8):
                store(stack, top, load(front, base + row * stride + o))
                top += 8
    return top


@component(effort=1)
def substitute(fronts: Fronts, triangle: Triangle, rhs: np.ndarray, x: np.ndarray) -> None:
    """Solve S x = rhs with the orthogonal factors in `triangle`; rhs is overwritten.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M. x and rhs have eight elements for each node
    (joint); x is zero in dropped rows.
    """
    forward_orthogonal(fronts, triangle.factor, rhs, x)
    backward_orthogonal(fronts, triangle.factor, x)


@kernel
def forward_orthogonal(fronts: Fronts, factor: np.ndarray, rhs: np.ndarray, x: np.ndarray) -> None:
    """Solve L diag(1, -1) x = rhs by forward substitution; rhs is overwritten.

    L is the transpose of the triangular factor in `factor`; the signs are 1 for joints and -1 for hubs, which are
    bodies with many joints. x and rhs have eight elements for each node.
    """
    for n in range(fronts.rows.shape[0]):
        m, d = fronts.rows[n], fronts.start[fronts.first[n]]
        store(x, 8 * n, splat(0.0))
        for r in range(m):
            pivot, rest = at(factor, d + 9 * r), at(rhs, 8 * n + r)
            for c in range(r):
                rest = rest - at(factor, d + 8 * c + r) * at(x, 8 * n + c)
            put(x, 8 * n + r, rest / pivot if pivot != 0.0 else 0.0)
        for block in range(fronts.first[n] + 1, fronts.first[n + 1]):
            o, c = fronts.start[block], 8 * fronts.column[block]
            row = load(rhs, c)
            for r in range(m):
                row = row - at(x, 8 * n + r) * load(factor, o + 8 * r)
            store(rhs, c, row)
        store(x, 8 * n, fronts.sign[n] * load(x, 8 * n))


@kernel
def backward_orthogonal(fronts: Fronts, factor: np.ndarray, x: np.ndarray) -> None:
    """Substitute backward: replace the result of `forward_orthogonal` in x by the solution of the factorized equations.

    `factor` contains the triangular factor, see `Triangle`. x is zero in dropped rows.
    """
    count = fronts.rows.shape[0]
    for k in range(count):
        n = count - 1 - k
        m, d = fronts.rows[n], fronts.start[fronts.first[n]]
        for s in range(m):
            r = m - 1 - s
            pivot, rest = at(factor, d + 9 * r), at(x, 8 * n + r)
            if pivot == 0.0:
                put(x, 8 * n + r, 0.0)
                continue
            for block in range(fronts.first[n] + 1, fronts.first[n + 1]):
                along = load(factor, fronts.start[block] + 8 * r) * load(x, 8 * fronts.column[block])
                rest = rest - total(along)
            for c in range(r + 1, m):
                rest = rest - at(factor, d + 8 * r + c) * at(x, 8 * n + c)
            put(x, 8 * n + r, rest / pivot)
