"""How forces are shared out among contacts and friction of which some depend on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..sparse.kernels.room import LOADS, most_room, scratch_of
from .contact_modes import DEPENDENT, ContactModes, Grip

# Rows whose part in the ways to share a load is less than this have none.
NO_PART = 1e-6


@dataclass(frozen=True)
class Sharing:
    """How the forces along all rows that are held follow from the multipliers of those that are rows of the equation.

    z = weights x is the way of least norm; offset + weights x the one nearest to where forces were found.

    Attributes
    ----------
    rows : (h,) numbers of the rows whose multipliers are x
    weights : (r, h)
    offset : (r,)
    groups : rows that can take over load from each other, those of each group together
    ways : (r, d) changes of the forces that change nothing, an orthonormal basis in units of the rows
    """

    rows: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    groups: list[list[int]]
    ways: np.ndarray

    def ways_of(self, group: Sequence[int]) -> np.ndarray:
        """Return the ways (r, k) in which a group can share its load otherwise."""
        own = np.zeros_like(self.ways)
        own[list(group)] = self.ways[list(group)]
        vectors, sizes, _ = np.linalg.svd(own, full_matrices=False)
        return np.asarray(vectors[:, sizes > 0.5])


def sharing(W: np.ndarray, found: ContactModes, grips: Sequence[Grip], compliance: np.ndarray) -> Sharing:
    """Return how forces are shared out, from where they have been found."""
    every, rows = np.flatnonzero(found.held), np.flatnonzero(found.rows)
    weights, offset = np.zeros((len(W), len(rows))), np.zeros(len(W))
    if len(every) == len(rows):
        weights[rows, np.arange(len(rows))] = 1.0
        return Sharing(rows, weights, offset, [], np.zeros((len(W), 0)))
    soft = np.sqrt(compliance[every])
    across, own = W[np.ix_(rows, every)], W[np.ix_(rows, rows)]
    x = np.linalg.solve(own, across @ found.z[every])
    weights[every] = np.linalg.pinv(across / soft, rcond=DEPENDENT) @ own / soft[:, None]
    offset[every] = found.z[every] - weights[every] @ x
    scale = np.sqrt(np.diag(W)[every])
    sizes, vectors = np.linalg.eigh(W[np.ix_(every, every)] / scale[:, None] / scale)
    ways = np.zeros((len(W), int((sizes <= DEPENDENT * sizes[-1]).sum())))
    ways[every] = np.linalg.qr(vectors[:, : ways.shape[1]] / scale[:, None])[0]
    together = [[grip.contact, *grip.rows] for grip in grips if grip.contact is not None]
    return Sharing(rows, weights, offset, dependent(ways @ ways.T, every.tolist(), together), ways)


def dependent(part: np.ndarray, every: Sequence[int], together: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return rows that can take over load from each other, those of each group together.

    Parameters
    ----------
    part : (r, r) projection onto the ways to share loads
    every : rows that are held
    together : rows that belong together, as those of a contact and of its friction do
    """
    linked = np.abs(part) > NO_PART
    for rows in together:
        linked[np.ix_(rows, rows)] = True
    groups, left = [], set(every)
    while left:
        group, fresh = set[int](), {left.pop()}
        while fresh:
            group |= fresh
            fresh = {row for row in left if linked[row, sorted(fresh)].any()}
            left -= fresh
        if part[sorted(group), sorted(group)].max() > NO_PART:
            groups.append(sorted(group))
    return groups


def held_by_all(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip]
) -> tuple[np.ndarray, float] | None:
    """Return forces (r,) that hold all contacts and all friction that does not slide, and how far inside their cones.

    Those of least norm if they are inside, else those that are farthest. None if no forces hold them, be they inside or
    outside.
    """
    columns, cones = list[np.ndarray](), list[float]()
    held = np.zeros(len(q), dtype=bool)
    held[list(contacts)] = True
    for c in contacts:
        own = np.zeros((len(q), LOADS))
        own[c, 0] = 1.0
        sticking = [grip for grip in grips if grip.contact == c and grip.moving is None]
        for grip in grips:
            if grip.contact == c and grip.moving is not None:
                own[grip.rows, 0] -= grip.coefficient * grip.moving
        if len(sticking) > 1 or any(len(grip.rows) != LOADS - 1 for grip in sticking):
            return None
        for grip in sticking:
            held[grip.rows] = True
            own[grip.rows, [1, 2]] = 1.0
        columns.append(own)
        cones.append(1 / sticking[0].static if sticking and sticking[0].static > 0 else 0.0)
    if any(grip.contact is None or (grip.moving is None and not grip.static > 0) for grip in grips):
        return None
    B = np.concatenate(columns, axis=1)
    held &= np.diag(W) > 0
    scale = 1 / np.sqrt(np.diag(W)[held])
    A, b = scale[:, None] * (W[held] @ B), -scale * q[held]
    left, sizes, right = np.linalg.svd(A, full_matrices=True)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    u = right[:rank].T @ (left[:, :rank].T @ b / sizes[:rank])
    # Columns of contacts without friction stand for nothing.
    idle = np.flatnonzero(~B.any(axis=0))
    u[idle] = 0.0
    ways = right[rank:].T.copy()
    ways[idle] = 0.0
    vectors, lengths, _ = np.linalg.svd(ways, full_matrices=False)
    ways = np.ascontiguousarray(vectors[:, lengths > 0.5])
    if np.abs(A @ u - b).max(initial=0.0) > DEPENDENT * np.abs(b).max(initial=0.0):
        return None
    count, free = len(contacts), ways.shape[1]
    loads = u.reshape(-1, LOADS)
    far = float((loads[:, 0] - np.array(cones) * np.linalg.norm(loads[:, 1:], axis=1)).min(initial=np.inf))
    if far > 0:
        return B @ u, far
    far = most_room(u, ways.ravel(), count, free, np.array(cones), np.zeros(scratch_of(count, free)))
    return B @ u, float(far)
