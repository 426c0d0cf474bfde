"""Factorization of the equations of motion of a forest by the freedoms of its joints: articulated inertias.

From the tips to the roots, each joint passes on to its parent what resists the parent's motion through the joint: the
inertia of the child, with all that hangs on it, less what the freedoms of the joint give way (R. Featherstone, Rigid
Body Dynamics Algorithms (2008), ch. 7). A freedom n, a direction of relative velocity, is eliminated by

    U = I n,  I <- I - U U^T / (n . U).

No product of rows A M^-1 A^T is formed, so that the condition of S is not squared. All is done at the points of joints
and in the axes of the child: a slender body hardly resists turns about its axis, and moments about that are then no
differences of large ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_SIZE, POSITION, ROTATION
from quirk.dynamics.model.vectors import back, cross, dot, minus, plus, three, times, turned
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, load, put, store
from quirk.jit.tracing import traced

from .mechanism import Mechanism
from .rows import DIRECTION_J, Nodes
from .tree import (
    ARM_CHILD,
    ARM_PARENT,
    CHILD,
    CHILD_IS_J,
    COINCIDES,
    COMPLIANCE,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
    INERTIA,
    INVERSES,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIN_CHILD,
    KIN_PARENT,
    MIXED,
    MOMENTUM,
    NODE,
    PARENT,
    ROOT,
    ROOT_ENTRIES,
    ROOT_NUMBERS,
    ROTATION_LANES,
    ROTATIONS,
    TO_PARENT,
    TRANSLATION_LANES,
    TRANSLATIONS,
    TRANSMITTED,
    TURNS,
    Tree,
)

# Smallest volume spanned by the rows of a joint, relative to that of perpendicular unit vectors, up to which the joint
# is eliminated by freedoms; below it, directions of freedoms have lost six digits.
SKEWED = 1e-6

# Rows and columns of the numbers that are kept of a symmetric matrix.
UPPER = [(i, j) for i in range(3) for j in range(i, 3)]

Triple = tuple[float, float, float]


@traced
def numbers3(array: Any, o: Any) -> Any:
    """Three neighbors of an array."""
    return at(array, o), at(array, o + 1), at(array, o + 2)


@traced
def put3(array: Any, o: Any, a: Any) -> None:
    """Write three neighbors of an array."""
    for k in range(3):
        put(array, o + k, a[k])


@traced
def symmetric_times(array: Any, o: Any, a: Any) -> Any:
    """Return the product of a symmetric matrix (xx, xy, xz, yy, yz, zz), from o on, with a vector."""
    xx, xy, xz, yy, yz, zz = (at(array, o + k) for k in range(6))
    return xx * a[0] + xy * a[1] + xz * a[2], xy * a[0] + yy * a[1] + yz * a[2], xz * a[0] + yz * a[1] + zz * a[2]


@traced
def matrix_times(array: Any, o: Any, a: Any) -> Any:
    """Return the product of a matrix (3, 3) by rows, from o on, with a vector."""
    return dot(numbers3(array, o), a), dot(numbers3(array, o + 3), a), dot(numbers3(array, o + 6), a)


@traced
def transposed_times(array: Any, o: Any, a: Any) -> Any:
    """Return the product of the transpose of a matrix (3, 3) by rows, from o on, with a vector."""
    x, y, z = numbers3(array, o), numbers3(array, o + 3), numbers3(array, o + 6)
    return plus(plus(times(x, a[0]), times(y, a[1])), times(z, a[2]))


@traced
def inertia_of(array: Any, o: Any) -> Any:
    """Return the blocks of an inertia, each by rows: of translations, mixed and of rotations."""
    return (
        _symmetric([at(array, o + k) for k in range(MIXED)]),
        tuple(numbers3(array, o + MIXED + 3 * row) for row in range(3)),
        _symmetric([at(array, o + TURNS + k) for k in range(6)]),
    )


def _symmetric(upper: Any) -> Any:
    xx, xy, xz, yy, yz, zz = upper
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


def _upper(rows: Any) -> Any:
    return [rows[i][j] for i, j in UPPER]


@traced
def put_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Write an inertia to an array."""
    for k, x in enumerate(_numbers(inertia)):
        put(array, o + k, x)


