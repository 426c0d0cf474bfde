"""Tables of a forest of hinges, ball joints and welds, whose accelerations are computed by recursion over the joints.

In a forest no joint closes a loop. Each body has one joint to its parent, which is nearer to the root; bodies without a
parent are free. The joint frame of a body has its origin at the point of this joint and, for a hinge, its z axis along
the axis of the hinge; the frame of a ball joint has the axes of the body, that of a weld those of the joint; that of a
free body has its axes and its center of mass as origin. All vectors and inertias are in these frames, so that the
freedom of a hinge is the rotation about a coordinate axis and its elimination involves no differences of large numbers.

Slots of bodies (`quirk.dynamics.model.layout`) follow the recursion from the tips to the roots. Arrays over joints
store the numbers of one joint consecutively, in vectors of four; arrays over bodies are in blocks of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Kinds of joints.
HINGE, BALL, FREE, WELD = range(4)

# Integers of each joint: its kind; the first number of its parent among the numbers of all joints, that of the ground
# included; the places in `articulated` of the inertia of all children of its body, of the inertia to which that of its
# body is added, and of the sum, -1 if the parent is the ground; its first number in `blocks`.
KIND, PARENT, CHILDREN, ADDED_TO, SUM, BLOCK = range(6)
JOINT_ENTRIES = 6

# Numbers of the body of each joint: the rows of the lower blocks of its inertia about the joint point, H^T and J; the
# arm from the joint point of the parent to this one, in the frame of the parent; the mass, with zeros around it, so
# that the rows of the mass times the unit matrix can be loaded.
LOWER, TURNS, ARM, MASS_AFTER = 0, 12, 24, 30
BODY_NUMBERS = 36

# Numbers of each joint that are computed: the columns and the rows of the rotation from its frame to the frame of the
# parent; the relative acceleration of the joint points due to velocities, in the frame of the parent, and that of the
# angular velocities, in the frame of the joint; the loads that the body needs to have no further acceleration; the
# acceleration of the joint point, and the angular acceleration; then the data of the freedoms.
COLUMNS, ROWS, SHIFT_BIAS, TURN_BIAS, FORCE, MOMENT, SHIFT, TURN, FREEDOM = 0, 12, 24, 28, 32, 36, 40, 44, 48
JOINT_NUMBERS = 64
# Data of the freedom of a hinge: momentum of unit velocity along it; inverse of its inertia; its acceleration if the
# parent does not accelerate.
MOMENTUM_SHIFT, MOMENTUM_TURN, COMPLIANCE, ALONE = FREEDOM, FREEDOM + 4, FREEDOM + 8, FREEDOM + 9
# Data of a ball joint: the rows of H J^-1; the angular acceleration if the joint point does not accelerate.
GIVEN_BY_SHIFT, ALONE_TURN = FREEDOM, FREEDOM + 12

# Numbers of an articulated inertia: the rows of its blocks M, H^T and J, the force and the moment.
ARTICULATED_FORCE, ARTICULATED_MOMENT, ARTICULATED = 36, 40, 44

# Numbers in `blocks`: of a ball joint the rows of J^-1; of a free body the triangular factor (6, 6) of its inertia.
BALL_NUMBERS, FREE_NUMBERS = 12, 36

# Constants of a body in `bodies`: the rotation from its joint frame to its axes, as a quaternion and as a matrix by
# rows; the arm from the joint point of the parent to its own, in the frame of the parent; mass; mass times center of
# mass; inertia about the joint point (xx, xy, xz, yy, yz, zz); the center of mass; of a hinge, its axis in the frame of
# the parent, of a weld, the z axis of the joint there; the joint point relative to the center of mass of the parent, in
# that frame; 1 for a hinge or a weld, otherwise 0; the inertia less its middle principal moment times the identity:
# that part does not contribute to omega x J omega, but its round-off would make slender bodies spin; of a weld, the x
# axis of the joint in the frame of the parent, otherwise zero; 1 for a weld, otherwise 0.
ALIGNED, ALIGNMENT, ARM_OF_BODY, MASS, MASS_MOMENT, INERTIA, CENTER = 0, 4, 13, 16, 17, 20, 26
AXIS, POINT_FROM_CENTER, HINGED, UNLIKE, CROSS_AXIS, WELDED = 29, 32, 35, 36, 42, 45
BODY_CONSTANTS = 46

# Posture of a body: the orientation of its joint frame as a quaternion of any length, and its angular velocity.
QUATERNION, OMEGA = 0, 4
POSTURE = 7


@record
class Recursion(NamedTuple):
    """Tables of a forest of n bodies, a system without loops; empty if the system is not computed by recursion.

    Names in capitals are constants of this module. "Output" marks arrays written by compiled code. The posture of a
    body is the orientation of its joint frame, as a quaternion, and its angular velocity.

    Attributes
    ----------
    entries : (JOINT_ENTRIES n,) entries KIND to BLOCK of each joint: its kind, and indices of its data in the other
        arrays
    parents : for each slot of a body, the first element of its parent in `posture` and in states
    body_constants : (BODY_NUMBERS n,) constants of the body of each joint
    bodies : constants of all bodies, in blocks of eight
    gravity : (3,) gravitational acceleration, m/s^2, inertial frame
    posture : output, in blocks of eight: postures of all bodies
    joints : (JOINT_NUMBERS (n + 1),) output: numbers of each joint, and of the ground
    articulated : output: articulated inertias, summed over the children of a body; the first is zero
    blocks : output: further numbers of ball joints and free bodies
    moved : output, in blocks of eight: displacements that satisfy the constraints, see `recursion_corrections`
    """

    entries: np.ndarray
    parents: np.ndarray
    body_constants: np.ndarray
    bodies: np.ndarray
    gravity: np.ndarray
    posture: np.ndarray
    joints: np.ndarray
    articulated: np.ndarray
    blocks: np.ndarray
    moved: np.ndarray
