"""heyoka: Taylor series of hanging chains of hinged rods in a plane, from equations of motion derived by hand.

The second derivatives of the n angles from the vertical follow from Lagrange's equations

    sum_j a_ij (cos(q_i - q_j) q_j'' + sin(q_i - q_j) q_j'^2) + b_i sin q_i = 0

by symbolic elimination. Joint loads are not part of the model.
"""

from __future__ import annotations

import heyoka
import numpy as np

from .. import models
from ..measure import Task

NAME = "heyoka"
# Rods up to which heyoka writes its code out instead of in loops ("compact mode").
WRITTEN_OUT = 4


class Chain:
    """A chain of n rods, compiled for a given tolerance."""

    def __init__(self, n: int, tolerance: float) -> None:
        angles, rates = ([heyoka.expression(f"{name}{k}") for k in range(n)] for name in "qv")
        accelerations = _solved(*_equations(angles, rates))
        equations = [*zip(angles, rates, strict=True), *zip(rates, accelerations, strict=True)]
        self._start = np.concatenate([models.chain_angles(n), np.zeros(n)])
        # Beyond a few rods all expressions written out would take minutes to compile.
        compact = n > WRITTEN_OUT
        self._integrator = heyoka.taylor_adaptive(equations, self._start.copy(), tol=tolerance, compact_mode=compact)

    def run(self, duration: float) -> np.ndarray:
        """Return the angles (n,), rad, after a motion of given duration (s) from rest."""
        integrator = self._integrator
        integrator.time = 0.0
        integrator.state[:] = self._start
        integrator.propagate_until(duration)
        return integrator.state[: len(self._start) // 2].copy()

    def task(self, duration: float) -> Task:
        """Return the task of computing a motion of given duration (s) from rest."""

        def run(count: int) -> None:
            for _ in range(count):
                self.run(duration)

        return run


def _equations(angles: list, rates: list) -> tuple[list, list]:
    """Return the mass matrix, whose upper triangle alone is used, and the right-hand side."""
    n, square = len(angles), models.MASS * models.LENGTH**2
    below = [n - 1 - k for k in range(n)]  # rods that hang on rod k
    M = [[square * (below[j] + 0.5) * heyoka.cos(angles[i] - angles[j]) for j in range(n)] for i in range(n)]
    right = []
    for i in range(n):
        M[i][i] = heyoka.expression(square * (below[i] + 1 / 3))
        side = models.MASS * models.GRAVITY[2] * models.LENGTH * (below[i] + 0.5) * heyoka.sin(angles[i])
        for j in range(n):
            if j != i:
                side -= square * (below[max(i, j)] + 0.5) * heyoka.sin(angles[i] - angles[j]) * rates[j] ** 2
        right.append(side)
    return M, right


def _solved(M: list, rhs: list) -> list:
    """Return the solution of a symmetric system by elimination without pivoting."""
    n = len(rhs)
    for p in range(n):
        for i in range(p + 1, n):
            factor = M[p][i] / M[p][p]
            rhs[i] -= factor * rhs[p]
            for j in range(i, n):
                M[i][j] -= factor * M[p][j]
    found: list = [None] * n
    for i in reversed(range(n)):
        found[i] = (rhs[i] - sum((M[i][j] * found[j] for j in range(i + 1, n)), heyoka.expression(0.0))) / M[i][i]
    return found
