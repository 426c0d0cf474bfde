"""Taylor coefficients in time of the motion of bodies, eight bodies at a time.

A block is a group of eight bodies; order m means Taylor coefficient m. The coefficients of a block are contiguous, one
order after the other, so that sums over orders read memory sequentially. The recurrences follow from r'' = F / m + g, J
omega' = R^T T + J omega x omega in body axes, and q' = q omega / 2, with position r, force F, mass m, gravity g,
inertia J, angular velocity omega, rotation matrix R, torque T and quaternion q; R is a product of components of q.
Loads of the highest order enter linearly: their contributions are added to coefficients computed without these loads.
Arguments k and c are the indices of the first element of a block in the arrays of coefficients and of constants. Sums
over orders are accumulated in several independent parts for instruction-level parallelism.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import (
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
from quirk.dynamics.model.vectors import (
    column,
    columns_times,
    componentwise,
    cross,
    cyclic,
    dot,
    load3,
    minus,
    plus,
    rows_times,
    store3,
    times,
)
from quirk.jit.compilation import inlined, kernel
from quirk.jit.simd import halved, load, splat, store, zero_of

from ..kernels.bodies import CON, KIN, STATE, WRENCH

# Offsets of the quaternion and of J omega, stored in place of the metric, whose coefficients are not used.
QUATERNION, MOMENTUM = METRIC, METRIC + 4


@kernel
def begin(
    constants: np.ndarray, y: np.ndarray, slope: np.ndarray, kin: np.ndarray, bodies: np.ndarray, orders: int
) -> None:
    """Initialize the Taylor coefficients of the motion from a state y and its time derivative `slope`.

    The coefficients are those of poses up to order 2 and of angular velocities up to order 1. `orders` is the number of
    coefficients of each quantity in `bodies`; `kin` contains the kinematics of all bodies. `constants` are the
    constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, k, c, at_state = block * STATE, block * KIN * orders, block * CON, block * KIN
        for row in range(9):
            store(bodies, k + 8 * (ROTATION + row), load(kin, at_state + 8 * (ROTATION + row)))
        store3(bodies, k + 8 * SPIN, load3(kin, at_state + 8 * SPIN))
        store3(bodies, k + 8 * POSITION_TERM, load3(y, s + 8 * POSITION))
        store3(bodies, k + KIN + 8 * POSITION_TERM, load3(y, s + 8 * VELOCITY))
        store3(bodies, k + 2 * KIN + 8 * POSITION_TERM, times(load3(slope, s + 8 * VELOCITY), 0.5))
        omega = load3(y, s + 8 * OMEGA)
        store3(bodies, k + 8 * OMEGA_TERM, omega)
        store3(bodies, k + 8 * MOMENTUM, rows_times(constants, c + 8 * UNLIKE, omega))
        store3(bodies, k + KIN + 8 * OMEGA_TERM, load3(slope, s + 8 * OMEGA))
        store(bodies, k + 8 * QUATERNION, load(y, s + 8 * ORIENTATION))
        store3(bodies, k + 8 * (QUATERNION + 1), load3(y, s + 8 * (ORIENTATION + 1)))
        turn(bodies, k, 1)
        turn(bodies, k, 2)
        spin(bodies, k, 1)


