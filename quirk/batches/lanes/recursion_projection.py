"""Projection of forests of joints in SIMD lanes, by recursion over the joints.

As in runs of a single system (`quirk.dynamics.sparse.kernels.recursion_solve`), displacements that satisfy the
linearized constraints are the sum of two parts: displacements with locked joints, and displacements due to the inertia
loads of the first part. The last factorization is reused in axes that rotate with the bodies. The modules
`recursion_inertias` and `recursion_motions` describe the arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import OMEGA, ROTATION, VELOCITY
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE, move
from quirk.dynamics.sparse.kernels.recursion import BALL, CYLINDRICAL, FREE, HINGE, SLIDER, UNIVERSAL, WELD
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, load, splat
from quirk.jit.tracing import traced

from .links import (
    BODY,
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
)
from .records import ANGULAR
from .recursion_gaps import (
    hinge_pose_tilt,
    hinge_velocity_tilt,
    pose_gap,
    sliding_pose_gap,
    sliding_velocity_gap,
    universal_pose_tilt,
    universal_velocity_tilt,
    velocity_gap,
    weld_pose_tilt,
    weld_velocity_tilt,
)
from .recursion_inertias import MOTION
from .recursion_motions import (
    follow_ball_unbiased,
    follow_cylindrical_unbiased,
    follow_hinge_unbiased,
    follow_slider_unbiased,
    follow_universal_unbiased,
    follow_weld_unbiased,
    locked_acceleration,
    move_free,
)


@traced
def lock(
    numbers: Any, kin: Any, links: Any, locked: Any, load_: Any, n: Any, k: Any, p: Any, o: Any, f: Any, g: Any,
    shift: Any, turn: Any,
) -> None:  # fmt: skip
    """Compute the displacement of a link whose joint is locked, and the inertia load due to this displacement.

    The displacement follows from that of the parent and the relative displacement of the joint: `shift` in the axes of
    the parent and `turn` in body axes. The displacement is stored in `locked` and the load in `load_`. The modules
    `recursion_inertias` and `recursion_motions` describe the index arguments.
    """
    with_parent, turning = locked_acceleration(links, locked, o, g)
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
    """Compute displacements of all links, with locked joints, that remove the constraint violations of the state y.

    `entries` are the integer data of the links (kind of joint, bodies, indices of sums). `level` is 0 for poses and 1
    for velocities. `kin` are the kinematics at the last factorization, `kin_new` those of the state y. The
    displacements are stored in `locked`, and their inertia loads in `load_`.
    """
    count = entries.shape[0] // LINK_ENTRIES
    zero = splat(0.0)
    for m in range(count):
        t = count - 1 - m
        e, n, o = LINK_ENTRIES * t, 8 * LINK_NUMBERS * t, 8 * LINK_WORK * t
        body, parent, kind = at(entries, e + BODY), at(entries, e + PARENT), at(entries, e + KIND)
        k, p, s, q, f, g = KIN * body, KIN * parent, STATE * body, STATE * parent, MOTION * body, MOTION * parent
        shift = turn = (zero, zero, zero)
        if kind in (SLIDER, CYLINDRICAL):
            if level == 0:
                shift = sliding_pose_gap(numbers, y, kin_new, n, k, p, s, q)
            else:
                shift = sliding_velocity_gap(numbers, y, kin_new, n, k, p, s, q)
        elif kind != FREE:
            if level == 0:
                shift = pose_gap(numbers, y, kin_new, n, k, p, s, q)
            else:
                shift = velocity_gap(numbers, y, kin_new, n, k, p, s, q)
        if kind in (HINGE, CYLINDRICAL):
            if level == 0:
                turn = hinge_pose_tilt(numbers, kin_new, n, k, p)
            else:
                turn = hinge_velocity_tilt(numbers, y, kin_new, n, k, p, s)
        elif kind in (WELD, SLIDER):
            turn = weld_pose_tilt(numbers, kin_new, n, k, p) if level == 0 else weld_velocity_tilt(y, kin_new, k, p, s)
        elif kind == UNIVERSAL:
            if level == 0:
                turn = universal_pose_tilt(numbers, kin_new, n, k, p)
            else:
                turn = universal_velocity_tilt(numbers, y, kin_new, n, k, p, s)
        lock(numbers, kin, links, locked, load_, n, k, p, o, f, g, shift, turn)


def correction(kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, o: Any, k: Any, f: Any) -> Any:
    """Return the translation of a body's center of mass (inertial axes) and its rotation (body axes).

    It is the sum of the displacements in `locked` (with locked joints) and `motion` (due to their inertia loads),
    rotated with the body since the factorization. The modules `recursion_inertias` and `recursion_motions` describe the
    index arguments.
    """
    turn = plus(load3(motion, f + ANGULAR), load3(locked, f + ANGULAR))
    shift = plus(load3(motion, f), load3(locked, f))
    shift = columns_times(kin, k + 8 * ROTATION, plus(shift, cross(turn, load3(links, o + 8 * FROM_POINT))))
    return rows_times(kin_new, k + 8 * ROTATION, shift), columns_times(kin, k + 8 * ROTATION, turn)


@traced
def correct_pose(
    kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, y: Any, o: Any, k: Any, f: Any, s: Any
) -> Any:
    """Add the displacement of a body to its pose in the state y, and return the displacement.

    The arguments are those of `correction`, and the offset s at which the state of the body begins.
    """
    shift, turn = correction(kin, kin_new, links, locked, motion, o, k, f)
    move(y, s, shift, turn)
    return shift, turn


@traced
def correct_velocity(
    kin: Any, kin_new: Any, links: Any, locked: Any, motion: Any, y: Any, o: Any, k: Any, f: Any, s: Any
) -> Any:
    """Add the displacement of a body to its velocities in the state y, and return the displacement.

    The arguments are those of `correction`, and the offset s at which the state of the body begins.
    """
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

    `locked` holds the displacements with locked joints, and `motion` those due to the inertia loads. `entries` are the
    integer data of the links, `level` is 0 for poses and 1 for velocities, `kin` are the kinematics at the last
    factorization, and `kin_new` those of y. Returns the largest squared displacement in each lane, with translations
    divided by `length`, the characteristic length, m.
    """
    count, ground = entries.shape[0] // LINK_ENTRIES, motion.shape[0] - MOTION
    zero = largest = splat(0.0)
    store3(motion, ground, (zero, zero, zero))
    for m in range(count):
        t = count - 1 - m
        e, o, body = LINK_ENTRIES * t, 8 * LINK_WORK * t, at(entries, LINK_ENTRIES * t + BODY)
        f, g, kind = MOTION * body, MOTION * at(entries, e + PARENT), at(entries, e + KIND)
        if kind == HINGE:
            follow_hinge_unbiased(links, motion, o, f, g)
        elif kind == BALL:
            follow_ball_unbiased(links, motion, o, f, g)
        elif kind == WELD:
            follow_weld_unbiased(links, motion, o, f, g)
        elif kind == SLIDER:
            follow_slider_unbiased(links, motion, o, f, g)
        elif kind == CYLINDRICAL:
            follow_cylindrical_unbiased(links, motion, o, f, g)
        elif kind == UNIVERSAL:
            follow_universal_unbiased(links, motion, o, f, g)
        else:
            move_free(links, motion, o, f)
        if level == 0:
            shift, turn = correct_pose(kin, kin_new, links, locked, motion, y, o, KIN * body, f, STATE * body)
        else:
            shift, turn = correct_velocity(kin, kin_new, links, locked, motion, y, o, KIN * body, f, STATE * body)
        largest = greater(largest, dot(turn, turn) + dot(shift, shift) * (1.0 / (length * length)))
    return largest
