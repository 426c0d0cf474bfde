"""Distribution of forces among dependent contacts and friction.

A contact problem has r rows, one for each gap and for each slip component. A redistribution of load is a change of the
forces along the rows that does not affect the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quirk.forces.joint_friction import JointFriction

from ..model.friction_normal_load import NormalLoad
from .contact_modes import DEPENDENT, ContactModes, FrictionElement

# Factor on the compliance of sticking friction that shares a load with sliding contacts. It is large, so that friction
# takes only the part of the load that normal forces cannot carry.
YIELDING = 1e4
# Least diagonal entry or element of the projector onto load redistributions for which rows share load; and least change
# of a bearing force, per unit force or of the largest change, that is not round-off.
MIN_SHARE = 1e-6


@dataclass(frozen=True)
class LoadDistribution:
    """Distribution of the forces z (r,) along all constrained rows, as a function of the multipliers x (h,).

    The multipliers are those of h independent rows. The distribution of minimum norm is z = weights x; the distribution
    closest to previously computed forces is z = offset + weights x.

    Attributes
    ----------
    rows : (h,) indices of the independent rows
    weights : (r, h) forces along all rows per unit multiplier
    redistributed : (r, h) differences of `weights` from the forces of a run, in which independent rows carry all loads
    offset : (r,) constant part of the distribution closest to the computed forces
    groups : sets of rows among which load can be redistributed, as lists of indices
    redistributions : (r, d) orthonormal basis of all redistributions of load
    """

    rows: np.ndarray
    weights: np.ndarray
    redistributed: np.ndarray
    offset: np.ndarray
    groups: list[list[int]]
    redistributions: np.ndarray

    def redistributions_within(self, group: Sequence[int]) -> np.ndarray:
        """Return an orthonormal basis (r, k) of the redistributions of load within one group of rows."""
        return redistributions_within(self.redistributions, group)


def keeping_motion(
    W: np.ndarray,
    held: np.ndarray,
    elements: Sequence[FrictionElement],
    slip_directions: Sequence[np.ndarray | None],
    redistributions: np.ndarray,
) -> np.ndarray:
    """Return a basis (d, k) of the combinations of redistributions that do not change the motion of sliding bodies.

    A redistribution of load changes the friction of sliding contacts in proportion to their normal forces. In these
    combinations the changes balance each other, together with changes of the forces along the constrained rows.

    Parameters
    ----------
    W : (r, r) accelerations along each row per unit force
    held : indices of the constrained rows
    elements, slip_directions : friction elements, and the direction of slip of each, or None
    redistributions : (r, d) orthonormal changes of the forces along all rows, without changes of friction
    """
    forces, sliding = np.eye(len(W)), list[int]()
    for element, e in zip(elements, slip_directions, strict=True):
        if e is not None and element.contact is not None:
            forces[element.rows, element.contact] -= element.coefficient * e
            sliding += element.rows
    rows, scale = [row for row in (*held, *sliding) if W[row, row] > 0], np.sqrt(np.diag(W))
    A = (W[rows] @ forces[:, held]) / scale[rows, None] / scale[held]
    _, sizes, right = np.linalg.svd(A, full_matrices=True)
    balanced = right[int((sizes > MIN_SHARE * sizes[0]).sum()) :].T / scale[held, None]
    parts = redistributions[held].T @ np.linalg.qr(balanced)[0]
    vectors, sizes, _ = np.linalg.svd(parts, full_matrices=False)
    return np.asarray(vectors[:, sizes > MIN_SHARE])


def redistributions_within(redistributions: np.ndarray, group: Sequence[int]) -> np.ndarray:
    """Return an orthonormal basis (r, k) of the redistributions of load within one group of rows.

    `group` are the indices of the rows, and `redistributions` (r, d) is a basis of all redistributions of load.
    """
    restricted = np.zeros_like(redistributions)
    restricted[list(group)] = redistributions[list(group)]
    vectors, sizes, _ = np.linalg.svd(restricted, full_matrices=False)
    return np.asarray(vectors[:, sizes > 0.5])


def unchanged(sliding: Sequence[FrictionElement], redistributions: np.ndarray) -> np.ndarray:
    """Return a basis (d, k) of the combinations of redistributions that keep the normal loads of sliding joints.

    `sliding` are friction elements of joints that slide, and `redistributions` (r, d) changes of the forces along all
    rows.
    """
    changes = [element.normal_load.bearings()[1] for element in sliding if isinstance(element.normal_load, NormalLoad)]
    if not changes:
        return np.eye(redistributions.shape[1])
    _, sizes, right = np.linalg.svd(np.concatenate(changes) @ redistributions, full_matrices=True)
    return np.asarray(right[int((sizes > MIN_SHARE * max(1.0, np.abs(changes).max())).sum()) :].T)


def load_distribution(
    W: np.ndarray, solution: ContactModes, elements: Sequence[FrictionElement], compliance: np.ndarray
) -> LoadDistribution:
    """Return the distribution of forces over dependent rows for the contact modes `solution`.

    `W` (r, r) are the accelerations per unit force along each row, `elements` the friction elements, and `compliance`
    (r,) the relative compliances of the rows.
    """
    active, rows = np.flatnonzero(solution.active), np.flatnonzero(solution.independent)
    weights, offset = np.zeros((len(W), len(rows))), np.zeros(len(W))
    if len(active) == len(rows):
        weights[rows, np.arange(len(rows))] = 1.0
        return LoadDistribution(rows, weights, np.zeros_like(weights), offset, [], np.zeros((len(W), 0)))
    root_compliance = np.sqrt(compliance[active])
    coupling, square = W[np.ix_(rows, active)], W[np.ix_(rows, rows)]
    x = np.linalg.solve(square, coupling @ solution.z[active])
    weights[active] = np.linalg.pinv(coupling / root_compliance, rcond=DEPENDENT) @ square / root_compliance[:, None]
    offset[active] = solution.z[active] - weights[active] @ x
    redistributions, redistributed = redistribution_basis(W, active), weights.copy()
    redistributed[rows, np.arange(len(rows))] -= 1.0
    return LoadDistribution(
        rows, weights, redistributed, offset, load_sharing_groups(redistributions, active, elements), redistributions
    )


def joint_compliances(frictions: Sequence[JointFriction], length: float) -> np.ndarray:
    """Return the compliances of the rows of joints with sticking friction, relative to those of contacts.

    Joints whose friction opposes the same motion share its load in proportion to their friction limits L, because
    distributions minimize the sum of e^2 / L over the friction torques e. Forces are compared with torques by means of
    the characteristic length of the system, `length` (m). Contacts have the compliance of the joint with the largest
    limit.
    """
    limits = np.array([friction.static * (1.0 if friction.rotates else length) for friction in frictions])
    arms = np.array([(1.0 if friction.rotates else length) / friction.load_per_effort for friction in frictions])
    return np.asarray((arms / length) ** 2 * limits.max(initial=0.0) / limits)


def beside_sliding(
    W: np.ndarray, contacts: Sequence[int], elements: Sequence[FrictionElement], compliance: np.ndarray
) -> np.ndarray:
    """Return the relative compliances (r,) of the rows, with a large one for sticking friction beside sliding contacts.

    This concerns groups of rows that share a load and contain a sliding contact. Their sticking friction takes only the
    part of the load that normal forces cannot carry.

    Parameters
    ----------
    W : (r, r) accelerations per unit force along each row
    contacts, elements : rows of the closed contacts, and the friction elements
    compliance : (r,) relative compliances of the rows without this rule
    """
    sticking = [element for element in elements if element.slip_direction is None]
    sliding = {element.contact for element in elements if element.slip_direction is not None}
    rows = {*contacts, *(row for element in sticking for row in element.rows)}
    active = np.array(sorted(row for row in rows if W[row, row] > 0), dtype=int)
    found = compliance.copy()
    for group in load_sharing_groups(redistribution_basis(W, active), active, elements):
        if not sliding.isdisjoint(group):
            for element in sticking:
                if element.contact in group:
                    found[element.rows] *= YIELDING
    return found


def redistribution_basis(W: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (r, d) of the redistributions of load among the rows with indices `active`.

    W (r, r) are the accelerations per unit force along each row.
    """
    redundant = load_subspaces(W, active)[1]
    redistributions = np.zeros((len(W), redundant.shape[1]))
    redistributions[active] = np.linalg.qr(redundant / np.sqrt(np.diag(W)[active])[:, None])[0]
    return redistributions


