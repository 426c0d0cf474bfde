"""Derivatives of the motion of bodies and of their loads in eight directions, in compiled code.

A direction is a change of the state or of a parameter. A seed contains the changes of a body's pose and velocity in
eight directions; a slot is the position of a body in the arrays; a wrench is a force and a moment on a body. Lanes are
the eight entries of a vector register, here one for each direction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model import layout
from quirk.dynamics.model.layout import GRAVITY, INVERSE_FACTOR, MOMENT, OMEGA, ORIENTATION, UNLIKE
from quirk.dynamics.model.vectors import (
    back,
    body_columns_times,
    body_rows_times,
    body_vector,
    cross,
    load3,
    minus,
    plus,
    store3,
    times,
    turned,
)
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, store
from quirk.jit.tracing import traced

from ..kernels.bodies import CON, KIN, STATE, WRENCH
from .tables import (
    ACCELERATION,
    INERTIA,
    LOAD,
    MASS,
    MASSES,
    MOVING,
    POSITION,
    QUATERNION,
    ROTATION,
    SEED,
    SPIN,
    SPIN_RATE,
    VELOCITY,
    Tangents,
)

# Offsets in a seed: translation, rotation, velocity and angular velocity (body axes).
SHIFT, TURN, SPEED, SPINNING = (24 * part for part in range(4))


@kernel
def accelerate(tangents: Tangents, kin: np.ndarray, ydot: np.ndarray) -> None:
    """Compute the accelerations of all bodies in the inertial frame from y' in `ydot`, in tangents.accelerations.

    Linear accelerations are in m/s^2, angular accelerations in rad/s^2; `kin` contains the rotation matrices.
    """
    accelerations = tangents.accelerations
    for slot in tangents.occupied:
        s, k = slot // 8 * STATE + slot % 8, slot // 8 * KIN + slot % 8
        rate = turned(kin, k, body_vector(ydot, s + 8 * OMEGA))
        for c in range(3):
            put(accelerations, ACCELERATION * slot + c, at(ydot, s + 8 * (layout.VELOCITY + c)))
            put(accelerations, ACCELERATION * slot + 3 + c, rate[c])


@kernel
def move(
    occupied: np.ndarray, seeds: np.ndarray, moving: np.ndarray, y: np.ndarray, kin: np.ndarray, ydot: np.ndarray
) -> None:
    """Compute the derivatives of poses, velocities and angular accelerations of all bodies in eight directions.

    The directions are in `seeds`, and the results are written to `moving`. The bodies have the kinematics `kin` at
    state y, with y' in `ydot`; `occupied` are their positions (slots) in the arrays.
    """
    for slot in occupied:
        s, k = slot // 8 * STATE + slot % 8, slot // 8 * KIN + slot % 8
        o, m = SEED * slot, MOVING * slot
        turn = turned(kin, k, load3(seeds, o + TURN))
        omega = turned(kin, k, load3(seeds, o + SPINNING))
        spin = body_vector(kin, k + 8 * layout.SPIN)
        store3(moving, m + POSITION, load3(seeds, o + SHIFT))
        store3(moving, m + VELOCITY, load3(seeds, o + SPEED))
        store3(moving, m + SPIN, plus(cross(turn, spin), omega))
        store3(moving, m + SPIN_RATE, cross(turn, turned(kin, k, body_vector(ydot, s + 8 * OMEGA))))
        for c in range(3):
            a = k + 8 * (layout.ROTATION + c)
            column = cross(turn, (at(kin, a), at(kin, a + 24), at(kin, a + 48)))
            for row in range(3):
                store(moving, m + ROTATION + 8 * (3 * row + c), column[row])
        q = s + 8 * ORIENTATION
        w, v = 0.5 * at(y, q), times(body_vector(y, q + 8), 0.5)
        store(moving, m + QUATERNION, -(turn[0] * v[0] + turn[1] * v[1] + turn[2] * v[2]))
        store3(moving, m + QUATERNION + 8, plus(times(turn, w), cross(turn, v)))


@kernel
def differentiate_unbalanced_loads(
    tangents: Tangents, constants: np.ndarray, y: np.ndarray, kin: np.ndarray, ydot: np.ndarray, count: int
) -> None:
    """Compute the derivatives of loads minus inertial forces in the first `count` directions.

    The results are written to tangents.wrenches: forces, and W^T times moments in body axes, for the inverse inertia
    matrix W W^T. The loads are applied loads, constraint loads with constant multipliers, and gravity; inertial forces
    are differentiated at constant accelerations. y is the state, with the kinematics `kin` and y' in `ydot`.
    `constants` are the constants of the bodies.
    """
    size = constants.shape[0] // CON * WRENCH
    for slot in tangents.occupied:
        b, lane = slot // 8, slot % 8
        s, k, c = b * STATE + lane, b * KIN + lane, b * CON + lane
        seed, masses = SEED * slot, MASSES * slot
        a, alpha = body_vector(ydot, s + 8 * layout.VELOCITY), body_vector(ydot, s + 8 * OMEGA)
        omega = body_vector(y, s + 8 * OMEGA)
        weight = minus(body_vector(constants, c + 8 * GRAVITY), a)
        more = load(tangents.masses, masses + MASS)
        mass = at(constants, c + 8 * layout.MASS)
        force = plus(load3(tangents.loads, LOAD * slot), (more * weight[0], more * weight[1], more * weight[2]))
        force = plus(force, times(load3(tangents.gravity, 0), mass))
        # Torques in body axes: J alpha = tau - omega x J omega.
        momentum = body_rows_times(constants, c + 8 * UNLIKE, omega)
        inertial = inertial_moment(constants, c, alpha)
        torque = plus(inertial, cross(omega, momentum))
        turn, spinning = load3(tangents.seeds, seed + TURN), load3(tangents.seeds, seed + SPINNING)
        moment = minus(back(kin, k, load3(tangents.loads, LOAD * slot + 24)), cross(turn, torque))
        moment = minus(moment, cross(spinning, momentum))
        moment = minus(moment, cross(omega, body_rows_times(constants, c + 8 * UNLIKE, spinning)))
        moment = minus(moment, changed(tangents.masses, masses + INERTIA, alpha))
        moment = minus(moment, cross(omega, changed(tangents.masses, masses + INERTIA, omega)))
        moment = body_columns_times(constants, c + 8 * layout.FACTOR, moment)
        place, scratch = b * WRENCH + lane, LOAD * slot
        store3(tangents.loads, scratch, force)
        store3(tangents.loads, scratch + 24, moment)
        for d in range(count):
            for part in range(3):
                put(tangents.wrenches, d * size + place + 8 * part, at(tangents.loads, scratch + 8 * part + d))
                on = at(tangents.loads, scratch + 24 + 8 * part + d)
                put(tangents.wrenches, d * size + place + MOMENT + 8 * part, on)


@traced
def inertial_moment(constants: np.ndarray, c: int, alpha: Any) -> Any:
    """Return J alpha in body axes, for the angular acceleration alpha of the body with constants from element c on."""
    o = c + 8 * INVERSE_FACTOR
    return body_columns_times(constants, o, body_rows_times(constants, o, alpha))


@traced
def changed(array: np.ndarray, o: int, v: Any) -> Any:
    """Return the derivatives in eight directions of the product of a matrix (3, 3) and a constant vector v.

    The result consists of three vectors of eight elements. The derivatives of the matrix are stored by rows, eight for
    each element, beginning at element o of `array`.
    """
    return (
        load(array, o) * v[0] + load(array, o + 8) * v[1] + load(array, o + 16) * v[2],
        load(array, o + 24) * v[0] + load(array, o + 32) * v[1] + load(array, o + 40) * v[2],
        load(array, o + 48) * v[0] + load(array, o + 56) * v[1] + load(array, o + 64) * v[2],
    )