@traced
def add_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Add an inertia to the one in an array."""
    for k, x in enumerate(_numbers(inertia)):
        add(array, o + k, x)


def _numbers(inertia: Any) -> list[Any]:
    shifts, mixed, turns = inertia
    return [*_upper(shifts), *(x for row in mixed for x in row), *_upper(turns)]


@traced
def shifted(inertia: Any, r: Any) -> Any:
    """Return an inertia for the velocity of another point, r from the first: that of the first is u + r x omega."""
    shifts, mixed, turns = inertia
    later = tuple(plus(mixed[i], cross(shifts[i], r)) for i in range(3))
    before, after = tuple(zip(*mixed, strict=True)), tuple(zip(*later, strict=True))
    left, right = [cross(column, r) for column in before], [cross(column, r) for column in after]
    return shifts, later, _symmetric([turns[i][j] + left[i][j] + right[j][i] for i, j in UPPER])


@traced
def rotated(inertia: Any, C: Any) -> Any:
    """Return an inertia in other axes, with the rotation to these by rows."""
    shifts, mixed, turns = (_rows_times(C, block) for block in inertia)
    return (
        _symmetric([dot(shifts[i], C[j]) for i, j in UPPER]),
        tuple(tuple(dot(mixed[i], C[j]) for j in range(3)) for i in range(3)),
        _symmetric([dot(turns[i], C[j]) for i, j in UPPER]),
    )


def _rows_times(C: Any, block: Any) -> Any:
    columns = tuple(zip(*block, strict=True))
    return [tuple(dot(row, column) for column in columns) for row in C]


@kernel
def place_joints(mechanism: Mechanism, y: np.ndarray, kin: np.ndarray) -> bool:
    """Fill arms, relative rotations, freedoms and inverses of rows of all joints of the forest.

    For the rows in work.G and the rotations in `kin`. Returns False if rows of a joint are nearly dependent.
    """
    tree, regular = mechanism.tree, True
    for t in range(tree.entries.shape[0] // JOINT_ENTRIES):
        regular = place_joint(mechanism, y, kin, t) and regular
    return regular


@kernel
def place_joint(mechanism: Mechanism, y: np.ndarray, kin: np.ndarray, t: int) -> bool:
    """Do what `place_joints` does for one joint."""
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
            put3(joints, o + INVERSES + 3 * k, back(kin, child, three(G, g)))
        regular = invert_rows(joints, o + INVERSES, freedoms, count)
        freedoms += FREEDOM * (3 - count)
    count = at(entries, e + ROTATIONS)
    for k in range(count):
        # The normal u x v of a row that keeps u of body i perpendicular to v of body j, in the axes of the child.
        u = three(nodes.direction, 48 * n + at(entries, e + ROTATION_LANES + k))
        v = three(nodes.direction, 48 * n + DIRECTION_J + at(entries, e + ROTATION_LANES + k))
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
    """Return the rows of the rotation of the body whose kinematics start at `k`."""
    return tuple(three(kin, k + 8 * (ROTATION + 3 * row)) for row in range(3))


@kernel
def place_arms(tree: Tree, nodes: Nodes, y: np.ndarray, kin: np.ndarray, t: int) -> None:
    """Fill the arms of a joint, each in the axes of its body.

    Where the rows are no coincidence, they hold the point of body j against body i where that is now.
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
        apart = minus(three(y, sj + 8 * POSITION), three(y, si + 8 * POSITION))
        put3(joints, o + to_i, back(kin, ki, plus(apart, turned(kin, kj, arm_j))))


