"""Division of a contact problem into problems whose rows do not affect each other, such as those of separate bodies.

Each is solved on its own, so that its modes do not depend on those of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.friction_normal_load import NormalLoad
from .contact_modes import ContactModes, ContactProblem
from .load_sharing import coupled_groups


@dataclass(frozen=True)
class UncoupledProblem:
    """One of the contact problems into which a problem is divided.

    Attributes
    ----------
    problem : contact problem of its rows
    contacts : indices of the rows of its closed contacts, among its own
    rows : indices of its rows in the whole problem
    friction : indices of its friction elements in the whole problem
    """

    problem: ContactProblem
    contacts: list[int]
    rows: list[int]
    friction: list[int]

    def own(self, whole: ContactModes) -> ContactModes:
        """Return its part of a solution of the whole problem."""
        return ContactModes(
            whole.z[self.rows],
            whole.w[self.rows],
            whole.active[self.rows],
            whole.independent[self.rows],
            [whole.slip_directions[k] for k in self.friction],
            whole.zero_threshold[self.rows],
            whole.compliance[self.rows],
        )


def uncoupled_problems(problem: ContactProblem, contacts: Sequence[int]) -> list[UncoupledProblem]:
    """Return the contact problems of all groups of coupled rows; `contacts` are the rows of all closed contacts."""
    found = []
    for rows in coupled_groups(problem.W, problem.elements):
        place = {row: k for k, row in enumerate(rows)}
        friction = [k for k, element in enumerate(problem.elements) if element.rows[0] in place]
        elements = [
            replace(
                element,
                rows=[place[row] for row in element.rows],
                contact=None if element.contact is None else place[element.contact],
                normal_load=load.restricted(rows) if isinstance(load := element.normal_load, NormalLoad) else load,
            )
            for element in (problem.elements[k] for k in friction)
        ]
        one = ContactProblem(
            problem.W[np.ix_(rows, rows)],
            problem.q[rows],
            elements,
            problem.noise[rows],
            problem.compliance[rows],
            frozenset(place[row] for row in problem.unloading if row in place),
        )
        found.append(UncoupledProblem(one, [place[c] for c in contacts if c in place], rows, friction))
    return found


def joined(parts: Sequence[UncoupledProblem], solutions: Sequence[ContactModes], whole: ContactProblem) -> ContactModes:
    """Return the solution of the contact problem `whole` that consists of the `solutions` of its parts."""
    r = len(whole.q)
    z, w, zero_threshold, compliance = np.zeros(r), np.zeros(r), np.zeros(r), whole.compliance.copy()
    active, independent = np.zeros(r, dtype=bool), np.zeros(r, dtype=bool)
    directions: list[np.ndarray | None] = [None] * len(whole.elements)
    for part, modes in zip(parts, solutions, strict=True):
        z[part.rows], w[part.rows], zero_threshold[part.rows] = modes.z, modes.w, modes.zero_threshold
        active[part.rows], independent[part.rows] = modes.active, modes.independent
        compliance[part.rows] = modes.compliance
        for k, e in zip(part.friction, modes.slip_directions, strict=True):
            directions[k] = e
    return ContactModes(z, w, active, independent, directions, zero_threshold, compliance)
