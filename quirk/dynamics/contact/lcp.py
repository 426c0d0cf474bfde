"""Linear complementarity problem of contacts: nonnegative impulses and rates, one of which is zero in each contact.

Find x >= 0 with w = W x + q >= 0 and x.w = 0, for a symmetric positive semidefinite W: contacts with impulses x and
rates w (Moreau 1988; Glocker and Pfeiffer 1995). The solution is the minimum of x.W x / 2 + q.x over x >= 0, computed
as a nonnegative least-squares problem (Lawson and Hanson, Solving Least Squares Problems (1974), ch. 23): the nonzero
impulses belong to independent columns. Vectors are (c,) for c contacts.
"""

from __future__ import annotations

import numpy as np

# Eigenvalues of W, scaled to a unit diagonal, below this fraction of the largest belong to dependent columns.
DEPENDENT = 1e-12
# Least fraction of a diagonal entry left after elimination of other columns for a column to count as independent.
INDEPENDENT = 1e-8
# Largest violation, over the largest rate, of a solution; with a larger violation the problem has no solution.
MISSED = 1e-9


def completed(W: np.ndarray, first: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return a mask (c,) of columns of W (c, c), a maximal linearly independent set.

    The set contains all columns in the mask `first`, which must be independent, and further columns from the mask
    `more`.
    """
    held = first.copy()
    for k in np.flatnonzero(more & ~first):
        A = W[np.ix_(held, held)]
        left = W[k, k] - (W[k, held] @ np.linalg.solve(A, W[held, k]) if held.any() else 0.0)
        held[k] = left > INDEPENDENT * W[k, k]
    return held


def pushes(W: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Return impulses x (c,) that solve the linear complementarity problem with W (c, c) and q (c,), or None.

    The positive entries of x belong to independent columns of W. The result is None if there is no solution.
    """
    if not (q < 0).any():
        return np.zeros_like(q)
    if len(q) == 1:
        return -q / W[0] if W[0, 0] > 0 else None
    from scipy.optimize import nnls  # imported here as it takes 0.25 s

    scale = 1 / np.sqrt(np.where(np.diag(W) > 0, np.diag(W), 1.0))
    # The tolerance of nnls is absolute: b is scaled to 1.
    size = np.abs(q * scale).max()
    A, b = W * scale * scale[:, None], q * scale / size
    D, V = np.linalg.eigh(A)
    kept = DEPENDENT * D[-1] < D
    root = np.sqrt(D[kept])[:, None] * V[:, kept].T
    x, _ = nnls(root, -(V[:, kept].T @ b) / np.sqrt(D[kept]), maxiter=30 * len(q) + 30)
    for solution in (_solved_again(A, b, x > 0), x):
        if not (A @ solution + b < -MISSED).any():
            return solution * scale * size
    return None


def _solved_again(A: np.ndarray, b: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return impulses x (c,) with A x + b = 0, solved again so that the error is only round-off.

    x is zero outside the mask `held` (c,). Nonpositive impulses of contacts in the mask are due to round-off, and are
    set to zero.
    """
    x, held = np.zeros_like(b), held.copy()
    while held.any():
        exact = np.linalg.solve(A[np.ix_(held, held)], -b[held])
        if (exact > 0).all():
            x[held] = exact
            break
        held[held] = exact > 0
    return x
