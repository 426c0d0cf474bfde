"""Preparation of the orthogonal factorization: elimination tree and fronts.

A node is a group of up to six rows, or a hub: a body with many joints whose acceleration remains an unknown. A front is
the dense matrix to which reflections are applied when a node is eliminated. G is the array of all rows. The pivot of a
row is its squared distance from the span of the rows before it, in the order of elimination.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.jit.simd import WIDTH, aligned

from ..kernels.orthogonal import Fronts, Triangle


@dataclass(frozen=True)
class BodySides:
    """Joints at one body, with the positions of their loads on the body in the array G of all rows.

    Attributes
    ----------
    nodes : nodes of the joints
    force, moment : index in G of the first element of the forces, and of the moments, of each joint
    scale : factors of the forces
    """

    nodes: Sequence[int]
    force: Sequence[int]
    moment: Sequence[int]
    scale: Sequence[float]


@dataclass(frozen=True)
class Orthogonal:
    """Pattern of the orthogonal factorization of one model, for `triangularise`.

    A node is a joint, or a hub: a body with many joints. A side is one body of a joint.

    Attributes
    ----------
    fronts : tables of the fronts
    scale : factor of the force of each side: inverse square root of the body's mass, with a sign
    weight : factor of the forces in each product of rows in a coupling with a hub
    pivots : (K,) first element of the diagonal block of each of K nodes in the factor
    sizes : numbers of elements of the factor, of the largest front and of the stack, and number of rows of the largest
        front
    """

    fronts: Fronts
    pivots: np.ndarray
    scale: np.ndarray
    weight: np.ndarray
    sizes: tuple[int, int, int, int]

    def triangle(self) -> Triangle:
        """Return new arrays for the results of `triangularise`, for one solver."""
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
    """Return the pattern of the orthogonal factorization of a model.

    Parameters
    ----------
    neighbours : later nodes coupled with each node
    rows, sign : number of rows and sign of the pivots of each node
    bodies : joints at each body, except at hubs and the ground
    couplings : for each pair of a joint and a hub, the products of rows whose sum couples them, each as the first
        elements in G of the moments (left, right) and forces (left_force, right_force) of both factors, and the weight
        of the forces
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
    """Return the nodes in postorder and the children of each node in the elimination tree.

    The parent of a node is its first later neighbor. `neighbours` are the later nodes coupled with each node.
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
    """Return the pairs of blocks of node n whose product is subtracted from a block that couples a joint and a hub.

    A hub is a body with many joints. `later` are the later neighbors of the node; `sign` is 1 for joints and -1 for
    hubs, `rows` are the numbers of rows of the nodes, and the other arguments give the positions of their blocks.
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
    """Return the maximum number of rows of each front, and the sizes of the arrays.

    The numbers of rows (2 K,) are those for joints (positive sign) and those for hubs (negative sign), which are bodies
    with many joints. The sizes are the number of elements of the largest front, the number of elements of the stack for
    the remaining rows of fronts, and the largest number of rows. `neighbours`, `rows` and `sign` are as for
    `orthogonal`; `order` lists the nodes in postorder, `children` are those in the elimination tree, and `at_node`
    contains the bodies assembled at each node.
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
