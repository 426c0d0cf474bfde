"""Applied loads of all force elements at one state, in compiled code.

The law of a force element is a compiled function that computes its loads. It is called by its address, reads its part
of the array `inputs`, and writes to its part of the array `outputs`. `kin` contains the kinematics of all bodies, and y
is the state.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import FORCE, ORIENTATION, POSITION, ROTATION, SPIN, TORQUE, VELOCITY
from quirk.forces.place import PLACEMENT
from quirk.functions.motion_kernels import MotionTable, motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.function_pointers import call
from quirk.jit.record import record
from quirk.jit.simd import at, put, splat, store

from .bodies import KIN

# Integers of each force element:
#   ADDRESS: address of the compiled force law
#   INPUT, OUTPUT: index of its first input, and of its first output
#   PROFILES, FRAMES: index of the first input that holds a prescribed motion, and of the first that holds a frame
#   MOTION, MOTION_END: range of its motions among the motions of all elements
#   SIDE, SIDE_END: range of its frames among the frames of all elements
#   VARIABLES, VARIABLE_RATES: index of the input with the first internal variable, and of the output with its rate
#   VARIABLES_IN_Y, VARIABLE_COUNT: index of the first internal variable in the state y, and number of variables
#   WORK_IN_Y: index of the work in y; -1 if the work is not integrated
#   COUPLED: 1 if the loads are those of a unit friction force, whose magnitude is solved for together with the
#     constraint loads; otherwise 0
(
    ADDRESS, INPUT, OUTPUT, PROFILES, FRAMES, MOTION, MOTION_END, SIDE, SIDE_END,
    VARIABLES, VARIABLE_RATES, VARIABLES_IN_Y, VARIABLE_COUNT, WORK_IN_Y, COUPLED,
) = range(15)  # fmt: skip
ELEMENT_SIZE = 15

# Integers of each frame: the offsets of its body in arrays of states and in arrays of kinematics.
STATE_AT, KINEMATICS_AT = range(2)
SIDE_ENTRIES = 2

# Integers of each joint angle whose full turns are counted: the index in `inputs` of the reference angle, and the index
# in `outputs` of the angle.
REFERENCE_AT, COORDINATE_AT = range(2)
TURN_ENTRIES = 2

# Integers of each constraint row whose work is integrated: the index of its multiplier among the multipliers of all
# nodes, and the index of its work in the state y.
MULTIPLIER, ROW_WORK_IN_Y = range(2)
WORKING_ENTRIES = 2

# Inputs of a frame: its position and orientation in the body (PLACEMENT numbers), then position, velocity, rotation
# matrix, angular velocity and quaternion of the body; see `quirk.forces.law_layout.LawLayout`. FRAME_SIZE is their
# total number.
BODY_POSITION, BODY_VELOCITY, BODY_ROTATION, BODY_SPIN, BODY_QUATERNION = (PLACEMENT + k for k in (0, 3, 6, 15, 18))
FRAME_SIZE = PLACEMENT + 22


@record
class Forces(NamedTuple):
    """Force elements of a model as flat arrays for compiled code.

    Names in capitals are constants of this module.

    Attributes
    ----------
    entries : (ELEMENT_SIZE per element,) integers of each element: address of its law, and indices of its data in the
        other arrays
    sides : (SIDE_ENTRIES per frame,) for each frame of each element, the index of its body in arrays of states and of
        kinematics
    turns : (TURN_ENTRIES per coordinate,) for each joint angle whose full turns are counted, the index in `inputs` of
        the reference for counting, and the index in `outputs` of the angle
    working : (WORKING_ENTRIES per row,) for each constraint row whose work is integrated, the index of its multiplier,
        and the index of its work in the state y
    work, work_end : range of the elements of the state y that hold work, J; `work_end` is exclusive
    motions : prescribed motions of all laws
    inputs, outputs : inputs and outputs of all laws, concatenated; see `quirk.forces.law_layout.LawLayout`
    """

    entries: np.ndarray
    sides: np.ndarray
    turns: np.ndarray
    working: np.ndarray
    work: int
    work_end: int
    motions: MotionTable
    inputs: np.ndarray
    outputs: np.ndarray


@component(effort=1)
def applied_loads(forces: Forces, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the loads of all force elements, and write their sum on each body to FORCE and TORQUE in `kin`.

    Friction that depends on constraint loads is evaluated but not added. t is the time (s), y the state, and `kin` the
    kinematics of all bodies.
    """
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            store(kin, block * KIN + 8 * (FORCE + c), splat(0.0))
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        o = ELEMENT_SIZE * e
        run_law(forces, e, t, y, kin)
        if forces.entries[o + COUPLED] != 0:
            continue
        first, out = forces.entries[o + SIDE], forces.entries[o + OUTPUT]
        for s in range(first, forces.entries[o + SIDE_END]):
            k = forces.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
            for c in range(3):
                load, moment = out + LANES * (s - first) + c, out + LANES * (s - first) + 3 + c
                kin[k + 8 * (FORCE + c)] += at(forces.outputs, load)
                kin[k + 8 * (TORQUE + c)] += at(forces.outputs, moment)


