"""Projected Gauss-Seidel iteration for contact and friction, as a source of initial guesses of the contact modes.

One sweep solves for the force of each contact and of each friction element in turn, with all other forces fixed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .contact_modes import Case, Problem, ahead_of, load_of_joint

# Numbers of sweeps after which the modes are tried.
SWEEPS = 10, 30, 100, 300, 1000, 3000
# Relative distance of a force from its limit within which it counts as at the limit, given the accuracy of sweeps.
SWEPT = 1e-6


def swept(problem: Problem, contacts: Sequence[int]) -> Iterator[Case]:
    """Yield trial contact modes for the search, from the forces after increasing numbers of Gauss-Seidel sweeps.

    `contacts` are the rows of all closed contacts. Nonlinear Gauss-Seidel method: Jean, Comput. Methods Appl. Mech.
    Eng. 177 (1999).
    """
    W, q, grips = problem.W, problem.q, problem.grips
    z, diagonal = np.zeros(len(q)), np.diag(W)
    steps = [max(float(np.linalg.eigvalsh(W[np.ix_(g.rows, g.rows)])[-1]), np.finfo(float).tiny) for g in grips]
    full = [False] * len(grips)
    for n in range(1, SWEEPS[-1] + 1):
        for c in contacts:
            if diagonal[c] > 0:
                z[c] = max(0.0, z[c] - (W[c] @ z + q[c]) / diagonal[c])
        for k, grip in enumerate(grips):
            rows = grip.rows
            load = max(float(z[grip.contact]) if grip.contact is not None else load_of_joint(grip, z)[0], 0.0)
            if grip.moving is not None:
                z[rows] = -grip.coefficient * load * grip.moving
                continue
            tried = z[rows] - (W[rows] @ z + q[rows]) / steps[k]
            size, limit = float(np.linalg.norm(tried)), grip.static * load if load > 0 else 0.0
            full[k] = size > (1.0 - SWEPT) * limit
            z[rows] = tried * (grip.coefficient * load / size) if size > limit else tried
        if n in SWEEPS:
            pushing = {c for c in contacts if z[c] > 0}
            sliding = [
                grip.moving if grip.moving is not None else ahead_of(-z[grip.rows]) if full[k] else None
                for k, grip in enumerate(grips)
            ]
            yield Case(pushing, sliding, z.copy())
