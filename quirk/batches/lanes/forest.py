"""Joints of a spanning forest in SIMD lanes: geometry, and elimination of degrees of freedom by articulated inertias.

The articulated inertia I of a body, in inertial axes, is the inertia of the body with all its descendants in the
forest, which move relative to the body as their joints allow. The degrees of freedom n of each joint are eliminated one
after the other: U = I n, I <- I - U U^T / (n . U), as in `quirk.dynamics.sparse.kernels.articulated`.

Names of arguments in this file: t is the index of a joint of the forest. `joints` contains the integer data of each
joint: its bodies and the motions that it restricts; `numbers` are constants. An argument such as o, f or `rest` is the
offset in a flat array at which data begin: o for a joint and f for a degree of freedom, both in `work` (called `joints`
in `without_freedom`), and `rest` for an inertia. The layout of the arrays is in `quirk.batches.lanes.records`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.dynamics.sparse.kernels.inertia import entries, reduced, shift_momentum, shifted, symmetric, turn_momentum
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, splat, store
from quirk.jit.tracing import traced

from .records import (
    ALONE,
    ARM_CHILD,
    ARM_PARENT,
    AXIS_I,
    AXIS_J,
    BIAS,
    BODY_INERTIA,
    BODY_LOAD,
    CHILD,
    CHILD_IS_J,
    COINCIDES,
    COMPLIANCE,
    DIRECTION,
    DUALS,
    FREEDOM,
    FREEDOMS,
    INERTIA,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    JOINT_WORK,
    MOMENTUM,
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

ANGULAR = 24  # offset of angular components behind linear ones in loads and motions


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


@traced
def inertia_at(array: Any, o: Any) -> Any:
    """Return the inertia that is stored at offset o of `array`, as three blocks (3, 3).

    The blocks are translation-translation, translation-rotation, and rotation-rotation.
    """
    numbers = [load(array, o + 8 * k) for k in range(21)]
    return (
        symmetric(numbers[:6]),
        tuple(tuple(numbers[6 + 3 * i : 9 + 3 * i]) for i in range(3)),
        symmetric(numbers[15:]),
    )


@traced
def store_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Store an inertia, given as three blocks (3, 3), at offset o of `array`."""
    for k, x in enumerate(entries(inertia)):
        store(array, o + 8 * k, x)


@traced
def gather_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Add an inertia, given as three blocks (3, 3), to the inertia stored at offset o of `array`."""
    for k, x in enumerate(entries(inertia)):
        store(array, o + 8 * k, load(array, o + 8 * k) + x)


@traced
def without_freedom(joints: Any, f: Any, inertia: Any, momentum: Any) -> Any:
    """Return an articulated inertia I after elimination of one degree of freedom n: I - U U^T / (n . U), U = I n.

    `momentum` holds the linear and angular part of U, the momentum due to unit velocity along n, followed by n . U.
    These values are stored at offset f of `joints`, the quantities computed for the joints.
    """
    of_shifts, of_turns, resistance = momentum
    compliance = 1.0 / resistance
    store3(joints, f + 8 * MOMENTUM, of_shifts)
    store3(joints, f + 8 * (MOMENTUM + 3), of_turns)
    store(joints, f + 8 * COMPLIANCE, compliance)
    return reduced(inertia, momentum, compliance)


@traced
def store_bias(work: Any, o: Any, inertia: Any) -> None:
    """Compute and store the load that gives a body the relative acceleration prescribed by the rows of its joint.

    `inertia` is the articulated inertia of the body; inertia and load refer to the joint point. The load is stored with
    the data of the joint, at offset o of `work`.
    """
    shifts, mixed, turns = inertia
    shift, turn = load3(work, o + 8 * SHIFT), load3(work, o + 8 * TURN)
    columns = tuple(zip(*mixed, strict=True))
    store3(work, o + 8 * BIAS, tuple(dot(shifts[i], shift) + dot(mixed[i], turn) for i in range(3)))
    store3(work, o + 8 * (BIAS + 3), tuple(dot(columns[i], shift) + dot(turns[i], turn) for i in range(3)))


@traced
def at_point(work: Any, o: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a joint, about the joint point instead of its center of mass.

    The inertia about the center of mass is stored at offset `child` of `inertia`. The result, and the load that
    produces the relative acceleration prescribed by the joint, are stored with the data of the joint, at offset o of
    `work`.
    """
    there = shifted(inertia_at(inertia, child), load3(work, o + 8 * REACH_CHILD))
    store_inertia(work, o + 8 * INERTIA, there)
    store_bias(work, o, there)
    return there


