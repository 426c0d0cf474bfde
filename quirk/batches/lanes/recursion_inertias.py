"""Articulated inertias of forests of joints in SIMD lanes, from the tips to the roots.

The equations are those of runs of a single system (`quirk.dynamics.sparse.kernels.recursion_inertias`; R. Featherstone,
Rigid Body Dynamics Algorithms (2008), ch. 7), but in inertial axes. The articulated inertia (M, H, J) of a link and its
bias load (f, m) are those of the body with all its descendants in the tree, whose joints are free to move. For the
acceleration a of the joint point and the angular acceleration alpha, the force and the moment required at the joint
point are

    M a + H alpha + f,   H^T a + J alpha + m.

Accelerations of points are relative to free fall; the ground has minus the gravitational acceleration.

Index arguments are offsets into flat arrays at which the data of a link begin: n in `numbers` (constants), o in `links`
(computed quantities), k and p in `kin` (kinematics of the body and of its parent), s and q in y (states of the body and
of its parent), l in `load_` (applied loads). `children`, `added_to` and `total` are offsets into `sums`, the sums of
transmitted inertias and loads over sibling links. `quirk.batches.lanes.links` describes the arrays.
"""

from __future__ import annotations

from typing import Any

from quirk.dynamics.model.layout import ROTATION
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.inertia import UPPER, entries, shifted, symmetric
from quirk.jit.simd import load, store

from .forest_inertias import inertia_at
from .links import LESS, MASS, MIDDLE, MORE, SUM_FORCE, SUM_MOMENT
from .records import ANGULAR, BODY_LOAD
from .recursion_freedoms import ArticulatedBody
from .recursion_vectors import LinkVectors

MOTION = 8 * BODY_LOAD


def inverse(rows: Any) -> Any:
    """Return the inverse of a symmetric matrix (3, 3), given by its rows, as adjugate divided by determinant."""
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

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and l of `load_`
    (loads on the body). `children` is the offset in `sums` of the sum of the inertias and loads that the children of
    the link transmit.
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
    """Add a load that a joint transmits, referred to the joint point of the parent, to a sum of loads.

    `force` and `moment` are the load about the joint point of the link, and `d` is the vector from the joint point of
    the parent to this point. The load is added to the sum at offset `added_to` of `sums`, and the result is stored at
    offset `total`.
    """
    store3(sums, total + 8 * SUM_FORCE, plus(load3(sums, added_to + 8 * SUM_FORCE), force))
    moment = plus(load3(sums, added_to + 8 * SUM_MOMENT), plus(moment, cross(d, force)))
    store3(sums, total + 8 * SUM_MOMENT, moment)


def add_inertia(sums: Any, inertia: Any, added_to: Any, total: Any) -> None:
    """Add an inertia to the sum at offset `added_to` of `sums`, and store the result at offset `total`."""
    for c, x in enumerate(entries(inertia)):
        store(sums, total + 8 * c, load(sums, added_to + 8 * c) + x)


def add_to_parent(sums: Any, vectors: LinkVectors, left: ArticulatedBody, added_to: Any, total: Any) -> None:
    """Add the inertia and load that a joint transmits, referred to the joint point of the parent, to the parent's sums.

    `vectors` are the `LinkVectors` of the link. `left` is the inertia and load after elimination of the joint, about
    the joint point of the link; accelerations of the joint that are due to velocities contribute to the load. The
    values are added to the sums at offset `added_to` of `sums`, and the results are stored at offset `total`.
    """
    inertia, force, moment = left
    M, H, J = inertia
    force = plus(force, plus(matrix_times(M, vectors.shift), matrix_times(H, vectors.turn)))
    upper = tuple(zip(*H, strict=True))
    moment = plus(moment, plus(matrix_times(upper, vectors.shift), matrix_times(J, vectors.turn)))
    add_load(sums, vectors.d, force, moment, added_to, total)
    add_inertia(sums, shifted(inertia, times(vectors.d, -1.0)), added_to, total)
