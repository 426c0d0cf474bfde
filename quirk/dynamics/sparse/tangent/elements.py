"""Derivatives of force laws and constraint rows in eight directions, in compiled code.

An element is a force law or a relation (constraint given by a function); its entries in the tables begin at index `o`.
Its derivatives are computed by a function of dual numbers, which are numbers with eight derivatives, one for each
direction. The inputs of an element are followed by their derivatives.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model import layout
from quirk.forces.place import PLACEMENT
from quirk.functions.motion_kernels import motion_taylor
from quirk.jit.compilation import entry, kernel
from quirk.jit.function_pointers import call
from quirk.jit.simd import at, load, put, splat, store
from quirk.jit.tracing import traced

from ..kernels.applied import Forces
from ..kernels.bodies import KIN, STATE
from .tables import (
    ACCELERATION,
    ADDRESS,
    ELEMENT,
    FRAMES,
    INPUT,
    INPUTS,
    LEVELS,
    LOAD,
    MOTION,
    MOTION_END,
    MOVING,
    OUTPUT,
    OUTPUTS,
    POSITION,
    PROFILES,
    RATES,
    ROTATION,
    ROW,
    ROWS,
    SIDE,
    SIDE_END,
    SOURCE,
    SPIN,
    SPIN_RATE,
    VARIABLE,
    VARIABLE_COUNT,
    VARIABLES,
    VELOCITY,
    TangentElements,
    Tangents,
)

# Numbers of time derivatives of motions that relations, and laws, use.
OF_RELATIONS, OF_LAWS = 2, 1


@kernel
def law_tangents(tangents: Tangents, forces: Forces, t: float, timed: bool) -> None:
    """Compute the derivatives of all force laws in eight directions at time t (s).

    The derivatives of applied loads are added to the derivatives of the loads on bodies; the derivatives of the rates
    of internal variables are stored. `timed` is true if a direction has a component in time.
    """
    laws = tangents.laws
    for e in range(laws.entries.shape[0] // ELEMENT):
        o = ELEMENT * e
        write_inputs(laws, o, forces)
        deltas = laws.entries[o + INPUT] + laws.entries[o + INPUTS]
        write_motions(tangents.time, laws, o, t, OF_LAWS, timed)
        for n in range(laws.entries[o + VARIABLE_COUNT]):
            change = load(tangents.internal, 8 * (laws.entries[o + VARIABLE] + n))
            store(laws.inputs, deltas + 8 * (laws.entries[o + VARIABLES] + 2 * n), change)
        place = deltas + 8 * laws.entries[o + FRAMES]
        for side in range(laws.entries[o + SIDE], laws.entries[o + SIDE_END]):
            # Position, velocity, rotation, angular velocity and quaternion are contiguous.
            place, m = place + 8 * PLACEMENT, MOVING * laws.sides[side]
            for c in range(0, SPIN_RATE, 8):
                store(laws.inputs, place + c, load(tangents.moving, m + c))
            place += SPIN_RATE
        out, outputs = laws.entries[o + OUTPUT], laws.entries[o + OUTPUTS]
        run_dual(laws, o, t, LANES * (laws.entries[o + SIDE_END] - laws.entries[o + SIDE]))
        loads = out + outputs
        for side in range(laws.entries[o + SIDE], laws.entries[o + SIDE_END]):
            body = LOAD * laws.sides[side]
            for c in range(6):
                add_lanes(tangents.loads, body + 8 * c, load(laws.outputs, loads + 8 * c))
            loads += 8 * LANES
        for n in range(laws.entries[o + VARIABLE_COUNT]):
            rate = load(laws.outputs, out + outputs + 8 * (laws.entries[o + RATES] + n))
            store(tangents.rates, 8 * (laws.entries[o + VARIABLE] + n), rate)


@kernel
def relation_tangents(tangents: Tangents, t: float, y: np.ndarray, kin: np.ndarray, timed: bool) -> None:
    """Compute the derivatives of all relations in eight directions at time t (s).

    A relation is a constraint given by a function. The derivatives of its residuals are stored, and those of its
    constraint loads are added to the derivatives of the loads on bodies. y is the state, and `kin` contains the
    kinematics of all bodies. `timed` is true if a direction has a component in time.
    """
    relations, lanes = tangents.relations, tangents.lanes
    for r in range(relations.entries.shape[0] // ELEMENT):
        o = ELEMENT * r
        write_frames(relations, o, y, kin, tangents.accelerations)
        move_frames(relations, o, tangents.moving)
        write_motions(tangents.time, relations, o, t, OF_RELATIONS, timed)
        write_multipliers(tangents, o)
        rows, row, out = relations.entries[o + ROWS], relations.entries[o + ROW], relations.entries[o + OUTPUT]
        run_dual(relations, o, t, LEVELS * rows)
        deltas = out + relations.entries[o + OUTPUTS]
        begin, end = relations.entries[o + SIDE], relations.entries[o + SIDE_END]
        for n in range(rows):
            for level in range(LEVELS):
                change = load(relations.outputs, deltas + 8 * (LEVELS * n + level))
                store(tangents.levels, 8 * (LEVELS * lanes[row + n] + level), change)
        loads = deltas + 8 * LEVELS * rows
        for side in range(begin, end):
            for c in range(6):
                add_lanes(tangents.loads, LOAD * relations.sides[side] + 8 * c, load(relations.outputs, loads + 8 * c))
            loads += 8 * LANES


@kernel
def write_inputs(laws: TangentElements, o: int, forces: Forces) -> None:
    """Copy the inputs of a force law in its last evaluation to those of its function of dual numbers.

    `forces` contains the last evaluation. The entries of the law in the tables begin at index o.
    """
    first, source = laws.entries[o + INPUT], laws.entries[o + SOURCE]
    for c in range(laws.entries[o + INPUTS]):
        put(laws.inputs, first + c, at(forces.inputs, source + c))


@kernel
def write_frames(relations: TangentElements, o: int, y: np.ndarray, kin: np.ndarray, accelerations: np.ndarray) -> None:
    """Write poses, velocities and accelerations of the bodies of a relation to the inputs of its function.

    A relation is a constraint given by a function; its entries in the tables begin at index o. y is the state, `kin`
    contains the kinematics of all bodies, and `accelerations` their accelerations (inertial frame).
    """
    i = relations.entries[o + INPUT] + relations.entries[o + FRAMES]
    for side in range(relations.entries[o + SIDE], relations.entries[o + SIDE_END]):
        slot = relations.sides[side]
        s, k = slot // 8 * STATE + slot % 8, slot // 8 * KIN + slot % 8
        i += PLACEMENT
        for c in range(3):
            acceleration = ACCELERATION * slot + c
            put(relations.inputs, i + c, at(y, s + 8 * (layout.POSITION + c)))
            put(relations.inputs, i + 3 + c, at(y, s + 8 * (layout.VELOCITY + c)))
            put(relations.inputs, i + 6 + c, 0.5 * at(accelerations, acceleration))
            put(relations.inputs, i + 18 + c, at(kin, k + 8 * (layout.SPIN + c)))
            put(relations.inputs, i + 21 + c, at(accelerations, acceleration + 3))
        for c in range(9):
            put(relations.inputs, i + 9 + c, at(kin, k + 8 * (layout.ROTATION + c)))
        i += 24


@kernel
def move_frames(relations: TangentElements, o: int, moving: np.ndarray) -> None:
    """Copy the derivatives of the motion of a relation's bodies, along eight directions, to the inputs of its function.

    A relation is a constraint given by a function; its entries in the tables begin at index o. `moving` contains the
    derivatives of the motion of all bodies.
    """
    d = relations.entries[o + INPUT] + relations.entries[o + INPUTS] + 8 * relations.entries[o + FRAMES]
    for side in range(relations.entries[o + SIDE], relations.entries[o + SIDE_END]):
        m = MOVING * relations.sides[side]
        d += 8 * PLACEMENT
        for c in range(0, 24, 8):
            store(relations.inputs, d + c, load(moving, m + POSITION + c))
            store(relations.inputs, d + 24 + c, load(moving, m + VELOCITY + c))
            store(relations.inputs, d + 144 + c, load(moving, m + SPIN + c))
            store(relations.inputs, d + 168 + c, load(moving, m + SPIN_RATE + c))
        for c in range(0, 72, 8):
            store(relations.inputs, d + 72 + c, load(moving, m + ROTATION + c))
        d += 192


@kernel
def write_motions(time: np.ndarray, elements: TangentElements, o: int, t: float, order: int, timed: bool) -> None:
    """Write the prescribed motions of an element at time t (s) to its inputs, with time derivatives up to `order`.

    An element is a force law or a relation (constraint function); its entries begin at index o. `time` contains the
    time components of the eight directions, and `timed` is true if any of them is nonzero.
    """
    first, count = elements.entries[o + INPUT], elements.entries[o + INPUTS]
    store(elements.inputs, first + 9 * count, load(time, 0))
    place = elements.entries[o + PROFILES]
    for m in range(elements.entries[o + MOTION], elements.entries[o + MOTION_END]):
        motion_taylor(elements.motions, m, t, order + 1 if timed else order, elements.taylor, 0)
        for k in range(order + 1):
            put(elements.inputs, first + place + k, at(elements.taylor, k))
            if timed:
                change = load(time, 0) * ((k + 1) * at(elements.taylor, k + 1))
                add_lanes(elements.inputs, first + count + 8 * (place + k), change)
        place += order + 1


@kernel
def write_multipliers(tangents: Tangents, o: int) -> None:
    """Copy the multipliers of a relation (constraint function) to its inputs, after the derivatives of the inputs.

    The entries of the relation in the tables begin at index o.
    """
    relations = tangents.relations
    place = relations.entries[o + INPUT] + 9 * relations.entries[o + INPUTS] + 8
    for n in range(relations.entries[o + ROWS]):
        multiplier = at(tangents.multipliers, tangents.lanes[relations.entries[o + ROW] + n])
        put(relations.inputs, place + n, multiplier)


@kernel
def hold_motions(elements: TangentElements, order: int) -> None:
    """Set the derivatives of all prescribed motions in eight directions to zero.

    This includes the derivatives of their time derivatives up to `order`.
    """
    for e in range(elements.entries.shape[0] // ELEMENT):
        o = ELEMENT * e
        first = elements.entries[o + INPUT] + elements.entries[o + INPUTS] + 8 * elements.entries[o + PROFILES]
        count = (order + 1) * (elements.entries[o + MOTION_END] - elements.entries[o + MOTION])
        for k in range(count):
            store(elements.inputs, first + 8 * k, splat(0.0))


@kernel
def run_dual(elements: TangentElements, o: int, t: float, leading: int) -> None:
    """Call the function of dual numbers of the element whose entries begin at index `o`, at time t (s).

    Dual numbers have a value and eight derivatives. If the call fails, the first `leading` derivatives of the outputs
    are set to NaN.
    """
    first, out = elements.entries[o + INPUT], elements.entries[o + OUTPUT]
    deltas = out + elements.entries[o + OUTPUTS]
    for c in range(leading):
        store(elements.outputs, deltas + 8 * c, splat(math.nan))
    call(elements.entries[o + ADDRESS], t, elements.inputs, first, elements.outputs, out)


@entry(needed_by="tangents of redundant constraints need", effort=3)
def run_relations(relations: TangentElements, t: float) -> None:
    """Call the functions of dual numbers of all relations with their current inputs.

    t is the time, s.
    """
    for o in range(0, relations.entries.shape[0], ELEMENT):
        run_dual(relations, o, t, LEVELS * relations.entries[o + ROWS])


@traced
def add_lanes(array: np.ndarray, o: int, lanes: Any) -> None:
    """Add the eight numbers `lanes` to eight adjacent elements of an array, beginning at element o."""
    store(array, o, load(array, o) + lanes)
