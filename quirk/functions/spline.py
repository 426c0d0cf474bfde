"""Interpolating splines as piecewise polynomials, and the times at which their derivatives jump."""

from __future__ import annotations

import math

import numpy as np

# Smallest jump of a derivative that affects integration steps: its effect on the value over one polynomial piece, as a
# fraction of the range of the spline.
KINK = 1e-10


def interpolated(x: np.ndarray, y: np.ndarray, degree: int, periodic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the interpolating spline of the values y (n, ...) at increasing x (n,), as p polynomial pieces.

    The results are the boundaries (p + 1,) of the pieces and their coefficients (p, ..., degree + 1), in ascending
    powers of the distance from the start of the piece. A periodic spline requires y[0] = y[-1]. Other splines have
    fewer than n - 1 pieces, because of the not-a-knot conditions at the ends.
    """
    from scipy.interpolate import make_interp_spline  # its import takes 0.2 s

    fitted = make_interp_spline(x, y, k=degree, bc_type="periodic" if periodic else None)
    breaks = np.unique(fitted.t[degree : len(fitted.t) - degree])
    return breaks, np.stack([fitted(breaks[:-1], nu=k) / math.factorial(k) for k in range(degree + 1)], axis=-1)


def kinks(breaks: np.ndarray, coefficients: np.ndarray, periodic: bool) -> np.ndarray:
    """Return the piece boundaries at which a derivative jumps by enough to affect integration steps.

    A jump counts if its effect on the value over one piece exceeds KINK times the range of the spline. `breaks` (p +
    1,) and `coefficients` (p, terms) are those of `interpolated`.
    """
    order, lengths, moved = coefficients.shape[1], np.diff(breaks), np.ptp(coefficients[:, 0])
    if periodic:
        # The last piece is followed by the first one.
        coefficients, lengths = np.vstack([coefficients, coefficients[:1]]), np.append(lengths, lengths[0])
    if len(lengths) < 2:
        return np.zeros(0)
    shift = [[math.comb(m, k) if m >= k else 0 for m in range(order)] for k in range(order)]
    # Each term is the effect of one derivative over the next piece, computed from both pieces at their common break.
    behind = coefficients[:-1] * lengths[:-1, None] ** np.arange(order)
    ahead = coefficients[1:] * lengths[:-1, None] ** np.arange(order)
    jumps = np.abs(behind @ np.transpose(shift) - ahead)
    shorter = np.minimum(1.0, lengths[1:] / lengths[:-1])[:, None] ** np.arange(order)
    return breaks[1 : len(lengths)][(jumps * shorter).max(axis=1) > KINK * moved]
