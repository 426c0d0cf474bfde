"""The tables of constraints and force elements whose Taylor series are found: programs, and groups of like elements.

Beside them kernels are handed two arrays of Taylor coefficients, one order after the other: `bodies`, as
`quirk.dynamics.layout` says, with the quaternion and J omega in place of the metric; and `carried`, of the numbers
that are carried beside the bodies, their count rounded up to a multiple of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.motion_table import MotionTable
from quirk.record import record

from .tapes import Tapes

# Programs of a tape: all of order 0; what rows and loads are made of; what Phi or psi needs; the loads; and what needs
# multipliers of the same order.
FIRST, SHAPE, GOAL, LOADS, AFTER = range(5)
PROGRAMS = 5
# Entries of each program of a tape: where its inputs begin and end, and where its code does.
INPUTS, INPUTS_END, LINES, LINES_END = range(4)

# Entries of each form: its programs; the level of its rows, 2 of poses, 1 of velocities, 0 of what has none; where its
# outputs begin and end; how many frames, motions and multipliers its elements have.
LEVEL, OUTPUTS, OUTPUTS_END, FRAMES, MOTIONS, ROWS = range(4 * PROGRAMS, 4 * PROGRAMS + 6)
FORM = 4 * PROGRAMS + 6

# Entries of each input: the value, its history or -1, what it is, and which one: a component of a body's motion, by
# frame; a motion; an internal variable; a multiplier; or a fixed number.
VALUE, KEPT, KIND, WHICH, OF_FRAME = range(5)
INPUT_ENTRIES = 5
# What inputs are. Rates are those of the numbers after which they are named.
BODY, BODY_RATE, TIME, MOTION, MOTION_RATE, INTERNAL, MULTIPLIER, FIXED = range(8)

# Entries of each output: the value, what it is, and which one: a row; a component of a load, by frame; the rate of an
# internal variable; the power of the loads of an element, or of a row.
OUT_VALUE, OUT_KIND, OUT_WHICH, OUT_FRAME = range(4)
OUTPUT_ENTRIES = 4
RESIDUAL, LOAD, RATE, POWER, POWER_OF_ROW = range(5)

# Entries of each group: its form; how many elements; where its values and its histories start; and where in `places`
# those of its elements start, eight for each kind of thing, in this order: of fixed numbers the first, the bodies of
# all frames, motions, multipliers, the first internal variable, works of the element and of its rows; -1 for none.
FORM_OF, COUNT, FIRST_VALUE, FIRST_HISTORY, PLACES = range(5)
GROUP = 5


@record
class Elements(NamedTuple):
    """Constraints and force elements of a model, in groups of eight that share a tape.

    forms (FORM each), inputs (INPUT_ENTRIES each), outputs (OUTPUT_ENTRIES each), groups (GROUP each), places: integers
    as above · fixed: numbers of relations; those of laws stand among the inputs of laws · laws: the number of the first
    group of laws · motions, taylor (motions (orders),): of all elements, and their coefficients · tapes
    """

    forms: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    groups: np.ndarray
    places: np.ndarray
    fixed: np.ndarray
    laws: int
    motions: MotionTable
    taylor: np.ndarray
    tapes: Tapes
