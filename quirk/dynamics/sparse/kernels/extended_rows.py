"""Lower parts of rotation matrices and constraint rows in double-double arithmetic; see `extended`.

A double-double number is the sum of a double and a much smaller double, its lower part. The rotation matrices and rows
in double precision are computed elsewhere. Rows of relations, which are constraints defined by functions, have no lower
parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, METRIC, ORIENTATION, POSITION, ROTATION
from quirk.dynamics.model.vectors import body_vector, cross, dot, load3, minus, plus, times
from quirk.jit.compilation import kernel
from quirk.jit.double_double import DoubleDouble
from quirk.jit.simd import at, load, store
from quirk.jit.tracing import traced

from .bodies import KIN, STATE
from .inertia import numbers3
from .mechanism import Mechanism
from .rows import DIRECTION_J, HUB, IN_X, IN_Y, RELATION

# Number of elements of the rotation matrices of a block of eight bodies.
TURN = 8 * 9


@kernel
def rotations_below(y: np.ndarray, kin: np.ndarray, rotation: np.ndarray) -> None:
    """Compute the lower parts of the double-double rotation matrices of all bodies at state y, in `rotation`.

    `kin` contains the rotation matrices in double precision.
    """
    for block in range(kin.shape[0] // KIN):
        rotation_below(y, kin, rotation, block * STATE, block * KIN, block * TURN)


@traced
def rotation_below(y: Any, kin: Any, rotation: Any, s: Any, k: Any, o: Any) -> None:
    """Compute the lower parts of the double-double rotation matrices of eight bodies, in `rotation`.

    The block of bodies begins at index s of the states y, k of the kinematics `kin` and o of `rotation`.
    """
    w, a, b, c = (DoubleDouble(load(y, s + 8 * (ORIENTATION + n))) for n in range(4))
    scale = 2.0 * (w * w + a * a + b * b + c * c).inverse()
    wa, wb, wc = scale * (w * a), scale * (w * b), scale * (w * c)
    aa, bb, cc = scale * (a * a), scale * (b * b), scale * (c * c)
    ab, ac, bc = scale * (a * b), scale * (a * c), scale * (b * c)
    R = 1.0 - (bb + cc), ab - wc, ac + wb, ab + wc, 1.0 - (aa + cc), bc - wa, ac - wb, bc + wa, 1.0 - (aa + bb)
    for n, entry in enumerate(R):
        store(rotation, o + 8 * n, entry.remainder(load(kin, k + 8 * (ROTATION + n))))


@kernel
def rows_below(mechanism: Mechanism, y: np.ndarray) -> None:
    """Compute the lower parts of the double-double constraint rows at state y, in work.extended.G.

    Rows of relations, which are constraints defined by functions, have no lower parts.
    """
    nodes, work, extended = mechanism.nodes, mechanism.work, mechanism.work.extended
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] != HUB and nodes.kind[n] != RELATION:
            ki, kj = nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1]
            row_below(
                nodes.arm, nodes.direction, nodes.patterns, y, work.kin, extended.rotation, work.G, extended.G, n,
                nodes.lanes[n], ki, kj, ki // KIN * TURN + ki % KIN, kj // KIN * TURN + kj % KIN, nodes.state[2 * n],
                nodes.state[2 * n + 1],
            )  # fmt: skip


@traced
def row_below(
    arm: Any, direction: Any, patterns: Any, y: Any, kin: Any, rotation: Any, G: Any, low: Any, n: Any, lanes: Any,
    ki: Any, kj: Any, oi: Any, oj: Any, si: Any, sj: Any,
) -> None:  # fmt: skip
    """Compute the lower parts of the double-double constraint rows of node n (a joint), in `low`.

    The higher parts G are computed by `constraint_rows` in the module `rows`. `arm`, `direction`, `patterns` and
    `lanes` are described in `Nodes`. For bodies i and j, the states begin at indices si and sj of y, the kinematics at
    ki and kj of `kin`, and the lower parts of the rotation matrices at oi and oj of `rotation`.
    """
    R_i, R_j = rotation_of(kin, ki, rotation, oi), rotation_of(kin, kj, rotation, oj)
    arm_i, arm_j = numbers3(arm, 6 * n), numbers3(arm, 6 * n + 3)
    p_i, p_j = (tuple(DoubleDouble(c) for c in body_vector(y, s + 8 * POSITION)) for s in (si, sj))
    d = plus(minus(p_j, p_i), minus(product(R_j, arm_j), product(R_i, arm_i)))
    u = product(R_i, load3(direction, 48 * n))
    v = product(R_j, load3(direction, 48 * n + DIRECTION_J))
    in_x, in_y = load(patterns, lanes + IN_X), load(patterns, lanes + IN_Y)
    x = plus(plus(u, load3(patterns, lanes)), times(d, in_x))
    y_ = plus(v, times(d, in_y))
    force = plus(times(y_, in_x), times(x, in_y))
    C_i, C_j = transpose(R_i), transpose(R_j)
    on_i = plus(product(C_i, cross(u, y_)), cross(product(C_i, force), arm_i))
    on_j = plus(product(C_j, cross(v, x)), cross(arm_j, product(C_j, force)))
    parts = (G_FORCE, force), (G_I, product(metric_of(kin, ki), on_i)), (G_J, product(metric_of(kin, kj), on_j))
    for part, vector in parts:
        for c in range(3):
            o = G_SIZE * n + part + 8 * c
            store(low, o, vector[c].remainder(load(G, o)))


def rotation_of(kin: Any, k: Any, rotation: Any, o: Any) -> Any:
    """Return the rows of the double-double rotation matrix of one body.

    The higher parts begin at index k of the kinematics `kin`, the lower parts at index o of `rotation`.
    """
    entries = [DoubleDouble(at(kin, k + 8 * (ROTATION + n)), at(rotation, o + 8 * n)) for n in range(9)]
    return entries[:3], entries[3:6], entries[6:]


def metric_of(kin: Any, k: Any) -> Any:
    """Return the rows of the transposed metric W^T of a body as double-double numbers.

    The metric begins at index k of the kinematics `kin`. Its doubles are treated as exact: the lower parts are zero.
    """
    return [[DoubleDouble(at(kin, k + 8 * (METRIC + 3 * row + c))) for row in range(3)] for c in range(3)]


def product(matrix: Any, vector: Any) -> Any:
    """Return the product of a matrix (3, 3), given by rows, and a vector, in double-double arithmetic."""
    return tuple(dot(row, vector) for row in matrix)


def transpose(matrix: Any) -> Any:
    """Return the columns of a matrix (3, 3) given by rows."""
    return tuple(zip(*matrix, strict=True))
