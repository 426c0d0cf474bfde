"""Detection of stiffness: eigenvalues of fast modes, and smoothness of the motion."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from quirk.dynamics.model.layout import OMEGA, ORIENTATION, VELOCITY
from quirk.integrators import TABLEAUX

from ..solver.solver import Solver

# Upper limit and resolution of the search for the stability interval.
FARTHEST, FINE = 20.0, 0.01
# Maximum dimension of the Krylov space, and the relative remainder of an image for which the space is complete.
DIMENSION, COMPLETE = 30, 1e-6
# Difference quotients of y': displacement of the bodies over that of the slowest one in the time considered, about the
# square root of round-off, and the least change of y' as a multiple of its round-off.
NEARBY, ABOVE_ROUND_OFF = 1e-7, 1e4
# If the fastest modes change by less than this in the time considered, differences are taken for a longer time.
SLOW = 0.1
# Degree of the polynomial fitted to a motion, that of steps of "RadauIIA9"; least number of states for the fit; and
# largest residual over the tolerance: near the stability bound it is a few tolerances.
DEGREE, FEWEST, NOISE = 5, 8, 10.0


@cache
def stability_interval(name: str) -> float:
    """Return the length of the real stability interval of the explicit method called `name`.

    It is the largest product of step size and decay rate for which steps are stable.
    """
    tableau = TABLEAUX[name]
    s = tableau.stages
    for x in np.arange(FINE, FARTHEST, FINE):
        grown = 1 - x * (tableau.b @ np.linalg.solve(np.eye(s) + x * tableau.a, np.ones(s)))
        if abs(grown) > 1 + 1e-9:
            return float(x - FINE)
    return FARTHEST


def fast_modes(solver: Solver, y: np.ndarray, t: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (k,), 1/s, of the k fastest modes at a state, and their error bounds (k,), 1/s.

    y is the state, and t the time (s). Modes with time scales of h (s) or longer are resolved. They are computed by
    Arnoldi's method (Saad, Numerical Methods for Large Eigenvalue Problems, 2011, 6.2) with difference quotients of y',
    because a few digits suffice. Velocities are in units of the characteristic length per h, so that displacements and
    velocities of fast modes have similar magnitudes and the mode shapes are far from parallel.
    """
    modes, missed = _modes(solver, y, t, h)
    fastest = np.abs(modes).max(initial=0.0)
    return _modes(solver, y, t, 1 / fastest) if 0 < h * fastest < SLOW else (modes, missed)


def _modes(solver: Solver, y: np.ndarray, t: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues (k,) of k modes with time scales of about h (s), and their error bounds (k,), 1/s.

    The modes are computed with difference quotients of y' at the state y and time t (s).
    """
    slots, n = solver.slots, solver.slots.bodies
    length, bodies = solver.model.length, slice(0, solver.slots.first_auxiliary)
    scale = slots.to_lanes(np.tile(np.repeat([length, 1.0, length / h, 1.0 / h], [3, 4, 3, 3]), (n, 1)))
    weight = np.where(scale > 0, scale, 1.0)
    start, moved, random = solver.rates(t, y)[bodies], y.copy(), np.random.default_rng(0)
    near = _difference(solver, y, t, h, start)
    count = min(DIMENSION, 12 * n)
    basis, H = np.zeros((count + 1, len(scale))), np.zeros((count + 1, count))
    basis[0] = slots.to_lanes(random.normal(size=(n, 13)))
    basis[0] /= np.linalg.norm(basis[0])
    for k in range(count):
        moved[bodies] = y[bodies] + near * scale * basis[k]
        image = h * (solver.rates(t, moved)[bodies] - start) / (near * weight)
        size = np.linalg.norm(image)
        if not np.isfinite(size):
            return np.zeros(0), np.zeros(0)
        for _ in range(2):  # the second time for round-off
            parts = basis[: k + 1] @ image
            H[: k + 1, k] += parts
            image -= parts @ basis[: k + 1]
        H[k + 1, k] = np.linalg.norm(image)
        if H[k + 1, k] <= COMPLETE * size:
            count = k + 1
            break
        basis[k + 1] = image / H[k + 1, k]
    values, vectors = np.linalg.eig(H[:count, :count])
    return values / h, H[count, count - 1] * np.abs(vectors[-1]) / h


def _difference(solver: Solver, y: np.ndarray, t: float, h: float, start: np.ndarray) -> float:
    """Return the size of the displacements for difference quotients of y', in units of the characteristic length.

    The displacements are small, because loads that depend on velocities, such as friction near standstill, may be
    linear only for small changes. `start` is y' at time t (s) and state y. h is the time scale of the modes, s.
    """
    slots, length, pose = solver.slots, solver.model.length, slice(0, VELOCITY)
    states = slots.body_states(y)
    moved, ulps = y.copy(), np.finfo(float).eps * np.random.default_rng(1).choice([-1.0, 1.0], size=states.shape)
    ulps[:, pose] *= np.repeat([length, 1.0], [3, 4])
    ulps[:, VELOCITY:] *= states[:, VELOCITY:]
    moved[: slots.first_auxiliary] += slots.to_lanes(ulps)
    round_off = slots.body_states(solver.rates(t, moved)[: slots.first_auxiliary] - start)

    def sizes(of: np.ndarray) -> np.ndarray:
        """Return the norms (n,) of the velocities, or of the accelerations, of n bodies, in characteristic lengths."""
        linear, angular = (np.linalg.norm(of[:, part], axis=1) for part in (slice(VELOCITY, OMEGA), slice(OMEGA, None)))
        return np.maximum(linear / length, angular)

    slowest, noise = sizes(states).min(), sizes(round_off).max()
    return float(min(NEARBY, max(NEARBY * h * slowest, ABOVE_ROUND_OFF * h * h * noise, np.finfo(float).tiny ** 0.5)))


def smooth(times: np.ndarray, states: np.ndarray, rtol: float, atol: float) -> bool:
    """Return whether the velocities of n bodies are polynomials of low degree in time, within the tolerances.

    `rtol` and `atol` are the relative and absolute tolerances. `states` (m, n, 13) are the states at m `times`, s.
    Positions need not be tested, because they are integrals of velocities.
    """
    if len(times) < FEWEST:
        return False
    powers = chebvander(2 * (times - times[0]) / (times[-1] - times[0]) - 1, DEGREE)
    flat = states.reshape(len(times), -1)
    left = (flat - powers @ np.linalg.lstsq(powers, flat, rcond=None)[0]).reshape(states.shape)
    for part in (slice(ORIENTATION, VELOCITY), slice(VELOCITY, OMEGA), slice(OMEGA, None)):
        size = np.linalg.norm(states[..., part], axis=-1).max(axis=0)
        if (np.linalg.norm(left[..., part], axis=-1) > NOISE * (atol + rtol * size)).any():
            return False
    return True
