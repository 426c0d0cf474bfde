"""Sparsity pattern and elimination order of the linear systems of implicit steps.

The nodes of the elimination are the bodies and the relations (constraint functions) of a model; each has a square
diagonal block.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.model.layout import Slots
from quirk.dynamics.model.model import Model, PlacedRelation
from quirk.jit.simd import WIDTH

from ..symbolic.ordering import MOST_JOINTS, branches, gathered, minimum_degree
from .tables import BodyCoupling, CouplingBlocks


def couplings(
    model: Model, relations: Sequence[PlacedRelation], slots: Slots
) -> tuple[BodyCoupling, CouplingBlocks, int]:
    """Return the pairs of coupled nodes, the positions of the blocks in the matrix, and the number of its elements.

    The nodes of the elimination are the bodies and the relations (constraint functions). `slots` are the positions of
    the bodies in the arrays.
    """
    n, ends = len(model.mass), [placed.bodies for placed in relations]
    groups = [[b for b in rows if b < n] for rows in [*(of for _, of in model.forces), *ends]]
    coupled: list[set[int]] = [set() for _ in range(n + len(ends))]
    for members in groups:
        for body in members:
            coupled[body].update(members)
    for r, bodies in enumerate(ends):
        for body in bodies:
            if body < n:
                coupled[body].add(n + r)
                coupled[n + r].add(body)
    for node, others in enumerate(coupled):
        others.discard(node)
    order, later = gathered(*minimum_degree(coupled, _waits(ends, n)))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    sizes = np.array([6] * n + [placed.rows.stop - placed.rows.start for placed in relations], dtype=np.int64)
    coupling, at, numbers = _coupling(place, order, later, sizes)
    return coupling, _blocks(model, relations, slots, place, at), numbers


def _waits(ends: Sequence[tuple[int, ...]], n: int) -> list[set[int]]:
    """Return, for each node, the nodes that must be eliminated before it: for a relation, its bodies.

    If a relation were eliminated before its bodies, its diagonal block would be zero. Relations on a body with many
    relations need not wait for this body, so that the branches attached to it are eliminated first. `ends` are the
    bodies of each relation, and n is the number of bodies.
    """
    degree = np.bincount([b for bodies in ends for b in bodies if b < n], minlength=n)
    crowded = set(np.flatnonzero(degree > MOST_JOINTS))
    parents = branches(ends, n) if crowded else {}
    waits: list[set[int]] = [set() for _ in range(n + len(ends))]
    for r, bodies in enumerate(ends):
        waits[n + r] = {b for b in bodies if b < n and not (b in crowded and parents.get(r) == b)}
    return waits


def _coupling(
    place: np.ndarray, order: Sequence[int], later: Sequence[set[int]], sizes: np.ndarray
) -> tuple[BodyCoupling, dict[tuple[int, int], int], int]:
    """Return the couplings of the nodes, the first element of each block by (row, column), and the number of elements.

    A block has eight elements in each of its rows. The blocks of a node are contiguous, in the order of elimination, so
    that memory is read sequentially. `order` lists the nodes in the order of elimination, and `later` contains, for
    each node in this order, the nodes that are coupled with it and eliminated after it. `place[node]` is the position
    of a node in the order, and `sizes[node]` its number of rows.
    """
    size = sizes[order] if len(order) else np.zeros(0, dtype=np.int64)
    neighbours = [sorted(int(place[neighbour]) for neighbour in others) for others in later]
    at: dict[tuple[int, int], int] = {}
    numbers = 0
    for k, others in enumerate(neighbours):
        for row, column in [
            (k, k),
            *((k, neighbour) for neighbour in others),
            *((neighbour, k) for neighbour in others),
        ]:
            at[row, column] = numbers
            numbers += WIDTH * int(size[row])
    pairs = [(k, neighbour) for k, others in enumerate(neighbours) for neighbour in others]
    target = [at[i, j] for others in neighbours for i in others for j in others]

    def integers(x: Sequence[int]) -> np.ndarray:
        return np.array(x, dtype=np.int64)

    coupling = BodyCoupling(
        size=size,
        first=integers([0, *np.cumsum([len(others) for others in neighbours])]),
        column=integers([neighbour for _, neighbour in pairs]),
        upper=integers([at[pair] for pair in pairs]),
        lower=integers([at[neighbour, k] for k, neighbour in pairs]),
        diagonal=integers([at[k, k] for k in range(len(order))]),
        target=integers(target),
    )
    return coupling, at, numbers


def _blocks(
    model: Model,
    relations: Sequence[PlacedRelation],
    slots: Slots,
    place: np.ndarray,
    at: dict[tuple[int, int], int],
) -> CouplingBlocks:
    n, slot = len(model.mass), slots.slot
    pairs: dict[tuple[int, int], int] = {}

    def pair(f: int, g: int) -> int:
        return pairs.setdefault((f, g), len(pairs)) if f < n and g < n else -1

    own = np.full(slots.lanes, -1, dtype=np.int64)
    for body in range(n):
        own[slot[body]] = pair(body, body)
    law_pair = [pair(f, g) for _, rows in model.forces for f in rows for g in rows]
    relation_pair = [pair(f, g) for placed in relations for f in placed.bodies for g in placed.bodies]
    sides = [(r, body) for r, placed in enumerate(relations) for body in placed.bodies]
    ours = [(int(place[n + r]), int(place[body]) if body < n else -1) for r, body in sides]

    def integers(x: Sequence[int]) -> np.ndarray:
        return np.array(x, dtype=np.int64)

    def starts(counts: Sequence[int]) -> np.ndarray:
        return integers([0, *np.cumsum([count**2 for count in counts])][:-1])

    node = np.full(slots.lanes, -1, dtype=np.int64)
    node[slot[:n]] = place[:n]
    return CouplingBlocks(
        body_node=node,
        relation_node=place[n:].copy(),
        pair_row=integers([slot[f] for f, _ in pairs]),
        pair_column=integers([slot[g] for _, g in pairs]),
        pair_block=integers([at[int(place[f]), int(place[g])] for f, g in pairs]),
        law_pair=integers(law_pair),
        law_first=starts([len(rows) for _, rows in model.forces]),
        relation_pair=integers(relation_pair),
        relation_first=starts([len(placed.bodies) for placed in relations]),
        diagonal_pair=own,
        side_row=integers([r for r, _ in sides]),
        side_slot=integers([slot[body] if body < n else -1 for _, body in sides]),
        side_upper=integers([at[b, r] if b >= 0 else -1 for r, b in ours]),
        side_lower=integers([at[r, b] if b >= 0 else -1 for r, b in ours]),
    )
