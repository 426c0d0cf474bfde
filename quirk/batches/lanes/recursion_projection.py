"""Projection of forests of hinges, ball joints and welds in SIMD lanes, by recursion over the joints.

As in single runs (`quirk.dynamics.sparse.kernels.recursion_solve`), displacements that satisfy the linearized
constraints are the sum of two parts: displacements with locked joints, and displacements due to the inertia loads of
the first part. The last factorization is reused in axes that rotate with the bodies. `recursion_inertias` and
`recursion_motions` describe the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import OMEGA, POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE, move
from quirk.dynamics.sparse.kernels.recursion import BALL, FREE, HINGE, WELD
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, load, splat
from quirk.jit.tracing import traced

from .forest import ANGULAR
from .links import (
    AXIS,
    AXIS_ON_PARENT,
    BODY,
    CENTER,
    CROSS,
    CROSS_ON_PARENT,
    FROM_POINT,
    KIND,
    LESS,
    LINK_ENTRIES,
    LINK_NUMBERS,
    LINK_WORK,
    MASS,
    MIDDLE,
    MORE,
    PARENT,
    POINT_ON_PARENT,
)
from .recursion_inertias import MOTION
from .recursion_motions import carried, follow_ball_alone, follow_hinge_alone, follow_weld_alone, move_free


@traced
def pose_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the translation of a body, in the axes of its parent, that makes the two points of a joint coincide.

    The states of body and parent begin at elements s and q of y, and `kin` holds their rotation matrices. Other index
    arguments: see `recursion_inertias`.
    """
    r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
    # Positions first: far from the origin their difference is exact where a sum is not.
    apart = minus(minus(load3(y, s + 8 * POSITION), load3(y, q + 8 * POSITION)), r)
    return minus(load3(numbers, n + 8 * POINT_ON_PARENT), columns_times(kin, p + 8 * ROTATION, apart))


@traced
def velocity_gap(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any, q: Any) -> Any:
    """Return the velocity change of a body that makes the velocities of the two joint points equal.

    The result is in the axes of the parent; the arguments are as in `pose_gap`.
    """
    r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
    apart = minus(load3(y, s + 8 * VELOCITY), load3(y, q + 8 * VELOCITY))
    apart = minus(apart, cross(load3(kin, k + 8 * SPIN), r))
    on_parent = cross(load3(y, q + 8 * OMEGA), load3(numbers, n + 8 * POINT_ON_PARENT))
    return minus(on_parent, columns_times(kin, p + 8 * ROTATION, apart))


def hinge_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the axis of its hinge with the axis fixed to the parent.

    The axes are aligned to be parallel or antiparallel, whichever is nearer. Index arguments: see `recursion_inertias`.
    """
    on_parent = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * AXIS_ON_PARENT))
    axis, on_parent = load3(numbers, n + 8 * AXIS), columns_times(kin, k + 8 * ROTATION, on_parent)
    return times(cross(axis, on_parent), dot(axis, on_parent))


@traced
def hinge_pose_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the axes of its hinge; arguments as in `hinge_tilt`."""
    return hinge_tilt(numbers, kin, n, k, p)


@traced
def weld_pose_tilt(numbers: Any, kin: Any, n: Any, k: Any, p: Any) -> Any:
    """Return the rotation of a body, in body axes, that aligns the z and x axes of its weld.

    The arguments are as in `hinge_tilt`.
    """
    on_parent = rows_times(kin, p + 8 * ROTATION, load3(numbers, n + 8 * CROSS_ON_PARENT))
    on_parent = columns_times(kin, k + 8 * ROTATION, on_parent)
    z, x = load3(numbers, n + 8 * AXIS), load3(numbers, n + 8 * CROSS)
    about_z = dot(x, on_parent) * dot(cross(z, x), on_parent)
    return plus(hinge_tilt(numbers, kin, n, k, p), times(z, about_z))


