"""Elimination of the degrees of freedom of forests in SIMD lanes by articulated inertias.

The articulated inertia I of a body, in inertial axes, is the inertia of the body with all its descendants in the
forest, which move relative to the body as their joints allow. The degrees of freedom n of each joint are eliminated one
after the other: U = I n, I <- I - U U^T / (n . U), as in `quirk.dynamics.sparse.kernels.articulated`.

Names of arguments are as in `forest_geometry`; in `without_freedom` the array of the data of joints is called `joints`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.vectors import dot, load3, store3, times
from quirk.dynamics.sparse.kernels.inertia import entries, reduced, shift_momentum, shifted, symmetric, turn_momentum
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, store
from quirk.jit.tracing import traced

from .forest_geometry import freedoms_at
from .records import (
    BIAS,
    BODY_INERTIA,
    CHILD,
    COINCIDES,
    COMPLIANCE,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
    INERTIA,
    JOINT_ENTRIES,
    JOINT_WORK,
    MOMENTUM,
    PARENT,
    REACH_CHILD,
    REACH_PARENT,
    ROTATIONS,
    SHIFT,
    TURN,
)


@traced
def inertia_at(array: Any, o: Any) -> Any:
    """Return the inertia that is stored at offset o of `array`, as three blocks (3, 3).

    The blocks are translation-translation, translation-rotation, and rotation-rotation.
    """
    numbers = [load(array, o + 8 * k) for k in range(21)]
    return (
        symmetric(numbers[:6]),
        tuple(tuple(numbers[6 + 3 * i : 9 + 3 * i]) for i in range(3)),
        symmetric(numbers[15:]),
    )


@traced
def store_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Store an inertia, given as three blocks (3, 3), at offset o of `array`."""
    for k, x in enumerate(entries(inertia)):
        store(array, o + 8 * k, x)


@traced
def gather_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Add an inertia, given as three blocks (3, 3), to the inertia stored at offset o of `array`."""
    for k, x in enumerate(entries(inertia)):
        store(array, o + 8 * k, load(array, o + 8 * k) + x)


@traced
def without_freedom(joints: Any, f: Any, inertia: Any, momentum: Any) -> Any:
    """Return an articulated inertia I after elimination of one degree of freedom n: I - U U^T / (n . U), U = I n.

    `momentum` holds the linear and angular part of U, the momentum due to unit velocity along n, followed by n . U.
    These values are stored at offset f of `joints`, the quantities computed for the joints.
    """
    of_shifts, of_turns, resistance = momentum
    compliance = 1.0 / resistance
    store3(joints, f + 8 * MOMENTUM, of_shifts)
    store3(joints, f + 8 * (MOMENTUM + 3), of_turns)
    store(joints, f + 8 * COMPLIANCE, compliance)
    return reduced(inertia, momentum, compliance)


@traced
def store_bias(work: Any, o: Any, inertia: Any) -> None:
    """Compute and store the load that gives a body the relative acceleration prescribed by the rows of its joint.

    `inertia` is the articulated inertia of the body; inertia and load refer to the joint point. The load is stored with
    the data of the joint, at offset o of `work`.
    """
    shifts, mixed, turns = inertia
    shift, turn = load3(work, o + 8 * SHIFT), load3(work, o + 8 * TURN)
    columns = tuple(zip(*mixed, strict=True))
    store3(work, o + 8 * BIAS, tuple(dot(shifts[i], shift) + dot(mixed[i], turn) for i in range(3)))
    store3(work, o + 8 * (BIAS + 3), tuple(dot(columns[i], shift) + dot(turns[i], turn) for i in range(3)))


@traced
def eliminate_translation(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate one translational degree of freedom of a joint from an articulated inertia, in place.

    The inertia is stored at offset `rest` of `inertia`. The data of the degree of freedom begin at offset f of `work`:
    its direction is read, and the results of the elimination are stored.
    """
    whole = inertia_at(inertia, rest)
    momentum = shift_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@traced
