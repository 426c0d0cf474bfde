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

# Limits of fill-in: if elimination takes more block products than MOST_UPDATES plus UPDATES_PER_NODE per node, systems
# with redundant rows are factorized without the nodes that have no kept rows.
MOST_UPDATES, UPDATES_PER_NODE = 50_000, 1000

# Products by block (earlier node, later node): kind, left, right, left_force, right_force and weight, as in `Pattern`.
Products = dict[tuple[int, int], list[tuple[int, int, int, int, int, float]]]


class Blocks:
    """Patterns of the block factorization of one model: for all nodes (joints), or for a selection of them.

    The selection excludes nodes without independent rows. It is used only if elimination of all nodes is expensive.

    Parameters
    ----------
    neighbours : for each node, the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots: 1 for joints, -1 for hubs (bodies with many
        joints)
    products : for each pair of coupled nodes, the products of rows whose sum is their block before elimination

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

    Initial blocks are sums of products of constraint rows; elimination of earlier nodes subtracts products of blocks.

    Parameters
    ----------
    neighbours : for each node (joint or hub), the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots
    products : for each pair of coupled nodes, the products of rows whose sum is their initial block
    """
    first = np.concatenate([[0], np.cumsum([1 + len(later) for later in neighbours])]).astype(np.int64)
    column = np.array([c for k, later in enumerate(neighbours) for c in (k, *later)], dtype=np.int64)
    owner = np.repeat(np.arange(len(neighbours)), np.diff(first))
    sizes = WIDTH * rows[owner]
    start = np.cumsum(sizes) - sizes
    turned_sizes = np.where(column == owner, 0, WIDTH * rows[column])
    turned = np.cumsum(turned_sizes) - turned_sizes
    block = {(int(k), int(c)): q for q, (k, c) in enumerate(zip(owner, column, strict=True))}

    terms: list[list[tuple[int, int, int, int, int, float]]] = [[] for _ in column]
    for pair, products_of_pair in products.items():
        terms[block[pair]] = products_of_pair
    updates: list[list[tuple[int, int, int]]] = [[] for _ in column]
    for k, later in enumerate(neighbours):
        for x, a in enumerate(later):
            for b in later[x:]:
                updates[block[a, b]].append((turned[block[k, a]], start[block[k, b]], rows[k]))
    flat_terms = np.array([term for of_block in terms for term in of_block], dtype=float).reshape(-1, 6)
    flat_updates = np.array([update for of_block in updates for update in of_block], dtype=np.int64).reshape(-1, 3)
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
        term=_pointers(terms),
        kind=kind,
        left=left,
        right=right,
        left_force=left_force,
        right_force=right_force,
        weight=flat_terms[:, 5].copy(),
        update=_pointers(updates),
        Q=flat_updates[:, 0].copy(),
        B=flat_updates[:, 1].copy(),
        source=flat_updates[:, 2].copy(),
        visits=visits,
        due=np.searchsorted(needed[visits], ends),
        narrow=np.maximum.reduceat(rows[column], first[:-1]) <= WIDTH // 2,
    )
    return compact(pattern)


def _pointers(lists: Sequence[Sequence[object]]) -> np.ndarray:
    """Return the index of the first entry of each list in the concatenation of all, followed by the total length."""
    return np.concatenate([[0], np.cumsum([len(entries) for entries in lists])]).astype(np.int64)


def block_size(pattern: Pattern) -> int:
    """Return the length of the arrays B and Q, which store all blocks of a factorization with this pattern."""
    rows = np.repeat(pattern.rows, np.diff(pattern.first))
    return int(WIDTH * max(rows.sum(), pattern.rows[pattern.column].sum()))
