"""Right-hand side of the equations of motion of eight members in lanes, and projection onto their constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.constraints.relation import LANES
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
    ELEMENT_SIZE,
    KINEMATICS_AT,
    OUTPUT,
    SIDE,
    SIDE_END,
    SIDE_ENTRIES,
    Forces,
    refer,
    run_law,
)
from quirk.dynamics.sparse.kernels.bodies import CON, KIN, STATE, largest_distance, move, normalise, rotations, speed
from quirk.dynamics.sparse.kernels.inertia import UPPER
from quirk.dynamics.sparse.kernels.project import CURVATURE, LEFT, MOST_STEPS, ROUND_OFF, ROUND_OFF_ULPS
from quirk.dynamics.sparse.kernels.redundancy import EPSILON
from quirk.integrators.combinations import Weights, combine
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, highest, load, put, splat, store
from quirk.jit.tracing import traced
from quirk.jit.unlocked import unlocked_entry

from .closing import close_deviation, close_loops, close_row, respond
from .forest import ANGULAR, articulate, deviate, follow, gather_loads, place, prescribe, store_inertia
from .links import LINK_NUMBERS
from .probes import NOWHERE, LaneProbes, probe
from .records import (
    ABRUPT,
    BODY_INERTIA,
    BODY_LOAD,
    CLOSING_NUMBERS,
    CORRECTED,
    CORRECTION_LEFT,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    NOT_A_NUMBER,
    RATE_LEFT,
    ROW_ENTRIES,
    LaneNumbers,
    LaneSteps,
    LaneTables,
    LaneWork,
)
from .recursion_elimination import articulate_links
from .recursion_loads import load_links, take_loads
from .recursion_motions import follow_links
from .recursion_projection import lock_links, move_links

BODY = 8 * BODY_LOAD
MOMENTS = 48  # elements of a symmetric matrix of eight members
# Smallest pivot of the rows for which the estimate of convergence of the projection holds.
LEAST_PIVOT = 0.01


@kernel
def applied_in_lanes(
    forces: Forces, sides: np.ndarray, inputs: np.ndarray, t: float, y: np.ndarray, kin: np.ndarray, settled: bool,
    probes: LaneProbes, group: int, stage: int, before: float, notes: np.ndarray,
) -> None:  # fmt: skip
    """Write the applied loads on all bodies at time t (s) to the entries FORCE and TORQUE of `kin`.

    The force laws are evaluated for one member after the other.

    Parameters
    ----------
    forces : force laws, and working arrays for one member
    inputs : inputs of the laws of the eight members
    sides : for each frame of the laws, the offsets of its body in arrays of states and of kinematics
    y, kin : states and kinematics of the bodies
    settled : whether the evaluation is at the end of a step, where the reference angles for counting full turns are
        updated
    probes : records of user functions; `group` is the index of the group of members, `stage` the index of the stage,
        and `before` the start time of the step, s; see `probe`
    notes : flags, in which ABRUPT is set if a user function may have jumped in the step
    """
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            store(kin, block * KIN + 8 * (FORCE + c), splat(0.0))
    count, elements = forces.inputs.shape[0], forces.entries.shape[0] // ELEMENT_SIZE
    for lane in range(8 if elements > 0 else 0):
        for k in range(count):
            forces.inputs[k] = inputs[count * lane + k]
        for k in range(sides.shape[0]):
            forces.sides[k] = sides[k] + lane
        for e in range(elements):
            o = ELEMENT_SIZE * e
            run_law(forces, e, t, y, kin)
            first, out = forces.entries[o + SIDE], forces.entries[o + OUTPUT]
            for s in range(first, forces.entries[o + SIDE_END]):
                k = forces.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
                for c in range(3):
                    place_ = out + LANES * (s - first) + c
                    kin[k + 8 * (FORCE + c)] += at(forces.outputs, place_)
                    kin[k + 8 * (TORQUE + c)] += at(forces.outputs, place_ + 3)
        if settled:
            refer(forces, t)
            for k in range(count):
                inputs[count * lane + k] = forces.inputs[k]
        if (
            probes.samples.limit.shape[0] > 0
            and stage != NOWHERE
            and probe(probes, forces, 8 * group + lane, stage, before, t)
        ):
            put(notes, 8 * ABRUPT + lane, 1.0)


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
        t_ = count - 1 - m
        place(joints, placed, work.kin, work.joints, t_)
        articulate(joints, work.inertia, work.joints, t_, ground)
        gather_loads(joints, work.joints, work.load, t_, ground, True)
    for t_ in range(count):
        follow(joints, work.joints, work.motion, t_, True)
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
        t = count - 1 - m
        deviate(joints, placed, y, work.kin_new, work.joints, t, level)
        prescribe(work.joints, t)
        gather_loads(joints, work.joints, work.load, t, ground, True)
    for t in range(count):
        follow(joints, work.joints, work.motion, t, True)
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


@kernel
def steps_of_group(
    tables: LaneTables, numbers: LaneNumbers, work: LaneWork, forces: Forces, weights: Weights, steps: LaneSteps,
    first: int, count: int, y: np.ndarray, group: int, probes: LaneProbes,
) -> None:  # fmt: skip
    """Advance the states y of a group of eight members by `count` integration steps, in place.

    `first` is the number of steps taken before, and `group` the index of the group. `steps` are the times of the run,
    `forces` the force laws, `weights` the tableau of the method, and `probes` the records of user functions.
    """
    size = y.shape[0]
    constants = numbers.constants[CON * (size // STATE) * group : CON * (size // STATE) * (group + 1)]
    for n in range(first, first + count):
        t = steps.start + n * steps.step
        t_new = steps.end if n + 1 >= steps.total else steps.start + (n + 1) * steps.step
        h = t_new - t
        for stage in range(weights.stages):
            here, after = (y if stage == 0 else work.stage), (work.stage if stage + 1 < weights.stages else y)
            # At its start, the functions of the step before are tested.
            if stage == 0 and n > 0:
                probed, before = probes.stages, steps.start + (n - 1) * steps.step
            else:
                probed, before = stage, t
            evaluate_in_lanes(
                tables, numbers, work, forces, t + weights.c[stage] * h, here,
                work.slopes[stage * size : (stage + 1) * size], group, n > 0 and stage == 0, probes, probed, before,
                weights, stage + 1, h, y, after,
            )  # fmt: skip
        normalise(constants, y)
        if tables.project:
            project_in_lanes(tables, numbers, work, y, group)
        if n + 1 == steps.total and probes.samples.limit.shape[0] > 0:
            slope = work.slopes[:size]
            evaluate_in_lanes(
                tables, numbers, work, forces, t_new, y, slope, group, False, probes, probes.stages, t, weights, -1, h,
                y, y,
            )  # fmt: skip
    lost = load(work.notes, 8 * NOT_A_NUMBER)
    for o in range(0, size, 8):
        x = load(y, o)
        lost = lost + (x - x)
    store(work.notes, 8 * NOT_A_NUMBER, lost)


@unlocked_entry(needed_by="batches with fixed steps need", effort=25)
def march_in_lanes(
    tables: LaneTables, numbers: LaneNumbers, work: LaneWork, forces: Forces, weights: Weights, steps: LaneSteps,
    first: int, count: int, begin: int, end: int, states: np.ndarray, notes: np.ndarray, probes: LaneProbes,
) -> None:  # fmt: skip
    """Advance the states of groups `begin` to `end` - 1 by `count` integration steps, in place.

    `steps` are the times of the run, `first` is the number of steps taken before, and `weights` is the tableau of the
    method. If `count` is 0, the states are projected onto the constraints instead. `notes` receives the results of the
    checks of each group.
    """
    size, room = work.stage.shape[0], work.notes.shape[0]
    for group in range(begin, end):
        y = states[size * group : size * (group + 1)]
        for o in range(0, room, 8):
            store(work.notes, o, load(notes, room * group + o))
        if count > 0:
            steps_of_group(tables, numbers, work, forces, weights, steps, first, count, y, group, probes)
        else:
            evaluate_in_lanes(
                tables, numbers, work, forces, steps.start, y, work.slopes[:size], group, False, probes, NOWHERE, 0.0,
                weights, -1, 0.0, y, y,
            )  # fmt: skip
            if tables.project:
                project_in_lanes(tables, numbers, work, y, group)
        for o in range(0, room, 8):
            store(notes, room * group + o, load(work.notes, o))
