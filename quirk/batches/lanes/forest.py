"""Joints of a spanning forest in lanes: geometry, articulated inertias, and solution by freedoms.

The articulated inertia I of a body is its inertia with all bodies that hang on it, in inertial axes. Each joint
eliminates its freedoms n one after the other: U = I n, I <- I - U U^T / (n . U), as in
`quirk.dynamics.sparse.kernels.articulated`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.dynamics.sparse.kernels.inertia import UPPER, shift_momentum, shifted, turn_momentum
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, splat, store
from quirk.jit.tracing import traced

from .records import (
    ALONE,
    ARM_CHILD,
    ARM_PARENT,
    AXIS_I,
    AXIS_J,
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
    """Compute arms, dual vectors and freedoms of joint t, and the acceleration that its rows prescribe."""
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
        if rows == 1:
            store3(work, o + 8 * (freedoms_at(joints, e) + DIRECTION), u)
            store3(work, o + 8 * (freedoms_at(joints, e) + FREEDOM + DIRECTION), v)
    invert(work, o, o + 8 * (freedoms_at(joints, e) + DIRECTION), rows)
    turn = times(cross(w, w_i), -1.0)
    for k in range(rows):
        row = n + 8 * (ROTATION_ROWS + ROW_NUMBERS * k)
        u = rows_times(kin, on_i + 8 * ROTATION, load3(numbers, row + 8 * AXIS_I))
        v = rows_times(kin, on_j + 8 * ROTATION, load3(numbers, row + 8 * AXIS_J))
        bend = dot(cross(w, u), cross(w, v))
        turn = minus(turn, times(load3(work, o + 8 * (DUALS + 3 * k)), bend))
    store3(work, o + 8 * TURN, times(turn, sign))


@kernel
def freedoms_at(joints: np.ndarray, e: int) -> int:
    """Return the index, in the work of a joint, of its first freedom of rotation."""
    return FREEDOMS if at(joints, e + COINCIDES) != 0 else FREEDOMS + 3 * FREEDOM


@kernel
def invert(work: np.ndarray, o: int, axis: int, rows: int) -> None:
    """Replace the normals of one to three rotation rows by their dual vectors; store the axis of two at `axis`."""
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
    """Return the blocks (3, 3) of the inertia stored from element o: translations, mixed, and rotations."""
    numbers = [load(array, o + 8 * k) for k in range(21)]
    return (
        _symmetric(numbers[:6]),
        tuple(tuple(numbers[6 + 3 * i : 9 + 3 * i]) for i in range(3)),
        _symmetric(numbers[15:]),
    )


def _symmetric(upper: Any) -> Any:
    xx, xy, xz, yy, yz, zz = upper
    return (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)


@traced
def store_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Store an inertia from element o."""
    for k, x in enumerate(_numbers(inertia)):
        store(array, o + 8 * k, x)


@traced
def gather_inertia(array: Any, o: Any, inertia: Any) -> None:
    """Add an inertia to the one stored from element o."""
    for k, x in enumerate(_numbers(inertia)):
        store(array, o + 8 * k, load(array, o + 8 * k) + x)


def _numbers(inertia: Any) -> list[Any]:
    shifts, mixed, turns = inertia
    upper = [[block[i][j] for i, j in UPPER] for block in (shifts, turns)]
    return [*upper[0], *(x for row in mixed for x in row), *upper[1]]


@traced
def without_freedom(joints: Any, f: Any, inertia: Any, momentum: Any) -> Any:
    """Return the inertia that remains after the elimination of a freedom, whose momentum is stored from element f."""
    of_shifts, of_turns, resistance = momentum
    compliance = 1.0 / resistance
    store3(joints, f + 8 * MOMENTUM, of_shifts)
    store3(joints, f + 8 * (MOMENTUM + 3), of_turns)
    store(joints, f + 8 * COMPLIANCE, compliance)
    shifts, mixed, turns = inertia
    a, b = times(of_shifts, compliance), times(of_turns, compliance)
    return (
        _symmetric([shifts[i][j] - a[i] * of_shifts[j] for i, j in UPPER]),
        tuple(tuple(mixed[i][j] - a[i] * of_turns[j] for j in range(3)) for i in range(3)),
        _symmetric([turns[i][j] - b[i] * of_turns[j] for i, j in UPPER]),
    )


@traced
def moved_to_point(inertia: Any, o: Any, joints: Any, place_: Any) -> None:
    """Refer the inertia stored at o of `inertia` to the point of a joint, and store it at `place_` of `joints`."""
    arm = load3(joints, place_ + 8 * REACH_CHILD)
    store_inertia(joints, place_ + 8 * INERTIA, shifted(inertia_at(inertia, o), arm))


@traced
def hinge_to_parent(joints: Any, o: Any, f: Any, inertia: Any, parent: Any) -> None:
    """Eliminate the freedom at f of a hinge, and add the rest of the inertia to that of its parent."""
    at_joint = inertia_at(joints, o + 8 * INERTIA)
    momentum = turn_momentum(at_joint, load3(joints, f + 8 * DIRECTION))
    left = without_freedom(joints, f, at_joint, momentum)
    arm = times(load3(joints, o + 8 * REACH_PARENT), -1.0)
    gather_inertia(inertia, parent, shifted(left, arm))


