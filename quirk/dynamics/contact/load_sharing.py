"""Distribution of forces among dependent contacts and friction.

A contact problem has r rows, one for each gap and for each slip component. A redistribution of load is a change of the
forces along the rows that does not affect the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.forces.joint_friction import JointFriction

from ..sparse.kernels.room import LOADS, most_room, scratch_of
from .contact_modes import DEPENDENT, ContactModes, Grip

# Least diagonal entry or element of the projector onto load redistributions for which rows share load.
NO_PART = 1e-6
# Accelerations of redundant rows, over those that loads cause as the rows depend on others within round-off and drift
# only, up to which these rows are at rest. Applied loads cause as much.
UNEVEN = 10.0


@dataclass(frozen=True)
class Sharing:
    """Forces z along all constrained rows as functions of the multipliers x of h independent rows.

    The distribution of minimum norm is z = weights x; the distribution closest to previously computed forces is z =
    offset + weights x.

    Attributes
    ----------
    rows : (h,) indices of the independent rows, with multipliers x
    weights : (r, h) forces along all rows per unit multiplier
    offset : (r,) constant part of the distribution closest to the computed forces
    groups : sets of rows among which load can be redistributed, as lists of indices
    ways : (r, d) orthonormal basis of all redistributions of load
    """

    rows: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    groups: list[list[int]]
    ways: np.ndarray

    def ways_of(self, group: Sequence[int]) -> np.ndarray:
        """Return an orthonormal basis (r, k) of the redistributions of load within one group of rows."""
        return _within(self.ways, group)


def _within(ways: np.ndarray, group: Sequence[int]) -> np.ndarray:
    """Return an orthonormal basis (r, k) of the redistributions of load within one group of rows.

    `group` are the indices of the rows, and `ways` (r, d) is a basis of all redistributions of load.
    """
    restricted = np.zeros_like(ways)
    restricted[list(group)] = ways[list(group)]
    vectors, sizes, _ = np.linalg.svd(restricted, full_matrices=False)
    return np.asarray(vectors[:, sizes > 0.5])


def sharing(W: np.ndarray, found: ContactModes, grips: Sequence[Grip], compliance: np.ndarray) -> Sharing:
    """Return the distribution of forces over dependent rows for the contact modes `found`.

    `W` (r, r) are the accelerations per unit force along each row, `grips` the friction elements, and `compliance` (r,)
    the relative compliances of the rows.
    """
    every, rows = np.flatnonzero(found.held), np.flatnonzero(found.rows)
    weights, offset = np.zeros((len(W), len(rows))), np.zeros(len(W))
    if len(every) == len(rows):
        weights[rows, np.arange(len(rows))] = 1.0
        return Sharing(rows, weights, offset, [], np.zeros((len(W), 0)))
    soft = np.sqrt(compliance[every])
    across, square = W[np.ix_(rows, every)], W[np.ix_(rows, rows)]
    x = np.linalg.solve(square, across @ found.z[every])
    weights[every] = np.linalg.pinv(across / soft, rcond=DEPENDENT) @ square / soft[:, None]
    offset[every] = found.z[every] - weights[every] @ x
    ways = _redistributions(W, every)
    return Sharing(rows, weights, offset, _groups(ways, every, grips), ways)


def joint_compliances(frictions: Sequence[JointFriction], length: float) -> np.ndarray:
    """Return the compliances of rows of sticking joints relative to the least one.

    Joints that hold one freedom share its load in proportion to their limits L: distributions minimize the sum of
    e^2 / L over the efforts e. The limit of a translation, N, is compared with those of rotations by the
    characteristic length of the system, m.
    """
    soft = [(1.0 if one.rotates else length) / (one.static * one.load_per_effort**2) for one in frictions]
    return np.array(soft) / min(soft, default=1.0)


def _redistributions(W: np.ndarray, every: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (r, d) of the redistributions of load among the rows with indices `every`.

    W (r, r) are the accelerations per unit force along each row.
    """
    redundant = _combinations(W, every)[1]
    ways = np.zeros((len(W), redundant.shape[1]))
    ways[every] = np.linalg.qr(redundant / np.sqrt(np.diag(W)[every])[:, None])[0]
    return ways


