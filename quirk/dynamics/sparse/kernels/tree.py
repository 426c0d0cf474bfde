"""Tables of a forest of joints, a system in which no joint closes a loop.

The equations of motion are solved by elimination of the degrees of freedom of joints. Each joint connects a child to a
parent, which is nearer to the root. A root is the ground or, in a part of the system that is not connected to the
ground, one of its bodies. A wrench is a force and a moment on a body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Integers of each joint:
#   NODE: its node
#   CHILD, PARENT: indices of its child and parent bodies, -1 for the ground
#   KIN_CHILD, KIN_PARENT, WRENCH_CHILD, WRENCH_PARENT: offsets of both bodies in arrays of kinematics and of wrenches
#   CHILD_IS_J: 1 if the child is body j, otherwise 0
#   COINCIDES: 1 if the first three rows keep two points coincident, otherwise 0
#   TRANSLATIONS, ROTATIONS: numbers of rows that constrain translations, and rotations
#   TRANSLATION_LANES, ROTATION_LANES: indices of these rows in the node
(
    NODE, CHILD, PARENT, KIN_CHILD, KIN_PARENT, WRENCH_CHILD, WRENCH_PARENT, CHILD_IS_J, COINCIDES,
    TRANSLATIONS, ROTATIONS, TRANSLATION_LANES, ROTATION_LANES,
) = (*range(12), 14)  # fmt: skip
JOINT_ENTRIES = 17

# Integers of each root body: its index, and its offset in arrays of wrenches.
ROOT, WRENCH_ROOT = range(2)
ROOT_ENTRIES = 2

# Indices of the blocks in the inertia of a body, a symmetric matrix (6, 6) for the velocity of a point and the angular
# velocity in body axes: translational block (xx, xy, xz, yy, yz, zz), coupling block by rows, and rotational block (xx,
# xy, xz, yy, yz, zz). INERTIA is the number of elements, with padding.
SHIFTS, MIXED, TURNS = 0, 6, 15
INERTIA = 24

# Indices among the floats of each joint:
#   TRANSMITTED: inertia that it transmits to the parent, at the joint point and in the axes of the child
#   ARM_CHILD, ARM_PARENT: vectors from the centers of mass of child and parent to the joint point, each in body axes, m
#   TO_PARENT: rotation matrix from the child to the parent
#   INVERSES: right inverses of the rows of translations, and of rotations: three vectors each
#   PRESCRIBED: relative acceleration that the rows prescribe
#   LOAD: load that the joint transmits if neither body accelerates
#   FREEDOMS: data of the degrees of freedom
TRANSMITTED, ARM_CHILD, ARM_PARENT, TO_PARENT, INVERSES, PRESCRIBED, LOAD, FREEDOMS = 0, 21, 24, 27, 36, 54, 60, 66
# Offsets among the data of one degree of freedom:
#   DIRECTION: direction along or about which the child moves, of any length
#   MOMENTUM: momentum of the velocity DIRECTION, six components
#   COMPLIANCE: inverse of the inertia along it
#   ALONE: acceleration along it if the parent does not accelerate
DIRECTION, MOMENTUM, COMPLIANCE, ALONE = 0, 3, 9, 10
FREEDOM = 11
JOINT_NUMBERS = 136  # FREEDOMS + 6 * FREEDOM, filled up to a multiple of eight

# Number of floats of each root: triangular factor (6, 6) of its articulated inertia, padded to a multiple of eight.
ROOT_NUMBERS = 40


@record
class Tree(NamedTuple):
    """A forest of T joints over n bodies, with R root bodies; empty for systems with loops.

    Names in capitals are constants of this module. "Output" marks arrays written by compiled code.

    Attributes
    ----------
    entries : (JOINT_ENTRIES T,) integers of each joint, from the tips to the roots: its node, offsets of its bodies in
        arrays, and numbers and positions of its rows
    roots : (ROOT_ENTRIES R,) for each root body its index, and its offset in arrays of wrenches
    body_inertia : (INERTIA n,) inertia of each body about its center of mass
    inertia : (INERTIA n,) output: articulated inertia of each body
    joints : (JOINT_NUMBERS T,) output: geometry and solution of each joint
    factors : (ROOT_NUMBERS R,) output: triangular factors of the articulated inertias of root bodies
    bias : output: loads that articulated bodies need for zero acceleration, in body axes
    acceleration : output: linear accelerations of centers of mass, and angular accelerations, in body axes
    """

    entries: np.ndarray
    roots: np.ndarray
    body_inertia: np.ndarray
    inertia: np.ndarray
    joints: np.ndarray
    factors: np.ndarray
    bias: np.ndarray
    acceleration: np.ndarray
