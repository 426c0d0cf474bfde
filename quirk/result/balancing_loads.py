"""Loads that balance a force along a friction or gap direction without a row in the model.

Sticking joints and closed contacts have a row for each slip component and gap; the model contains a maximal independent
subset of these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.contact.contact_kinematics import Gaps
from ..dynamics.contact.impulse import impulses
from ..dynamics.sparse.solver.solver import Solver
from .segment import Segment
from .sticking_members import StickingMember


@dataclass(frozen=True)
class BalancingLoads:
    """Loads that balance a unit force along each of the d rows that the model lacks, at one state.

    Along a row that is an angle, the unit force is a torque with the lever arm of `Gaps.arms`.

    Attributes
    ----------
    rows, numbers : indices of these rows among all r rows of sticking joints and closed contacts, and among all gaps
        and slip components of the system
    multipliers : (d, m) multipliers of the model's m rows
    loads : for each of the d rows, force and torque (2, 3) of constraints and friction by name, including the unit
        force
    """

    rows: list[int]
    numbers: list[int]
    multipliers: np.ndarray
    loads: list[dict[str, np.ndarray]]


def balancing_loads(
    gaps: Gaps, segment: Segment, members: Sequence[StickingMember], solver: Solver, place: Solver, row: int
) -> BalancingLoads:
    """Return the loads that balance a unit force along each row that the model lacks, at output index `row`.

    `members` are the sticking joints and closed contacts; `solver` is a solver of the segment, and `place` a solver of
    the system, for gaps and slip.
    """
    t, y = float(segment.instants[row]), segment.flat[row]
    gaps.select_parts(segment.model.auxiliary.state(y), {})
    opening = gaps.kinematics_at(place, t, y, segment.angles[row])
    rows = [pair for member in members for pair in zip(member.numbers, member.own, strict=True)]
    free = [k for k, (_, own) in enumerate(rows) if own is None]
    numbers, none, lanes = [rows[k][0] for k in free], np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
    multipliers, loads, arms = [], [], gaps.arms
    for number in numbers:
        multipliers.append(solver.respond(lanes, t, none, arms[number] * opening.force_directions[number])[1])
        total = dict[str, np.ndarray]()
        own = gaps.impulses(y, opening.subset([number]), [number], arms[[number]])
        for part in (impulses(solver, y, multipliers[-1]), own):
            for name, load in part.items():
                total[name] = total.get(name, np.zeros((2, 3))) + np.array([load.force, load.torque])
        loads.append(total)
    return BalancingLoads(free, numbers, np.reshape(multipliers, (len(free), solver.model.rows)), loads)