def spin_to_parent(y: Any, kin: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the angular velocity of the parent minus that of the body, in body axes.

    The state of the body begins at element s of y. Other index arguments: see `recursion_inertias`.
    """
    return minus(columns_times(kin, k + 8 * ROTATION, load3(kin, p + 8 * SPIN)), load3(y, s + 8 * OMEGA))


@traced
def hinge_velocity_tilt(numbers: Any, y: Any, kin: Any, n: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the change of a body's angular velocity, body axes, that leaves only relative rotation about its hinge.

    The arguments are as in `spin_to_parent`; constants of the link begin at element n of `numbers`.
    """
    relative, axis = spin_to_parent(y, kin, k, p, s), load3(numbers, n + 8 * AXIS)
    return minus(relative, times(axis, dot(axis, relative)))


@traced
def weld_velocity_tilt(y: Any, kin: Any, k: Any, p: Any, s: Any) -> Any:
    """Return the change of a body's angular velocity, body axes, that makes it equal to that of its parent.

    The arguments are as in `spin_to_parent`.
    """
    return spin_to_parent(y, kin, k, p, s)


@traced
def lock(
    numbers: Any, kin: Any, links: Any, locked: Any, load_: Any, n: Any, k: Any, p: Any, o: Any, f: Any, g: Any,
    shift: Any, turn: Any,
) -> None:  # fmt: skip
    """Compute the displacement of a link whose joint is locked, and the inertia load of this displacement.

    The displacement follows from the displacement of the parent and the relative displacement of the joint: `shift` in
    the axes of the parent and `turn` in body axes. Displacements are stored in `locked` and loads in `load_`. Index
    arguments: see `recursion_inertias` and `recursion_motions`.
    """
    with_parent, turning = carried(links, locked, o, g)
    shift = plus(with_parent, rows_times(kin, p + 8 * ROTATION, shift))
    turn = plus(turning, rows_times(kin, k + 8 * ROTATION, turn))
    store3(locked, f, shift)
    store3(locked, f + ANGULAR, turn)
    mass, middle, r = load(numbers, n + 8 * MASS), load(numbers, n + 8 * MIDDLE), load3(links, o + 8 * FROM_POINT)
    u, v = load3(numbers, n + 8 * LESS), load3(numbers, n + 8 * MORE)
    in_body = columns_times(kin, k + 8 * ROTATION, turn)
    unlike = minus(times(v, dot(v, in_body)), times(u, dot(u, in_body)))
    moment = plus(rows_times(kin, k + 8 * ROTATION, unlike), times(turn, middle))
    store3(load_, f, times(plus(shift, cross(turn, r)), mass))
    store3(load_, f + ANGULAR, plus(moment, times(cross(r, shift), mass)))


@kernel
def lock_links(
    entries: np.ndarray, numbers: np.ndarray, y: np.ndarray, kin: np.ndarray, kin_new: np.ndarray, links: np.ndarray,
    locked: np.ndarray, load_: np.ndarray, level: int,
) -> None:  # fmt: skip
    """Compute displacements of all links with locked joints that remove the constraint violations of state y.

    `entries` are the integers of the links (kind of joint, bodies, indices of sums). `level` is 0 for poses and 1 for
    velocities. `kin` are the kinematics of the factorization, `kin_new` those of y. Displacements are stored in
    `locked`, and their inertia loads in `load_`.
    """
    count = entries.shape[0] // LINK_ENTRIES
    zero = splat(0.0)
    for m in range(count):
        t = count - 1 - m
        e, n, o = LINK_ENTRIES * t, 8 * LINK_NUMBERS * t, 8 * LINK_WORK * t
        body, parent, kind = at(entries, e + BODY), at(entries, e + PARENT), at(entries, e + KIND)
        k, p, s, q, f, g = KIN * body, KIN * parent, STATE * body, STATE * parent, MOTION * body, MOTION * parent
        shift = turn = (zero, zero, zero)
        if kind != FREE:
            if level == 0:
                shift = pose_gap(numbers, y, kin_new, n, k, p, s, q)
            else:
                shift = velocity_gap(numbers, y, kin_new, n, k, p, s, q)
        if kind == HINGE:
            if level == 0:
                turn = hinge_pose_tilt(numbers, kin_new, n, k, p)
            else:
                turn = hinge_velocity_tilt(numbers, y, kin_new, n, k, p, s)
        elif kind == WELD:
            turn = weld_pose_tilt(numbers, kin_new, n, k, p) if level == 0 else weld_velocity_tilt(y, kin_new, k, p, s)
        lock(numbers, kin, links, locked, load_, n, k, p, o, f, g, shift, turn)


def correction(kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, o: Any, k: Any, f: Any) -> Any:
    """Return the displacement of a body: translation of its center of mass, inertial axes, and rotation, body axes.

    It is the sum of the displacements in `locked` and `motion`, rotated with the body since the factorization. Index
    arguments: see `recursion_inertias` and `recursion_motions`.
    """
    turn = plus(load3(motion, f + ANGULAR), load3(locked, f + ANGULAR))
    shift = plus(load3(motion, f), load3(locked, f))
    shift = columns_times(kin, k + 8 * ROTATION, plus(shift, cross(turn, load3(links, o + 8 * FROM_POINT))))
    return rows_times(kin_new, k + 8 * ROTATION, shift), columns_times(kin, k + 8 * ROTATION, turn)


@traced
def correct_pose(
    kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, y: Any, o: Any, k: Any, f: Any, s: Any
) -> Any:
    """Add the displacement of a body to its pose in the state y, and return it; arguments as in `correction`."""
    shift, turn = correction(kin, kin_new, links, locked, motion, o, k, f)
    move(y, s, shift, turn)
    return shift, turn


@traced
def correct_velocity(
    kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, y: Any, o: Any, k: Any, f: Any, s: Any
) -> Any:
    """Add the displacement of a body to its velocities in the state y, and return it; arguments as in `correction`."""
    shift, turn = correction(kin, kin_new, links, locked, motion, o, k, f)
    store3(y, s + 8 * VELOCITY, plus(load3(y, s + 8 * VELOCITY), shift))
    store3(y, s + 8 * OMEGA, plus(load3(y, s + 8 * OMEGA), turn))
    return shift, turn


@kernel
def move_links(
    entries: np.ndarray, y: np.ndarray, kin: np.ndarray, kin_new: np.ndarray, links: np.ndarray, locked: np.ndarray,
    motion: np.ndarray, level: int, length: float,
) -> Any:  # fmt: skip
    """Displace all bodies in the state y so that they satisfy the linearized constraints.

    `locked` holds the displacements with locked joints, and `motion` those due to the inertia loads; `entries`,
    `level`, `kin` and `kin_new` are as in `lock_links`. Returns the largest squared displacement in each lane;
    translations are divided by `length`, the characteristic length, m.
    """
    count, ground = entries.shape[0] // LINK_ENTRIES, motion.shape[0] - MOTION
    zero = largest = splat(0.0)
    store3(motion, ground, (zero, zero, zero))
    for m in range(count):
        t = count - 1 - m
        e, o, body = LINK_ENTRIES * t, 8 * LINK_WORK * t, at(entries, LINK_ENTRIES * t + BODY)
        f, g, kind = MOTION * body, MOTION * at(entries, e + PARENT), at(entries, e + KIND)
        if kind == HINGE:
            follow_hinge_alone(links, motion, o, f, g)
        elif kind == BALL:
            follow_ball_alone(links, motion, o, f, g)
        elif kind == WELD:
            follow_weld_alone(links, motion, o, f, g)
        else:
            move_free(links, motion, o, f)
        if level == 0:
            shift, turn = correct_pose(kin, kin_new, links, locked, motion, y, o, KIN * body, f, STATE * body)
        else:
            shift, turn = correct_velocity(kin, kin_new, links, locked, motion, y, o, KIN * body, f, STATE * body)
        largest = greater(largest, dot(turn, turn) + dot(shift, shift) * (1.0 / (length * length)))
    return largest
