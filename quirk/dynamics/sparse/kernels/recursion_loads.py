"""Loads on the bodies of a forest, transmitted from the tips to the roots with the stored articulated inertias.

The arrays are described in the module `recursion`. Integer arguments are offsets into flat arrays: j of a joint in
`joints`, b of its body in `constants`, and k of the joint in `blocks`. Three are offsets of sums of loads in
`articulated`: `children` of the sum over the children of the body; `added_to` of the sum over the preceding children of
its parent; and `total` of the sum that also includes the body, which is written.
"""

from __future__ import annotations

from typing import Any

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, lane_of, load4, store4
from quirk.jit.tracing import specialized, traced

from .recursion import (
    ADDED_TO,
    ALONE_TURN,
    ARM,
    ARTICULATED_FORCE,
    ARTICULATED_MOMENT,
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
    GIVEN_BY_SHIFT,
    HINGE,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    MOMENT,
    PRESENT_ARM,
    SECOND_AXIS,
    SLIDER,
    SUM,
    UNIVERSAL,
    WELD,
    Recursion,
)
from .recursion_freedoms import eliminate_load
from .recursion_vectors import (
    combined,
    cross4,
    lanes_of,
    load_vectors,
    transposed,
)


def loads_of(joints: Any, articulated: Any, j: Any, children: Any) -> Any:
    """Return the force and moment on a body plus the loads transmitted by its children, in its joint frame.

    The data of the joint begin at element j of `joints`, and the sum of the loads transmitted by the children at
    element `children` of `articulated`.
    """
    force = load4(joints, j + FORCE) + load4(articulated, children + ARTICULATED_FORCE)
    return force, load4(joints, j + MOMENT) + load4(articulated, children + ARTICULATED_MOMENT)


def transmit_loads(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, force: Any, moment: Any, added_to: Any, total: Any
) -> None:
    """Add the force and moment that a joint transmits, in the frame of the parent, to the sum over preceding children.

    `force` and `moment` are lists of the first 0, 2 or 3 components, each a vector with equal elements; the missing
    components are zero. The moment is transferred from the joint point of the body to that of the parent; the vector
    from the latter to the former begins at element b + ARM of `constants`. The data of the joint begin at element j of
    `joints`. The sum over preceding children of the parent is read at element `added_to` of `articulated`, and the new
    sum is stored at element `total`.
    """
    columns = load_vectors(joints, j + COLUMNS)
    force = combined(force, columns[: len(force)])
    around = cross4(load4(constants, b + ARM), force)
    if moment:
        around = around + combined(moment, columns[: len(moment)])
    store4(articulated, total + ARTICULATED_FORCE, load4(articulated, added_to + ARTICULATED_FORCE) + force)
    store4(articulated, total + ARTICULATED_MOMENT, load4(articulated, added_to + ARTICULATED_MOMENT) + around)


def load_turn(joints: Any, articulated: Any, j: Any, children: Any) -> Any:
    """Compute the acceleration of the rotation about z for a parent at rest; return the transmitted load.

    The load is the force (N) and the moment (N m) on the parent, in the frame of the joint. The data of the joint begin
    at element j of `joints`, and the sum of the loads transmitted by the children at element `children` of
    `articulated`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    return eliminate_load(joints, j + FREEDOM, force, moment, lane_of(moment, 2))


def load_slider(joints: Any, articulated: Any, j: Any, children: Any) -> Any:
    """Compute the acceleration along a slider for a parent at rest; return the transmitted load.

    The load is the force (N) and the moment (N m) on the parent, in the frame of the joint. The data of the joint begin
    at element j of `joints`, and the sum of the loads transmitted by the children at element `children` of
    `articulated`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    return eliminate_load(joints, j + FREEDOM, force, moment, lane_of(force, 2))


def load_cylindrical(joints: Any, articulated: Any, blocks: Any, j: Any, k: Any, children: Any) -> Any:
    """Compute both accelerations of a cylindrical joint for a parent at rest; return the transmitted load.

    The load is the force (N) and the moment (N m) on the parent, in the frame of the joint. The data of the joint begin
    at element j of `joints` and k of `blocks`, and the sum of the loads transmitted by the children at element
    `children` of `articulated`.
    """
    force, moment = load_turn(joints, articulated, j, children)
    return eliminate_load(blocks, k, force, moment, lane_of(force, 2))


