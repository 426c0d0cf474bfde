"""The Udwadia-Kalaba equation in (r, q), dense: the reference that everything faster is tested against.

Sources: Udwadia and Kalaba, Proc. R. Soc. A 439 (1992), eq. 2.7 (the constrained acceleration); Udwadia
and Schutte, J. Appl. Mech. 77 (2010) (quaternions with a mass matrix made positive definite along q).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk import rotation
from quirk.state import Kinematics

from .model import Model
from .rows import constraint_rows

# Singular values of the scaled rows below this part of the largest count as zero. Rows are scaled to unit
# length in the mass metric first, so the number is free of units. Redundant rows lie at 1e-16 on the
# constraints and at the size of the violation off them; well-posed models with mass ratios of 1e6 stay four
# digits above it.
RANK_TOLERANCE = 1e-7


@dataclass(frozen=True)
class ConstrainedMotion:
    """The solution of A xdd = b closest to the free motion.

    Attributes
    ----------
    acceleration : (n, 7) rdd in N and qdd of each body
    constraint_force : (n, 7) Q_c = A^T lambda: force in N, and generalised force along q
    multipliers : (m,) lambda, of minimum norm in the model's row scale where rows are redundant
    rank : number of independent constraint rows
    """

    acceleration: np.ndarray
    constraint_force: np.ndarray
    multipliers: np.ndarray
    rank: int


@dataclass(frozen=True)
class PseudoInverse:
    """A^+ in the mass metric: (A W)^+ = V s^-1 U^T D with W W^T = M^-1 and D scaling rows to unit length.

    U (m, r), s (r,), Vt (r, k) belong to the r singular values that count; `spectrum` holds all of them, over
    the largest.
    """

    U: np.ndarray
    s: np.ndarray
    Vt: np.ndarray
    D: np.ndarray
    spectrum: np.ndarray

    @classmethod
    def of(cls, AW: np.ndarray, tolerance: float, limit: int | None = None) -> PseudoInverse:
        """Factorise (m, k) rows that are already multiplied by W; keep at most `limit` singular values."""
        length = np.linalg.norm(AW, axis=1)
        D = 1.0 / np.where(length > 0, length, 1.0)
        U, s, Vt = np.linalg.svd(AW * D[:, None], full_matrices=False)
        spectrum = s / s[0] if s.size and s[0] > 0 else s
        rank = int((spectrum > tolerance).sum())
        rank = rank if limit is None else min(rank, limit)
        return cls(U[:, :rank], s[:rank], Vt[:rank], D, spectrum)

    def rank(self, tolerance: float) -> int:
        """Return the number of singular values above `tolerance` times the largest."""
        return int((self.spectrum > tolerance).sum())

    def solve(self, residual: np.ndarray) -> np.ndarray:
        """Return the shortest z (k,) with A W z = residual (m,), by least squares where rows contradict."""
        return self.Vt.T @ ((self.U.T @ (self.D * residual)) / self.s)

    def multipliers(self, residual: np.ndarray) -> np.ndarray:
        """Return a lambda (m,) with W^T A^T lambda = solve(residual)."""
        return self.D * (self.U @ ((self.U.T @ (self.D * residual)) / self.s**2))


def constrained_motion(
    model: Model,
    kin: Kinematics,
    t: float,
    force: np.ndarray,
    torque: np.ndarray,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    rank: int | None = None,
) -> ConstrainedMotion:
    """Solve the equation at one state.

    Parameters
    ----------
    t : s
    force : (n, 3) applied forces in N
    torque : (n, 3) applied torques about the centres of mass, body axes
    baumgarte : alpha and beta, 1/s: b is lowered by 2 alpha Phi_dot + beta^2 Phi
    rank : int, optional
        How many of the constraint rows are known to be independent. At a state that violates the
        constraints a little, such as an inner stage of an integrator, redundant rows contradict each other
        a little and look independent; following them would give a large and meaningless acceleration.
    """
    n = len(model.mass)
    q, omega = kin.orientation[:-1], kin.angular_velocity[:-1]
    rows = constraint_rows(model, kin, t)
    alpha, beta = baumgarte
    b = rows.b - 2 * alpha * rows.phi_dot - beta**2 * rows.phi

    # Norm rows: q^T qdd = -qdot^T qdot, and |omega|^2 = 4 |qdot|^2 for unit quaternions.
    norm_rows = np.zeros((n, n, 7))
    norm_rows[np.arange(n), np.arange(n), 3:] = q
    qdot_squared = 0.25 * (omega**2).sum(axis=1)
    A = np.concatenate([rows.A.reshape(model.rows, n, 7), norm_rows])
    b = np.concatenate([b, -qdot_squared])

    M_q, Q_q = quaternion_mass(model, q, omega, torque)

    # a = M^-1 Q and W with W W^T = M^-1, block by block: 1/sqrt(m), and L^-T where M_q = L L^T.
    W_q = np.swapaxes(np.linalg.inv(np.linalg.cholesky(M_q)), 1, 2)
    W_r = 1 / np.sqrt(model.mass)
    a = np.concatenate([force / model.mass[:, None], np.linalg.solve(M_q, Q_q[..., None])[..., 0]], axis=1)
    AW = np.concatenate([A[..., :3] * W_r[:, None], np.einsum("mni,nij->mnj", A[..., 3:], W_q)], axis=2).reshape(
        -1, 7 * n
    )

    # xdd = a + W (A W)^+ (b - A a),  Q_c = A^T lambda
    pseudo_inverse = PseudoInverse.of(AW, RANK_TOLERANCE, None if rank is None else rank + n)
    A = A.reshape(-1, 7 * n)
    residual = b - A @ a.ravel()
    z = pseudo_inverse.solve(residual).reshape(n, 7)
    multipliers = pseudo_inverse.multipliers(residual)
    if len(pseudo_inverse.s) < len(A):
        multipliers = _shared(A, multipliers, model, pseudo_inverse.D)
    correction = np.concatenate([W_r[:, None] * z[:, :3], np.einsum("nij,nj->ni", W_q, z[:, 3:])], axis=1)
    return ConstrainedMotion(
        acceleration=a + correction,
        constraint_force=(A.T @ multipliers).reshape(n, 7),
        multipliers=multipliers[: model.rows],
        rank=len(pseudo_inverse.s) - n,
    )


def _shared(A: np.ndarray, multipliers: np.ndarray, model: Model, unit: np.ndarray) -> np.ndarray:
    """Return the multipliers that exert the same forces and have the least sum of squared loads.

    Loads are multipliers times the model's row scale; norm rows of quaternions, which never are redundant, keep
    the scale `unit` in which all rows have unit length.
    """
    scale = np.concatenate([model.row_scale, 1 / unit[model.rows :]])
    exerted = (A / scale[:, None]).T
    return np.linalg.lstsq(exerted, A.T @ multipliers, rcond=RANK_TOLERANCE)[0] / scale


def quaternion_mass(
    model: Model, q: np.ndarray, omega: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return M_q (n, 4, 4), positive definite, and the applied Q_q (n, 4) of torques (n, 3) in body axes.

    M_q = T^T J T + 4 J_0 q q^T: any J_0 > 0 serves, since the norm rows decide the motion along q.
    """
    T = rotation.T_matrix(q)
    J_0 = np.trace(model.inertia, axis1=1, axis2=2) / 3
    M_q = np.einsum("nki,nkl,nlj->nij", T, model.inertia, T)
    M_q += 4 * J_0[:, None, None] * q[:, :, None] * q[:, None, :]
    gyroscopic = np.cross(omega, np.einsum("nij,nj->ni", model.inertia, omega))
    along = J_0 * (omega**2).sum(axis=1)
    return M_q, np.einsum("nki,nk->ni", T, torque - gyroscopic) - along[:, None] * q
