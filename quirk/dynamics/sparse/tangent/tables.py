"""Arrays of the tangent's kernels: eight directions at once, in the lanes of a register."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Numbers per slot of a body, eight lanes each: change of its state (`quirk.dynamics.model.directions`).
SEED = 8 * 12
# Offsets per slot of the derived changes: position, velocity, rotation by rows, spin, quaternion and rate of the spin.
POSITION, VELOCITY, ROTATION, SPIN, QUATERNION, SPIN_RATE = (8 * c for c in (0, 3, 6, 15, 18, 22))
MOVING = 8 * 25
# Numbers per slot: acceleration and rate of the spin, inertial frame; and load, inertial frame, eight lanes each.
ACCELERATION = 6
LOAD = 8 * 6
# Offsets per slot: changes of the mass and, row by row, of the inertia, eight lanes each.
MASS, INERTIA = 0, 8
MASSES = 8 * 10

# Entries per law or relation: address of its machine code; first element of its inputs and of its outputs; numbers of
# both; first input of its frames, motions and internal variables relative to these; range of its motions among those of
# all, and of its sides likewise. Laws: first input in `Forces.inputs`, first output of the rates of its internal
# variables, first of these among all, and their number. Relations: number of rows, and index of the first in `lanes`.
(
    ADDRESS, INPUT, OUTPUT, INPUTS, OUTPUTS, FRAMES, PROFILES, VARIABLES, MOTION, MOTION_END, SIDE, SIDE_END,
    SOURCE, RATES, VARIABLE, VARIABLE_COUNT,
) = range(16)  # fmt: skip
ROWS, ROW = SOURCE, RATES
ELEMENT = 16

# Levels of rows: Phi and its first two derivatives, the second one at constant accelerations.
LEVELS = 3


@record
class TangentElements(NamedTuple):
    """Laws or relations: inputs and outputs of their functions of dual numbers.

    entries (ELEMENT per element): integers · sides: slot of the body of each frame · inputs: for each element its
    inputs, eight derivatives of each, those of time, and for relations the multipliers · outputs: the same for laws;
    for relations see `quirk.dynamics.sparse.codegen.relation_tangent_code` · motions: of all elements · taylor: scratch
    for one motion
    """

    entries: np.ndarray
    sides: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    motions: MotionTable
    taylor: np.ndarray


@record
class Bearings(NamedTuple):
    """Sliding friction of C elements, and the quantities on which its normal loads depend.

    sizes (C,): indices of the magnitudes in the inputs of `Forces` · coefficients, lengths (C,): indices of their
    changes in the inputs of laws · first (C + 1,), relations: relations of its joint, none for contacts · slots (2 C,):
    of bodies i and j · grounded (C,): whether j is the ground · axes, points (C,): indices in the inputs of relations
    of the changes of the axis in body i, the first of three that are 24 apart, and of the joint point in j

    Written by kernels: changes (72 C,): changes of the axis of each joint, and of force and torque on body j at the
    joint point at constant multipliers, inertial frame · magnitudes (8 C,): changes of the magnitudes
    """

    sizes: np.ndarray
    coefficients: np.ndarray
    lengths: np.ndarray
    first: np.ndarray
    relations: np.ndarray
    slots: np.ndarray
    grounded: np.ndarray
    axes: np.ndarray
    points: np.ndarray
    changes: np.ndarray
    magnitudes: np.ndarray


@record
class Tangents(NamedTuple):
    """Eight directions, and the changes along them; S slots, K nodes, k internal variables.

    laws, relations: TangentElements · bearings: of friction · lanes (m,): index of each row among those of all nodes ·
    occupied (n + 1,): slots of bodies and of the ground

    Inputs: seeds (SEED S,), masses (MASSES S,), gravity (24,), time (8,), internal (8 k,)

    Results: moving (MOVING S,), accelerations, loads: per slot · levels (8 * 3 * 8 K,): of rows, each level eight lanes
    · rates (8 k,): of internal variables · multipliers (8 K,): those of the accelerations themselves · wrenches: all
    loads on bodies in each direction, as `Workspace.wrench` · changes (8 * 8 K,): multipliers in each direction
    """

    laws: TangentElements
    relations: TangentElements
    bearings: Bearings
    lanes: np.ndarray
    occupied: np.ndarray
    seeds: np.ndarray
    masses: np.ndarray
    gravity: np.ndarray
    time: np.ndarray
    internal: np.ndarray
    moving: np.ndarray
    accelerations: np.ndarray
    loads: np.ndarray
    levels: np.ndarray
    rates: np.ndarray
    multipliers: np.ndarray
    wrenches: np.ndarray
    changes: np.ndarray
