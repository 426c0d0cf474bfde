"""Articulated inertias of forests of hinges, ball joints and welds in SIMD lanes, from the tips to the roots.

The equations are those of single runs (`quirk.dynamics.sparse.kernels.recursion_inertias`; R. Featherstone, Rigid Body
Dynamics Algorithms (2008), ch. 7), but in inertial axes. The articulated inertia (M, H, J) of a link and its bias load
(f, m) are those of the body together with all its descendants in the tree, whose joints are free to move. For the
acceleration a of the joint point and the angular acceleration alpha, the force and the moment required at the joint
point are

    M a + H alpha + f,   H^T a + J alpha + m.

Accelerations of points are relative to free fall; the ground has minus the gravitational acceleration.

Index arguments are the elements of flat arrays at which the data of a link begin: n in `numbers`
(constants), o in `links` (work), k and p in `kin` (kinematics of the body and of the parent), l in `load_` (applied
loads). `children`, `added_to` and `total` are elements of `sums`. `quirk.batches.lanes.links` describes the arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.model.layout import ROTATION, SPIN
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN
from quirk.dynamics.sparse.kernels.inertia import UPPER, entries, reduced, shifted, symmetric, turn_momentum
from quirk.dynamics.sparse.kernels.recursion import BALL, HINGE, WELD
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, store
from quirk.jit.tracing import traced

from .forest import ANGULAR, inertia_at
from .links import (
    ADDED_TO,
    ALONE,
    ALONE_SHIFT,
    ALONE_TURN,
    ARM,
    AXIS,
    BEND,
    BODY,
    CENTER,
    CHILDREN,
    COMPLIANCE,
    DIRECTION,
    FROM_POINT,
    GIVEN,
    INVERSE,
    INVERSE_OF_SHIFTS,
    KIND,
    LESS,
    LINK_ENTRIES,
    LINK_NUMBERS,
    LINK_WORK,
    MASS,
    MIDDLE,
    MOMENTUM,
    MORE,
    PARENT,
    SHIFT,
    SUM,
    SUM_FORCE,
    SUM_MOMENT,
    SUM_NUMBERS,
    TO_POINT,
    TURN,
)
from .records import BODY_LOAD

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


class LinkVectors(NamedTuple):
    """Vectors of a link in inertial axes, and its velocity-dependent accelerations.

    Attributes
    ----------
    d, r : vectors from the joint point of the parent to that of the link, and from there to the center of mass
    bend : second time derivative of r at zero angular acceleration
    shift, turn : acceleration of the joint point, and angular acceleration, relative to a parent without acceleration
    omega : angular velocity of the body
    """

    d: Any
    r: Any
    bend: Any
    shift: Any
    turn: Any
    omega: Any

    @classmethod
    def of(cls, numbers: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any) -> LinkVectors:
        """Compute the vectors of a link, and store them in `links`; index arguments: see the module docstring."""
        omega, of_parent = load3(kin, k + 8 * SPIN), load3(kin, p + 8 * SPIN)
        d = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * ARM))
        shift, turn = cross(of_parent, cross(of_parent, d)), cross(of_parent, omega)
        store3(links, o + 8 * TO_POINT, d)
        store3(links, o + 8 * SHIFT, shift)
        store3(links, o + 8 * TURN, turn)
        r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
        bend = cross(omega, cross(omega, r))
        store3(links, o + 8 * FROM_POINT, r)
        store3(links, o + 8 * BEND, bend)
        return cls(d, r, bend, shift, turn, omega)


def articulated(
    numbers: Any, kin: Any, load_: Any, sums: Any, n: Any, k: Any, l: Any, vectors: LinkVectors, children: Any
) -> Any:
    """Return the articulated inertia (M, H, J) of a link about its joint point, and its bias load f and m.

    Index arguments: see the module docstring.
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
    return (M, H, J), minus(force, load3(load_, l)), minus(moment, load3(load_, l + ANGULAR))


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


def pass_on(sums: Any, vectors: LinkVectors, inertia: Any, force: Any, moment: Any, added_to: Any, total: Any) -> None:
    """Add the transmitted inertia and load of a joint, moved to the joint point of the parent, to the parent's sums.

    `vectors` are the vectors of the link; `inertia`, `force` and `moment` refer to its joint point. The bias
    accelerations of the joint contribute to the load. The values at element `added_to` of `sums` plus the contributions
    are stored at element `total`.
    """
    M, H, J = inertia
    force = plus(force, plus(matrix_times(M, vectors.shift), matrix_times(H, vectors.turn)))
    upper = tuple(zip(*H, strict=True))
    moment = plus(moment, plus(matrix_times(upper, vectors.shift), matrix_times(J, vectors.turn)))
    add_load(sums, vectors.d, force, moment, added_to, total)
    add_inertia(sums, shifted(inertia, times(vectors.d, -1.0)), added_to, total)


