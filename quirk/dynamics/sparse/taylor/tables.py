"""Tables of constraints and force elements for Taylor series, in groups of elements of the same form.

A form is a list of operations that elements of equal structure share. A program computes a part of these operations for
one order. A guard is a quantity that changes sign where a force law switches its branch.

Compiled functions also take two arrays of Taylor coefficients. `bodies` holds for each block of eight bodies one order
after the other, in the layout of kinematics (`quirk.dynamics.model.layout`), with the quaternion and J omega in place
of the metric. `carried` holds the auxiliary states, one order after the other, padded to a multiple of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Programs of a form. FIRST: order 0 of all lines. SHAPE: inputs of rows and loads. GOAL: Phi or psi. LOADS: loads,
# without multipliers of the same order. AFTER: lines that depend on these multipliers.
FIRST, SHAPE, GOAL, LOADS, AFTER = range(5)
PROGRAMS = 5

# Levels of rows: none, on velocities, or on poses.
LAW, VELOCITY_ROWS, POSE_ROWS = range(3)

# Entries per group: address of its machine code; level of its rows; first elements of its places and numbers.
CODE, LEVEL, PLACES, NUMBERS = range(4)
GROUP = 4

# Entries per guard: first element of its coefficients; distance from one order to the next; number of lanes in use.
START, STRIDE, LANES = range(3)
GUARD = 3

# Entries of the argument array of machine code: program and order; distance from one order to the next in `bodies`, and
# in `carried`; number of orders; then addresses: of places and numbers of the group; of the coefficients of bodies,
# auxiliary states, and functions of time; of fixed numbers of relations, and of laws; of multipliers, and right-hand
# sides.
(
    PROGRAM, ORDER, SIZE, COUNT, ORDERS, AT_PLACES, AT_NUMBERS, AT_BODIES, AT_CARRIED, AT_MOTIONS, AT_FIXED,
    AT_FIXED_OF_LAWS, AT_MULTIPLIERS, AT_RIGHT_SIDES,
) = range(14)  # fmt: skip
DESK = 14


@record
class TaylorElements(NamedTuple):
    """Constraints and force elements of a model, in groups of eight of the same form.

    Names in capitals are constants of this module.

    Attributes
    ----------
    groups : (GROUP each,) integers of each group, groups of constraints first
    constraints : number of groups of constraints
    spinning : whether any element depends on inertial angular velocities
    places : for each group, rows of eight numbers, one for each element: index of its first constant; offsets of the
        bodies of all frames; indices of its motions, multipliers, first internal variable, work, and work of its rows;
        then the number of elements in the group
    numbers : stored coefficients of all groups
    motions, taylor : prescribed motions of all elements, and their coefficients (motions orders,)
    desk, handed : (DESK,) arguments of machine code, as integers and as doubles that share their memory
    first_places, first_numbers, first_bodies, first_carried : addresses of the arrays passed to machine code
    whole : number of leading blocks up to the last one with more than four bodies
    guards : (GUARD each,) integers of each guard; empty if user functions may branch without guards
    polynomial : (orders,) scratch
    orders : number of coefficients
    """

    groups: np.ndarray
    constraints: int
    spinning: bool
    places: np.ndarray
    numbers: np.ndarray
    motions: MotionTable
    taylor: np.ndarray
    desk: np.ndarray
    handed: np.ndarray
    first_places: int
    first_numbers: int
    first_bodies: int
    first_carried: int
    whole: int
    guards: np.ndarray
    polynomial: np.ndarray
    orders: int