def eliminate_rotation(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate one rotational degree of freedom of a joint from an articulated inertia, in place.

    The inertia is stored at offset `rest` of `inertia`. The data of the degree of freedom begin at offset f of `work`:
    its direction is read, and the results of the elimination are stored.
    """
    whole = inertia_at(inertia, rest)
    momentum = turn_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@traced
def at_point(work: Any, o: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a joint, about the joint point instead of its center of mass.

    The inertia about the center of mass is stored at offset `child` of `inertia`. The result, and the load that
    produces the relative acceleration prescribed by the joint, are stored with the data of the joint, at offset o of
    `work`.
    """
    there = shifted(inertia_at(inertia, child), load3(work, o + 8 * REACH_CHILD))
    store_inertia(work, o + 8 * INERTIA, there)
    store_bias(work, o, there)
    return there


@traced
def transmitted_by_hinge(work: Any, o: Any, f: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a hinge, about the joint point, without the rotation of the hinge.

    The inertia of the child about its center of mass is stored at offset `child` of `inertia`. Data are stored at
    offset o of `work` for the joint and at offset f for its degree of freedom.
    """
    there = at_point(work, o, inertia, child)
    return without_freedom(work, f, there, turn_momentum(there, load3(work, f + 8 * DIRECTION)))


@traced
def transmitted_by_ball(work: Any, o: Any, f: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a ball joint, about the joint point, without its three rotations.

    Only the block of translations is not zero, because a ball joint transmits no moments. The inertia of the child
    about its center of mass is stored at offset `child` of `inertia`. Data are stored at offset o of `work` for the
    joint and at offset f for its three degrees of freedom.
    """
    left = at_point(work, o, inertia, child)
    for k in range(3):
        column = tuple(left[2][i][k] for i in range(3))
        momentum = tuple(left[1][i][k] for i in range(3)), column, column[k]
        left = without_freedom(work, f + 8 * FREEDOM * k, left, momentum)
    zero = 0.0 * left[0][0][0]
    none = ((zero,) * 3,) * 3
    return left[0], none, none


@traced
def add_to_parent(work: Any, o: Any, left: Any, inertia: Any, parent: Any) -> None:
    """Add the inertia `left` that a joint transmits to the articulated inertia of the parent body.

    `left` is about the joint point. The inertia of the parent is stored at offset `parent` of `inertia`, the data of
    the joint at offset o of `work`.
    """
    gather_inertia(inertia, parent, shifted(left, times(load3(work, o + 8 * REACH_PARENT), -1.0)))


@kernel
def prescribe(work: np.ndarray, t: int) -> None:
    """Compute the load that gives the child body of joint t the relative acceleration prescribed by the joint.

    The result is stored in `work`, the quantities computed for the joints.
    """
    o = 8 * JOINT_WORK * t
    store_bias(work, o, inertia_at(work, o + 8 * INERTIA))


@kernel
def articulate(joints: np.ndarray, inertia: np.ndarray, work: np.ndarray, t: int, ground: int) -> None:
    """Eliminate the degrees of freedom of joint t from the inertia of its child, and add the result to the parent's.

    Nothing is added to the ground, the body with index `ground`. `joints` are the bodies and restricted motions of the
    joints, `inertia` the articulated inertias of the bodies, and `work` the quantities computed for the joints.
    """
    e, o, n = JOINT_ENTRIES * t, 8 * JOINT_WORK * t, 8 * BODY_INERTIA
    rows, f, coincides = at(joints, e + ROTATIONS), o + 8 * freedoms_at(joints, e), at(joints, e + COINCIDES) != 0
    child, parent = n * at(joints, e + CHILD), n * at(joints, e + PARENT)
    held = at(joints, e + PARENT) == ground
    if coincides and rows == 2:
        left = transmitted_by_hinge(work, o, f, inertia, child)
        if not held:
            add_to_parent(work, o, left, inertia, parent)
    elif coincides and rows == 0:
        left = transmitted_by_ball(work, o, f, inertia, child)
        if not held:
            add_to_parent(work, o, left, inertia, parent)
    else:
        # The inertia about the center of mass is no longer needed: it is overwritten by the remaining inertia.
        store_inertia(inertia, child, at_point(work, o, inertia, child))
        if not coincides:
            for k in range(3):
                eliminate_translation(work, o + 8 * (FREEDOMS + FREEDOM * k), inertia, child)
        for k in range(3 - rows):
            eliminate_rotation(work, f + 8 * FREEDOM * k, inertia, child)
        if not held:
            add_to_parent(work, o, inertia_at(inertia, child), inertia, parent)
