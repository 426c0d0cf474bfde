"""Solution of a few linear equations, in compiled code. Matrices are stored by rows."""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import kernel


@kernel
def eliminate(matrix: np.ndarray, x: np.ndarray, count: int) -> float:
    """Solve `matrix` z = x for z by Gaussian elimination with row pivoting; return the determinant of the matrix.

    `matrix` is (count, count), stored by rows, and is overwritten; z replaces x.
    """
    determinant = 1.0
    for k in range(count):
        best = k
        for r in range(k + 1, count):
            best = r if abs(matrix[count * r + k]) > abs(matrix[count * best + k]) else best
        if best != k:
            determinant = -determinant
            for c in range(count):
                matrix[count * k + c], matrix[count * best + c] = matrix[count * best + c], matrix[count * k + c]
            x[k], x[best] = x[best], x[k]
        pivot = matrix[count * k + k]
        determinant *= pivot
        for r in range(k + 1, count):
            factor = matrix[count * r + k] / pivot if pivot != 0.0 else math.nan
            for c in range(k, count):
                matrix[count * r + c] -= factor * matrix[count * k + c]
            x[r] -= factor * x[k]
    for k in range(count - 1, -1, -1):
        for c in range(k + 1, count):
            x[k] -= matrix[count * k + c] * x[c]
        pivot = matrix[count * k + k]
        x[k] = x[k] / pivot if pivot != 0.0 else math.nan
    return determinant


@kernel
def factorise_positive(matrix: np.ndarray, count: int) -> None:
    """Replace the lower triangle of a positive definite matrix (count, count) by its Cholesky factor."""
    for k in range(count):
        for row in range(k, count):
            total = matrix[count * row + k]
            for c in range(k):
                total -= matrix[count * row + c] * matrix[count * k + c]
            matrix[count * row + k] = math.sqrt(total) if row == k else total / matrix[count * k + k]


@kernel
def solve_positive(factor: np.ndarray, x: np.ndarray, count: int) -> None:
    """Replace x (count,) by the solution for this right-hand side, with the result of `factorise_positive`."""
    for k in range(count):
        for c in range(k):
            x[k] -= factor[count * k + c] * x[c]
        x[k] /= factor[count * k + k]
    for k in range(count - 1, -1, -1):
        for c in range(k + 1, count):
            x[k] -= factor[count * c + k] * x[c]
        x[k] /= factor[count * k + k]
