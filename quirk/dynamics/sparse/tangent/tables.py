"""Arrays of the tangent's kernels: eight directions at once, in the lanes of a register."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Of each slot of a body eight lanes each: how it moves (`quirk.dynamics.model.directions`).
SEED = 8 * 12
# And what follows from that: changes of position, velocity, rotation by rows, spin, quaternion and rate of the spin.
POSITION, VELOCITY, ROTATION, SPIN, QUATERNION, SPIN_RATE = (8 * c for c in (0, 3, 6, 15, 18, 22))
MOVING = 8 * 25
# Of each slot: acceleration and rate of the spin in N, numbers; and loads in N, eight lanes each.
ACCELERATION = 6
LOAD = 8 * 6
# Of each slot changes of the mass and, by rows, of the inertia, eight lanes each.
MASS, INERTIA = 0, 8
MASSES = 8 * 10

# Entries of each law or relation: address of its function in machine code, where its inputs and outputs start, how many
# of either there are, first input of its frames, of its motions and of its internal variables from there, its motions
# among those of all, its sides likewise. Of a law where its inputs start in `Forces.inputs`, first output of the rates
# of its internal variables, the first of these among all, and their number. Of a relation its number of rows, and the
# first of these in `lanes`.
(
    ADDRESS, INPUT, OUTPUT, INPUTS, OUTPUTS, FRAMES, PROFILES, VARIABLES, MOTION, MOTION_END, SIDE, SIDE_END,
    SOURCE, RATES, VARIABLE, VARIABLE_COUNT,
) = range(16)  # fmt: skip
ROWS, ROW = SOURCE, RATES
ELEMENT = 16

# Levels of rows: Phi and its first two derivatives, of which the second is taken at constant accelerations.
LEVELS = 3


@record
class TangentElements(NamedTuple):
    """Laws or relations: what their functions of dual numbers read and write.

    entries (ELEMENT per element): as above · sides: the slot of the body of each frame · inputs: of each element its
    inputs, then eight derivatives of each, then those of the time, and of a relation its multipliers · outputs: of laws
    likewise, of relations as `host.relation_code` says · motions: of all elements ·
    taylor: scratch for one motion
    """

    entries: np.ndarray
    sides: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    motions: MotionTable
    taylor: np.ndarray


@record
class Bearings(NamedTuple):
    """Friction of C sliding bodies, and what its loads depend on.

    sizes (C,): magnitudes, in the inputs of `Forces` · coefficients, lengths (C,): their changes, in the inputs of
    laws · first (C + 1,), relations: those of its joint, and none of contacts · slots (2 C,): of bodies i and j ·
    grounded (C,): whether j is the ground · axes, points (C,): changes of the axis in body i, the first of three that
    are 24 apart, and of the joint point in j, in the inputs of relations
    Written: changes (72 C,): of each joint what changes of its axis, and of force and torque on body j at the joint
    point while multipliers stay, in N · magnitudes (8 C,): how they change
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
    """Eight directions, and what changes along them; S slots, K nodes, k internal variables.

    laws, relations : Elements · bearings: of friction · lanes (m,): place of each row among those of all nodes ·
    occupied (n + 1,): slots of bodies and of the ground
    Given: seeds (SEED S,), masses (MASSES S,), gravity (24,), time (8,), internal (8 k,)
    Found: moving, accelerations, loads: of slots, as above · levels (8 * 3 * 8 K,): of rows, each level eight lanes ·
    rates (8 k,): of internal variables · multipliers (8 K,): those of the accelerations themselves · wrenches: of each
    direction all loads on bodies, as `Work.wrench` · changes (8 * 8 K,): of each direction the multipliers
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
