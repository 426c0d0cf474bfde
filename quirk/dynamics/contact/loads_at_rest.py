"""Static loads: forces that keep contacts and non-sliding friction at rest, within the limits of friction.

A contact problem has r rows, one for each gap and for each slip component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.friction_normal_load import ConstantLoad, NormalLoad
from .contact_modes import CONTACT, DEPENDENT, FrictionElement, joint_normal_load
from .largest_margin import BALL, COMPONENTS, BearingForces, loads_of_largest_margin_with_joints
from .load_sharing import (
    MIN_SHARE,
    coupled_groups,
    load_sharing_groups,
    load_subspaces,
    redistribution_basis,
    redistributions_within,
    unchanged,
)

# Redundant rows depend on the other rows only up to round-off and drift, so that loads cause small accelerations along
# them. The rows count as at rest up to this multiple of these accelerations, as applied loads have a similar effect.
DEPENDENCE_ERROR = 10.0
# Largest number of iterations for the friction of joints that slide, and relative change at which they end.
MOST_ITERATIONS, SETTLED = 100, 1e-13


def loads_with_all_sticking(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], elements: Sequence[FrictionElement], compliance: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return forces (r,) that keep all contacts and non-sliding friction at rest, and their margin to friction limits.

    The forces of minimum norm are returned if they are inside the friction cones and limits, otherwise the forces with
    the largest margin; a negative margin means that they are outside. The result is None if no forces keep all contacts
    and friction at rest. W (r, r) are the accelerations per unit force along each row, q (r,) those without forces,
    `contacts` the rows of closed contacts, and `elements` the friction elements.

    If contacts slide, the forces are distributed as by springs of the relative compliances `compliance` (r,), as in a
    run, and the normal forces of sliding contacts must be positive. The margin is then the largest one over all
    redistributions of load among sticking and sliding contacts, with sliding friction proportional to its normal force.
    Redistributions that change the motion are left out.

    The friction of joints that slide is that for the forces of minimum norm, as in a run; it is found by iteration.
    Redistributions that would change it are left out.
    """
    sliding = [element for element in elements if element.contact is None and element.slip_direction is not None]
    others = [element for element in elements if element.contact is not None or element.slip_direction is None]
    known = np.zeros(len(W))
    for _ in range(MOST_ITERATIONS):
        found = _loads_beside(known, sliding, W, q, contacts, others, compliance)
        if found is None:
            return None
        z, margin, springs = found
        friction = _sliding_friction(sliding, springs + known)
        if np.abs(friction - known).max(initial=0.0) <= SETTLED * np.abs(friction).max(initial=0.0):
            return z + known, margin
        known = friction
    return None


def _sliding_friction(sliding: Sequence[FrictionElement], z: np.ndarray) -> np.ndarray:
    """Return the friction forces (r,) of joints that slide, for the forces z (r,) along all rows."""
    forces = np.zeros(len(z))
    for element in sliding:
        assert element.slip_direction is not None
        forces[element.rows] = -element.coefficient * joint_normal_load(element, z)[0] * element.slip_direction
    return forces


