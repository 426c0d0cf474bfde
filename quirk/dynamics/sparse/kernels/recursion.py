"""Tables of a forest of joints, whose accelerations are computed by recursion over the joints.

In a forest no joint closes a loop. Each body has one joint to its parent, which is nearer to the root; bodies without a
parent are free. The joint frame of a body has its origin at the point of this joint on the body; that of a free body
has the axes of the body, and its center of mass as origin. The z axis of the joint frame is the axis of a hinge, slider
or cylindrical joint, and of a universal joint the axis that is fixed in the body. The joint frame of a ball joint has
the axes of the body, and that of a weld or slider all axes of the joint. All vectors and inertias are in these frames,
so that the degrees of freedom are motions along and about a coordinate axis, and their elimination involves no
differences of large numbers. Only the second axis of a universal joint, which is fixed in the parent, rotates in the xy
plane of the joint frame. A driven joint, a hinge or slider with a prescribed motion, has no degree of freedom; the data
of its axis give the load of its driver.

Slots of bodies (`quirk.dynamics.model.layout`) are in the order of the recursion from the tips to the roots. Arrays
over joints store the numbers of one joint consecutively, in vectors of four; arrays over bodies are in blocks of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Kinds of joints; the last two are hinges and sliders whose motion is prescribed by a driver.
HINGE, BALL, FREE, WELD, SLIDER, CYLINDRICAL, UNIVERSAL, DRIVEN_HINGE, DRIVEN_SLIDER = range(9)

# Integers of each joint: its kind; the first number of its parent among the numbers of all joints, that of the ground
# included; the places in `articulated` of the inertia of all children of its body, of the inertia to which that of its
# body is added, and of the sum, -1 if the parent is the ground; its first number in `blocks`, or the node of its
# driver.
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
# acceleration of the joint point, and the angular acceleration; then the data of the degrees of freedom.
COLUMNS, ROWS, SHIFT_BIAS, TURN_BIAS, FORCE, MOMENT, SHIFT, TURN, FREEDOM = 0, 12, 24, 28, 32, 36, 40, 44, 48
JOINT_NUMBERS = 64
# Data of one degree of freedom, from its first number on: momentum of unit velocity along it; inverse of its inertia;
# its acceleration if the parent does not accelerate, or, of a driven joint, its load at zero acceleration. The rotation
# about z is the degree of freedom of a hinge and the first one of cylindrical and universal joints; their second one is
# in `blocks`.
MOMENTUM_SHIFT, MOMENTUM_TURN, COMPLIANCE, ALONE = 0, 4, 8, 9
# Of a slider or cylindrical joint, the present arm from the joint point of the parent, in the frame of the parent; of a
# universal joint, the unit vector along the projection of the axis fixed in the parent onto the xy plane, in the frame
# of the joint.
PRESENT_ARM = SECOND_AXIS = FREEDOM + 12
# Data of a ball joint: the rows of H J^-1; the angular acceleration if the joint point does not accelerate.
GIVEN_BY_SHIFT, ALONE_TURN = FREEDOM, FREEDOM + 12

# Numbers of an articulated inertia: the rows of its blocks M, H^T and J, the force and the moment.
ARTICULATED_FORCE, ARTICULATED_MOMENT, ARTICULATED = 36, 40, 44

# Numbers in `blocks`: of a ball joint the rows of J^-1; of a free body the triangular factor (6, 6) of its inertia; the
# data of a second degree of freedom.
BALL_NUMBERS, FREE_NUMBERS, SECOND_NUMBERS = 12, 36, 12

# Constants of a body in `bodies`: the rotation from its joint frame to its axes, as a quaternion and as a matrix by
# rows; the arm from the joint point of the parent to its own, in the frame of the parent; mass; mass times center of
# mass; inertia about the joint point (xx, xy, xz, yy, yz, zz); the center of mass; the z axis of the joint, or the axis
# of a universal joint that is fixed in the parent, in the frame of the parent; the joint point relative to the center
# of mass of the parent, in that frame; 1 if the joint allows no rotation about x and y, otherwise 0; the inertia less
# its middle principal moment times the identity: that part does not contribute to omega x J omega, but its round-off
# would make slender bodies spin; the x axis of a joint that allows no rotation about z, in the frame of the parent,
# otherwise zero; 1 for such a joint, otherwise 0; 1 for a joint that slides along its axis, otherwise 0; 1 for a
# universal joint, otherwise 0.
ALIGNED, ALIGNMENT, ARM_OF_BODY, MASS, MASS_MOMENT, INERTIA, CENTER = 0, 4, 13, 16, 17, 20, 26
AXIS, POINT_FROM_CENTER, HINGED, UNLIKE, CROSS_AXIS, WELDED, SLIDING, CROSSED = 29, 32, 35, 36, 42, 45, 46, 47
BODY_CONSTANTS = 48

# Integers of each driven joint: the slot of its body; the node of its driver; the index of the prescribed motion, and
# of its value among the inputs of relations; the index of the work in states; the first element of the axis in
# `bodies`; 1, or -1 if the prescribed coordinate decreases when the body turns about or slides along this axis.
SLOT, DRIVER, MOTION, MOTION_INPUT, WORK_IN_Y, AXIS_IN_BODIES, SENSE = range(7)
DRIVEN_ENTRIES = 7

# Posture of a body: the orientation of its joint frame as a quaternion of any length, and its angular velocity.
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
