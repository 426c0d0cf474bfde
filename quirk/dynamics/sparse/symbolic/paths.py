"""Paths from the bodies of loop-closing constraints through a forest of joints to its roots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..kernels.recursion import BALL, CYLINDRICAL, DRIVEN_HINGE, DRIVEN_SLIDER, FREE, HINGE, SLIDER, UNIVERSAL
from .tables_of_recursion import Links

# Number of degrees of freedom of a joint of each kind.
FREEDOMS = np.zeros(9, dtype=np.int64)
FREEDOMS[[HINGE, SLIDER, CYLINDRICAL, UNIVERSAL, BALL, FREE]] = 1, 1, 2, 2, 3, 6


class ClosingPaths:
    """Paths from the bodies of loop-closing constraints to the roots of a forest of joints.

    A slot is the position of a body in the order of the forest, from the tips to the roots.

    Parameters
    ----------
    chain : joints of the forest
    ends : indices of the bodies of each loop-closing constraint

    Attributes
    ----------
    slot : (n + 1,) slot of each of n bodies, and n for the ground
    up : for each slot, the slot of the parent body
    freedoms : for each slot, the number of degrees of freedom of the joint of this body to its parent
    driven : for each slot, whether this joint is driven
    slots_of : for each loop-closing constraint, the slots on the paths from its bodies to the roots
    groups : lists of loop-closing constraints whose paths have degrees of freedom in common
    """

    def __init__(self, chain: Links, ends: Sequence[tuple[int, ...]]) -> None:
        n = len(chain.body)
        self.slot = np.empty(n + 1, dtype=np.int64)
        self.slot[[*chain.body, n]] = np.arange(n + 1)
        self.up, self.freedoms = self.slot[chain.parent].tolist(), FREEDOMS[chain.kind].tolist()
        self.driven = np.isin(chain.kind, (DRIVEN_HINGE, DRIVEN_SLIDER)).tolist()
        self.slots_of = [self._to_roots([int(self.slot[body]) for body in bodies if body < n]) for bodies in ends]
        owner = list(range(len(ends)))

        def first_of(k: int) -> int:
            while owner[k] != k:
                owner[k] = k = owner[owner[k]]
            return k

        user: dict[int, int] = {}
        for k, path in enumerate(self.slots_of):
            for slot in path:
                if self.freedoms[slot]:
                    a, b = first_of(user.setdefault(slot, k)), first_of(k)
                    owner[max(a, b)] = min(a, b)
        groups: dict[int, list[int]] = {}
        for k in range(len(ends)):
            groups.setdefault(first_of(k), []).append(k)
        self.groups = list(groups.values())

    def freedoms_of(self, group: Sequence[int]) -> int:
        """Return the number of degrees of freedom on the paths of a group of loop-closing constraints."""
        return sum(self.freedoms[slot] for slot in set().union(*(self.slots_of[k] for k in group)))

    def _to_roots(self, slots: Sequence[int]) -> list[int]:
        """Return all slots on the paths from the slots `slots` to the roots, in ascending order, without repetition."""
        passed: set[int] = set()
        for slot in slots:
            while slot < len(self.up) and slot not in passed:
                passed.add(slot)
                slot = self.up[slot]
        return sorted(passed)


def depths(chain: Links) -> np.ndarray:
    """Return the number of joints between each body (n + 1,) of a forest and its root; zero for the ground."""
    depth = np.zeros(len(chain.body) + 1, dtype=np.int64)
    for body, parent in zip(chain.body[::-1].tolist(), chain.parent[::-1].tolist(), strict=True):
        depth[body] = depth[parent] + 1
    return depth
