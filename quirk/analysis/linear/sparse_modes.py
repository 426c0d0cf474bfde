"""Modes of lowest frequency of a large system, by shift-and-invert iteration with sparse matrices.

Small motions satisfy s E y = F y, a pencil whose unknowns y are poses q, velocities v, internal variables and
multipliers lambda:

 dq' = dv,   dv' = da + M^-1 A^T dlambda,   0 = dPhi,

where da are the variations of the accelerations at fixed multipliers, M the mass matrix, and A the rows of the
independent constraints Phi. Variations are in the co-moving axes of a steady motion
(`quirk.analysis.linear.steady_motion`). Nothing is eliminated, so F - sigma E, with the shift sigma, is as sparse as
the system, and is factorized once. Multipliers and rows give infinite eigenvalues, which the inverse maps to zero. All
quantities are scaled by characteristic quantities of the system, because the perturbation of infinite eigenvalues by
round-off depends on the scaling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.dynamics.model.directions import FREEDOMS, SHIFT, TURN, VELOCITY, Directions
from quirk.errors import ConvergenceError, InputError

from .eigenvalues import units_between
from .operating_point import Point
from .sparse_jacobians import Local
from .steady_motion import SteadyMotion, frames, rests

if TYPE_CHECKING:
    from quirk.system.system import System

# Ratio of the shift to the order of magnitude of the angular frequencies (`_rate`).
SHIFT_RATE = 1e-3
# Number of Arnoldi vectors per requested eigenvalue, and minimum number of vectors: the defaults of ARPACK.
MOST_VECTORS, LEAST_VECTORS = 2, 20
# Tolerance for the agreement of modes at two times of a steady motion, relative to the rate from `_rate`.
SAME = 1e-6

# Eigenvalues (k,), shapes (k, n, 12) and internal variables (k, variables).
Found = tuple[np.ndarray, np.ndarray, np.ndarray]


def sparse_modes(system: System, state: State, t: float, count: int) -> tuple[Found, str] | None:
    """Return at least `count` modes of least |s|, and the kind of state, "equilibrium" or "steady motion".

    The result is None if the system has so few modes that all of them can be computed as fast with dense matrices.
    """
    point = Point(system, state, t)
    wanted, finite = 2 * count + 4, 2 * (6 * point.bodies - int(point.independent.sum())) + point.internal
    if max(MOST_VECTORS * wanted + 1, LEAST_VECTORS) >= finite:
        return None
    local = Local.at(point)
    rate = _rate(local, point.model.length)
    if rests(point):
        return _slowest(point, local, SteadyMotion.none(point.bodies), wanted, rate), "equilibrium"
    for steady, later, tau in frames(point):
        found = _slowest(point, local, steady, wanted, rate)
        if _same_modes(found, steady, later, tau, rate):
            return found, "steady motion"
    raise InputError(
        "System.modes: count requires an equilibrium or steady motion, and this state is neither: "
        "omit count to compute all modes, or start from system.equilibrium()"
    )


def _slowest(point: Point, local: Local, steady: SteadyMotion, count: int, rate: float) -> Found:
    """Return the eigenvalues nearest to zero at an operating point, with the motions of bodies and internal variables.

    `count` - 2 eigenvalues are returned. `rate`, 1/s, is the order of magnitude of the angular frequencies, from
    `_rate`; `local` are the Jacobians, and `steady` is the steady motion.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs, splu

    E, F = pencil(point, local, steady)
    size = E.shape[0]
    rows, columns = _units(point, F, rate)
    factors = splu((diags_array(1.0 / (rate * rows)) @ F @ diags_array(columns) - SHIFT_RATE * E).tocsc())

    def inverse(y: np.ndarray) -> np.ndarray:
        return np.asarray(factors.solve(E @ y))

    # The second application of the inverse removes the infinite eigenvalues.
    start = inverse(inverse(inverse(np.random.default_rng(0).normal(size=size))))
    try:
        found, vectors = eigs(
            LinearOperator((size, size), inverse, dtype=float), k=count, v0=start, which="LM", tol=0,
            ncv=max(MOST_VECTORS * count + 1, LEAST_VECTORS),
        )  # fmt: skip
    except ArpackNoConvergence as error:
        raise ConvergenceError(
            f"System.modes: the iteration for eigenvalues near zero converged for {len(error.eigenvalues)} of "
            f"{count}: use another count, or omit it to compute all modes",
            state=point.state,
        ) from error
    values, vectors = rate * (SHIFT_RATE + 1.0 / found), columns[:, None] * vectors
    shapes = vectors[: FREEDOMS * point.bodies].T.reshape(-1, point.bodies, FREEDOMS)
    # The last one may be half of a complex pair.
    nearest = np.argsort(np.abs(values))[: count - 2]
    inside = vectors[FREEDOMS * point.bodies :][: point.internal].T
    return values[nearest], shapes[nearest], inside[nearest]


