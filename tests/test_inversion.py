"""Inverses of diagonal blocks: by cofactors, by exchange steps, with rows left out."""

import numpy as np
import pytest

from quirk.dynamics.sparse.kernels.invert import inversion
from quirk.jit.compilation import entry
from quirk.jit.simd import load, store
from quirk.jit.tracing import traced

# Of residuals over the condition: a few rounding errors, and the four binary digits that cofactors may lose.
ROUND_OFF = 2e-15


@traced
def keep(B, rows):
    """Write rows of eight."""
    for p, row in enumerate(rows):
        store(B, 8 * p, row)


def block_of(m):
    """What reads m rows of eight."""
    return traced(lambda B: tuple(load(B, 8 * p) for p in range(m)))


invert_1, invert_2, invert_3, invert_4, invert_5, invert_6 = map(inversion, range(1, 7))
block_of_1, block_of_2, block_of_3, block_of_4, block_of_5, block_of_6 = map(block_of, range(1, 7))


@entry
def invert(m, B, floor):
    """Invert the block of m rows of eight numbers in place."""
    if m == 1:
        keep(B, invert_1(block_of_1(B), 1.0, 0, floor))
    elif m == 2:
        keep(B, invert_2(block_of_2(B), 1.0, 0, floor))
    elif m == 3:
        keep(B, invert_3(block_of_3(B), 1.0, 0, floor))
    elif m == 4:
        keep(B, invert_4(block_of_4(B), 1.0, 0, floor))
    elif m == 5:
        keep(B, invert_5(block_of_5(B), 1.0, 0, floor))
    else:
        keep(B, invert_6(block_of_6(B), 1.0, 0, floor))


def inverse(S, floor):
    """What the kernel gives for S."""
    m = len(S)
    B = np.zeros((8, 8))
    B[:m, :m] = S
    flat = B.ravel().copy()
    invert(m, flat, np.append(floor, np.zeros(8 - m)))
    return flat.reshape(8, 8)[:m, :m]


@pytest.mark.parametrize("scale", [1e-120, 1e-9, 1.0, 1e9, 1e120])
@pytest.mark.parametrize("m", range(1, 7))
def test_inverse(m, scale):
    """Well and badly conditioned blocks of rows of very different units."""
    rng = np.random.default_rng(m)
    for case in range(100):
        A = rng.normal(size=(m, m + 1)) @ np.diag(10.0 ** rng.uniform(-3, 0, m + 1))
        S = A @ A.T
        units = 10.0 ** rng.integers(-3, 4, m)
        X = inverse(scale * S * np.outer(units, units), np.zeros(m)) * scale * np.outer(units, units)
        error = np.abs(X @ S - np.eye(m)).max()
        assert error <= ROUND_OFF * np.linalg.cond(S), (case, error, np.linalg.cond(S))


@pytest.mark.parametrize("m", range(2, 7))
def test_rows_that_depend_on_others_become_zero(m):
    """In place of each row in turn; the others are inverted as if it were not there."""
    rng = np.random.default_rng(m)
    for row in range(1, m):
        A = rng.normal(size=(m, m + 2))
        A[row] = rng.normal(size=row) @ A[:row]
        S = A @ A.T
        X = inverse(S, 1e-10 * np.diag(S))
        others = np.delete(np.arange(m), row)
        np.testing.assert_array_equal(X[row], 0.0)
        np.testing.assert_array_equal(X[:, row], 0.0)
        np.testing.assert_allclose(X[np.ix_(others, others)] @ S[np.ix_(others, others)], np.eye(m - 1), atol=1e-10)


@pytest.mark.parametrize("m", [3, 5])
def test_what_is_no_number_stays_so(m):
    """And is not taken for a row to leave out."""
    S = np.eye(m)
    S[1, 1] = np.nan
    assert np.isnan(inverse(S, np.zeros(m))).any()
