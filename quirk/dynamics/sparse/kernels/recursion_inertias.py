"""Articulated inertias of the recursion, computed from the tips to the roots.

The arrays are described in the module `recursion`. The articulated inertia of a body is the inertia of the body with
all its descendants in the tree, whose joints are free to move (R. Featherstone, Rigid Body Dynamics Algorithms (2008),
ch. 7). The force and moment required for the acceleration a of its joint point and the angular acceleration alpha are

    M a + H alpha + f,   H^T a + J alpha + m.

Index arguments are first elements: j of a joint in `joints`, b of its body in `constants`, and k of the joint or free
body in `blocks`. In `articulated` they are `children` of the sum over all children of the body, `added_to` of the sum
to which the transmitted inertia is added, and `total` of the result.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, lane_of, load4, put, spread, store4
from quirk.jit.tracing import traced

from .articulated import factorise_inertia
from .recursion import (
    ADDED_TO,
    ALONE,
    ALONE_TURN,
    ARM,
    BALL,
    BLOCK,
    BODY_NUMBERS,
    CHILDREN,
    COLUMNS,
    COMPLIANCE,
    FORCE,
    GIVEN_BY_SHIFT,
    HINGE,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    LOWER,
    MASS_AFTER,
    MOMENT,
    MOMENTUM_SHIFT,
    MOMENTUM_TURN,
    ROWS,
    SHIFT_BIAS,
    SUM,
    TURN_BIAS,
    TURNS,
    WELD,
    Recursion,
)
from .recursion_vectors import (
    combined,
    cross4,
    lanes_of,
    load_vectors,
    store_vectors,
    sum_of_lanes,
    symmetric,
    transposed,
)


def body_inertia(constants: Any, joints: Any, articulated: Any, b: Any, j: Any, children: Any) -> Any:
    """Return the articulated inertia of a body: the rows of M, H^T and J, the force and the moment.

    M, H and J are the translational, mixed and rotational blocks; force and moment are those at zero acceleration.
    Index arguments: see the module docstring.
    """
    mass = [load4(constants, b + MASS_AFTER - k) for k in range(3)]
    rows = [*mass, *load_vectors(constants, b + LOWER), *load_vectors(constants, b + TURNS)]
    rows += [load4(joints, j + FORCE), load4(joints, j + MOMENT)]
    rows = [row + load4(articulated, children + 4 * k) for k, row in enumerate(rows)]
    return rows[:3], rows[3:6], rows[6:9], rows[9], rows[10]


def turned_rows(E: Any, columns: Any, rows: Any, width: int) -> Any:
    """Return the rows of E B E^T for a matrix B, given by rows; a row None is zero.

    E is a rotation matrix with columns `columns`. Only the first `width` columns of B may be nonzero.
    """
    right = [row if row is None else combined([spread(row, c) for c in range(width)], columns[:width]) for row in rows]
    return [combined(line, right) for line in E]


def arm_cross(arm: Any, rows: Any) -> Any:
    """Return the rows of the matrix [arm x] B, for the components of the arm and the rows of B."""
    x, y, z = arm
    a, b, c = rows
    return y * c - z * b, z * a - x * c, x * b - y * a


def transmit_inertia(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, reduced: Any, added_to: Any, total: Any
) -> None:
    """Add the articulated inertia that a joint transmits to that of its parent, in the frame of the parent.

    `reduced` contains the rows of the blocks M, H^T and J after elimination of the joint, the number of nonzero columns
    of J, the force and the moment. The sum of the transmitted inertia and the inertia at `added_to` is stored at
    `total`. Index arguments: see the module docstring.
    """
    M, T, J, width, force, moment = reduced
    columns = load_vectors(joints, j + COLUMNS)
    E = [[at(joints, j + ROWS + 4 * k + m) for m in range(3)] for k in range(3)]
    arm, around = [at(constants, b + ARM + k) for k in range(3)], load4(constants, b + ARM)
    M = turned_rows(E, columns, M, 3)
    lower = arm_cross(arm, M)
    J_new = [None, None, None]
    if T is not None:
        T = turned_rows(E, columns, T, 3)
        lower = [one + two for one, two in zip(T, lower, strict=True)]
        J_new = turned_rows(E, columns, J, width)
    upper = transposed(lower)
    by_arm = arm_cross(arm, upper)
    for k in range(3):
        if T is not None:
            J_new[k] = (J_new[k] - cross4(T[k], around)) + by_arm[k]
        else:
            J_new[k] = by_arm[k]
    bias = [at(joints, j + SHIFT_BIAS + k) for k in range(3)]
    force = combined(lanes_of(force), columns)
    around_parent = cross4(around, force)
    if moment is not None:
        lanes = lanes_of(moment)[:width]
        around_parent = around_parent + combined(lanes, columns[:width])
    force = force + combined(bias, M)
    around_parent = around_parent + combined(bias, upper)
    for k, row in enumerate([*M, *lower, *J_new, force, around_parent]):
        store4(articulated, total + 4 * k, load4(articulated, added_to + 4 * k) + row)


@traced
def open_hinge(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Eliminate the rotation of a hinge, and add the transmitted inertia and load to those of the parent.

    Index arguments: see the module docstring.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    by_shift, by_turn, compliance, alone = eliminate_hinge(joints, j, T, J, moment)
    scaled_shift, scaled_turn = by_shift * compliance, by_turn * compliance
    M = symmetric([row - spread(scaled_shift, k) * by_shift for k, row in enumerate(M)])
    J = [row - spread(scaled_turn, k) * by_turn for k, row in enumerate(J[:2])] + [None]
    T = [row - spread(scaled_turn, k) * by_shift for k, row in enumerate(T[:2])] + [None]
    x, y = (at(joints, j + TURN_BIAS + k) for k in range(2))
    force = force + alone * by_shift + combined((x, y), T[:2])
    moment = moment + alone * by_turn + combined((x, y), J[:2])
    transmit_inertia(joints, constants, articulated, j, b, (M, T, J, 2, force, moment), added_to, total)


def eliminate_hinge(joints: Any, j: Any, T: Any, J: Any, moment: Any) -> Any:
    """Eliminate a hinge; store and return its momentum, the inverse of its inertia, and its angular acceleration.

    The linear and angular momentum are those of unit angular velocity about the hinge; the angular acceleration is that
    for a parent without acceleration. T and J are the rows of the blocks H^T and J of the articulated inertia of the
    body, and `moment` is the moment at zero acceleration. Index arguments: see the module docstring.
    """
    compliance = 1.0 / lane_of(J[2], 2)
    alone = -lane_of(moment, 2) * compliance
    store4(joints, j + MOMENTUM_SHIFT, T[2])
    store4(joints, j + MOMENTUM_TURN, J[2])
    put(joints, j + COMPLIANCE, compliance)
    put(joints, j + ALONE, alone)
    return T[2], J[2], compliance, alone


@traced
def close_hinge(joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any) -> None:
    """Eliminate the rotation of a hinge between a body and the ground.

    Index arguments: see the module docstring.
    """
    _, T, J, _, moment = body_inertia(constants, joints, articulated, b, j, children)
    eliminate_hinge(joints, j, T, J, moment)


def eliminate_ball(joints: Any, blocks: Any, j: Any, k: Any, T: Any, J: Any, moment: Any) -> Any:
    """Eliminate a ball joint; store and return the rows of H J^-1, and J^-1 times the moment.

    T and J are the rows of the blocks H^T and J of the articulated inertia of the body, and `moment` is the moment at
    zero acceleration. J^-1 times the moment is minus the angular acceleration for a joint point without acceleration.
    Index arguments: see the module docstring.
    """
    adjugate = cross4(J[1], J[2]), cross4(J[2], J[0]), cross4(J[0], J[1])
    determinant = lane_of(sum_of_lanes(J[0] * adjugate[0]), 0)
    inverse = [row * (1.0 / determinant) for row in adjugate]
    given = [combined(lanes_of(row), inverse) for row in transposed(T)]
    alone = combined(lanes_of(moment), inverse)
    store_vectors(blocks, k, inverse)
    store_vectors(joints, j + GIVEN_BY_SHIFT, given)
    store4(joints, j + ALONE_TURN, alone)
    return given, alone


@traced
def open_ball(
    joints: Any,
    constants: Any,
    articulated: Any,
    blocks: Any,
    j: Any,
    b: Any,
    k: Any,
    children: Any,
    added_to: Any,
    total: Any,
) -> None:
    """Eliminate the rotations of a ball joint, and add the transmitted inertia and load to those of the parent.

    Index arguments: see the module docstring.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    given, alone = eliminate_ball(joints, blocks, j, k, T, J, moment)
    M = symmetric([row - combined(lanes_of(by), T) for row, by in zip(M, given, strict=True)])
    force = force - combined(lanes_of(alone), T)
    transmit_inertia(joints, constants, articulated, j, b, (M, None, None, 0, force, None), added_to, total)


