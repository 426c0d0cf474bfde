"""Eigenvalues and eigenvectors of the state matrix A (F, F) of a linear system with F states.

Neutral directions, such as the position of a bicycle on its plane, give zero eigenvalues in Jordan blocks, which
standard algorithms perturb by a root of the round-off unit. Therefore null vectors are first deflated repeatedly (Golub
and Wilkinson, SIAM Review 18 (1976), section 10). Zero eigenvalues are then exact, and the remaining matrix has the
other eigenvalues.
"""

from __future__ import annotations

import numpy as np

# Singular values below this fraction of the largest one are zero.
ZERO = 1e-12
# Entries of a matrix below this fraction of the largest one are round-off, and ignored in the choice of units.
ROUND_OFF = 1e-14


def units_of(A: np.ndarray, poses: int, velocities: int, rate: float) -> np.ndarray:
    """Return units (F,) of the states for which the entries of A have similar magnitude.

    The unit of poses is 1, that of velocities is `rate`, and each internal variable has an individual unit.

    Parameters
    ----------
    A : (F, F) over poses, velocities and internal variables, in this order
    poses, velocities : numbers of these states
    rate : order of magnitude of angular frequencies and growth rates of the system, 1/s; derivatives of accelerations
        much smaller than its square count as round-off
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


def units_between(effect_on_variables: np.ndarray, effect_of_variables: np.ndarray, rate: float) -> np.ndarray:
    """Return units (k,) of k internal variables that balance their couplings with the other states.

    `effect_on_variables` (k,) is the size of the effect of the other states on each variable, and `effect_of_variables`
    (k,) the size of the effect of each variable on the other states. `rate`, 1/s, is the order of magnitude of angular
    frequencies and growth rates of the system; it determines the unit if only one of the two effects is present.
    """
    alike = np.sqrt(
        np.divide(
            effect_on_variables,
            effect_of_variables,
            out=np.ones_like(effect_on_variables),
            where=effect_of_variables > 0,
        )
    )
    alike = np.where(effect_of_variables > 0, alike, effect_on_variables / rate)
    alike = np.where(
        effect_on_variables > 0,
        alike,
        np.divide(rate, effect_of_variables, out=np.ones_like(effect_of_variables), where=effect_of_variables > 0),
    )
    return np.asarray(np.where(alike > 0, alike, 1.0))


def eigenvalues(A: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return all eigenvalues (F,) of A by increasing absolute value; `units` (F,) are the scales of the states."""
    zeros, values, _ = _without_zeros(_in_units(A, units))
    return sorted_by_size(np.concatenate([np.zeros(zeros), values]))


def eigenvectors(A: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return r eigenvalues (r,) of A, and their eigenvectors (F, r) as columns.

    `units` (F,) are the scales of the states. r is less than F if zero eigenvalues are in Jordan blocks.
    """
    if not A.size:
        return np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex)
    A = _in_units(A, units)
    null = _null_vectors(A)
    _, values, vectors = _without_zeros(A)
    values = np.concatenate([np.zeros(null.shape[1]), values])
    return values, units[:, None] * np.concatenate([null, vectors], axis=1)


def _in_units(A: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the state matrix A (F, F) for states in the units `units` (F,)."""
    return np.asarray(A * units / units[:, None])


def sorted_by_size(values: np.ndarray) -> np.ndarray:
    """Return eigenvalues sorted by absolute value and then by real part.

    The eigenvalue with positive imaginary part comes first in each conjugate pair.
    """
    return values[order(values)]


def order(values: np.ndarray) -> np.ndarray:
    """Return the indices that sort eigenvalues by absolute value and then by real part.

    The eigenvalue with positive imaginary part comes first in each conjugate pair. Values are rounded, so that
    conjugate pairs stay together.
    """
    size = np.abs(values)
    scale = np.where(size > 0, 10.0 ** np.floor(np.log10(np.where(size > 0, size, 1.0)) - 9), 1.0)
    return np.lexsort((-values.imag, np.round(values.real / scale), np.round(size / scale) * scale))


def _without_zeros(A: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """Return the number of zero eigenvalues of A, the r other eigenvalues (r,), and their eigenvectors (F, r)."""
    from scipy.linalg import eig

    if not A.size:
        return 0, np.zeros(0, dtype=complex), np.zeros((len(A), 0), dtype=complex)
    null = _null_vectors(A)
    zeros = null.shape[1]
    if not zeros:
        values, vectors = eig(A)
        return 0, values, vectors
    Q = np.linalg.qr(null, mode="complete")[0]
    rest = Q[:, zeros:]
    more, values, inner = _without_zeros(rest.T @ A @ rest)
    vectors = rest @ inner
    # From A (L y + K x) = s (L y + K x) with A K = 0.
    vectors = vectors + null @ (null.T @ (A @ vectors)) / values
    return zeros + more, values, vectors


def _null_vectors(A: np.ndarray) -> np.ndarray:
    """Return orthonormal null vectors of A as columns (F, k).

    Rows and columns of A are balanced first.
    """
    from scipy.linalg import matrix_balance

    # Round-off entries are removed, because balancing would enlarge them.
    clean = np.where(np.abs(A) > ROUND_OFF * np.abs(A).max(), A, 0.0)
    balanced, (scale, _) = matrix_balance(clean, permute=False, separate=True)
    _, s, Vt = np.linalg.svd(balanced)
    null = Vt[s <= ZERO * max(s[0], 1e-300)].T
    if not null.size:
        return null
    return np.asarray(np.linalg.qr(scale[:, None] * null)[0])