@kernel
def invert_rows(joints: np.ndarray, o: int, freedoms: int, count: int) -> bool:
    """Replace `count` vectors from o on by those whose products with them are 1 and 0; write what is perpendicular.

    The directions perpendicular to all go to the freedoms from `freedoms` on. Returns False if the vectors are nearly
    dependent.
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
        # The axis with the least component of a is not along it.
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


@kernel
def articulate(tree: Tree) -> None:
    """Fill the articulated inertias of bodies, and what joints transmit of them; joints are placed."""
    for o in range(0, tree.inertia.shape[0], 8):
        store(tree.inertia, o, load(tree.own, o))
    for t in range(tree.entries.shape[0] // JOINT_ENTRIES):
        articulate_joint(tree, t)
    for r in range(tree.roots.shape[0] // ROOT_ENTRIES):
        root = INERTIA * at(tree.roots, ROOT_ENTRIES * r + ROOT)
        factorise_root(tree.inertia, root, tree.factors, ROOT_NUMBERS * r)


@kernel
def articulate_joint(tree: Tree, t: int) -> None:
    """Find what a joint transmits of the inertia of its child, and add that to the inertia of its parent."""
    entries, inertia, joints, e, o = tree.entries, tree.inertia, tree.joints, JOINT_ENTRIES * t, JOINT_NUMBERS * t
    shifts, turns, place = 3 - at(entries, e + TRANSLATIONS), 3 - at(entries, e + ROTATIONS), o + FREEDOMS
    passed = shifted(inertia_of(inertia, INERTIA * at(entries, e + CHILD)), numbers3(joints, o + ARM_CHILD))
    for _ in range(shifts):
        passed = give_way(joints, place, passed, shift_momentum(passed, numbers3(joints, place + DIRECTION)))
        place += FREEDOM
    for _ in range(turns):
        passed = give_way(joints, place, passed, turn_momentum(passed, numbers3(joints, place + DIRECTION)))
        place += FREEDOM
    # What is not transmitted at all leaves no round-off, which would be much for a slender parent.
    if turns == 3:
        passed = forces_alone(passed)
    if shifts == 3:
        passed = moments_alone(passed)
    put_inertia(joints, o + TRANSMITTED, passed)
    if at(entries, e + PARENT) >= 0:
        C = numbers3(joints, o + TO_PARENT), numbers3(joints, o + TO_PARENT + 3), numbers3(joints, o + TO_PARENT + 6)
        arm = times(numbers3(joints, o + ARM_PARENT), -1.0)
        add_inertia(inertia, INERTIA * at(entries, e + PARENT), shifted(rotated(passed, C), arm))


@traced
def shift_momentum(inertia: Any, n: Any) -> Any:
    """Return the momentum of unit velocity of a point along n, its resistance last."""
    shifts, mixed, _ = inertia
    of_shifts = tuple(dot(row, n) for row in shifts)
    return of_shifts, tuple(dot(column, n) for column in zip(*mixed, strict=True)), dot(of_shifts, n)


@traced
def turn_momentum(inertia: Any, n: Any) -> Any:
    """Return the momentum of unit angular velocity along n, its resistance last."""
    _, mixed, turns = inertia
    of_turns = tuple(dot(row, n) for row in turns)
    return tuple(dot(row, n) for row in mixed), of_turns, dot(of_turns, n)


@traced
def give_way(joints: Any, place: Any, inertia: Any, momentum: Any) -> Any:
    """Return an inertia less what a freedom gives way, and write the momentum of the freedom and its compliance."""
    of_shifts, of_turns, resistance = momentum
    compliance = 1.0 / resistance
    put3(joints, place + MOMENTUM, of_shifts)
    put3(joints, place + MOMENTUM + 3, of_turns)
    put(joints, place + COMPLIANCE, compliance)
    shifts, mixed, turns = inertia
    yielded, turning = times(of_shifts, compliance), times(of_turns, compliance)
    return (
        _symmetric([shifts[i][j] - yielded[i] * of_shifts[j] for i, j in UPPER]),
        tuple(tuple(mixed[i][j] - yielded[i] * of_turns[j] for j in range(3)) for i in range(3)),
        _symmetric([turns[i][j] - turning[i] * of_turns[j] for i, j in UPPER]),
    )


@traced
def forces_alone(inertia: Any) -> Any:
    """Return an inertia that resists translations alone."""
    shifts, mixed, turns = inertia
    return shifts, _none_of(mixed), _none_of(turns)


@traced
def moments_alone(inertia: Any) -> Any:
    """Return an inertia that resists rotations alone."""
    shifts, mixed, turns = inertia
    return _none_of(shifts), _none_of(mixed), turns


def _none_of(block: Any) -> Any:
    zero = 0.0 * block[0][0]
    return tuple(tuple(zero for _ in range(3)) for _ in range(3))


@kernel
def factorise_root(inertia: np.ndarray, o: int, factors: np.ndarray, f: int) -> None:
    """Fill the lower triangle L (6, 6) of I = L D L^T, with 1/D on its diagonal, of a root's articulated inertia."""
    k = 0
    for i in range(3):
        for j in range(i, 3):
            put(factors, f + 6 * j + i, at(inertia, o + k))
            put(factors, f + 6 * (j + 3) + i + 3, at(inertia, o + TURNS + k))
            k += 1
        for j in range(3):
            put(factors, f + 6 * (j + 3) + i, at(inertia, o + MIXED + 3 * i + j))
    for i in range(6):
        inverse = 1.0 / at(factors, f + 7 * i)
        for j in range(i + 1, 6):
            share = at(factors, f + 6 * j + i) * inverse
            for m in range(j, 6):
                add(factors, f + 6 * m + j, -share * at(factors, f + 6 * m + i))
        for j in range(i + 1, 6):
            put(factors, f + 6 * j + i, at(factors, f + 6 * j + i) * inverse)
        put(factors, f + 7 * i, inverse)
