"""Arrays for derivatives in eight directions, which are computed simultaneously in vector registers.

A slot is the position of a body in the arrays, a node a group of up to six constraint rows, an element a force law or a
relation (constraint function). Functions of dual numbers compute values and eight derivatives. A wrench is a force and
a moment on a body. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Numbers per slot of a body, eight lanes each: direction in its state (`quirk.dynamics.model.directions`).
SEED = 8 * 12
# Offsets per slot of the derivatives of its motion: position, velocity, rotation matrix by rows, angular velocity in
# the inertial frame, quaternion and angular acceleration in the inertial frame.
POSITION, VELOCITY, ROTATION, SPIN, QUATERNION, SPIN_RATE = (8 * c for c in (0, 3, 6, 15, 18, 22))
MOVING = 8 * 25
# Numbers per slot: linear and angular acceleration, inertial frame; and derivatives of the load, inertial frame, eight
# lanes.
ACCELERATION = 6
LOAD = 8 * 6
# Offsets per slot: directions in the mass and, row by row, in the inertia, eight lanes each.
MASS, INERTIA = 0, 8
MASSES = 8 * 10

# Entries per law or relation: address of its machine code; first element of its inputs and of its outputs; numbers of
# both; offsets of its frames, motions and internal variables in its inputs; range of its motions in `motions`, and of
# its sides in `sides`. Laws: first input in `Forces.inputs`, first output of the rates of its internal variables, index
# of its first internal variable, and their number. Relations: number of rows, and index of the first row in `lanes`.
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
    """Inputs and outputs of the functions of dual numbers of all force laws, or of all relations.

    Names in capitals are constants of this module.

    Attributes
    ----------
    entries : (ELEMENT per element,) integers of each element: address of its function, and indices and numbers of its
        data in the other arrays
    sides : slot of the body of each frame of all elements
    inputs : for each element its inputs, eight derivatives of each, eight of time, and for relations the multipliers
    outputs : for each law its outputs and eight derivatives of each; for relations see
        `quirk.dynamics.sparse.codegen.relation_tangent_code`
    motions : prescribed motions of all elements
    taylor : scratch array for one motion
    """

    entries: np.ndarray
    sides: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    motions: MotionTable
    taylor: np.ndarray


@record
class FrictionInputs(NamedTuple):
    """Tables for the derivatives of the friction force magnitudes of C sliding friction elements.

    A friction magnitude is the coefficient of friction times the normal load, which depends on the load of a joint or
    contact. The tables contain the positions of these quantities. A bearing is one of the two points at which a joint
    of finite length carries its load. The "inputs of relations" are those in `Tangents.relations`, in which eight
    derivatives follow each input.

    Attributes
    ----------
    sizes : (C,) indices of the friction magnitudes in the inputs of `Forces`
    coefficients, lengths : (C,) indices, in the inputs of force laws, of the derivatives of the coefficient of friction
        and of the distance of the bearings
    first, relations : relations[first[k]:first[k + 1]] are the relations of the joint of friction k, none for contacts
    slots : (2 C,) slots of bodies i and j of the joint
    grounded : (C,) whether body j is the ground
    axes, points : (C,) indices, in the inputs of relations, of the derivatives of the axis in body i (the first of
        three components, at intervals of 24 elements) and of the joint point in body j
    changes : (72 C,) filled by compiled code: derivatives at constant multipliers of the axis of each joint, and of
        force and torque on body j at the joint point, inertial frame
    magnitudes : (8 C,) filled by compiled code: derivatives of the magnitudes
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
    """Derivatives of a motion in eight directions of states and parameters.

    There are n bodies in S slots, m rows in K nodes, and k internal variables. Names in capitals are constants of this
    module.

    Attributes
    ----------
    laws, relations : functions of dual numbers with their inputs and outputs
    friction : data of sliding friction
    lanes : (m,) position of each row in arrays with eight entries per node
    occupied : (n + 1,) slots of bodies and of the ground
    seeds : (SEED S,) input, state directions
    masses : (MASSES S,) input, directions in masses and inertias
    gravity, time : (24,) and (8,) input, directions in gravity and time
    internal : (8 k,) input, directions in internal variables
    moving : (MOVING S,) derivatives of the motion of bodies
    accelerations : (ACCELERATION S,) linear and angular accelerations, inertial frame
    loads : (LOAD S,) derivatives of the loads on bodies
    levels : (8 * 3 * 8 K,) derivatives of Phi, its rate and its second time derivative for each row, eight each
    rates : (8 k,) derivatives of the rates of internal variables
    multipliers : (8 K,) multipliers of the evaluation itself
    wrenches : derivatives of the total loads on bodies, for each direction as in `Workspace.wrench`
    changes : (8 * 8 K,) derivatives of the multipliers, direction by direction
    """

    laws: TangentElements
    relations: TangentElements
    friction: FrictionInputs
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
