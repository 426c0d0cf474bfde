"""Test for non-unique solutions of contact with friction (Painleve 1895).

Several solutions are possible if friction affects the normal loads on which it depends. A contact problem has r rows,
one for each gap and for each slip component.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from .contact_modes import DEPENDENT, ContactModes, Grip

# Maximum number of contacts for which other solutions are searched, as there are 2^n subsets.
MOST_CONTACTS = 8
# Relative accuracy of loads and accelerations of another solution.
AGREES = 1e-7


def has_one_solution(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], found: ContactModes
) -> bool:
    """Return whether the solution `found` of a contact problem is the only one with its slip directions.

    The solution is unique if no other subset of contacts could be loaded with other accelerations. For friction in
    joints, the normal load due to a unit friction force must be less than 1.
    """
    held = np.flatnonzero(found.rows & ~np.isin(np.arange(len(W)), contacts))
    answer, rest = np.eye(len(W)), np.zeros(len(W))
    if len(held):
        answer[held] -= np.linalg.solve(W[np.ix_(held, held)], W[held])
        rest[held] = -np.linalg.solve(W[np.ix_(held, held)], q[held])
    drag, slides = np.zeros((len(W), len(W))), False
    for grip, e in zip(grips, found.sliding, strict=True):
        if e is None:
            continue
        against = np.zeros(len(W))
        against[grip.rows] = -grip.coefficient * e
        if grip.contact is not None:
            drag[:, grip.contact] += against
            slides = True
        elif grip.load is not None and not grip.load.reaction(answer @ against) < 1.0:
            return False
    closed = [c for c in contacts if W[c, c] > 0]
    if not slides or len(closed) > MOST_CONTACTS:
        return True
    V = (W @ answer @ (np.eye(len(W)) + drag))[np.ix_(closed, closed)]
    free = (q + W @ rest)[closed]
    n, w = found.z[closed], found.w[closed]
    scale = np.sqrt(np.diag(W)[closed])
    moves = AGREES * float(((np.abs(V) @ np.abs(n) + np.abs(free)) / scale).max(initial=0.0))
    return not any(_differs(V, free, list(s), w, scale, moves) for s in _subsets(len(closed)))


def _subsets(count: int) -> Sequence[Sequence[int]]:
    return [s for size in range(count + 1) for s in combinations(range(count), size)]


def _differs(V: np.ndarray, q: np.ndarray, own: list[int], w: np.ndarray, scale: np.ndarray, moves: float) -> bool:
    """Return whether exactly the contacts `own` could be loaded, with accelerations other than w (r,).

    V (r, r) and q (r,) are the accelerations per unit force and without forces; `moves` times `scale` is their
    accuracy.
    """
    n = np.zeros(len(q))
    if own:
        n[own] = np.linalg.lstsq(V[np.ix_(own, own)], -q[own], rcond=DEPENDENT)[0]
    accelerations = V @ n + q
    holds = (np.abs(accelerations[own]) <= moves * scale[own]).all()
    pushes = (n >= -AGREES * np.abs(n).max(initial=0.0)).all()
    return bool(
        holds and pushes and (accelerations >= -moves * scale).all()
        and (np.abs(accelerations - w) > 10.0 * moves * scale).any()
    )  # fmt: skip
