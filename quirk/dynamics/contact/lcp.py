"""Linear complementarity: pushes that are not negative, of what must not approach, where one of both is zero.

Find x >= 0 with w = W x + q >= 0 and x.w = 0, for a symmetric W that is not indefinite: contacts with impulses x and
rates w (Moreau 1988; Glocker and Pfeiffer 1995). It is the optimum of x.W x / 2 + q.x over x >= 0, which is found as a
least-squares problem (Lawson and Hanson, Solving Least Squares Problems (1974), ch. 23): of dependent columns only
independent ones get a push.
"""

from __future__ import annotations

import numpy as np

# Eigenvalues of W, scaled to a unit diagonal, below this part of the largest are those of dependent columns.
DEPENDENT = 1e-12
# A column is independent of others if so much of it, over the whole, is not explained by them.
INDEPENDENT = 1e-8
# What is missed by more than this part of the largest rate cannot be met.
MISSED = 1e-9


def completed(W: np.ndarray, first: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return which columns are independent, (c,) bool: all in `first`, (c,) bool, then others of those in `more`."""
    held = first.copy()
    for k in np.flatnonzero(more & ~first):
        A = W[np.ix_(held, held)]
        left = W[k, k] - (W[k, held] @ np.linalg.solve(A, W[held, k]) if held.any() else 0.0)
        held[k] = left > INDEPENDENT * W[k, k]
    return held


def pushes(W: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Return x (c,) of the complementarity of W (c, c) and q (c,), or None if there is none.

    Its positive entries belong to independent columns of W.
    """
    if not (q < 0).any():
        return np.zeros_like(q)
    if len(q) == 1:
        return -q / W[0] if W[0, 0] > 0 else None
    from scipy.optimize import nnls  # takes a quarter of a second to import

    scale = 1 / np.sqrt(np.where(np.diag(W) > 0, np.diag(W), 1.0))
    A, b = W * scale * scale[:, None], q * scale
    D, V = np.linalg.eigh(A)
    kept = DEPENDENT * D[-1] < D
    root = np.sqrt(D[kept])[:, None] * V[:, kept].T
    x, _ = nnls(root, -(V[:, kept].T @ b) / np.sqrt(D[kept]), maxiter=30 * len(q) + 30)
    held = x > 0
    if held.any():
        # The same once more on those that push, to the last digits.
        exact = np.linalg.solve(A[np.ix_(held, held)], -b[held])
        x[held] = np.where(exact > 0, exact, x[held])
    if (A @ x + b < -MISSED * np.abs(b).max()).any():
        return None
    return x * scale
