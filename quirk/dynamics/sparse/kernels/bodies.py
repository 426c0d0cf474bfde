"""Compiled functions over all bodies, eight at a time: kinematics, accelerations, displacements and error norms.

Arrays over bodies are divided into blocks of eight bodies. A block begins at index s of the states y, index k of the
kinematics `kin`, and index c of `constants`. The metric W of a body satisfies W W^T = J^-1, with its
inertia matrix J. `wrench` contains a force and a scaled moment, W^T times the moment in body axes, for each body. M is
the mass matrix. The functions take the number of bodies from the size of `constants`, because y also contains auxiliary
states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.model.layout import (
    ALPHA,
    ALPHA_BODY,
    CONSTANTS_SIZE,
    FACTOR,
    FORCE,
    GRAVITY,
    INVERSE_FACTOR,
    INVERSE_MASS,
    KINEMATICS_SIZE,
    LINEAR,
    MASS,
    METRIC,
    MOMENT,
    OMEGA,
    ORIENTATION,
    POSITION,
    ROTATION,
    SPIN,
    TORQUE,
    UNLIKE,
    VELOCITY,
    WRENCH_SIZE,
)
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, root, splat, store, total
from quirk.jit.tracing import traced

# Number of elements of a block of eight bodies in each array.
STATE = 8 * STATE_SIZE
KIN = 8 * KINEMATICS_SIZE
CON = 8 * CONSTANTS_SIZE
WRENCH = 8 * WRENCH_SIZE

# Values of `level`: poses of the bodies, or velocities.
POSES, VELOCITIES = range(2)


@kernel
def poses(constants: np.ndarray, y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the rotation matrix, angular velocity (inertial frame, rad/s) and metric of each body, in `kin`.

    The metric W of a body satisfies W W^T = J^-1, with its inertia matrix J. `constants` are the constants of the
    bodies; the quaternions in the state y need not be normalized.
    """
    for block in range(constants.shape[0] // CON):
        pose(constants, y, kin, block * STATE, block * KIN, block * CON)


@kernel
def rotations(y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the rotation matrix and angular velocity (inertial frame, rad/s) of each body at state y, in `kin`.

    These quantities suffice for constraint residuals and their rates, which do not depend on the metric.
    """
    for block in range(kin.shape[0] // KIN):
        rotation(y, kin, block * STATE, block * KIN)


@kernel
def free_accelerations(constants: np.ndarray, y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the unconstrained acceleration of each body, due to gravity and the applied loads in `kin`.

    The accelerations are written to `kin`. y is the state, and `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        free_acceleration(constants, y, kin, block * STATE, block * KIN, block * CON)


@kernel
def free_motion(constants: np.ndarray, y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the kinematics and unconstrained accelerations of all bodies without applied loads, in `kin`.

    The result is that of `poses` followed by `free_accelerations`, in a single loop over the bodies, for models without
    force elements. y is the state, and `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, k, c = block * STATE, block * KIN, block * CON
        pose(constants, y, kin, s, k, c)
        free_acceleration(constants, y, kin, s, k, c)


def _rotation(y: Any, kin: Any, s: Any, k: Any) -> Any:
    """Compute the rotation matrices R and angular velocities (inertial frame, rad/s) of eight bodies, in `kin`.

    Returns the three rows of R, which transforms body axes to the inertial frame. The quaternions in y need not be
    normalized. The block of bodies begins at index s of the states y and at index k of `kin`.
    """
    q = s + 8 * ORIENTATION
    qw, qx, qy, qz = load(y, q), load(y, q + 8), load(y, q + 16), load(y, q + 24)
    scale = 2.0 / (qw * qw + qx * qx + qy * qy + qz * qz)
    wx, wy, wz = scale * qw * qx, scale * qw * qy, scale * qw * qz
    xx, yy, zz = scale * qx * qx, scale * qy * qy, scale * qz * qz
    xy, xz, yz = scale * qx * qy, scale * qx * qz, scale * qy * qz
    R = (1.0 - (yy + zz), xy - wz, xz + wy), (xy + wz, 1.0 - (xx + zz), yz - wx), (xz - wy, yz + wx, 1.0 - (xx + yy))
    omega = load3(y, s + 8 * OMEGA)
    for row in range(3):
        store3(kin, k + 8 * (ROTATION + 3 * row), R[row])
        store(kin, k + 8 * (SPIN + row), dot(R[row], omega))
    return R


@traced
def rotation(y: Any, kin: Any, s: Any, k: Any) -> None:
    """Compute the rotation matrices and angular velocities (inertial frame, rad/s) of eight bodies, in `kin`.

    The block of bodies begins at index s of the states y and at index k of `kin`.
    """
    _rotation(y, kin, s, k)


@traced
def pose(constants: Any, y: Any, kin: Any, s: Any, k: Any, c: Any) -> None:
    """Compute the rotation matrices, angular velocities (inertial frame, rad/s) and metrics of eight bodies, in `kin`.

    The metric W of a body satisfies W W^T = J^-1, with its inertia matrix J. The block of bodies begins at index s of
    the states y, k of `kin` and c of `constants`.
    """
    _rotation(y, kin, s, k)
    for row in range(3):
        store3(kin, k + 8 * (METRIC + 3 * row), load3(constants, c + 8 * (FACTOR + 3 * row)))


def _scaled_moment(constants: Any, y: Any, kin: Any, s: Any, k: Any, c: Any) -> Any:
    """Return the scaled moments W^T (T + J omega x omega) of eight bodies, in body axes.

    T is the torque, J omega x omega the gyroscopic moment, and W the metric: W W^T = J^-1, with the inertia matrix J.
    The block of bodies begins at index s of the states y, k of `kin` and c of `constants`.
    """
    omega = load3(y, s + 8 * OMEGA)
    momentum = rows_times(constants, c + 8 * UNLIKE, omega)
    torque = columns_times(kin, k + 8 * ROTATION, load3(kin, k + 8 * TORQUE))
    return columns_times(constants, c + 8 * FACTOR, plus(torque, cross(momentum, omega)))


@traced
def scaled_moment(constants: Any, y: Any, kin: Any, s: Any, k: Any, c: Any) -> Any:
    """Return the scaled moments W^T (T + J omega x omega) of eight bodies, in body axes.

    T is the torque, J omega x omega the gyroscopic moment, and W the metric: W W^T = J^-1, with the inertia matrix J.
    The block of bodies begins at index s of the states y, k of `kin` and c of `constants`.
    """
    return _scaled_moment(constants, y, kin, s, k, c)


@traced
def free_acceleration(constants: Any, y: Any, kin: Any, s: Any, k: Any, c: Any) -> None:
    """Compute the unconstrained accelerations of eight bodies, due to gravity and applied loads.

    The loads are read from `kin`, and the accelerations written to it. The block of bodies begins at index s of the
    states y, k of `kin` and c of `constants`.
    """
    by_force = times(load3(kin, k + 8 * FORCE), load(constants, c + 8 * INVERSE_MASS))
    store3(kin, k + 8 * LINEAR, plus(load3(constants, c + 8 * GRAVITY), by_force))
    h = _scaled_moment(constants, y, kin, s, k, c)
    alpha = rows_times(constants, c + 8 * FACTOR, h)
    store3(kin, k + 8 * ALPHA_BODY, alpha)
    store3(kin, k + 8 * ALPHA, rows_times(kin, k + 8 * ROTATION, alpha))


@kernel
def sum_body_loads(constants: np.ndarray, y: np.ndarray, kin: np.ndarray, wrench: np.ndarray) -> None:
    """Write the sum of weight, applied load and gyroscopic moment J omega x omega of each body to `wrench`.

    Forces are in the inertial frame; moments are scaled, W^T times the moment in body axes, with the metric W: W W^T =
    J^-1. The accelerations in `kin` are set to zero. y is the state, and `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, k, c, f = block * STATE, block * KIN, block * CON, block * WRENCH
        weight = times(load3(constants, c + 8 * GRAVITY), load(constants, c + 8 * MASS))
        store3(wrench, f, plus(weight, load3(kin, k + 8 * FORCE)))
        store3(wrench, f + MOMENT, scaled_moment(constants, y, kin, s, k, c))
        zero = splat(0.0)
        for place in (LINEAR, ALPHA, ALPHA_BODY):
            store3(kin, k + 8 * place, (zero, zero, zero))


@kernel
def set_bias(constants: np.ndarray, kin: np.ndarray, wrench: np.ndarray, bias: np.ndarray) -> None:
    """Set `bias` to minus the loads in `wrench`, with forces (N) and moments (N m) in body axes.

    In `wrench`, forces are in the inertial frame, and moments are multiplied by the transposed metric W^T of the body.
    `constants` and `kin` are the constants and the kinematics of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        k, c, f = block * KIN, block * CON, block * WRENCH
        store3(bias, f, times(columns_times(kin, k + 8 * ROTATION, load3(wrench, f)), -1.0))
        moment = columns_times(constants, c + 8 * INVERSE_FACTOR, load3(wrench, f + MOMENT))
        store3(bias, f + MOMENT, times(moment, -1.0))


@kernel
def loads_of_accelerations(
    constants: np.ndarray, kin: np.ndarray, acceleration: np.ndarray, wrench: np.ndarray
) -> None:
    """Set `wrench` to the loads that cause given accelerations: the mass matrix M times the accelerations.

    `acceleration` contains the linear and angular accelerations of all bodies, in body axes. In `wrench`, forces are in
    the inertial frame, and moments are multiplied by the transposed metric W^T of the body. `constants` and `kin` are
    the constants and the kinematics of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        k, c, f = block * KIN, block * CON, block * WRENCH
        linear = rows_times(kin, k + 8 * ROTATION, load3(acceleration, f))
        store3(wrench, f, times(linear, load(constants, c + 8 * MASS)))
        store3(wrench, f + MOMENT, rows_times(constants, c + 8 * INVERSE_FACTOR, load3(acceleration, f + MOMENT)))


@kernel
def unconstrained_accelerations(constants: np.ndarray, wrench: np.ndarray, motion: np.ndarray) -> None:
    """Set `motion` to the accelerations of unconstrained bodies due to the loads in `wrench`: M^-1 times the loads.

    M is the mass matrix. Angular accelerations are multiplied by W^-1, with the metric W of a body: W W^T = J^-1.
    `constants` are the constants of the bodies.
    """
    for block in range(wrench.shape[0] // WRENCH):
        f = block * WRENCH
        store3(motion, f, times(load3(wrench, f), load(constants, block * CON + 8 * INVERSE_MASS)))
        store3(motion, f + MOMENT, load3(wrench, f + MOMENT))


@kernel
def rates(constants: np.ndarray, y: np.ndarray, kin: np.ndarray, wrench: np.ndarray, ydot: np.ndarray) -> None:
    """Compute y' from the accelerations in `kin` plus the accelerations due to the constraint loads in `wrench`.

    y is the state of all bodies; y' is written to `ydot`. `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, k, c, f = block * STATE, block * KIN, block * CON, block * WRENCH
        store3(ydot, s + 8 * POSITION, load3(y, s + 8 * VELOCITY))
        linear = times(load3(wrench, f), load(constants, c + 8 * INVERSE_MASS))
        store3(ydot, s + 8 * VELOCITY, plus(load3(kin, k + 8 * LINEAR), linear))
        turn = rows_times(constants, c + 8 * FACTOR, load3(wrench, f + MOMENT))
        store3(ydot, s + 8 * OMEGA, plus(load3(kin, k + 8 * ALPHA_BODY), turn))
        q = s + 8 * ORIENTATION
        w, v, omega = 0.5 * load(y, q), times(load3(y, q + 8), 0.5), load3(y, s + 8 * OMEGA)
        store(ydot, q, -dot(v, omega))
        store3(ydot, q + 8, plus(times(omega, w), cross(v, omega)))


@kernel
def normalise(constants: np.ndarray, y: np.ndarray) -> None:
    """Scale the quaternions of all bodies in the state y to unit length.

    `constants` are the constants of the bodies; their size gives the number of bodies.
    """
    for block in range(constants.shape[0] // CON):
        q = block * STATE + 8 * ORIENTATION
        a, b, c, d = load(y, q), load(y, q + 8), load(y, q + 16), load(y, q + 24)
        scale = 1.0 / root(a * a + b * b + c * c + d * d)
        store(y, q, a * scale)
        store(y, q + 8, b * scale)
        store(y, q + 16, c * scale)
        store(y, q + 24, d * scale)


@kernel
def finite(y: np.ndarray) -> bool:
    """Return whether all elements of y are finite."""
    rest = splat(0.0)
    for o in range(0, y.shape[0], 8):
        x = load(y, o)
        rest = rest + (x - x)
    sum_of_zeros = total(rest)
    return sum_of_zeros == sum_of_zeros


@traced
def move(y: Any, s: Any, shift: Any, turn: Any) -> None:
    """Add displacements of eight bodies to their poses, which begin at index s of the state y.

    `shift` (m, inertial frame) is the displacement of the centers of mass, and `turn` (rad, body axes) a small rotation
    vector: the quaternion q is replaced by q (1, turn / 2), normalized.
    """
    q = s + 8 * ORIENTATION
    store3(y, s + 8 * POSITION, plus(load3(y, s + 8 * POSITION), shift))
    w, v, half = load(y, q), load3(y, q + 8), times(turn, 0.5)
    new_w = w - dot(v, half)
    new_v = plus(v, plus(times(half, w), cross(v, half)))
    scale = 1.0 / root(new_w * new_w + dot(new_v, new_v))
    store(y, q, new_w * scale)
    store3(y, q + 8, times(new_v, scale))


@kernel
def displace(constants: np.ndarray, y: np.ndarray, wrench: np.ndarray, level: int, length: float) -> float:
    """Correct the poses in y, or the velocities if `level` is VELOCITIES, by minus M^-1 times `wrench`.

    M is the mass matrix, and `wrench` contains a force and a scaled moment for each body. Returns the largest change of
    a body: the root of the sum of squares of its rotation (rad or rad/s) and of its translation divided by `length`
    (m). `constants` are the constants of the bodies.
    """
    largest = splat(0.0)
    check = splat(0.0)
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        shift = times(load3(wrench, f), -load(constants, c + 8 * INVERSE_MASS))
        turn = times(rows_times(constants, c + 8 * FACTOR, load3(wrench, f + MOMENT)), -1.0)
        if level == POSES:
            move(y, s, shift, turn)
        else:
            store3(y, s + 8 * VELOCITY, plus(load3(y, s + 8 * VELOCITY), shift))
            store3(y, s + 8 * OMEGA, plus(load3(y, s + 8 * OMEGA), turn))
        squares = dot(turn, turn) + dot(shift, shift) * (1.0 / (length * length))
        largest = greater(largest, squares)
        check = check + squares
    # The maximum ignores nan; the sum propagates it.
    return highest(largest) ** 0.5 + 0.0 * total(check)


@kernel
def speed(constants: np.ndarray, y: np.ndarray, length: float) -> float:
    """Return the largest speed of a body, 1/s, with velocities divided by `length` (m).

    The speed is the root of the sum of squares of the angular velocity and the divided velocity. y is the state, and
    `constants` are the constants of the bodies.
    """
    largest = splat(0.0)
    for block in range(constants.shape[0] // CON):
        v, omega = load3(y, block * STATE + 8 * VELOCITY), load3(y, block * STATE + 8 * OMEGA)
        largest = greater(largest, dot(omega, omega) + dot(v, v) * (1.0 / (length * length)))
    return highest(largest) ** 0.5


@kernel
def largest_distance(constants: np.ndarray, y: np.ndarray) -> float:
    """Return the largest distance of a center of mass from the origin of the inertial frame, m, in state y.

    `constants` are the constants of the bodies; their size gives the number of bodies.
    """
    largest = splat(0.0)
    for block in range(constants.shape[0] // CON):
        r = load3(y, block * STATE + 8 * POSITION)
        largest = greater(largest, dot(r, r))
    return highest(largest) ** 0.5


@kernel
def motion_of(constants: np.ndarray, y: np.ndarray, change: np.ndarray, level: int, motion: np.ndarray) -> None:
    """Convert a variation `change` of the state y to translations and scaled rotations of all bodies, in `motion`.

    Constraint rows are multiplied by vectors of this form. Translations are in the inertial frame. Rotations are in
    body axes and multiplied by W^-1, with the metric W of the body: W W^T = J^-1. `level` selects the variation of
    poses or of velocities. `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        if level == POSES:
            store3(motion, f, load3(change, s + 8 * POSITION))
            # The rotation is twice the vector part of q* dq.
            q = s + 8 * ORIENTATION
            w, v, dw, dv = load(y, q), load3(y, q + 8), load(change, q), load3(change, q + 8)
            turn = times(plus(plus(times(dv, w), times(v, -dw)), cross(dv, v)), 2.0)
        else:
            store3(motion, f, load3(change, s + 8 * VELOCITY))
            turn = load3(change, s + 8 * OMEGA)
        store3(motion, f + MOMENT, rows_times(constants, c + 8 * INVERSE_FACTOR, turn))


@kernel
def subtract(constants: np.ndarray, wrench: np.ndarray, motion: np.ndarray) -> None:
    """Subtract M^-1 times the loads `wrench` from `motion`, with the mass matrix M.

    `wrench` contains a force and a scaled moment for each body; `motion` contains translations in the inertial frame,
    and rotations in body axes multiplied by W^-1, with the metric W of the body: W W^T = J^-1. `constants` are the
    constants of the bodies.
    """
    for block in range(wrench.shape[0] // WRENCH):
        c, f = block * CON, block * WRENCH
        shift = times(load3(wrench, f), -load(constants, c + 8 * INVERSE_MASS))
        store3(motion, f, plus(load3(motion, f), shift))
        store3(motion, f + MOMENT, plus(load3(motion, f + MOMENT), times(load3(wrench, f + MOMENT), -1.0)))


@kernel
def error_ratio(
    constants: np.ndarray,
    motion: np.ndarray,
    y: np.ndarray,
    y_new: np.ndarray,
    level: int,
    rtol: float,
    atol: float,
) -> float:
    """Return the largest ratio of error to tolerance over positions and orientations, or velocities, of all bodies.

    `level` selects poses or velocities. `motion` contains the errors as translations and scaled rotations, see
    `motion_of`. y and y_new are the states at the start and end of the step. The tolerance of a vector is `atol` plus
    `rtol` times the larger of its magnitudes at both states. `constants` are the constants of the bodies.
    """
    largest = splat(0.0)
    check = splat(0.0)
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        shift, turn = load3(motion, f), rows_times(constants, c + 8 * FACTOR, load3(motion, f + MOMENT))
        o = s + 8 * POSITION if level == POSES else s + 8 * VELOCITY
        size = root(greater(dot(load3(y, o), load3(y, o)), dot(load3(y_new, o), load3(y_new, o))))
        a = root(dot(shift, shift)) / (atol + rtol * size)
        if level == POSES:
            # The variation of a unit quaternion is half the rotation.
            b = 0.5 * root(dot(turn, turn)) * (1.0 / (atol + rtol))
        else:
            o = s + 8 * OMEGA
            size = root(greater(dot(load3(y, o), load3(y, o)), dot(load3(y_new, o), load3(y_new, o))))
            b = root(dot(turn, turn)) / (atol + rtol * size)
        largest = greater(greater(largest, a), b)
        check = check + (a + b)
    return highest(largest) + 0.0 * total(check)


@kernel
def parallel_component(y: np.ndarray, change: np.ndarray, blocks: int) -> float:
    """Return the largest component, over all bodies, of changes of quaternions parallel to the body's quaternion.

    `change` contains changes of a state y, such as the coefficients of one order of its Taylor series, and `blocks` is
    the number of blocks of eight bodies. A parallel component changes the norm of a quaternion and does not rotate the
    body. In the series of a rotation, orders with parallel coefficients alternate with orders that rotate the body; if
    a body starts to rotate from rest, only every fourth term is a rotation. Newton's method corrects norms and
    directions in turn, too.
    """
    largest = splat(0.0)
    for block in range(blocks):
        q = block * STATE + 8 * ORIENTATION
        part = load(y, q) * load(change, q) + dot(load3(y, q + 8), load3(change, q + 8))
        largest = greater(largest, part * part)
    return highest(largest) ** 0.5
