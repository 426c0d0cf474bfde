"""Preparation of the orthogonal factorization: elimination tree and fronts.

A node is a group of up to six constraint rows of one joint, or a hub: a body with many joints whose acceleration
remains an unknown. A front is the dense matrix to which reflections are applied when a node is eliminated. The array G
contains, for each row, the forces and moments of a unit multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.jit.simd import WIDTH, aligned

from ..kernels.orthogonal import Fronts, Triangle
from .block_positions import BlockPositions, pointers


@dataclass(frozen=True)
class BodySides:
    """Loads of all joints on one body: their positions in the array G of constraint rows, and their factors.

    Attributes
    ----------
    nodes : nodes of the joints
    force, moment : index in G of the first force component, and of the first moment component, of each joint
    scale : for each joint, the factor by which its forces are multiplied: a sign over the square root of the body's
        mass
    """

    nodes: Sequence[int]
    force: Sequence[int]
    moment: Sequence[int]
    scale: Sequence[float]


@dataclass(frozen=True)
class Orthogonal:
    """Sparsity pattern of the orthogonal factorization of one model.

    A node is a joint, or a hub: a body with many joints. The factorization is computed by `triangularise`.

    Attributes
    ----------
    fronts : tables of the fronts, the dense matrices in which the nodes are eliminated
    scale : for each joint at each body, the factor of its forces: a sign over the square root of the body's mass
    weight : factor of the forces in each product of rows that couples a joint with a hub
    pivots : (K,) index of the first element of each of K diagonal blocks in the triangular factor
    sizes : numbers of elements of the factor, of the largest front and of the stack of remaining rows, and number of
        rows of the largest front
    """

    fronts: Fronts
    pivots: np.ndarray
    scale: np.ndarray
    weight: np.ndarray
    sizes: tuple[int, int, int, int]

    def triangle(self) -> Triangle:
        """Return new arrays for the triangular factor, and scratch arrays for its computation, for one solver."""
        factor, front, stack, rows = self.sizes
        K = len(self.pivots)
        return Triangle(*(aligned(size) for size in (factor, WIDTH * K, front, stack, rows, 2 * K, K)))


def orthogonal(
    neighbours: Sequence[Sequence[int]],
    rows: np.ndarray,
    sign: np.ndarray,
    bodies: Sequence[BodySides],
    couplings: Mapping[tuple[int, int], Sequence[tuple[int, int, int, int, float]]],
) -> Orthogonal:
    """Return the sparsity pattern of the orthogonal factorization of a model.

    A node is a joint, or a hub: a body with many joints.

    Parameters
    ----------
    neighbours : for each node, the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots: 1 for joints, -1 for hubs
    bodies : joints at each body, except at hubs and the ground
    couplings : for each coupled pair of a joint and a hub, the products of rows that form their block. A product is
        a tuple (left, right, left_force, right_force, weight): the indices in the array G of the moments of both
        factors and of their forces, and the weight of the forces
    """
    K = len(neighbours)
    blocks = BlockPositions.of(neighbours)
    first, column, owner = blocks.first, blocks.column, blocks.owner
    start = pointers(WIDTH * rows[owner])
    order, children = _tree(neighbours)
    at_node: list[list[BodySides]] = [[] for _ in range(K)]
    for body in bodies:
        at_node[min(body.nodes)].append(body)
    placed = [(k, body) for k, those in enumerate(at_node) for body in those]
    term_first, flat_terms = blocks.listed(couplings, 5)
    left, right, left_force, right_force = flat_terms[:, :4].astype(np.int64).T.copy()
    pairs = [_pairs(k, blocks, sign, start, rows) for k in range(K if couplings else 0)]
    pair_first = pointers(np.array([len(those) for those in pairs] or np.zeros(K)))
    one, two, target, pair_rows = np.concatenate([np.zeros((0, 4), dtype=np.int64), *pairs]).T
    bound, sizes = _sizes(neighbours, rows, sign, order, children, at_node)
    side_node = np.repeat([k for k, _ in placed], [len(body.nodes) for _, body in placed]).astype(np.int64)
    side_column = np.array([c for _, body in placed for c in body.nodes], dtype=np.int64)
    fronts = Fronts(
        rows=np.asarray(rows, dtype=np.int64),
        sign=np.asarray(sign, dtype=np.int64),
        first=first,
        column=column,
        start=start[:-1],
        order=order,
        place=_places_in_parents(blocks),
        child_first=_first_of(children),
        child=np.array([k for those in children for k in those], dtype=np.int64),
        bound=bound,
        body_first=_first_of(at_node),
        side_first=_first_of([body.nodes for _, body in placed]),
        side_place=blocks.find(side_node, side_column) - first[side_node],
        side_force=np.array([o for _, body in placed for o in body.force], dtype=np.int64),
        side_moment=np.array([o for _, body in placed for o in body.moment], dtype=np.int64),
        term_first=term_first,
        left=left,
        right=right,
        left_force=left_force,
        right_force=right_force,
        pair_first=pair_first,
        first_factor=one.copy(),
        second_factor=two.copy(),
        target=target.copy(),
        pair_rows=pair_rows.copy(),
    )
    scale = np.array([x for _, body in placed for x in body.scale], dtype=float)
    return Orthogonal(fronts, start[first[:-1]], scale, flat_terms[:, 4].copy(), (int(start[-1]), *sizes))


def _first_of(lists: Sequence[Sequence[object]]) -> np.ndarray:
    return pointers(np.array([len(entries) for entries in lists], dtype=np.int64))


def _tree(neighbours: Sequence[Sequence[int]]) -> tuple[np.ndarray, list[list[int]]]:
    """Return the nodes in postorder of the elimination tree, and the children of each node in this tree.

    The parent of a node is the first of its later neighbors. `neighbours` are the later nodes coupled with each node.
    """
    children: list[list[int]] = [[] for _ in neighbours]
    roots: list[int] = []
    for k, later in enumerate(neighbours):
        (children[later[0]] if later else roots).append(k)
    order: list[int] = []
    stack = roots[:]
    while stack:
        k = stack.pop()
        order.append(k)
        stack += children[k]
    return np.array(order[::-1], dtype=np.int64), children


def _places_in_parents(blocks: BlockPositions) -> np.ndarray:
    """Return the place of each block in the parent of its node; 0 for diagonal blocks.

    The parent of a node in the elimination tree is the first of its later neighbors. The place of a block is the
    position, among the blocks of the parent, of the block with the same later node.
    """
    place = np.zeros(len(blocks.column), dtype=np.int64)
    beside = np.flatnonzero(blocks.owner != blocks.column)
    parent = blocks.column[blocks.first[blocks.owner[beside]] + 1]
    place[beside] = blocks.find(parent, blocks.column[beside]) - blocks.first[parent]
    return place


def _pairs(n: int, blocks: BlockPositions, sign: np.ndarray, start: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the pairs of blocks whose product is subtracted from another block when node n is eliminated.

    Only blocks that couple a joint with a hub, a body with many joints, are listed; reflections eliminate all others.

    Parameters
    ----------
    blocks : positions of all blocks
    sign, rows : 1 for joints and -1 for hubs; number of rows of each node
    start : position of each block in the array of the factor

    Returns
    -------
    array (pairs, 4) : positions of both factors and of the reduced block in the array of the factor, and the number of
        rows of the reduced block
    """
    later = blocks.column[blocks.first[n] + 1 : blocks.first[n + 1]]
    joint, hub = (side.ravel() for side in np.meshgrid(later[sign[later] > 0], later[sign[later] < 0], indexing="ij"))
    a, b = np.minimum(joint, hub), np.maximum(joint, hub)
    return np.array([start[blocks.find(n, a)], start[blocks.find(n, b)], start[blocks.find(a, b)], rows[a]]).T