def eliminated_hinge(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> Any:
    """Eliminate the rotation of a hinge.

    Returns the vectors of the link, its articulated inertia, the momentum due to unit angular velocity about the hinge
    (as `turn_momentum`), its inverse inertia, and the bias force and moment after elimination. Index arguments: see the
    module docstring.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    inertia, force, moment = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    axis = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * AXIS))
    momentum = by_shift, by_turn, resistance = turn_momentum(inertia, axis)
    compliance = 1.0 / resistance
    alone = -dot(axis, moment) * compliance
    store3(links, o + 8 * DIRECTION, axis)
    store3(links, o + 8 * MOMENTUM, by_shift)
    store3(links, o + 8 * (MOMENTUM + 3), by_turn)
    store(links, o + 8 * COMPLIANCE, compliance)
    store(links, o + 8 * ALONE, alone)
    force, moment = plus(force, times(by_shift, alone)), plus(moment, times(by_turn, alone))
    return vectors, inertia, momentum, compliance, force, moment


@traced
def open_hinge(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate the rotation of a hinge, and add the transmitted inertia and load to the sums of the parent.

    Index arguments: see the module docstring.
    """
    vectors, inertia, momentum, compliance, force, moment = eliminated_hinge(
        numbers, kin, load_, sums, links, n, k, p, l, o, children
    )
    pass_on(sums, vectors, reduced(inertia, momentum, compliance), force, moment, added_to, total)


@traced
def close_hinge(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> None:
    """Eliminate the rotation of a hinge between a body and the ground; index arguments: see the module docstring."""
    eliminated_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children)


def eliminated_ball(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> Any:
    """Eliminate the three rotations of a ball joint.

    Returns the vectors of the link, the reduced inertia M - H J^-1 H^T, and the transmitted force. Index arguments: see
    the module docstring.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    inertia, force, moment = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    M, H, J = inertia
    inverse_of_J = inverse(J)
    given = [matrix_times(inverse_of_J, row) for row in H]
    alone = times(matrix_times(inverse_of_J, moment), -1.0)
    for c, (i, j) in enumerate(UPPER):
        store(links, o + 8 * (INVERSE + c), inverse_of_J[i][j])
    for row in range(3):
        store3(links, o + 8 * (GIVEN + 3 * row), given[row])
    store3(links, o + 8 * ALONE_TURN, alone)
    left = symmetric([M[i][j] - dot(given[i], H[j]) for i, j in UPPER])
    return vectors, left, plus(force, matrix_times(H, alone))


@traced
def open_ball(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate the rotations of a ball joint, and add the transmitted inertia and load to the sums of the parent.

    Index arguments: see the module docstring.
    """
    vectors, M, force = eliminated_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    d, force = vectors.d, plus(force, matrix_times(M, vectors.shift))
    H = tuple(cross(d, row) for row in M)
    columns = [cross(d, column) for column in zip(*H, strict=True)]
    add_inertia(sums, (M, H, symmetric([columns[j][i] for i, j in UPPER])), added_to, total)
    zero = 0.0 * force[0]
    add_load(sums, d, force, (zero, zero, zero), added_to, total)


@traced
def close_ball(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> None:
    """Eliminate the rotations of a ball joint between a body and the ground.

    Index arguments: see the module docstring.
    """
    eliminated_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)


@traced
def open_weld(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Add the inertia of a welded body, and the load on it, to the sums of the parent.

    Index arguments: see the module docstring.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    inertia, force, moment = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    pass_on(sums, vectors, inertia, force, moment, added_to, total)


@traced
def close_weld(numbers: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any) -> None:
    """Store the vectors of a body that is welded to the ground; index arguments: see the module docstring."""
    LinkVectors.of(numbers, kin, links, n, k, p, o)


@traced
def release(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> None:
    """Eliminate the rotations of a free body about its center of mass, and then its translations.

    Index arguments: see the module docstring.
    """
    _, M, force = eliminated_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    inverse_of_M = inverse(M)
    for c, (i, j) in enumerate(UPPER):
        store(links, o + 8 * (INVERSE_OF_SHIFTS + c), inverse_of_M[i][j])
    store3(links, o + 8 * ALONE_SHIFT, times(matrix_times(inverse_of_M, force), -1.0))


@kernel
def articulate_links(
    entries_: np.ndarray, numbers: np.ndarray, kin: np.ndarray, load_: np.ndarray, sums: np.ndarray, links: np.ndarray,
    loaded: bool,
) -> None:  # fmt: skip
    """Compute the articulated inertias of all links from the tips to the roots, and eliminate the joint coordinates.

    If `loaded`, the loads on the bodies in `load_` are applied; otherwise the loads are zero. `entries_` are the
    integers of the links (kind of joint, bodies, indices of sums); the other arrays are described in the module
    docstring.
    """
    ground = load_.shape[0] - MOTION
    for t in range(entries_.shape[0] // LINK_ENTRIES):
        e, n, o = LINK_ENTRIES * t, 8 * LINK_NUMBERS * t, 8 * LINK_WORK * t
        k, p, kind = KIN * at(entries_, e + BODY), KIN * at(entries_, e + PARENT), at(entries_, e + KIND)
        l = MOTION * at(entries_, e + BODY) if loaded else ground
        children, total = 8 * SUM_NUMBERS * at(entries_, e + CHILDREN), 8 * SUM_NUMBERS * at(entries_, e + SUM)
        added_to = 8 * SUM_NUMBERS * at(entries_, e + ADDED_TO)
        if kind == HINGE:
            if total >= 0:
                open_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children)
        elif kind == BALL:
            if total >= 0:
                open_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
        elif kind == WELD:
            if total >= 0:
                open_weld(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_weld(numbers, kin, links, n, k, p, o)
        else:
            release(numbers, kin, load_, sums, links, n, k, p, l, o, children)