def _groups(ways: np.ndarray, every: np.ndarray, grips: Sequence[Grip]) -> list[list[int]]:
    """Return the groups of constrained rows among which load can be redistributed.

    `every` are the indices of the constrained rows, and `ways` (r, d) is a basis of all redistributions of load.
    """
    together = [[grip.contact, *grip.rows] for grip in grips if grip.contact is not None]
    return dependent(ways @ ways.T, every.tolist(), together)


def dependent(part: np.ndarray, every: Sequence[int], together: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return groups of rows among which load can be redistributed.

    Parameters
    ----------
    part : (r, r) orthogonal projector onto the redistributions of load
    every : constrained rows
    together : rows that belong to one group, such as those of a contact and of its friction
    """
    linked = np.abs(part) > NO_PART
    for rows in together:
        linked[np.ix_(rows, rows)] = True
    return [group for group in _components(linked, every) if part[group, group].max() > NO_PART]


def connected(W: np.ndarray, grips: Sequence[Grip]) -> list[list[int]]:
    """Return groups of dynamically coupled rows: a force along one row accelerates other rows of its group.

    W (r, r) are the accelerations per unit force along each row; the rows of a contact and of its friction belong to
    one group.
    """
    scale = np.sqrt(np.diag(W))
    linked = np.abs(W) > DEPENDENT * np.outer(scale, scale)
    for grip in grips:
        if grip.contact is not None:
            linked[grip.contact, grip.rows] = linked[grip.rows, grip.contact] = True
    return _components(linked, range(len(W)))


def _components(linked: np.ndarray, every: Sequence[int]) -> list[list[int]]:
    """Return the connected components of the graph of the nodes `every` with the adjacency matrix `linked`."""
    components, left = [], set(every)
    while left:
        component, fresh = set[int](), {left.pop()}
        while fresh:
            component |= fresh
            fresh = {row for row in left if linked[row, sorted(fresh)].any()}
            left -= fresh
        components.append(sorted(component))
    return components


def held_by_all(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], compliance: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return forces (r,) that keep all contacts and non-sliding friction at rest, and their margin to the cones.

    The forces of minimum norm are returned if they are inside the friction cones, otherwise the forces with the largest
    margin; it is negative if they are outside. The result is None if no forces keep all contacts and friction at rest.

    If contacts slide, the forces are distributed as by springs of the relative compliances `compliance` (r,), as in a
    run, and the normal forces of sliding contacts must be positive. The margin is then the largest one over all
    redistributions of load among sticking and sliding contacts, with sliding friction proportional to its normal force.
    """
    columns, cones = list[np.ndarray](), list[float]()
    held = np.zeros(len(q), dtype=bool)
    held[list(contacts)] = True
    for c in contacts:
        cone_rows = np.zeros((len(q), LOADS))
        cone_rows[c, 0] = 1.0
        sticking = [grip for grip in grips if grip.contact == c and grip.moving is None]
        for grip in grips:
            if grip.contact == c and grip.moving is not None:
                cone_rows[grip.rows, 0] -= grip.coefficient * grip.moving
        if len(sticking) > 1 or any(len(grip.rows) != LOADS - 1 for grip in sticking):
            return None
        for grip in sticking:
            held[grip.rows] = True
            cone_rows[grip.rows, [1, 2]] = 1.0
        columns.append(cone_rows)
        cones.append(1 / sticking[0].static if sticking and sticking[0].static > 0 else 0.0)
    if any(grip.contact is None or (grip.moving is None and not grip.static > 0) for grip in grips):
        return None
    B = np.concatenate(columns, axis=1)
    held &= np.diag(W) > 0
    scale = 1 / np.sqrt(np.diag(W)[held])
    every, goal = scale[:, None] * (W[held] @ B), -scale * q[held]
    independent, redundant = _combinations(W, np.flatnonzero(held))
    still = independent.T @ every
    sliding, mixed = (rows @ B for rows in _even(W, np.flatnonzero(held), grips, compliance))
    A = np.concatenate([still, sliding, mixed])
    b = np.concatenate([independent.T @ goal, np.zeros(len(sliding) + len(mixed))])
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    u = right[:rank].T @ (left[:, :rank].T @ b / sizes[:rank])
    # Tangential columns of contacts without friction are zero.
    idle = np.flatnonzero(~B.any(axis=0))
    u[idle] = 0.0
    exact = DEPENDENT * np.abs(goal).max(initial=0.0)
    if np.abs(A @ u - b).max(initial=0.0) > exact:
        return None
    # Redundant rows are as much at rest as they depend on the others.
    depends = redundant.T @ every
    if (np.abs(depends @ u - redundant.T @ goal) > exact + UNEVEN * np.abs(depends) @ np.abs(u)).any():
        return None
    loads = u.reshape(-1, LOADS)
    far = float((loads[:, 0] - np.array(cones) * np.linalg.norm(loads[:, 1:], axis=1)).min(initial=np.inf))
    if far > 0:
        return B @ u, far
    shared, ways = u.copy(), _null_space(np.concatenate([still, sliding]), idle)
    count, free = len(contacts), ways.shape[1]
    far = most_room(shared, ways.ravel(), count, free, np.array(cones), np.zeros(scratch_of(count, free)))
    sliding_contacts = {grip.contact for grip in grips if grip.moving is not None}
    slides = np.array([c in sliding_contacts for c in contacts], dtype=bool)
    return (B @ u, min(float(far), float(loads[slides, 0].min()))) if slides.any() else (B @ shared, float(far))


def _combinations(W: np.ndarray, every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal bases (h, i) and (h, d) of the loads of h rows with and without effect on the motion.

    `every` are the indices of the constrained rows in W, the accelerations of rows per unit load. Rows are scaled so
    that their diagonal in W is 1; the eigenvalues of the scaled W are compared with `DEPENDENT`.
    """
    scale = np.sqrt(np.diag(W)[every])
    sizes, vectors = np.linalg.eigh(W[np.ix_(every, every)] / scale[:, None] / scale)
    redundant = sizes <= DEPENDENT * sizes[-1]
    return vectors[:, ~redundant], vectors[:, redundant]


def _null_space(A: np.ndarray, idle: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, d) of the vectors u with A u = 0 and with zeros at the indices `idle`."""
    _, sizes, right = np.linalg.svd(A, full_matrices=True)
    basis = right[int((sizes > DEPENDENT * sizes[0]).sum()) :].T.copy()
    basis[idle] = 0.0
    vectors, lengths, _ = np.linalg.svd(basis, full_matrices=False)
    return np.ascontiguousarray(vectors[:, lengths > 0.5])


def _even(
    W: np.ndarray, every: np.ndarray, grips: Sequence[Grip], compliance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix E (k, r) with E z = 0 for forces z distributed as by springs among sliding contacts.

    The first result is for groups of contacts that all slide, the second for sliding contacts that share a load with
    sticking contacts. The equations express that forces of minimum norm are orthogonal to all redistributions of load.
    `every` are the indices of the constrained rows, and `compliance` (r,) the relative compliances of all rows. Rows
    are scaled like accelerations divided by the square root of the diagonal of W.
    """
    ways, sliding, mixed = _redistributions(W, every), [np.zeros((0, len(W)))], [np.zeros((0, len(W)))]
    moving = {grip.contact for grip in grips if grip.moving is not None}
    if moving and ways.shape[1]:
        for group in _groups(ways, every, grips):
            if not moving.isdisjoint(group):
                rows = compliance * _within(ways, group).T
                size = np.sqrt(np.diag(W)[group].mean()) / np.abs(rows).max(axis=1, initial=0.0)
                sticks = any(grip.moving is None and grip.rows[0] in group for grip in grips)
                (mixed if sticks else sliding).append(size[:, None] * rows)
    return np.concatenate(sliding), np.concatenate(mixed)
