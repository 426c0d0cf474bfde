"""Distributions of a load over sticking joints and contacts within the limits of their friction.

Members are the sticking joints and contacts that share the load. The forces along their r rows are `present` + `ways`
z, with the amounts z (d,) of d redistributions of the load.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dynamics.contact.contact_modes import DEPENDENT
from ..dynamics.contact.friction_cones import LOADS, is_inside_cones, least_norm_loads
from ..dynamics.contact.largest_margin import BALL, COMPONENTS, BearingForces, loads_of_largest_margin_with_joints
from ..dynamics.model.friction_normal_load import ConstantLoad, NormalLoad
from .sticking_members import Limits, StickingMember


def least_norm_redistribution(
    members: Sequence[StickingMember], present: np.ndarray, ways: np.ndarray, bounds: np.ndarray, soft: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return the redistribution with forces of least weighted sum of squares, and whether it is within the limits.

    The result is an array (d,) with the amount of each of d redistributions. If no distribution is within the limits of
    friction, it is the one of least weighted sum without limits.

    Parameters
    ----------
    members : sticking joints and contacts that share the load
    present : (r,) forces along their r rows without redistribution
    ways : (r, d) changes of these forces per unit of each redistribution
    bounds : limits of joints, N, by member
    soft : compliances of the rows, the weights of the squared forces, by member
    """
    scale, row = np.ones(len(present)), 0
    places, limits = list[int](), list[float]()
    for member, bound, compliance in zip(members, bounds, soft, strict=True):
        rows = range(row, row := row + len(member.own))
        places += [*rows, *(-1 for _ in range(LOADS - len(rows)))]
        scale[rows] = np.sqrt(compliance)
        # A limit of zero would be that of a contact.
        limits.append(0.0 if member.friction is None else max(np.sqrt(compliance) * bound, np.finfo(float).tiny))
    start, ways = scale * present, scale[:, None] * ways
    V = np.linalg.qr(ways, mode="complete")[0][:, ways.shape[1] :]
    c, some = V.T @ start, np.array(places) >= 0
    padded = np.where(some[:, None], V[places], 0.0)
    free, known = padded @ c, (np.array([member.coefficient for member in members]), np.array(limits))
    found = free if is_inside_cones(free, *known) else least_norm_loads(padded, c, *known)
    forces = np.zeros(len(present))
    forces[np.array(places)[some]] = (free if found is None else found)[some]
    return np.linalg.lstsq(ways, forces - start, rcond=DEPENDENT)[0], found is not None


def largest_margin_redistribution(
    members: Sequence[StickingMember], limits: Limits, present: np.ndarray, directions: np.ndarray, ways: np.ndarray
) -> np.ndarray:
    """Return the redistribution with the largest margin to the limits of friction, as amounts (d,).

    Parameters
    ----------
    members : sticking joints and contacts that share the load
    limits : their limits, functions of k redistributed forces
    present : (r,) forces along their r rows without redistribution
    directions : (k, d) changes of the redistributed forces per unit of each of d redistributions
    ways : (r, d) changes of the forces along the rows per unit of each redistribution
    """
    spans, row = list[range](), 0
    for member in members:
        spans.append(range(row, row := row + len(member.own)))
    loads, basis = np.zeros(COMPONENTS * len(members)), np.zeros((COMPONENTS * len(members), ways.shape[1]))
    cones, balls, bearings = np.zeros(len(members)), list[int](), list[BearingForces]()
    # Constant limits are those of a common normal load, N, so that all margins are forces.
    common = max((static * load.value for static, load in limits.loads if isinstance(load, ConstantLoad)), default=0.0)
    for k in range(len(members)):
        (static, load), contact = limits.loads[k], members[k].friction is None
        first = COMPONENTS * k + (not contact)
        loads[first : first + len(spans[k])], basis[first : first + len(spans[k])] = present[spans[k]], ways[spans[k]]
        coefficient = members[k].coefficient if contact else static
        if isinstance(load, NormalLoad):
            forces, changes = load.bearings()
            bearings.append(BearingForces(k, forces, changes @ directions))
        elif not contact:
            loads[COMPONENTS * k], coefficient = common, static * load.value / common
        cones[k] = 1 / coefficient if 0 < coefficient < np.inf else 0.0
        if not contact and len(spans[k]) == BALL:
            balls.append(k)
    found, _ = loads_of_largest_margin_with_joints(loads, basis, cones, balls, bearings)
    return np.asarray(np.linalg.lstsq(basis, found - loads, rcond=DEPENDENT)[0])
