"""Accelerations and multipliers of a forest of joints, with the factorization of `articulated`.

From the tips to the roots, the load that each joint would transmit to a parent at zero acceleration is added to the
loads on the parent. From the roots to the tips, the acceleration of each child is computed from that of its parent.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import MOMENT
from quirk.dynamics.model.vectors import add3, body_vector, cross, dot, minus, plus, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, put, splat, store

from .inertia import FACTOR_ROW, Triple, matrix_times, numbers3, put3, symmetric_times, transposed_times
from .tree import (
    ALONE,
    ARM_CHILD,
    ARM_PARENT,
    CHILD_IS_J,
    COMPLIANCE,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
    INVERSES,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    LOAD,
    MIXED,
    MOMENTUM,
    NODE,
    PARENT,
    PRESCRIBED,
    ROOT_ENTRIES,
    ROOT_NUMBERS,
    ROTATION_LANES,
    ROTATIONS,
    TO_PARENT,
    TRANSLATION_LANES,
    TRANSLATIONS,
    TRANSMITTED,
    TURNS,
    WRENCH_CHILD,
    WRENCH_PARENT,
    WRENCH_ROOT,
    Tree,
)


@kernel
def solve_forest(tree: Tree, rhs: np.ndarray, x: np.ndarray) -> None:
    """Solve M a + tree.bias = A^T x, A a = rhs for the accelerations a and the multipliers x.

    M is the mass matrix, and A the matrix of constraint rows. On entry tree.bias contains minus the applied loads; it
    is overwritten. The accelerations are written to tree.acceleration. x and rhs have eight elements for each joint:
    its rows come first, and the remaining elements of x are zero.
    """
    for o in range(0, x.shape[0], 8):  # also the lanes without rows
        store(x, o, splat(0.0))
    joints = tree.entries.shape[0] // JOINT_ENTRIES
    for t in range(joints):
        gather_load(tree, rhs, t)
    for r in range(tree.roots.shape[0] // ROOT_ENTRIES):
        solve_root(tree, r)
    for k in range(joints):
        follow(tree, x, joints - 1 - k)


@kernel
def gather_load(tree: Tree, rhs: np.ndarray, t: int) -> None:
    """Compute the acceleration that the rows of joint t prescribe, and the load that the joint transmits.

    The acceleration of the child relative to the parent is computed from the right-hand sides `rhs` of the rows. The
    load is computed for a parent that does not accelerate, and is added to the loads on the parent in tree.bias.
    """
    entries, joints, e, o = tree.entries, tree.joints, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    n, child = at(entries, e + NODE), at(entries, e + WRENCH_CHILD)
    sign = 1.0 if at(entries, e + CHILD_IS_J) != 0 else -1.0
    shift, turn = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(at(entries, e + TRANSLATIONS)):
        value = sign * at(rhs, 8 * n + at(entries, e + TRANSLATION_LANES + k))
        shift = plus(shift, times(numbers3(joints, o + INVERSES + 3 * k), value))
    for k in range(at(entries, e + ROTATIONS)):
        value = -sign * at(rhs, 8 * n + at(entries, e + ROTATION_LANES + k))
        turn = plus(turn, times(numbers3(joints, o + INVERSES + 9 + 3 * k), value))
    put3(joints, o + PRESCRIBED, shift)
    put3(joints, o + PRESCRIBED + 3, turn)
    force, moment = body_vector(tree.bias, child), body_vector(tree.bias, child + MOMENT)
    moment = plus(moment, cross(force, numbers3(joints, o + ARM_CHILD)))
    for k in range(freedom_count(tree, t)):
        place = o + FREEDOMS + FREEDOM * k
        along = dot(numbers3(joints, place + DIRECTION), force if is_shift(tree, t, k) else moment)
        alone = along * at(joints, place + COMPLIANCE)
        put(joints, place + ALONE, alone)
        force = minus(force, times(numbers3(joints, place + MOMENTUM), alone))
        moment = minus(moment, times(numbers3(joints, place + MOMENTUM + 3), alone))
    # Loads that a joint cannot transmit are set to zero, as their round-off would be large for a slender parent.
    if at(entries, e + ROTATIONS) == 0:
        moment = (0.0, 0.0, 0.0)
    if at(entries, e + TRANSLATIONS) == 0:
        force = (0.0, 0.0, 0.0)
    put3(joints, o + LOAD, force)
    put3(joints, o + LOAD + 3, moment)
    parent = at(entries, e + WRENCH_PARENT)
    if at(entries, e + PARENT) >= 0:
        force, moment = transmitted(joints, o, shift, turn)
        force, moment = matrix_times(joints, o + TO_PARENT, force), matrix_times(joints, o + TO_PARENT, moment)
        add3(tree.bias, parent, force, 1.0)
        add3(tree.bias, parent + MOMENT, plus(moment, cross(numbers3(joints, o + ARM_PARENT), force)), 1.0)


@kernel
def transmitted(joints: np.ndarray, o: int, shift: Triple, turn: Triple) -> tuple[Triple, Triple]:
    """Return the force (N) and moment (N m) that a joint transmits for a given acceleration of the parent.

    `shift` (m/s^2) and `turn` (rad/s^2) are the linear and angular acceleration of the child at the joint point that
    follow from this acceleration without motion along the degrees of freedom, in the axes of the child. The data of the
    joint begin at index o of `joints`.
    """
    inertia = o + TRANSMITTED
    force = plus(symmetric_times(joints, inertia, shift), matrix_times(joints, inertia + MIXED, turn))
    moment = plus(transposed_times(joints, inertia + MIXED, shift), symmetric_times(joints, inertia + TURNS, turn))
    return plus(force, numbers3(joints, o + LOAD)), plus(moment, numbers3(joints, o + LOAD + 3))


@kernel
def freedom_count(tree: Tree, t: int) -> int:
    """Return the number of degrees of freedom of joint t."""
    return 6 - at(tree.entries, JOINT_ENTRIES * t + TRANSLATIONS) - at(tree.entries, JOINT_ENTRIES * t + ROTATIONS)


@kernel
def is_shift(tree: Tree, t: int, k: int) -> bool:
    """Return whether degree of freedom k of joint t is a translation; translations come before rotations."""
    return k < 3 - at(tree.entries, JOINT_ENTRIES * t + TRANSLATIONS)


@kernel
def solve_root(tree: Tree, r: int) -> None:
    """Compute the acceleration of root body r from its articulated inertia and the loads on it.

    The acceleration is written to tree.acceleration.
    """
    f, w = ROOT_NUMBERS * r, at(tree.roots, ROOT_ENTRIES * r + WRENCH_ROOT)
    a, factors = tree.acceleration, tree.factors
    for i in range(6):
        value = -at(tree.bias, w + 8 * i)
        for j in range(i):
            value -= at(factors, f + FACTOR_ROW * i + j) * at(a, w + 8 * j)
        put(a, w + 8 * i, value)
    for i in range(6):
        put(a, w + 8 * i, at(a, w + 8 * i) * at(factors, f + (FACTOR_ROW + 1) * i))
    for k in range(6):
        i = 5 - k
        for j in range(i + 1, 6):
            add(a, w + 8 * i, -at(factors, f + FACTOR_ROW * j + i) * at(a, w + 8 * j))


@kernel
def follow(tree: Tree, x: np.ndarray, t: int) -> None:
    """Compute the acceleration of the child body of joint t, and the multipliers x of the constraint rows of joint t.

    The acceleration of the parent body must have been computed before; that of the child is written to
    tree.acceleration.
    """
    entries, joints, e, o = tree.entries, tree.joints, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    n, child, parent = at(entries, e + NODE), at(entries, e + WRENCH_CHILD), at(entries, e + WRENCH_PARENT)
    shift, turn = numbers3(joints, o + PRESCRIBED), numbers3(joints, o + PRESCRIBED + 3)
    if at(entries, e + PARENT) >= 0:
        of_parent = body_vector(tree.acceleration, parent + MOMENT)
        at_point = plus(body_vector(tree.acceleration, parent), cross(of_parent, numbers3(joints, o + ARM_PARENT)))
        shift = plus(shift, transposed_times(joints, o + TO_PARENT, at_point))
        turn = plus(turn, transposed_times(joints, o + TO_PARENT, of_parent))
    force, moment = transmitted(joints, o, shift, turn)
    sign = 1.0 if at(entries, e + CHILD_IS_J) != 0 else -1.0
    for k in range(at(entries, e + TRANSLATIONS)):
        lane = at(entries, e + TRANSLATION_LANES + k)
        put(x, 8 * n + lane, sign * dot(numbers3(joints, o + INVERSES + 3 * k), force))
    for k in range(at(entries, e + ROTATIONS)):
        lane = at(entries, e + ROTATION_LANES + k)
        put(x, 8 * n + lane, -sign * dot(numbers3(joints, o + INVERSES + 9 + 3 * k), moment))
    count = freedom_count(tree, t)
    for m in range(count):
        k = count - 1 - m
        place = o + FREEDOMS + FREEDOM * k
        momentum = dot(numbers3(joints, place + MOMENTUM), shift) + dot(numbers3(joints, place + MOMENTUM + 3), turn)
        q = -(momentum * at(joints, place + COMPLIANCE)) - at(joints, place + ALONE)
        if is_shift(tree, t, k):
            shift = plus(shift, times(numbers3(joints, place + DIRECTION), q))
        else:
            turn = plus(turn, times(numbers3(joints, place + DIRECTION), q))
    store_child(tree, child, minus(shift, cross(turn, numbers3(joints, o + ARM_CHILD))), turn)


@kernel
def store_child(tree: Tree, child: int, shift: Triple, turn: Triple) -> None:
    """Write the acceleration of the center of mass, and the angular acceleration, of a body to tree.acceleration.

    `shift` (m/s^2) and `turn` (rad/s^2) are in body axes; they are stored from index `child` on.
    """
    for k in range(3):
        put(tree.acceleration, child + 8 * k, shift[k])
        put(tree.acceleration, child + MOMENT + 8 * k, turn[k])
