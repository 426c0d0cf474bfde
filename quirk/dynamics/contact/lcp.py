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
MAX_VIOLATION = 1e-9


def independent_columns(W: np.ndarray, first: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return a mask (c,) of columns of W (c, c), a maximal linearly independent set.

    The set contains all columns in the mask `first`, which must be independent, and further columns from the mask
    `more`.
    """
    independent = first.copy()
    for k in np.flatnonzero(more & ~first):
        A = W[np.ix_(independent, independent)]
        left = W[k, k] - (W[k, independent] @ np.linalg.solve(A, W[independent, k]) if independent.any() else 0.0)
        independent[k] = left > INDEPENDENT * W[k, k]
    return independent


def dependent_columns(W: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return a mask (c,) of columns of W (c, c) that depend linearly on the columns in the mask `independent` (c,)."""
    others = ~independent
    A, B = W[np.ix_(independent, independent)], W[np.ix_(independent, others)]
    left = np.diag(W)[others] - np.einsum("ij,ij->j", B, np.linalg.solve(A, B))
    dependent = independent.copy()
    dependent[others] = left <= INDEPENDENT * np.diag(W)[others]
    return dependent


def solve_lcp(W: np.ndarray, q: np.ndarray) -> np.ndarray | None:
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
    significant = DEPENDENT * D[-1] < D
    root = np.sqrt(D[significant])[:, None] * V[:, significant].T
    x, _ = nnls(root, -(V[:, significant].T @ b) / np.sqrt(D[significant]), maxiter=30 * len(q) + 30)
    for solution in (_refined(A, b, x > 0), x):
        if not (A @ solution + b < -MAX_VIOLATION).any():
            return solution * scale * size
    return None


def _refined(A: np.ndarray, b: np.ndarray, independent: np.ndarray) -> np.ndarray:
    """Return impulses x (c,) with A x + b = 0, solved again so that the error is only round-off.

    x is zero outside the mask `independent` (c,). Nonpositive impulses of contacts in the mask are due to round-off,
    and are set to zero.
    """
    x, independent = np.zeros_like(b), independent.copy()
    while independent.any():
        exact = np.linalg.solve(A[np.ix_(independent, independent)], -b[independent])
        if (exact > 0).all():
            x[independent] = exact
            break
        independent[independent] = exact > 0
    return x
