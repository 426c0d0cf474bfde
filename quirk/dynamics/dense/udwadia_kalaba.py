"""The Udwadia-Kalaba equation over positions r and quaternions q, solved with dense matrices.

This is the reference for the compiled solver. Sources: Udwadia and Kalaba, Proc. R. Soc. A 439 (1992), eq. 2.7 (the
constrained acceleration); Udwadia and Schutte, J. Appl. Mech. 77 (2010) (quaternions with a mass matrix made positive
definite along q).

A is the matrix of constraint rows, the mass matrix is (W W^T)^-1, and Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics
from quirk.errors import RoundOffWarning, outside

from ..model.constrained_motion import ConstrainedMotion, gyroscopic
from ..model.metric import Metric
from ..model.model import Model
from .rows import ConstraintRows, tangent_rows

# Singular values of rows scaled to unit length count as zero below this fraction of the largest: a few times the
# relative round-off of 2.2e-16.
ROUND_OFF = 1e-15

# Number of steps of iterative refinement.
CORRECTIONS = 3

# Where masses differ by more than the factor UNEQUAL, large loads may pass through a light body, and their round-off
# may hide the small sum that moves it. Its effect is measured, and reported beyond ACCEPTED, a fraction of the largest
# acceleration.
UNEQUAL, ACCEPTED = 1e6, 1e-9

# Per body, W of positions (n,) and of quaternions (n, 4, 4), with W W^T = M^-1.
Metrics = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class PseudoInverse:
    """Pseudo-inverse of the constraint rows A in a metric W: (A W)^+ = V s^-1 U^T D, where D scales rows to unit norm.

    U (m, r), s (r,) and Vt (r, k) are the factors of the singular value decomposition for the r singular values that
    are not negligible, for m rows and k columns. Unused rows of U are zero. D is (m,).
    """

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    D: np.ndarray

    @classmethod
    def of(
        cls, AW: np.ndarray, independent: np.ndarray | None = None, least: float = ROUND_OFF, limit: int | None = None
    ) -> PseudoInverse:
        """Return the pseudo-inverse of `AW` (m, k), the rows A W, by singular value decomposition.

        Parameters
        ----------
        independent : (m,) bool, rows to use; default: all
        least : singular values up to this fraction of the largest count as zero
        limit : maximum number of singular values to use
        """
        independent = np.ones(len(AW), dtype=bool) if independent is None else independent
        length = np.linalg.norm(AW, axis=1)
        D = 1.0 / np.where(length > 0, length, 1.0)
        U_kept, s, Vt = np.linalg.svd((AW * D[:, None])[independent], full_matrices=False)
        rank = int((s > least * s[0]).sum()) if s.size else 0
        rank = rank if limit is None else min(rank, limit)
        U = np.zeros((len(AW), rank))
        U[independent] = U_kept[:, :rank]
        return cls(U, s[:rank], Vt[:rank], D)

    def solve(self, residual: np.ndarray) -> np.ndarray:
        """Return the minimum-norm solution z (k,) of A W z = residual (m,).

        If the rows are inconsistent, it is the least-squares solution.
        """
        return self.Vt.T @ ((self.U.T @ (self.D * residual)) / self.s)

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """Return multipliers lambda (m,) with W^T A^T lambda = z, for the solution z of A W z = `residual`."""
        return self.D * (self.U @ ((self.U.T @ (self.D * residual)) / self.s**2))


def constrained_motion(
    model: Model,
    kin: Kinematics,
    t: float,
    rows: ConstraintRows,
    force: np.ndarray,
    torque: np.ndarray,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    independent: np.ndarray | None = None,
    least: float = ROUND_OFF,
) -> ConstrainedMotion:
    """Solve the Udwadia-Kalaba equation at one state; return accelerations, constraint forces and multipliers.

    Parameters
    ----------
    t : time, s
    rows : constraint rows of the model at this state
    force : (n, 3) applied forces on n bodies, inertial frame
    torque : (n, 3) applied torques about the centers of mass, body axes
    baumgarte : alpha and beta, 1/s: b is reduced by 2 alpha Phi_dot + beta^2 Phi
    independent : (m,) bool, optional
        Independent constraint rows; default: all. At a state that violates the constraints slightly, such as an inner
        stage of an integrator, redundant rows are slightly inconsistent and appear independent; satisfying all of them
        would give a large and meaningless acceleration.
    least : see `PseudoInverse.of`
    """
    n = len(model.mass)
    q, omega = kin.orientation[:-1], kin.angular_velocity[:-1]
    alpha, beta = baumgarte
    b = rows.b - 2 * alpha * rows.phi_dot - beta**2 * rows.phi
    A, b = _with_norm_rows(rows.A.reshape(model.rows, n, 7), b, q, omega)
    J_0, W_omega = model.mean_moment, model.inverse_root
    W_r, W_q = _inverse_mass_root(model, q)
    # u = W^T Q, so that W u = M^-1 Q = a.
    turning = np.einsum("nji,nj->ni", W_omega, torque - gyroscopic(model, omega))
    along = -0.5 * np.sqrt(J_0) * (omega**2).sum(axis=1)
    u = np.concatenate([W_r[:, None] * force, turning, along[:, None]], axis=1).ravel()

    def scaled(A: np.ndarray) -> np.ndarray:
        return np.concatenate([A[..., :3] * W_r[:, None], np.einsum("mni,nij->mnj", A[..., 3:], W_q)], axis=2)

    # xdd = W (u + z) with z = (A W)^+ (b - A W u) = (A W)^T lambda, followed by iterative refinement.
    AW = scaled(A).reshape(-1, 7 * n)
    independent = (
        np.ones(len(AW), dtype=bool) if independent is None else np.append(independent, np.ones(n, dtype=bool))
    )
    pseudo_inverse = PseudoInverse.of(AW, independent, least)
    multipliers = np.zeros(len(AW))
    for _ in range(1 + CORRECTIONS):
        correction = pseudo_inverse.multipliers(b - AW @ u)
        u = u + AW.T @ correction
        multipliers += correction
    if np.ptp(np.log(model.mass)) > np.log(UNEQUAL):
        warn_of_round_off(model, (W_r, W_q), AW, u, multipliers, pseudo_inverse)
    if not independent.all():
        exerted = Metric.uniform(model).rows(tangent_rows(model, kin, t))
        loads = least_norm(exerted, multipliers[: model.rows], model.row_scale, len(pseudo_inverse.s) - n)
        multipliers[: model.rows] = loads
    return ConstrainedMotion(
        acceleration=np.concatenate(accelerations((W_r, W_q), u), axis=1),
        constraint_force=(A.reshape(-1, 7 * n).T @ multipliers).reshape(n, 7),
        multipliers=multipliers[: model.rows],
        rank=len(pseudo_inverse.s) - n,
    )


def _with_norm_rows(A: np.ndarray, b: np.ndarray, q: np.ndarray, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows A (m, n, 7) and right-hand sides b (m,), followed by those that keep n quaternions at unit norm.

    These are q^T q'' = -|q'|^2, with |omega|^2 = 4 |q'|^2 for unit quaternions q (n, 4) and angular velocities omega.
    """
    n = len(q)
    norm_rows = np.zeros((n, n, 7))
    norm_rows[np.arange(n), np.arange(n), 3:] = q
    return np.concatenate([A, norm_rows]), np.concatenate([b, -0.25 * (omega**2).sum(axis=1)])


