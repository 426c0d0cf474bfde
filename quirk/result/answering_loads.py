"""Loads that balance forces along rows of sticking joints and contacts for which a model has no row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..analysis.contact.gap_functions import Gaps
from ..dynamics.contact.impulse import impulses
from ..dynamics.sparse.solver.solver import Solver
from .segment import Segment
from .sticking_members import StickingMember


@dataclass(frozen=True)
class Answers:
    """Loads that balance unit forces along the d rows without a row of the model, at one state.

    Attributes
    ----------
    rows, numbers : indices of these rows among all r rows, and among all gaps and slip components
    multipliers : (d, m) multipliers of the model's rows
    loads : for each of them, force and torque (2, 3) of constraints and friction by name, with the unit force itself
    """

    rows: list[int]
    numbers: list[int]
    multipliers: np.ndarray
    loads: list[dict[str, np.ndarray]]


def answers(
    gaps: Gaps, segment: Segment, members: Sequence[StickingMember], solver: Solver, place: Solver, row: int
) -> Answers:
    """Return the loads that answer unit forces along the rows without a row of the model, at an output index.

    `solver` is a solver of the segment, and `place` one of the system, for gaps and slip.
    """
    t, y = float(segment.instants[row]), segment.flat[row]
    gaps.locate(segment.model.carried.state(y), {})
    opening = gaps.at(place, t, y, segment.angles[row])
    rows = [pair for member in members for pair in zip(member.numbers, member.own, strict=True)]
    free = [k for k, (_, own) in enumerate(rows) if own is None]
    numbers, none, lanes = [rows[k][0] for k in free], np.zeros(solver.model.rows), solver.slots.state_to_lanes(y)
    multipliers, loads = [], []
    for number in numbers:
        multipliers.append(solver.respond(lanes, t, none, opening.push[number])[1])
        total = dict[str, np.ndarray]()
        own = gaps.impulses(y, opening.of([number]), [number], np.ones(1))
        for part in (impulses(solver, y, multipliers[-1]), own):
            for name, load in part.items():
                total[name] = total.get(name, np.zeros((2, 3))) + np.array([load.force, load.torque])
        loads.append(total)
    return Answers(free, numbers, np.reshape(multipliers, (len(free), solver.model.rows)), loads)
