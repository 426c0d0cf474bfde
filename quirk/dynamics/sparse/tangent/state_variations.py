"""Variations of a state in compiled code: their time derivatives and their projection onto the constraints.

A variation has the layout of a state (`quirk.dynamics.model.layout`), with the variation dq of the quaternion in place
of q, so that variations are integrated by the same sums of slopes as states. Up to eight variations are processed
simultaneously, as the directions of a derivative with the indices d.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model import layout
from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS, MOMENT, OMEGA, ORIENTATION, POSITION
from quirk.dynamics.model.vectors import body_vector, cross, dot, load3, plus, rows_times, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, store

from ..kernels.bodies import CON, POSES, STATE, WRENCH
from ..kernels.constraint_solve import MET, copy, set_constraint_loads
from ..kernels.mechanism import Mechanism
from ..kernels.workspace import PASSES
from .bodies import SHIFT, SPEED, SPINNING, TURN, move
from .elements import relation_tangents
from .tables import LEVELS, SEED, Tangents


@kernel
def seed(constants: np.ndarray, tangents: Tangents, y: np.ndarray, change: np.ndarray, d: int) -> None:
    """Set direction d of the derivatives, in tangents.seeds, to the variation `change` of the state y.

    `constants` are the constants of the bodies.
    """
    for slot in tangents.occupied:
        s, o = slot // 8 * STATE + slot % 8, SEED * slot + d
        q = s + 8 * ORIENTATION
        w, v, dw, dv = at(y, q), body_vector(y, q + 8), at(change, q), body_vector(change, q + 8)
        # The rotation is twice the vector part of q* dq, over the squared length.
        scale = 2.0 / (w * w + dot(v, v))
        turn = times(plus(plus(times(dv, w), times(v, -dw)), cross(dv, v)), scale)
        for c in range(3):
            put(tangents.seeds, o + SHIFT + 8 * c, at(change, s + 8 * (POSITION + c)))
            put(tangents.seeds, o + TURN + 8 * c, turn[c])
            put(tangents.seeds, o + SPEED + 8 * c, at(change, s + 8 * (layout.VELOCITY + c)))
            put(tangents.seeds, o + SPINNING + 8 * c, at(change, s + 8 * (OMEGA + c)))
    auxiliary = constants.shape[0] // CON * STATE
    for n in range(tangents.internal.shape[0] // 8):
        put(tangents.internal, 8 * n + d, at(change, auxiliary + n))


@kernel
def change_of_rates(
    mechanism: Mechanism, tangents: Tangents, y: np.ndarray, change: np.ndarray, d: int, slope: np.ndarray
) -> None:
    """Compute the time derivative of the variation `change` of the state y, in `slope`.

    The derivatives of the accelerations in this direction, with the index d, must have been computed before.
    """
    constants, size = mechanism.constants, mechanism.work.wrench.shape[0]
    wrench = tangents.wrenches[d * size : (d + 1) * size]
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        store3(slope, s + 8 * POSITION, load3(change, s + 8 * layout.VELOCITY))
        linear = times(load3(wrench, f), load(constants, c + 8 * INVERSE_MASS))
        store3(slope, s + 8 * layout.VELOCITY, linear)
        store3(slope, s + 8 * OMEGA, rows_times(constants, c + 8 * FACTOR, load3(wrench, f + MOMENT)))
        q = s + 8 * ORIENTATION
        w, v, omega = 0.5 * load(y, q), times(load3(y, q + 8), 0.5), load3(y, s + 8 * OMEGA)
        dw, dv, spinning = 0.5 * load(change, q), times(load3(change, q + 8), 0.5), load3(change, s + 8 * OMEGA)
        store(slope, q, -(dot(v, spinning) + dot(dv, omega)))
        by_spin, by_turn = plus(times(spinning, w), cross(v, spinning)), plus(times(omega, dw), cross(dv, omega))
        store3(slope, q + 8, plus(by_spin, by_turn))
    auxiliary = constants.shape[0] // CON * STATE
    for n in range(tangents.internal.shape[0] // 8):
        put(slope, auxiliary + n, at(tangents.rates, 8 * n + d))


@kernel
def keep_units(constants: np.ndarray, y: np.ndarray, change: np.ndarray) -> None:
    """Make the quaternion variations in `change` perpendicular to the quaternions of the state y.

    Varied quaternions then have unit norm to first order. `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        q = block * STATE + 8 * ORIENTATION
        w, v, dw, dv = load(y, q), load3(y, q + 8), load(change, q), load3(change, q + 8)
        along = w * dw + dot(v, dv)
        store(change, q, dw - along * w)
        store3(change, q + 8, plus(dv, times(v, -1.0 * along)))


@component(effort=3)
def project_variations(
    mechanism: Mechanism, tangents: Tangents, t: float, y: np.ndarray, ydot: np.ndarray, changes: np.ndarray, count: int
) -> None:
    """Project `count` variations of the last evaluated state y, at time t (s), onto the linearized constraints.

    The projection is orthogonal in the mass metric; the constraints include the effect of varied parameters. The
    function `keep_motion` must have been called after the evaluation. `changes` contains the variations, one after the
    other, and `ydot` is y' at this state.
    """
    constants, work, size = mechanism.constants, mechanism.work, y.shape[0]
    for d in range(count):
        keep_units(constants, y, changes[d * size : (d + 1) * size])
    if work.x.shape[0] == 0:
        return
    for level in range(2):
        for d in range(count):
            seed(constants, tangents, y, changes[d * size : (d + 1) * size], d)
        move(tangents.occupied, tangents.seeds, tangents.moving, y, work.kin, ydot)
        relation_tangents(tangents, t, y, work.kin, False)
        for d in range(count):
            for lane in range(work.x.shape[0]):
                put(work.rhs, lane, -at(tangents.levels, 8 * (LEVELS * lane + level) + d))
            set_constraint_loads(mechanism, max(2, int(work.summary[PASSES])), MET)
            displace_change(constants, y, work.wrench, level, changes[d * size : (d + 1) * size])


@kernel
def displace_change(constants: np.ndarray, y: np.ndarray, wrench: np.ndarray, level: int, change: np.ndarray) -> None:
    """Add M^-1 times the loads `wrench` to the poses or velocities of a variation `change` of the state y.

    M is the mass matrix; `level` selects poses or velocities. `constants` are the constants of the bodies.
    """
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        shift = times(load3(wrench, f), load(constants, c + 8 * INVERSE_MASS))
        turn = rows_times(constants, c + 8 * FACTOR, load3(wrench, f + MOMENT))
        if level == POSES:
            store3(change, s + 8 * POSITION, plus(load3(change, s + 8 * POSITION), shift))
            q, half = s + 8 * ORIENTATION, times(turn, 0.5)
            w, v = load(y, q), load3(y, q + 8)
            store(change, q, load(change, q) - dot(v, half))
            store3(change, q + 8, plus(load3(change, q + 8), plus(times(half, w), cross(v, half))))
        else:
            store3(change, s + 8 * layout.VELOCITY, plus(load3(change, s + 8 * layout.VELOCITY), shift))
            store3(change, s + 8 * OMEGA, plus(load3(change, s + 8 * OMEGA), turn))


@kernel
def copy_variations(source: np.ndarray, target: np.ndarray, count: int, stride: int, first: int, size: int) -> None:
    """Copy `count` variations of `size` elements from `source` to `target`.

    In `target` they begin at element `first`, at intervals of `stride` elements.
    """
    for d in range(count):
        copy(source[d * size : (d + 1) * size], target[d * stride + first : d * stride + first + size])


@kernel
def extent(blocks: int, change: np.ndarray, length: float, h: float) -> float:
    """Return the largest magnitude of a displacement, rotation or velocity of a body in a variation, in rad.

    `change` is the variation. Translations are divided by `length` (m) and velocities multiplied by the time h (s).
    `blocks` is the number of blocks of eight bodies.
    """
    found = 0.0
    for slot in range(8 * blocks):
        s = slot // 8 * STATE + slot % 8
        for c in range(3):
            found = max(found, abs(at(change, s + 8 * (POSITION + c))) / length)
            found = max(found, h * abs(at(change, s + 8 * (layout.VELOCITY + c))) / length)
            found = max(found, h * abs(at(change, s + 8 * (OMEGA + c))))
        for c in range(4):
            found = max(found, abs(at(change, s + 8 * (ORIENTATION + c))))
    return found