def load_universal(joints: Any, articulated: Any, blocks: Any, j: Any, k: Any, children: Any) -> Any:
    """Compute both accelerations of a universal joint for a parent at rest; return the transmitted load.

    The load is the force (N) and the moment (N m) on the parent, in the frame of the joint. The data of the joint begin
    at element j of `joints` and k of `blocks`, and the sum of the loads transmitted by the children at element
    `children` of `articulated`.
    """
    force, moment = load_turn(joints, articulated, j, children)
    x, y = at(joints, j + SECOND_AXIS), at(joints, j + SECOND_AXIS + 1)
    return eliminate_load(blocks, k, force, moment, x * lane_of(moment, 0) + y * lane_of(moment, 1))


def load_ball(joints: Any, articulated: Any, blocks: Any, j: Any, k: Any, children: Any) -> Any:
    """Compute the angular acceleration of a ball joint for a parent at rest; return the transmitted force.

    The force (N) is in the frame of the joint. The data of the joint begin at element j of `joints` and k of `blocks`,
    and the sum of the loads transmitted by the children at element `children` of `articulated`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    store4(joints, j + ALONE_TURN, combined(lanes_of(moment), load_vectors(blocks, k)))
    return force - combined(lanes_of(moment), transposed(load_vectors(joints, j + GIVEN_BY_SHIFT)))


@traced
def load_open_hinge(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the force and moment transmitted by a hinge to the loads on the parent.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the loads transmitted by the children at element `children` of `articulated`. The transmitted load is added to the
    sum over preceding children of the parent, at element `added_to` of `articulated`, and the new sum is stored at
    element `total`.
    """
    force, moment = load_turn(joints, articulated, j, children)
    transmit_loads(joints, constants, articulated, j, b, lanes_of(force), lanes_of(moment)[:2], added_to, total)


# For a joint between a body and the ground, the transmitted load is not needed.
load_closed_hinge = specialized(load_turn)