def _sizes(
    neighbours: Sequence[Sequence[int]],
    rows: np.ndarray,
    sign: np.ndarray,
    order: np.ndarray,
    children: Sequence[Sequence[int]],
    at_node: Sequence[Sequence[BodySides]],
) -> tuple[np.ndarray, tuple[int, int, int]]:
    """Return the maximum numbers of rows of each front, and the sizes of the arrays of the factorization.

    A front is the dense matrix in which a node, a joint or a hub (a body with many joints), is eliminated. Its rows
    belong to joints or to hubs. The first result (2 K,) contains both numbers of rows for each of K nodes. The sizes
    are the number of elements of the largest front, the number of elements of the stack of rows that remain for the
    parents, and the largest number of rows.

    Parameters
    ----------
    neighbours : for each node, the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and 1 for joints or -1 for hubs
    order, children : nodes in postorder of the elimination tree, and the children of each node in this tree
    at_node : bodies whose joints enter the front of each node
    """
    K = len(neighbours)
    kinds, counts = (np.asarray(sign) < 0).astype(int).tolist(), rows.tolist()
    bound: list[list[int]] = [[0, 0] for _ in range(K)]
    left: list[list[int]] = [[0, 0] for _ in range(K)]
    pushed = [0] * K
    front = stack = top = most = 0
    for n in order.tolist():
        later, kind, mine = neighbours[n], kinds[n], bound[n]
        for k in children[n]:
            mine[0] += left[k][0]
            mine[1] += left[k][1]
            top -= pushed[k]
        mine[0] += 6 * len(at_node[n])
        mine[1] += 6 * kind
        columns = [0, 0]
        for c in later:
            columns[kinds[c]] += counts[c]
        if columns[1 - kind]:
            mine[1 - kind] += counts[n]
        left[n] = [min(pair) for pair in zip(mine, columns, strict=True)]
        pushed[n] = WIDTH * len(later) * sum(left[n])
        top += pushed[n]
        front = max(front, WIDTH * (1 + len(later)) * sum(mine))
        stack, most = max(stack, top), max(most, *mine)
    return np.array(bound, dtype=np.int64).ravel(), (front, stack, most)
