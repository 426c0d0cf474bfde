"""Articulated-body inertias: symmetric matrices (6, 6) for the velocity of a point and the angular velocity.

An inertia is a tuple of three blocks (3, 3), given by rows: translational, coupling between translation and rotation,
and rotational. In arrays it has 21 elements: the upper triangle of the translational block, the coupling block, and the
upper triangle of the rotational block.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.vectors import cross, dot, plus, times
from quirk.jit.simd import add, at, put
from quirk.jit.tracing import traced

from .tree import COMPLIANCE, MIXED, MOMENTUM, TURNS

# Row and column of each stored element of a symmetric matrix (3, 3), its upper triangle.
UPPER = [(i, j) for i in range(3) for j in range(i, 3)]

# Elements per row of the triangular factor (6, 6) of the articulated inertia of a free body.
FACTOR_ROW = 6

Triple = tuple[float, float, float]


@traced
def numbers3(array: Any, o: Any) -> Any:
    """Return the vector stored in three successive elements of an array, beginning at index o."""
    return at(array, o), at(array, o + 1), at(array, o + 2)


@traced
def put3(array: Any, o: Any, a: Any) -> None:
    """Store the vector a in three successive elements of an array, beginning at index o."""
    for k in range(3):
        put(array, o + k, a[k])


@traced
def symmetric_times(array: Any, o: Any, a: Any) -> Any:
    """Return the product of a symmetric matrix and a vector a.

    The elements (xx, xy, xz, yy, yz, zz) of the matrix begin at index o of `array`.
    """
    xx, xy, xz, yy, yz, zz = (at(array, o + k) for k in range(6))
    return xx * a[0] + xy * a[1] + xz * a[2], xy * a[0] + yy * a[1] + yz * a[2], xz * a[0] + yz * a[1] + zz * a[2]


@traced
def matrix_times(array: Any, o: Any, a: Any) -> Any:
    """Return the product of a matrix (3, 3), stored by rows from index o of `array` on, and a vector a."""
    return dot(numbers3(array, o), a), dot(numbers3(array, o + 3), a), dot(numbers3(array, o + 6), a)


@traced
def transposed_times(array: Any, o: Any, a: Any) -> Any:
    """Return M^T a for a vector a and a matrix M (3, 3), stored by rows from index o of `array` on."""
    x, y, z = numbers3(array, o), numbers3(array, o + 3), numbers3(array, o + 6)
    return plus(plus(times(x, a[0]), times(y, a[1])), times(z, a[2]))


@traced
def inertia_of(array: Any, o: Any) -> Any:
    """Return the inertia stored at index o of an array as its blocks: translational, coupling and rotational."""
    return (
        symmetric([at(array, o + k) for k in range(MIXED)]),
        tuple(numbers3(array, o + MIXED + 3 * row) for row in range(3)),
        symmetric([at(array, o + TURNS + k) for k in range(6)]),
    )


def symmetric(upper: Any) -> Any:
    """Return the rows of a symmetric matrix (3, 3) with the elements `upper`: xx, xy, xz, yy, yz, zz."""
    xx, xy, xz, yy, yz, zz = upper
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _upper(rows: Any) -> Any:
    return [rows[i][j] for i, j in UPPER]


@traced
def store_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Store the 21 elements of an inertia, in the order of `entries`, in an array from index o on."""
    for k, x in enumerate(entries(inertia)):
        put(array, o + k, x)


