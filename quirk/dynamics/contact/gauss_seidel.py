"""Projected Gauss-Seidel iteration for contact and friction, as a source of initial guesses of the contact modes.

One sweep solves for the force of each contact and of each friction element in turn, with all other forces fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .contact_modes import ContactProblem, TrialModes, joint_normal_load, unit_vector

# Numbers of sweeps after which the modes are tried.
SWEEPS = 10, 30, 100, 300, 1000, 3000
# Relative distance of a force from its limit within which it counts as at the limit, given the accuracy of sweeps.
LIMIT_TOLERANCE = 1e-6


def gauss_seidel_modes(problem: ContactProblem, contacts: Sequence[int]) -> Iterator[TrialModes]:
    """Yield trial contact modes for the search, from the forces after increasing numbers of Gauss-Seidel sweeps.

    `contacts` are the rows of all closed contacts. Nonlinear Gauss-Seidel method: Jean, Comput. Methods Appl. Mech.
    Eng. 177 (1999).
    """
    W, q, elements = problem.W, problem.q, problem.elements
    z, diagonal = np.zeros(len(q)), np.diag(W)
    steps = [max(float(np.linalg.eigvalsh(W[np.ix_(g.rows, g.rows)])[-1]), np.finfo(float).tiny) for g in elements]
    at_limit = [False] * len(elements)
    for n in range(1, SWEEPS[-1] + 1):
        for c in contacts:
            if diagonal[c] > 0:
                z[c] = max(0.0, z[c] - (W[c] @ z + q[c]) / diagonal[c])
        for k, element in enumerate(elements):
            rows = element.rows
            load = max(
                float(z[element.contact]) if element.contact is not None else joint_normal_load(element, z)[0], 0.0
            )
            if element.slip_direction is not None:
                z[rows] = -element.coefficient * load * element.slip_direction
                continue
            tried = z[rows] - (W[rows] @ z + q[rows]) / steps[k]
            size, limit = float(np.linalg.norm(tried)), element.static * load if load > 0 else 0.0
            at_limit[k] = size > (1.0 - LIMIT_TOLERANCE) * limit
            z[rows] = tried * (element.coefficient * load / size) if size > limit else tried
        if n in SWEEPS:
            loaded = {c for c in contacts if z[c] > 0}
            slip_directions = [
                element.slip_direction
                if element.slip_direction is not None
                else unit_vector(-z[element.rows])
                if at_limit[k]
                else None
                for k, element in enumerate(elements)
            ]
            yield TrialModes(loaded, slip_directions, z.copy())
