"""Corrections of states by recursion: loads due to displacements, and displacements that satisfy the constraints.

The arrays are described in the module `recursion`; y is the state of all bodies. A displacement that satisfies the
linearized constraints is the sum of two parts: the displacement with locked joints, in `moved`, and the response of the
forest to the inertia loads of the first part, in `joints`. Both are displacements of joint points and rotations, in
joint frames. The array `motion` contains translations of the centers of mass in the inertial frame and rotations in
body axes, multiplied by W^-1, with the metric W of a body: W W^T = J^-1. Arguments are indices of the first element of
a block of eight bodies: s in states, p in `posture`, c in `bodies`, j in `joints`, m in `moved`, f in `motion`, and k
in `constants`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model import layout
from quirk.dynamics.model.layout import FACTOR, INVERSE_FACTOR, MOMENT, VELOCITY
from quirk.dynamics.model.vectors import columns_times, cross, load3, minus, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, splat, total, zero_of
from quirk.jit.tracing import traced

from .bodies import CON, POSES, STATE, WRENCH, move
from .recursion import (
    ALIGNMENT,
    CENTER,
    FORCE,
    INERTIA,
    JOINT_NUMBERS,
    MASS,
    MASS_MOMENT,
    QUATERNION,
    SHIFT,
    Recursion,
)
from .recursion_bodies import BODIES, JOINTS, POSTURES
from .recursion_vectors import (
    back,
    load_four,
    load_rows,
    matrix_of,
    rotated,
    store_rows,
    symmetric_times,
)


def inertia_loads(bodies: Any, c: Any, shift: Any, turn: Any) -> Any:
    """Return the forces and moments required for given accelerations of eight separate bodies, in joint frames.

    `shift` is the acceleration of the joint point (m/s^2), `turn` the angular acceleration (rad/s^2). The constants of
    the eight bodies begin at element c of `bodies`.
    """
    force = minus(times(shift, load(bodies, c + 8 * MASS)), cross(load3(bodies, c + 8 * MASS_MOMENT), turn))
    moment = symmetric_times(bodies, c + 8 * INERTIA, turn)
    return force, plus(moment, cross(load3(bodies, c + 8 * MASS_MOMENT), shift))


def store_loads(joints: Any, j: Any, force: Any, moment: Any) -> None:
    """Store the forces `force` and moments `moment` on the bodies of eight joints, from element j of `joints` on."""
    zero = zero_of(joints)
    store_rows(joints, j + FORCE, JOINT_NUMBERS, [*force, zero, *moment, zero])


@traced
def keep_displacements(bodies: Any, joints: Any, moved: Any, c: Any, j: Any, m: Any) -> None:
    """Copy the displacements of eight bodies from `joints` to `moved`, and set the loads on the bodies in `joints`.

    The load on a body is its inertia times its displacement. The data of the eight bodies begin at element c of
    `bodies`, j of `joints` and m of `moved`.
    """
    ax, ay, az, _, bx, by, bz, _ = load_rows(joints, j + SHIFT, JOINT_NUMBERS)
    shift, turn = (ax, ay, az), (bx, by, bz)
    store3(moved, m, shift)
    store3(moved, m + 24, turn)
    store_loads(joints, j, *inertia_loads(bodies, c, shift, turn))


@kernel
def load_by_displacements(recursion: Recursion) -> None:
    """Copy the displacements of all bodies from `joints` to `moved`, and set the loads on the bodies in `joints`.

    The load on a body is its inertia times its displacement. Both arrays belong to `recursion`.
    """
    for block in range(recursion.posture.shape[0] // POSTURES):
        c, j, m = block * BODIES, block * JOINTS, block * WRENCH
        keep_displacements(recursion.bodies, recursion.joints, recursion.moved, c, j, m)


@traced
def load_by_motion(
    bodies: Any, posture: Any, constants: Any, motion: Any, joints: Any, p: Any, c: Any, k: Any, f: Any, j: Any
) -> None:
    """Set the loads on eight bodies to minus their inertia times their motion.

    `motion` contains translations in the inertial frame and rotations in body axes, multiplied by W^-1, with the metric
    W of a body: W W^T = J^-1. The data of the eight bodies begin at element p of `posture`, c of `bodies`, k of
    `constants`, f of `motion` and j of `joints`. `posture` holds the orientation and angular velocity of each joint
    frame.
    """
    turn = rows_times(constants, k + 8 * FACTOR, load3(motion, f + MOMENT))
    turn = times(columns_times(bodies, c + 8 * ALIGNMENT, turn), -1.0)
    shift = times(back(matrix_of(load_four(posture, p + 8 * QUATERNION)), load3(motion, f)), -1.0)
    shift = minus(shift, cross(turn, load3(bodies, c + 8 * CENTER)))
    store_loads(joints, j, *inertia_loads(bodies, c, shift, turn))


@kernel
def load_all_by_motion(recursion: Recursion, constants: np.ndarray, motion: np.ndarray) -> None:
    """Set the load on each body to minus its inertia times a given displacement or change of velocity.

    `motion` contains the translations in the inertial frame, and the rotations in body axes multiplied by W^-1, with
    the metric W of a body: W W^T = J^-1. `constants` are the constants of the bodies, see
    `quirk.dynamics.model.layout`.
    """
    for block in range(recursion.posture.shape[0] // POSTURES):
        p, c, j = block * POSTURES, block * BODIES, block * JOINTS
        load_by_motion(
            recursion.bodies,
            recursion.posture,
            constants,
            motion,
            recursion.joints,
            p,
            c,
            block * CON,
            block * WRENCH,
            j,
        )


def motion_at_center(bodies: Any, posture: Any, p: Any, c: Any, shift: Any, turn: Any) -> Any:
    """Return the translations of eight centers of mass in the inertial frame, and the rotations in body axes.

    `shift` and `turn` are the translations of the joint points and the rotations of the bodies, both in joint frames.
    The data of the eight bodies begin at element p of `posture` (orientations of joint frames) and c of `bodies`.
    """
    shift = plus(shift, cross(turn, load3(bodies, c + 8 * CENTER)))
    shift = rotated(matrix_of(load_four(posture, p + 8 * QUATERNION)), shift)
    return shift, rows_times(bodies, c + 8 * ALIGNMENT, turn)


@traced
def take_motion(
    bodies: Any, posture: Any, constants: Any, joints: Any, motion: Any, p: Any, c: Any, k: Any, j: Any, f: Any
) -> None:
    """Convert displacements of eight bodies in `joints` from joint frames to the form of `motion`.

    `joints` contains the displacements of the joint points and the rotations, in joint frames; `motion` contains
    translations of the centers of mass in the inertial frame and rotations in body axes, multiplied by W^-1, with the
    metric W of a body: W W^T = J^-1. The data of the eight bodies begin at element p of `posture` (orientations of
    joint frames), c of `bodies`, k of `constants`, j of `joints` and f of `motion`.
    """
    ax, ay, az, _, bx, by, bz, _ = load_rows(joints, j + SHIFT, JOINT_NUMBERS)
    shift, turn = motion_at_center(bodies, posture, p, c, (ax, ay, az), (bx, by, bz))
    store3(motion, f, shift)
    store3(motion, f + MOMENT, rows_times(constants, k + 8 * INVERSE_FACTOR, turn))


@kernel
def write_motion(recursion: Recursion, constants: np.ndarray, motion: np.ndarray) -> None:
    """Convert the displacements of all bodies in `recursion.joints` from joint frames to the form of `motion`.

    `motion` contains translations in the inertial frame and rotations in body axes, multiplied by W^-1, with the metric
    W of a body: W W^T = J^-1. `constants` are the constants of the bodies, see `quirk.dynamics.model.layout`.
    """
    for block in range(recursion.posture.shape[0] // POSTURES):
        p, c, j = block * POSTURES, block * BODIES, block * JOINTS
        take_motion(
            recursion.bodies,
            recursion.posture,
            constants,
            recursion.joints,
            motion,
            p,
            c,
            block * CON,
            j,
            block * WRENCH,
        )


def correction(bodies: Any, posture: Any, joints: Any, moved: Any, p: Any, c: Any, j: Any, m: Any) -> Any:
    """Return the displacements of eight bodies: translations of the centers of mass, and rotations.

    Each is the sum of the displacement with locked joints, from `moved`, and of the response to its inertia loads, from
    `joints`. Translations are in the inertial frame, rotations in body axes. The data of the bodies begin at element p
    of `posture` (orientations of joint frames), c of `bodies`, j of `joints` and m of `moved`.
    """
    ax, ay, az, _, bx, by, bz, _ = load_rows(joints, j + SHIFT, JOINT_NUMBERS)
    shift, turn = plus((ax, ay, az), load3(moved, m)), plus((bx, by, bz), load3(moved, m + 24))
    return motion_at_center(bodies, posture, p, c, shift, turn)


@traced
def keep_correction(
    bodies: Any, posture: Any, constants: Any, joints: Any, moved: Any, motion: Any, p: Any, c: Any, k: Any, j: Any,
    m: Any, f: Any,
) -> None:  # fmt: skip
    """Add the displacements of eight bodies in `moved` and `joints`, and convert the sums to `motion`.

    `motion` contains translations in the inertial frame and rotations in body axes, multiplied by W^-1, with the metric
    W of a body: W W^T = J^-1. The data of the eight bodies begin at element p of `posture`, c of `bodies`, k of
    `constants`, j of `joints`, m of `moved` and f of `motion`. `posture` holds the orientation and angular velocity of
    each joint frame.
    """
    shift, turn = correction(bodies, posture, joints, moved, p, c, j, m)
    store3(motion, f, shift)
    store3(motion, f + MOMENT, rows_times(constants, k + 8 * INVERSE_FACTOR, turn))


@kernel
def write_displacements(recursion: Recursion, constants: np.ndarray, motion: np.ndarray) -> None:
    """Add the displacements of all bodies in `moved` and `joints` of `recursion`, and convert the sums to `motion`.

    `motion` contains translations in the inertial frame and rotations in body axes, multiplied by W^-1, with the metric
    W of a body: W W^T = J^-1. `constants` are the constants of the bodies, see `quirk.dynamics.model.layout`.
    """
    bodies, posture, joints, moved = recursion.bodies, recursion.posture, recursion.joints, recursion.moved
    for block in range(posture.shape[0] // POSTURES):
        p, c, j, m = block * POSTURES, block * BODIES, block * JOINTS, block * WRENCH
        keep_correction(bodies, posture, constants, joints, moved, motion, p, c, block * CON, j, m, m)


@traced
def correct_poses(
    bodies: Any, posture: Any, joints: Any, moved: Any, y: Any, s: Any, p: Any, c: Any, j: Any, m: Any
) -> Any:
    """Add the displacements in `moved` and `joints` to the poses of eight bodies in y; return their sums.

    The result consists of three components of the translation and three of the rotation. The data of the eight bodies
    begin at element s of the states y, p of `posture` (orientations of joint frames), c of `bodies`, j of `joints` and
    m of `moved`.
    """
    shift, turn = correction(bodies, posture, joints, moved, p, c, j, m)
    move(y, s, shift, turn)
    return *shift, *turn


@traced
def correct_velocities(
    bodies: Any, posture: Any, joints: Any, moved: Any, y: Any, s: Any, p: Any, c: Any, j: Any, m: Any
) -> Any:
    """Add the velocity changes in `moved` and `joints` to the velocities of eight bodies in y; return their sums.

    The result consists of three components of the linear and three of the angular velocity. The data of the eight
    bodies begin at element s of the states y, p of `posture` (orientations of joint frames), c of `bodies`, j of
    `joints` and m of `moved`.
    """
    shift, turn = correction(bodies, posture, joints, moved, p, c, j, m)
    store3(y, s + 8 * VELOCITY, plus(load3(y, s + 8 * VELOCITY), shift))
    store3(y, s + 8 * layout.OMEGA, plus(load3(y, s + 8 * layout.OMEGA), turn))
    return *shift, *turn


@kernel
def displace_all(recursion: Recursion, y: np.ndarray, level: int, length: float) -> float:
    """Add the displacements in `moved` and `joints` to the poses of all bodies in y, or to their velocities.

    `level` selects poses or velocities. Returns the largest change over all bodies. The change of a body is the root of
    the sum of squares of its rotation (rad or rad/s) and of its translation divided by `length` (m).
    """
    largest = splat(0.0)
    check = splat(0.0)
    bodies, posture, joints, moved = recursion.bodies, recursion.posture, recursion.joints, recursion.moved
    for block in range(posture.shape[0] // POSTURES):
        s, p, c, j, m = block * STATE, block * POSTURES, block * BODIES, block * JOINTS, block * WRENCH
        if level == POSES:
            a0, a1, a2, b0, b1, b2 = correct_poses(bodies, posture, joints, moved, y, s, p, c, j, m)
        else:
            a0, a1, a2, b0, b1, b2 = correct_velocities(bodies, posture, joints, moved, y, s, p, c, j, m)
        squares = (b0 * b0 + b1 * b1 + b2 * b2) + (a0 * a0 + a1 * a1 + a2 * a2) * (1.0 / (length * length))
        largest = greater(largest, squares)
        check = check + squares
    return highest(largest) ** 0.5 + 0.0 * total(check)
