"""Interpolation of auxiliary states between the recorded times of a result.

The k auxiliary states are the internal variables of force elements, and work, integrated together with the motion of n
bodies. Their rates are evaluated at 8 Gauss-Lobatto points of each interval.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from ..bodies.state import STATE_SIZE
from ..dynamics.sparse.solver.along_states import dynamics_along
from .state_interpolation import Abscissa, Interpolant

# Nodes of Gauss-Lobatto quadrature on [-1, 1]: the ends and the extrema of a Legendre polynomial.
COUNT = 8
NODES = np.array([-1.0, *legendre.Legendre.basis(COUNT - 1).deriv().roots(), 1.0])
PARTS = 0.5 + 0.5 * NODES
# Matrix from values at the nodes to coefficients of Legendre polynomials.
COEFFICIENTS = np.linalg.inv(legendre.legvander(NODES, COUNT - 1))
# Maximum number of fixed-point iterations for internal variables that affect their own rates, and relative tolerance.
SWEEPS, CONVERGED = 8, 1e-13


def with_auxiliary_states(interpolant: Interpolant, points: Abscissa, flat: np.ndarray) -> np.ndarray:
    """Return state vectors (p, 13 n + k) at p points between recorded times, with interpolated auxiliary states.

    `interpolant` interpolates the motion of n bodies, `points` are the p points, and `flat` are the state vectors
    there, whose k auxiliary states are replaced. The rates of auxiliary states are integrated along the motion. The
    difference between the integral over an interval and the recorded change, an interpolation error, is distributed in
    proportion to time.
    """
    model = interpolant.segment.model
    auxiliary = model.auxiliary
    if not auxiliary.size:
        return flat
    left, where = np.unique(points.interval, return_inverse=True)
    nodes = Abscissa(np.repeat(left, COUNT), np.tile(PARTS, len(left)))
    along = interpolant.states(nodes)
    rows = interpolant.segment.flat[:, STATE_SIZE * auxiliary.bodies :]
    before, after, h = rows[left], rows[left + 1], np.diff(interpolant.segment.time)[left][:, None]
    angles = interpolant.angles(nodes, along) if model.reads_angles else None
    times, first = interpolant.time(nodes), STATE_SIZE * auxiliary.bodies
    held = before[:, None] + PARTS[:, None] * (after - before)[:, None]
    last = np.inf
    for _ in range(SWEEPS if auxiliary.internal else 1):
        along[:, first:] = held.reshape(len(along), -1)
        found = dynamics_along(interpolant.solver, times, along, angles).auxiliary
        rates = found.reshape(held.shape)
        better = before[:, None] + _integrated_rates(PARTS, rates, before, after, h)
        change = np.abs(better - held).max()
        if not change < last:
            break  # rates that depend strongly on the variables: the iteration does not converge
        held, last = better, change
        if change <= CONVERGED * np.abs(held).max():
            break
    flat = flat.copy()
    flat[:, first:] = before[where] + np.array(
        [
            _integrated_rates(np.array([x]), rates[k : k + 1], before[k : k + 1], after[k : k + 1], h[k : k + 1])[0, 0]
            for k, x in zip(where, points.x, strict=True)
        ]
    )
    return flat


def _integrated_rates(
    x: np.ndarray, rates: np.ndarray, start_values: np.ndarray, end_values: np.ndarray, h: np.ndarray
) -> np.ndarray:
    """Return the changes (i, p, k) of k auxiliary states from the start of each of i intervals to p points within.

    Parameters
    ----------
    x : (p,) fractions of the interval, 0 to 1
    rates : (i, 8, k) rates at the 8 quadrature points
    start_values, end_values : (i, k) recorded values at both ends of the interval
    h : (i, 1) lengths of the intervals, s
    """
    weights, whole = (_integrals(2 * at - 1) @ COEFFICIENTS for at in (x, np.ones(1)))
    sums, total = (h[:, None] * np.einsum("pn,ink->ipk", of, rates) for of in (weights, whole))
    return sums + x[:, None] * ((end_values - start_values)[:, None] - total)


def _integrals(points: np.ndarray) -> np.ndarray:
    """Return the integrals (p, 8) of the first 8 Legendre polynomials from -1 to `points` (p,), divided by two."""
    values = legendre.legvander(points, COUNT)
    lower = np.concatenate([-np.ones((len(points), 1)), values[:, : COUNT - 1]], axis=1)
    return 0.5 * (values[:, 1:] - lower) / (2 * np.arange(COUNT) + 1)