@traced
def add_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Add an inertia to the one stored in an array from index o on."""
    for k, x in enumerate(entries(inertia)):
        add(array, o + k, x)


def entries(inertia: Any) -> list[Any]:
    """Return the 21 elements of an inertia in the order of storage.

    They are the upper triangle of the translational block, the coupling block, and the upper triangle of the rotational
    block.
    """
    shifts, mixed, turns = inertia
    return [*_upper(shifts), *(x for row in mixed for x in row), *_upper(turns)]


@traced
def shifted(inertia: Any, r: Any) -> Any:
    """Return an inertia referred to another point of the body, at position r relative to the present reference point.

    If u is the velocity of the new point and omega the angular velocity, the velocity of the present point is u + r x
    omega.
    """
    shifts, mixed, turns = inertia
    later = tuple(plus(mixed[i], cross(shifts[i], r)) for i in range(3))
    before, after = tuple(zip(*mixed, strict=True)), tuple(zip(*later, strict=True))
    left, right = [cross(column, r) for column in before], [cross(column, r) for column in after]
    return shifts, later, symmetric([turns[i][j] + left[i][j] + right[j][i] for i, j in UPPER])


@traced
def rotated(inertia: Any, C: Any) -> Any:
    """Return an inertia in other axes; C is the rotation matrix from the old to the new axes, by rows."""
    shifts, mixed, turns = (_rows_times(C, block) for block in inertia)
    return (
        symmetric([dot(shifts[i], C[j]) for i, j in UPPER]),
        tuple(tuple(dot(mixed[i], C[j]) for j in range(3)) for i in range(3)),
        symmetric([dot(turns[i], C[j]) for i, j in UPPER]),
    )


def _rows_times(C: Any, block: Any) -> Any:
    columns = tuple(zip(*block, strict=True))
    return [tuple(dot(row, column) for column in columns) for row in C]


@traced
def shift_momentum(inertia: Any, n: Any) -> Any:
    """Return the linear and angular momentum for unit velocity along a unit vector n, and the inertia along n.

    The angular momentum is about the reference point of the inertia. The inertia along n is the scalar product of n and
    the linear momentum.
    """
    shifts, mixed, _ = inertia
    of_shifts = tuple(dot(row, n) for row in shifts)
    return of_shifts, tuple(dot(column, n) for column in zip(*mixed, strict=True)), dot(of_shifts, n)


@traced
def turn_momentum(inertia: Any, n: Any) -> Any:
    """Return the linear and angular momentum for unit angular velocity about a unit vector n, and the inertia about n.

    The angular momentum is about the reference point of the inertia; its scalar product with n is the inertia about n.
    """
    _, mixed, turns = inertia
    of_turns = tuple(dot(row, n) for row in turns)
    return tuple(dot(row, n) for row in mixed), of_turns, dot(of_turns, n)


def reduced(inertia: Any, momentum: Any, compliance: Any) -> Any:
    """Return an articulated inertia I after elimination of a degree of freedom n: I - p p^T / (n . p), p = I n.

    `momentum` contains the linear and the angular part of p, and `compliance` is 1 / (n . p).
    """
    (of_shifts, of_turns, _), (shifts, mixed, turns) = momentum, inertia
    a, b = times(of_shifts, compliance), times(of_turns, compliance)
    return (
        symmetric([shifts[i][j] - a[i] * of_shifts[j] for i, j in UPPER]),
        tuple(tuple(mixed[i][j] - a[i] * of_turns[j] for j in range(3)) for i in range(3)),
        symmetric([turns[i][j] - b[i] * of_turns[j] for i, j in UPPER]),
    )


@traced
def eliminate_freedom(joints: Any, place: Any, inertia: Any, momentum: Any) -> Any:
    """Eliminate a degree of freedom n of a joint, and return the articulated inertia I - p p^T / (n . p), p = I n.

    `momentum` contains the linear and the angular part of p, followed by n . p. The momentum p and 1 / (n . p) are
    stored in `joints` as data of the degree of freedom, which begin at index `place`.
    """
    of_shifts, of_turns, resistance = momentum
    compliance = 1.0 / resistance
    put3(joints, place + MOMENTUM, of_shifts)
    put3(joints, place + MOMENTUM + 3, of_turns)
    put(joints, place + COMPLIANCE, compliance)
    return reduced(inertia, momentum, compliance)


@traced
def without_moments(inertia: Any) -> Any:
    """Return an inertia with zero coupling and rotational blocks, as of a joint that transmits only forces."""
    shifts, mixed, turns = inertia
    return shifts, _none_of(mixed), _none_of(turns)


@traced
def without_forces(inertia: Any) -> Any:
    """Return an inertia with zero translational and coupling blocks, as of a joint that transmits only moments."""
    shifts, mixed, turns = inertia
    return _none_of(shifts), _none_of(mixed), turns


def _none_of(block: Any) -> Any:
    zero = 0.0 * block[0][0]
    return tuple(tuple(zero for _ in range(3)) for _ in range(3))
