"""Tables of a forest of joints, a system in which no joint closes a loop.

The equations of motion are solved by elimination of the degrees of freedom of joints. Each joint connects a child to a
parent, which is nearer to the root. A root is the ground or, in a part of the system that is not connected to the
ground, one of its bodies. A wrench is a force and a moment on a body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Integers of each joint: its node; the indices of child and parent among the bodies, -1 for the ground; offsets of both
# in arrays of kinematics and of wrenches; whether the child is body j; whether the first three rows are a coincidence;
# the number of rows that restrict translations and of those that restrict rotations, and the lane of each.
(
    NODE, CHILD, PARENT, KIN_CHILD, KIN_PARENT, WRENCH_CHILD, WRENCH_PARENT, CHILD_IS_J, COINCIDES,
    TRANSLATIONS, ROTATIONS, TRANSLATION_LANES, ROTATION_LANES,
) = (*range(12), 14)  # fmt: skip
JOINT_ENTRIES = 17

# Integers of each root that is a body: its index, and its offset in arrays of wrenches.
ROOT, WRENCH_ROOT = range(2)
ROOT_ENTRIES = 2

# Number of floats of the inertia of a body, a symmetric matrix (6, 6) over the velocity of a point and the angular
# velocity, both in body axes: the block of translations (xx, xy, xz, yy, yz, zz), the mixed block by rows, and the
# block of rotations.
SHIFTS, MIXED, TURNS = 0, 6, 15
INERTIA = 24

# Floats of each joint: the inertia that it transmits, at its point, in the axes of the child; the arms to this point
# from the centers of mass of child and parent, each in the axes of its body; the rotation from child to parent; the
# right inverses of the rows of translations and of rotations, three vectors each; in a solve, the relative acceleration
# that the rows prescribe, and the load that the joint transmits if neither body accelerates; then the degrees of
# freedom.
TRANSMITTED, ARM_CHILD, ARM_PARENT, TO_PARENT, INVERSES, PRESCRIBED, LOAD, FREEDOMS = 0, 21, 24, 27, 36, 54, 60, 66
# Floats of each degree of freedom: its direction; the momentum of unit velocity along it, six components; the inverse
# of its inertia; in a solve, its acceleration if the parent does not accelerate.
DIRECTION, MOMENTUM, COMPLIANCE, ALONE = 0, 3, 9, 10
FREEDOM = 11
JOINT_NUMBERS = 136  # FREEDOMS + 6 * FREEDOM, filled up to a multiple of eight

# Floats of each root: the triangular factor (6, 6) of its articulated inertia.
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
