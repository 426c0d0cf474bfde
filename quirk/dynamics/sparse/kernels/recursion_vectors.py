"""Algebra of the recursion: vectors of four elements for one joint, and tuples of vectors of eight for eight bodies.

Lanes are the elements of a vector register. A matrix (3, 3) of one joint is a list of its rows, each a vector of four
lanes with zero in the last lane.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.vectors import dot, plus, times
from quirk.jit.simd import at, gathered, load, load4, permuted, shuffled, spread, store, store4, transposed8


def turned_forward(a: Any) -> Any:
    """Return (y, z, x), the cyclic permutation of a vector (x, y, z)."""
    return permuted(a, (1, 2, 0))


def cross4(a: Any, b: Any) -> Any:
    """Return the vector product a x b of two vectors of four lanes, with zero in the last lane."""
    return turned_forward(a * turned_forward(b) - turned_forward(a) * b)


def combined(factors: Any, rows: Any) -> Any:
    """Return the linear combination of vectors `rows` with coefficients `factors`; None represents a zero vector."""
    total = None
    for factor, row in zip(factors, rows, strict=True):
        if row is not None:
            total = factor * row if total is None else total + factor * row
    return total


def lanes_of(a: Any) -> list[Any]:
    """Return three vectors, with component x, y or z of the vector a in all lanes."""
    return [spread(a, k) for k in range(3)]


def transposed(rows: Any) -> Any:
    """Return the columns of a matrix (3, 3) given by rows of four lanes with zero in the last lane."""
    x, y, z = rows
    low, high = shuffled(x, y, (0, 4, 1, 5)), permuted(z, (0, 3, 1, 3))  # x0 y0 x1 y1, z0 0 z1 0
    last = shuffled(x, y, (2, 6, 3, 7))  # x2 y2 0 0
    return shuffled(low, high, (0, 1, 4, 5)), shuffled(low, high, (2, 3, 6, 7)), shuffled(last, z, (0, 1, 6, 7))


def symmetric(rows: Any) -> Any:
    """Return the symmetric part of a matrix (3, 3), given by rows."""
    return [0.5 * (one + two) for one, two in zip(rows, transposed(rows), strict=True)]


def load_vectors(array: Any, o: Any) -> Any:
    """Load three consecutive vectors of four elements from an array, beginning at element o."""
    return [load4(array, o + 4 * k) for k in range(3)]


def store_vectors(array: Any, o: Any, rows: Any) -> None:
    """Store three vectors `rows` of four elements consecutively in an array, beginning at element o."""
    for k, row in enumerate(rows):
        store4(array, o + 4 * k, row)


def sum_of_lanes(a: Any) -> Any:
    """Return a vector with the sum of the first three components of a in all elements; the fourth must be zero."""
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


def forth(R: Any, a: Any) -> Any:
    """Return R a, the vector a transformed by the rotation matrix R, which is given by rows."""
    return dot(R[0], a), dot(R[1], a), dot(R[2], a)


def back(R: Any, a: Any) -> Any:
    """Return R^T a, the vector a transformed by the inverse of the rotation matrix R, which is given by rows."""
    return plus(plus(times(R[0], a[0]), times(R[1], a[1])), times(R[2], a[2]))


def load_four(array: Any, o: Any) -> Any:
    """Load the quaternions of eight bodies from an array, beginning at element o, as four vectors of eight elements."""
    return load(array, o), load(array, o + 8), load(array, o + 16), load(array, o + 24)


def indices_of(table: Any, o: Any) -> list[Any]:
    """Load eight integers from a table, beginning at element o."""
    return [at(table, o + k) for k in range(8)]


def gathered_components(array: Any, indices: Any, first: int, count: int) -> Any:
    """Load `count` components of eight bodies, beginning with component `first`, as vectors of eight elements.

    The eight `indices` are the elements of `array` with component 0 of each body; component c follows 8 c elements
    later.
    """
    return tuple(gathered(array, [i + 8 * (first + c) for i in indices]) for c in range(count))


def store_rows(array: Any, o: Any, width: int, vectors: Any) -> None:
    """Store eight components of eight joints, joint by joint, beginning at element o of `array`.

    `vectors` are the components, each a vector over eight joints; `width` is the distance between joints in elements.
    """
    for k, row in enumerate(transposed8(vectors)):
        store(array, o + width * k, row)


def load_rows(array: Any, o: Any, width: int) -> Any:
    """Load eight components of eight joints, as vectors over the joints; arguments are as for `store_rows`."""
    return transposed8([load(array, o + width * k) for k in range(8)])


def sum_of_squares(a: Any) -> Any:
    """Return the sum of the squares of the four components of a."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3]


def symmetric_times(array: Any, o: Any, a: Any) -> Any:
    """Return the products of the symmetric matrices (3, 3) of eight bodies with vectors a.

    The entries (xx, xy, xz, yy, yz, zz) begin at element o of `array`.
    """
    xx, xy, xz, yy, yz, zz = (load(array, o + 8 * k) for k in range(6))
    return dot((xx, xy, xz), a), dot((xy, yy, yz), a), dot((xz, yz, zz), a)