@kernel
def run_law(forces: Forces, e: int, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Evaluate the law of force element e at time t (s) and state y; its loads are written to `forces.outputs`.

    `kin` contains the kinematics of all bodies. The loads are set to NaN before the call, and remain NaN if the law
    fails.
    """
    write_inputs(forces, e, t, y, kin)
    o = ELEMENT_SIZE * e
    first, out = forces.entries[o + SIDE], forces.entries[o + OUTPUT]
    for s in range(first, forces.entries[o + SIDE_END]):
        store(forces.outputs, out + LANES * (s - first), splat(math.nan))
    call(forces.entries[o + ADDRESS], t, forces.inputs, forces.entries[o + INPUT], forces.outputs, out)


@kernel
def write_inputs(forces: Forces, e: int, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Write the time-dependent inputs of the law of force element e to `forces.inputs`.

    They are the prescribed motions at time t (s), the internal variables from the state y, and the motion of the bodies
    from their kinematics `kin`.
    """
    o = ELEMENT_SIZE * e
    begin, place = forces.entries[o + MOTION], forces.entries[o + PROFILES]
    for m in range(begin, forces.entries[o + MOTION_END]):
        motion_taylor(forces.motions, m, t, 1, forces.inputs, place + 2 * (m - begin))
    place = forces.entries[o + VARIABLES]
    for n in range(forces.entries[o + VARIABLE_COUNT]):
        put(forces.inputs, place + 2 * n, at(y, forces.entries[o + VARIABLES_IN_Y] + n))
    place = forces.entries[o + FRAMES]
    for s in range(forces.entries[o + SIDE], forces.entries[o + SIDE_END]):
        state, k = forces.sides[SIDE_ENTRIES * s + STATE_AT], forces.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
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
def auxiliary_rates(forces: Forces, y: np.ndarray, kin: np.ndarray, ydot: np.ndarray) -> None:
    """Write the rates of the internal variables and the power (W) of force elements to the state derivative `ydot`.

    The force laws must have been evaluated at the state y; `kin` holds the kinematics of all bodies.
    """
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        o = ELEMENT_SIZE * e
        for n in range(forces.entries[o + VARIABLE_COUNT]):
            rate = at(forces.outputs, forces.entries[o + VARIABLE_RATES] + n)
            put(ydot, forces.entries[o + VARIABLES_IN_Y] + n, rate)
        if forces.entries[o + WORK_IN_Y] < 0:
            continue
        power, out = 0.0, forces.entries[o + OUTPUT]
        for s in range(forces.entries[o + SIDE], forces.entries[o + SIDE_END]):
            state, k = forces.sides[SIDE_ENTRIES * s + STATE_AT], forces.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
            for c in range(3):
                power += at(forces.outputs, out + c) * at(y, state + 8 * (VELOCITY + c))
                power += at(forces.outputs, out + 3 + c) * at(kin, k + 8 * (SPIN + c))
            out += LANES
        put(ydot, forces.entries[o + WORK_IN_Y], power)


@kernel
def variables_error(
    forces: Forces, change: np.ndarray, y: np.ndarray, y_new: np.ndarray, rtol: float, atol: float
) -> float:
    """Return the largest ratio of error to tolerance over the internal variables of all force elements.

    `change` contains the errors, in the layout of a state. y and y_new are the states at the start and end of the step.
    The tolerance of a variable is `atol` plus `rtol` times the larger of its magnitudes at both states.
    """
    largest = 0.0
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        first = forces.entries[ELEMENT_SIZE * e + VARIABLES_IN_Y]
        for o in range(first, first + forces.entries[ELEMENT_SIZE * e + VARIABLE_COUNT]):
            ratio = abs(at(change, o)) / (atol + rtol * max(abs(at(y, o)), abs(at(y_new, o))))
            largest = max(largest, ratio) if ratio == ratio else np.inf
    return largest


@kernel
def refer(forces: Forces, t: float) -> None:
    """Store the last evaluated joint angles and rates, and the time t (s), as the reference for counting full turns."""
    for n in range(forces.turns.shape[0] // TURN_ENTRIES):
        o, x = forces.turns[TURN_ENTRIES * n + REFERENCE_AT], forces.turns[TURN_ENTRIES * n + COORDINATE_AT]
        put(forces.inputs, o, at(forces.outputs, x))
        put(forces.inputs, o + 1, at(forces.outputs, x + 1))
        put(forces.inputs, o + 2, t)
