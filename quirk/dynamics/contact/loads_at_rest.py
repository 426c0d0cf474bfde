"""Forces that keep all contacts and all friction that does not slide at rest, within the limits of friction.

A contact problem has r rows, one for each gap and for each slip component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.friction_normal_load import ConstantLoad, NormalLoad
from ..sparse.kernels.room import LOADS
from .contact_modes import DEPENDENT, Grip
from .load_sharing import combinations, groups_of, redistributions, within
from .most_room import BearingForces, with_most_room

# Redundant rows depend on the other rows only up to round-off and drift, so that loads cause small accelerations along
# them. The rows count as at rest up to UNEVEN times these accelerations, as applied loads have a similar effect.
UNEVEN = 10.0


def held_by_all(
    W: np.ndarray, q: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip], compliance: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return forces (r,) that keep all contacts and non-sliding friction at rest, and their margin to friction limits.

    The forces of minimum norm are returned if they are inside the friction cones and limits, otherwise the forces with
    the largest margin; a negative margin means that they are outside. The result is None if no forces keep all contacts
    and friction at rest. W (r, r) are the accelerations per unit force along each row, q (r,) those without forces,
    `contacts` the rows of closed contacts, and `grips` the friction elements.

    If contacts slide, the forces are distributed as by springs of the relative compliances `compliance` (r,), as in a
    run, and the normal forces of sliding contacts must be positive. The margin is then the largest one over all
    redistributions of load among sticking and sliding contacts, with sliding friction proportional to its normal force.
    """
    carriers = _carriers(W, contacts, grips)
    still = _still(W, q, carriers, grips, compliance) if carriers is not None else None
    if carriers is None or still is None:
        return None
    B, u, A = still
    z, cones = B @ u, np.array([of.cone for of in carriers])
    for k, carrier in enumerate(carriers):
        u[LOADS * k] = u[LOADS * k] if carrier.load is None else carrier.load(z)[0]
    loads = u.reshape(-1, LOADS)
    far = float((loads[:, 0] - cones * np.linalg.norm(loads[:, 1:], axis=1)).min(initial=np.inf))
    if far > 0:
        return z, far
    ways, bearings = _null_space(A, np.flatnonzero(~B.any(axis=0))), list[BearingForces]()
    for k, carrier in enumerate(carriers):
        if isinstance(carrier.load, NormalLoad):
            forces, changes = carrier.load.bearings()
            bearings.append(BearingForces(k, forces + changes @ z, changes @ B @ ways))
    shared, far = with_most_room(u, ways, cones, bearings)
    sliding = {grip.contact for grip in grips if grip.moving is not None}
    slides = np.array([c in sliding for c in contacts], dtype=bool)
    if slides.any():
        return z, min(far, float(loads[: len(slides)][slides, 0].min()))
    return B @ shared, far


@dataclass(frozen=True)
class _Carrier:
    """A closed contact, or a joint with sticking friction, among which the load is distributed.

    Attributes
    ----------
    columns : (r, 3) forces along all rows per unit of its normal force and two components of friction
    cone : inverse coefficient of static friction; 0 if it slides or has no friction
    rows : indices of its constrained rows
    load : normal load of a joint, on which the limit of friction depends; None for a contact
    """

    columns: np.ndarray
    cone: float
    rows: list[int]
    load: NormalLoad | ConstantLoad | None = None


def _carriers(W: np.ndarray, contacts: Sequence[int], grips: Sequence[Grip]) -> list[_Carrier] | None:
    """Return the contacts, in their order, and the joints with sticking friction that carry load at rest.

    The result is None if there are elements of other types: joints that slide, ball joints with friction, contacts with
    several friction elements or with slip along a line. W (r, r) are the accelerations per unit force along each row,
    and `grips` are the friction elements.
    """
    found = []
    for c in contacts:
        columns, own = np.zeros((len(W), LOADS)), [grip for grip in grips if grip.contact == c]
        columns[c, 0] = 1.0
        sticking = [grip for grip in own if grip.moving is None]
        for grip in own:
            if grip.moving is not None:
                columns[grip.rows, 0] -= grip.coefficient * grip.moving
        if len(sticking) > 1 or any(len(grip.rows) != LOADS - 1 or not grip.static > 0 for grip in sticking):
            return None
        for grip in sticking:
            columns[grip.rows, [1, 2]] = 1.0
        rows = [c, *(row for grip in sticking for row in grip.rows)]
        found.append(_Carrier(columns, 1 / sticking[0].static if sticking else 0.0, rows))
    for grip in (grip for grip in grips if grip.contact is None):
        if grip.moving is not None or len(grip.rows) >= LOADS or not grip.static > 0:
            return None
        # Drivers and other constraints prescribe the slip of rows without response.
        columns, rows = np.zeros((len(W), LOADS)), [row for row in grip.rows if W[row, row] > 0]
        columns[rows, 1 + np.arange(len(rows))] = 1.0
        found.append(_Carrier(columns, 1 / grip.static, rows, grip.load))
    return found


