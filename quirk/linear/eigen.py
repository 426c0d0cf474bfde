"""Eigenvalues and eigenvectors of a state matrix, with those that are zero found exactly.

What is free to go anywhere, such as the place of a bicycle on its plane, gives eigenvalues of zero in Jordan blocks,
which plain algorithms spread over a circle whose radius is a root of round-off. So null vectors are split off first,
repeatedly (Golub and Wilkinson, SIAM Review 18 (1976), section 10), and what is left has the other eigenvalues.
"""

from __future__ import annotations

import numpy as np

# Singular values below this part of the largest are zero.
ZERO = 1e-12
# Entries below this part of the largest are zero where units are chosen.
ROUND_OFF = 1e-14


def eigenvalues(A: np.ndarray) -> np.ndarray:
    """Return all eigenvalues (F,), by size."""
    zeros, values, _ = _split(A)
    return sorted_by_size(np.concatenate([np.zeros(zeros), values]))


def eigenvectors(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (r,) and vectors (F, r) as columns, fewer than F where zeros are in Jordan blocks."""
    if not A.size:
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex)
    null = _null(A)
    _, values, vectors = _split(A)
    values = np.concatenate([np.zeros(null.shape[1]), values])
    return values, np.concatenate([null, vectors], axis=1)


def sorted_by_size(values: np.ndarray) -> np.ndarray:
    """Return eigenvalues by absolute value, then by real part, each pair with the positive imaginary part first."""
    return values[order(values)]


def order(values: np.ndarray) -> np.ndarray:
    """Return the order of `sorted_by_size`; rounded so that the two of a pair stay together."""
    size = np.abs(values)
    scale = np.where(size > 0, 10.0 ** np.floor(np.log10(np.where(size > 0, size, 1.0)) - 9), 1.0)
    return np.lexsort((-values.imag, np.round(values.real / scale), np.round(size / scale) * scale))


def _split(A: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return how many eigenvalues are zero, the others, and their vectors (F, r)."""
    from scipy.linalg import eig

    if not A.size:
        return 0, np.zeros(0, dtype=complex), np.zeros((len(A), 0), dtype=complex)
    null = _null(A)
    zeros = null.shape[1]
    if not zeros:
        values, vectors = eig(A)
        return 0, values, vectors
    Q = np.linalg.qr(null, mode="complete")[0]
    rest = Q[:, zeros:]
    more, values, inner = _split(rest.T @ A @ rest)
    vectors = rest @ inner
    # Of A (L y + K x) = s (L y + K x), with A K = 0.
    vectors = vectors + null @ (null.T @ (A @ vectors)) / values
    return zeros + more, values, vectors


def _null(A: np.ndarray) -> np.ndarray:
    """Orthonormal null vectors (F, k) of A, found with its states in units that make rows and columns alike."""
    from scipy.linalg import matrix_balance

    # Without what is round-off, which else would be made as large as the rest.
    clean = np.where(np.abs(A) > ROUND_OFF * np.abs(A).max(), A, 0.0)
    balanced, (scale, _) = matrix_balance(clean, permute=False, separate=True)
    _, s, Vt = np.linalg.svd(balanced)
    null = Vt[s <= ZERO * max(s[0], 1e-300)].T
    if not null.size:
        return null
    return np.asarray(np.linalg.qr(scale[:, None] * null)[0])
