"""Accelerations or displacements of all bodies by recursion, from the roots to the tips.

The arrays are described in the module `recursion`. Bias accelerations are relative accelerations between a body and its
parent that are due to the current velocities. Arguments are indices of the first element in flat arrays: j of a joint
and `parent` of the joint of its parent in `joints`, b of the body in `constants`, k of the joint in `blocks`, and f of
a free body in `blocks`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, load4, put, store4
from quirk.jit.tracing import specialized

from .inertia import FACTOR_ROW
from .recursion import (
    ALONE_TURN,
    ARM,
    BALL,
    BLOCK,
    BODY_NUMBERS,
    CYLINDRICAL,
    DRIVEN_HINGE,
    DRIVEN_SLIDER,
    FORCE,
    FREE,
    FREEDOM,
    GIVEN_BY_SHIFT,
    HINGE,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    KIND,
    PARENT,
    PRESENT_ARM,
    ROWS,
    SECOND_AXIS,
    SHIFT,
    SHIFT_BIAS,
    SLIDER,
    TURN,
    TURN_BIAS,
    UNIVERSAL,
    WELD,
    Recursion,
)
from .recursion_freedoms import rate_of
from .recursion_vectors import (
    combined,
    cross4,
    lanes_of,
    load_vectors,
    place_of,
)

# Unit vector along z.
AXIS_Z = np.array([0.0, 0.0, 1.0, 0.0])


def locked_acceleration(joints: Any, constants: Any, j: Any, b: Any, parent: Any, biased: bool) -> Any:
    """Return the linear and angular acceleration of a body whose joint is locked, in its joint frame.

    They are computed from the accelerations of the parent and, if `biased`, from the relative accelerations of the
    joint due to velocities. The vector from the joint point of the parent to that of the body begins at element b + ARM
    of `constants`. The data of the joint and of the joint of its parent begin at elements j and `parent` of `joints`.
    """
    shift, turn = load4(joints, parent + SHIFT), load4(joints, parent + TURN)
    shift = shift + cross4(turn, load4(constants, b + ARM))
    if biased:
        shift = shift + load4(joints, j + SHIFT_BIAS)
    rows = load_vectors(joints, j + ROWS)
    shift, turn = combined(lanes_of(shift), rows), combined(lanes_of(turn), rows)
    return shift, (turn + load4(joints, j + TURN_BIAS) if biased else turn)


def follow_hinge(joints: Any, constants: Any, axis: Any, j: Any, b: Any, parent: Any, biased: bool) -> None:
    """Compute the accelerations of the body of a hinge from those of its parent.

    Relative accelerations due to velocities are included if `biased`. `axis` is the unit vector along z, the axis of
    the hinge. The data of the joint and of the joint of its parent begin at elements j and `parent` of `joints`, those
    of the body at element b of `constants`. The accelerations are stored in `joints`, as data of the joint.
    """
    shift, turn = locked_acceleration(joints, constants, j, b, parent, biased)
    store4(joints, j + SHIFT, shift)
    store4(joints, j + TURN, turn + rate_of(joints, j + FREEDOM, shift, turn) * load4(axis, 0))


def follow_ball(joints: Any, constants: Any, j: Any, b: Any, parent: Any, biased: bool) -> None:
    """Compute the accelerations of the body of a ball joint from those of its parent.

    Relative accelerations due to velocities are included if `biased`. The data of the joint and of the joint of its
    parent begin at elements j and `parent` of `joints`, those of the body at element b of `constants`. The
    accelerations are stored in `joints`, as data of the joint.
    """
    shift, _ = locked_acceleration(joints, constants, j, b, parent, biased)
    store4(joints, j + SHIFT, shift)
    turn = load4(joints, j + ALONE_TURN) + combined(lanes_of(shift), load_vectors(joints, j + GIVEN_BY_SHIFT))
    store4(joints, j + TURN, 0.0 - turn)


def follow_slider(joints: Any, axis: Any, j: Any, parent: Any, biased: bool) -> None:
    """Compute the accelerations of the body of a slider from those of its parent.

    Relative accelerations due to velocities are included if `biased`. `axis` is the unit vector along z of the joint
    frame, the axis of the slider. The data of the joint and of the joint of its parent begin at elements j and `parent`
    of `joints`. The accelerations are stored in `joints`, as data of the joint.
    """
    shift, turn = locked_acceleration(joints, joints, j, j + PRESENT_ARM - ARM, parent, biased)
    store4(joints, j + SHIFT, shift + rate_of(joints, j + FREEDOM, shift, turn) * load4(axis, 0))
    store4(joints, j + TURN, turn)


def follow_cylindrical(joints: Any, blocks: Any, axis: Any, j: Any, k: Any, parent: Any, biased: bool) -> None:
    """Compute the accelerations of the body of a cylindrical joint from those of its parent.

    Relative accelerations due to velocities are included if `biased`. `axis` is the unit vector along z of the joint
    frame, the axis of the joint. The data of the joint and of the joint of its parent begin at elements j and `parent`
    of `joints`, further data of the joint at element k of `blocks`. The accelerations are stored in `joints`, as data
    of the joint.
    """
    shift, turn = locked_acceleration(joints, joints, j, j + PRESENT_ARM - ARM, parent, biased)
    shift = shift + rate_of(blocks, k, shift, turn) * load4(axis, 0)
    store4(joints, j + SHIFT, shift)
    store4(joints, j + TURN, turn + rate_of(joints, j + FREEDOM, shift, turn) * load4(axis, 0))


def follow_universal(
    joints: Any, constants: Any, blocks: Any, axis: Any, j: Any, b: Any, k: Any, parent: Any, biased: bool
) -> None:
    """Compute the accelerations of the body of a universal joint from those of its parent.

    Relative accelerations due to velocities are included if `biased`. `axis` is the unit vector along z of the joint
    frame, the axis of the joint that is fixed in the body. The data of the joint and of the joint of its parent begin
    at elements j and `parent` of `joints`, further data of the joint at element k of `blocks` and those of the body at
    element b of `constants`. The accelerations are stored in `joints`, as data of the joint.
    """
    shift, turn = locked_acceleration(joints, constants, j, b, parent, biased)
    turn = turn + rate_of(blocks, k, shift, turn) * load4(joints, j + SECOND_AXIS)
    store4(joints, j + SHIFT, shift)
    store4(joints, j + TURN, turn + rate_of(joints, j + FREEDOM, shift, turn) * load4(axis, 0))


def follow_weld(joints: Any, constants: Any, j: Any, b: Any, parent: Any, biased: bool) -> None:
    """Compute the accelerations of a welded body from those of its parent.

    Relative accelerations due to velocities are included if `biased`. The data of the joint and of the joint of its
    parent begin at elements j and `parent` of `joints`, those of the body at element b of `constants`. The
    accelerations are stored in `joints`, as data of the joint.
    """
    shift, turn = locked_acceleration(joints, constants, j, b, parent, biased)
    store4(joints, j + SHIFT, shift)
    store4(joints, j + TURN, turn)


follow_hinge_biased = specialized(follow_hinge, True)
follow_hinge_unbiased = specialized(follow_hinge, False)
follow_ball_biased = specialized(follow_ball, True)
follow_ball_unbiased = specialized(follow_ball, False)
follow_slider_biased = specialized(follow_slider, True)
follow_slider_unbiased = specialized(follow_slider, False)
follow_cylindrical_biased = specialized(follow_cylindrical, True)
follow_cylindrical_unbiased = specialized(follow_cylindrical, False)
follow_universal_biased = specialized(follow_universal, True)
follow_universal_unbiased = specialized(follow_universal, False)
follow_weld_biased = specialized(follow_weld, True)
follow_weld_unbiased = specialized(follow_weld, False)


@kernel
def move_free(joints: np.ndarray, blocks: np.ndarray, j: int, f: int) -> None:
    """Compute the accelerations of a free body from the load on it and its factorized articulated inertia.

    The data of the body begin at element j of `joints`, its factorized inertia at element f of `blocks`. The
    accelerations are stored in `joints`.
    """
    for i in range(6):
        value = -at(joints, j + FORCE + place_of(i))
        for m in range(i):
            value -= at(blocks, f + FACTOR_ROW * i + m) * at(joints, j + SHIFT + place_of(m))
        put(joints, j + SHIFT + place_of(i), value)
    for i in range(6):
        put(joints, j + SHIFT + place_of(i), at(joints, j + SHIFT + place_of(i)) * at(blocks, f + (FACTOR_ROW + 1) * i))
    for k in range(6):
        i = 5 - k
        for m in range(i + 1, 6):
            factor = at(blocks, f + FACTOR_ROW * m + i)
            add(joints, j + SHIFT + place_of(i), -factor * at(joints, j + SHIFT + place_of(m)))


@kernel
def follow_all(recursion: Recursion, biased: bool) -> None:
    """Compute the accelerations of all bodies from the roots to the tips, in `recursion.joints`.

    Relative accelerations of joints due to velocities are included if `biased`.
    """
    entries, joints, constants, blocks = recursion.entries, recursion.joints, recursion.body_constants, recursion.blocks
    count = entries.shape[0] // JOINT_ENTRIES
    for k in range(count):
        t = count - 1 - k
        e, j, b = JOINT_ENTRIES * t, JOINT_NUMBERS * t, BODY_NUMBERS * t
        kind, parent = at(entries, e + KIND), at(entries, e + PARENT)
        if kind == HINGE:
            if biased:
                follow_hinge_biased(joints, constants, AXIS_Z, j, b, parent)
            else:
                follow_hinge_unbiased(joints, constants, AXIS_Z, j, b, parent)
        elif kind == BALL:
            if biased:
                follow_ball_biased(joints, constants, j, b, parent)
            else:
                follow_ball_unbiased(joints, constants, j, b, parent)
        elif kind in (WELD, DRIVEN_HINGE):
            if biased:
                follow_weld_biased(joints, constants, j, b, parent)
            else:
                follow_weld_unbiased(joints, constants, j, b, parent)
        elif kind == DRIVEN_SLIDER:
            if biased:
                follow_weld_biased(joints, joints, j, j + PRESENT_ARM - ARM, parent)
            else:
                follow_weld_unbiased(joints, joints, j, j + PRESENT_ARM - ARM, parent)
        elif kind == SLIDER:
            if biased:
                follow_slider_biased(joints, AXIS_Z, j, parent)
            else:
                follow_slider_unbiased(joints, AXIS_Z, j, parent)
        elif kind == CYLINDRICAL:
            if biased:
                follow_cylindrical_biased(joints, blocks, AXIS_Z, j, at(entries, e + BLOCK), parent)
            else:
                follow_cylindrical_unbiased(joints, blocks, AXIS_Z, j, at(entries, e + BLOCK), parent)
        elif kind == UNIVERSAL:
            if biased:
                follow_universal_biased(joints, constants, blocks, AXIS_Z, j, b, at(entries, e + BLOCK), parent)
            else:
                follow_universal_unbiased(joints, constants, blocks, AXIS_Z, j, b, at(entries, e + BLOCK), parent)
        else:
            move_free(joints, blocks, j, at(entries, e + BLOCK))


@kernel
def set_ground(recursion: Recursion, falling: bool) -> None:
    """Set the acceleration of the ground to minus the gravitational acceleration if `falling`, otherwise to zero.

    If `falling`, all accelerations are relative to free fall, and weights need not be applied.
    """
    joints, count = recursion.joints, recursion.entries.shape[0] // JOINT_ENTRIES
    for o in range(JOINT_NUMBERS * count, joints.shape[0], JOINT_NUMBERS):
        for k in range(3):
            put(joints, o + SHIFT + k, -at(recursion.gravity, k) if falling else 0.0)


@kernel
def lock_all(recursion: Recursion) -> None:
    """Compute the displacements of all bodies due to prescribed relative displacements of all joints.

    The prescribed displacements are stored in the elements of `recursion.joints` that otherwise contain relative
    accelerations due to velocities. All degrees of freedom are locked; free bodies and the ground do not move.
    """
    entries, joints, constants = recursion.entries, recursion.joints, recursion.body_constants
    count = entries.shape[0] // JOINT_ENTRIES
    set_ground(recursion, False)
    for k in range(count):
        t = count - 1 - k
        e, j = JOINT_ENTRIES * t, JOINT_NUMBERS * t
        kind = at(entries, e + KIND)
        if kind == FREE:
            for c in range(8):
                put(joints, j + SHIFT + c, 0.0)
        elif kind in (SLIDER, CYLINDRICAL, DRIVEN_SLIDER):
            follow_weld_biased(joints, joints, j, j + PRESENT_ARM - ARM, at(entries, e + PARENT))
        else:
            follow_weld_biased(joints, constants, j, BODY_NUMBERS * t, at(entries, e + PARENT))