def load_sharing_groups(
    redistributions: np.ndarray, active: np.ndarray, elements: Sequence[FrictionElement]
) -> list[list[int]]:
    """Return the groups of constrained rows among which load can be redistributed.

    `active` are the indices of the constrained rows, and `redistributions` (r, d) is a basis of all
    redistributions of load. The row of a contact and those of its friction (in `elements`) belong to one group.
    """
    together = [[element.contact, *element.rows] for element in elements if element.contact is not None]
    return groups_by_projector(redistributions @ redistributions.T, active.tolist(), together)


def groups_by_projector(
    projector: np.ndarray, active: Sequence[int], together: Sequence[Sequence[int]]
) -> list[list[int]]:
    """Return the groups of rows among which load can be redistributed, as lists of indices.

    Parameters
    ----------
    projector : (r, r) orthogonal projector onto the redistributions of load
    active : constrained rows
    together : rows that belong to one group, such as those of a contact and of its friction
    """
    linked = np.abs(projector) > MIN_SHARE
    for rows in together:
        linked[np.ix_(rows, rows)] = True
    return [group for group in _connected_components(linked, active) if projector[group, group].max() > MIN_SHARE]


def coupled_groups(W: np.ndarray, elements: Sequence[FrictionElement]) -> list[list[int]]:
    """Return groups of coupled rows, as sorted lists of indices.

    A force along one row may accelerate other rows of its group, but no row outside. W (r, r) are the accelerations per
    unit force along each row. All rows of a friction element belong to one group, with those on which its normal load
    depends: the row of its contact, or rows along which forces load its joint.
    """
    scale = np.sqrt(np.diag(W))
    linked = np.abs(W) > DEPENDENT * np.outer(scale, scale)
    for element in elements:
        own = [*element.rows] if element.contact is None else [element.contact, *element.rows]
        if isinstance(element.normal_load, NormalLoad):
            own += np.flatnonzero((np.abs(element.normal_load.bearings()[1]) > DEPENDENT).any(axis=0)).tolist()
        linked[np.ix_(own, own)] = True
    return _connected_components(linked, range(len(W)))


def _connected_components(linked: np.ndarray, active: Sequence[int]) -> list[list[int]]:
    """Return the connected components of the graph of the nodes `active` with the adjacency matrix `linked`."""
    components, unvisited = [], set(active)
    while unvisited:
        component, frontier = set[int](), {unvisited.pop()}
        while frontier:
            component |= frontier
            frontier = {row for row in unvisited if linked[row, sorted(frontier)].any()}
            unvisited -= frontier
        components.append(sorted(component))
    return components


def load_subspaces(W: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal bases of the loads of h rows with effect on the motion (h, i), and without effect (h, d).

    `active` are the indices of the h constrained rows in W, the accelerations of rows per unit load. Rows are scaled so
    that their diagonal in W is 1; eigenvalues of the scaled W below `DEPENDENT` times the largest count as zero.
    """
    scale = np.sqrt(np.diag(W)[active])
    sizes, vectors = np.linalg.eigh(W[np.ix_(active, active)] / scale[:, None] / scale)
    redundant = sizes <= DEPENDENT * sizes[-1]
    return vectors[:, ~redundant], vectors[:, redundant]
