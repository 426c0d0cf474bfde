"""Tables of a forest of joints, whose accelerations are computed by recursion over the joints.

In a forest no joint closes a loop. Each body has one joint to its parent, which is nearer to the root; bodies without a
parent are free. Slots of bodies (`quirk.dynamics.model.layout`) are in the order of the recursion from the tips to the
roots. Arrays over joints store the elements of one joint consecutively, in vectors of four; arrays over bodies are in
blocks of eight.

All vectors and inertias of a body are in its joint frame. The origin of the joint frame is the point of the joint on
the body; for a free body it is the center of mass. The z axis is the axis of a hinge, slider or cylindrical joint, or
the axis of a universal joint that is fixed in the body. The joint frame of a weld or slider has all axes of the joint,
and that of a ball joint or free body the axes of the body.

In this frame the degrees of freedom are motions along and about a coordinate axis, and their elimination involves no
differences of large numbers. Only the second axis of a universal joint, which is fixed in the parent, rotates in the xy
plane of the joint frame. A driven joint, a hinge or slider with a prescribed motion, has no degree of freedom; the load
of its driver is computed from the data of its axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Kinds of joints. FREE is a body without a joint to a parent; the last two are hinges and sliders with a driver.
HINGE, BALL, FREE, WELD, SLIDER, CYLINDRICAL, UNIVERSAL, DRIVEN_HINGE, DRIVEN_SLIDER = range(9)

# Elements of a vector of one joint, and of a row of a matrix (3, 3); the last one is not used.
ROW = 4

# Integers of each joint:
#   KIND: kind of the joint
#   PARENT: index in `joints` of the first element of the parent, which may be the ground
#   CHILDREN: index in `articulated` of the sum of inertias over the children of the body
#   ADDED_TO: index in `articulated` of the sum over the preceding children of the parent
#   SUM: index in `articulated` at which the latter sum plus the inertia of the body is stored; -1 if the parent is the
#     ground
#   BLOCK: index of the first element of the joint in `blocks`; for a driven joint, the node of its driver
KIND, PARENT, CHILDREN, ADDED_TO, SUM, BLOCK = range(6)
JOINT_ENTRIES = 6

# Indices among the constants of the body of each joint:
#   LOWER, TURNS: rows of the blocks H^T and J of its inertia about the joint point
#   ARM: vector from the joint point of the parent to the joint point of the body, in the frame of the parent, m
#   MASS_AFTER: mass, preceded and followed by zeros, so that the rows of the mass times the unit matrix can be loaded
LOWER, TURNS, ARM, MASS_AFTER = 0, 12, 24, 30
BODY_NUMBERS = 36

# Indices among the computed floats of each joint:
#   COLUMNS, ROWS: columns and rows of the rotation matrix from the joint frame to the frame of the parent
#   SHIFT_BIAS: relative acceleration of the joint points due to velocities, in the frame of the parent, m/s^2
#   TURN_BIAS: relative angular acceleration due to velocities, in the joint frame, rad/s^2
#   FORCE, MOMENT: load that the body needs for zero further acceleration, N and N m
#   SHIFT, TURN: acceleration of the joint point, m/s^2, and angular acceleration, rad/s^2
#   FREEDOM: data of the degrees of freedom
COLUMNS, ROWS, SHIFT_BIAS, TURN_BIAS, FORCE, MOMENT, SHIFT, TURN, FREEDOM = 0, 12, 24, 28, 32, 36, 40, 44, 48
JOINT_NUMBERS = 64
# Offsets among the data of one degree of freedom. The first one of a joint (rotation about z, or translation of a
# slider) is stored in `joints`, the second one of a cylindrical or universal joint in `blocks`.
#   MOMENTUM_SHIFT, MOMENTUM_TURN: linear and angular momentum of unit velocity along the degree of freedom
#   COMPLIANCE: inverse of the inertia along it
#   ALONE: acceleration along it if the parent does not accelerate; for a driven joint, its load at zero acceleration
MOMENTUM_SHIFT, MOMENTUM_TURN, COMPLIANCE, ALONE = 0, 4, 8, 9
# Slider or cylindrical joint: present vector from the joint point of the parent to that of the body, in the frame of
# the parent. Universal joint: unit vector along the projection of the second axis onto the xy plane of the joint frame.
PRESENT_ARM = SECOND_AXIS = FREEDOM + 12
# Ball joint: the rows of H J^-1, and the angular acceleration if the joint point does not accelerate.
GIVEN_BY_SHIFT, ALONE_TURN = FREEDOM, FREEDOM + 12

# Indices of force and moment in an articulated inertia, which follow after the rows of its blocks M, H^T and J; and its
# size.
ARTICULATED_FORCE, ARTICULATED_MOMENT, ARTICULATED = 36, 40, 44

# Number of elements in `blocks`: rows of J^-1 of a ball joint; triangular factor (6, 6) of the inertia of a free body;
# data of a second degree of freedom.
BALL_NUMBERS, FREE_NUMBERS, SECOND_NUMBERS = 12, 36, 12

# Indices among the constants of each body in `bodies`:
#   ALIGNED, ALIGNMENT: rotation from the joint frame to body axes, as a quaternion, and as a matrix by rows
#   ARM_OF_BODY: vector from the joint point of the parent to that of the body, in the frame of the parent, m
#   MASS, MASS_MOMENT: mass, and mass times the center of mass
#   INERTIA: inertia about the joint point (xx, xy, xz, yy, yz, zz)
#   CENTER: center of mass relative to the joint point, m
#   AXIS: z axis of the joint, for a universal joint its second axis, in the frame of the parent
#   POINT_FROM_CENTER: joint point relative to the center of mass of the parent, in the frame of the parent, m
#   HINGED: 1 if the joint allows no rotation about x and y, otherwise 0
#   UNLIKE: INERTIA less its middle principal moment times the identity. The subtracted part does not contribute to
#     omega x J omega, but its round-off would make slender bodies spin.
#   CROSS_AXIS: x axis, in the frame of the parent, of a joint that allows no rotation about z, otherwise zero
#   WELDED, SLIDING, CROSSED: 1 if the joint allows no rotation about z, slides along z, or is a universal joint;
#     otherwise 0
ALIGNED, ALIGNMENT, ARM_OF_BODY, MASS, MASS_MOMENT, INERTIA, CENTER = 0, 4, 13, 16, 17, 20, 26
AXIS, POINT_FROM_CENTER, HINGED, UNLIKE, CROSS_AXIS, WELDED, SLIDING, CROSSED = 29, 32, 35, 36, 42, 45, 46, 47
BODY_CONSTANTS = 48

# Integers of each driven joint:
#   SLOT: slot of its body
#   DRIVER: node of its driver
#   MOTION, MOTION_INPUT: index of the prescribed motion, and of its value among the inputs of relations
#   WORK_IN_Y: index of the work of the driver in the state
#   AXIS_IN_BODIES: index of the first component of the joint axis in `bodies`
#   SENSE: 1, or -1 if the prescribed coordinate decreases when the body turns about or slides along this axis
SLOT, DRIVER, MOTION, MOTION_INPUT, WORK_IN_Y, AXIS_IN_BODIES, SENSE = range(7)
DRIVEN_ENTRIES = 7

# Posture of a body: the orientation of its joint frame as a quaternion of any norm, and its angular velocity, rad/s.
QUATERNION, OMEGA = 0, 4
POSTURE = 7


@record
class Recursion(NamedTuple):
    """Tables of a forest of n bodies for recursion over its joints; empty if recursion is not used.

    In a forest no joint closes a loop. Names in capitals are constants of this module. "Output" marks arrays written by
    compiled code. The joint frame of a body is that of the joint to its parent, see the module docstring.

    Attributes
    ----------
    entries : (JOINT_ENTRIES n,) integers of each joint: its kind, and indices of its data in the other arrays
    parents : for each body, the index of the first element of its parent in `posture` and in states
    driven : (DRIVEN_ENTRIES per joint,) integers of each driven joint
    body_constants : (BODY_NUMBERS n,) constants of the body of each joint
    bodies : constants of all bodies, in blocks of eight bodies
    gravity : (3,) gravitational acceleration, m/s^2, inertial frame
    posture : output, in blocks of eight bodies: orientation of the joint frame of each body, as a quaternion, and
        angular velocity of the body in this frame, rad/s
    joints : (JOINT_NUMBERS (n + 1),) output: relative rotation, relative acceleration due to velocities, load,
        accelerations and eliminated degrees of freedom of each joint, and the acceleration of the ground
    articulated : output: sums of articulated inertias over the children of a body; the first is zero
    blocks : output: factorized inertias of free bodies, and further data of joints with several degrees of freedom
    moved : output, in blocks of eight bodies: displacements of the bodies for locked joints, see
        `recursion_corrections`
    travels : whether any joint slides or has a second axis, so that its geometry depends on the state
    """

    entries: np.ndarray
    parents: np.ndarray
    driven: np.ndarray
    body_constants: np.ndarray
    bodies: np.ndarray
    gravity: np.ndarray
    posture: np.ndarray
    joints: np.ndarray
    articulated: np.ndarray
    blocks: np.ndarray
    moved: np.ndarray
    travels: bool
