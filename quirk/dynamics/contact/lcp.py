"""Linear complementarity problem of contacts: nonnegative impulses and rates, one of which is zero in each contact.

Find x >= 0 with w = W x + q >= 0 and x.w = 0, for a symmetric positive semidefinite W: contacts with impulses x and
rates w (Moreau 1988; Glocker and Pfeiffer 1995). The solution is the minimum of x.W x / 2 + q.x over x >= 0. With
W = G^T G and q = -G^T r it is a nonnegative least-squares problem, the minimum of |G x - r| (Lawson and Hanson, Solving
Least Squares Problems (1974), ch. 23). If W is singular and q not in its range, as where a driver moves bodies against
each other, d = G x is the smallest change of velocity with G^T d + q >= 0, a least-distance problem (ibid.). The
nonzero impulses belong to independent columns. Vectors are (c,) for c contacts.
"""

from __future__ import annotations

import numpy as np

# Eigenvalues of W, scaled to a unit diagonal, below this fraction of the largest belong to dependent columns.
DEPENDENT = 1e-12
# Least fraction of a diagonal entry left after elimination of other columns for a column to count as independent.
INDEPENDENT = 1e-8
# A column is chosen before later ones if its distance from the span of those chosen is this fraction of the largest.
WELL = 0.3
# Largest violation, over the largest rate, of a solution; with a larger violation the problem has no solution.
MAX_VIOLATION = 1e-9
# Violation, over the largest rate, that a least-distance problem ignores, as rows that oppose each other may contradict
# each other by round-off; and the least factor between its result and the impulses, which is zero without a solution.
SLACK, BOUNDED = 1e-10, 1e-13


def independent_columns(W: np.ndarray, first: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return a mask (c,) of columns of W (c, c), a maximal linearly independent set.

    The set contains all columns in the mask `first`, which must be independent, and further columns from the mask
    `more`: the first whose distance from the span of those before is at least WELL times the largest such distance.
    """
    independent, candidates = first.copy(), np.flatnonzero(more & ~first & (np.diag(W) > 0))
    left = W[np.ix_(candidates, candidates)].copy()
    if first.any():
        coupling = W[np.ix_(first, candidates)]
        left -= coupling.T @ np.linalg.solve(W[np.ix_(first, first)], coupling)
    whole = np.diag(W)[candidates]
    while len(candidates):
        part = np.diag(left) / whole
        if not part.max() > INDEPENDENT:
            break
        k = int(np.argmax(part >= WELL**2 * part.max()))
        independent[candidates[k]] = True
        left -= np.outer(left[:, k], left[k]) / left[k, k]
        rest = np.arange(len(candidates)) != k
        candidates, whole, left = candidates[rest], whole[rest], left[np.ix_(rest, rest)]
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
    moves = np.diag(W) > 0
    if not moves.all():
        # Other constraints hold the bodies: their impulses have no effect.
        if (q[~moves] < -MAX_VIOLATION * np.abs(q).max()).any():
            return None
        found, x = solve_lcp(W[np.ix_(moves, moves)], q[moves]), np.zeros_like(q)
        x[moves] = 0.0 if found is None else found
        return None if found is None else x
    scale = 1 / np.sqrt(np.diag(W))
    # The tolerance of nnls is absolute: b is scaled to 1.
    size = np.abs(q * scale).max()
    A, b = W * scale * scale[:, None], q * scale / size
    for search in (_least_squares, _least_distance):
        x = search(A, b)
        for solution in (_refined(A, b, x > 0), x):
            w = A @ solution + b
            largest = max(1.0, solution.max())
            if (w >= -MAX_VIOLATION).all() and (np.abs(solution * w) <= MAX_VIOLATION * largest).all():
                return solution * scale * size
    return None


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the nonnegative impulses x (c,) with the least A x + b, in the metric of A and with b in its range."""
    from scipy.optimize import nnls  # imported here as it takes 0.25 s

    D, V = _range_of(A)
    return np.asarray(nnls(np.sqrt(D)[:, None] * V.T, -(V.T @ b) / np.sqrt(D), maxiter=30 * len(b) + 30)[0])


def _least_distance(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the impulses x (c,) of the smallest change of velocity with A x + b >= 0, or zeros if there are none."""
    from scipy.optimize import nnls

    D, V = _range_of(A)
    # With least |(G u, 1 + b.u)|^2, the smallest change of velocity is G u / (1 + b.u).
    G, b = np.sqrt(D)[:, None] * V.T, b + SLACK
    u = nnls(np.vstack([G, -b]), np.append(np.zeros(len(D)), 1.0), maxiter=30 * len(b) + 30)[0]
    factor = 1.0 + b @ u
    return u / factor if factor > BOUNDED else np.zeros_like(u)


def _range_of(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positive eigenvalues (r,) of A (c, c) and their eigenvectors (c, r)."""
    D, V = np.linalg.eigh(A)
    significant = DEPENDENT * D[-1] < D
    return D[significant], V[:, significant]


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
