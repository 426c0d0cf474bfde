"""Preparation of the orthogonal factorization: elimination tree and fronts.

A node is a group of up to six constraint rows of one joint, or a hub: a body with many joints whose acceleration
remains an unknown. A front is the dense matrix to which reflections are applied when a node is eliminated. The array G
contains, for each row, the forces and moments of a unit multiplier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.jit.simd import WIDTH, aligned

from ..kernels.orthogonal import Fronts, Triangle


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


def _pointers(counts: Iterable[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts if isinstance(counts, np.ndarray) else list(counts))]).astype(np.int64)


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
    couplings : for each coupled pair of a joint and a hub, the products of rows whose sum is their block. A product is
        a tuple (left, right, left_force, right_force, weight): the indices in the array G of the moments of both
        factors and of their forces, and the weight of the forces
    """
    K = len(neighbours)
    first = _pointers(1 + len(later) for later in neighbours)
    column = np.array([c for k, later in enumerate(neighbours) for c in (k, *later)], dtype=np.int64)
    owner = np.repeat(np.arange(K), np.diff(first))
    start = _pointers(WIDTH * rows[owner])
    order, children = _tree(neighbours)
    index = [{c: q for q, c in enumerate((k, *later))} for k, later in enumerate(neighbours)]
    place = np.zeros(len(column), dtype=np.int64)
    for k, later in enumerate(neighbours):
        if later:
            of_parent = index[later[0]]
            place[first[k] + 1 : first[k + 1]] = [of_parent[c] for c in later]
    at_node: list[list[BodySides]] = [[] for _ in range(K)]
    for body in bodies:
        at_node[min(body.nodes)].append(body)
    placed = [(k, body) for k, those in enumerate(at_node) for body in those]
    terms = [couplings.get(pair, ()) for pair in zip(owner.tolist(), column.tolist(), strict=True)]
    flat_terms = np.array([term for those in terms for term in those], dtype=float).reshape(-1, 5)
    left, right, left_force, right_force = flat_terms[:, :4].astype(np.int64).T.copy()
    pairs = [
        _pairs(k, later, sign, index, first, start, rows) if couplings else [] for k, later in enumerate(neighbours)
    ]
    one, two, target, pair_rows = np.array([p for those in pairs for p in those], dtype=np.int64).reshape(-1, 4).T
    bound, sizes = _sizes(neighbours, rows, sign, order, children, at_node)
    fronts = Fronts(
        rows=np.asarray(rows, dtype=np.int64),
        sign=np.asarray(sign, dtype=np.int64),
        first=first,
        column=column,
        start=start[:-1],
        order=order,
        place=place,
        child_first=_pointers(len(those) for those in children),
        child=np.array([k for those in children for k in those], dtype=np.int64),
        bound=bound,
        body_first=_pointers(len(those) for those in at_node),
        side_first=_pointers(len(body.nodes) for _, body in placed),
        side_place=np.array([index[k][c] for k, body in placed for c in body.nodes], dtype=np.int64),
        side_force=np.array([o for _, body in placed for o in body.force], dtype=np.int64),
        side_moment=np.array([o for _, body in placed for o in body.moment], dtype=np.int64),
        term_first=_pointers(len(those) for those in terms),
        left=left,
        right=right,
        left_force=left_force,
        right_force=right_force,
        pair_first=_pointers(len(those) for those in pairs),
        first_factor=one.copy(),
        second_factor=two.copy(),
        target=target.copy(),
        pair_rows=pair_rows.copy(),
    )
    scale = np.array([x for _, body in placed for x in body.scale], dtype=float)
    return Orthogonal(fronts, start[first[:-1]], scale, flat_terms[:, 4].copy(), (int(start[-1]), *sizes))


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


def _pairs(
    n: int,
    later: Sequence[int],
    sign: np.ndarray,
    index: Sequence[Mapping[int, int]],
    first: np.ndarray,
    start: np.ndarray,
    rows: np.ndarray,
) -> list[tuple[int, int, int, int]]:
    """Return the pairs of blocks whose product is subtracted from another block when node n is eliminated.

    Only blocks that couple a joint with a hub, a body with many joints, are listed; reflections eliminate all others. A
    pair consists of the positions of both factors and of the reduced block in the array of the factor, and the number
    of rows of the reduced block.

    Parameters
    ----------
    later : later nodes coupled with node n
    sign, rows : 1 for joints and -1 for hubs; number of rows of each node
    index : for each node, the place of each coupled node among its blocks
    first, start : first block of each node, and position of each block in the array of the factor
    """
    joints, hubs = ([c for c in later if sign[c] == kind] for kind in (1.0, -1.0))
    pairs = []
    for joint in joints:
        for hub in hubs:
            a, b = min(joint, hub), max(joint, hub)
            first_block, second_block = (start[first[n] + index[n][c]] for c in (a, b))
            pairs.append((int(first_block), int(second_block), int(start[first[a] + index[a][b]]), int(rows[a])))
    return pairs


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
    belong to joints or to hubs; the first result (2 K,) has both numbers for each of K nodes. The sizes are the number
    of elements of the largest front, that of the stack of rows that remain for the parents, and the largest number of
    rows.

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
