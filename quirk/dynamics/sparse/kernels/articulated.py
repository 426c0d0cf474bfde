"""Factorization of the equations of motion of a forest by articulated inertias.

A forest is a system in which no joint closes a loop. The child of a joint is the body farther from the root.

The articulated inertia I of a body is the inertia of the body with all its descendants in the tree. From the tips to
the roots, each joint transmits the articulated inertia of its child to its parent. First the degrees of freedom of the
joint, with directions n, are eliminated one after the other (R. Featherstone, Rigid Body Dynamics Algorithms (2008),
ch. 7):

    U = I n,  I <- I - U U^T / (n . U).

The product A M^-1 A^T of constraint rows A and mass matrix M is never formed, because its condition number is the
square of the condition number of the rows. Inertias are transmitted at the joint points and in the axes of the child,
so that small moments about the axis of a slender body are not differences of large ones.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.vectors import times
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, load, put, store

from .inertia import (
    FACTOR_ROW,
    add_inertia,
    eliminate_freedom,
    inertia_of,
    numbers3,
    rotated,
    shift_momentum,
    shifted,
    store_inertia,
    turn_momentum,
    without_forces,
    without_moments,
)
from .tree import (
    ARM_CHILD,
    ARM_PARENT,
    CHILD,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
    INERTIA,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    MIXED,
    PARENT,
    ROOT,
    ROOT_ENTRIES,
    ROOT_NUMBERS,
    ROTATIONS,
    TO_PARENT,
    TRANSLATIONS,
    TRANSMITTED,
    TURNS,
    Tree,
)  # fmt: skip


@kernel
def articulate(tree: Tree) -> None:
    """Compute the articulated inertia of every body, and the inertia that each joint transmits to its parent body.

    The articulated inertia of a body is its inertia with all its descendants attached by movable joints. Results are
    written to tree.inertia and tree.joints, the triangular factors of root bodies to tree.factors.
    """
    for o in range(0, tree.inertia.shape[0], 8):
        store(tree.inertia, o, load(tree.body_inertia, o))
    for t in range(tree.entries.shape[0] // JOINT_ENTRIES):
        articulate_joint(tree, t)
    for r in range(tree.roots.shape[0] // ROOT_ENTRIES):
        root = INERTIA * at(tree.roots, ROOT_ENTRIES * r + ROOT)
        factorise_root(tree.inertia, root, tree.factors, ROOT_NUMBERS * r)


@kernel
def articulate_joint(tree: Tree, t: int) -> None:
    """Compute the inertia that joint t transmits from its child to its parent, and add it to the inertia of the parent.

    The child is the body farther from the root. The transmitted inertia is the articulated inertia of the child after
    elimination of the degrees of freedom of the joint.
    """
    entries, inertia, joints, e, o = tree.entries, tree.inertia, tree.joints, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    shifts, turns, place = 3 - at(entries, e + TRANSLATIONS), 3 - at(entries, e + ROTATIONS), o + FREEDOMS
    passed = shifted(inertia_of(inertia, INERTIA * at(entries, e + CHILD)), numbers3(joints, o + ARM_CHILD))
    for _ in range(shifts):
        passed = eliminate_freedom(joints, place, passed, shift_momentum(passed, numbers3(joints, place + DIRECTION)))
        place += FREEDOM
    for _ in range(turns):
        passed = eliminate_freedom(joints, place, passed, turn_momentum(passed, numbers3(joints, place + DIRECTION)))
        place += FREEDOM
    # Loads that a joint cannot transmit are set to zero: their round-off would be large for a slender parent.
    if turns == 3:
        passed = without_moments(passed)
    if shifts == 3:
        passed = without_forces(passed)
    store_inertia(joints, o + TRANSMITTED, passed)
    if at(entries, e + PARENT) >= 0:
        C = numbers3(joints, o + TO_PARENT), numbers3(joints, o + TO_PARENT + 3), numbers3(joints, o + TO_PARENT + 6)
        arm = times(numbers3(joints, o + ARM_PARENT), -1.0)
        add_inertia(inertia, INERTIA * at(entries, e + PARENT), shifted(rotated(passed, C), arm))


@kernel
def factorise_root(inertia: np.ndarray, o: int, factors: np.ndarray, f: int) -> None:
    """Factorize the articulated inertia I (6, 6) of a root body as L D L^T.

    I begins at index o of `inertia`. L is written to `factors` from index f on, with 1/D on its diagonal.
    """
    k = 0
    for i in range(3):
        for j in range(i, 3):
            put(factors, f + FACTOR_ROW * j + i, at(inertia, o + k))
            put(factors, f + FACTOR_ROW * (j + 3) + i + 3, at(inertia, o + TURNS + k))
            k += 1
        for j in range(3):
            put(factors, f + FACTOR_ROW * (j + 3) + i, at(inertia, o + MIXED + 3 * i + j))
    factorise_inertia(factors, f)


@kernel
def factorise_inertia(factors: np.ndarray, f: int) -> None:
    """Factorize a symmetric inertia matrix (6, 6) as L D L^T, in place, with 1/D on the diagonal.

    The lower triangle of the inertia is stored by rows, in a matrix (6, 6) that begins at index f of `factors`.
    """
    for i in range(6):
        inverse = 1.0 / at(factors, f + (FACTOR_ROW + 1) * i)
        for j in range(i + 1, 6):
            share = at(factors, f + FACTOR_ROW * j + i) * inverse
            for m in range(j, 6):
                add(factors, f + FACTOR_ROW * m + j, -share * at(factors, f + FACTOR_ROW * m + i))
        for j in range(i + 1, 6):
            put(factors, f + FACTOR_ROW * j + i, at(factors, f + FACTOR_ROW * j + i) * inverse)
        put(factors, f + (FACTOR_ROW + 1) * i, inverse)
