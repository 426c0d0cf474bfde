"""Time derivatives of vectors fixed in bodies, and of their products.

A derivative array of order K is an array (K + 1, 3) of a vector and its first K time
derivatives in the inertial frame. For the angular velocity omega of a body the derivative array is (K, 3), one order
less. The derivatives of a vector a fixed in the body follow from a_dot = omega x a by Leibniz' rule,

 a^(k+1) = sum_m C(k, m) omega^(m) x a^(k-m),

for any order.
"""

from __future__ import annotations

import numpy as np

from ..jit.compilation import kernel


@kernel
def fixed_vector_derivatives(R: np.ndarray, spin: np.ndarray, local: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (K + 1, 3) with the vector `local` (3,) fixed in a body, and its first K time derivatives.

    `R` (3, 3) is the rotation matrix, body to inertial. `spin`, at least (K, 3), is the angular velocity and its time
    derivatives, in the inertial frame.
    """
    for c in range(3):
        out[0, c] = R[c, 0] * local[0] + R[c, 1] * local[1] + R[c, 2] * local[2]
    for k in range(out.shape[0] - 1):
        x = y = z = 0.0
        binomial = 1.0
        for m in range(k + 1):
            a, b, c = out[k - m, 0], out[k - m, 1], out[k - m, 2]
            x += binomial * (spin[m, 1] * c - spin[m, 2] * b)
            y += binomial * (spin[m, 2] * a - spin[m, 0] * c)
            z += binomial * (spin[m, 0] * b - spin[m, 1] * a)
            binomial *= (k - m) / (m + 1)
        out[k + 1, 0], out[k + 1, 1], out[k + 1, 2] = x, y, z


@kernel
def product_derivatives(u: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (K + 1,) with the scalar product of two vectors and its first K time derivatives.

    `u` and `w` (K + 1, 3) are the vectors with their time derivatives.
    """
    for k in range(out.shape[0]):
        total = 0.0
        binomial = 1.0
        for m in range(k + 1):
            dot = u[m, 0] * w[k - m, 0] + u[m, 1] * w[k - m, 1] + u[m, 2] * w[k - m, 2]
            total += binomial * dot
            binomial *= (k - m) / (m + 1)
        out[k] = total


@kernel
def cross_derivatives(u: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Fill `out` (K + 1, 3) with the cross product of two vectors and its first K time derivatives.

    `u` and `w` (K + 1, 3) are the vectors with their time derivatives.
    """
    for k in range(out.shape[0]):
        x = y = z = 0.0
        binomial = 1.0
        for m in range(k + 1):
            a, b = u[m], w[k - m]
            x += binomial * (a[1] * b[2] - a[2] * b[1])
            y += binomial * (a[2] * b[0] - a[0] * b[2])
            z += binomial * (a[0] * b[1] - a[1] * b[0])
            binomial *= (k - m) / (m + 1)
        out[k, 0], out[k, 1], out[k, 2] = x, y, z