@traced
def load_open_ball(
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
    """Add the force transmitted by a ball joint to the loads on the parent.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the loads transmitted by the children at element `children` of `articulated`. The
    transmitted load is added to the sum over preceding children of the parent, at element `added_to` of `articulated`,
    and the new sum is stored at element `total`.
    """
    force = load_ball(joints, articulated, blocks, j, k, children)
    transmit_loads(joints, constants, articulated, j, b, lanes_of(force), [], added_to, total)


load_closed_ball = specialized(load_ball)


@traced
def load_weld(
    joints: Any, constants: Any, articulated: Any, j: Any, b: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the force and moment on a welded body to the loads on the parent.

    The data of the joint begin at element j of `joints`, those of the body at element b of `constants`, and the sum of
    the loads transmitted by the children at element `children` of `articulated`. The transmitted load is added to the
    sum over preceding children of the parent, at element `added_to` of `articulated`, and the new sum is stored at
    element `total`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    transmit_loads(joints, constants, articulated, j, b, lanes_of(force), lanes_of(moment), added_to, total)


@traced
def load_open_slider(joints: Any, articulated: Any, j: Any, children: Any, added_to: Any, total: Any) -> None:
    """Add the force and moment transmitted by a slider to the loads on the parent.

    The data of the joint begin at element j of `joints`, and the sum of the loads transmitted by the children at
    element `children` of `articulated`. The transmitted load is added to the sum over preceding children of the parent,
    at element `added_to` of `articulated`, and the new sum is stored at element `total`.
    """
    force, moment = load_slider(joints, articulated, j, children)
    b = j + PRESENT_ARM - ARM
    transmit_loads(joints, joints, articulated, j, b, lanes_of(force)[:2], lanes_of(moment), added_to, total)


load_closed_slider = specialized(load_slider)


@traced
def load_open_cylindrical(
    joints: Any, articulated: Any, blocks: Any, j: Any, k: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the force and moment transmitted by a cylindrical joint to the loads on the parent.

    The data of the joint begin at element j of `joints` and k of `blocks`, and the sum of the loads transmitted by the
    children at element `children` of `articulated`. The transmitted load is added to the sum over preceding children of
    the parent, at element `added_to` of `articulated`, and the new sum is stored at element `total`.
    """
    force, moment = load_cylindrical(joints, articulated, blocks, j, k, children)
    b = j + PRESENT_ARM - ARM
    transmit_loads(joints, joints, articulated, j, b, lanes_of(force)[:2], lanes_of(moment)[:2], added_to, total)


load_closed_cylindrical = specialized(load_cylindrical)


@traced
def load_open_universal(
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
    """Add the force and moment transmitted by a universal joint to the loads on the parent.

    The data of the joint begin at element j of `joints` and k of `blocks`, those of the body at element b of
    `constants`, and the sum of the loads transmitted by the children at element `children` of `articulated`. The
    transmitted load is added to the sum over preceding children of the parent, at element `added_to` of `articulated`,
    and the new sum is stored at element `total`.
    """
    force, moment = load_universal(joints, articulated, blocks, j, k, children)
    transmit_loads(joints, constants, articulated, j, b, lanes_of(force), lanes_of(moment)[:2], added_to, total)


load_closed_universal = specialized(load_universal)


@traced
def load_free(joints: Any, articulated: Any, j: Any, children: Any) -> None:
    """Add the loads transmitted by the children of a free body to the load on this body.

    The data of the free body begin at element j of `joints`, and the sum of the loads transmitted by the children at
    element `children` of `articulated`.
    """
    force, moment = loads_of(joints, articulated, j, children)
    store4(joints, j + FORCE, force)
    store4(joints, j + MOMENT, moment)


@kernel
def load_all(recursion: Recursion) -> None:
    """Transmit the loads on all bodies from the tips to the roots, with the stored articulated inertias.

    The loads are read from `recursion.joints`. The accelerations along the degrees of freedom of all joints, for
    parents at rest, are written to `recursion.joints` and `recursion.blocks`.
    """
    entries, joints, constants, blocks = recursion.entries, recursion.joints, recursion.body_constants, recursion.blocks
    articulated = recursion.articulated
    for t in range(entries.shape[0] // JOINT_ENTRIES):
        e, j, b = JOINT_ENTRIES * t, JOINT_NUMBERS * t, BODY_NUMBERS * t
        kind, children = at(entries, e + KIND), at(entries, e + CHILDREN)
        added_to, total, k = at(entries, e + ADDED_TO), at(entries, e + SUM), at(entries, e + BLOCK)
        if kind == HINGE:
            if total >= 0:
                load_open_hinge(joints, constants, articulated, j, b, children, added_to, total)
            else:
                load_closed_hinge(joints, articulated, j, children)
        elif kind == BALL:
            if total >= 0:
                load_open_ball(joints, constants, articulated, blocks, j, b, k, children, added_to, total)
            else:
                load_closed_ball(joints, articulated, blocks, j, k, children)
        elif kind in (WELD, DRIVEN_HINGE):
            if total >= 0:
                load_weld(joints, constants, articulated, j, b, children, added_to, total)
        elif kind == DRIVEN_SLIDER:
            if total >= 0:
                load_weld(joints, joints, articulated, j, j + PRESENT_ARM - ARM, children, added_to, total)
        elif kind == SLIDER:
            if total >= 0:
                load_open_slider(joints, articulated, j, children, added_to, total)
            else:
                load_closed_slider(joints, articulated, j, children)
        elif kind == CYLINDRICAL:
            if total >= 0:
                load_open_cylindrical(joints, articulated, blocks, j, k, children, added_to, total)
            else:
                load_closed_cylindrical(joints, articulated, blocks, j, k, children)
        elif kind == UNIVERSAL:
            if total >= 0:
                load_open_universal(joints, constants, articulated, blocks, j, b, k, children, added_to, total)
            else:
                load_closed_universal(joints, articulated, blocks, j, k, children)
        else:
            load_free(joints, articulated, j, children)
