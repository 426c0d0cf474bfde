"""Rows of contacts and friction whose dependence changes as the bodies move relative to each other.

Rows that depend on each other share loads, see `quirk.forces.load_shares`. Between two bodies at rest relative to each
other, and between points or spheres of one body and parallel planes of another, the dependence is the same at all
times, and so are the weights of the multipliers in the loads. In other groups of rows it changes with the poses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.constraints import Constraint, Contact
from quirk.dynamics.contact.contact_modes import DEPENDENT
from quirk.dynamics.contact.load_sharing import MIN_SHARE, LoadDistribution, coupled_groups, load_subspaces
from quirk.dynamics.model.friction_normal_load import NormalLoad
from quirk.forces.load_shares import ForcesOfRows, LeftOutRow, SharedRows

from .contact_rows import ContactRows

# Number of relative degrees of freedom of two bodies.
FREEDOMS = 6
# Surfaces whose contact points with a plane are fixed in the body.
POINTS = ("point", "sphere")


@dataclass(frozen=True)
class TurningRows:
    """Rows of a contact problem among which a run distributes loads at each state.

    The problem has r rows; of those that share loads, d are left out.

    Attributes
    ----------
    shared : these rows, without those of contacts without load, on which the motion does not depend
    watched : all of these rows
    places : index of each of them among the kept rows, followed by those left out and those without load, by its index
        in the problem
    left_out : (d,) indices in the problem of the rows that are left out
    redistributions : (r, d) changes of the forces along all rows, N, due to a unit multiplier of each row left out
    factors : (r,) force, N, per unit multiplier of each row
    """

    shared: SharedRows
    watched: SharedRows
    places: dict[int, int]
    left_out: list[int]
    redistributions: np.ndarray
    factors: np.ndarray

    def forces(self, rows: Sequence[int], combinations: np.ndarray | None = None) -> ForcesOfRows | None:
        """Return the forces along the rows with the indices `rows` as functions of multipliers; None if all constant.

        `combinations` (d, f) are the multipliers of the rows left out in each of f redistributions; indices of -1 stand
        for forces without a row.
        """
        places = tuple(self.places.get(row, -1) for row in rows)
        if all(place < 0 for place in places):
            return None
        factors = tuple(float(self.factors[row]) if row >= 0 else 0.0 for row in rows)
        used = () if combinations is None else tuple(map(tuple, combinations.tolist()))
        return ForcesOfRows(self.watched, places, factors, used)


def turning_rows(
    rows: ContactRows,
    distribution: LoadDistribution,
    names: Sequence[tuple[str, int]],
    contacts: Sequence[Constraint],
    unloaded: Sequence[int],
    left_out_row: Callable[[int], LeftOutRow],
) -> TurningRows | None:
    """Return the rows whose dependence changes as the bodies move, or None if there are none.

    Parameters
    ----------
    rows, distribution : the r rows of the contact problem, and loads along them
    names : constraint and index of each independent row
    contacts : the closed contacts, in the order of their rows
    unloaded : indices of the rows of closed contacts without load that depend on the independent rows
    left_out_row : function that returns a row as one that a run leaves out, from its index in the problem
    """
    # Loads of joints are functions of all redistributions.
    every = any(isinstance(element.normal_load, NormalLoad) for element in rows.elements)
    groups = [group for group in distribution.groups if every or not _is_fixed(rows, group, contacts)]
    kept = distribution.rows.tolist()
    left_out = [row for group in groups for row in group if row not in kept]
    balances = -np.linalg.solve(rows.W[np.ix_(kept, kept)], rows.W[kept])
    beside = [[row, *(kept[n] for n in np.flatnonzero(np.abs(balances[:, row]) > MIN_SHARE))] for row in unloaded]
    without_load = [group[0] for group in beside if every or not _is_fixed(rows, group, contacts)]
    if not left_out and not without_load:
        return None
    redistributions = np.zeros((len(rows.W), len(left_out)))
    for k, row in enumerate(left_out):
        group = next(group for group in groups if row in group)
        own = [n for n, one in enumerate(kept) if one in group]
        redistributions[[kept[n] for n in own], k] = balances[own, row]
        redistributions[row, k] = 1.0
    arms = rows.arms
    # As bodies turn, other rows that are coupled with these come to share the load.
    involved = {row for group in groups for row in group}
    turning = {
        row for region in coupled_groups(rows.W, rows.elements) if involved.intersection(region) for row in region
    }
    fixed = {row for group in distribution.groups if group not in groups for row in group}
    places = {row: n for n, row in enumerate(kept) if row in turning - fixed}
    places |= {row: len(kept) + k for k, row in enumerate([*left_out, *without_load])}
    compliance = tuple((rows.compliance / arms**2)[[*kept, *left_out, *without_load]].tolist())
    spare, idle = (tuple(map(left_out_row, those)) for those in (left_out, without_load))
    shared = SharedRows(tuple(names), spare, compliance[: len(compliance) - len(idle)])
    watched = SharedRows(tuple(names), spare, compliance, idle)
    return TurningRows(shared, watched, places, left_out, redistributions / arms[left_out], 1.0 / arms)


def _is_fixed(rows: ContactRows, group: Sequence[int], contacts: Sequence[Constraint]) -> bool:
    """Whether the dependence of a group of rows remains the same while the contacts of the group keep their states.

    The rows must be those of one pair of bodies. Either they prevent all relative motion, or they are those of points
    or spheres on parallel planes.
    """
    directions = rows.kinematics.force_directions[list(group)]
    acts = np.abs(directions).max(axis=2) > 0.0
    if (acts != acts[0]).any():
        return False
    body = int(np.flatnonzero(acts[0])[0])
    loads = directions[:, body] / [1.0, 1.0, 1.0, *(3 * [rows.length])]
    sizes = np.linalg.svd(loads, compute_uv=False)
    rank = int((sizes**2 > DEPENDENT * sizes[0] ** 2).sum())
    if rank == FREEDOMS:
        return True
    by_pair = load_subspaces(rows.W, np.array(group))[0].shape[1] == rank
    parallel = np.linalg.svd(loads[:, :3], compute_uv=False)[1:].max(initial=0.0) <= np.sqrt(DEPENDENT) * sizes[0]
    on_planes = all(row < rows.contact_count and is_point_on_plane(contacts[row]) for row in group)
    return by_pair and bool(parallel) and on_planes


def is_point_on_plane(constraint: Constraint) -> bool:
    """Whether a constraint is the contact of a point or sphere with an unbounded plane."""
    if not isinstance(constraint, Contact) or constraint.parts is not None:
        return False
    kinds = {surface.kind for surface in constraint.surfaces}
    return "plane" in kinds and not kinds.isdisjoint(POINTS)
