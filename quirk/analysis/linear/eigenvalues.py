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


def units_of(A: np.ndarray, poses: int, velocities: int, rate: float) -> np.ndarray:
    """Return units (F,) of states in which entries of A are alike and round-off is small beside them.

    Poses keep theirs, velocities are in those of poses times a rate, and each internal variable has one of its own.

    Parameters
    ----------
    A : (F, F) of poses, velocities and internal variables, in this order
    poses, velocities : how many of these states there are
    rate : 1/s, of loads and of the motion: what accelerations change by is round-off if it is small beside its square
    """
    free = poses + velocities
    units = np.ones(len(A))
    sizes = np.abs(A)
    rate = max(rate, float(np.sqrt(sizes[poses:free, :poses].max(initial=0.0)))) or float(sizes.max(initial=0.0)) or 1.0
    units[poses:free] = rate
    into = (sizes[free:, :free] * units[:free]).max(axis=1, initial=0.0)
    out = (sizes[:free, free:] / units[:free, None]).max(axis=0, initial=0.0)
    units[free:] = units_between(into, out, rate)
    return units


def units_between(into: np.ndarray, out: np.ndarray, rate: float) -> np.ndarray:
    """Return units (k,) of variables that depend on others by `into` (k,), and others on them by `out` (k,), alike."""
    alike = np.sqrt(np.divide(into, out, out=np.ones_like(into), where=out > 0))
    alike = np.where(out > 0, alike, into / rate)
    alike = np.where(into > 0, alike, np.divide(rate, out, out=np.ones_like(out), where=out > 0))
    return np.asarray(np.where(alike > 0, alike, 1.0))


def eigenvalues(A: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return all eigenvalues (F,), by size, of A whose states have such `units`."""
    zeros, values, _ = _split(_in(A, units))
    return sorted_by_size(np.concatenate([np.zeros(zeros), values]))


def eigenvectors(A: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (r,) and vectors (F, r) as columns, fewer than F where zeros are in Jordan blocks."""
    if not A.size:
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex)
    A = _in(A, units)
    null = _null(A)
    _, values, vectors = _split(A)
    values = np.concatenate([np.zeros(null.shape[1]), values])
    return values, units[:, None] * np.concatenate([null, vectors], axis=1)


def _in(A: np.ndarray, units: np.ndarray) -> np.ndarray:
    """A over states in such units."""
    return np.asarray(A * units / units[:, None])


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
