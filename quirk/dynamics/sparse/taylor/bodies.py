"""Taylor coefficients of the motion of bodies, eight bodies at a time.

The recurrences are those of r'' = F / m + g, J omega' = R^T T + J omega x omega in body axes, q' = q omega / 2, with R
made of products of q. What a load of the highest order adds, it adds in proportion: nothing is computed twice.
"""

from __future__ import annotations

import numpy as np

from quirk.compiled import inlined, kernel
from quirk.lanes import load, splat, store

from ...layout import (
    FACTOR,
    FORCE,
    INVERSE_FACTOR,
    INVERSE_MASS,
    METRIC,
    MOMENT,
    OMEGA,
    OMEGA_TERM,
    ORIENTATION,
    POSITION,
    POSITION_TERM,
    ROTATION,
    SPIN,
    TORQUE,
    UNLIKE,
    VELOCITY,
)
from ...vectors import columns_times, cross, dot, load3, plus, rows_times, store3, times
from ..kernels.bodies import CON, KIN, STATE, WRENCH

# In place of the metric, of which coefficients have no use: the quaternion, and J omega.
QUATERNION, MOMENTUM = METRIC, METRIC + 4


@kernel
def begin(constants: np.ndarray, y: np.ndarray, slope: np.ndarray, kin: np.ndarray, bodies: np.ndarray) -> None:
    """Fill what a state and its rates give: positions up to order 2, attitudes to 2, angular velocities to 1."""
    size = constants.shape[0] // CON * KIN
    for block in range(constants.shape[0] // CON):
        s, k, c = block * STATE, block * KIN, block * CON
        for row in range(9):
            store(bodies, k + 8 * (ROTATION + row), load(kin, k + 8 * (ROTATION + row)))
        store3(bodies, k + 8 * SPIN, load3(kin, k + 8 * SPIN))
        store3(bodies, k + 8 * POSITION_TERM, load3(y, s + 8 * POSITION))
        store3(bodies, size + k + 8 * POSITION_TERM, load3(y, s + 8 * VELOCITY))
        store3(bodies, 2 * size + k + 8 * POSITION_TERM, times(load3(slope, s + 8 * VELOCITY), 0.5))
        omega = load3(y, s + 8 * OMEGA)
        store3(bodies, k + 8 * OMEGA_TERM, omega)
        store3(bodies, k + 8 * MOMENTUM, rows_times(constants, c + 8 * UNLIKE, omega))
        store3(bodies, size + k + 8 * OMEGA_TERM, load3(slope, s + 8 * OMEGA))
        store(bodies, k + 8 * QUATERNION, load(y, s + 8 * ORIENTATION))
        store3(bodies, k + 8 * (QUATERNION + 1), load3(y, s + 8 * (ORIENTATION + 1)))
    turn(bodies, size, 1)
    turn(bodies, size, 2)
    spin(bodies, size, 1)


@kernel
def turn(bodies: np.ndarray, size: int, order: int) -> None:
    """Fill coefficient `order` > 0 of quaternions and rotations from those of lower orders and of the spins below."""
    for k in range(0, size, KIN):
        zero = splat(0.0)
        w, v = zero, (zero, zero, zero)
        for m in range(order):
            q = m * size + k + 8 * QUATERNION
            omega = load3(bodies, (order - 1 - m) * size + k + 8 * OMEGA_TERM)
            w = w - dot(load3(bodies, q + 8), omega)
            v = plus(v, plus(times(omega, load(bodies, q)), cross(load3(bodies, q + 8), omega)))
        scale = 0.5 / order
        o = order * size + k
        store(bodies, o + 8 * QUATERNION, scale * w)
        store3(bodies, o + 8 * (QUATERNION + 1), times(v, scale))
        rotate(bodies, size, k, order)


@inlined
def rotate(bodies: np.ndarray, size: int, k: int, order: int) -> None:
    """Fill coefficient `order` > 0 of the rotation of one block: products of the quaternion's components."""
    zero = splat(0.0)
    xx = yy = zz = xy = xz = yz = wx = wy = wz = zero
    for m in range(order + 1):
        a, b = m * size + k + 8 * QUATERNION, (order - m) * size + k + 8 * QUATERNION
        w, x, y = load(bodies, a), load(bodies, a + 8), load(bodies, a + 16)
        X, Y, Z = load(bodies, b + 8), load(bodies, b + 16), load(bodies, b + 24)
        xx, yy, zz = xx + x * X, yy + y * Y, zz + load(bodies, a + 24) * Z
        xy, xz, yz = xy + x * Y, xz + x * Z, yz + y * Z
        wx, wy, wz = wx + w * X, wy + w * Y, wz + w * Z
    o = order * size + k + 8 * ROTATION
    store3(bodies, o, times((zero - (yy + zz), xy - wz, xz + wy), 2.0))
    store3(bodies, o + 24, times((xy + wz, zero - (xx + zz), yz - wx), 2.0))
    store3(bodies, o + 48, times((xz - wy, yz + wx, zero - (xx + yy)), 2.0))


@kernel
def spin(bodies: np.ndarray, size: int, order: int) -> None:
    """Fill coefficient `order` of the angular velocities in N, R omega."""
    for k in range(0, size, KIN):
        zero = splat(0.0)
        found = zero, zero, zero
        for m in range(order + 1):
            omega = load3(bodies, (order - m) * size + k + 8 * OMEGA_TERM)
            found = plus(found, rows_times(bodies, m * size + k + 8 * ROTATION, omega))
        store3(bodies, order * size + k + 8 * SPIN, found)


@kernel
def clear_loads(bodies: np.ndarray, size: int, order: int) -> None:
    """Set the loads of one order to zero."""
    for k in range(order * size, (order + 1) * size, KIN):
        for c in range(6):
            store(bodies, k + 8 * (FORCE + c), splat(0.0))


@kernel
def accelerate(constants: np.ndarray, bodies: np.ndarray, size: int, order: int) -> None:
    """Fill coefficient `order` > 0 of the accelerations under the loads known, and with them what is two orders on."""
    for block in range(constants.shape[0] // CON):
        k, c = block * KIN, block * CON
        here, zero = order * size + k, splat(0.0)
        omega = load3(bodies, here + 8 * OMEGA_TERM)
        store3(bodies, here + 8 * MOMENTUM, rows_times(constants, c + 8 * UNLIKE, omega))
        linear = times(load3(bodies, here + 8 * FORCE), load(constants, c + 8 * INVERSE_MASS))
        store3(bodies, here + 2 * size + 8 * POSITION_TERM, times(linear, 1.0 / ((order + 1) * (order + 2))))
        torque = zero, zero, zero
        for m in range(order + 1):
            one, other = m * size + k, (order - m) * size + k
            torque = plus(torque, columns_times(bodies, one + 8 * ROTATION, load3(bodies, other + 8 * TORQUE)))
            torque = plus(torque, cross(load3(bodies, one + 8 * MOMENTUM), load3(bodies, other + 8 * OMEGA_TERM)))
        alpha = rows_times(constants, c + 8 * FACTOR, columns_times(constants, c + 8 * FACTOR, torque))
        store3(bodies, here + size + 8 * OMEGA_TERM, times(alpha, 1.0 / (order + 1)))


@kernel
def release(constants: np.ndarray, wrench: np.ndarray, bodies: np.ndarray, size: int, order: int) -> None:
    """Add constraint loads of one order: to the loads, and what follows from them to the motion two orders on."""
    for block in range(constants.shape[0] // CON):
        k, c, f = block * KIN, block * CON, block * WRENCH
        here, force, moment = order * size + k, load3(wrench, f), load3(wrench, f + MOMENT)
        store3(bodies, here + 8 * FORCE, plus(load3(bodies, here + 8 * FORCE), force))
        # The moment is W^T R^T tau.
        tau = rows_times(bodies, k + 8 * ROTATION, columns_times(constants, c + 8 * INVERSE_FACTOR, moment))
        store3(bodies, here + 8 * TORQUE, plus(load3(bodies, here + 8 * TORQUE), tau))
        shift = times(force, load(constants, c + 8 * INVERSE_MASS) * (1.0 / ((order + 1) * (order + 2))))
        o = here + 2 * size + 8 * POSITION_TERM
        store3(bodies, o, plus(load3(bodies, o), shift))
        change = times(rows_times(constants, c + 8 * FACTOR, moment), 1.0 / (order + 1))
        o = here + size + 8 * OMEGA_TERM
        store3(bodies, o, plus(load3(bodies, o), change))
        o = here + size + 8 * SPIN
        store3(bodies, o, plus(load3(bodies, o), rows_times(bodies, k + 8 * ROTATION, change)))
        turn_further(bodies, k, here + 2 * size, times(change, 1.0 / (order + 2)))


@inlined
def turn_further(bodies: np.ndarray, k: int, o: int, theta: object) -> None:
    """Add to a coefficient of quaternion and rotation, at o, those of a small turn theta in body axes."""
    w, v = load(bodies, k + 8 * QUATERNION), load3(bodies, k + 8 * (QUATERNION + 1))
    half = times(theta, 0.5)
    store(bodies, o + 8 * QUATERNION, load(bodies, o + 8 * QUATERNION) - dot(v, half))
    found = plus(times(half, w), cross(v, half))
    store3(bodies, o + 8 * (QUATERNION + 1), plus(load3(bodies, o + 8 * (QUATERNION + 1)), found))
    for row in range(3):
        r = 8 * (ROTATION + 3 * row)
        store3(bodies, o + r, plus(load3(bodies, o + r), cross(load3(bodies, k + r), theta)))


@kernel
def state_at(bodies: np.ndarray, size: int, order: int, h: float, y: np.ndarray) -> None:
    """Fill the state a time h later: positions and quaternions of this order, velocities of one order less."""
    for block in range(size // KIN):
        s, k, zero = block * STATE, block * KIN, splat(0.0)
        w = zero
        r = v = velocity = omega = zero, zero, zero
        for m in range(order, 0, -1):
            o = m * size + k
            term = load3(bodies, o + 8 * POSITION_TERM)
            r = times(plus(r, term), h)
            velocity = plus(times(velocity, h), times(term, 1.0 * m))
            w = (w + load(bodies, o + 8 * QUATERNION)) * h
            v = times(plus(v, load3(bodies, o + 8 * (QUATERNION + 1))), h)
            if m < order:
                omega = times(plus(omega, load3(bodies, o + 8 * OMEGA_TERM)), h)
        store3(y, s + 8 * POSITION, plus(load3(bodies, k + 8 * POSITION_TERM), r))
        store3(y, s + 8 * VELOCITY, velocity)
        store3(y, s + 8 * OMEGA, plus(load3(bodies, k + 8 * OMEGA_TERM), omega))
        store(y, s + 8 * ORIENTATION, load(bodies, k + 8 * QUATERNION) + w)
        store3(y, s + 8 * (ORIENTATION + 1), plus(load3(bodies, k + 8 * (QUATERNION + 1)), v))
