"""Geometry of the joints of a forest: arms, relative rotations, free directions, and inverses of the rows.

A forest is a system in which no joint closes a loop. The rows of a joint constrain the relative velocity of its two
points along vectors f, or the relative angular velocity along vectors a. The inverse of the rows consists of dual
vectors g, with f_k . g_m = 1 for k = m and 0 otherwise. The degrees of freedom of the joint are along directions
perpendicular to all f, and about directions perpendicular to all a. The array G contains all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_SIZE, POSITION, ROTATION
from quirk.dynamics.model.vectors import back, body_vector, cross, dot, minus, plus, times, turned
from quirk.jit.compilation import kernel
from quirk.jit.simd import at
from quirk.jit.tracing import traced

from .inertia import numbers3, put3, transposed_times
from .mechanism import Mechanism
from .rows import DIRECTION_J, Nodes
from .tree import (
    ARM_CHILD,
    ARM_PARENT,
    CHILD_IS_J,
    COINCIDES,
    FREEDOM,
    FREEDOMS,
    INVERSES,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIN_CHILD,
    KIN_PARENT,
    NODE,
    ROTATION_LANES,
    ROTATIONS,
    TO_PARENT,
    TRANSLATION_LANES,
    TRANSLATIONS,
    Tree,
)  # fmt: skip

# The degrees of freedom of a joint are eliminated if the volume spanned by its unit row directions exceeds this, where
# perpendicular directions have the volume 1. Below it, the free directions have lost six digits.
SKEWED = 1e-6


@kernel
def place_joints(mechanism: Mechanism, y: np.ndarray, kin: np.ndarray) -> bool:
    """Compute the geometry of all joints at state y from the rows in work.G and the rotations in `kin`.

    The system is a forest, without loops. Results are written to mechanism.tree.joints. Returns False if the rows of a
    joint are nearly dependent.
    """
    tree, regular = mechanism.tree, True
    for t in range(tree.entries.shape[0] // JOINT_ENTRIES):
        regular = place_joint(mechanism, y, kin, t) and regular
    return regular


@kernel
def place_joint(mechanism: Mechanism, y: np.ndarray, kin: np.ndarray, t: int) -> bool:
    """Compute the geometry of joint t at state y; return False if its constraint rows are nearly dependent.

    `kin` contains the kinematics of all bodies. Results are written to mechanism.tree.joints.
    """
    tree, nodes, G = mechanism.tree, mechanism.nodes, mechanism.work.G
    joints, entries, e, o = tree.joints, tree.entries, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    n, child, parent = at(entries, e + NODE), at(entries, e + KIN_CHILD), at(entries, e + KIN_PARENT)
    place_arms(tree, nodes, y, kin, t)
    x, y_, z = rotation_rows(kin, child)
    for row in range(3):
        # R_p^T R_c
        p = parent + 8 * (ROTATION + row)
        put3(
            joints,
            o + TO_PARENT + 3 * row,
            plus(plus(times(x, at(kin, p)), times(y_, at(kin, p + 24))), times(z, at(kin, p + 48))),
        )
    freedoms, regular, count = o + FREEDOMS, True, at(entries, e + TRANSLATIONS)
    if at(entries, e + COINCIDES) != 0:
        put3(joints, o + INVERSES, x)
        put3(joints, o + INVERSES + 3, y_)
        put3(joints, o + INVERSES + 6, z)
    else:
        for k in range(count):
            g = G_SIZE * n + G_FORCE + at(entries, e + TRANSLATION_LANES + k)
            put3(joints, o + INVERSES + 3 * k, back(kin, child, body_vector(G, g)))
        regular = invert_rows(joints, o + INVERSES, freedoms, count)
        freedoms += FREEDOM * (3 - count)
    count = at(entries, e + ROTATIONS)
    for k in range(count):
        # The normal u x v of a row that keeps u of body i perpendicular to v of body j, in the axes of the child.
        u = body_vector(nodes.direction, 48 * n + at(entries, e + ROTATION_LANES + k))
        v = body_vector(nodes.direction, 48 * n + DIRECTION_J + at(entries, e + ROTATION_LANES + k))
        if at(entries, e + CHILD_IS_J) != 0:
            u = transposed_times(joints, o + TO_PARENT, u)
        else:
            v = transposed_times(joints, o + TO_PARENT, v)
        normal = cross(u, v)
        put3(joints, o + INVERSES + 9 + 3 * k, normal)
        regular = regular and dot(normal, normal) > SKEWED**2
    return invert_rows(joints, o + INVERSES + 9, freedoms, count) and regular


@traced
def rotation_rows(kin: Any, k: Any) -> Any:
    """Return the rows of the rotation matrix of a body, whose kinematics begin at index k of `kin`."""
    return tuple(body_vector(kin, k + 8 * (ROTATION + 3 * row)) for row in range(3))


@kernel
def place_arms(tree: Tree, nodes: Nodes, y: np.ndarray, kin: np.ndarray, t: int) -> None:
    """Store the vectors (m) from both centers of mass to the joint point of joint t, each in the axes of its body.

    Both vectors lead to the same point: that of body j if the joint does not keep two points coincident. y is the
    state, and `kin` contains the kinematics of all bodies.
    """
    entries, joints, e, o = tree.entries, tree.joints, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    n, child_is_i = at(entries, e + NODE), at(entries, e + CHILD_IS_J) == 0
    arm_i, arm_j = numbers3(nodes.arm, 6 * n), numbers3(nodes.arm, 6 * n + 3)
    to_i = ARM_CHILD if child_is_i else ARM_PARENT
    to_j = ARM_PARENT if child_is_i else ARM_CHILD
    put3(joints, o + to_i, arm_i)
    put3(joints, o + to_j, arm_j)
    if at(entries, e + COINCIDES) == 0:
        si, sj = at(nodes.state, 2 * n), at(nodes.state, 2 * n + 1)
        ki, kj = at(nodes.kinematics, 2 * n), at(nodes.kinematics, 2 * n + 1)
        apart = minus(body_vector(y, sj + 8 * POSITION), body_vector(y, si + 8 * POSITION))
        put3(joints, o + to_i, back(kin, ki, plus(apart, turned(kin, kj, arm_j))))


@kernel
def invert_rows(joints: np.ndarray, o: int, freedoms: int, count: int) -> bool:
    """Replace `count` directions that a joint constrains by their dual vectors, and store its free directions.

    The directions f_k begin at index o of `joints`; their dual vectors g_m satisfy f_k . g_m = 1 for k = m and 0
    otherwise. The free directions, perpendicular to all f_k, are stored as degrees of freedom from index `freedoms` on.
    Returns False if the directions f_k are nearly dependent.
    """
    a, b, c = numbers3(joints, o), numbers3(joints, o + 3), numbers3(joints, o + 6)
    if count == 3:
        normal = cross(b, c)
        volume = dot(a, normal)
        put3(joints, o, times(normal, 1.0 / volume))
        put3(joints, o + 3, times(cross(c, a), 1.0 / volume))
        put3(joints, o + 6, times(cross(a, b), 1.0 / volume))
        return abs(volume) > SKEWED * (dot(a, a) * dot(b, b) * dot(c, c)) ** 0.5
    if count == 2:
        normal = cross(a, b)
        square = dot(normal, normal)
        put3(joints, o, times(cross(b, normal), 1.0 / square))
        put3(joints, o + 3, times(cross(normal, a), 1.0 / square))
        put3(joints, freedoms, normal)
        return square > SKEWED**2 * dot(a, a) * dot(b, b)
    if count == 1:
        square = dot(a, a)
        put3(joints, o, times(a, 1.0 / square))
        # The coordinate axis along which a has its smallest component is not parallel to a.
        x, y, z = abs(a[0]), abs(a[1]), abs(a[2])
        if x <= y and x <= z:
            one = (0.0, a[2], -a[1])
        elif y <= z:
            one = (-a[2], 0.0, a[0])
        else:
            one = (a[1], -a[0], 0.0)
        put3(joints, freedoms, one)
        put3(joints, freedoms + FREEDOM, cross(a, one))
        return square > 0.0
    put3(joints, freedoms, (1.0, 0.0, 0.0))
    put3(joints, freedoms + FREEDOM, (0.0, 1.0, 0.0))
    put3(joints, freedoms + 2 * FREEDOM, (0.0, 0.0, 1.0))
    return True
