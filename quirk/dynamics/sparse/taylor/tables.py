"""The tables of constraints and force elements whose Taylor series are found, in groups of like elements.

Beside them kernels are handed two arrays of Taylor coefficients: `bodies`, of each block of eight one order after the
other, as `quirk.dynamics.model.layout` says, with the quaternion and J omega in place of the metric; and `carried`, of
the numbers that are carried beside the bodies, one order after the other, their count rounded up to a multiple of
eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.functions.motion_kernels import MotionTable
from quirk.jit.record import record

# Programs of a form: all of order 0; what rows and loads are made of; what Phi or psi needs; the loads; and what needs
# multipliers of the same order, which it takes over.
FIRST, SHAPE, GOAL, LOADS, AFTER = range(5)
PROGRAMS = 5

# Of what rows are: of poses, of velocities, or there are none.
LAW, VELOCITY_ROWS, POSE_ROWS = range(3)

# Entries of each group: the address of its machine code; the level of its rows, as above; where its places and its
# numbers start.
CODE, LEVEL, PLACES, NUMBERS = range(4)
GROUP = 4

# Entries of each guard: where its coefficients start; elements from one order to the next; how many lanes are elements.
START, STRIDE, LANES = range(3)
GUARD = 3

# Entries of the desk, which machine code is handed: the program and the order; elements from one order to the next of
# `bodies` and of `carried`, and how many orders; then addresses: of the places and the numbers of the group; of the
# coefficients of bodies, of what is carried, of functions of time; of fixed numbers of relations and of laws; of
# multipliers, and of right-hand sides.
(
    PROGRAM, ORDER, SIZE, COUNT, ORDERS, AT_PLACES, AT_NUMBERS, AT_BODIES, AT_CARRIED, AT_MOTIONS, AT_FIXED,
    AT_FIXED_OF_LAWS, AT_MULTIPLIERS, AT_RIGHT_SIDES,
) = range(14)  # fmt: skip
DESK = 14


@record
class TaylorElements(NamedTuple):
    """Constraints and force elements of a model, in groups of eight that share a form.

    groups (GROUP each): integers as above, those of constraints first · constraints: how many groups these are ·
    spinning: whether any depends on angular velocities · places: of each group eight for each of these: the first of
    its fixed numbers; the bodies of all frames; motions; multipliers; the first internal variable; the work of the
    element, and of its rows; then how many elements there are, whose lanes come first ·
    numbers: what groups keep · motions, taylor (motions orders,): functions of time of all elements, and their
    coefficients · desk, handed (DESK,): the same numbers, as integers and as doubles, for calls · first_places,
    first_numbers, first_bodies, first_carried: addresses of these arrays · whole: how many blocks have more than four
    bodies; those behind them have not · guards (GUARD each): where in `numbers` the coefficients of a guard of a law
    start, how many numbers are from one order to the next, and how many of them are of elements; none where functions
    of a user may change cases unseen · polynomial (orders,): scratch · orders
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
