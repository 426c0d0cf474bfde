"""Articulated inertias of forests of joints in SIMD lanes, from the tips to the roots.

The equations are those of single runs (`quirk.dynamics.sparse.kernels.recursion_inertias`; R. Featherstone, Rigid Body
Dynamics Algorithms (2008), ch. 7), but in inertial axes. The articulated inertia (M, H, J) of a link and its bias load
(f, m) are those of the body together with all its descendants in the tree, whose joints are free to move. For the
acceleration a of the joint point and the angular acceleration alpha, the force and the moment required at the joint
point are

    M a + H alpha + f,   H^T a + J alpha + m.

Accelerations of points are relative to free fall; the ground has minus the gravitational acceleration.

Index arguments are the elements of flat arrays at which the data of a link begin: n in `numbers` (constants), o in
`links` (work), k and p in `kin` (kinematics of the body and of the parent), s and q in y (their states), l in `load_`
(applied loads). `children`, `added_to` and `total` are elements of `sums`. `quirk.batches.lanes.links` describes the
arrays.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.layout import ROTATION
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.inertia import UPPER, entries, shifted, symmetric
from quirk.jit.simd import load, store

from .forest import ANGULAR, inertia_at
from .links import LESS, MASS, MIDDLE, MORE, SUM_FORCE, SUM_MOMENT
from .records import BODY_LOAD
from .recursion_freedoms import ArticulatedBody
from .recursion_vectors import LinkVectors

MOTION = 8 * BODY_LOAD


def inverse(rows: Any) -> Any:
    """Return the inverse of a symmetric matrix (3, 3), given by rows, as adjugate over determinant."""
    a, b, c = rows
    normal = cross(b, c)
    scale = 1.0 / dot(a, normal)
    across, last = cross(c, a), cross(a, b)
    return symmetric([x * scale for x in (*normal, across[1], across[2], last[2])])


def matrix_times(rows: Any, a: Any) -> Any:
    """Return the product of a matrix (3, 3), given by rows, and a vector."""
    return dot(rows[0], a), dot(rows[1], a), dot(rows[2], a)


def articulated(
    numbers: Any, kin: Any, load_: Any, sums: Any, n: Any, k: Any, l: Any, vectors: LinkVectors, children: Any
) -> ArticulatedBody:
    """Return the articulated inertia (M, H, J) of a link about its joint point, and its bias load f and m.

    Data of the link begin at element n of `numbers`, of the body at k of `kin` and l of `load_`. Sums over its children
    begin at `children` of `sums`.
    """
    mass, middle, omega = load(numbers, n + 8 * MASS), load(numbers, n + 8 * MIDDLE), vectors.omega
    x, y, z = times(vectors.r, mass)
    u = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * LESS))
    v = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * MORE))
    unlike = [v[i] * v[j] - u[i] * u[j] for i, j in UPPER]
    force = plus(times(vectors.bend, mass), load3(sums, children + 8 * SUM_FORCE))
    moment = plus(cross(omega, matrix_times(symmetric(unlike), omega)), load3(sums, children + 8 * SUM_MOMENT))
    M, H, J = inertia_at(sums, children)
    M = symmetric([M[i][j] + mass if i == j else M[i][j] for i, j in UPPER])
    H = (
        (H[0][0], H[0][1] + z, H[0][2] - y),
        (H[1][0] - z, H[1][1], H[1][2] + x),
        (H[2][0] + y, H[2][1] - x, H[2][2]),
    )
    own = [unlike[0] + middle, unlike[1], unlike[2], unlike[3] + middle, unlike[4], unlike[5] + middle]
    J = symmetric([J[i][j] + one for (i, j), one in zip(UPPER, own, strict=True)])
    return ArticulatedBody((M, H, J), minus(force, load3(load_, l)), minus(moment, load3(load_, l + ANGULAR)))


def add_load(sums: Any, d: Any, force: Any, moment: Any, added_to: Any, total: Any) -> None:
    """Store at `total` the load at `added_to` plus a load (force, moment), moved from the joint point to the parent's.

    `d` is the vector from the joint point of the parent to the joint point at which the load acts. `added_to` and
    `total` are elements of `sums`.
    """
    store3(sums, total + 8 * SUM_FORCE, plus(load3(sums, added_to + 8 * SUM_FORCE), force))
    moment = plus(load3(sums, added_to + 8 * SUM_MOMENT), plus(moment, cross(d, force)))
    store3(sums, total + 8 * SUM_MOMENT, moment)


def add_inertia(sums: Any, inertia: Any, added_to: Any, total: Any) -> None:
    """Store at `total` the sum of `inertia` and the inertia at `added_to`; both are elements of `sums`."""
    for c, x in enumerate(entries(inertia)):
        store(sums, total + 8 * c, load(sums, added_to + 8 * c) + x)


def pass_on(sums: Any, vectors: LinkVectors, left: ArticulatedBody, added_to: Any, total: Any) -> None:
    """Add the transmitted inertia and load of a joint, moved to the joint point of the parent, to the parent's sums.

    `vectors` are the vectors of the link; `left`, the inertia and load after elimination of the joint, refers to its
    joint point. The bias accelerations of the joint contribute to the load. The values at element `added_to` of `sums`
    plus the contributions are stored at element `total`.
    """
    inertia, force, moment = left
    M, H, J = inertia
    force = plus(force, plus(matrix_times(M, vectors.shift), matrix_times(H, vectors.turn)))
    upper = tuple(zip(*H, strict=True))
    moment = plus(moment, plus(matrix_times(upper, vectors.shift), matrix_times(J, vectors.turn)))
    add_load(sums, vectors.d, force, moment, added_to, total)
    add_inertia(sums, shifted(inertia, times(vectors.d, -1.0)), added_to, total)
