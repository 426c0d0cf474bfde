"""Right-hand side of the equations of motion of eight members in SIMD lanes."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import (
    FORCE,
    GRAVITY,
    MASS,
    OMEGA,
    ORIENTATION,
    POSITION,
    ROTATION,
    TORQUE,
    UNLIKE,
    VELOCITY,
)
from quirk.dynamics.model.vectors import (
    columns_times,
    componentwise,
    cross,
    dot,
    load3,
    plus,
    rows_times,
    store3,
    times,
)
from quirk.dynamics.sparse.kernels.applied import (
    Forces,
)
from quirk.dynamics.sparse.kernels.bodies import CON, KIN, STATE, rotations
from quirk.dynamics.sparse.kernels.inertia import UPPER
from quirk.integrators.combinations import Weights, combine
from quirk.jit.compilation import kernel
from quirk.jit.simd import load, store
from quirk.jit.tracing import traced

from .applied_loads import applied_in_lanes
from .closing import close_loops, close_row, respond
from .forest_geometry import place
from .forest_inertias import articulate, store_inertia
from .forest_motions import follow, gather_loads
from .links import LINK_NUMBERS
from .probes import LaneProbes
from .records import (
    ANGULAR,
    BODY_INERTIA,
    BODY_LOAD,
    CLOSING_NUMBERS,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    ROW_ENTRIES,
    LaneNumbers,
    LaneTables,
    LaneWork,
)
from .recursion_elimination import articulate_links
from .recursion_loads import take_loads
from .recursion_motions import follow_links

BODY = 8 * BODY_LOAD
MOMENTS = 48  # elements of a symmetric matrix of eight members


@traced
def begin_body(constants: Any, moments: Any, y: Any, kin: Any, inertia: Any, load_: Any, b: Any) -> None:
    """Compute the inertia of body b and its bias load, both in inertial axes, and write them to `inertia` and `load_`.

    The bias load is minus the sum of weight, applied loads and gyroscopic torque. `constants` and `moments` are masses
    and moments of inertia of the bodies, `y` their states, and `kin` their kinematics and applied loads.
    """
    xx, xy, xz, yy, yz, zz = (load(moments, MOMENTS * b + 8 * k) for k in range(6))
    J = (xx, xy, xz), (xy, yy, yz), (xz, yz, zz)
    R = [load3(kin, KIN * b + 8 * (ROTATION + 3 * row)) for row in range(3)]
    turned = [tuple(dot(row, column) for column in J) for row in R]
    momentum = rows_times(constants, CON * b + 8 * UNLIKE, load3(y, STATE * b + 8 * OMEGA))
    _begin(constants, y, kin, inertia, load_, b, R, turned, momentum)


@traced
def begin_principal(constants: Any, moments: Any, y: Any, kin: Any, inertia: Any, load_: Any, b: Any) -> None:
    """Compute the inertia and bias load of body b, both in inertial axes, if its body axes are principal axes.

    They are written to `inertia` and `load_`. `constants` and `moments` are masses and moments of inertia of the
    bodies, `y` their states, and `kin` their kinematics and applied loads.
    """
    J = tuple(load(moments, MOMENTS * b + 8 * k) for k in (0, 3, 5))
    R = [load3(kin, KIN * b + 8 * (ROTATION + 3 * row)) for row in range(3)]
    unlike = tuple(load(constants, CON * b + 8 * (UNLIKE + k)) for k in (0, 4, 8))
    momentum = componentwise(unlike, load3(y, STATE * b + 8 * OMEGA))
    _begin(constants, y, kin, inertia, load_, b, R, [componentwise(row, J) for row in R], momentum)


def _begin(
    constants: Any, y: Any, kin: Any, inertia: Any, load_: Any, b: Any, R: Any, turned: Any, momentum: Any
) -> None:
    """Compute the inertia of body b and its bias load, both in inertial axes, and write them to `inertia` and `load_`.

    The bias load is minus the sum of weight, applied loads and gyroscopic torque. `constants`, `y` and `kin` are
    constants, states and kinematics of the bodies. `R` holds the rows of the rotation matrix of the body, and `turned`
    the rows of R J for its inertia J. `momentum` is its angular momentum in body axes minus that of a sphere with the
    middle principal moment of inertia.
    """
    k, c, f = KIN * b, CON * b, BODY * b
    mass = load(constants, c + 8 * MASS)
    zero = 0.0 * mass
    rows = {(i, j): dot(turned[i], R[j]) for i, j in UPPER}
    turns = tuple(tuple(rows[min(i, j), max(i, j)] for j in range(3)) for i in range(3))
    shifts = (mass, zero, zero), (zero, mass, zero), (zero, zero, mass)
    store_inertia(inertia, 8 * BODY_INERTIA * b, (shifts, ((zero,) * 3,) * 3, turns))
    omega = load3(y, STATE * b + 8 * OMEGA)
    gyroscopic = rows_times(kin, k + 8 * ROTATION, cross(momentum, omega))
    weight = times(load3(constants, c + 8 * GRAVITY), mass)
    store3(load_, f, times(plus(weight, load3(kin, k + 8 * FORCE)), -1.0))
    store3(load_, f + ANGULAR, times(plus(gyroscopic, load3(kin, k + 8 * TORQUE)), -1.0))


@traced
def body_rates(y: Any, kin: Any, motion: Any, ydot: Any, b: Any) -> None:
    """Write the time derivatives of the state of body b to `ydot`, from its accelerations in `motion`.

    `y` and `kin` are the states and the kinematics of all bodies.
    """
    s, k, f = STATE * b, KIN * b, BODY * b
    store3(ydot, s + 8 * POSITION, load3(y, s + 8 * VELOCITY))
    store3(ydot, s + 8 * VELOCITY, load3(motion, f))
    store3(ydot, s + 8 * OMEGA, columns_times(kin, k + 8 * ROTATION, load3(motion, f + ANGULAR)))
    q = s + 8 * ORIENTATION
    w, v, omega = 0.5 * load(y, q), times(load3(y, q + 8), 0.5), load3(y, s + 8 * OMEGA)
    store(ydot, q, -dot(v, omega))
    store3(ydot, q + 8, plus(times(omega, w), cross(v, omega)))


@kernel
def evaluate_in_lanes(
    tables: LaneTables,
    numbers: LaneNumbers,
    work: LaneWork,
    forces: Forces,
    t: float,
    y: np.ndarray,
    ydot: np.ndarray,
    group: int,
    settled: bool,
    probes: LaneProbes,
    stage: int,
    before: float,
    weights: Weights,
    row: int,
    h: float,
    first: np.ndarray,
    after: np.ndarray,
) -> None:
    """Write the time derivatives y' at time t (s) and states y to `ydot`, for a group of eight members.

    `group` is the index of the group; `settled`, `probes`, `stage` and `before` are as in `applied_in_lanes`. If `row`
    is not negative, `after` is then set to the state `first` plus the step size h (s) times the weighted sum of the
    slopes of all stages; the weights are this row of the tableau.
    """
    joints, closing = tables.joints, tables.closing
    count, rows, ground = joints.shape[0] // JOINT_ENTRIES, closing.shape[0] // ROW_ENTRIES, y.shape[0] // STATE - 1
    constants = numbers.constants[CON * (ground + 1) * group : CON * (ground + 1) * (group + 1)]
    links = numbers.links[8 * LINK_NUMBERS * ground * group : 8 * LINK_NUMBERS * ground * (group + 1)]
    moments = numbers.moments[MOMENTS * ground * group : MOMENTS * ground * (group + 1)]
    placed = numbers.joints[8 * JOINT_NUMBERS * count * group : 8 * JOINT_NUMBERS * count * (group + 1)]
    rotations(y, work.kin)
    if forces.entries.shape[0] > 0:
        size = 8 * forces.inputs.shape[0]
        applied_in_lanes(
            forces, numbers.sides, numbers.inputs[size * group : size * (group + 1)], t, y, work.kin, settled,
            probes, group, stage, before, work.notes,
        )  # fmt: skip
    if tables.links.shape[0] > 0:
        loaded = forces.entries.shape[0] > 0
        if loaded:
            take_loads(tables.links, links, work.kin, work.load)
        articulate_links(tables.links, links, y, work, loaded)
        follow_links(
            tables.links, constants[8 * GRAVITY :], y, work.kin, work.links, work.motion, ydot, weights, row,
            work.slopes, h, first, after,
        )  # fmt: skip
        return
    for b in range(ground):
        if numbers.principal:
            begin_principal(constants, moments, y, work.kin, work.inertia, work.load, b)
        else:
            begin_body(constants, moments, y, work.kin, work.inertia, work.load, b)
    for m in range(count):
        joint = count - 1 - m
        place(joints, placed, work.kin, work.joints, joint)
        articulate(joints, work.inertia, work.joints, joint, ground)
        gather_loads(joints, work.joints, work.load, joint, ground, True)
    for joint in range(count):
        follow(joints, work.joints, work.motion, joint, True)
    if rows > 0:
        rows_of_group(tables, numbers, work, y, group)
    for b in range(ground):
        body_rates(y, work.kin, work.motion, ydot, b)
    if row >= 0:
        combine(weights, row, work.slopes, h, first, after)


@kernel
def rows_of_group(tables: LaneTables, numbers: LaneNumbers, work: LaneWork, y: np.ndarray, group: int) -> None:
    """Compute and factorize the loop-closing rows at the states y, and add their effect to the accelerations.

    `group` is the index of the group of members. Projections reuse the factorization.
    """
    closing, rows, ground = tables.closing, tables.closing.shape[0] // ROW_ENTRIES, y.shape[0] // STATE - 1
    own = numbers.closing[8 * CLOSING_NUMBERS * rows * group : 8 * CLOSING_NUMBERS * rows * (group + 1)]
    for c in range(rows):
        close_row(closing, own, y, work.kin, work.closing, c)
    for k in range(0, work.motion.shape[0], 8):
        store(work.free, k, load(work.motion, k))
    respond(tables, work, ground)
    for k in range(0, work.motion.shape[0], 8):
        store(work.motion, k, load(work.free, k))
    close_loops(tables, work, ground)