@kernel
def advance(
    constants: np.ndarray, bodies: np.ndarray, orders: int, order: int, spinning: bool, full_blocks: int
) -> None:
    """Compute Taylor coefficient `order` > 0 of the accelerations under the current loads, and the resulting motion.

    Positions and rotations are then known up to `order` + 2, angular velocities up to `order` + 1. If `spinning`,
    angular velocities in the inertial frame, on which some elements depend, are also computed. The first `full_blocks`
    blocks of eight bodies are computed with vectors of eight elements; the others contain at most four bodies and are
    computed with vectors of four. `orders` is the number of coefficients of each quantity in `bodies`. `constants` are
    the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        c, k = block * CON, block * KIN * orders
        if block < full_blocks:
            advance_block(constants, c, bodies, k, order, spinning)
        else:
            advance_block(halved(constants), c, halved(bodies), k, order, spinning)


@kernel
def advance_block(constants: np.ndarray, c: int, bodies: np.ndarray, k: int, order: int, spinning: bool) -> None:
    """Compute Taylor coefficient `order` of the accelerations of eight bodies, and the resulting motion.

    The coefficients of the bodies begin at index k of `bodies`, and their constants at index c of `constants`. If
    `spinning`, coefficient `order` + 1 of the angular velocities in the inertial frame, on which some elements depend,
    is also computed.
    """
    accelerate(constants, c, bodies, k, order)
    turn(bodies, k, order + 2)
    if spinning:
        spin(bodies, k, order + 1)


@kernel
def accelerate(constants: np.ndarray, c: int, bodies: np.ndarray, k: int, order: int) -> None:
    """Compute Taylor coefficient `order` > 0 of the accelerations of eight bodies.

    The coefficients of the bodies begin at index k of `bodies`, and their constants at index c of `constants`.
    """
    here, zero = k + order * KIN, zero_of(bodies)
    omega = load3(bodies, here + 8 * OMEGA_TERM)
    store3(bodies, here + 8 * MOMENTUM, rows_times(constants, c + 8 * UNLIKE, omega))
    linear = times(load3(bodies, here + 8 * FORCE), load(constants, c + 8 * INVERSE_MASS))
    store3(bodies, here + 2 * KIN + 8 * POSITION_TERM, times(linear, 1.0 / ((order + 1) * (order + 2))))
    x = y = z = ahead = back = zero, zero, zero
    for m in range(order + 1):
        one, other = k + m * KIN, here - m * KIN
        rows, torque = one + 8 * ROTATION, load3(bodies, other + 8 * TORQUE)
        x = plus(x, times(load3(bodies, rows), torque[0]))
        y = plus(y, times(load3(bodies, rows + 24), torque[1]))
        z = plus(z, times(load3(bodies, rows + 48), torque[2]))
        momentum, omega = load3(bodies, one + 8 * MOMENTUM), load3(bodies, other + 8 * OMEGA_TERM)
        ahead, back = plus(ahead, cyclic(momentum, omega)), plus(back, cyclic(omega, momentum))
    moment = columns_times(constants, c + 8 * FACTOR, plus(plus(plus(x, y), z), minus(ahead, back)))
    alpha = rows_times(constants, c + 8 * FACTOR, moment)
    store3(bodies, here + KIN + 8 * OMEGA_TERM, times(alpha, 1.0 / (order + 1)))


@kernel
def turn(bodies: np.ndarray, k: int, order: int) -> None:
    """Compute Taylor coefficient `order` > 0 of quaternions and rotation matrices of eight bodies from lower orders.

    The coefficients of the bodies begin at element k of `bodies`.
    """
    zero = zero_of(bodies)
    w = v = ahead = back = zero, zero, zero
    o = k + order * KIN
    for m in range(order):
        q = k + m * KIN + 8 * QUATERNION
        omega = load3(bodies, o - (m + 1) * KIN + 8 * OMEGA_TERM)
        real, imaginary = load(bodies, q), load3(bodies, q + 8)
        w, v = plus(w, componentwise(imaginary, omega)), plus(v, times(omega, real))
        ahead, back = plus(ahead, cyclic(imaginary, omega)), plus(back, cyclic(omega, imaginary))
    scale = 0.5 / order
    store(bodies, o + 8 * QUATERNION, -scale * (w[0] + w[1] + w[2]))
    store3(bodies, o + 8 * (QUATERNION + 1), times(plus(v, minus(ahead, back)), scale))
    rotate(bodies, k, order)


@inlined
def rotate(bodies: np.ndarray, k: int, order: int) -> None:
    """Compute Taylor coefficient `order` > 0 of the rotation matrices of eight bodies from their quaternions.

    The coefficients of the bodies begin at element k of `bodies`.
    """
    zero = zero_of(bodies)
    xx = yy = zz = xy = xz = yz = wx = wy = wz = zero
    for m in range(order + 1):
        a, b = k + m * KIN + 8 * QUATERNION, k + (order - m) * KIN + 8 * QUATERNION
        w, x, y = load(bodies, a), load(bodies, a + 8), load(bodies, a + 16)
        X, Y, Z = load(bodies, b + 8), load(bodies, b + 16), load(bodies, b + 24)
        xx, yy, zz = xx + x * X, yy + y * Y, zz + load(bodies, a + 24) * Z
        xy, xz, yz = xy + x * Y, xz + x * Z, yz + y * Z
        wx, wy, wz = wx + w * X, wy + w * Y, wz + w * Z
    o = k + order * KIN + 8 * ROTATION
    store3(bodies, o, times((zero - (yy + zz), xy - wz, xz + wy), 2.0))
    store3(bodies, o + 24, times((xy + wz, zero - (xx + zz), yz - wx), 2.0))
    store3(bodies, o + 48, times((xz - wy, yz + wx, zero - (xx + yy)), 2.0))


@kernel
def spin(bodies: np.ndarray, k: int, order: int) -> None:
    """Compute Taylor coefficient `order` of the angular velocities R omega of eight bodies in the inertial frame.

    The coefficients of the bodies begin at element k of `bodies`.
    """
    zero = zero_of(bodies)
    x = y = z = zero, zero, zero
    for m in range(order + 1):
        rows, omega = k + m * KIN + 8 * ROTATION, load3(bodies, k + (order - m) * KIN + 8 * OMEGA_TERM)
        x = plus(x, times(column(bodies, rows, 0), omega[0]))
        y = plus(y, times(column(bodies, rows, 1), omega[1]))
        z = plus(z, times(column(bodies, rows, 2), omega[2]))
    store3(bodies, k + order * KIN + 8 * SPIN, plus(plus(x, y), z))


@kernel
def clear_loads(bodies: np.ndarray, orders: int, order: int) -> None:
    """Set Taylor coefficient `order` of the loads on all bodies to zero.

    `orders` is the number of coefficients of each quantity in `bodies`.
    """
    for k in range(order * KIN, bodies.shape[0], orders * KIN):
        for c in range(6):
            store(bodies, k + 8 * (FORCE + c), splat(0.0))


@kernel
def add_constraint_loads(
    constants: np.ndarray, wrench: np.ndarray, bodies: np.ndarray, orders: int, order: int, full_blocks: int
) -> None:
    """Add constraint loads to Taylor coefficient `order` of the loads, and their accelerations to the motion.

    The constraint loads in `wrench` change coefficient `order` + 2 of the poses. The first `full_blocks` blocks of
    eight bodies are computed with vectors of eight elements; the others contain at most four bodies and are computed
    with vectors of four. `orders` is the number of coefficients of each quantity in `bodies`. `constants` are the
    constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        c, f, k = block * CON, block * WRENCH, block * KIN * orders
        if block < full_blocks:
            add_constraint_loads_to_block(constants, c, wrench, f, bodies, k, order)
        else:
            add_constraint_loads_to_block(halved(constants), c, halved(wrench), f, halved(bodies), k, order)


