"""Derivatives of loads and constraint rows with respect to poses and velocities of bodies, in compiled code.

An element is a force law or a relation (constraint given by a function); its entries in the tables begin at index `o`.
A frame is the point of action of an element on one body. Derivatives are computed for one frame at a time, by
evaluating the element's function on dual numbers (values with eight derivatives). A side is one body of an element, a
pair are two bodies coupled by an element, and a slot is the position of a body in the arrays. Loads are scaled to
accelerations of bodies of unit mass and inertia. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.autodiff.elementary import apply
from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS, OMEGA, UNLIKE
from quirk.dynamics.model.vectors import (
    back,
    body_columns_times,
    body_rows_times,
    body_vector,
    cross,
    load3,
    plus,
    times,
)
from quirk.forces.place import PLACEMENT
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, splat, store, total
from quirk.jit.tracing import traced

from ..kernels.applied import Forces
from ..kernels.bodies import CON, KIN, STATE
from ..kernels.mechanism import Mechanism
from ..tangent.bodies import SPINNING, TURN, accelerate, inertial_moment, move
from ..tangent.elements import (
    OF_LAWS,
    OF_RELATIONS,
    hold_motions,
    run_dual,
    write_frames,
    write_inputs,
    write_motions,
    write_multipliers,
)
from ..tangent.friction import write_magnitudes
from ..tangent.tables import (
    ELEMENT,
    FRAMES,
    INPUT,
    INPUTS,
    LEVELS,
    MOVING,
    OUTPUT,
    OUTPUTS,
    POSITION,
    ROTATION,
    ROW,
    ROWS,
    SEED,
    SIDE,
    SIDE_END,
    SPIN,
    SPIN_RATE,
    VARIABLE_COUNT,
    VELOCITY,
    TangentElements,
)
from .internal import keep_rates, seed_variables
from .tables import BLOCK, PAIR, ImplicitTables

# Levels of directions: poses, or velocities.
POSES, VELOCITIES = range(2)


@component(effort=4)
def differentiate(mechanism: Mechanism, implicit: ImplicitTables, t: float, y: np.ndarray, ydot: np.ndarray) -> None:
    """Compute the derivatives of all loads and constraint rows for an implicit step at the last evaluated state y.

    t is the time (s), and `ydot` is y' at this state. Derivatives are with respect to poses, velocities and internal
    variables. Sliding friction is differentiated at constant magnitude: only its direction, opposite to the slip
    velocity, varies.
    """
    work, tangents = mechanism.work, implicit.tangents
    write_magnitudes(mechanism, tangents, False)
    for o in range(0, work.x.shape[0], 8):
        store(tangents.multipliers, o, load(work.x, o))
    for o in range(0, implicit.by_pose.shape[0], 8):
        store(implicit.by_pose, o, splat(0.0))
        store(implicit.by_velocity, o, splat(0.0))
    accelerate(tangents, work.kin, ydot)
    seeds, moving = implicit.seeds.shape[0] // 2, implicit.moving.shape[0] // 2
    for level in range(2):
        move(
            tangents.occupied, implicit.seeds[level * seeds : (level + 1) * seeds],
            implicit.moving[level * moving : (level + 1) * moving], y, work.kin, ydot,
        )  # fmt: skip
    store(tangents.time, 0, splat(0.0))
    hold_motions(tangents.laws, OF_LAWS)
    hold_motions(tangents.relations, OF_RELATIONS)
    laws(implicit, mechanism.forces, mechanism.constants, work.kin, t)
    relations(mechanism, implicit, y, t)
    inertia(implicit, mechanism.constants, y, work.kin, ydot)
    write_magnitudes(mechanism, tangents, True)


@kernel
def laws(implicit: ImplicitTables, forces: Forces, constants: np.ndarray, kin: np.ndarray, t: float) -> None:
    """Add the derivatives of the loads of all force laws to the blocks of the pairs of bodies that they couple.

    t is the time, s; `constants` and `kin` contain the constants and the kinematics of all bodies.
    """
    elements, blocks, half = implicit.tangents.laws, implicit.blocks, implicit.moving.shape[0] // 2
    for e in range(elements.entries.shape[0] // ELEMENT):
        o = ELEMENT * e
        write_inputs(elements, o, forces)
        write_motions(implicit.tangents.time, elements, o, t, OF_LAWS, False)
        begin, end = elements.entries[o + SIDE], elements.entries[o + SIDE_END]
        deltas = elements.entries[o + OUTPUT] + elements.entries[o + OUTPUTS]
        seed_variables(elements, o, False)
        for g in range(end - begin):
            if blocks.body_node[elements.sides[begin + g]] < 0:
                continue
            for level in range(2):
                seed_law(implicit.moving, elements, o, g, level * half)
                run_dual(elements, o, t, LANES * (end - begin))
                leave_out_unknown(elements.outputs, deltas, 8 * elements.entries[o + OUTPUTS])
                for f in range(end - begin):
                    pair = blocks.law_pair[blocks.law_first[e] + f * (end - begin) + g]
                    if pair >= 0:
                        add_loads(implicit, constants, kin, pair, level, elements.outputs, deltas + 8 * LANES * f)
                rates = implicit.rate_by_pose if level == POSES else implicit.rate_by_velocity
                keep_rates(elements, o, rates, BLOCK * (begin + g))
        if elements.entries[o + VARIABLE_COUNT] > 0:
            variables(implicit, constants, kin, t, e)


@kernel
def variables(implicit: ImplicitTables, constants: np.ndarray, kin: np.ndarray, t: float, e: int) -> None:
    """Compute the derivatives of force law e with respect to its internal variables.

    These are the derivatives of its loads, and of the rates of its internal variables. `constants` and `kin` contain
    the constants and the kinematics of all bodies at time t, s.
    """
    elements, o = implicit.tangents.laws, ELEMENT * e
    begin, end = elements.entries[o + SIDE], elements.entries[o + SIDE_END]
    seed_law(implicit.moving, elements, o, -1, 0)
    seed_variables(elements, o, True)
    run_dual(elements, o, t, LANES * (end - begin))
    place = elements.entries[o + OUTPUT] + elements.entries[o + OUTPUTS]
    leave_out_unknown(elements.outputs, place, 8 * elements.entries[o + OUTPUTS])
    keep_rates(elements, o, implicit.rate_by_variable, BLOCK * e)
    for f in range(begin, end):
        slot = elements.sides[f]
        if implicit.blocks.body_node[slot] >= 0:
            for row in range(6):
                store(implicit.by_variable, BLOCK * f + 8 * row, splat(0.0))
            add_scaled(implicit.by_variable, BLOCK * f, constants, kin, slot, elements.outputs, place)
        place += 8 * LANES


@kernel
def leave_out_unknown(derivatives: np.ndarray, first: int, count: int) -> None:
    """Set non-finite derivatives, such as those of a norm at zero, to zero.

    The `count` elements of `derivatives` that begin at index `first` are checked. Implicit steps do not require exact
    derivatives, and a single NaN would make the whole solution NaN.
    """
    for c in range(first, first + count):
        x = at(derivatives, c)
        put(derivatives, c, x if abs(x) < np.inf else 0.0)


@kernel
def seed_law(moving: np.ndarray, elements: TangentElements, o: int, g: int, first: int) -> None:
    """Set the derivatives of the inputs of a force law for a motion of the body of frame g only.

    The derivatives of the motion of bodies are in `moving`, beginning at element `first`; the derivatives for all other
    frames are zero. The entries of the law, indices of its data, begin at index `o` in `elements`.
    """
    begin = elements.entries[o + SIDE]
    place = elements.entries[o + INPUT] + elements.entries[o + INPUTS] + 8 * elements.entries[o + FRAMES]
    for f in range(elements.entries[o + SIDE_END] - begin):
        place += 8 * PLACEMENT
        m = first + MOVING * elements.sides[begin + f]
        for c in range(0, SPIN_RATE, 8):
            store(elements.inputs, place + c, load(moving, m + c) if f == g else splat(0.0))
        place += SPIN_RATE


@kernel
def relations(mechanism: Mechanism, implicit: ImplicitTables, y: np.ndarray, t: float) -> None:
    """Compute the constraint rows of all relations, and derivatives of Phi'' and of the constraint loads.

    A relation is a constraint given by a function, with the residuals Phi. Derivatives are with respect to poses and
    velocities of bodies; derivatives of loads are added to those of the force laws. t is the time (s), and y the state.
    """
    tangents, blocks, work = implicit.tangents, implicit.blocks, mechanism.work
    elements, lanes, half = tangents.relations, tangents.lanes, implicit.moving.shape[0] // 2
    for r in range(elements.entries.shape[0] // ELEMENT):
        o = ELEMENT * r
        write_frames(elements, o, y, work.kin, tangents.accelerations)
        write_motions(tangents.time, elements, o, t, OF_RELATIONS, False)
        write_multipliers(tangents, o)
        begin, end, rows = elements.entries[o + SIDE], elements.entries[o + SIDE_END], elements.entries[o + ROWS]
        out = elements.entries[o + OUTPUT]
        deltas, gradient = out + elements.entries[o + OUTPUTS], out + LEVELS * rows
        for row in range(rows):
            lane = lanes[elements.entries[o + ROW] + row]
            put(implicit.independent, 8 * r + row, 1.0 if at(work.floor, lane) < np.inf else 0.0)
        for g in range(end - begin):
            if blocks.side_slot[begin + g] < 0:
                continue
            for level in range(2):
                seed_relation(implicit.moving, elements, o, g, level * half)
                run_dual(elements, o, t, LEVELS * rows)
                store_row_derivatives(implicit, begin + g, level, rows, elements.outputs, deltas)
                for f in range(end - begin):
                    pair = blocks.relation_pair[blocks.relation_first[r] + f * (end - begin) + g]
                    if pair < 0:
                        continue
                    place = deltas + 8 * (LEVELS * rows + LANES * f)
                    add_loads(implicit, mechanism.constants, work.kin, pair, level, elements.outputs, place)
        store_rows(implicit, mechanism.constants, work.kin, r, begin, end, rows, elements.outputs, gradient)


@kernel
def seed_relation(moving: np.ndarray, elements: TangentElements, o: int, g: int, first: int) -> None:
    """Set the derivatives of the inputs of a relation for a motion of the body of frame g only.

    A relation is a constraint given by a function. The derivatives of the motion of bodies are in `moving`, beginning
    at element `first`; the derivatives for all other frames are zero. The entries of the relation, indices of its data,
    begin at index `o` in `elements`.
    """
    begin = elements.entries[o + SIDE]
    place = elements.entries[o + INPUT] + elements.entries[o + INPUTS] + 8 * elements.entries[o + FRAMES]
    for f in range(elements.entries[o + SIDE_END] - begin):
        d = place + 8 * PLACEMENT
        m = first + MOVING * elements.sides[begin + f]
        for c in range(0, 24, 8):
            store(elements.inputs, d + c, load(moving, m + POSITION + c) if f == g else splat(0.0))
            store(elements.inputs, d + 24 + c, load(moving, m + VELOCITY + c) if f == g else splat(0.0))
            store(elements.inputs, d + 144 + c, load(moving, m + SPIN + c) if f == g else splat(0.0))
            store(elements.inputs, d + 168 + c, load(moving, m + SPIN_RATE + c) if f == g else splat(0.0))
        for c in range(0, 72, 8):
            store(elements.inputs, d + 72 + c, load(moving, m + ROTATION + c) if f == g else splat(0.0))
        place += 8 * (PLACEMENT + 24)


@kernel
def store_row_derivatives(
    implicit: ImplicitTables, side: int, level: int, rows: int, outputs: np.ndarray, deltas: int
) -> None:
    """Store the derivatives of Phi'' of a relation with respect to the motion of one of its bodies.

    Phi are the residuals of the relation (constraint function), which has `rows` rows. `level` selects the motion:
    poses or velocities. The derivatives begin at element `deltas` of `outputs`; `side` is the index of the body among
    those of all relations.
    """
    for row in range(rows):
        change = load(outputs, deltas + 8 * (LEVELS * row + LEVELS - 1))
        if level == POSES:
            store(implicit.row_by_pose, BLOCK * side + 8 * row, change)
        else:
            store(implicit.row_by_velocity, BLOCK * side + 8 * row, change)


@kernel
def store_rows(
    implicit: ImplicitTables,
    constants: np.ndarray,
    kin: np.ndarray,
    r: int,
    begin: int,
    end: int,
    rows: int,
    outputs: np.ndarray,
    gradient: int,
) -> None:
    """Store the constraint rows of relation r, and scale them and the derivatives of Phi'' to rows of unit norm.

    A relation is a constraint given by a function. The norm is taken in the mass metric: the part of a row over each
    body is multiplied by W, where (W W^T)^-1 is the mass matrix of the body. The gradients begin at element `gradient`
    of `outputs`, and `rows` is the number of rows. The bodies have the indices `begin` to `end` - 1 among those of all
    relations. `constants` and `kin` contain the constants and the kinematics of all bodies.
    """
    for row in range(rows):
        square = 0.0
        for side in range(begin, end):
            slot = implicit.blocks.side_slot[side]
            if slot < 0:
                continue
            o = BLOCK * side + 8 * row
            store(implicit.rows, o, splat(0.0))
            g = gradient + LANES * (row * (end - begin) + side - begin)
            force = at(outputs, g), at(outputs, g + 1), at(outputs, g + 2)
            moment = at(outputs, g + 3), at(outputs, g + 4), at(outputs, g + 5)
            c, k = slot // 8 * CON + slot % 8, slot // 8 * KIN + slot % 8
            put3(implicit.rows, o, scaled_force(constants, c, force))
            put3(implicit.rows, o + 3, scaled_moment(constants, c, kin, k, moment))
            square += total(load(implicit.rows, o) * load(implicit.rows, o))
        scale = at(implicit.independent, 8 * r + row) / square**0.5 if square > 0.0 else 0.0
        for side in range(begin, end):
            if implicit.blocks.side_slot[side] >= 0:
                o = BLOCK * side + 8 * row
                store(implicit.rows, o, scale * load(implicit.rows, o))
                store(implicit.row_by_pose, o, scale * load(implicit.row_by_pose, o))
                store(implicit.row_by_velocity, o, scale * load(implicit.row_by_velocity, o))


@kernel
def add_loads(
    implicit: ImplicitTables,
    constants: np.ndarray,
    kin: np.ndarray,
    pair: int,
    level: int,
    outputs: np.ndarray,
    place: int,
) -> None:
    """Add the derivatives of a load on the first body of a pair, by the motion of the second body, to the pair's block.

    The derivatives begin at element `place` of `outputs`; the load is in the inertial frame and is scaled to an
    acceleration. `level` selects derivatives with respect to poses or to velocities. `pair` is the index of the pair;
    `constants` and `kin` contain the constants and the kinematics of all bodies.
    """
    array = implicit.by_pose if level == POSES else implicit.by_velocity
    add_scaled(array, PAIR * pair, constants, kin, implicit.blocks.pair_row[pair], outputs, place)


@kernel
def add_scaled(
    array: np.ndarray,
    o: int,
    constants: np.ndarray,
    kin: np.ndarray,
    slot: int,
    outputs: np.ndarray,
    place: int,
) -> None:
    """Scale the derivatives of a load on a body to those of an acceleration, and add them to six rows of `array`.

    Each of the six components of the load has eight derivatives, beginning at element `place` of `outputs`; the rows
    begin at element o. The body is at position `slot` of the arrays. `constants` and `kin` contain the constants and
    the kinematics of all bodies.
    """
    force, moment = load3(outputs, place), load3(outputs, place + 24)
    c, k = slot // 8 * CON + slot % 8, slot // 8 * KIN + slot % 8
    add3(array, o, scaled_force(constants, c, force))
    add3(array, o + 24, scaled_moment(constants, c, kin, k, moment))


@kernel
def inertia(implicit: ImplicitTables, constants: np.ndarray, y: np.ndarray, kin: np.ndarray, ydot: np.ndarray) -> None:
    """Add the derivatives of gyroscopic moments, and of applied moments due to the rotation of the body axes.

    Moments are in body axes, in which a moment that is constant in the inertial frame varies with the orientation of
    the body. `constants` and `kin` contain the constants and the kinematics of all bodies at state y, with y' in
    `ydot`.
    """
    half = implicit.seeds.shape[0] // 2
    for slot in range(implicit.blocks.diagonal_pair.shape[0]):
        pair = implicit.blocks.diagonal_pair[slot]
        if pair < 0:
            continue
        s, c, seed = slot // 8 * STATE + slot % 8, slot // 8 * CON + slot % 8, SEED * slot
        omega, alpha = body_vector(y, s + 8 * OMEGA), body_vector(ydot, s + 8 * OMEGA)
        momentum = body_rows_times(constants, c + 8 * UNLIKE, omega)
        inertial = inertial_moment(constants, c, alpha)
        torque = plus(inertial, cross(omega, momentum))
        turn, spinning = load3(implicit.seeds, seed + TURN), load3(implicit.seeds, half + seed + SPINNING)
        by_pose = body_columns_times(constants, c + 8 * FACTOR, cross(torque, turn))
        by_velocity = plus(
            cross(spinning, momentum), cross(omega, body_rows_times(constants, c + 8 * UNLIKE, spinning))
        )
        by_velocity = body_columns_times(constants, c + 8 * FACTOR, by_velocity)
        add3(implicit.by_pose, PAIR * pair + 24, by_pose)
        add3(implicit.by_velocity, PAIR * pair + 24, times(by_velocity, -1.0))


@traced
def scaled_force(constants: Any, c: Any, force: Any) -> Any:
    """Return a force in the inertial frame, divided by the square root of the mass of the body on which it acts.

    The constants of the body begin at element c of `constants`.
    """
    return times(force, apply("sqrt", at(constants, c + 8 * INVERSE_MASS)))


@traced
def scaled_moment(constants: Any, c: Any, kin: Any, k: Any, moment: Any) -> Any:
    """Return W^T times a moment, for the inverse inertia matrix W W^T of a body in body axes.

    `moment` is given in the inertial frame. The constants of the body begin at element c of `constants`, and its
    kinematics at element k of `kin`.
    """
    return body_columns_times(constants, c + 8 * FACTOR, back(kin, k, moment))


@traced
def add3(array: Any, o: Any, lanes: Any) -> None:
    """Add three vectors of eight numbers, `lanes`, to three consecutive rows of an array, beginning at element o."""
    for c in range(3):
        store(array, o + 8 * c, load(array, o + 8 * c) + lanes[c])


@traced
def put3(array: Any, o: Any, numbers: Any) -> None:
    """Store three numbers in adjacent elements of an array, beginning at element o."""
    for c in range(3):
        put(array, o + c, numbers[c])