def _null_space(A: np.ndarray, idle: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (n, d) of the vectors u with A u = 0 and with zeros at the indices `idle`."""
    _, sizes, right = np.linalg.svd(A, full_matrices=True)
    basis = right[int((sizes > DEPENDENT * sizes[0]).sum()) :].T.copy()
    basis[idle] = 0.0
    vectors, lengths, _ = np.linalg.svd(basis, full_matrices=False)
    return np.ascontiguousarray(vectors[:, lengths > 0.5])


def _still(
    W: np.ndarray, q: np.ndarray, carriers: Sequence[_Carrier], grips: Sequence[Grip], compliance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return loads u (3 m,) of m contacts and joints that keep their rows at rest, or None if there are none.

    The results are the forces (r, 3 m) along all rows per unit of each load; the loads u of minimum norm, with zeros
    for normal loads of joints; and a matrix A (k, 3 m) with A y = 0 for all redistributions y of the load. W (r, r) are
    the accelerations per unit force, q (r,) those without forces, and `compliance` (r,) the relative compliances of the
    rows.
    """
    B, held = np.concatenate([of.columns for of in carriers], axis=1), np.zeros(len(q), dtype=bool)
    for carrier in carriers:
        held[carrier.rows] = True
    held &= np.diag(W) > 0
    scale = 1 / np.sqrt(np.diag(W)[held])
    every, goal = scale[:, None] * (W[held] @ B), -scale * q[held]
    independent, redundant = combinations(W, np.flatnonzero(held))
    still = independent.T @ every
    sliding, mixed = (rows @ B for rows in _even(W, np.flatnonzero(held), grips, compliance))
    A = np.concatenate([still, sliding, mixed])
    b = np.concatenate([independent.T @ goal, np.zeros(len(sliding) + len(mixed))])
    left, sizes, right = np.linalg.svd(A, full_matrices=False)
    rank = int((sizes > DEPENDENT * sizes[0]).sum())
    u = right[:rank].T @ (left[:, :rank].T @ b / sizes[:rank])
    # Tangential columns of contacts without friction are zero, as are normal columns of joints.
    idle = np.flatnonzero(~B.any(axis=0))
    u[idle] = 0.0
    exact = DEPENDENT * np.abs(goal).max(initial=0.0)
    if np.abs(A @ u - b).max(initial=0.0) > exact:
        return None
    # Redundant rows are at rest up to the accelerations due to their inexact dependence on the other rows.
    depends = redundant.T @ every
    if (np.abs(depends @ u - redundant.T @ goal) > exact + UNEVEN * np.abs(depends) @ np.abs(u)).any():
        return None
    return B, u, np.concatenate([still, sliding])


def _even(
    W: np.ndarray, every: np.ndarray, grips: Sequence[Grip], compliance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return matrices E (k, r) with E z = 0 for forces z (r,) distributed as by springs among sliding contacts.

    The first matrix is for groups of contacts that all slide, the second for sliding contacts that share a load with
    sticking contacts. The equations express that forces of minimum norm are orthogonal to all redistributions of load.
    `every` are the indices of the constrained rows, and `compliance` (r,) the relative compliances of all rows. The
    equations are scaled by the square root of the diagonal of W.
    """
    ways, sliding, mixed = redistributions(W, every), [np.zeros((0, len(W)))], [np.zeros((0, len(W)))]
    moving = {grip.contact for grip in grips if grip.moving is not None}
    if moving and ways.shape[1]:
        for group in groups_of(ways, every, grips):
            if not moving.isdisjoint(group):
                rows = compliance * within(ways, group).T
                size = np.sqrt(np.diag(W)[group].mean()) / np.abs(rows).max(axis=1, initial=0.0)
                sticks = any(grip.moving is None and grip.rows[0] in group for grip in grips)
                (mixed if sticks else sliding).append(size[:, None] * rows)
    return np.concatenate(sliding), np.concatenate(mixed)