@traced
def ball_to_parent(joints: Any, o: Any, f: Any, inertia: Any, parent: Any) -> None:
    """Eliminate the three rotations from f of a ball joint, and add the rest of the inertia to that of its parent."""
    left = inertia_at(joints, o + 8 * INERTIA)
    for k in range(3):
        column = tuple(left[2][i][k] for i in range(3))
        momentum = tuple(left[1][i][k] for i in range(3)), column, column[k]
        left = without_freedom(joints, f + 8 * FREEDOM * k, left, momentum)
    # A ball transmits forces alone.
    zero = 0.0 * left[0][0][0]
    none = ((zero,) * 3,) * 3
    arm = times(load3(joints, o + 8 * REACH_PARENT), -1.0)
    gather_inertia(inertia, parent, shifted((left[0], none, none), arm))


@kernel
def articulate(joints: np.ndarray, inertia: np.ndarray, work: np.ndarray, t: int) -> None:
    """Eliminate the freedoms of joint t, and add what it transmits to the inertia of its parent."""
    e, o, n = JOINT_ENTRIES * t, 8 * JOINT_WORK * t, 8 * BODY_INERTIA
    moved_to_point(inertia, n * at(joints, e + CHILD), work, o)
    rows, f, parent = at(joints, e + ROTATIONS), o + 8 * freedoms_at(joints, e), n * at(joints, e + PARENT)
    if at(joints, e + COINCIDES) != 0 and rows == 2:
        hinge_to_parent(work, o, f, inertia, parent)
        return
    if at(joints, e + COINCIDES) != 0 and rows == 0:
        ball_to_parent(work, o, f, inertia, parent)
        return
    # The inertia of the child is no longer needed, so its place holds what remains.
    rest = n * at(joints, e + CHILD)
    for k in range(8 * BODY_INERTIA):
        inertia[rest + k] = work[o + 8 * INERTIA + k]
    if at(joints, e + COINCIDES) == 0:
        for k in range(3):
            shift_out(work, o + 8 * (FREEDOMS + FREEDOM * k), inertia, rest)
    for k in range(3 - rows):
        turn_out(work, f + 8 * FREEDOM * k, inertia, rest)
    pass_on(work, o, inertia, rest, parent)


@traced
def pass_on(work: Any, o: Any, inertia: Any, rest: Any, parent: Any) -> None:
    """Add the inertia stored at `rest`, at the point of a joint, to that of its parent."""
    arm = times(load3(work, o + 8 * REACH_PARENT), -1.0)
    gather_inertia(inertia, parent, shifted(inertia_at(inertia, rest), arm))


@traced
def shift_out(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate the translation whose work starts at f from the inertia stored at `rest`."""
    whole = inertia_at(inertia, rest)
    momentum = shift_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@traced
def turn_out(work: Any, f: Any, inertia: Any, rest: Any) -> None:
    """Eliminate the rotation whose work starts at f from the inertia stored at `rest`."""
    whole = inertia_at(inertia, rest)
    momentum = turn_momentum(whole, load3(work, f + 8 * DIRECTION))
    store_inertia(inertia, rest, without_freedom(work, f, whole, momentum))


@kernel
def gather_loads(
    joints: np.ndarray, work: np.ndarray, load_: np.ndarray, t: int, ground: int, prescribed: bool
) -> None:
    """Add the load that joint t transmits, at rest of its parent, to the loads of the parent.

    `prescribed` is true if the rows prescribe relative motions; otherwise these are zero.
    """
    e, o = JOINT_ENTRIES * t, 8 * JOINT_WORK * t
    child, parent = 8 * BODY_LOAD * at(joints, e + CHILD), 8 * BODY_LOAD * at(joints, e + PARENT)
    force = load3(load_, child)
    moment = minus(load3(load_, child + ANGULAR), cross(load3(work, o + 8 * REACH_CHILD), force))
    coincides, rows = at(joints, e + COINCIDES) != 0, at(joints, e + ROTATIONS)
    if coincides and prescribed:
        by_shift = shift_loads(work, o + 8 * INERTIA, load3(work, o + 8 * SHIFT))
        force, moment = plus(force, by_shift[0]), plus(moment, by_shift[1])
    if rows > 0 and prescribed:
        by_turn = turn_loads(work, o + 8 * INERTIA, load3(work, o + 8 * TURN))
        force, moment = plus(force, by_turn[0]), plus(moment, by_turn[1])
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


@traced
def shift_loads(work: Any, o: Any, a: Any) -> Any:
    """Return force and moment due to an acceleration of the point of the inertia stored at o."""
    shifts, mixed, _ = inertia_at(work, o)
    columns = tuple(zip(*mixed, strict=True))
    return tuple(dot(row, a) for row in shifts), tuple(dot(column, a) for column in columns)


@traced
def turn_loads(work: Any, o: Any, a: Any) -> Any:
    """Return force and moment due to an angular acceleration of the inertia stored at o."""
    _, mixed, turns = inertia_at(work, o)
    return tuple(dot(row, a) for row in mixed), tuple(dot(row, a) for row in turns)


@kernel
def follow(joints: np.ndarray, work: np.ndarray, motion: np.ndarray, t: int, prescribed: bool) -> None:
    """Compute the motion of the child of joint t from that of its parent; see `gather_loads`."""
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
    """Set the motion that the rows of joint t prescribe to minus their error in poses, or at level 1 in velocities."""
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
