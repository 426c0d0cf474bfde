"""Positions of the blocks of a sparse triangular factor, listed node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class BlockPositions:
    """Order of the blocks of a triangular factor, node by node.

    The first block of a node is its diagonal block. The blocks that couple it with later nodes follow.

    Attributes
    ----------
    first : (K + 1,) position of the diagonal block of each of K nodes, followed by the number of blocks
    owner, column : (blocks,) earlier and later node of each block
    """

    first: np.ndarray
    owner: np.ndarray
    column: np.ndarray

    @classmethod
    def of(cls, neighbours: Sequence[Sequence[int]]) -> BlockPositions:
        """Return the positions of all blocks.

        `neighbours` lists the later nodes coupled with each node, in ascending order.
        """
        first = pointers(np.array([1 + len(later) for later in neighbours], dtype=np.int64))
        column = np.array([c for k, later in enumerate(neighbours) for c in (k, *later)], dtype=np.int64)
        return cls(first, np.repeat(np.arange(len(neighbours)), np.diff(first)), column)

    @cached_property
    def _keys(self) -> np.ndarray:
        return (len(self.first) - 1) * self.owner + self.column

    def find(self, earlier: np.ndarray | int, later: np.ndarray) -> np.ndarray:
        """Return the positions of the blocks of pairs of nodes.

        `earlier` and `later` are the nodes of each pair, which must be coupled.
        """
        return np.searchsorted(self._keys, (len(self.first) - 1) * earlier + later)

    def listed(
        self, entries: Mapping[tuple[int, int], Sequence[tuple[float, ...]]], width: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries of all blocks, sorted by block.

        Parameters
        ----------
        entries : for each pair (earlier, later) of coupled nodes, a list of tuples of `width` numbers

        Returns
        -------
        first : (blocks + 1,) index of the first entry of each block
        flat : (entries, width) all entries
        """
        at = self.find(*np.array(list(entries), dtype=np.int64).reshape(-1, 2).T)
        at = np.repeat(at, [len(those) for those in entries.values()])
        flat = np.array([entry for those in entries.values() for entry in those], dtype=float).reshape(-1, width)
        return self.pointers(at), flat[np.argsort(at, kind="stable")]

    def pointers(self, blocks: np.ndarray) -> np.ndarray:
        """Return the index of the first entry of each block in a list sorted by blocks, and the number of entries.

        `blocks` is the block of each entry.
        """
        return pointers(np.bincount(blocks, minlength=len(self.column)))


def pointers(counts: np.ndarray) -> np.ndarray:
    """Return the index of the first entry of each list in their concatenation, followed by the total number of entries.

    `counts` are the numbers of entries of the lists.
    """
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
