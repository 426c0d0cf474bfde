"""Loads of minimum norm inside friction cones, for contacts and joints that share a given load.

The loads z (3 m,) are the normal force and two tangential forces of each of m contacts, or up to three components of
the friction f of a joint. They satisfy V^T z = c, and |t_k| <= mu_k n_k in each contact k with normal force n_k and
tangential force t_k, or |f_k| <= l_k in a joint with a known limit. The loads of minimum norm are z = P(V y): V y are
the forces of equal springs in the contacts under a rigid displacement y, and P is the projection onto the friction
cones and balls. A contact slides where its spring force is outside the cone. y is computed by Newton's method for the
convex dual problem, the minimum of |P(V y)|^2 / 2 - c.y (Rockafellar, Convex Analysis (1970), ch. 31).
"""

from __future__ import annotations

import numpy as np

# Components of the load of a contact: normal, and two tangential.
LOADS = 3
# Newton's method: maximum number of steps; relative residual at convergence; maximum number of halvings of a step; the
# least decrease of the dual as a fraction of the linear prediction; and the relative round-off of the dual, which close
# to the solution is larger than its decrease.
MAX_STEPS, CONVERGED, MAX_HALVINGS, SUFFICIENT_DECREASE, ROUND_OFF = 100, 1e-12, 30, 1e-4, 1e-15
# Regularization of the Newton matrix, singular where some directions do not change the loads: its least value, and its
# largest ratio to the relative residual (Levenberg). The ratio is multiplied by EASED after a full step, and by STIFFER
# after a shortened one. Loads that are far larger than the given components need small ratios.
REGULARIZATION, LEVENBERG, EASED, STIFFER = 1e-13, 1e-2, 0.1, 4.0
# Largest relative residual of loads that are accepted after the last step, given the round-off of large loads.
ACCEPTED = 1e-7


def least_norm_loads(
    V: np.ndarray, c: np.ndarray, coefficients: np.ndarray, limits: np.ndarray | float = 0.0
) -> np.ndarray | None:
    """Return the loads z (3 m,) of minimum norm inside the friction cones with V^T z = c; None if the search fails.

    Parameters
    ----------
    V : (3 m, r) matrix with orthonormal columns
    c : (r,) given components of the loads along these columns
    coefficients : (m,) friction coefficients, which may be infinite
    limits : (m,) limits of the friction of joints, N; 0 for contacts
    """
    limits = np.broadcast_to(limits, coefficients.shape)
    y, damping, size = c.copy(), LEVENBERG, float(np.linalg.norm(c))
    z, jacobian = _projection(V @ y, coefficients, limits)
    for _ in range(MAX_STEPS):
        residual = V.T @ z - c
        missing = float(np.linalg.norm(residual))
        if missing <= max(CONVERGED * size, np.finfo(float).eps * float(np.linalg.norm(y))):
            break
        step = -np.linalg.solve(
            V.T @ jacobian @ V + max(REGULARIZATION, damping * missing / size) * np.eye(len(c)), residual
        )
        value, predicted_decrease, part = z @ (V @ y) - 0.5 * z @ z - c @ y, residual @ step, 1.0
        value += ROUND_OFF * (np.abs(z) @ np.abs(V @ y) + np.abs(c) @ np.abs(y))
        for _ in range(MAX_HALVINGS):
            moved = V @ (y + part * step)
            tried, jacobian_tried = _projection(moved, coefficients, limits)
            if (
                tried @ moved - 0.5 * tried @ tried - c @ (y + part * step)
                <= value + SUFFICIENT_DECREASE * part * predicted_decrease
            ):
                break
            part *= 0.5
        damping = damping * EASED if part == 1.0 else min(damping * STIFFER, LEVENBERG)
        y, z, jacobian = y + part * step, tried, jacobian_tried
    return z if np.linalg.norm(V.T @ z - c) <= ACCEPTED * size else None


def is_inside_cones(z: np.ndarray, coefficients: np.ndarray, limits: np.ndarray | float = 0.0) -> bool:
    """Return whether the loads (3 m,) of m contacts and joints are inside the friction cones and limits of joints."""
    loads, joints = z.reshape(-1, LOADS), np.broadcast_to(limits, coefficients.shape) > 0
    normal = np.where(joints, 0.0, loads[:, 0])
    across = np.linalg.norm(np.where(joints[:, None], loads, loads * [0.0, 1.0, 1.0]), axis=1)
    limit = np.where(np.isfinite(coefficients), coefficients, 1.0) * normal + limits
    return bool((normal >= 0).all() and ((across <= limit) | ~np.isfinite(coefficients)).all())


def _projection(z: np.ndarray, coefficients: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the projection of loads z (3 m,) onto the friction cones of m contacts, and its Jacobian (3 m, 3 m).

    `coefficients` (m,) are the friction coefficients. `limits` (m,) are the limits of joints, 0 for contacts.
    """
    projected, jacobian = np.zeros_like(z), np.zeros((len(z), len(z)))
    for k, (mu, limit) in enumerate(zip(coefficients, limits, strict=True)):
        part = slice(LOADS * k, LOADS * (k + 1))
        n, t = z[part][0], z[part][1:]
        size = float(np.linalg.norm(t))
        if limit > 0:
            f, size = z[part], float(np.linalg.norm(z[part]))
            projected[part], jacobian[part, part] = f, np.eye(LOADS)
            if size > limit:
                projected[part] = limit / size * f
                jacobian[part, part] = limit / size * (np.eye(LOADS) - np.outer(f, f) / size**2)
        elif mu == np.inf:
            projected[part], jacobian[part, part] = [max(n, 0.0), *t], np.diag([float(n > 0), 1.0, 1.0])
        elif n >= 0 and size <= mu * n:
            projected[part], jacobian[part, part] = z[part], np.eye(LOADS)
        elif mu * size > -n:
            e = t / size if size > 0 else np.zeros(2)
            along = np.array([1.0, *(mu * e)])
            normal = float(along @ z[part]) / (1.0 + mu * mu)
            projected[part] = normal * along
            jacobian[part, part] = np.outer(along, along) / (1.0 + mu * mu)
            if size > 0:
                jacobian[part, part][1:, 1:] += mu * normal / size * (np.eye(2) - np.outer(e, e))
    return projected, jacobian