def _loads_beside(
    known: np.ndarray,
    sliding_joints: Sequence[FrictionElement],
    W: np.ndarray,
    q: np.ndarray,
    contacts: Sequence[int],
    elements: Sequence[FrictionElement],
    compliance: np.ndarray,
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return forces (r,) that keep contacts and friction at rest beside `known` forces (r,), and their margin.

    The known forces are the friction of `sliding_joints`, which are not among `elements`; redistributions do not change
    their normal loads. The third result are the forces of minimum norm. For the other arguments and results see
    `loads_with_all_sticking`.
    """
    supports = _supports(W, contacts, elements)
    static = _static_loads(W, q + W @ known, supports, elements, compliance) if supports is not None else None
    if supports is None or static is None:
        return None
    B, u, A = static
    z, inverse_coefficients = B @ u, np.array([support.inverse_coefficient for support in supports])
    for k, support in enumerate(supports):
        if support.normal_load is not None:
            u[COMPONENTS * k] = support.normal_load(z + known)[0]
    loads = u.reshape(-1, COMPONENTS)
    margin = float((loads[:, 0] - inverse_coefficients * np.linalg.norm(loads[:, 1:], axis=1)).min(initial=np.inf))
    if margin > 0:
        return z, margin, z
    redistributions, bearings = _null_space(A, np.flatnonzero(~B.any(axis=0))), list[BearingForces]()
    redistributions = redistributions @ unchanged(sliding_joints, B @ redistributions)
    if redistributions.shape[1]:
        redistributions = redistributions @ _keeping_slip(W, contacts, elements, B @ redistributions)
    fixed = _fixed_loads(W, supports, [*elements, *sliding_joints])
    if fixed and redistributions.shape[1]:
        _, sizes, right = np.linalg.svd(redistributions[fixed])
        redistributions = redistributions @ right[int((sizes > 0.5).sum()) :].T
    for k, support in enumerate(supports):
        if isinstance(support.normal_load, NormalLoad):
            forces, changes = support.normal_load.bearings()
            bearings.append(BearingForces(k, forces + changes @ (z + known), changes @ B @ redistributions))
    balls = [k for k, support in enumerate(supports) if support.normal_load is not None and len(support.rows) == BALL]
    shared, margin = loads_of_largest_margin_with_joints(u, redistributions, inverse_coefficients, balls, bearings)
    sliding = {element.contact for element in elements if element.slip_direction is not None}
    slides = np.array([c in sliding for c in contacts], dtype=bool)
    if slides.any():
        return z, min(margin, float(loads[: len(slides)][slides, 0].min())), z
    return B @ shared, margin, z


@dataclass(frozen=True)
class _Support:
    """A closed contact, or a joint with sticking friction, among which the load is distributed.

    Attributes
    ----------
    columns : (r, 4) forces along all rows per unit of its normal force and three components of friction
    inverse_coefficient : inverse coefficient of static friction; 0 if it slides or has no friction
    rows : indices of its constrained rows
    normal_load : normal load of a joint, on which the limit of friction depends; None for a contact
    """

    columns: np.ndarray
    inverse_coefficient: float
    rows: list[int]
    normal_load: NormalLoad | ConstantLoad | None = None


def _supports(W: np.ndarray, contacts: Sequence[int], elements: Sequence[FrictionElement]) -> list[_Support] | None:
    """Return the contacts, in their order, and the joints with sticking friction that carry load at rest.

    The result is None if there are elements of other types: contacts with several friction elements or with slip along
    a line. W (r, r) are the accelerations per unit force along each row, and `elements` are the friction elements,
    without joints that slide.
    """
    found = []
    for c in contacts:
        columns, own = np.zeros((len(W), COMPONENTS)), [element for element in elements if element.contact == c]
        columns[c, 0] = 1.0
        sticking = [element for element in own if element.slip_direction is None]
        for element in own:
            if element.slip_direction is not None:
                columns[element.rows, 0] -= element.coefficient * element.slip_direction
        if len(sticking) > 1 or any(len(element.rows) != CONTACT or not element.static > 0 for element in sticking):
            return None
        for element in sticking:
            columns[element.rows, [1, 2]] = 1.0
        rows = [c, *(row for element in sticking for row in element.rows)]
        found.append(_Support(columns, 1 / sticking[0].static if sticking else 0.0, rows))
    joints = [element for element in elements if element.contact is None]
    constants = [
        element.static * load.value for element in joints if isinstance(load := element.normal_load, ConstantLoad)
    ]
    # Constant limits are those of a common normal load, N, so that all margins are forces.
    common = max(constants, default=0.0)
    for element in joints:
        if not element.static > 0:
            return None
        # Drivers and other constraints prescribe the slip of rows without response.
        columns, rows = np.zeros((len(W), COMPONENTS)), [row for row in element.rows if W[row, row] > 0]
        columns[rows, 1 + np.arange(len(rows))] = 1.0
        coefficient, load = element.static, element.normal_load
        if isinstance(load, ConstantLoad):
            coefficient, load = coefficient * load.value / common, ConstantLoad(common)
        found.append(_Support(columns, 1 / coefficient, rows, load))
    return found


def _fixed_loads(W: np.ndarray, supports: Sequence[_Support], elements: Sequence[FrictionElement]) -> list[int]:
    """Return the indices of loads (4 m,) that are not redistributed, as in a run.

    They are those of regions with both sliding contacts and joints whose limit of friction depends on their load.
    """
    fixed = set[int]()
    for region in coupled_groups(W, elements):
        own = [element for element in elements if element.rows[0] in region]
        slides = any(element.contact is not None and element.slip_direction is not None for element in own)
        if slides and any(isinstance(element.normal_load, NormalLoad) for element in own):
            fixed.update(region)
    return [
        COMPONENTS * k + c
        for k, support in enumerate(supports)
        if not fixed.isdisjoint(support.rows)
        for c in range(COMPONENTS)
    ]


def _keeping_slip(
    W: np.ndarray, contacts: Sequence[int], elements: Sequence[FrictionElement], changes: np.ndarray
) -> np.ndarray:
    """Return a basis (d, k) of the combinations of redistributions that do not change the accelerations of slip.

    `changes` (r, d) are the changes of the forces along all rows by each redistribution, with those of sliding
    friction; for the other arguments see `loads_with_all_sticking`.
    """
    sliding = [element for element in elements if element.contact in contacts and element.slip_direction is not None]
    slip = [row for element in sliding for row in element.rows if W[row, row] > 0]
    if not slip:
        return np.eye(changes.shape[1])
    scaled = W[slip] / np.sqrt(np.diag(W)[slip])[:, None]
    _, sizes, right = np.linalg.svd(scaled @ changes, full_matrices=True)
    return np.asarray(right[int((sizes > MIN_SHARE * np.abs(scaled).max() * np.abs(changes).max()).sum()) :].T)


def _null_space(A: np.ndarray, idle: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, d) of the vectors u with A u = 0 and with zeros at the indices `idle`."""
    _, sizes, right = np.linalg.svd(A, full_matrices=True)
    basis = right[int((sizes > DEPENDENT * sizes[0]).sum()) :].T.copy()
    basis[idle] = 0.0
    vectors, lengths, _ = np.linalg.svd(basis, full_matrices=False)
    return np.ascontiguousarray(vectors[:, lengths > 0.5])


def _static_loads(
    W: np.ndarray,
    q: np.ndarray,
    supports: Sequence[_Support],
    elements: Sequence[FrictionElement],
    compliance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return loads u (4 m,) of m contacts and joints that keep their rows at rest, or None if there are none.

    The results are the forces (r, 4 m) along all rows per unit of each load; the loads u of minimum norm, with zeros
    for normal loads of joints; and a matrix A (k, 4 m) with A y = 0 for all redistributions y of the load. W (r, r) are
    the accelerations per unit force, q (r,) those without forces, and `compliance` (r,) the relative compliances of the
    rows.
    """
    B, active = np.concatenate([support.columns for support in supports], axis=1), np.zeros(len(q), dtype=bool)
    for support in supports:
        active[support.rows] = True
    active &= np.diag(W) > 0
    scale = 1 / np.sqrt(np.diag(W)[active])
    every, goal = scale[:, None] * (W[active] @ B), -scale * q[active]
    independent, redundant = load_subspaces(W, np.flatnonzero(active))
    static = independent.T @ every
    sliding, mixed = (rows @ B for rows in _spring_distribution(W, np.flatnonzero(active), elements, compliance))
    A = np.concatenate([static, sliding, mixed])
    b = np.concatenate([independent.T @ goal, np.zeros(len(sliding) + len(mixed))])
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    u = right[:rank].T @ (left[:, :rank].T @ b / sizes[:rank])
    # Tangential columns of contacts without friction are zero, as are normal columns of joints.
    idle = np.flatnonzero(~B.any(axis=0))
    u[idle] = 0.0
    # Loads that balance each other leave round-off, which is small compared with the limits of friction.
    limits = [
        support.normal_load(np.zeros(len(q)))[0] / support.inverse_coefficient * np.sqrt(np.diag(W)[support.rows]).max()
        for support in supports
        if support.normal_load is not None and support.rows
    ]
    exact = DEPENDENT * max(np.abs(goal).max(initial=0.0), *limits, 0.0)
    if np.abs(A @ u - b).max(initial=0.0) > exact:
        return None
    # Redundant rows are at rest up to the accelerations due to their inexact dependence on the other rows.
    depends = redundant.T @ every
    if (np.abs(depends @ u - redundant.T @ goal) > exact + DEPENDENCE_ERROR * np.abs(depends) @ np.abs(u)).any():
        return None
    return B, u, np.concatenate([static, sliding])


def _spring_distribution(
    W: np.ndarray, every: np.ndarray, elements: Sequence[FrictionElement], compliance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices E (k, r) with E z = 0 for forces z (r,) distributed as by springs among sliding contacts.

    The first matrix is for groups of contacts that all slide, the second for sliding contacts that share a load with
    sticking contacts. The equations express that forces of minimum norm are orthogonal to all redistributions of load.
    `every` are the indices of the constrained rows, and `compliance` (r,) the relative compliances of all rows. The
    equations are scaled by the square root of the diagonal of W.
    """
    redistributions, sliding, mixed = redistribution_basis(W, every), [np.zeros((0, len(W)))], [np.zeros((0, len(W)))]
    sliding_contacts = {element.contact for element in elements if element.slip_direction is not None}
    if sliding_contacts and redistributions.shape[1]:
        for group in load_sharing_groups(redistributions, every, elements):
            if not sliding_contacts.isdisjoint(group):
                rows = compliance * redistributions_within(redistributions, group).T
                size = np.sqrt(np.diag(W)[group].mean()) / np.abs(rows).max(axis=1, initial=0.0)
                sticks = any(element.slip_direction is None and element.has_rows_in(group) for element in elements)
                (mixed if sticks else sliding).append(size[:, None] * rows)
    return np.concatenate(sliding), np.concatenate(mixed)
