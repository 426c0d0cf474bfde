"""Loads that balance a force along a friction or gap direction without a row in the model, or friction that slides.

Sticking joints and closed contacts have a row for each slip component and gap; the model contains a maximal independent
subset of these rows. The friction of sliding contacts is in proportion to their normal forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.contact.contact_kinematics import Gaps
from ..dynamics.contact.impulse import impulses
from ..dynamics.sparse.solver.solver import Solver
from .contact_loads import drag
from .segment import Segment
from .sticking_members import StickingMember


@dataclass(frozen=True)
class BalancingLoads:
    """Loads that balance a unit force along each of the d rows that the model lacks, and friction, at one state.

    The friction is that of each of s sliding contacts, for a unit normal force; it may accelerate bodies. Along a row
    that is an angle, the unit force is a torque with the lever arm of `Gaps.arms`.

    Attributes
    ----------
    rows : (d,) indices of the rows that the model lacks among all r rows of sticking joints and closed contacts
    sliding : (s,) indices of the sliding contacts among all members
    multipliers : (d + s, m) multipliers of the model's m rows
    loads : for each of the d rows and s contacts, force and torque (2, 3) of constraints and friction by name,
        including the unit force or the friction
    accelerations : (s, 6 n) accelerations of n bodies by the friction, linear, and angular times the characteristic
        length of the system, over the largest linear one of bodies without constraints
    """

    rows: list[int]
    sliding: list[int]
    multipliers: np.ndarray
    loads: list[dict[str, np.ndarray]]
    accelerations: np.ndarray


def balancing_loads(
    gaps: Gaps, segment: Segment, members: Sequence[StickingMember], solver: Solver, place: Solver, row: int
) -> BalancingLoads:
    """Return the loads that balance a unit force along each row that the model lacks, at output index `row`.

    `members` are the sticking joints and closed contacts; `solver` is a solver of the segment, and `place` a solver of
    the system, for gaps and slip.
    """
    t, y = float(segment.instants[row]), segment.flat[row]
    gaps.select_parts(segment.model.auxiliary.state(y), {})
    opening, arms = gaps.kinematics_at(place, t, y, segment.angles[row]), gaps.arms
    pairs = [pair for member in members for pair in zip(member.numbers, member.own, strict=True)]
    rows = [k for k, (_, own) in enumerate(pairs) if own is None]
    forces = [([pairs[k][0]], np.ones(1)) for k in rows]
    sliding = [k for k, member in enumerate(members) if member.slides is not None]
    for member in (members[k] for k in sliding):
        assert member.slides is not None
        rubs = list(member.rubs)
        forces.append((rubs, drag(segment, member.slides, opening.rate[rubs], row)))
    none, lanes, model = np.zeros(solver.model.rows), solver.slots.state_to_lanes(y), segment.model
    multipliers, loads, accelerations = list[np.ndarray](), list[dict[str, np.ndarray]](), list[np.ndarray]()
    largest = 0.0
    for numbers, sizes in forces:
        along = arms[numbers] * sizes
        push = np.einsum("c,cni->ni", along, opening.force_directions[numbers])
        change, balance = solver.respond(lanes, t, none, push)
        multipliers.append(balance)
        accelerations.append((change * [1.0, 1.0, 1.0, *(3 * [model.length])]).ravel())
        largest = max(largest, float(np.abs(push[:, :3] / model.mass[:, None]).max()))
        total = dict[str, np.ndarray]()
        own = gaps.impulses(y, opening.subset(numbers), numbers, along)
        for part in (impulses(solver, y, balance), own):
            for name, load in part.items():
                total[name] = total.get(name, np.zeros((2, 3))) + np.array([load.force, load.torque])
        loads.append(total)
    return BalancingLoads(
        rows,
        sliding,
        np.reshape(multipliers, (len(forces), solver.model.rows)),
        loads,
        np.reshape(accelerations[len(rows) :], (len(sliding), 6 * len(model.mass))) / (largest or 1.0),
    )
