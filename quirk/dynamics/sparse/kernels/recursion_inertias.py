"""Articulated inertias of the recursion, computed from the tips to the roots.

The arrays are described in the module `recursion`. The articulated inertia of a body is the inertia of the body with
all its descendants in the tree, whose joints are free to move (R. Featherstone, Rigid Body Dynamics Algorithms (2008),
ch. 7). The force and moment required for the acceleration a of its joint point and the angular acceleration alpha are

    M a + H alpha + f,   H^T a + J alpha + m.

Arguments are indices of the first element in flat arrays: j of a joint in `joints`, b of its body in `constants`, and k
of the joint or free body in `blocks`. Three arguments are indices of sums of inertias and loads in `articulated`:
`children` of the sum over the children of the body; `added_to` of the sum over the preceding children of its parent;
and `total` of the sum that also includes the body, which is written.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, lane_of, load4, put, spread, store4
from quirk.jit.tracing import specialized, traced

from .articulated import factorise_inertia
from .inertia import FACTOR_ROW
from .recursion import (
    ADDED_TO,
    ARM,
    BALL,
    BLOCK,
    BODY_NUMBERS,
    CHILDREN,
    COLUMNS,
    CYLINDRICAL,
    DRIVEN_HINGE,
    DRIVEN_SLIDER,
    FORCE,
    FREEDOM,
    HINGE,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    LOWER,
    MASS_AFTER,
    MOMENT,
    PRESENT_ARM,
    ROW,
    ROWS,
    SHIFT_BIAS,
    SLIDER,
    SUM,
    TURN_BIAS,
    TURNS,
    UNIVERSAL,
    WELD,
    Recursion,
)
from .recursion_freedoms import (
    eliminate_ball,
    eliminate_second_axis,
    eliminate_slide,
    eliminate_turn,
    reduce_inertia,
    store_hinge_driver_load,
    store_slider_driver_load,
)
from .recursion_vectors import (
    combined,
    cross4,
    lanes_of,
    load_vectors,
    symmetric,
    transposed,
)


def body_inertia(constants: Any, joints: Any, articulated: Any, b: Any, j: Any, children: Any) -> Any:
    """Return the articulated inertia of a body: the rows of M, H^T and J, the force and the moment.

    M, H and J are the translational, coupling and rotational blocks. The force and moment are those at zero
    acceleration. The data of the joint begin at element j of `joints`, those of the body at element b of `constants`,
    and the sum of the inertias and loads transmitted by the children at element `children` of `articulated`.
    """
    mass = [load4(constants, b + MASS_AFTER - k) for k in range(3)]
    rows = [*mass, *load_vectors(constants, b + LOWER), *load_vectors(constants, b + TURNS)]
    rows += [load4(joints, j + FORCE), load4(joints, j + MOMENT)]
    rows = [row + load4(articulated, children + ROW * k) for k, row in enumerate(rows)]
    return rows[:3], rows[3:6], rows[6:9], rows[9], rows[10]


def turned_rows(E: Any, columns: Any, rows: Any, width: int) -> Any:
    """Return the rows of E B E^T for a rotation matrix E and a matrix B (3, 3); None represents a zero row of B.

    E is given by its elements and by `columns`, B by `rows`. Only the first `width` columns of B are nonzero.
    """
    right = [row if row is None else combined([spread(row, c) for c in range(width)], columns[:width]) for row in rows]
    return [combined(line, right) for line in E]


def arm_cross(arm: Any, rows: Any) -> Any:
    """Return the rows of the matrix [arm x] B, for a vector `arm` and a matrix B given by `rows`."""
    x, y, z = arm
    a, b, c = rows
    return y * c - z * b, z * a - x * c, x * b - y * a


def transmit_inertia(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, reduced: Any, added_to: Any, total: Any
) -> None:
    """Add the inertia and load that a joint transmits, in the frame of the parent, to the sum over preceding children.

    `reduced` contains the rows of the blocks M, H^T and J after elimination of the joint, the force and the moment. Its
    last rows may be None, which represents zero. The columns of M and H^T that correspond to zero rows of M, and the
    columns of J that correspond to zero rows of J, are then zero, too. The vector from the joint point of the parent to
    that of the body begins at element b + ARM of `constants`, the data of the joint at element j of `joints`. The sum
    over preceding children of the parent is read at element `added_to` of `articulated`, and the new sum is stored at
    element `total`.
    """
    M, T, J, force, moment = reduced
    shifts, turns = (sum(row is not None for row in rows) for rows in (M, J))
    columns = load_vectors(joints, j + COLUMNS)
    E = [[at(joints, j + ROWS + ROW * k + m) for m in range(3)] for k in range(3)]
    arm, around = [at(constants, b + ARM + k) for k in range(3)], load4(constants, b + ARM)
    if turns:
        turn = [at(joints, j + TURN_BIAS + k) for k in range(3)]
        force, moment = force + combined(turn, T), moment + combined(turn, J)
    M = turned_rows(E, columns, M, shifts)
    lower = arm_cross(arm, M)
    J_new = [None, None, None]
    if turns:
        T = turned_rows(E, columns, T, shifts)
        lower = [one + two for one, two in zip(T, lower, strict=True)]
        J_new = turned_rows(E, columns, J, turns)
    upper = transposed(lower)
    by_arm = arm_cross(arm, upper)
    for k in range(3):
        if turns:
            J_new[k] = (J_new[k] - cross4(T[k], around)) + by_arm[k]
        else:
            J_new[k] = by_arm[k]
    bias = [at(joints, j + SHIFT_BIAS + k) for k in range(3)]
    force = combined(lanes_of(force)[:shifts], columns[:shifts])
    around_parent = cross4(around, force)
    if turns:
        around_parent = around_parent + combined(lanes_of(moment)[:turns], columns[:turns])
    force = force + combined(bias, M)
    around_parent = around_parent + combined(bias, upper)
    for k, row in enumerate([*M, *lower, *J_new, force, around_parent]):
        store4(articulated, total + ROW * k, load4(articulated, added_to + ROW * k) + row)


@traced
def open_hinge(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Eliminate the rotation of a hinge, and add the transmitted inertia and load to those of the parent.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the inertias and loads transmitted by the children at element `children` of `articulated`. The transmitted inertia
    and load are added to the sum over preceding children of the parent, at element `added_to` of `articulated`, and the
    new sum is stored at element `total`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    M, T, J, force, moment = reduce_inertia(inertia, eliminate_turn(joints, j, inertia))
    reduced = M, [*T[:2], None], [*J[:2], None], force, moment
    transmit_inertia(joints, constants, articulated, j, b, reduced, added_to, total)


@traced
def close_hinge(joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any) -> None:
    """Eliminate the rotation of a hinge between a body and the ground.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the inertias and loads transmitted by the children at element `children` of `articulated`. The data of the
    eliminated degrees of freedom are stored in `joints`.
    """
    eliminate_turn(joints, j, body_inertia(constants, joints, articulated, b, j, children))


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

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the inertias and loads transmitted by the children at element `children` of
    `articulated`. The transmitted inertia and load are added to the sum over preceding children of the parent, at
    element `added_to` of `articulated`, and the new sum is stored at element `total`.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    given, alone = eliminate_ball(joints, blocks, j, k, T, J, moment)
    M = symmetric([row - combined(lanes_of(by), T) for row, by in zip(M, given, strict=True)])
    force = force - combined(lanes_of(alone), T)
    nothing = [None, None, None]
    transmit_inertia(joints, constants, articulated, j, b, (M, nothing, nothing, force, moment), added_to, total)


@traced
def close_ball(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> None:
    """Eliminate the rotations of a ball joint between a body and the ground.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the inertias and loads transmitted by the children at element `children` of
    `articulated`. The data of the eliminated degrees of freedom are stored in `joints` and `blocks`.
    """
    _, T, J, _, moment = body_inertia(constants, joints, articulated, b, j, children)
    eliminate_ball(joints, blocks, j, k, T, J, moment)


@traced
def pass_weld(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the inertia and load of a welded body to those of its parent.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the inertias and loads transmitted by the children at element `children` of `articulated`. The transmitted inertia
    and load are added to the sum over preceding children of the parent, at element `added_to` of `articulated`, and the
    new sum is stored at element `total`.
    """
    reduced = body_inertia(constants, joints, articulated, b, j, children)
    transmit_inertia(joints, constants, articulated, j, b, reduced, added_to, total)


