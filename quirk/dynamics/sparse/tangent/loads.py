"""Changes of accelerations and loads along eight directions, in one pass over the states of a motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.constraints.relation import LANES
from quirk.functions.motion_kernels import MotionTable
from quirk.jit.compilation import entry, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, put

from ..kernels.applied import ELEMENT_SIZE
from ..kernels.applied import OUTPUT as LAW_OUTPUT
from ..kernels.evaluate import evaluate
from ..kernels.impose import copy
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import watch
from ..variation.explicit import move_motions
from .changes import seed
from .elements import hand_over_multipliers, run_dual
from .find import solve_for_changes, take_motion
from .tables import ELEMENT, LEVELS, OUTPUT, OUTPUTS, ROW, ROWS, SIDE, SIDE_END, Tangents

# Entries of each side on which a constraint's load is read: the constraint, a relation of it, and a frame of that.
CONSTRAINT, RELATION, FRAME = range(3)
SIDE_ENTRIES = 3
# Numbers of a load: force and moment; of a force element its energy as well. Each with its value and eight changes.
WRENCH, WITH_ENERGY, WITH_CHANGES = 6, 7, 9
# Maximum number of evaluations of a state after other rows, another method or more passes were chosen there.
ADAPTATIONS = 3


@record
class LoadPass(NamedTuple):
    """Changes of a motion along D of eight directions at nt states, and what they make of loads.

    directions: D · rank: the largest number of independent rows met · motions, moved, taylor: how motions change, as in
    `ExplicitVariation` · stop (1,): not zero to end · times (nt,), states (nt size,), changes (nt D size,): the motion
    and its changes · places (p,), references (nt p,): inputs of laws from which angles are continued, and what they are
    · sides: entries as above · slope (size,): scratch Found: wrenches (nt D, as `Work.wrench`) · joints (nt, C, 6, 9),
    forces (nt, E, 7, 9): loads in N, of constraints about the center of mass of body j, and of force elements about
    that of the body of the last frame, with energies
    """

    directions: int
    rank: int
    motions: MotionTable
    moved: np.ndarray
    taylor: np.ndarray
    stop: np.ndarray
    times: np.ndarray
    states: np.ndarray
    changes: np.ndarray
    places: np.ndarray
    references: np.ndarray
    sides: np.ndarray
    slope: np.ndarray
    wrenches: np.ndarray
    joints: np.ndarray
    forces: np.ndarray


@entry(needed_by="derivatives of loads need", effort=20)
def loads_along(mechanism: Mechanism, tangents: Tangents, loads: LoadPass) -> None:
    """Fill what is found at all states."""
    for row in range(loads.times.shape[0]):
        if loads.stop[0] != 0:
            return
        move_to(mechanism, tangents, loads, row)
        for d in range(loads.directions):
            size, bodies = mechanism.work.wrench.shape[0], loads.directions * row + d
            copy(tangents.wrenches[d * size : (d + 1) * size], loads.wrenches[bodies * size : (bodies + 1) * size])
        read_joints(mechanism, tangents, loads, row)
        read_forces(mechanism, tangents, loads, row)


@kernel
def move_to(mechanism: Mechanism, tangents: Tangents, loads: LoadPass, row: int) -> None:
    """Evaluate at a state, and find how accelerations and multipliers change there."""
    size, t, places = loads.slope.shape[0], loads.times[row], loads.places.shape[0]
    y = loads.states[row * size : (row + 1) * size]
    for p in range(places):
        put(mechanism.forces.inputs, loads.places[p], at(loads.references, row * places + p))
    evaluate(mechanism, t, y, 0.0, 0.0, loads.slope)
    for _ in range(ADAPTATIONS if mechanism.nodes.rows.shape[0] > 0 else 0):
        if not watch(mechanism, t, y, loads.rank):
            break
        evaluate(mechanism, t, y, 0.0, 0.0, loads.slope)
    take_motion(mechanism, tangents, loads.slope)
    move_motions(tangents, loads, t)
    for d in range(loads.directions):
        o = (loads.directions * row + d) * size
        seed(mechanism.constants, tangents, y, loads.changes[o : o + size], d)
    solve_for_changes(mechanism, tangents, t, y, loads.slope, False, loads.directions, 0.0, 0.0)


@kernel
def read_joints(mechanism: Mechanism, tangents: Tangents, loads: LoadPass, row: int) -> None:
    """Fill the loads of all constraints, from rows and multipliers and how both change."""
    relations, lanes = tangents.relations, mechanism.work.x.shape[0]
    count = loads.joints.shape[0] // max(1, loads.times.shape[0])
    for o in range(row * count, (row + 1) * count):
        put(loads.joints, o, 0.0)
    for s in range(loads.sides.shape[0] // SIDE_ENTRIES):
        o, frame = ELEMENT * loads.sides[SIDE_ENTRIES * s + RELATION], loads.sides[SIDE_ENTRIES * s + FRAME]
        frames = relations.entries[o + SIDE_END] - relations.entries[o + SIDE]
        rows, out = relations.entries[o + ROWS], relations.entries[o + OUTPUT]
        deltas = out + relations.entries[o + OUTPUTS] + 8 * (LEVELS * rows + LANES * frame)
        into = row * count + WITH_CHANGES * WRENCH * loads.sides[SIDE_ENTRIES * s + CONSTRAINT]
        for c in range(WRENCH):
            place = into + WITH_CHANGES * c
            for d in range(loads.directions):
                add(loads.joints, place + 1 + d, at(relations.outputs, deltas + 8 * c + d))
            for n in range(rows):
                lane = tangents.lanes[relations.entries[o + ROW] + n]
                part = at(relations.outputs, out + LEVELS * rows + LANES * (frames * n + frame) + c)
                add(loads.joints, place, at(tangents.multipliers, lane) * part)
                for d in range(loads.directions):
                    add(loads.joints, place + 1 + d, at(tangents.changes, d * lanes + lane) * part)


@kernel
def read_forces(mechanism: Mechanism, tangents: Tangents, loads: LoadPass, row: int) -> None:
    """Fill the loads of all force elements on the bodies of their last frames, and their energies."""
    laws, forces, numbers = tangents.laws, mechanism.forces, WITH_ENERGY * WITH_CHANGES
    count = forces.entries.shape[0] // ELEMENT_SIZE
    for e in range(count):
        o, into = ELEMENT * e, (row * count + e) * numbers
        frames = laws.entries[o + SIDE_END] - laws.entries[o + SIDE]
        values = forces.entries[ELEMENT_SIZE * e + LAW_OUTPUT]
        deltas = laws.entries[o + OUTPUT] + laws.entries[o + OUTPUTS]
        for c in range(WITH_ENERGY):
            # The energy stands behind the loads of all frames.
            number, place = LANES * (frames - 1) + c if c < WRENCH else LANES * frames, into + WITH_CHANGES * c
            put(loads.forces, place, at(forces.outputs, values + number))
            for d in range(loads.directions):
                put(loads.forces, place + 1 + d, at(laws.outputs, deltas + 8 * number + d))


@kernel
def add(array: np.ndarray, o: int, x: float) -> None:
    """Add to an element."""
    put(array, o, at(array, o) + x)


@entry(needed_by="derivatives of loads of redundant constraints need", effort=3)
def shared_joints(mechanism: Mechanism, tangents: Tangents, loads: LoadPass) -> None:
    """Fill the loads of all constraints at the only state, with other multipliers and changes than those found."""
    relations = tangents.relations
    for o in range(0, relations.entries.shape[0], ELEMENT):
        hand_over_multipliers(tangents, o)
        run_dual(relations, o, loads.times[0], LEVELS * relations.entries[o + ROWS])
    read_joints(mechanism, tangents, loads, 0)
