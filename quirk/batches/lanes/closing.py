"""Loop-closing constraint rows in SIMD lanes, and their multipliers.

The joints of a spanning forest are eliminated; the C remaining constraint rows A, with right-hand sides b, close the
loops of the system. With the accelerations a_0 of the forest without these rows, and its accelerations X due to a unit
multiplier of each row, the multipliers x solve A X x = b - A a_0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.constraints.primitives import COINCIDENCE, DISTANCE, DOT1
from quirk.dynamics.model.layout import POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, load, splat, store
from quirk.jit.tracing import traced

from .forest_motions import clear_freedom_accelerations, follow, gather_loads
from .records import (
    ALONG_I,
    ALONG_J,
    ANGULAR,
    ARM_I,
    ARM_J,
    AT_REST,
    BODY_I,
    BODY_J,
    BODY_LOAD,
    CHILD,
    CLOSING_NUMBERS,
    CLOSING_WORK,
    COMPONENT,
    CONSTANT,
    FORCE,
    GOAL,
    JOINT_ENTRIES,
    KIND,
    LOADED,
    MOMENT_I,
    MOMENT_J,
    MOVED,
    MULTIPLIER,
    RATIO,
    ROW_ENTRIES,
    LaneTables,
    LaneWork,
)

BODY = 8 * BODY_LOAD


@kernel
def close_row(
    closing: np.ndarray, numbers: np.ndarray, y: np.ndarray, kin: np.ndarray, work: np.ndarray, c: int
) -> None:
    """Compute the loads of a unit multiplier of loop-closing row c, in inertial axes, and its right-hand side.

    The kind and the bodies of the row are read from `closing` and its constants from `numbers`; y are the states and
    `kin` the kinematics of the bodies. The force, the moments and the right-hand side are written to `work`.
    """
    e, n, o = ROW_ENTRIES * c, 8 * CLOSING_NUMBERS * c, 8 * CLOSING_WORK * c
    i, j, kind = at(closing, e + BODY_I), at(closing, e + BODY_J), at(closing, e + KIND)
    ki, kj = KIN * i, KIN * j
    w_i, w_j = load3(kin, ki + 8 * SPIN), load3(kin, kj + 8 * SPIN)
    zero = splat(0.0)
    if kind == DOT1:
        u = rows_times(kin, ki + 8 * ROTATION, load3(numbers, n + 8 * ALONG_I))
        v = rows_times(kin, kj + 8 * ROTATION, load3(numbers, n + 8 * ALONG_J))
        normal, w = cross(u, v), minus(w_j, w_i)
        store3(work, o + 8 * FORCE, (zero, zero, zero))
        store3(work, o + 8 * MOMENT_I, normal)
        store3(work, o + 8 * MOMENT_J, times(normal, -1.0))
        store(work, o + 8 * GOAL, dot(cross(w, w_i), normal) + dot(cross(w, u), cross(w, v)))
        return
    r_i = rows_times(kin, ki + 8 * ROTATION, load3(numbers, n + 8 * ARM_I))
    r_j = rows_times(kin, kj + 8 * ROTATION, load3(numbers, n + 8 * ARM_J))
    v_i, v_j = cross(w_i, r_i), cross(w_j, r_j)
    bend = minus(cross(w_j, v_j), cross(w_i, v_i))
    d = plus(minus(load3(y, STATE * j + 8 * POSITION), load3(y, STATE * i + 8 * POSITION)), minus(r_j, r_i))
    d1 = plus(minus(load3(y, STATE * j + 8 * VELOCITY), load3(y, STATE * i + 8 * VELOCITY)), minus(v_j, v_i))
    if kind == COINCIDENCE:
        # Axis of the component, with the same value in all lanes.
        axis = unit(zero, at(closing, e + COMPONENT))
        store3(work, o + 8 * FORCE, axis)
        store3(work, o + 8 * MOMENT_I, cross(axis, r_i))
        store3(work, o + 8 * MOMENT_J, cross(r_j, axis))
        store(work, o + 8 * GOAL, -dot(axis, bend))
    elif kind == DISTANCE:
        force = times(d, 2.0)
        store3(work, o + 8 * FORCE, force)
        store3(work, o + 8 * MOMENT_I, cross(force, r_i))
        store3(work, o + 8 * MOMENT_J, cross(r_j, force))
        store(work, o + 8 * GOAL, -2.0 * (dot(d1, d1) + dot(d, bend)))
    else:
        u = rows_times(kin, ki + 8 * ROTATION, load3(numbers, n + 8 * ALONG_I))
        u1 = cross(w_i, u)
        store3(work, o + 8 * FORCE, u)
        store3(work, o + 8 * MOMENT_I, plus(cross(u, d), cross(u, r_i)))
        store3(work, o + 8 * MOMENT_J, cross(r_j, u))
        store(work, o + 8 * GOAL, -(dot(cross(w_i, u1), d) + 2.0 * dot(u1, d1) + dot(u, bend)))


@kernel
def unit(zero: Any, component: int) -> Any:
    """Return the unit vector along inertial axis `component`, equal in all lanes; `zero` is a SIMD vector of zeros."""
    one = zero + 1.0
    if component == 0:
        return one, zero, zero
    if component == 1:
        return zero, one, zero
    return zero, zero, one


@kernel
def close_deviation(
    closing: np.ndarray, numbers: np.ndarray, y: np.ndarray, kin: np.ndarray, work: np.ndarray, c: int, level: int
) -> None:
    """Set the right-hand side of loop-closing row c to minus its violation.

    `level` is 0 for the violation by poses and 1 by velocities. The kind and the bodies of the row are read from
    `closing` and its constants from `numbers`; y are the states and `kin` the kinematics of the bodies. The right-hand
    side is written to `work`.
    """
    e, n, o = ROW_ENTRIES * c, 8 * CLOSING_NUMBERS * c, 8 * CLOSING_WORK * c
    i, j, kind = at(closing, e + BODY_I), at(closing, e + BODY_J), at(closing, e + KIND)
    ki, kj = KIN * i, KIN * j
    w_i, w_j = load3(kin, ki + 8 * SPIN), load3(kin, kj + 8 * SPIN)
    u = rows_times(kin, ki + 8 * ROTATION, load3(numbers, n + 8 * ALONG_I))
    u1, offset = cross(w_i, u), load(numbers, n + 8 * CONSTANT)
    if kind == DOT1:
        v = rows_times(kin, kj + 8 * ROTATION, load3(numbers, n + 8 * ALONG_J))
        error = dot(u, v) - offset if level == 0 else dot(u1, v) + dot(u, cross(w_j, v))
        store(work, o + 8 * GOAL, -error)
        return
    r_i = rows_times(kin, ki + 8 * ROTATION, load3(numbers, n + 8 * ARM_I))
    r_j = rows_times(kin, kj + 8 * ROTATION, load3(numbers, n + 8 * ARM_J))
    d = plus(minus(load3(y, STATE * j + 8 * POSITION), load3(y, STATE * i + 8 * POSITION)), minus(r_j, r_i))
    d1 = minus(load3(y, STATE * j + 8 * VELOCITY), load3(y, STATE * i + 8 * VELOCITY))
    d1 = plus(d1, minus(cross(w_j, r_j), cross(w_i, r_i)))
    if kind == COINCIDENCE:
        axis = unit(splat(0.0), at(closing, e + COMPONENT))
        error = dot(axis, d) if level == 0 else dot(axis, d1)
    elif kind == DISTANCE:
        error = dot(d, d) - offset if level == 0 else 2.0 * dot(d, d1)
    else:
        error = dot(u, d) - offset if level == 0 else dot(u1, d) + dot(u, d1)
    store(work, o + 8 * GOAL, -error)


@traced
def row_times(work: Any, o: Any, motion: Any, i: Any, j: Any) -> Any:
    """Return the product of a loop-closing constraint row and the accelerations of its two bodies.

    The row is stored at offset o of `work`, and the accelerations of bodies i and j at offsets i and j of `motion`.
    """
    by_force = dot(load3(work, o + 8 * FORCE), minus(load3(motion, j), load3(motion, i)))
    by_i = dot(load3(work, o + 8 * MOMENT_I), load3(motion, i + ANGULAR))
    return by_force + by_i + dot(load3(work, o + 8 * MOMENT_J), load3(motion, j + ANGULAR))


@kernel
def respond(tables: LaneTables, work: LaneWork, ground: int) -> None:
    """Compute the accelerations X due to unit multipliers of the loop-closing constraint rows A, and factorize A X.

    `ground` is the index of the ground, which equals the number of bodies.
    """
    joints, closing = tables.joints, tables.closing
    count, rows, size = joints.shape[0] // JOINT_ENTRIES, closing.shape[0] // ROW_ENTRIES, BODY * (ground + 1)
    zero = splat(0.0)
    if rows == 0:
        return
    for c in range(rows):
        o, e = 8 * CLOSING_WORK * c, ROW_ENTRIES * c
        i, j = BODY * at(closing, e + BODY_I), BODY * at(closing, e + BODY_J)
        for k in range(0, size, 8):
            store(work.load, k, zero)
        # Both bodies may be the same only if a joint connects a body with itself, which systems refuse.
        store3(work.load, i, load3(work.closing, o + 8 * FORCE))
        store3(work.load, i + ANGULAR, times(load3(work.closing, o + 8 * MOMENT_I), -1.0))
        store3(work.load, j, times(load3(work.closing, o + 8 * FORCE), -1.0))
        store3(work.load, j + ANGULAR, times(load3(work.closing, o + 8 * MOMENT_J), -1.0))
        for t in range(count - 1, -1, -1):
            if at(tables.reached, count * c + t) == LOADED:
                gather_loads(joints, work.joints, work.load, t, ground, False)
            elif at(tables.reached, count * c + t) == MOVED:
                clear_freedom_accelerations(joints, work.joints, t)
        for t in range(count):
            if at(tables.reached, count * c + t) == AT_REST:
                for k in range(0, BODY, 8):
                    store(work.motion, BODY * at(joints, JOINT_ENTRIES * t + CHILD) + k, zero)
            else:
                follow(joints, work.joints, work.motion, t, False)
        for k in range(0, size, 8):
            store(work.responses, size * c + k, load(work.motion, k))
        for l in range(c, rows):
            i, j = BODY * at(closing, ROW_ENTRIES * l + BODY_I), BODY * at(closing, ROW_ENTRIES * l + BODY_J)
            product = row_times(work.closing, 8 * CLOSING_WORK * l, work.motion, i, j)
            store(work.factor, 8 * (rows * l + c), product)
    for c in range(rows):
        diagonal = 8 * (rows * c + c)
        whole = load(work.factor, diagonal)
        pivot = whole
        for m in range(c):
            share = load(work.factor, 8 * (rows * c + m))
            pivot = pivot - share * share * load(work.factor, 8 * (rows * m + m))
        store(work.notes, 8 * RATIO, greater(load(work.notes, 8 * RATIO), whole / pivot))
        inverse = 1.0 / pivot
        store(work.factor, diagonal, inverse)
        for l in range(c + 1, rows):
            x = load(work.factor, 8 * (rows * l + c))
            for m in range(c):
                x = x - load(work.factor, 8 * (rows * l + m)) * load(work.factor, 8 * (rows * c + m)) * load(
                    work.factor, 8 * (rows * m + m)
                )
            store(work.factor, 8 * (rows * l + c), x)


@kernel
def close_loops(tables: LaneTables, work: LaneWork, ground: int) -> None:
    """Solve for the multipliers of the loop-closing rows, and add the resulting accelerations to `work`.

    `ground` is the index of the ground, which equals the number of bodies.
    """
    closing, rows, size = tables.closing, tables.closing.shape[0] // ROW_ENTRIES, BODY * (ground + 1)
    for c in range(rows):
        o, e = 8 * CLOSING_WORK * c, ROW_ENTRIES * c
        i, j = BODY * at(closing, e + BODY_I), BODY * at(closing, e + BODY_J)
        x = load(work.closing, o + 8 * GOAL) - row_times(work.closing, o, work.motion, i, j)
        for m in range(c):
            before = load(work.closing, 8 * (CLOSING_WORK * m + MULTIPLIER))
            share = load(work.factor, 8 * (rows * c + m)) * load(work.factor, 8 * (rows * m + m))
            x = x - share * before
        store(work.closing, o + 8 * MULTIPLIER, x)
    for k in range(rows):
        c = rows - 1 - k
        place = 8 * (CLOSING_WORK * c + MULTIPLIER)
        x = load(work.closing, place)
        for m in range(c + 1, rows):
            x = x - load(work.factor, 8 * (rows * m + c)) * load(work.closing, 8 * (CLOSING_WORK * m + MULTIPLIER))
        store(work.closing, place, x * load(work.factor, 8 * (rows * c + c)))
    for c in range(rows):
        x = load(work.closing, 8 * (CLOSING_WORK * c + MULTIPLIER))
        for k in range(0, size, 8):
            store(work.motion, k, load(work.motion, k) + x * load(work.responses, size * c + k))
