"""Projection of the states of eight members in SIMD lanes onto their constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import (
    OMEGA,
    ROTATION,
    VELOCITY,
)
from quirk.dynamics.model.vectors import (
    columns_times,
    dot,
    load3,
    plus,
    store3,
)
from quirk.dynamics.sparse.kernels.bodies import CON, KIN, STATE, largest_distance, move, rotations, speed
from quirk.dynamics.sparse.kernels.project import CURVATURE, LEFT, MOST_STEPS, ROUND_OFF, ROUND_OFF_ULPS
from quirk.dynamics.sparse.kernels.redundancy import EPSILON
from quirk.jit.compilation import kernel
from quirk.jit.simd import greater, highest, load, splat, store

from .closing import close_deviation, close_loops
from .forest_geometry import deviate
from .forest_inertias import prescribe
from .forest_motions import follow, gather_loads
from .links import LINK_NUMBERS
from .records import (
    ANGULAR,
    BODY_LOAD,
    CLOSING_NUMBERS,
    CORRECTED,
    CORRECTION_LEFT,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    RATE_LEFT,
    ROW_ENTRIES,
    LaneNumbers,
    LaneTables,
    LaneWork,
)
from .recursion_loads import load_links
from .recursion_projection import lock_links, move_links

# Smallest pivot of constraint rows that is assumed in the estimate of convergence of the projection.
LEAST_PIVOT = 0.01
BODY = 8 * BODY_LOAD


@kernel
def displace_in_lanes(y: np.ndarray, kin: np.ndarray, motion: np.ndarray, level: int, length: float) -> Any:
    """Add displacements of all bodies to their poses (level 0) or velocities (level 1).

    `y` are the states, and `motion` the displacements: translations and rotations, inertial axes. Returns the largest
    squared displacement in each lane, with translations divided by `length`, the characteristic length, m. `kin` holds
    the rotation matrices with which rotations are converted to body axes.
    """
    largest = splat(0.0)
    for b in range(y.shape[0] // STATE - 1):
        s, f = STATE * b, BODY * b
        shift = load3(motion, f)
        turn = columns_times(kin, KIN * b + 8 * ROTATION, load3(motion, f + ANGULAR))
        if level == 0:
            move(y, s, shift, turn)
        else:
            store3(y, s + 8 * VELOCITY, plus(load3(y, s + 8 * VELOCITY), shift))
            store3(y, s + 8 * OMEGA, plus(load3(y, s + 8 * OMEGA), turn))
        largest = greater(largest, dot(turn, turn) + dot(shift, shift) * (1.0 / (length * length)))
    return largest


@kernel
def correct(tables: LaneTables, numbers: LaneNumbers, work: LaneWork, y: np.ndarray, group: int, level: int) -> Any:
    """Perform one iteration of the projection onto the constraints; return the largest squared displacement per lane.

    The states y of the group of members with index `group` are changed in place, with the last factorization of the
    loop-closing rows. `level` is 0 for poses and 1 for velocities.
    """
    joints, closing = tables.joints, tables.closing
    count, rows, ground = joints.shape[0] // JOINT_ENTRIES, closing.shape[0] // ROW_ENTRIES, y.shape[0] // STATE - 1
    placed = numbers.joints[8 * JOINT_NUMBERS * count * group : 8 * JOINT_NUMBERS * count * (group + 1)]
    own = numbers.closing[8 * CLOSING_NUMBERS * rows * group : 8 * CLOSING_NUMBERS * rows * (group + 1)]
    rotations(y, work.kin_new)
    if tables.links.shape[0] > 0:
        links = numbers.links[8 * LINK_NUMBERS * ground * group : 8 * LINK_NUMBERS * ground * (group + 1)]
        lock_links(tables.links, links, y, work.kin, work.kin_new, work.links, work.locked, work.load, level)
        load_links(tables.links, work.load, work.sums, work.links)
        return move_links(
            tables.links, y, work.kin, work.kin_new, work.links, work.locked, work.motion, level, tables.length
        )
    zero = splat(0.0)
    for k in range(0, work.load.shape[0], 8):
        store(work.load, k, zero)
    for m in range(count):
        joint = count - 1 - m
        deviate(joints, placed, y, work.kin_new, work.joints, joint, level)
        prescribe(work.joints, joint)
        gather_loads(joints, work.joints, work.load, joint, ground, True)
    for joint in range(count):
        follow(joints, work.joints, work.motion, joint, True)
    if rows > 0:
        for c in range(rows):
            close_deviation(closing, own, y, work.kin_new, work.closing, c, level)
        close_loops(tables, work, ground)
    return displace_in_lanes(y, work.kin, work.motion, level, tables.length)


@kernel
def project_in_lanes(tables: LaneTables, numbers: LaneNumbers, work: LaneWork, y: np.ndarray, group: int) -> None:
    """Project the states y of a group of members onto the constraints, with the last factorization of their rows.

    The size of the last correction in each lane, relative to the largest allowed correction, is stored in `work.notes`.
    """
    size = y.shape[0] // STATE
    constants = numbers.constants[CON * size * group : CON * size * (group + 1)]
    round_off = ROUND_OFF + ROUND_OFF_ULPS * EPSILON * largest_distance(constants, y) / tables.length
    moved = 0.0
    for level in range(2):
        if level == 1:
            round_off = (round_off + ROUND_OFF) * speed(constants, y, tables.length)
        previous, done = -1.0, False
        squares = splat(0.0)
        for _ in range(MOST_STEPS):
            squares = correct(tables, numbers, work, y, group, level)
            step = highest(squares) ** 0.5
            if level == 0:
                moved += step
                if previous < 0.0:
                    store(work.notes, 8 * CORRECTED, greater(load(work.notes, 8 * CORRECTED), squares))
            rate = step / previous if previous > 0.0 else max(CURVATURE * moved / LEAST_PIVOT, LEFT)
            if step * min(rate, 1.0) <= round_off:
                done = True
                break
            previous = step
        if not done:
            note = 8 * CORRECTION_LEFT if level == 0 else 8 * RATE_LEFT
            store(work.notes, note, greater(load(work.notes, note), squares * (1.0 / (round_off * round_off + 1e-300))))
