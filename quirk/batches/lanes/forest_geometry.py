"""Joints of a spanning forest in SIMD lanes: arms, axes and deviations from the constraints.

Names of arguments in this file: t is the index of a joint of the forest. `joints` contains the integer data of each
joint: its bodies and the motions that it restricts; `numbers` are constants. An argument such as o, f or `rest` is the
offset in a flat array at which data begin: o for a joint and f for a degree of freedom, both in `work`, and `rest` for
an inertia. The layout of the arrays is in `quirk.batches.lanes.records`.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, splat, store

from .records import (
    ARM_CHILD,
    ARM_PARENT,
    AXIS_I,
    AXIS_J,
    BIAS,
    CHILD,
    CHILD_IS_J,
    COINCIDES,
    DIRECTION,
    DUALS,
    FREEDOM,
    FREEDOMS,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    JOINT_WORK,
    OFFSET,
    PARENT,
    REACH_CHILD,
    REACH_PARENT,
    ROTATION_ROWS,
    ROTATIONS,
    ROW_NUMBERS,
    SHIFT,
    TURN,
)


@kernel
def place(joints: np.ndarray, numbers: np.ndarray, kin: np.ndarray, work: np.ndarray, t: int) -> None:
    """Compute the geometry of joint t: arms, dual vectors, free directions, and prescribed relative acceleration.

    The bodies of the joint and the motions that it restricts are read from `joints`, its arms and axes from `numbers`,
    and the kinematics of bodies from `kin`; the results are written to `work`.
    """
    e, n, o = JOINT_ENTRIES * t, 8 * JOINT_NUMBERS * t, 8 * JOINT_WORK * t
    child, parent = KIN * at(joints, e + CHILD), KIN * at(joints, e + PARENT)
    r_c = rows_times(kin, child + 8 * ROTATION, load3(numbers, n + 8 * ARM_CHILD))
    r_p = rows_times(kin, parent + 8 * ROTATION, load3(numbers, n + 8 * ARM_PARENT))
    store3(work, o + 8 * REACH_CHILD, r_c)
    store3(work, o + 8 * REACH_PARENT, r_p)
    w_c, w_p = load3(kin, child + 8 * SPIN), load3(kin, parent + 8 * SPIN)
    if at(joints, e + COINCIDES) != 0:
        store3(work, o + 8 * SHIFT, minus(cross(w_p, cross(w_p, r_p)), cross(w_c, cross(w_c, r_c))))
    rows = at(joints, e + ROTATIONS)
    if rows == 0:
        return
    # With w of j relative to i and n = u x v: (u . v)'' = -(a + w x w_i) . n - (w x u) . (w x v).
    on_i, on_j, w_i, w_j, sign = parent, child, w_p, w_c, 1.0
    if at(joints, e + CHILD_IS_J) == 0:
        on_i, on_j, w_i, w_j, sign = child, parent, w_c, w_p, -1.0
    w = minus(w_j, w_i)
    for k in range(rows):
        row = n + 8 * (ROTATION_ROWS + ROW_NUMBERS * k)
        u = rows_times(kin, on_i + 8 * ROTATION, load3(numbers, row + 8 * AXIS_I))
        v = rows_times(kin, on_j + 8 * ROTATION, load3(numbers, row + 8 * AXIS_J))
        store3(work, o + 8 * (DUALS + 3 * k), cross(u, v))
        store(work, o + 8 * (BIAS + k), dot(cross(w, u), cross(w, v)))
        if rows == 1:
            store3(work, o + 8 * (freedoms_at(joints, e) + DIRECTION), u)
            store3(work, o + 8 * (freedoms_at(joints, e) + FREEDOM + DIRECTION), v)
    invert(work, o, o + 8 * (freedoms_at(joints, e) + DIRECTION), rows)
    turn = times(cross(w, w_i), -1.0)
    for k in range(rows):
        bend = load(work, o + 8 * (BIAS + k))
        turn = minus(turn, times(load3(work, o + 8 * (DUALS + 3 * k)), bend))
    store3(work, o + 8 * TURN, times(turn, sign))


@kernel
def freedoms_at(joints: np.ndarray, e: int) -> int:
    """Return the offset of the first rotational degree of freedom in the data of a joint in the array `work`.

    The integer data of the joint (bodies and restricted motions) begin at element e of `joints`.
    """
    return FREEDOMS if at(joints, e + COINCIDES) != 0 else FREEDOMS + 3 * FREEDOM


@kernel
def invert(work: np.ndarray, o: int, axis: int, rows: int) -> None:
    """Replace the normals of the 1 to 3 rotation rows of a joint by their dual basis, in inertial axes.

    The dual vectors d_k span the same space as the normals n_k, with d_k . n_m = 1 if k = m and otherwise 0. The data
    of the joint begin at offset o of `work`, the normals at offset DUALS from there. If there are two rows, the axis of
    free rotation n_1 x n_2, not normalized, is written to `work` at offset `axis`.
    """
    a = load3(work, o + 8 * DUALS)
    if rows == 1:
        store3(work, o + 8 * DUALS, times(a, 1.0 / dot(a, a)))
        return
    b = load3(work, o + 8 * (DUALS + 3))
    normal = cross(a, b)
    if rows == 2:
        scale = 1.0 / dot(normal, normal)
        store3(work, axis, normal)
        store3(work, o + 8 * DUALS, times(cross(b, normal), scale))
        store3(work, o + 8 * (DUALS + 3), times(cross(normal, a), scale))
        return
    c = load3(work, o + 8 * (DUALS + 6))
    scale = 1.0 / dot(normal, c)
    store3(work, o + 8 * DUALS, times(cross(b, c), scale))
    store3(work, o + 8 * (DUALS + 3), times(cross(c, a), scale))
    store3(work, o + 8 * (DUALS + 6), times(normal, scale))


@kernel
def deviate(
    joints: np.ndarray, numbers: np.ndarray, y: np.ndarray, kin: np.ndarray, work: np.ndarray, t: int, level: int
) -> None:
    """Set the relative displacement prescribed by the constraint rows of joint t to minus their violation.

    `level` is 0 for poses and 1 for velocities, and y are the states. The other arguments are as in `place`; the
    displacement is written to `work`.
    """
    e, n, o = JOINT_ENTRIES * t, 8 * JOINT_NUMBERS * t, 8 * JOINT_WORK * t
    child, parent = at(joints, e + CHILD), at(joints, e + PARENT)
    c, p = KIN * child, KIN * parent
    w_c, w_p = load3(kin, c + 8 * SPIN), load3(kin, p + 8 * SPIN)
    if at(joints, e + COINCIDES) != 0:
        r_c = rows_times(kin, c + 8 * ROTATION, load3(numbers, n + 8 * ARM_CHILD))
        r_p = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * ARM_PARENT))
        if level == 0:
            x_c, x_p = load3(y, STATE * child + 8 * POSITION), load3(y, STATE * parent + 8 * POSITION)
            # Subtract positions first: far from the origin their difference is exact, whereas sums with arms are not.
            store3(work, o + 8 * SHIFT, minus(minus(x_p, x_c), minus(r_c, r_p)))
        else:
            v_c, v_p = load3(y, STATE * child + 8 * VELOCITY), load3(y, STATE * parent + 8 * VELOCITY)
            store3(work, o + 8 * SHIFT, minus(minus(v_p, v_c), minus(cross(w_c, r_c), cross(w_p, r_p))))
    rows = at(joints, e + ROTATIONS)
    if rows == 0:
        return
    on_i, on_j, w_i, w_j, sign = p, c, w_p, w_c, 1.0
    if at(joints, e + CHILD_IS_J) == 0:
        on_i, on_j, w_i, w_j, sign = c, p, w_c, w_p, -1.0
    zero = splat(0.0)
    turn = (zero, zero, zero)
    for k in range(rows):
        row = n + 8 * (ROTATION_ROWS + ROW_NUMBERS * k)
        u = rows_times(kin, on_i + 8 * ROTATION, load3(numbers, row + 8 * AXIS_I))
        v = rows_times(kin, on_j + 8 * ROTATION, load3(numbers, row + 8 * AXIS_J))
        if level == 0:
            error = dot(u, v) - load(numbers, row + 8 * OFFSET)
        else:
            error = dot(cross(w_i, u), v) + dot(u, cross(w_j, v))
        turn = plus(turn, times(load3(work, o + 8 * (DUALS + 3 * k)), error))
    store3(work, o + 8 * TURN, times(turn, sign))