@traced
def close_ball(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> None:
    """Eliminate the rotations of a ball joint between a body and the ground.

    Index arguments: see the module docstring.
    """
    _, T, J, _, moment = body_inertia(constants, joints, articulated, b, j, children)
    eliminate_ball(joints, blocks, j, k, T, J, moment)


@traced
def pass_weld(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the inertia of a welded body, and the load on it, to those of the parent.

    Index arguments: see the module docstring.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    turn = [at(joints, j + TURN_BIAS + k) for k in range(3)]
    force, moment = force + combined(turn, T), moment + combined(turn, J)
    transmit_inertia(joints, constants, articulated, j, b, (M, T, J, 3, force, moment), added_to, total)


@traced
def gather_free(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> None:
    """Store the articulated inertia of a free body, as its lower triangle, and the load on the body.

    Index arguments: see the module docstring.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    for row in range(3):
        for c in range(row + 1):
            put(blocks, k + 6 * row + c, lane_of(M[row], c))
            put(blocks, k + 6 * (row + 3) + c + 3, lane_of(J[row], c))
        for c in range(3):
            put(blocks, k + 6 * (row + 3) + c, lane_of(T[row], c))
    store4(joints, j + FORCE, force)
    store4(joints, j + MOMENT, moment)


@kernel
def articulate_all(recursion: Recursion) -> None:
    """Compute the articulated inertias of all bodies, with elimination of the degrees of freedom of all joints."""
    entries, joints, constants, blocks = recursion.entries, recursion.joints, recursion.body_constants, recursion.blocks
    articulated = recursion.articulated
    for t in range(entries.shape[0] // JOINT_ENTRIES):
        e, j, b = JOINT_ENTRIES * t, JOINT_NUMBERS * t, BODY_NUMBERS * t
        kind, children, added_to, total = (
            at(entries, e + KIND),
            at(entries, e + CHILDREN),
            at(entries, e + ADDED_TO),
            at(entries, e + SUM),
        )
        if kind == HINGE:
            if total >= 0:
                open_hinge(joints, constants, articulated, j, b, children, added_to, total)
            else:
                close_hinge(joints, constants, articulated, j, b, children)
        elif kind == BALL:
            k = at(entries, e + BLOCK)
            if total >= 0:
                open_ball(joints, constants, articulated, blocks, j, b, k, children, added_to, total)
            else:
                close_ball(joints, constants, articulated, blocks, j, b, k, children)
        elif kind == WELD:
            if total >= 0:
                pass_weld(joints, constants, articulated, j, b, children, added_to, total)
        else:
            k = at(entries, e + BLOCK)
            gather_free(joints, constants, articulated, blocks, j, b, k, children)
            factorise_inertia(blocks, k)
