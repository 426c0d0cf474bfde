"""Interpolating splines as piecewise polynomials, and where their pieces meet roughly."""

from __future__ import annotations

import math

import numpy as np

# Pieces that meet differ by enough to matter if it is by more than this part of how far a spline goes.
KINK = 1e-10


def interpolated(x: np.ndarray, y: np.ndarray, degree: int, periodic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the spline through y (n, ...) at increasing x (n,): breaks (p + 1,), coefficients (p, ..., degree + 1).

    Coefficients are by ascending powers of x since the start of their piece. A periodic one has y[0] = y[-1]; others
    have one piece less for each two points that the degree needs at their ends (not-a-knot).
    """
    from scipy.interpolate import make_interp_spline  # takes 0.2 s to import

    fitted = make_interp_spline(x, y, k=degree, bc_type="periodic" if periodic else None)
    breaks = np.unique(fitted.t[degree : len(fitted.t) - degree])
    return breaks, np.stack([fitted(breaks[:-1], nu=k) / math.factorial(k) for k in range(degree + 1)], axis=-1)


def kinks(breaks: np.ndarray, coefficients: np.ndarray, periodic: bool) -> np.ndarray:
    """Return breaks at which derivatives of pieces (p, terms) differ by enough to matter to steps that pass over them.

    It matters if over one piece it makes more than a part KINK of how far the spline goes.
    """
    order, lengths, moved = coefficients.shape[1], np.diff(breaks), np.ptp(coefficients[:, 0])
    if periodic:
        # The last piece meets the first one.
        coefficients, lengths = np.vstack([coefficients, coefficients[:1]]), np.append(lengths, lengths[0])
    if len(lengths) < 2:
        return np.zeros(0)
    shift = [[math.comb(m, k) if m >= k else 0 for m in range(order)] for k in range(order)]
    # Each term is what a derivative makes over the piece behind; those of both pieces at the time where they meet.
    behind = coefficients[:-1] * lengths[:-1, None] ** np.arange(order)
    ahead = coefficients[1:] * lengths[:-1, None] ** np.arange(order)
    jumps = np.abs(behind @ np.transpose(shift) - ahead)
    shorter = np.minimum(1.0, lengths[1:] / lengths[:-1])[:, None] ** np.arange(order)
    return breaks[1 : len(lengths)][(jumps * shorter).max(axis=1) > KINK * moved]
