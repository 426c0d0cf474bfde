"""A few modes of a large system, by shift and inversion of sparse matrices.

Small motions are the pencil s E y = F y over poses, velocities, internal variables and multipliers,

    dq' = dv,   dv' = (accelerations while multipliers stay) z + M^-1 A^T dlambda,   0 = dPhi,

with the rows that are independent. Nothing is eliminated, so F - sigma E is as sparse as the system, and is factorised
once. Multipliers and rows give infinite eigenvalues, which the inverse maps to zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.dynamics.directions import FREEDOMS
from quirk.dynamics.metric import inverse_root
from quirk.errors import InputError
from quirk.state import State

from .local import Local
from .point import Point
from .steady import rests

if TYPE_CHECKING:
    from quirk.system import System

# The shift over the rate of what is stiff on the average, as if it were so much slower as a whole.
SHIFT = 1e-3


def sparse_modes(
    system: System, state: State, t: float, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return so many modes of least |s| or a few more: eigenvalues (k,), shapes (k, n, 12) and internal variables.

    None where there are hardly more modes than that, and all of them are found as easily.
    """
    from scipy.sparse.linalg import LinearOperator, eigs, splu

    point = Point(system, state, t)
    if not rests(point):
        raise InputError(
            "System.modes: count is for equilibria, and here the state moves or accelerates: leave count out for all "
            "modes, or start from system.equilibrium()"
        )
    wanted, finite = 2 * count + 4, 2 * (6 * point.bodies - int(point.kept.sum())) + point.internal
    if wanted >= finite:
        return None
    local = Local.at(point)
    E, F = pencil(point, local)
    size = E.shape[0]
    sigma = SHIFT * _rate(local)
    factors = splu((F - sigma * E).tocsc())

    def inverse(y: np.ndarray) -> np.ndarray:
        return np.asarray(factors.solve(E @ y))

    # Twice inverted nothing is left of the infinite ones.
    start = inverse(inverse(inverse(np.random.default_rng(0).normal(size=size))))
    found, vectors = eigs(LinearOperator((size, size), inverse, dtype=float), k=wanted, v0=start, which="LM", tol=0)
    values = sigma + 1.0 / found
    shapes = vectors[: FREEDOMS * point.bodies].T.reshape(-1, point.bodies, FREEDOMS)
    # The last may be one of a pair alone.
    nearest = np.argsort(np.abs(values))[: wanted - 2]
    inside = vectors[FREEDOMS * point.bodies :][: point.internal].T
    return values[nearest], shapes[nearest], inside[nearest]


def pencil(point: Point, local: Local) -> tuple[Any, Any]:
    """Return E and F, sparse, over (bodies (12 n), internal variables (k), multipliers of the rows that are kept)."""
    from scipy.sparse import block_array, block_diag, coo_array, csr_array, eye_array

    n, k, kept = point.bodies, point.internal, point.kept
    size = FREEDOMS * n + k
    of_velocities = _of_velocities(point)
    rows = local.positions + coo_array((of_velocities.astype(float), (np.arange(len(kept)),) * 2)) @ local.velocities
    rows = csr_array(rows)[kept]
    # What a unit of each multiplier accelerates.
    velocity = (FREEDOMS * np.arange(n)[:, None] + np.arange(6, 12)).ravel()
    A = csr_array(local.velocities)[kept][:, velocity]
    inverse = inverse_root(point.model.inertia)
    inverse = inverse @ np.swapaxes(inverse, 1, 2)
    by_body = [np.block([[np.eye(3) / m, np.zeros((3, 3))], [np.zeros((3, 3)), J]])
               for m, J in zip(point.model.mass, inverse, strict=True)]  # fmt: skip
    pushes = block_diag(by_body, format="csr") @ A.T
    spread = coo_array((np.ones(6 * n), (velocity, np.arange(6 * n))), (size, 6 * n)).tocsr()
    F = spread @ local.accelerations + _kinematic(point, size)
    if k:
        inside = coo_array((np.ones(k), (FREEDOMS * n + np.arange(k), np.arange(k))), (size, k)).tocsr()
        F = F + inside @ local.rates
    m = int(kept.sum())
    if not m:
        return eye_array(size, format="csr"), F.tocsr()
    pencils = block_array([[F, spread @ pushes], [rows, None]], format="csr")
    E = block_diag([eye_array(size), csr_array((m, m))], format="csr")
    return E, pencils


def _kinematic(point: Point, size: int) -> Any:
    """How poses go on with velocities."""
    from scipy.sparse import csr_array

    poses = (FREEDOMS * np.arange(point.bodies)[:, None] + np.arange(6)).ravel()
    return csr_array((np.ones(len(poses)), (poses, poses + 6)), (size, size))


def _of_velocities(point: Point) -> np.ndarray:
    found = np.zeros(point.model.rows, dtype=bool)
    for placed in point.model.relations:
        found[placed.rows] = placed.relation.of_velocities
    return found


def _rate(local: Local) -> float:
    """A rate, 1/s, of what is stiff on the average."""
    from scipy.sparse import csr_array

    stiff = np.abs(csr_array(local.accelerations)).max(axis=1).toarray().ravel()
    stiff = stiff[stiff > 0]
    return float(np.sqrt(np.median(stiff))) if stiff.size else 1.0
