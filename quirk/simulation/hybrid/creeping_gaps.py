"""Closed gaps that other rows hold at zero, perhaps only at an instant.

A run leaves out the rows of closed gaps that depend on others. Between two bodies the dependence may last, as for four
points of a box on a plane. Where other bodies or constraints take part, as for a box on a floor that a fork is about to
lift, it may end without a change of loads: the gap then creeps open or shut. Its rate is watched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quirk.analysis.contact.contact_kinematics import ContactKinematics, Gaps
from quirk.dynamics.contact.contact_modes import DEPENDENT

from .contact_states import ContactState
from .turning_rows import FREEDOMS, is_point_on_plane

# A gap creeps if its rate exceeds CREEP times the speed below which contacts stay closed, and ABOVE_ROUND_OFF times the
# round-off of rates.
CREEP, ABOVE_ROUND_OFF = 1e-3, 1e2
# Kind of the event at which a gap creeps; its rate then exceeds the limit by less than the factor CREPT.
CREEPS, CREPT = "creep", 1.0 + 1e-3


def creep_limits(
    gaps: Gaps,
    kinematics: ContactKinematics,
    state: ContactState,
    speeds: Mapping[tuple[str, int], tuple[float, float]],
    length: float,
) -> dict[tuple[str, int], float]:
    """Return the rates (m/s or rad/s) beyond which gaps creep, by key, of those that rows may hold only at an instant.

    Gaps that creep already, as no load can stop them, are left out.

    Parameters
    ----------
    gaps : all gaps and slip components of the system
    kinematics : their values and force directions
    state : the contact state
    speeds : rates, m/s or rad/s, below which each closed gap stays closed, and below which its rate is round-off, by
        key
    length : characteristic length of the system, m
    """
    number = {point.key: c for c, point in enumerate(gaps.contact_points)}
    kept, found = _kept_rows(gaps, state), {}
    for c in (number[key] for key in state.redundant):
        separation, round_off = speeds[gaps.contact_points[c].key]
        limit = max(CREEP * separation, ABOVE_ROUND_OFF * round_off)
        if abs(kinematics.rate[c]) < limit < separation and not _depends_for_good(gaps, kinematics, c, kept, length):
            found[gaps.contact_points[c].key] = limit
    return found


def _kept_rows(gaps: Gaps, state: ContactState) -> list[int]:
    """Return the indices, among all gaps and slip components, of those for which a run has rows in a contact state."""
    kept = [
        c
        for c, point in enumerate(gaps.contact_points)
        if gaps.row_of(point) == state.loaded.get(point.constraint.name, (-1, 0.0))[0]
    ]
    for k, slip in enumerate(gaps.slip_rows, len(gaps.contact_points)):
        mode = state.friction.get(slip.component.name)
        if mode is not None and slip.side == mode.side and slip.component.number in (mode.sticking_components or ()):
            kept.append(k)
    return kept


def _depends_for_good(gaps: Gaps, kinematics: ContactKinematics, c: int, kept: Sequence[int], length: float) -> bool:
    """Whether the row of the gap c depends on those of the list `kept` in all positions that these rows allow.

    They must be rows of the same two bodies that either prevent all relative motion, or belong to points and spheres on
    parallel planes.
    """
    acts = np.abs(kinematics.force_directions).max(axis=2) > 0.0
    own = [k for k in kept if (acts[k] == acts[c]).all()]
    body = int(np.flatnonzero(acts[c])[0])
    rows = kinematics.force_directions[[c, *own], body] / [1.0, 1.0, 1.0, *(3 * [length])]
    if _rank(rows[1:]) == FREEDOMS:
        return True
    points = gaps.contact_points
    on_planes = [
        n
        for n, k in enumerate([c, *own])
        if k < len(points)
        and is_point_on_plane(points[k].constraint)
        and np.linalg.norm(np.cross(rows[n, :3], rows[0, :3])) <= np.sqrt(DEPENDENT)
    ]
    return on_planes[:1] == [0] and _rank(rows[on_planes]) == _rank(rows[on_planes[1:]])


def _rank(rows: np.ndarray) -> int:
    """Return the rank of a matrix (k, 6) of rows."""
    sizes = np.linalg.svd(rows, compute_uv=False) if len(rows) else np.zeros(1)
    return int((sizes**2 > DEPENDENT * sizes[0] ** 2).sum())