def _inverse_mass_root(model: Model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the blocks of W with W W^T = M^-1 for positions and quaternions: (n,) and (n, 4, 4).

    With T T^T = 4 and T q = 0, the inverse of the quaternion mass T^T J T + 4 J_0 q q^T is
    T^T J^-1 T / 16 + q q^T / (4 J_0).
    """
    turning = np.einsum("nki,nkj->nij", rotation.T_matrix(q), model.inverse_root) / 4
    along = 0.5 * (q / np.sqrt(model.mean_moment)[:, None])[..., None]
    return 1 / np.sqrt(model.mass), np.concatenate([turning, along], axis=2)


def warn_of_round_off(
    model: Model, W: Metrics, AW: np.ndarray, u: np.ndarray, multipliers: np.ndarray, inverse: PseudoInverse
) -> None:
    """Warn if the round-off of the rows changes accelerations W u by more than ACCEPTED of the largest acceleration.

    To measure the effect, each element of the rows `AW` is changed at random by half a unit in its last place, and the
    multipliers are corrected, by means of the pseudo-inverse `inverse`, such that the accelerations satisfy the
    constraints.
    """
    signs = np.random.default_rng(0).choice([-1.0, 1.0], AW.shape)
    change = AW * signs * (0.5 * np.finfo(float).eps)
    du = change.T @ multipliers
    du -= AW.T @ inverse.multipliers(AW @ du + change @ u)
    for unit, moved, now in zip(("m/s^2", "rad/s^2"), sizes(W, du), sizes(W, u), strict=True):
        worst = int(moved.argmax())
        if moved[worst] > ACCEPTED * now.max():
            factor = model.mass.max() / model.mass.min()
            warnings.warn(
                f"the dense solver: round-off of constraint forces changes the acceleration of "
                f"{model.body_names[worst]!r}, {model.mass[worst]:.3g} kg, by {moved[worst]:.1e} {unit}, where the "
                f"largest is {now.max():.3g} {unit}, since the masses differ by a factor of {factor:.1e}; "
                'solver="sparse", the default, computes with more digits there',
                RoundOffWarning,
                stacklevel=outside(),
            )
            return


def sizes(W: Metrics, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the magnitudes (n,) of the linear accelerations, and (n,) of the quaternion accelerations, of n bodies.

    The accelerations are W u. For unit quaternions, quaternion accelerations are half as large as angular
    accelerations.
    """
    linear, quaternion = accelerations(W, u)
    return np.linalg.norm(linear, axis=1), 2 * np.linalg.norm(quaternion, axis=1)


def accelerations(W: Metrics, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations W u of positions (n, 3) and quaternions (n, 4)."""
    on_each = u.reshape(-1, 7)
    return W[0][:, None] * on_each[:, :3], np.einsum("nij,nj->ni", W[1], on_each[:, 3:])


def least_norm(A: np.ndarray, multipliers: np.ndarray, scale: np.ndarray, rank: int) -> np.ndarray:
    """Return the multipliers of minimum-norm loads with the constraint forces A^T lambda of `multipliers`.

    Loads are multipliers times `scale`, both (m,) for m rows; `rank` is the number of independent rows of A.
    """
    U, s, Vt = np.linalg.svd((A / scale[:, None]).T, full_matrices=False)
    shortest = np.zeros_like(multipliers)
    for _ in range(1 + CORRECTIONS):
        shortest += Vt[:rank].T @ ((U[:, :rank].T @ (A.T @ (multipliers - shortest))) / s[:rank]) / scale
    return shortest
