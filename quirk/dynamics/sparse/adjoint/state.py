"""Backward propagation of gradients through the evaluation of y' and through the projection at one state, compiled.

Variations dQ of the loads and dPhi" of the second derivatives of the constraint residuals change the accelerations by P
M^-1 dQ - M^-1 A^T S^-1 dPhi", with the constraint rows A, the mass matrix M, the projector P onto the motions allowed
by the constraints, and S = A M^-1 A^T. The adjoint requires the solution of the same linear equations, with the
gradient with respect to the accelerations as right-hand side: the resulting motion is the gradient with respect to the
loads, and the multipliers are the gradient with respect to the rows. Both are then propagated to force laws and
relations (constraints given by functions), and to the inertial forces of bodies. "The gradient with respect to x"
consists of the derivatives of the scalar function of the run with respect to x. A slot is the position of a body in the
arrays. A dual number has a value and derivatives along eight directions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import (
    FACTOR,
    GRAVITY,
    INVERSE_MASS,
    MASS,
    MOMENT,
    OMEGA,
    ORIENTATION,
    POSITION,
    UNLIKE,
)
from quirk.dynamics.model.layout import VELOCITY as SPEED
from quirk.dynamics.model.vectors import (
    add3,
    body_columns_times,
    body_rows_times,
    body_vector,
    cross,
    dot,
    minus,
    plus,
    times,
    turned,
)
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import add, at, put, splat, store

from ..kernels.bodies import CON, KIN, POSES, STATE, WRENCH
from ..kernels.constraint_solve import add_constraint_loads, clear
from ..kernels.mechanism import Mechanism
from ..kernels.workspace import PASSES
from ..tangent.bodies import inertial_moment, move
from ..tangent.motion_tangents import keep_motion
from ..tangent.tables import LEVELS, Tangents
from .elements import OF_BODY, ON_BODY, Sums, laws_back, relations_back

# Number of derivatives per body: with respect to its mass and to the nine components of its inertia, row by row.
NUMBERS = 10


@record
class Pullback(NamedTuple):
    """Data for the backward propagation of gradients at one state, for S slots (positions of bodies in the arrays).

    SEED is the number of elements per slot, see `quirk.dynamics.sparse.tangent.tables`.

    Attributes
    ----------
    tangents : functions of dual numbers, and derivatives of the motion
    sums : gradients with respect to loads, rows and inputs
    seeds : (2 SEED S,) six directions of the pose of each body, and six of its velocity
    numbers : (10 S,) derivatives with respect to masses and inertias, summed over the run
    gravity : (8,) derivatives with respect to gravity, summed over the run
    """

    tangents: Tangents
    sums: Sums
    seeds: np.ndarray
    numbers: np.ndarray
    gravity: np.ndarray


@kernel
def pull_rates(
    mechanism: Mechanism,
    pullback: Pullback,
    t: float,
    y: np.ndarray,
    ydot: np.ndarray,
    alpha: float,
    beta: float,
    slope_gradient: np.ndarray,
    into: np.ndarray,
) -> None:
    """Compute the gradient with respect to the state y, `into`, from the gradient with respect to y', `slope_gradient`.

    The last evaluation must have been at the state y and time t (s), with the result `ydot`. `alpha` and `beta` are
    Baumgarte's rates, 1/s.
    """
    constants, work, sums = mechanism.constants, mechanism.work, pullback.sums
    clear(into)
    prepare(mechanism, pullback, y, ydot)
    clear(work.wrench)
    for slot in range(sums.free.shape[0]):
        b, lane = slot // 8, slot % 8
        s, c, f = b * STATE + lane, b * CON + lane, b * WRENCH + lane
        add3(work.wrench, f, body_vector(slope_gradient, s + 8 * SPEED), 1.0)
        add3(
            work.wrench,
            f + MOMENT,
            body_columns_times(constants, c + 8 * FACTOR, body_vector(slope_gradient, s + 8 * OMEGA)),
            1.0,
        )
    if work.x.shape[0] > 0:
        clear(work.goal)
        add_constraint_loads(mechanism, max(2, int(work.summary[PASSES])))
    for lane in range(work.x.shape[0]):
        x = at(work.x, lane)
        put(sums.levels, LEVELS * lane, beta * beta * x)
        put(sums.levels, LEVELS * lane + 1, 2.0 * alpha * x)
        put(sums.levels, LEVELS * lane + 2, x)
    pull_bodies(mechanism, pullback, y, ydot)
    auxiliary = constants.shape[0] // CON * STATE
    laws_back(pullback.tangents, sums, mechanism.forces, t, slope_gradient, into, auxiliary)
    relations_back(mechanism, pullback.tangents, sums, t, y, True)
    pull_motions(sums, y, into)
    pull_quaternions(sums, y, slope_gradient, into)


@kernel
def prepare(mechanism: Mechanism, pullback: Pullback, y: np.ndarray, ydot: np.ndarray) -> None:
    """Prepare the computation of gradients at the last evaluated state y, with y' in `ydot`.

    The multipliers and accelerations of the evaluation are copied. The derivatives of the motion of each body in six
    directions of its pose, and in six of its velocity, are computed.
    """
    keep_motion(mechanism, pullback.tangents, ydot)
    seeds, moving = pullback.seeds.shape[0] // 2, pullback.sums.moving.shape[0] // 2
    for level in range(2):
        move(
            pullback.tangents.occupied, pullback.seeds[level * seeds : (level + 1) * seeds],
            pullback.sums.moving[level * moving : (level + 1) * moving], y, mechanism.work.kin, ydot,
        )  # fmt: skip
    clear(pullback.sums.bodies)
    clear(pullback.sums.loads)


@kernel
def pull_bodies(mechanism: Mechanism, pullback: Pullback, y: np.ndarray, ydot: np.ndarray) -> None:
    """Compute the gradients with respect to the loads, motion, masses and inertias of bodies.

    The last evaluation must have been at the state y, with the result `ydot`. The computation is the transpose of
    `differentiate_unbalanced_loads`.
    """
    constants, work, sums = mechanism.constants, mechanism.work, pullback.sums
    for slot in range(sums.free.shape[0]):
        if sums.free[slot] == 0:
            continue
        b, lane = slot // 8, slot % 8
        s, k, c, f = b * STATE + lane, b * KIN + lane, b * CON + lane, b * WRENCH + lane
        force = times(body_vector(work.wrench, f), at(constants, c + 8 * INVERSE_MASS))
        u = body_rows_times(constants, c + 8 * FACTOR, body_vector(work.wrench, f + MOMENT))
        moment = turned(work.kin, k, u)
        a, alpha, omega = (
            body_vector(ydot, s + 8 * SPEED),
            body_vector(ydot, s + 8 * OMEGA),
            body_vector(y, s + 8 * OMEGA),
        )
        for i in range(3):
            put(sums.loads, ON_BODY * slot + i, force[i])
            put(sums.loads, ON_BODY * slot + 3 + i, moment[i])
        weight = minus(body_vector(constants, c + 8 * GRAVITY), a)
        add(pullback.numbers, NUMBERS * slot, dot(force, weight))
        momentum = body_rows_times(constants, c + 8 * UNLIKE, omega)
        inertial = inertial_moment(constants, c, alpha)
        by_turn = cross(u, plus(inertial, cross(omega, momentum)))
        across = cross(u, omega)
        by_spin = minus(cross(u, momentum), body_rows_times(constants, c + 8 * UNLIKE, across))
        for i in range(3):
            add(pullback.gravity, i, at(constants, c + 8 * MASS) * force[i])
            add(sums.bodies, OF_BODY * slot + 3 + i, by_turn[i])
            add(sums.bodies, OF_BODY * slot + 11 + i, by_spin[i])
            for j in range(3):
                add(pullback.numbers, NUMBERS * slot + 1 + 3 * i + j, -(u[i] * alpha[j] + across[i] * omega[j]))


@kernel
def pull_motions(sums: Sums, y: np.ndarray, into: np.ndarray) -> None:
    """Add the gradient with respect to the motion of all bodies to the gradient with respect to the state y, `into`.

    `sums.bodies` is the gradient with respect to displacement, rotation, velocity and angular velocity of each body;
    `into` refers to the components of the state, which include quaternions. The computation is the transpose of
    `tangent.state_variations.seed`.
    """
    for slot in range(sums.free.shape[0]):
        if sums.free[slot] == 0:
            continue
        s, o = slot // 8 * STATE + slot % 8, OF_BODY * slot
        shift = at(sums.bodies, o), at(sums.bodies, o + 1), at(sums.bodies, o + 2)
        turn = at(sums.bodies, o + 3), at(sums.bodies, o + 4), at(sums.bodies, o + 5)
        speed = at(sums.bodies, o + 8), at(sums.bodies, o + 9), at(sums.bodies, o + 10)
        spin = at(sums.bodies, o + 11), at(sums.bodies, o + 12), at(sums.bodies, o + 13)
        add3(into, s + 8 * POSITION, shift, 1.0)
        add3(into, s + 8 * SPEED, speed, 1.0)
        add3(into, s + 8 * OMEGA, spin, 1.0)
        q = s + 8 * ORIENTATION
        w, v = at(y, q), body_vector(y, q + 8)
        scale = 2.0 / (w * w + dot(v, v))
        add(into, q, -scale * dot(turn, v))
        add3(into, q + 8, plus(times(turn, w), cross(v, turn)), scale)


@kernel
def pull_quaternions(sums: Sums, y: np.ndarray, slope_gradient: np.ndarray, into: np.ndarray) -> None:
    """Add the contribution of the rates of positions and quaternions to the gradient with respect to a state y, `into`.

    `slope_gradient` is the gradient with respect to y'.
    """
    for slot in range(sums.free.shape[0]):
        if sums.free[slot] == 0:
            continue
        s = slot // 8 * STATE + slot % 8
        add3(into, s + 8 * SPEED, body_vector(slope_gradient, s + 8 * POSITION), 1.0)
        q = s + 8 * ORIENTATION
        w, v, omega = 0.5 * at(y, q), times(body_vector(y, q + 8), 0.5), times(body_vector(y, s + 8 * OMEGA), 0.5)
        of_w, of_v = at(slope_gradient, q), body_vector(slope_gradient, q + 8)
        add3(into, s + 8 * OMEGA, plus(minus(times(of_v, w), times(v, of_w)), cross(of_v, v)), 1.0)
        add(into, q, dot(of_v, omega))
        add3(into, q + 8, minus(cross(omega, of_v), times(omega, of_w)), 1.0)


@kernel
def pull_projection(
    mechanism: Mechanism, pullback: Pullback, t: float, y: np.ndarray, ydot: np.ndarray, gradient: np.ndarray
) -> None:
    """Propagate `gradient` backward through the projection of the state y onto the constraints, in place.

    Before the call it is the gradient with respect to the projected state, and afterwards that with respect to y. The
    last evaluation must have been at the state y and time t (s), with the result `ydot`.
    """
    constants, work, sums = mechanism.constants, mechanism.work, pullback.sums
    prepare(mechanism, pullback, y, ydot)
    for level in range(1, -1, -1):
        if work.x.shape[0] == 0:
            break
        clear(work.wrench)
        for slot in range(sums.free.shape[0]):
            if sums.free[slot] != 0:
                weigh_displacement(constants, work.wrench, y, gradient, slot, level)
        clear(work.goal)
        add_constraint_loads(mechanism, max(2, int(work.summary[PASSES])))
        for o in range(0, sums.levels.shape[0], 8):
            store(sums.levels, o, splat(0.0))
        for lane in range(work.x.shape[0]):
            put(sums.levels, LEVELS * lane + level, at(work.x, lane))
        clear(sums.bodies)
        relations_back(mechanism, pullback.tangents, sums, t, y, False)
        pull_motions(sums, y, gradient)
    for slot in range(sums.free.shape[0]):
        q = slot // 8 * STATE + slot % 8 + 8 * ORIENTATION
        w, v = at(y, q), body_vector(y, q + 8)
        along = w * at(gradient, q) + dot(v, body_vector(gradient, q + 8))
        add(gradient, q, -along * w)
        add3(gradient, q + 8, v, -along)


@kernel
def weigh_displacement(
    constants: np.ndarray, wrench: np.ndarray, y: np.ndarray, gradient: np.ndarray, slot: int, level: int
) -> None:
    """Compute the gradient with respect to the displacement of one body in a projection, in `wrench`.

    The result has the form of a load: a force (inertial frame) and W^T times a moment (body axes), for the inverse
    inertia matrix W W^T. `gradient` is the gradient with respect to the projected state, `slot` the position of the
    body in the arrays, and `level` selects displacements of poses or of velocities. `constants` are the constants of
    the bodies, and y is the state.
    """
    b, lane = slot // 8, slot % 8
    s, c, f = b * STATE + lane, b * CON + lane, b * WRENCH + lane
    if level == POSES:
        q = s + 8 * ORIENTATION
        w, v, of_w, of_v = at(y, q), body_vector(y, q + 8), at(gradient, q), body_vector(gradient, q + 8)
        turn = times(plus(minus(times(of_v, w), times(v, of_w)), cross(of_v, v)), 0.5)
        add3(wrench, f, body_vector(gradient, s + 8 * POSITION), 1.0)
        add3(wrench, f + MOMENT, body_columns_times(constants, c + 8 * FACTOR, turn), 1.0)
    else:
        add3(wrench, f, body_vector(gradient, s + 8 * SPEED), 1.0)
        add3(
            wrench, f + MOMENT, body_columns_times(constants, c + 8 * FACTOR, body_vector(gradient, s + 8 * OMEGA)), 1.0
        )
