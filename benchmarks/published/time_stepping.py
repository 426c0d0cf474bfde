"""Moreau-Jean time stepping of small systems with contacts, as used for published runs, to assess their step sizes.

The code is independent of QuIRK: coordinates are minimal, and impacts and friction are computed by projected
Gauss-Seidel iterations.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np

# Sweeps and relative change at which the impulses of a step are taken as found.
SWEEPS, SETTLED = 5000, 1e-13


@numba.njit
def impulses(D: np.ndarray, rates: np.ndarray, rebound: np.ndarray, closed: np.ndarray, friction: float) -> np.ndarray:
    """Return normal and tangential impulses (2 m,), after which the rates satisfy Newton's and Coulomb's laws.

    Parameters
    ----------
    D : (2 m, 2 m)
        Changes of the rates by unit impulses, for m normals and then m tangents.
    rates : (2 m,)
        Rates without impulses.
    rebound : (m,)
        Restitution times the normal rates before the impact.
    closed : (m,)
        Mask of the closed contacts.
    """
    m = len(closed)
    p = np.zeros(2 * m)
    for _ in range(SWEEPS):
        change = 0.0
        for i in np.flatnonzero(closed):
            for row in (i, m + i):
                old = p[row]
                wanted = old - (rates[row] + D[row] @ p + (rebound[i] if row == i else 0.0)) / D[row, row]
                limit = friction * p[i]
                p[row] = max(0.0, wanted) if row == i else min(limit, max(-limit, wanted))
                change = max(change, abs(p[row] - old))
        if change <= SETTLED * np.abs(p).max():
            break
    return p


@numba.njit
def stepped(
    terms: Callable, restitution: np.ndarray, friction: float, start: np.ndarray, step: float, count: int, every: int
) -> np.ndarray:
    """Return the states (count / every + 1, 2 n) of a run with theta = 1/2.

    Parameters
    ----------
    terms : compiled function
        ``terms(q, v)`` returns the mass matrix, the forces, and gaps (m,), their rows (m, n) and tangents (m, n).
    start : (2 n,)
        Initial coordinates and rates.
    """
    n = len(start) // 2
    q, v = start[:n].copy(), start[n:].copy()
    found = np.empty((count // every + 1, 2 * n))
    found[0] = start
    for k in range(1, count + 1):
        M, forces, gaps, normals, tangents = terms(q + step / 2 * v, v)
        inverse = np.linalg.inv(M)
        rows = np.concatenate((normals, tangents))
        free = v + step * inverse @ forces
        D = rows @ inverse @ rows.T
        after = free + inverse @ rows.T @ impulses(D, rows @ free, restitution * (normals @ v), gaps <= 0, friction)
        q += step / 2 * (v + after)
        v = after
        if k % every == 0:
            found[k // every, :n], found[k // every, n:] = q, v
    return found
