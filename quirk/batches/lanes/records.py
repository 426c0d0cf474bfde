"""Memory layout of eight members that are computed in the lanes of SIMD registers.

Element 8 k + l of an array is quantity k of the member in lane l, so that the values of one quantity for eight members
are adjacent. Bodies are stored as blocks of the compiled solver, one body per block; the ground is the last.

The degrees of freedom of a spanning forest of the joints are eliminated with articulated inertias. The rows of all
other joints close loops of the forest and are called closing rows. "Work" denotes the quantities that an evaluation
computes for a joint, a degree of freedom or a closing row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Integer data of each joint of the forest: child and parent body (for the ground, the number of bodies), whether the
# child is body j, whether rows keep the two points of the joint coincident, and the number of rows that restrict
# rotations.
CHILD, PARENT, CHILD_IS_J, COINCIDES, ROTATIONS = range(5)
JOINT_ENTRIES = 5

# Constants of each joint of the forest, in body axes: arms from the centers of mass of child and parent to the joint
# point; and for each of three rotation rows an axis fixed in body i, an axis fixed in body j, and the constant term of
# the row.
ARM_CHILD, ARM_PARENT, ROTATION_ROWS = 0, 3, 6
AXIS_I, AXIS_J, OFFSET = 0, 3, 6
ROW_NUMBERS = 7
JOINT_NUMBERS = 27

# Quantities computed for each joint: arms in inertial axes; relative acceleration of the joint point, and angular
# acceleration, prescribed by the rows; vectors dual to the normals of the rotation rows; articulated inertia of the
# child about the joint point; degrees of freedom; and the load that gives the child the prescribed acceleration.
REACH_CHILD, REACH_PARENT, SHIFT, TURN, DUALS, INERTIA, FREEDOMS, BIAS = 0, 3, 6, 9, 12, 21, 42, 108
# Quantities computed for each degree of freedom: its direction, the momentum of unit velocity along it, the inverse of
# its inertia, and its acceleration for a parent without acceleration.
DIRECTION, MOMENTUM, COMPLIANCE, ALONE = 0, 3, 9, 10
FREEDOM = 11
JOINT_WORK = 114

# Integer data of each closing row: its kind, its component if it belongs to a coincidence, and bodies i and j.
KIND, COMPONENT, BODY_I, BODY_J = range(4)
ROW_ENTRIES = 4
# Effect of a unit multiplier of a closing row on the child body of a joint of the forest: the body does not move; it
# moves only with its parent; or a load of the row acts on the body or on one of its descendants.
AT_REST, MOVED, LOADED = range(3)
# Constants of each closing row: arms and axes in bodies i and j, body axes, and the constant term of the row.
ARM_I, ARM_J, ALONG_I, ALONG_J, CONSTANT = 0, 3, 6, 9, 12
CLOSING_NUMBERS = 13
# Quantities computed for each closing row: force on body j, and moments on bodies i and j, in inertial axes; right-hand
# side; multiplier.
FORCE, MOMENT_I, MOMENT_J, GOAL, MULTIPLIER = 0, 3, 6, 9, 10
CLOSING_WORK = 11

# Number of components of the symmetric articulated inertia of a body, and of its load or acceleration.
BODY_INERTIA, BODY_LOAD = 21, 6
# Offset from the linear to the angular components of loads and accelerations in arrays for eight members.
ANGULAR = 24

# Results of the checks of a group, by lane: square of the last correction over the largest allowed correction, for
# poses and for velocities; square of the largest first correction; largest ratio of a closing row to its pivot; sum of
# x - x over all state components x, NaN if one of them is not finite; and 1 if a user function may have jumped within a
# step.
CORRECTION_LEFT, RATE_LEFT, CORRECTED, RATIO, NOT_A_NUMBER, ABRUPT = range(6)
NOTES = 6


@record
class LaneTables(NamedTuple):
    """Structure and settings that all members have in common.

    Attributes
    ----------
    joints : (JOINT_ENTRIES T,) integer data of each joint of the spanning forest, from the roots to the tips: its
        bodies, and which motions it restricts, CHILD to ROTATIONS
    closing : (ROW_ENTRIES C,) integer data of each row that closes a loop: its kind and its bodies, KIND to BODY_J
    reached : (C T,) effect of the load of each closing row on each joint: AT_REST, MOVED or LOADED
    links : (LINK_ENTRIES n,) integer data of each link of a forest that is computed by recursion: kind of its joint,
        its bodies, and indices of its sums (`joints` and `closing` are then empty); empty for other systems
    length : characteristic length, m, for tolerances
    project : whether the state at the end of each step is projected onto the constraints
    """

    joints: np.ndarray
    closing: np.ndarray
    reached: np.ndarray
    links: np.ndarray
    length: float
    project: bool


@record
class LaneWork(NamedTuple):
    """Working arrays for the steps of eight members with n bodies and the ground, T joints and C loop-closing rows.

    Attributes
    ----------
    kin, kin_new : kinematics of the bodies at the last evaluation, and at the state that is being projected
    inertia : articulated inertias about the centers of mass, inertial axes
    load, motion : loads and accelerations of bodies, linear and angular, inertial axes
    joints : (T, JOINT_WORK) quantities computed for each joint
    closing : (C, CLOSING_WORK) quantities computed for each loop-closing row
    free : accelerations of the spanning forest without the loop-closing rows
    responses : (C, n + 1, 6) accelerations due to a unit multiplier of each loop-closing row
    factor : (C, C) triangular factor of the loop-closing rows, with inverse pivots on its diagonal
    links : (n, LINK_WORK) quantities computed for each link of a forest that is computed by recursion
    sums : (.., SUM_NUMBERS) sums of the articulated inertias of sibling links; the first is zero
    locked : displacements of bodies for locked joints in projections, linear and angular, inertial axes
    slopes : state derivatives y' at the stages of a step
    stage : state at a stage
    notes : (NOTES,) results of the checks, CORRECTION_LEFT to ABRUPT
    """

    kin: np.ndarray
    kin_new: np.ndarray
    inertia: np.ndarray
    load: np.ndarray
    motion: np.ndarray
    joints: np.ndarray
    closing: np.ndarray
    free: np.ndarray
    responses: np.ndarray
    factor: np.ndarray
    links: np.ndarray
    sums: np.ndarray
    locked: np.ndarray
    slopes: np.ndarray
    stage: np.ndarray
    notes: np.ndarray


@record
class LaneNumbers(NamedTuple):
    """Parameters of the members, in groups of eight, with n bodies and the ground, T joints and C loop-closing rows.

    Attributes
    ----------
    constants : (n + 1, CONSTANTS_SIZE) gravity, mass and factors of the inertia of each body, see
        `quirk.dynamics.model.layout`; the last row, for the ground, is zero
    moments : (n, 6) inertia about the center of mass, body axes: xx, xy, xz, yy, yz, zz
    joints : (T, JOINT_NUMBERS) arms, axes and constant terms of each joint of the forest
    closing : (C, CLOSING_NUMBERS) arms, axes and constant term of each loop-closing row
    links : (n, LINK_NUMBERS) mass, inertia, arms and axes of each link of a forest that is computed by recursion,
        otherwise empty
    inputs : inputs of the force laws, member after member
    sides : for each frame of the laws, the offsets of its body in arrays of states and of kinematics, for lane 0
    principal : whether body axes are principal axes in all members
    """

    constants: np.ndarray
    moments: np.ndarray
    joints: np.ndarray
    closing: np.ndarray
    links: np.ndarray
    inputs: np.ndarray
    sides: np.ndarray
    principal: bool


@record
class LaneSteps(NamedTuple):
    """Times of the fixed steps of a run.

    `total` is the number of steps of size `step` from `start` to `end`, all in s; the last step may be shorter.
    """

    start: float
    step: float
    end: float
    total: int
