"""Algebra of the recursion: vectors of four elements for one joint, and tuples of vectors of eight for eight bodies.

A matrix (3, 3) of one joint is a list of its rows, each a vector of four elements of which the last is zero.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.vectors import dot, plus, times
from quirk.jit.compilation import shared
from quirk.jit.simd import at, gathered, load, load4, permuted, shuffled, spread, store, store4, transposed8

from .recursion import ROW


@shared
def place_of(c: int) -> int:
    """Return the index of component c (0 to 5) of a load or acceleration, which is stored as two vectors."""
    return ROW * (c // 3) + c % 3


def turned_forward(a: Any) -> Any:
    """Return (y, z, x), the cyclic permutation of a vector (x, y, z)."""
    return permuted(a, (1, 2, 0))


def cross4(a: Any, b: Any) -> Any:
    """Return the vector product a x b; vectors have four elements, of which the last is zero."""
    return turned_forward(a * turned_forward(b) - turned_forward(a) * b)


def combined(factors: Any, rows: Any) -> Any:
    """Return the linear combination of vectors `rows` with coefficients `factors`; None represents a zero vector."""
    total = None
    for factor, row in zip(factors, rows, strict=True):
        if row is not None:
            total = factor * row if total is None else total + factor * row
    return total


def lanes_of(a: Any) -> list[Any]:
    """Return three SIMD vectors that repeat the component x, y or z of the vector a in all their elements."""
    return [spread(a, k) for k in range(3)]


def transposed(rows: Any) -> Any:
    """Return the columns of a matrix (3, 3) given by rows of four elements, of which the last is zero."""
    x, y, z = rows
    low, high = shuffled(x, y, (0, 4, 1, 5)), permuted(z, (0, 3, 1, 3))  # x0 y0 x1 y1, z0 0 z1 0
    last = shuffled(x, y, (2, 6, 3, 7))  # x2 y2 0 0
    return shuffled(low, high, (0, 1, 4, 5)), shuffled(low, high, (2, 3, 6, 7)), shuffled(last, z, (0, 1, 6, 7))


def symmetric(rows: Any) -> Any:
    """Return the symmetric part of a matrix (3, 3), given by rows."""
    return [0.5 * (one + two) for one, two in zip(rows, transposed(rows), strict=True)]


def load_vectors(array: Any, o: Any) -> Any:
    """Return three successive vectors of four elements from an array, from index o on."""
    return [load4(array, o + ROW * k) for k in range(3)]


def store_vectors(array: Any, o: Any, rows: Any) -> None:
    """Store three vectors of four elements successively in an array, from index o on."""
    for k, row in enumerate(rows):
        store4(array, o + ROW * k, row)


def sum_of_lanes(a: Any) -> Any:
    """Return the sum of the components of a vector of four elements, as a vector with equal elements.

    The fourth component of a must be zero.
    """
    b = a + permuted(a, (2, 3, 0, 1))
    return b + permuted(b, (1, 0, 3, 2))


def product(a: Any, b: Any) -> Any:
    """Return the product of two quaternions a and b, each a tuple of four numbers or vectors."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def matrix_of(q: Any) -> Any:
    """Return the rows of the rotation matrix of a quaternion q, which need not be normalized."""
    qw, qx, qy, qz = q
    scale = 2.0 / (qw * qw + qx * qx + qy * qy + qz * qz)
    sx, sy, sz = scale * qx, scale * qy, scale * qz
    wx, wy, wz = sx * qw, sy * qw, sz * qw
    xx, yy, zz, xy, xz, yz = sx * qx, sy * qy, sz * qz, sx * qy, sx * qz, sy * qz
    return (1.0 - (yy + zz), xy - wz, xz + wy), (xy + wz, 1.0 - (xx + zz), yz - wx), (xz - wy, yz + wx, 1.0 - (xx + yy))


def rotated(R: Any, a: Any) -> Any:
    """Return R a, the vector a transformed by the rotation matrix R, which is given by rows."""
    return dot(R[0], a), dot(R[1], a), dot(R[2], a)


def back(R: Any, a: Any) -> Any:
    """Return R^T a, the vector a transformed by the inverse of the rotation matrix R, which is given by rows."""
    return plus(plus(times(R[0], a[0]), times(R[1], a[1])), times(R[2], a[2]))


def load_four(array: Any, o: Any) -> Any:
    """Return the quaternions of eight bodies, from index o of an array on, as four vectors of eight elements."""
    return load(array, o), load(array, o + 8), load(array, o + 16), load(array, o + 24)


def indices_of(table: Any, o: Any) -> list[Any]:
    """Return eight successive integers of a table, from index o on."""
    return [at(table, o + k) for k in range(8)]


def gathered_components(array: Any, indices: Any, first: int, count: int) -> Any:
    """Return `count` components of eight bodies, from component `first` on, as vectors of eight elements.

    `indices` are the positions of component 0 of each body in `array`; successive components of a body are eight
    elements apart.
    """
    return tuple(gathered(array, [i + 8 * (first + c) for i in indices]) for c in range(count))


def store_rows(array: Any, o: Any, width: int, vectors: Any) -> None:
    """Store eight components of eight joints in `array`, the components of one joint successively, from index o on.

    `vectors` are the components, each a vector over the eight joints; `width` is the distance in elements between
    joints.
    """
    for k, row in enumerate(transposed8(vectors)):
        store(array, o + width * k, row)


def load_rows(array: Any, o: Any, width: int) -> Any:
    """Return eight components of eight joints, each as a vector over the joints.

    The components of a joint are stored successively, for the first joint from index o of `array` on; `width` is the
    distance in elements between joints.
    """
    return transposed8([load(array, o + width * k) for k in range(8)])


def sum_of_squares(a: Any) -> Any:
    """Return the sum of the squares of the four components of a."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]


def symmetric_times(array: Any, o: Any, a: Any) -> Any:
    """Return the products of the symmetric matrices (3, 3) of eight bodies and a vector of each body.

    The elements (xx, xy, xz, yy, yz, zz) begin at index o of `array`; a are the components of the vectors.
    """
    xx, xy, xz, yy, yz, zz = (load(array, o + 8 * k) for k in range(6))
    return dot((xx, xy, xz), a), dot((xy, yy, yz), a), dot((xz, yz, zz), a)
