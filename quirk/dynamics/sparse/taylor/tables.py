"""Tables of constraints and force elements for Taylor series, in groups of elements of the same form.

A form is a list of operations shared by elements of equal structure. A program is a part of these operations, for one
order. A guard is a quantity whose sign changes when a force law switches its branch.

Compiled functions also take two arrays of Taylor coefficients. `bodies` contains, for each block of eight bodies, the
coefficients order by order, in the layout of kinematics (`quirk.dynamics.model.layout`) with the quaternion and J omega
in place of the metric. `auxiliary` contains the auxiliary states order by order, padded to a multiple of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Programs of a form. FIRST: order 0 of all lines. SHAPE: inputs of rows and loads. GOAL: Phi or psi. LOADS: loads,
# without multipliers of the same order. AFTER: lines that depend on these multipliers.
FIRST, SHAPE, GOAL, LOADS, AFTER = range(5)

# Levels of rows: none, on velocities, or on poses.
LAW, VELOCITY_ROWS, POSE_ROWS = range(3)

# Integers of each group: address of its machine code; level of its rows; index of its first element in
# `TaylorElements.places` and in `TaylorElements.numbers`.
CODE, LEVEL, PLACES, NUMBERS = range(4)
GROUP = 4

# Integers of each guard: index of its first coefficient in `TaylorElements.numbers`; distance from one order to the
# next; number of lanes in use.
START, STRIDE, LANES = range(3)
GUARD = 3

# Arguments of the machine code, in one array: program and order; distance from one order to the next in `bodies`, and
# in `auxiliary`; number of orders; then addresses of arrays: `places` and `numbers` of the group; coefficients of
# bodies, auxiliary states and functions of time; constants of relations, and of laws; multipliers, and right-hand
# sides.
(
    PROGRAM, ORDER, SIZE, COUNT, ORDERS, AT_PLACES, AT_NUMBERS, AT_BODIES, AT_AUXILIARY, AT_MOTIONS, AT_FIXED,
    AT_FIXED_OF_LAWS, AT_MULTIPLIERS, AT_RIGHT_SIDES,
) = range(14)  # fmt: skip
ARGUMENTS = 14


@record
class TaylorElements(NamedTuple):
    """Constraints and force elements of a model, in groups of up to eight with the same list of operations.

    A guard is a quantity whose sign changes when a force law switches its branch. Names in capitals are constants of
    this module.

    Attributes
    ----------
    groups : GROUP integers for each group, groups of constraints first: address of its machine code, its level (LAW,
        VELOCITY_ROWS or POSE_ROWS), and the indices of its first elements in `places` and `numbers`
    constraints : number of groups of constraints
    spinning : whether any element depends on angular velocities in the inertial frame
    places : indices of the data of the elements in other arrays. For each group a table with eight columns, one for
        each element. Its rows are: index of the first constant; offset of the body of each frame; indices of the
        motions, of the multipliers, of the first internal variable, of the work, and of the work of each constraint
        row; finally the number of elements in the group
    numbers : stored Taylor coefficients of all groups
    motions, taylor : prescribed motions of all elements, and their Taylor coefficients, (number of motions x orders,)
    arguments, handed : (ARGUMENTS,) arguments of machine code; two views of the same memory, as integers and as doubles
    first_places, first_numbers, first_bodies, first_auxiliary : addresses of the arrays passed to machine code
    full_blocks : number of leading blocks of bodies that are computed with vectors of eight elements; all later blocks
        contain at most four bodies and are computed with vectors of four
    guards : GUARD integers for each guard: index of its first coefficient in `numbers`, distance between orders, and
        number of elements in its group; empty if user functions may branch without guards
    polynomial : (orders,) scratch array for one guard
    orders : number of Taylor coefficients
    """

    groups: np.ndarray
    constraints: int
    spinning: bool
    places: np.ndarray
    numbers: np.ndarray
    motions: MotionTable
    taylor: np.ndarray
    arguments: np.ndarray
    handed: np.ndarray
    first_places: int
    first_numbers: int
    first_bodies: int
    first_auxiliary: int
    full_blocks: int
    guards: np.ndarray
    polynomial: np.ndarray
    orders: int
