"""Whether friction reacts upon its own loads so much that there are none, or several (Painleve 1895)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .frictional_case import Found, Grip

# Minors of dependent contacts are zero up to this.
ZERO = 1e-10
# Principal minors of so many contacts are looked at.
MOST_CONTACTS = 10


def has_one_solution(W: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], found: Found) -> bool:
    """Whether friction that slides reacts upon its own loads so little that there are no other loads, and always some.

    Of contacts all principal minors of W_nn - mu W_nt are then positive (a P-matrix); of many contacts only the first
    are looked at. Of a joint the load that its friction makes by itself is less than the friction.
    """
    held = np.flatnonzero(found.rows & ~np.isin(np.arange(len(W)), contacts))
    answer = np.eye(len(W))
    if len(held):
        answer[held] -= np.linalg.solve(W[np.ix_(held, held)], W[held])
    drag = np.zeros((len(W), len(W)))
    for grip, e in zip(grips, found.sliding, strict=True):
        if e is None:
            continue
        against = np.zeros(len(W))
        against[grip.rows] = -grip.coefficient * e
        if grip.contact is not None:
            drag[:, grip.contact] += against
        elif grip.load is not None and not grip.load.reaction(answer @ against) < 1.0:
            return False
    pushing = [c for c in contacts if found.z[c] > 0][:MOST_CONTACTS]
    scale = np.sqrt(np.diag(W))[pushing]
    V = (W @ answer @ (np.eye(len(W)) + drag))[np.ix_(pushing, pushing)] / scale[:, None] / scale
    subsets = (list(s) for k in range(1, len(pushing) + 1) for s in combinations(range(len(pushing)), k))
    return all(np.linalg.det(V[np.ix_(s, s)]) > (ZERO if len(s) == 1 else -ZERO) for s in subsets)