@traced
def left_by_hinge(work: Any, o: Any, f: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a hinge, about the joint point, without the rotation of the hinge.

    The inertia of the child about its center of mass is stored at offset `child` of `inertia`. Data are stored at
    offset o of `work` for the joint and at offset f for its degree of freedom.
    """
    there = at_point(work, o, inertia, child)
    return without_freedom(work, f, there, turn_momentum(there, load3(work, f + 8 * DIRECTION)))


@traced
def left_by_ball(work: Any, o: Any, f: Any, inertia: Any, child: Any) -> Any:
    """Return the articulated inertia of the child of a ball joint, about the joint point, without its three rotations.

    Only the block of translations is not zero, because a ball joint transmits no moments. The inertia of the child
    about its center of mass is stored at offset `child` of `inertia`. Data are stored at offset o of `work` for the
    joint and at offset f for its three degrees of freedom.
    """
    left = at_point(work, o, inertia, child)
    for k in range(3):
        column = tuple(left[2][i][k] for i in range(3))
        momentum = tuple(left[1][i][k] for i in range(3)), column, column[k]
        left = without_freedom(work, f + 8 * FREEDOM * k, left, momentum)
    zero = 0.0 * left[0][0][0]
    none = ((zero,) * 3,) * 3
    return left[0], none, none


@traced
def pass_on(work: Any, o: Any, left: Any, inertia: Any, parent: Any) -> None:
    """Add the inertia `left` that a joint transmits to the articulated inertia of the parent body.

    `left` is about the joint point. The inertia of the parent is stored at offset `parent` of `inertia`, the data of
    the joint at offset o of `work`.
    """
    gather_inertia(inertia, parent, shifted(left, times(load3(work, o + 8 * REACH_PARENT), -1.0)))


@kernel
def articulate(joints: np.ndarray, inertia: np.ndarray, work: np.ndarray, t: int, ground: int) -> None:
    """Eliminate the degrees of freedom of joint t from the inertia of its child, and add the result to the parent's.

    Nothing is added to the ground, the body with index `ground`. `joints` are the bodies and restricted motions of the
    joints, `inertia` the articulated inertias of the bodies, and `work` the quantities computed for the joints.
    """
    e, o, n = JOINT_ENTRIES * t, 8 * JOINT_WORK * t, 8 * BODY_INERTIA
    rows, f, coincides = at(joints, e + ROTATIONS), o + 8 * freedoms_at(joints, e), at(joints, e + COINCIDES) != 0
    child, parent = n * at(joints, e + CHILD), n * at(joints, e + PARENT)
    held = at(joints, e + PARENT) == ground
    if coincides and rows == 2:
        left = left_by_hinge(work, o, f, inertia, child)
        if not held:
            pass_on(work, o, left, inertia, parent)
    elif coincides and rows == 0:
        left = left_by_ball(work, o, f, inertia, child)
        if not held:
            pass_on(work, o, left, inertia, parent)
    else:
        # The inertia about the center of mass is no longer needed: it is overwritten by the remaining inertia.
        store_inertia(inertia, child, at_point(work, o, inertia, child))
        if not coincides:
            for k in range(3):
                shift_out(work, o + 8 * (FREEDOMS + FREEDOM * k), inertia, child)
        for k in range(3 - rows):
            turn_out(work, f + 8 * FREEDOM * k, inertia, child)
        if not held:
            pass_on(work, o, inertia_at(inertia, child), inertia, parent)


@kernel
def prescribe(work: np.ndarray, t: int) -> None:
    """Compute the load that gives the child body of joint t the relative acceleration prescribed by the joint.

    The result is stored in `work`, the quantities computed for the joints.
    """
    o = 8 * JOINT_WORK * t
    store_bias(work, o, inertia_at(work, o + 8 * INERTIA))


@traced
def shift_out(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate one translational degree of freedom of a joint from an articulated inertia, in place.

    The inertia is stored at offset `rest` of `inertia`. The data of the degree of freedom begin at offset f of `work`:
    its direction is read, and the results of the elimination are stored.
    """
    whole = inertia_at(inertia, rest)
    momentum = shift_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@traced
def turn_out(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate one rotational degree of freedom of a joint from an articulated inertia, in place.

    The inertia is stored at offset `rest` of `inertia`. The data of the degree of freedom begin at offset f of `work`:
    its direction is read, and the results of the elimination are stored.
    """
    whole = inertia_at(inertia, rest)
    momentum = turn_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@kernel
def gather_loads(
    joints: np.ndarray, work: np.ndarray, load_: np.ndarray, t: int, ground: int, prescribed: bool
) -> None:
    """Add the load transmitted by joint t, for a parent without acceleration, to the loads on the parent.

    If `prescribed`, the relative accelerations prescribed by the constraint rows are those in `work` (SHIFT and TURN);
    otherwise they are zero. `joints` are the bodies and restricted motions of the joints, `load_` holds the loads on
    all bodies, and `ground` is the index of the ground.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    child, parent = 8 * BODY_LOAD * at(joints, e + CHILD), 8 * BODY_LOAD * at(joints, e + PARENT)
    force = load3(load_, child)
    moment = minus(load3(load_, child + ANGULAR), cross(load3(work, o + 8 * REACH_CHILD), force))
    coincides, rows = at(joints, e + COINCIDES) != 0, at(joints, e + ROTATIONS)
    if prescribed:
        force, moment = plus(force, load3(work, o + 8 * BIAS)), plus(moment, load3(work, o + 8 * (BIAS + 3)))
    f = o + 8 * FREEDOMS
    if not coincides:
        for _ in range(3):
            alone = dot(load3(work, f + 8 * DIRECTION), force) * load(work, f + 8 * COMPLIANCE)
            store(work, f + 8 * ALONE, alone)
            force = minus(force, times(load3(work, f + 8 * MOMENTUM), alone))
            moment = minus(moment, times(load3(work, f + 8 * (MOMENTUM + 3)), alone))
            f += 8 * FREEDOM
    for _ in range(3 - rows):
        alone = dot(load3(work, f + 8 * DIRECTION), moment) * load(work, f + 8 * COMPLIANCE)
        store(work, f + 8 * ALONE, alone)
        force = minus(force, times(load3(work, f + 8 * MOMENTUM), alone))
        moment = minus(moment, times(load3(work, f + 8 * (MOMENTUM + 3)), alone))
        f += 8 * FREEDOM
    if at(joints, e + PARENT) == ground:
        return
    moment = plus(moment, cross(load3(work, o + 8 * REACH_PARENT), force))
    store3(load_, parent, plus(load3(load_, parent), force))
    store3(load_, parent + ANGULAR, plus(load3(load_, parent + ANGULAR), moment))


@kernel
def unload(joints: np.ndarray, work: np.ndarray, t: int) -> None:
    """Set the accelerations along the degrees of freedom of joint t, for a parent without acceleration, to zero.

    They are zero if no load acts on the child of the joint and its descendants. `joints` are the bodies and restricted
    motions of the joints, and `work` the quantities computed for them.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    first, zero = freedoms_at(joints, e) if at(joints, e + COINCIDES) != 0 else FREEDOMS, splat(0.0)
    last = freedoms_at(joints, e) + FREEDOM * (3 - at(joints, e + ROTATIONS))
    for f in range(first, last, FREEDOM):
        store(work, o + 8 * (f + ALONE), zero)


@kernel
def follow(joints: np.ndarray, work: np.ndarray, motion: np.ndarray, t: int, prescribed: bool) -> None:
    """Compute the accelerations of the child of joint t from those of its parent; both are stored in `motion`.

    If `prescribed`, the relative accelerations prescribed by the constraint rows are added. `joints` has the indices of
    the bodies and the kinds of constraint rows of each joint, `work` the vectors and inertias of each joint at the
    present state.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    child, parent = 8 * BODY_LOAD * at(joints, e + CHILD), 8 * BODY_LOAD * at(joints, e + PARENT)
    coincides, rows = at(joints, e + COINCIDES) != 0, at(joints, e + ROTATIONS)
    turn = load3(motion, parent + ANGULAR)
    shift = plus(load3(motion, parent), cross(turn, load3(work, o + 8 * REACH_PARENT)))
    count = 3 - rows
    f = 8 * freedoms_at(joints, e) + o
    for m in range(count):
        here = f + 8 * FREEDOM * (count - 1 - m)
        momentum = dot(load3(work, here + 8 * MOMENTUM), shift) + dot(load3(work, here + 8 * (MOMENTUM + 3)), turn)
        q = momentum * load(work, here + 8 * COMPLIANCE) + load(work, here + 8 * ALONE)
        turn = minus(turn, times(load3(work, here + 8 * DIRECTION), q))
    if not coincides:
        for m in range(3):
            here = o + 8 * (FREEDOMS + FREEDOM * (2 - m))
            momentum = dot(load3(work, here + 8 * MOMENTUM), shift)
            momentum = momentum + dot(load3(work, here + 8 * (MOMENTUM + 3)), turn)
            q = momentum * load(work, here + 8 * COMPLIANCE) + load(work, here + 8 * ALONE)
            shift = minus(shift, times(load3(work, here + 8 * DIRECTION), q))
    if coincides and prescribed:
        shift = plus(shift, load3(work, o + 8 * SHIFT))
    if rows > 0 and prescribed:
        turn = plus(turn, load3(work, o + 8 * TURN))
    store3(motion, child, minus(shift, cross(turn, load3(work, o + 8 * REACH_CHILD))))
    store3(motion, child + ANGULAR, turn)


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
            # Positions first: far from the origin their difference is exact where a sum is not.
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