def _units(point: Point, F: Any, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return units of the rows and columns of the sparse matrix F for which its entries have similar magnitudes.

    `point` is the operating point. `rate`, 1/s, is the order of magnitude of the angular frequencies of the system; it
    is the unit of velocities.
    """
    from scipy.sparse import diags_array

    units = np.ones((point.bodies, FREEDOMS))
    units[:, SHIFT] = units[:, VELOCITY] = point.model.length
    units[:, 6:] *= rate
    states, inner = units.size, units.size + point.internal
    columns = np.ones(F.shape[0])
    columns[:states] = units.ravel()
    sizes = np.abs(F)
    into, out = sizes[states:inner, :states] @ diags_array(columns[:states]), sizes[:states, states:inner]
    columns[states:inner] = units_between(
        _largest(into, 1), _largest(diags_array(1.0 / columns[:states]) @ out, 0), rate
    )  # fmt: skip
    rows = columns.copy()
    columns[inner:] = rate / _largest(diags_array(1.0 / rows[:inner]) @ sizes[:inner, inner:], 0)
    rows[inner:] = _largest(sizes[inner:, :inner] @ diags_array(columns[:inner]), 1) / rate
    return rows, columns


def _largest(A: Any, axis: int) -> np.ndarray:
    """Return the largest entry of each column (axis 0) or row (axis 1) of a sparse matrix A."""
    return np.asarray(A.max(axis=axis).toarray()).ravel() if min(A.shape) else np.zeros(A.shape[1 - axis])


def _same_modes(modes: Found, steady: SteadyMotion, later: Point, tau: float, rate: float) -> bool:
    """Return whether the modes at one point of a steady motion are also modes at a later point.

    `later` is the operating point after the time `tau`, s. Eigenvalues may differ in proportion to `rate`, 1/s, the
    order of magnitude of the angular frequencies of the system. `steady` is the steady motion.
    """
    values, shapes, inside = modes
    moved = steady.variations_after(Directions.of_shapes(later.model, shapes, inside), tau)
    relative_rates = steady.relative_rates(later.variation(moved)).bodies
    x, rates = (of[..., : len(values)] + 1j * of[..., len(values) :] for of in (moved.bodies, relative_rates))
    rate = max(rate, float(np.abs(values).max()))
    # Lengths are relative to the characteristic length of the system, times to the inverse rate.
    units = np.ones((FREEDOMS, 1))
    units[SHIFT] = units[VELOCITY] = 1.0 / later.model.length
    units[6:] /= rate
    missing, size = (np.abs(units * of).max(axis=(0, 1)) for of in (rates - values * x, x))
    return bool((missing <= SAME * rate * size).all())


def pencil(point: Point, local: Local, steady: SteadyMotion) -> tuple[Any, Any]:
    """Return the sparse matrices E and F of the equations s E y = F y of small motions.

    y contains 12 coordinates of each body, the internal variables, and the multipliers of the independent rows. `local`
    are the Jacobians at the point, and `steady` is the steady motion.
    """
    from scipy.sparse import block_array, block_diag, coo_array, csr_array, eye_array

    n, k, kept = point.bodies, point.internal, point.independent
    size = FREEDOMS * n + k
    of_velocities = point.model.row_of_velocities
    rows = (
        local.positions
        + coo_array((of_velocities.astype(float), (np.arange(len(kept)),) * 2), (len(kept),) * 2) @ local.velocities
    )
    rows = csr_array(rows)[kept]
    # Accelerations of a unit of each multiplier.
    velocity = (FREEDOMS * np.arange(n)[:, None] + np.arange(6, 12)).ravel()
    A = csr_array(local.velocities)[kept][:, velocity]
    inverse = point.model.inverse_root
    inverse = inverse @ np.swapaxes(inverse, 1, 2)
    by_body = [np.block([[np.eye(3) / m, np.zeros((3, 3))], [np.zeros((3, 3)), J]])
               for m, J in zip(point.model.mass, inverse, strict=True)]  # fmt: skip
    pushes = block_diag(by_body, format="csr") @ A.T
    spread = coo_array((np.ones(6 * n), (velocity, np.arange(6 * n))), (size, 6 * n)).tocsr()
    F = spread @ local.accelerations + _kinematic_part(point, steady, size)
    if k:
        inside = coo_array((np.ones(k), (FREEDOMS * n + np.arange(k), np.arange(k))), (size, k)).tocsr()
        F = F + inside @ local.rates
    m = int(kept.sum())
    if not m:
        return eye_array(size, format="csr"), F.tocsr()
    pencils = block_array([[F, spread @ pushes], [rows, None]], format="csr")
    E = block_diag([eye_array(size), csr_array((m, m))], format="csr")
    return E, pencils


def _kinematic_part(point: Point, steady: SteadyMotion, size: int) -> Any:
    """Return the kinematic part of the matrix F: rates of poses due to velocities, and the rotation of co-moving axes.

    `point` is the operating point, `steady` the steady motion of the axes, and `size` the number of rows and columns of
    F.
    """
    from scipy.sparse import csr_array

    blocks = np.zeros((point.bodies, FREEDOMS, FREEDOMS))
    blocks[:, range(6), range(6, 12)] = 1.0
    blocks[:, TURN, TURN] = -rotation.skew(point.state.angular_velocity)
    blocks -= steady.convected_rates(np.broadcast_to(np.eye(FREEDOMS), blocks.shape))
    body, row, column = np.nonzero(blocks)
    return csr_array((blocks[body, row, column], (FREEDOMS * body + row, FREEDOMS * body + column)), (size, size))


def _rate(local: Local, length: float) -> float:
    """Return the order of magnitude of the angular frequencies of a system, 1/s.

    The result is the median, over all bodies and axes, of the square root of stiffness over mass or, without stiffness,
    of damping over mass. `length` is the characteristic length of the system, m, and `local` are the Jacobians.
    """
    from scipy.sparse import csr_array, diags_array

    bodies = local.accelerations.shape[0] // 6
    of_poses = np.arange(FREEDOMS * bodies) % FREEDOMS < 6
    lengths = np.tile(np.repeat([length, 1.0], 3), bodies)
    alike = diags_array(1.0 / lengths) @ np.abs(csr_array(local.accelerations))
    for columns, power in ((of_poses, 0.5), (~of_poses, 1.0)):
        stiff = _largest(alike[:, np.flatnonzero(columns)] @ diags_array(lengths), 1)
        if stiff.any():
            return float(np.median(stiff[stiff > 0]) ** power)
    return 1.0
