"""Loops of the recursion over all bodies, eight at a time: relative motion of neighbors, loads, and rates of states.

The arrays are described in the module `recursion`; y is the state of all bodies. The joint frame of a body is that of
the joint to its parent; `posture` contains the orientation of each joint frame, as a quaternion, and its angular
velocity. Arrays over bodies are divided into blocks of eight bodies. Arguments are indices of the first element of a
block: s in states, p in `posture`, c in `bodies`, k in `kin`, j in `joints`, and i in `parents`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model import layout
from quirk.dynamics.model.layout import ALPHA, LINEAR, ORIENTATION, POSITION, ROTATION, TORQUE, VELOCITY
from quirk.dynamics.model.layout import FORCE as FORCE_N
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, highest, load, splat, store, zero_of
from quirk.jit.tracing import traced

from .bodies import KIN, STATE
from .recursion import (
    ALIGNED,
    ALIGNMENT,
    ARM_OF_BODY,
    BODY_CONSTANTS,
    CENTER,
    COLUMNS,
    FORCE,
    JOINT_NUMBERS,
    MASS_MOMENT,
    OMEGA,
    POSTURE,
    QUATERNION,
    ROW,
    ROWS,
    SHIFT,
    SHIFT_BIAS,
    UNLIKE,
    Recursion,
)
from .recursion_vectors import (
    back,
    gathered_components,
    indices_of,
    load_four,
    load_rows,
    matrix_of,
    product,
    rotated,
    store_rows,
    sum_of_squares,
    symmetric_times,
)

# Number of elements of a block of eight bodies in `bodies`.
BODIES = 8 * BODY_CONSTANTS
POSTURES = 8 * POSTURE
JOINTS = 8 * JOINT_NUMBERS


@traced
def posture_of(bodies: Any, y: Any, posture: Any, s: Any, p: Any, c: Any) -> None:
    """Compute the orientations of the joint frames of eight bodies, as quaternions, and their angular velocities.

    The joint frame of a body is that of the joint to its parent. The results are written to `posture`, at element p.
    The data of the bodies begin at element s of the states y and c of `bodies`.
    """
    q = product(load_four(y, s + 8 * ORIENTATION), load_four(bodies, c + 8 * ALIGNED))
    for k in range(4):
        store(posture, p + 8 * (QUATERNION + k), q[k])
    omega = load3(y, s + 8 * layout.OMEGA)
    store3(posture, p + 8 * OMEGA, columns_times(bodies, c + 8 * ALIGNMENT, omega))


@kernel
def postures(recursion: Recursion, y: np.ndarray) -> None:
    """Compute the orientation of each joint frame, as a quaternion, and its angular velocity, at state y.

    The joint frame of a body is that of the joint to its parent. The results are written to `recursion.posture`.
    """
    for block in range(recursion.posture.shape[0] // POSTURES):
        posture_of(recursion.bodies, y, recursion.posture, block * STATE, block * POSTURES, block * BODIES)


@traced
def turn_of(bodies: Any, y: Any, posture: Any, s: Any, p: Any, c: Any) -> Any:
    """Return the squares of the angles (rad^2) by which eight bodies have rotated since `posture` was computed.

    `posture` contains the earlier orientations of the joint frames; the present orientations of the bodies are in the
    state y. The formula is valid for small rotations. The data of the eight bodies begin at element s of y, p of
    `posture` and c of `bodies`.
    """
    q, before = load_four(y, s + 8 * ORIENTATION), load_four(posture, p + 8 * QUATERNION)
    now = product(q, load_four(bodies, c + 8 * ALIGNED))
    changes = [a - b for a, b in zip(now, before, strict=True)]
    return 4.0 * sum_of_squares(changes) / sum_of_squares(q)


@kernel
def turned_since(recursion: Recursion, y: np.ndarray) -> float:
    """Return the largest angle (rad) between the orientation of a body in `recursion.posture` and that in state y.

    The formula is valid for small rotations.
    """
    largest = splat(0.0)
    for block in range(recursion.posture.shape[0] // POSTURES):
        squares = turn_of(recursion.bodies, y, recursion.posture, block * STATE, block * POSTURES, block * BODIES)
        largest = greater(largest, squares)
    return highest(largest) ** 0.5


def relative(posture: Any, p: Any, parents: Any) -> Any:
    """Return the rotation matrices of eight bodies, by rows, from their joint frames to those of their parents.

    `posture` contains the orientations of all joint frames: for the eight bodies from element p on, and for their
    parents at the eight elements `parents`.
    """
    w, x, z, v = gathered_components(posture, parents, QUATERNION, 4)
    return matrix_of(product((w, -x, -z, -v), load_four(posture, p + 8 * QUATERNION)))


def bias_of(bodies: Any, posture: Any, parents: Any, i: Any, p: Any, c: Any) -> Any:
    """Return relative rotations of eight joints, and the accelerations and loads due to the current velocities.

    The results are the rotation matrices, by rows, to the frames of the parents; the relative accelerations of the
    joint points (m/s^2) and relative angular accelerations (rad/s^2) due to velocities; and the forces (N) and moments
    (N m) on the bodies required by these velocities alone. The data of the eight bodies begin at element i of
    `parents`, p of `posture` (orientations and angular velocities of joint frames) and c of `bodies`.
    """
    indices = indices_of(parents, i)
    E = relative(posture, p, indices)
    omega, of_parent = load3(posture, p + 8 * OMEGA), gathered_components(posture, indices, OMEGA, 3)
    shift = cross(of_parent, cross(of_parent, load3(bodies, c + 8 * ARM_OF_BODY)))
    turn = cross(back(E, of_parent), omega)
    force = cross(omega, cross(omega, load3(bodies, c + 8 * MASS_MOMENT)))
    moment = cross(omega, symmetric_times(bodies, c + 8 * UNLIKE, omega))
    return E, shift, turn, force, moment


def applied_of(bodies: Any, kin: Any, k: Any, c: Any) -> Any:
    """Return the applied forces (N) and moments (N m) on eight bodies, in joint frames and about the joint points.

    The applied loads are read from the kinematics `kin`, from element k on. The constants of the bodies begin at
    element c of `bodies`.
    """
    force = columns_times(bodies, c + 8 * ALIGNMENT, columns_times(kin, k + 8 * ROTATION, load3(kin, k + 8 * FORCE_N)))
    moment = columns_times(bodies, c + 8 * ALIGNMENT, columns_times(kin, k + 8 * ROTATION, load3(kin, k + 8 * TORQUE)))
    return force, plus(moment, cross(load3(bodies, c + 8 * CENTER), force))


def store_joints(joints: Any, j: Any, E: Any, shift: Any, turn: Any, force: Any, moment: Any) -> None:
    """Store relative rotations, accelerations due to velocities, and loads of eight joints in `joints`.

    E are the rotation matrices to the frames of the parents, by rows. `shift` and `turn` are the relative linear and
    angular accelerations due to velocities. `force` and `moment` are the loads on the bodies at zero further
    acceleration. The data of the joints begin at element j.
    """
    zero = zero_of(joints)
    x, y, z = zip(*E, strict=True)
    store_rows(joints, j + COLUMNS, JOINT_NUMBERS, [*x, zero, *y, zero])
    store_rows(joints, j + COLUMNS + 2 * ROW, JOINT_NUMBERS, [*z, zero, *E[0], zero])
    store_rows(joints, j + ROWS + ROW, JOINT_NUMBERS, [*E[1], zero, *E[2], zero])
    store_rows(joints, j + SHIFT_BIAS, JOINT_NUMBERS, [*shift, zero, *turn, zero])
    store_rows(joints, j + FORCE, JOINT_NUMBERS, [*force, zero, *moment, zero])


@traced
def store_biases(bodies: Any, posture: Any, parents: Any, joints: Any, i: Any, p: Any, c: Any, j: Any) -> None:
    """Compute relative rotations of eight joints, and accelerations and loads due to velocities, without applied loads.

    The accelerations are relative to the parents; the loads are those on the bodies at zero further acceleration. The
    results are stored in `joints`. The data of the eight bodies begin at element i of `parents`, p of `posture`
    (orientations and angular velocities of joint frames), c of `bodies` and j of `joints`.
    """
    store_joints(joints, j, *bias_of(bodies, posture, parents, i, p, c))


@traced
def store_biases_with_loads(
    bodies: Any, posture: Any, parents: Any, joints: Any, kin: Any, i: Any, p: Any, c: Any, j: Any, k: Any
) -> None:
    """Compute relative rotations of eight joints, accelerations due to velocities, and loads, with the applied loads.

    The accelerations are relative to the parents. The loads are those on the bodies at zero further acceleration, minus
    the applied loads in `kin`. The results are stored in `joints`. The data of the eight bodies begin at element i of
    `parents`, p of `posture` (orientations and angular velocities of joint frames), c of `bodies`, j of `joints` and k
    of `kin`.
    """
    E, shift, turn, force, moment = bias_of(bodies, posture, parents, i, p, c)
    applied, about = applied_of(bodies, kin, k, c)
    store_joints(joints, j, E, shift, turn, minus(force, applied), minus(moment, about))


@kernel
def biases(recursion: Recursion, kin: np.ndarray, loaded: bool) -> None:
    """Compute relative rotations, accelerations due to velocities, and loads of all joints, in `recursion.joints`.

    The accelerations are relative to the parents. The loads are those on the bodies at zero further acceleration, minus
    the applied loads in `kin` if `loaded`.
    """
    bodies, posture, parents, joints = recursion.bodies, recursion.posture, recursion.parents, recursion.joints
    for block in range(posture.shape[0] // POSTURES):
        i, p, c, j = block * 16, block * POSTURES, block * BODIES, block * JOINTS
        if loaded:
            store_biases_with_loads(bodies, posture, parents, joints, kin, i, p, c, j, block * KIN)
        else:
            store_biases(bodies, posture, parents, joints, i, p, c, j)


def acceleration_of(bodies: Any, posture: Any, joints: Any, p: Any, c: Any, j: Any) -> Any:
    """Return the orientations and accelerations of eight bodies, from the accelerations of their joint points.

    The results are the rotation matrices of the joint frames, by rows; the accelerations of the centers of mass in the
    inertial frame, relative to free fall; and the angular accelerations in joint frames. The data of the eight bodies
    begin at element p of `posture` (orientations and angular velocities of joint frames), c of `bodies` and j of
    `joints`.
    """
    ax, ay, az, _, bx, by, bz, _ = load_rows(joints, j + SHIFT, JOINT_NUMBERS)
    shift, turn, omega, r = (ax, ay, az), (bx, by, bz), load3(posture, p + 8 * OMEGA), load3(bodies, c + 8 * CENTER)
    R = matrix_of(load_four(posture, p + 8 * QUATERNION))
    return R, rotated(R, plus(shift, plus(cross(turn, r), cross(omega, cross(omega, r))))), turn


@traced
def keep_accelerations(
    bodies: Any, posture: Any, joints: Any, kin: Any, gravity: Any, p: Any, c: Any, j: Any, k: Any
) -> None:
    """Write the linear and angular accelerations of eight bodies, in the inertial frame, to `kin` at element k.

    `gravity` is the acceleration of gravity. The data of the eight bodies begin at element p of `posture` (orientations
    and angular velocities of joint frames), c of `bodies` and j of `joints` (accelerations relative to free fall).
    """
    R, linear, turn = acceleration_of(bodies, posture, joints, p, c, j)
    for i in range(3):
        store(kin, k + 8 * (LINEAR + i), linear[i] + at(gravity, i))
    store3(kin, k + 8 * ALPHA, rotated(R, turn))


@kernel
def accelerations_of_bodies(recursion: Recursion, kin: np.ndarray) -> None:
    """Write the linear and angular accelerations of all bodies, in the inertial frame, to `kin`."""
    bodies, posture, joints, gravity = recursion.bodies, recursion.posture, recursion.joints, recursion.gravity
    for block in range(posture.shape[0] // POSTURES):
        p, c, j = block * POSTURES, block * BODIES, block * JOINTS
        keep_accelerations(bodies, posture, joints, kin, gravity, p, c, j, block * KIN)


@traced
def rate_of(
    bodies: Any, posture: Any, joints: Any, y: Any, ydot: Any, gravity: Any, s: Any, p: Any, c: Any, j: Any
) -> None:
    """Compute y' of eight bodies from the accelerations of their joint points and their angular accelerations.

    The accelerations begin at element j of `joints`; the acceleration of gravity, `gravity`, is added. The data of the
    eight bodies begin at element s of the states y, p of `posture` (orientations and angular velocities of joint
    frames) and c of `bodies`. y' is written to `ydot` at element s.
    """
    _, linear, turn = acceleration_of(bodies, posture, joints, p, c, j)
    store3(ydot, s + 8 * POSITION, load3(y, s + 8 * VELOCITY))
    for k in range(3):
        store(ydot, s + 8 * (VELOCITY + k), linear[k] + at(gravity, k))
    store3(ydot, s + 8 * layout.OMEGA, rows_times(bodies, c + 8 * ALIGNMENT, turn))
    q = s + 8 * ORIENTATION
    w, v, spin = 0.5 * load(y, q), times(load3(y, q + 8), 0.5), load3(y, s + 8 * layout.OMEGA)
    store(ydot, q, -dot(v, spin))
    store3(ydot, q + 8, plus(times(spin, w), cross(v, spin)))


@kernel
def state_rates(recursion: Recursion, y: np.ndarray, ydot: np.ndarray) -> None:
    """Compute y' of all bodies, in `ydot`, from the accelerations in `recursion.joints`."""
    bodies, posture, joints, gravity = recursion.bodies, recursion.posture, recursion.joints, recursion.gravity
    for block in range(posture.shape[0] // POSTURES):
        s, p, c, j = block * STATE, block * POSTURES, block * BODIES, block * JOINTS
        rate_of(bodies, posture, joints, y, ydot, gravity, s, p, c, j)
