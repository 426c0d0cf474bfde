"""Loads and accelerations of the bodies of forests in SIMD lanes.

Loads are passed from the tips to the roots, accelerations from the roots to the tips. Names of arguments are as in
`forest_geometry`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, splat, store
from quirk.jit.tracing import traced

from .forest_geometry import freedoms_at
from .records import (
    ALONE,
    ANGULAR,
    BIAS,
    BODY_LOAD,
    CHILD,
    COINCIDES,
    COMPLIANCE,
    DIRECTION,
    FREEDOM,
    FREEDOMS,
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
def eliminate_load(work: Any, f: Any, along: Any, force: Any, moment: Any) -> Any:
    """Return the force and moment that a joint transmits when one of its degrees of freedom is free to accelerate.

    `force` and `moment` are the load transmitted if this degree of freedom is locked, and `along` is the component of
    this load along it. The data of the degree of freedom begin at offset f of `work`; minus its acceleration, for a
    parent without acceleration, is stored there.
    """
    alone = along * load(work, f + 8 * COMPLIANCE)
    store(work, f + 8 * ALONE, alone)
    force = minus(force, times(load3(work, f + 8 * MOMENTUM), alone))
    return force, minus(moment, times(load3(work, f + 8 * (MOMENTUM + 3)), alone))


@traced
def deceleration_along(work: Any, f: Any, shift: Any, turn: Any) -> Any:
    """Return minus the acceleration along one degree of freedom.

    `shift` and `turn` are the linear and angular acceleration of the body if the degree of freedom is locked. The data
    of the degree of freedom begin at offset f of `work`.
    """
    momentum = dot(load3(work, f + 8 * MOMENTUM), shift) + dot(load3(work, f + 8 * (MOMENTUM + 3)), turn)
    return momentum * load(work, f + 8 * COMPLIANCE) + load(work, f + 8 * ALONE)


@kernel
def gather_loads(
    joints: np.ndarray, work: np.ndarray, load_: np.ndarray, t: int, ground: int, prescribed: bool
) -> None:
    """Add the load transmitted by joint t, for a parent without acceleration, to the loads on the parent.

    If `prescribed`, the relative accelerations prescribed by the constraint rows are those in `work` (SHIFT and TURN);
    otherwise they are zero. `joints` are the bodies and restricted motions of the joints, `load_` holds the loads on
    all bodies, and `ground` is the index of the ground.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    child, parent = 8 * BODY_LOAD * at(joints, e + CHILD), 8 * BODY_LOAD * at(joints, e + PARENT)
    force = load3(load_, child)
    moment = minus(load3(load_, child + ANGULAR), cross(load3(work, o + 8 * REACH_CHILD), force))
    coincides, rows = at(joints, e + COINCIDES) != 0, at(joints, e + ROTATIONS)
    if prescribed:
        force, moment = plus(force, load3(work, o + 8 * BIAS)), plus(moment, load3(work, o + 8 * (BIAS + 3)))
    f = o + 8 * FREEDOMS
    if not coincides:
        for _ in range(3):
            force, moment = eliminate_load(work, f, dot(load3(work, f + 8 * DIRECTION), force), force, moment)
            f += 8 * FREEDOM
    for _ in range(3 - rows):
        force, moment = eliminate_load(work, f, dot(load3(work, f + 8 * DIRECTION), moment), force, moment)
        f += 8 * FREEDOM
    if at(joints, e + PARENT) == ground:
        return
    moment = plus(moment, cross(load3(work, o + 8 * REACH_PARENT), force))
    store3(load_, parent, plus(load3(load_, parent), force))
    store3(load_, parent + ANGULAR, plus(load3(load_, parent + ANGULAR), moment))


@kernel
def clear_freedom_accelerations(joints: np.ndarray, work: np.ndarray, t: int) -> None:
    """Set the accelerations along the degrees of freedom of joint t, for a parent without acceleration, to zero.

    They are zero if no load acts on the child of the joint and its descendants. `joints` are the bodies and restricted
    motions of the joints, and `work` the quantities computed for them.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    first, zero = freedoms_at(joints, e) if at(joints, e + COINCIDES) != 0 else FREEDOMS, splat(0.0)
    last = freedoms_at(joints, e) + FREEDOM * (3 - at(joints, e + ROTATIONS))
    for f in range(first, last, FREEDOM):
        store(work, o + 8 * (f + ALONE), zero)


@kernel
def follow(joints: np.ndarray, work: np.ndarray, motion: np.ndarray, t: int, prescribed: bool) -> None:
    """Compute the accelerations of the child of joint t from its parent's; both are stored in `motion`.

    If `prescribed`, the relative accelerations prescribed by the constraint rows are added. `joints` has the indices of
    the bodies and the kinds of constraint rows of each joint, `work` the vectors and inertias of each joint at the
    present state.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    child, parent = 8 * BODY_LOAD * at(joints, e + CHILD), 8 * BODY_LOAD * at(joints, e + PARENT)
    coincides, rows = at(joints, e + COINCIDES) != 0, at(joints, e + ROTATIONS)
    turn = load3(motion, parent + ANGULAR)
    shift = plus(load3(motion, parent), cross(turn, load3(work, o + 8 * REACH_PARENT)))
    count = 3 - rows
    f = 8 * freedoms_at(joints, e) + o
    for m in range(count):
        here = f + 8 * FREEDOM * (count - 1 - m)
        turn = minus(turn, times(load3(work, here + 8 * DIRECTION), deceleration_along(work, here, shift, turn)))
    if not coincides:
        for m in range(3):
            here = o + 8 * (FREEDOMS + FREEDOM * (2 - m))
            shift = minus(shift, times(load3(work, here + 8 * DIRECTION), deceleration_along(work, here, shift, turn)))
    if coincides and prescribed:
        shift = plus(shift, load3(work, o + 8 * SHIFT))
    if rows > 0 and prescribed:
        turn = plus(turn, load3(work, o + 8 * TURN))
    store3(motion, child, minus(shift, cross(turn, load3(work, o + 8 * REACH_CHILD))))
    store3(motion, child + ANGULAR, turn)
