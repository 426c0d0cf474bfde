"""Applied loads of all force elements at one state, in kernels; the law of each is called by pointer."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import kernel
from quirk.constraints.relation import LANES
from quirk.forces.place import PLACEMENT
from quirk.lanes import at, put, splat, store
from quirk.motion_table import MotionTable, motion_taylor
from quirk.pointers import call
from quirk.record import record

from .layout import FORCE, KINEMATICS_SIZE, ORIENTATION, POSITION, ROTATION, SPIN, TORQUE, VELOCITY

KIN = 8 * KINEMATICS_SIZE

# Entries of each element: address of its law, where its inputs and outputs start, first input of its motions and of its
# frames, its motions among those of all, and its frames likewise.
ADDRESS, INPUT, OUTPUT, PROFILES, FRAMES, MOTION, MOTION_END, SIDE, SIDE_END = range(9)
ELEMENT_SIZE = 9

# Entries of each frame: where its body starts in arrays of states and of kinematics.
STATE, KINEMATICS = range(2)
SIDE_ENTRIES = 2

# Entries of each counted coordinate: where its reference starts among the inputs, and itself among the outputs.
REFERENCE_AT, COORDINATE_AT = range(2)
TURN_ENTRIES = 2

# Inputs of a frame behind its placement (`quirk.forces.law.Layout` of order 0), and their number.
BODY_POSITION, BODY_VELOCITY, BODY_ROTATION, BODY_SPIN, BODY_QUATERNION = (PLACEMENT + k for k in (0, 3, 6, 15, 18))
FRAME_SIZE = PLACEMENT + 22


@record
class Forces(NamedTuple):
    """Force elements as kernels see them; few arrays, since each takes time to compile.

    entries, sides, turns: integers as above · motions: of all laws · inputs, outputs: see `quirk.forces.law.Layout`.
    """

    entries: np.ndarray
    sides: np.ndarray
    turns: np.ndarray
    motions: MotionTable
    inputs: np.ndarray
    outputs: np.ndarray


@kernel
def applied_loads(forces: Forces, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Fill FORCE and TORQUE of the kinematics."""
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            store(kin, block * KIN + 8 * (FORCE + c), splat(0.0))
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        o = ELEMENT_SIZE * e
        hand_over(forces, e, t, y, kin)
        first, out = forces.entries[o + SIDE], forces.entries[o + OUTPUT]
        for s in range(first, forces.entries[o + SIDE_END]):
            store(forces.outputs, out + LANES * (s - first), splat(math.nan))  # what a law that fails leaves
        call(forces.entries[o + ADDRESS], t, forces.inputs, forces.entries[o + INPUT], forces.outputs, out)
        for s in range(first, forces.entries[o + SIDE_END]):
            k = forces.sides[SIDE_ENTRIES * s + KINEMATICS]
            for c in range(3):
                load, moment = out + LANES * (s - first) + c, out + LANES * (s - first) + 3 + c
                kin[k + 8 * (FORCE + c)] += at(forces.outputs, load)
                kin[k + 8 * (TORQUE + c)] += at(forces.outputs, moment)


@kernel
def hand_over(forces: Forces, e: int, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Write the inputs of element e that depend on time and state."""
    o = ELEMENT_SIZE * e
    begin, place = forces.entries[o + MOTION], forces.entries[o + PROFILES]
    for m in range(begin, forces.entries[o + MOTION_END]):
        motion_taylor(forces.motions, m, t, 1, forces.inputs, place + 2 * (m - begin))
    place = forces.entries[o + FRAMES]
    for s in range(forces.entries[o + SIDE], forces.entries[o + SIDE_END]):
        state, k = forces.sides[SIDE_ENTRIES * s + STATE], forces.sides[SIDE_ENTRIES * s + KINEMATICS]
        for c in range(3):
            put(forces.inputs, place + BODY_POSITION + c, at(y, state + 8 * (POSITION + c)))
            put(forces.inputs, place + BODY_VELOCITY + c, at(y, state + 8 * (VELOCITY + c)))
            put(forces.inputs, place + BODY_SPIN + c, at(kin, k + 8 * (SPIN + c)))
        for c in range(9):
            put(forces.inputs, place + BODY_ROTATION + c, at(kin, k + 8 * (ROTATION + c)))
        for c in range(4):
            put(forces.inputs, place + BODY_QUATERNION + c, at(y, state + 8 * (ORIENTATION + c)))
        place += FRAME_SIZE


@kernel
def refer(forces: Forces, t: float) -> None:
    """Let angles go on from those of the last evaluation, which was at time t."""
    for n in range(forces.turns.shape[0] // TURN_ENTRIES):
        o, x = forces.turns[TURN_ENTRIES * n + REFERENCE_AT], forces.turns[TURN_ENTRIES * n + COORDINATE_AT]
        put(forces.inputs, o, at(forces.outputs, x))
        put(forces.inputs, o + 1, at(forces.outputs, x + 1))
        put(forces.inputs, o + 2, t)
