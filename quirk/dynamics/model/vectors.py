"""Algebra of three-component vectors in compiled code.

A vector is a tuple of three numbers for one body, or of three SIMD vectors for eight bodies. Arrays in blocks of eight
bodies store a component of the eight bodies in adjacent elements. R is the rotation matrix from body axes to the
inertial frame, J the inertia matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.jit.simd import add, at, greater, load, store
from quirk.jit.tracing import traced

from .layout import METRIC, ROTATION


@traced
def body_vector(array: np.ndarray, o: int) -> Any:
    """Load the vector (x, y, z) of one body from an array in blocks of eight bodies.

    x is element `o` of the array, y and z are elements `o` + 8 and `o` + 16.
    """
    return at(array, o), at(array, o + 8), at(array, o + 16)


@traced
def load3(array: np.ndarray, o: int) -> Any:
    """Load the vectors of eight bodies from an array in blocks of eight, beginning at element `o`."""
    return load(array, o), load(array, o + 8), load(array, o + 16)


@traced
def store3(array: np.ndarray, o: int, a: Any) -> None:
    """Store the vectors of eight bodies in an array in blocks of eight, beginning at element `o`."""
    store(array, o, a[0])
    store(array, o + 8, a[1])
    store(array, o + 16, a[2])


@traced
def add3(array: np.ndarray, o: int, a: Any, sign: float) -> None:
    """Add `sign` times a vector to the vector of one body at element `o` of an array in blocks of eight."""
    add(array, o, sign * a[0])
    add(array, o + 8, sign * a[1])
    add(array, o + 16, sign * a[2])


@traced
def plus(a: Any, b: Any) -> Any:
    """Return the sum a + b of two vectors."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@traced
def minus(a: Any, b: Any) -> Any:
    """Return the difference a - b of two vectors."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@traced
def times(a: Any, c: Any) -> Any:
    """Return the product a c of a vector a and a number c."""
    return a[0] * c, a[1] * c, a[2] * c


@traced
def dot(a: Any, b: Any) -> Any:
    """Return the scalar product a . b of two vectors."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@traced
def magnitudes(a: Any, b: Any) -> Any:
    """Return the sum |a_x b_x| + |a_y b_y| + |a_z b_z|, an upper bound of |a . b|, for two vectors."""
    products = [x * y for x, y in zip(a, b, strict=True)]
    x, y, z = (greater(product, -1.0 * product) for product in products)
    return x + y + z


@traced
def cross(a: Any, b: Any) -> Any:
    """Return the cross product a x b of two vectors."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@traced
def body_rows_times(array: np.ndarray, o: int, a: Any) -> Any:
    """Return M a for the matrix M (3, 3) of one body, stored by rows in every eighth element from element `o` on."""
    return dot(body_vector(array, o), a), dot(body_vector(array, o + 24), a), dot(body_vector(array, o + 48), a)


@traced
def body_columns_times(array: np.ndarray, o: int, a: Any) -> Any:
    """Return M^T a for the matrix M (3, 3) of one body, stored by rows in every eighth element from element `o` on."""
    return (
        at(array, o) * a[0] + at(array, o + 24) * a[1] + at(array, o + 48) * a[2],
        at(array, o + 8) * a[0] + at(array, o + 32) * a[1] + at(array, o + 56) * a[2],
        at(array, o + 16) * a[0] + at(array, o + 40) * a[1] + at(array, o + 64) * a[2],
    )


@traced
def turned(kin: np.ndarray, k: int, a: Any) -> Any:
    """Return R a, the inertial components of a vector a in body axes.

    The kinematics of the body, which contain its rotation matrix R, begin at element `k` of `kin`.
    """
    return body_rows_times(kin, k + 8 * ROTATION, a)


@traced
def back(kin: np.ndarray, k: int, a: Any) -> Any:
    """Return R^T a, the components in body axes of an inertial vector a.

    The kinematics of the body, which contain its rotation matrix R, begin at element `k` of `kin`.
    """
    return body_columns_times(kin, k + 8 * ROTATION, a)


@traced
def scaled(kin: np.ndarray, k: int, a: Any) -> Any:
    """Return W^T a for a moment a in body axes, with W W^T = J^-1; its squared norm is a . J^-1 a.

    The kinematics of the body begin at element `k` of `kin`.
    """
    return body_columns_times(kin, k + 8 * METRIC, a)


@traced
def rows_times(array: np.ndarray, o: int, a: Any) -> Any:
    """Return M a for eight bodies at once, with matrices M (3, 3) stored by rows, beginning at element `o`."""
    return dot(load3(array, o), a), dot(load3(array, o + 24), a), dot(load3(array, o + 48), a)


@traced
def columns_times(array: np.ndarray, o: int, a: Any) -> Any:
    """Return M^T a for eight bodies at once, with matrices M (3, 3) stored by rows, beginning at element `o`."""
    return (
        load(array, o) * a[0] + load(array, o + 24) * a[1] + load(array, o + 48) * a[2],
        load(array, o + 8) * a[0] + load(array, o + 32) * a[1] + load(array, o + 56) * a[2],
        load(array, o + 16) * a[0] + load(array, o + 40) * a[1] + load(array, o + 64) * a[2],
    )


@traced
def cyclic(a: Any, b: Any) -> Any:
    """Return the vector of products (a_y b_z, a_z b_x, a_x b_y), for a x b = cyclic(a, b) - cyclic(b, a)."""
    return a[1] * b[2], a[2] * b[0], a[0] * b[1]


@traced
def componentwise(a: Any, b: Any) -> Any:
    """Return the componentwise product of two vectors."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@traced
def column(array: np.ndarray, o: int, c: int) -> Any:
    """Return column c of matrices (3, 3) of eight bodies, stored by rows, beginning at element `o`."""
    o = o + 8 * c
    return load(array, o), load(array, o + 24), load(array, o + 48)