@traced
def open_driven_hinge(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the inertia and load of the body of a driven hinge to those of the parent, and store data of its driver.

    The load of the driver is later computed from these data. The arguments are those of `pass_weld`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    store_hinge_driver_load(joints, j, inertia)
    transmit_inertia(joints, constants, articulated, j, b, inertia, added_to, total)


@traced
def close_driven_hinge(joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any) -> None:
    """Store the data from which the load of the driver of a hinge on the ground is computed.

    The arguments are those of `close_hinge`.
    """
    store_hinge_driver_load(joints, j, body_inertia(constants, joints, articulated, b, j, children))


@traced
def open_driven_slider(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the inertia and load of the body of a driven slider to those of the parent, and store data of its driver.

    The load of the driver is later computed from these data. The arguments are those of `pass_weld`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    store_slider_driver_load(joints, j, inertia)
    transmit_inertia(joints, joints, articulated, j, j + PRESENT_ARM - ARM, inertia, added_to, total)


@traced
def close_driven_slider(joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any) -> None:
    """Store the data from which the load of the driver of a slider on the ground is computed.

    The arguments are those of `close_hinge`.
    """
    store_slider_driver_load(joints, j, body_inertia(constants, joints, articulated, b, j, children))


@traced
def open_slider(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Eliminate the translation of a slider, and add the transmitted inertia and load to those of the parent.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the inertias and loads transmitted by the children at element `children` of `articulated`. The transmitted inertia
    and load are added to the sum over preceding children of the parent, at element `added_to` of `articulated`, and the
    new sum is stored at element `total`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    M, T, J, force, moment = reduce_inertia(inertia, eliminate_slide(joints, j + FREEDOM, inertia, False))
    reduced = [*M[:2], None], T, symmetric(J), force, moment
    transmit_inertia(joints, joints, articulated, j, j + PRESENT_ARM - ARM, reduced, added_to, total)


@traced
def close_slider(joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any) -> None:
    """Eliminate the translation of a slider between a body and the ground.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the inertias and loads transmitted by the children at element `children` of `articulated`. The data of the
    eliminated degrees of freedom are stored in `joints`.
    """
    eliminate_slide(joints, j + FREEDOM, body_inertia(constants, joints, articulated, b, j, children), False)


def eliminated_cylindrical(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> Any:
    """Eliminate the rotation and the translation of a cylindrical joint.

    Returns the articulated inertia after elimination of the rotation, and the eliminated translation. The data of the
    joint begin at element j of `joints` and k of `blocks`, those of the body at element b of `constants`, and the sum
    of the inertias and loads transmitted by the children at element `children` of `articulated`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    inertia = reduce_inertia(inertia, eliminate_turn(joints, j, inertia))
    return inertia, eliminate_slide(blocks, k, inertia, True)


@traced
def open_cylindrical(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any, added_to: Any,
    total: Any,
) -> None:  # fmt: skip
    """Eliminate both degrees of freedom of a cylindrical joint, and transmit inertia and load to the parent.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the inertias and loads transmitted by the children at element `children` of
    `articulated`. The transmitted inertia and load are added to the sum over preceding children of the parent, at
    element `added_to` of `articulated`, and the new sum is stored at element `total`.
    """
    inertia, slide = eliminated_cylindrical(joints, constants, articulated, blocks, j, b, k, children)
    M, T, J, force, moment = reduce_inertia(inertia, slide)
    reduced = [*M[:2], None], [*T[:2], None], [*symmetric(J)[:2], None], force, moment
    transmit_inertia(joints, joints, articulated, j, j + PRESENT_ARM - ARM, reduced, added_to, total)


# For a joint between a body and the ground, the transmitted inertia and load are not needed.
close_cylindrical = specialized(eliminated_cylindrical)


def eliminated_universal(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> Any:
    """Eliminate both degrees of freedom of a universal joint; return the articulated inertia that it transmits.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the inertias and loads transmitted by the children at element `children` of
    `articulated`.
    """
    inertia = body_inertia(constants, joints, articulated, b, j, children)
    inertia = reduce_inertia(inertia, eliminate_turn(joints, j, inertia))
    return eliminate_second_axis(joints, blocks, j, k, inertia)


@traced
def open_universal(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any, added_to: Any,
    total: Any,
) -> None:  # fmt: skip
    """Eliminate both degrees of freedom of a universal joint, and transmit inertia and load to the parent.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the inertias and loads transmitted by the children at element `children` of
    `articulated`. The transmitted inertia and load are added to the sum over preceding children of the parent, at
    element `added_to` of `articulated`, and the new sum is stored at element `total`.
    """
    reduced = eliminated_universal(joints, constants, articulated, blocks, j, b, k, children)
    transmit_inertia(joints, constants, articulated, j, b, reduced, added_to, total)


close_universal = specialized(eliminated_universal)


@traced
def gather_free(
    joints: Any, constants: Any, articulated: Any, blocks: Any, j: Any, b: Any, k: Any, children: Any
) -> None:
    """Store the articulated inertia of a free body and the load on it, including the contributions of its children.

    The lower triangle of the inertia is stored in `blocks`. The data of the free body begin at element j of `joints`, k
    of `blocks` and b of `constants`, and the sum of the inertias and loads transmitted by the children at element
    `children` of `articulated`.
    """
    M, T, J, force, moment = body_inertia(constants, joints, articulated, b, j, children)
    for row in range(3):
        for c in range(row + 1):
            put(blocks, k + FACTOR_ROW * row + c, lane_of(M[row], c))
            put(blocks, k + FACTOR_ROW * (row + 3) + c + 3, lane_of(J[row], c))
        for c in range(3):
            put(blocks, k + FACTOR_ROW * (row + 3) + c, lane_of(T[row], c))
    store4(joints, j + FORCE, force)
    store4(joints, j + MOMENT, moment)


@kernel
def articulate_all(recursion: Recursion) -> None:
    """Compute the articulated inertias of all bodies, by elimination of the degrees of freedom of all joints."""
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
        elif kind == SLIDER:
            if total >= 0:
                open_slider(joints, constants, articulated, j, b, children, added_to, total)
            else:
                close_slider(joints, constants, articulated, j, b, children)
        elif kind == CYLINDRICAL:
            k = at(entries, e + BLOCK)
            if total >= 0:
                open_cylindrical(joints, constants, articulated, blocks, j, b, k, children, added_to, total)
            else:
                close_cylindrical(joints, constants, articulated, blocks, j, b, k, children)
        elif kind == UNIVERSAL:
            k = at(entries, e + BLOCK)
            if total >= 0:
                open_universal(joints, constants, articulated, blocks, j, b, k, children, added_to, total)
            else:
                close_universal(joints, constants, articulated, blocks, j, b, k, children)
        elif kind == DRIVEN_HINGE:
            if total >= 0:
                open_driven_hinge(joints, constants, articulated, j, b, children, added_to, total)
            else:
                close_driven_hinge(joints, constants, articulated, j, b, children)
        elif kind == DRIVEN_SLIDER:
            if total >= 0:
                open_driven_slider(joints, constants, articulated, j, b, children, added_to, total)
            else:
                close_driven_slider(joints, constants, articulated, j, b, children)
        else:
            k = at(entries, e + BLOCK)
            gather_free(joints, constants, articulated, blocks, j, b, k, children)
            factorise_inertia(blocks, k)