@kernel
def add_constraint_loads_to_block(
    constants: np.ndarray, c: int, wrench: np.ndarray, f: int, bodies: np.ndarray, k: int, order: int
) -> None:
    """Add constraint loads to Taylor coefficient `order` of the loads on eight bodies, and update their motion.

    The constraint loads begin at index f of `wrench`, the coefficients of the bodies at index k of `bodies`, and their
    constants at index c of `constants`.
    """
    here, force, moment = k + order * KIN, load3(wrench, f), load3(wrench, f + MOMENT)
    store3(bodies, here + 8 * FORCE, plus(load3(bodies, here + 8 * FORCE), force))
    # The moment is W^T R^T tau.
    tau = rows_times(bodies, k + 8 * ROTATION, columns_times(constants, c + 8 * INVERSE_FACTOR, moment))
    store3(bodies, here + 8 * TORQUE, plus(load3(bodies, here + 8 * TORQUE), tau))
    shift = times(force, load(constants, c + 8 * INVERSE_MASS) * (1.0 / ((order + 1) * (order + 2))))
    o = here + 2 * KIN + 8 * POSITION_TERM
    store3(bodies, o, plus(load3(bodies, o), shift))
    change = times(rows_times(constants, c + 8 * FACTOR, moment), 1.0 / (order + 1))
    o = here + KIN + 8 * OMEGA_TERM
    store3(bodies, o, plus(load3(bodies, o), change))
    o = here + KIN + 8 * SPIN
    store3(bodies, o, plus(load3(bodies, o), rows_times(bodies, k + 8 * ROTATION, change)))
    turn_further(bodies, k, here + 2 * KIN, times(change, 1.0 / (order + 2)))


@inlined
def turn_further(bodies: np.ndarray, k: int, o: int, theta: object) -> None:
    """Add a small rotation to one Taylor coefficient of the quaternions and rotation matrices of eight bodies.

    `theta` are the coefficients of this order of the rotation vectors, in body axes. The coefficients of the bodies of
    this order begin at index o of `bodies`, those of order 0 at index k.
    """
    w, v = load(bodies, k + 8 * QUATERNION), load3(bodies, k + 8 * (QUATERNION + 1))
    half = times(theta, 0.5)
    store(bodies, o + 8 * QUATERNION, load(bodies, o + 8 * QUATERNION) - dot(v, half))
    found = plus(times(half, w), cross(v, half))
    store3(bodies, o + 8 * (QUATERNION + 1), plus(load3(bodies, o + 8 * (QUATERNION + 1)), found))
    for row in range(3):
        r = 8 * (ROTATION + 3 * row)
        store3(bodies, o + r, plus(load3(bodies, o + r), cross(load3(bodies, k + r), theta)))


@kernel
def state_at(bodies: np.ndarray, orders: int, order: int, h: float, y: np.ndarray) -> None:
    """Compute the state y at time h (s) after the expansion point from the Taylor series of the motion.

    The series of poses is used up to `order`, that of velocities up to `order` - 1. `orders` is the number of
    coefficients of each quantity in `bodies`.
    """
    for block in range(bodies.shape[0] // (KIN * orders)):
        s, k, zero = block * STATE, block * KIN * orders, splat(0.0)
        w = zero
        r = v = velocity = omega = zero, zero, zero
        for m in range(order, 0, -1):
            o = k + m * KIN
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
