"""Taylor coefficients of the motion of bodies up to snap, in compiled code, eight bodies at a time.

The array `bodies` contains `size` elements for each order, in increasing order, with the layout of kinematics:
coefficients of rotation, angular velocity (SPIN) and position in the inertial frame, angular velocity in body axes, and
loads (`quirk.dynamics.model.layout`).
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import (
    FACTOR,
    FORCE,
    GRAVITY,
    INVERSE_FACTOR,
    INVERSE_MASS,
    MOMENT,
    OMEGA,
    OMEGA_TERM,
    POSITION,
    POSITION_TERM,
    ROTATION,
    SPIN,
    TORQUE,
    UNLIKE,
    VELOCITY,
)
from quirk.dynamics.model.vectors import columns_times, cross, load3, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import load, splat, store

from ..kernels.bodies import CON, KIN, STATE, WRENCH, pose


@kernel
def start(constants: np.ndarray, y: np.ndarray, bodies: np.ndarray, size: int) -> None:
    """Initialize the Taylor coefficients of the motion from the state y: order 0, and order 1 of positions.

    Loads are not set. `constants` are the constants of the bodies, and `size` is the number of elements of one order in
    `bodies`.
    """
    for block in range(constants.shape[0] // CON):
        s, k = block * STATE, block * KIN
        pose(constants, y, bodies, s, k, block * CON)
        store3(bodies, k + 8 * POSITION_TERM, load3(y, s + 8 * POSITION))
        store3(bodies, k + 8 * OMEGA_TERM, load3(y, s + 8 * OMEGA))
        store3(bodies, size + k + 8 * POSITION_TERM, load3(y, s + 8 * VELOCITY))


@kernel
def add_loads(constants: np.ndarray, wrench: np.ndarray, bodies: np.ndarray, present: np.ndarray) -> None:
    """Add the constraint loads in `wrench` to the applied loads FORCE and TORQUE in `present`, inertial frame.

    `present` contains the Taylor coefficients of one order of all bodies, and `bodies` those of all orders. `constants`
    are the constants of the bodies.
    """
    for block in range(wrench.shape[0] // WRENCH):
        k, f = block * KIN, block * WRENCH
        # The moment is W^T R^T tau.
        tau = rows_times(bodies, k + 8 * ROTATION, columns_times(constants, block * CON + 8 * INVERSE_FACTOR,
                         load3(wrench, f + MOMENT)))  # fmt: skip
        store3(present, k + 8 * FORCE, plus(load3(present, k + 8 * FORCE), load3(wrench, f)))
        store3(present, k + 8 * TORQUE, plus(load3(present, k + 8 * TORQUE), tau))


@kernel
def free_terms(constants: np.ndarray, bodies: np.ndarray, size: int, order: int, weight: float) -> None:
    """Compute Taylor coefficient `order` of the unconstrained accelerations, and the resulting motion.

    The loads are FORCE, TORQUE and `weight` times gravity. The results are coefficient `order` + 2 of positions,
    coefficient `order` + 1 of angular velocities, and the coefficients of rotations up to `order` + 2. `size` is the
    number of elements of one order in `bodies`. `constants` are the constants of the bodies.
    """
    for block in range(size // KIN):
        k, c = block * KIN, block * CON
        here = order * size + k
        linear = times(load3(bodies, here + 8 * FORCE), load(constants, c + 8 * INVERSE_MASS))
        if order == 0:
            linear = plus(linear, times(load3(constants, c + 8 * GRAVITY), weight))
        store3(bodies, here + 2 * size + 8 * POSITION_TERM, times(linear, 1.0 / ((order + 1) * (order + 2))))
        turn(bodies, size, k, order + 1)
        zero = splat(0.0)
        torque = zero, zero, zero
        for m in range(order + 1):
            one, other = m * size + k, (order - m) * size + k
            torque = plus(torque, columns_times(bodies, one + 8 * ROTATION, load3(bodies, other + 8 * TORQUE)))
            momentum = rows_times(constants, c + 8 * UNLIKE, load3(bodies, one + 8 * OMEGA_TERM))
            torque = plus(torque, cross(momentum, load3(bodies, other + 8 * OMEGA_TERM)))
        alpha = rows_times(constants, c + 8 * FACTOR, columns_times(constants, c + 8 * FACTOR, torque))
        store3(bodies, here + size + 8 * OMEGA_TERM, times(alpha, 1.0 / (order + 1)))
        spin = zero, zero, zero
        for m in range(order + 2):
            body_spin = load3(bodies, (order + 1 - m) * size + k + 8 * OMEGA_TERM)
            spin = plus(spin, rows_times(bodies, m * size + k + 8 * ROTATION, body_spin))
        store3(bodies, here + size + 8 * SPIN, spin)
        turn(bodies, size, k, order + 2)


@kernel
def turn(bodies: np.ndarray, size: int, k: int, order: int) -> None:
    """Compute Taylor coefficient `order` of the rotation matrices of eight bodies from R' = omega x R.

    The coefficients of order 0 of these bodies begin at element k of `bodies`; `size` is the number of elements of one
    order.
    """
    for column in range(3):
        zero = splat(0.0)
        rate = zero, zero, zero
        for m in range(order):
            a = (order - 1 - m) * size + k + 8 * (ROTATION + column)
            axis = load(bodies, a), load(bodies, a + 24), load(bodies, a + 48)
            rate = plus(rate, cross(load3(bodies, m * size + k + 8 * SPIN), axis))
        o, scale = order * size + k + 8 * (ROTATION + column), 1.0 / order
        store(bodies, o, scale * rate[0])
        store(bodies, o + 24, scale * rate[1])
        store(bodies, o + 48, scale * rate[2])


@kernel
def add_constraint_accelerations(
    constants: np.ndarray, wrench: np.ndarray, bodies: np.ndarray, size: int, order: int
) -> None:
    """Add the accelerations due to the constraint loads in `wrench` to Taylor coefficient `order` of the motion.

    Positions change at `order` + 2, angular velocities at `order` + 1. `size` is the number of elements of one order in
    `bodies`. `constants` are the constants of the bodies.
    """
    for block in range(size // KIN):
        c, f, here = block * CON, block * WRENCH, order * size + block * KIN
        scale = 1.0 / ((order + 1) * (order + 2))
        o = here + 2 * size + 8 * POSITION_TERM
        shift = times(load3(wrench, f), scale * load(constants, c + 8 * INVERSE_MASS))
        store3(bodies, o, plus(load3(bodies, o), shift))
        moment = times(load3(wrench, f + MOMENT), 1.0 / (order + 1))
        o = here + size + 8 * OMEGA_TERM
        turned = rows_times(constants, c + 8 * FACTOR, moment)
        store3(bodies, o, plus(load3(bodies, o), turned))
        o = here + size + 8 * SPIN
        store3(bodies, o, plus(load3(bodies, o), rows_times(bodies, block * KIN + 8 * ROTATION, turned)))
