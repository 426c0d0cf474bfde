"""Common margin of sticking contacts and joints that share a load, monitored during a run.

Forces along the r rows of a contact problem are linear functions of h constraint multipliers and of the amounts of d
redistributions of load, which do not change the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quirk.dynamics.contact.load_sharing import LoadDistribution
from quirk.dynamics.model.friction_normal_load import ConstantLoad, NormalLoad, bearing_forces
from quirk.dynamics.sparse.kernels.cone_margin import LOADS
from quirk.dynamics.sparse.kernels.friction_margin import BEARINGS
from quirk.events.names import CommonMargin
from quirk.forces.friction import Friction

from .contact_rows import ContactRows
from .turning_rows import TurningRows


def common_margin(
    rows: ContactRows,
    distribution: LoadDistribution,
    names: tuple[tuple[str, int], ...],
    group: Sequence[int],
    members: Sequence[int],
    redistributions: np.ndarray,
    sliding: Sequence[str | None],
    level: float,
    turning: TurningRows | None,
    combinations: np.ndarray,
) -> CommonMargin:
    """Return the common margin of sticking contacts and joints that share a load, as a quantity monitored for an event.

    It is the margin to the limits of friction, maximized over all redistributions of the load.

    Parameters
    ----------
    rows, distribution : the r rows of the contact problem, and loads along them
    names : constraint and row index of each of the h multipliers
    group : indices of the rows that share the load
    members : indices of the sticking friction elements of these rows
    redistributions : (r, f) changes of the forces along the rows by f redistributions of the load within the group,
        without the part that is computed at each state
    sliding : name of the sliding friction element of each contact of the group, or None
    level : margin, N, at which the event occurs
    turning, combinations : rows whose dependence changes as the bodies move, or None, and multipliers (d, f) of those
        that are left out in each redistribution
    """
    cones, frictions = _cones_of(rows, group, members), rows.friction_elements
    order, coefficients, loaded, balls = cones.rows, cones.coefficients, cones.loaded, cones.balls
    known = (np.array(order) >= 0)[:, None]
    redistributions, combinations = (np.pad(of, ((0, 0), (0, len(balls)))) for of in (redistributions, combinations))
    basis = redistributions[order] * known
    for k, first in enumerate(balls, redistributions.shape[1] - len(balls)):
        basis[[first, first + LOADS + 1], k] = 1.0
    bearings = [_bearing_forces(rows, distribution, n, group, redistributions) for n in loaded]
    # With limits in proportion to loads, the margin is a local maximum: the one nearest to the present loads.
    present = distribution.offset[order] * known[:, 0] * bool(loaded)
    return CommonMargin(
        frictions[members[0]],
        "common margin",
        None,
        level,
        tuple(frictions[n].name for n in members),
        names,
        tuple(np.concatenate([np.array(cones.constants) + present, *(of.constants for of in bearings)]).tolist()),
        _rows_of([distribution.weights[order] * known, *(of.weights for of in bearings)]),
        _rows_of([basis, *(of.redistributions for of in bearings)]),
        tuple(coefficients),
        (*sliding, *(None for _ in coefficients[len(sliding) :])),
        tuple(frictions[n].on for n in loaded),
        tuple(loaded.values()),
        _rows_of([of.per_load for of in bearings]),
        None if turning is None else turning.forces(order, combinations),
    )


class _Cones(NamedTuple):
    """Friction cones of the contacts and joints of a group; each cone has LOADS load components.

    Attributes
    ----------
    rows : index of the row of each component: normal load, followed by friction; -1 if there is none
    constants : constant part of each component; the limits of joints with constant friction, over `coefficients`
    coefficients : friction coefficient of each cone
    loaded : index of the cone of each joint with a limit in proportion to its load, by friction element
    balls : indices in `rows` of the first components of ball joints, which have two cones each
    """

    rows: list[int]
    constants: list[float]
    coefficients: list[float]
    loaded: dict[int, int]
    balls: list[int]


def _cones_of(rows: ContactRows, group: Sequence[int], members: Sequence[int]) -> _Cones:
    """Return the friction cones of a group of contacts and joints; see `common_margin` for the arguments."""
    elements, cones = rows.elements, _Cones([], [], [], {}, [])
    element_of = {elements[n].contact: elements[n] for n in members}
    for c in (row for row in group if row < rows.contact_count):
        element = element_of.get(c)
        cones.rows.extend([c, *(element.rows if element is not None else (-1, -1))])
        cones.constants.extend(LOADS * [0.0])
        cones.coefficients.append(element.static if element is not None else 0.0)
    joints = [n for n in members if elements[n].contact is None]
    limits = {
        n: elements[n].static * load.value for n in joints if isinstance(load := elements[n].normal_load, ConstantLoad)
    }
    for n in joints:
        held = [row if row in group else -1 for row in elements[n].rows]
        if len(held) == LOADS:
            # With an unknown a, |(t1, t2)| <= a and |(a, t3)| <= limit are the cone of three components.
            cones.balls.append(len(cones.rows))
            cones.rows.extend([-1, *held[:-1]])
            cones.constants.extend(LOADS * [0.0])
            cones.coefficients.append(1.0)
            held = [-1, held[-1]]
        cones.rows.extend([-1, *held, *(-1 for _ in range(LOADS - 1 - len(held)))])
        cones.constants.extend([max(limits.values()) if n in limits else 0.0, *(0.0 for _ in range(LOADS - 1))])
        if n not in limits:
            cones.loaded[n] = len(cones.coefficients)
        cones.coefficients.append(limits[n] / max(limits.values()) if n in limits else elements[n].static)
    return cones


@dataclass(frozen=True)
class _BearingForces:
    """Forces (6,) in the two bearings of a joint, axes of body i, as linear functions of constraint loads.

    Redundant constraints leave the loads undetermined up to self-equilibrated loads, called redistributions.

    Attributes
    ----------
    constants : (6,) constant part
    weights : (6, h) forces per unit of each of h multipliers
    redistributions : (6, d) forces per unit of each redistribution of load
    per_load : (6, 6) forces per unit of force and torque of the joint in the run
    """

    constants: np.ndarray
    weights: np.ndarray
    redistributions: np.ndarray
    per_load: np.ndarray


def _bearing_forces(
    rows: ContactRows, distribution: LoadDistribution, n: int, group: Sequence[int], redistributions: np.ndarray
) -> _BearingForces:
    """Return the forces in the bearings of a joint as functions of the shared loads of a group of rows.

    During a run the multipliers of independent rows carry the whole load. The shared load differs from it by a
    redistribution, which changes the bearing forces. `n` is the index of the joint's friction element; for the other
    arguments see `common_margin`.
    """
    load, friction = rows.elements[n].normal_load, rows.friction_elements[n]
    assert isinstance(load, NormalLoad)
    assert isinstance(friction, Friction)
    R, (_, changes) = rows.axes[friction.name], load.bearings()
    changes = np.vstack([R.T @ changes[:3], R.T @ changes[3:]])
    within = np.zeros_like(changes)
    within[:, group] = changes[:, group]
    per_load = np.zeros((BEARINGS, BEARINGS))
    forces = bearing_forces(friction, friction.on.frame_i.matrix[:, friction.axis])
    per_load[: 3 * len(forces)] = forces.reshape(-1, BEARINGS)
    return _BearingForces(
        within @ distribution.offset, within @ distribution.redistributed, changes @ redistributions, per_load
    )


def _rows_of(matrices: Sequence[np.ndarray]) -> tuple[tuple[float, ...], ...]:
    """Return the rows of all matrices as tuples."""
    return tuple(tuple(row) for matrix in matrices for row in matrix.tolist())
