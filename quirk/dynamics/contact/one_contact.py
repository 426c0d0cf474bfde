"""Directions in which a single friction element can begin to slide, in closed form.

*A contact with Coulomb friction in a plane.* The rows of the contact are its gap n and two slip components t. Friction
with the coefficient mu opposes the slip in the direction of the unit vector e, and the gap stays closed:

    N (W_nn - mu W_nt e) = -q_n,    |w_t| e = q_t + N (W_tn - mu W_tt e)

Elimination of N and of the component along e leaves one equation for the angle of e,

    e x [q_t (W_nn - mu W_nt e) - q_n (W_tn - mu W_tt e)] = 0

a trigonometric polynomial of degree 2, which is a polynomial of degree 4 of exp(i angle).

*Friction of a known magnitude f,* as of a ball joint, opposes the slip in the direction of the unit vector e:

    a e = q - f W e,    e = (a + f W)^-1 q

In the axes of the eigenvectors of W, |e| = 1 is one equation for the acceleration a > 0, whose left side decreases.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

# Largest distance of a root from the unit circle; double roots are accurate to the square root of round-off.
ON_CIRCLE = 1e-6


def slip_directions_of_one_contact(W: np.ndarray, q: np.ndarray, coefficient: float) -> list[np.ndarray]:
    """Return all unit vectors (2,) along which the contact can begin to slide; there may be none.

    Parameters
    ----------
    W : (3, 3) accelerations of the gap and of two slip components per unit force along each
    q : (3,) accelerations without these forces; the first is negative
    coefficient : coefficient of sliding friction
    """
    a, M = q[1:] * W[0, 0] - q[0] * W[1:, 0], coefficient * (q[0] * W[1:, 1:] - np.outer(q[1:], W[0, 1:]))
    first, second = a[1] + 1j * a[0], 0.5 * (M[1, 0] + M[0, 1] - 1j * (M[1, 1] - M[0, 0]))
    roots = np.roots([second, first, M[1, 0] - M[0, 1], first.conjugate(), second.conjugate()])
    angles = np.angle(roots[np.abs(np.abs(roots) - 1.0) < ON_CIRCLE])
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return [e for e in directions if W[0, 0] - coefficient * W[0, 1:] @ e > 0.0 and e @ (a + M @ e) >= 0.0]


def slip_direction_of_known_friction(W: np.ndarray, q: np.ndarray, force: float) -> np.ndarray | None:
    """Return the unit vector (d,) along which friction of a known magnitude begins to slide, or None if it sticks.

    Parameters
    ----------
    W : (d, d) accelerations of the slip components per unit force along each, positive definite
    q : (d,) accelerations without friction
    force : magnitude of the friction force, N or N m
    """
    values, axes = np.linalg.eigh(W)
    along = axes.T @ q

    def excess(acceleration: float) -> float:
        return float(np.linalg.norm(along / (acceleration + force * values))) - 1.0

    if not (values > 0.0).all() or not excess(0.0) > 0.0:
        return None
    direction = axes @ (along / (brentq(excess, 0.0, np.linalg.norm(q)) + force * values))
    return np.asarray(direction / np.linalg.norm(direction))
