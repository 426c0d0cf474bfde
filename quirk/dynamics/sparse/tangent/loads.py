"""Derivatives of accelerations and loads in eight directions at the states of a motion, in compiled code.

A wrench is a force and a moment on a body.
"""

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
from ..kernels.constraint_solve import copy
from ..kernels.evaluate import evaluate
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import monitor_rows
from ..variation.variations_at_state import move_motions
from .elements import run_dual, write_multipliers
from .motion_tangents import keep_motion, solve_tangents
from .state_variations import seed
from .tables import ELEMENT, LEVELS, OUTPUT, OUTPUTS, ROW, ROWS, SIDE, SIDE_END, Tangents

# Entries per side on which a constraint's load is computed: the constraint, one of its relations, and a frame of it.
CONSTRAINT, RELATION, FRAME = range(3)
SIDE_ENTRIES = 3
# Numbers per load: force and moment; for force elements energy as well; each with its value and eight derivatives.
WRENCH, WITH_ENERGY, WITH_CHANGES = 6, 7, 9
# Maximum number of evaluations of a state when the selected rows, the method or the number of solves change.
ADAPTATIONS = 3


@record
class LoadPass(NamedTuple):
    """Variations of a motion in D <= 8 directions at nt states, and the resulting derivatives of loads.

    C and E are the numbers of constraints and force elements; a state has `size` elements. Names in capitals are
    constants of this module.

    Attributes
    ----------
    directions : number of directions D
    rank : largest number of independent rows so far
    motions, moved, taylor : variations of prescribed motions, as in `ExplicitVariation`
    stop : (1,) nonzero if a user function requests to stop
    times, states, changes : (nt,) times, s, (nt size,) states, and (nt D size,) variations of the states
    places, references : (p,) indices of the inputs of force laws that are reference angles, and (nt p,) their values
    sides : indices of the constraint, of the relation and of the frame, for each frame at which the load of a
        constraint is computed
    acting : (E,) numbers of frames on which force elements act; further frames are only read
    slope : (size,) scratch array
    wrenches : result, derivatives of the loads on bodies, (nt D,) times the layout of `Workspace.wrench`
    joints : (nt, C, 6, 9) result, constraint loads about the center of mass of body j, inertial frame, each with up to
        eight derivatives
    forces : (nt, E, 7, 9) result, loads of force elements about the center of mass of the body of the last frame on
        which they act, inertial frame, and energies, each with up to eight derivatives
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
    acting: np.ndarray
    slope: np.ndarray
    wrenches: np.ndarray
    joints: np.ndarray
    forces: np.ndarray


@entry(needed_by="derivatives of loads need", effort=20)
def loads_along(mechanism: Mechanism, tangents: Tangents, loads: LoadPass) -> None:
    """Compute loads of constraints and force elements, and their derivatives, at all states in `loads`."""
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
    """Evaluate the state with index `row`, and compute the derivatives of accelerations and multipliers at this state.

    The derivatives are taken in the directions of `loads`.
    """
    size, t, places = loads.slope.shape[0], loads.times[row], loads.places.shape[0]
    y = loads.states[row * size : (row + 1) * size]
    for p in range(places):
        put(mechanism.forces.inputs, loads.places[p], at(loads.references, row * places + p))
    evaluate(mechanism, t, y, 0.0, 0.0, loads.slope)
    for _ in range(ADAPTATIONS if mechanism.nodes.rows.shape[0] > 0 else 0):
        if not monitor_rows(mechanism, t, y, loads.rank):
            break
        evaluate(mechanism, t, y, 0.0, 0.0, loads.slope)
    keep_motion(mechanism, tangents, loads.slope)
    move_motions(tangents, loads, t)
    for d in range(loads.directions):
        o = (loads.directions * row + d) * size
        seed(mechanism.constants, tangents, y, loads.changes[o : o + size], d)
    solve_tangents(mechanism, tangents, t, y, loads.slope, False, loads.directions, 0.0, 0.0)


@kernel
def read_joints(mechanism: Mechanism, tangents: Tangents, loads: LoadPass, row: int) -> None:
    """Compute the loads of all constraints and their derivatives at the state with index `row`, in loads.joints.

    `tangents` contains the multipliers and their derivatives.
    """
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
    """Store the loads and energies of all force elements at the state with index `row`, with their derivatives.

    The loads are those on the body of the last frame on which the element acts.
    """
    laws, forces, numbers = tangents.laws, mechanism.forces, WITH_ENERGY * WITH_CHANGES
    count = forces.entries.shape[0] // ELEMENT_SIZE
    for e in range(count):
        o, into = ELEMENT * e, (row * count + e) * numbers
        frames = laws.entries[o + SIDE_END] - laws.entries[o + SIDE]
        values = forces.entries[ELEMENT_SIZE * e + LAW_OUTPUT]
        deltas = laws.entries[o + OUTPUT] + laws.entries[o + OUTPUTS]
        for c in range(WITH_ENERGY):
            # The energy comes after the loads of all frames.
            number, place = LANES * (loads.acting[e] - 1) + c if c < WRENCH else LANES * frames, into + WITH_CHANGES * c
            put(loads.forces, place, at(forces.outputs, values + number))
            for d in range(loads.directions):
                put(loads.forces, place + 1 + d, at(laws.outputs, deltas + 8 * number + d))


@kernel
def add(array: np.ndarray, o: int, x: float) -> None:
    """Add x to element o of an array."""
    put(array, o, at(array, o) + x)


@entry(needed_by="derivatives of loads of redundant constraints need", effort=3)
def shared_joints(mechanism: Mechanism, tangents: Tangents, loads: LoadPass) -> None:
    """Compute the loads of all constraints and their derivatives at one state, from the multipliers in `tangents`.

    The multipliers and their derivatives may be any distribution over redundant rows.
    """
    relations = tangents.relations
    for o in range(0, relations.entries.shape[0], ELEMENT):
        write_multipliers(tangents, o)
        run_dual(relations, o, loads.times[0], LEVELS * relations.entries[o + ROWS])
    read_joints(mechanism, tangents, loads, 0)
