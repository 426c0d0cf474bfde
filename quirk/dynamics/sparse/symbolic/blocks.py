"""Sparsity pattern of the block factorization of S = A M^-1 A^T, with constraint rows A and mass matrix M.

A node is a group of up to six rows of one joint, or a hub: a body with many joints whose acceleration remains an
unknown. A block is the part of S that couples two nodes; it is a sum of products of rows, one for each body that the
nodes share. There are K nodes; "later" refers to the order of elimination. The pivot of a row is its squared distance
from the span of the rows before it, in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from quirk.dynamics.model.layout import compact
from quirk.jit.simd import WIDTH

from ..kernels.factorise import STRETCH, Pattern
from .block_positions import BlockPositions

# If elimination of all nodes requires more block products than MOST_UPDATES + UPDATES_PER_NODE * K for K nodes, systems
# with redundant rows are factorized without the nodes that have no selected rows.
MOST_UPDATES, UPDATES_PER_NODE = 50_000, 1000

# Products of rows of each block (earlier node, later node): kind, left, right, left_force, right_force and weight, see
# `Pattern`.
Products = dict[tuple[int, int], list[tuple[int, int, int, int, int, float]]]


class Blocks:
    """Patterns of the block factorization of one model: for all nodes (joints), or for a selection of them.

    The selection excludes nodes without independent rows. It is used only if elimination of all nodes is expensive.

    Parameters
    ----------
    neighbours : for each node, the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots: 1 for joints, -1 for hubs (bodies with many
        joints)
    products : for each pair of coupled nodes, the products of rows that form their block before elimination

    Attributes
    ----------
    dense : whether elimination of all nodes would require too many block products
    """

    def __init__(
        self, neighbours: Sequence[Sequence[int]], rows: np.ndarray, sign: np.ndarray, products: Products
    ) -> None:
        self.neighbours, self.rows, self.sign, self.products = neighbours, rows, sign, products
        updates = sum(len(later) * (len(later) + 1) // 2 for later in neighbours)
        self.dense = updates > MOST_UPDATES + UPDATES_PER_NODE * len(neighbours)

    @cached_property
    def full(self) -> Pattern:
        """Pattern of the block factorization of all nodes."""
        return block_pattern(self.neighbours, self.rows, self.sign, self.products)

    @cached_property
    def empty(self) -> Pattern:
        """Pattern of the block factorization if no rows are selected; it has only empty diagonal blocks."""
        return self.of(np.zeros(len(self.rows), dtype=bool))

    def of(self, selected: np.ndarray) -> Pattern:
        """Return the pattern of the block factorization of the nodes that are true in the mask `selected` (K,)."""
        if selected.all():
            return self.full
        rows = np.where(selected, self.rows, 0)
        products = {pair: those for pair, those in self.products.items() if selected[pair[0]] and selected[pair[1]]}
        later: list[set[int]] = [set() for _ in self.rows]
        for earlier, later_node in products:
            if earlier < later_node:
                later[earlier].add(later_node)
        neighbours = []
        for k in range(len(rows)):
            those = sorted(later[k])
            if those:
                # Elimination of a node couples all its later neighbors.
                later[those[0]].update(those[1:])
            neighbours.append(those)
        return block_pattern(neighbours, rows, self.sign, products)


def block_pattern(
    neighbours: Sequence[Sequence[int]], rows: np.ndarray, sign: np.ndarray, products: Products
) -> Pattern:
    """Return the pattern of a block factorization: positions of all blocks, and the products that form each of them.

    Each block is initially a sum of products of constraint rows. Elimination of earlier nodes subtracts products of
    blocks.

    Parameters
    ----------
    neighbours : for each node (joint or hub), the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots: 1 for joints, -1 for hubs
    products : for each pair of coupled nodes, the products of rows that form their initial block
    """
    of = BlockPositions.of(neighbours)
    first, column, owner = of.first, of.column, of.owner
    sizes = WIDTH * rows[owner]
    start = np.cumsum(sizes) - sizes
    turned_sizes = np.where(column == owner, 0, WIDTH * rows[column])
    turned = np.cumsum(turned_sizes) - turned_sizes
    term, flat_terms = of.listed(products, 6)
    update, a, b, k = _updates(of)
    kind, left, right, left_force, right_force = (flat_terms[:, c].astype(np.int64) for c in range(5))
    # The rows of a node are first needed by the earliest elimination that couples to it.
    needed = np.arange(len(neighbours))
    np.minimum.at(needed, column, owner)
    visits = np.argsort(needed, kind="stable")
    ends = STRETCH * np.arange(1, 2 + len(neighbours) // STRETCH)
    pattern = Pattern(
        rows=rows,
        sign=sign,
        first=first,
        start=start,
        turned=turned,
        column=column,
        term=term,
        kind=kind,
        left=left,
        right=right,
        left_force=left_force,
        right_force=right_force,
        weight=flat_terms[:, 5].copy(),
        update=update,
        Q=turned[a],
        B=start[b],
        source=np.asarray(rows, dtype=np.int64)[k],
        visits=visits,
        due=np.searchsorted(needed[visits], ends),
        narrow=np.maximum.reduceat(rows[column], first[:-1]) <= WIDTH // 2,
    )
    return compact(pattern)


def _updates(of: BlockPositions) -> tuple[np.ndarray, ...]:
    """Return the updates of all blocks by the elimination of earlier nodes.

    The elimination of node k updates the block (a, b) of each pair of its later neighbors by the product of its blocks
    (k, a) and (k, b).

    Returns
    -------
    first : (blocks + 1,) first update of each block
    left, right : position of the blocks (k, a) and (k, b) of each update, in the order of updated blocks
    eliminated : the node k of each update
    """
    counts = np.diff(of.first) - 1
    lists = [np.zeros((4, 0), dtype=np.int64)]
    for count in np.unique(counts[counts > 0]):
        nodes = np.flatnonzero(counts == count)
        later = of.first[nodes, None] + 1 + np.arange(count)
        x, y = np.triu_indices(count)
        left, right = later[:, x].ravel(), later[:, y].ravel()
        eliminated = np.repeat(nodes, len(x))
        lists.append(np.array([of.find(of.column[left], of.column[right]), left, right, eliminated]))
    updated, left, right, eliminated = np.concatenate(lists, axis=1)
    order = np.lexsort((eliminated, updated))
    return of.pointers(updated), left[order], right[order], eliminated[order]


def block_size(pattern: Pattern) -> int:
    """Return the length of the arrays B and Q, which store all blocks of a factorization with this pattern."""
    rows = np.repeat(pattern.rows, np.diff(pattern.first))
    return int(WIDTH * max(rows.sum(), pattern.rows[pattern.column].sum()))
