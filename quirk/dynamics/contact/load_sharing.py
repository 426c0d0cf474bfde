"""Distribution of forces among dependent contacts and friction.

A contact problem has r rows, one for each gap and for each slip component. A redistribution of load is a change of the
forces along the rows that does not affect the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.forces.joint_friction import JointFriction

from .contact_modes import DEPENDENT, ContactModes, Grip

# Least diagonal entry or element of the projector onto load redistributions for which rows share load.
NO_PART = 1e-6


@dataclass(frozen=True)
class Sharing:
    """Distribution of the forces z (r,) along all constrained rows, as a function of the multipliers x (h,).

    The multipliers are those of h independent rows. The distribution of minimum norm is z = weights x; the distribution
    closest to previously computed forces is z = offset + weights x.

    Attributes
    ----------
    rows : (h,) indices of the independent rows
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
        return within(self.ways, group)


def within(ways: np.ndarray, group: Sequence[int]) -> np.ndarray:
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
    ways = redistributions(W, every)
    return Sharing(rows, weights, offset, groups_of(ways, every, grips), ways)


def joint_compliances(frictions: Sequence[JointFriction], length: float) -> np.ndarray:
    """Return the compliances of the rows of joints with sticking friction, divided by the smallest one.

    Joints whose friction opposes the same motion share its load in proportion to their friction limits L, because
    distributions minimize the sum of e^2 / L over the friction forces or torques e. Limits of translations, N, are
    compared with those of rotations by means of the characteristic length of the system, `length` (m).
    """
    soft = [(1.0 if one.rotates else length) / (one.static * one.load_per_effort**2) for one in frictions]
    return np.array(soft) / min(soft, default=1.0)


def redistributions(W: np.ndarray, every: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (r, d) of the redistributions of load among the rows with indices `every`.

    W (r, r) are the accelerations per unit force along each row.
    """
    redundant = combinations(W, every)[1]
    ways = np.zeros((len(W), redundant.shape[1]))
    ways[every] = np.linalg.qr(redundant / np.sqrt(np.diag(W)[every])[:, None])[0]
    return ways


def groups_of(ways: np.ndarray, every: np.ndarray, grips: Sequence[Grip]) -> list[list[int]]:
    """Return the groups of constrained rows among which load can be redistributed.

    `every` are the indices of the constrained rows, and `ways` (r, d) is a basis of all redistributions of load. The
    row of a contact and those of its friction (in `grips`) belong to one group.
    """
    together = [[grip.contact, *grip.rows] for grip in grips if grip.contact is not None]
    return dependent(ways @ ways.T, every.tolist(), together)


def dependent(part: np.ndarray, every: Sequence[int], together: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the groups of rows among which load can be redistributed, as lists of indices.

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
    """Return groups of dynamically coupled rows, as lists of indices.

    A force along one row accelerates other rows of its group, but no row outside. W (r, r) are the accelerations per
    unit force along each row. The row of a contact and those of its friction belong to one group.
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


def combinations(W: np.ndarray, every: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal bases of the loads of h rows with effect on the motion (h, i), and without effect (h, d).

    `every` are the indices of the h constrained rows in W, the accelerations of rows per unit load. Rows are scaled so
    that their diagonal in W is 1; eigenvalues of the scaled W below `DEPENDENT` times the largest count as zero.
    """
    scale = np.sqrt(np.diag(W)[every])
    sizes, vectors = np.linalg.eigh(W[np.ix_(every, every)] / scale[:, None] / scale)
    redundant = sizes <= DEPENDENT * sizes[-1]
    return vectors[:, ~redundant], vectors[:, redundant]
