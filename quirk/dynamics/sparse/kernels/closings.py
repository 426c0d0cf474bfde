"""Tables of the constraints that close the loops of a forest of joints, and of relations between its joints.

Accelerations of a forest are computed by recursion (`recursion`). The rows C of all other constraints, the closings,
are then added: a wrench on the bodies, C^T lambda, changes the accelerations of the forest by H^-1 C^T lambda. With a
unit wrench for each row, transmitted from the bodies to the root of their tree, the loads along the freedoms give the
matrix F, with C H^-1 C^T = F^T F. It has a column for each row, and a row for each freedom on the paths.

The closings whose paths have freedoms in common form a group, with a matrix of its own. Rows that depend
on the rows of the forest or on other closings have no column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Integers of each group: ranges of its closings and visits; number of freedoms; first elements in `matrix`,
# `reflections` and `along`, in `carried` and in `touched`; index of its first row.
CLOSING, CLOSING_END, VISIT, VISIT_END, FREEDOM_COUNT, MATRIX, REFLECTIONS, ALONG, CARRIED, TOUCHED, ROW = range(11)
GROUP_ENTRIES = 11

# Integers of each closing: its node and index of its first row; range of its sides; number of freedoms on the paths of
# the closings of its group up to this one.
NODE, FIRST_ROW, SIDE, SIDE_END, REACH = range(5)
CLOSING_ENTRIES = 5

# Integers of each side, a body of a closing that is not the ground: first elements of the forces and the moments in G;
# 1, or -1 if the forces act on the body in the opposite direction; first elements of the body in the arrays of
# kinematics, of constants, and of `Recursion.bodies`; and its visit, counted from the first one of the group.
FORCE_IN_G, MOMENT_IN_G, SIGN, IN_KINEMATICS, IN_CONSTANTS, IN_BODIES, AT_VISIT = range(7)
SIDE_NUMBERS = 7

# Integers of each visit of a joint on the paths of a group: the slot of its body; the visit of its parent, counted from
# the first one of the group, or -1 for the ground; and the row of its first freedom in the matrix.
SLOT, UP, FREEDOM_ROW = range(3)
VISIT_ENTRIES = 3

# Numbers of the wrenches of eight rows on one body.
CARRIED_NUMBERS = 48


@record
class Closings(NamedTuple):
    """Tables of the closings of a forest; empty if there are none, or if all constraints are eliminated by rows.

    Attributes
    ----------
    nodes : nodes of all closings
    effort : (2,) estimated time of an evaluation by rows, without solution and for each solve, microseconds
    groups, closings, sides, visits : integers of groups, closings, sides and visits, see above
    lane : output: column of each row in the matrix of its group, -1 if it depends on others
    norm : output: norm of each row in the mass metric
    shortest : output: diagonal element of each row below which all constraints are eliminated by rows
    previous : scratch array: columns before a selection
    kept : output: number of columns of each group
    matrix : output: F of each group, by rows, then its triangular factor
    reflections : output: reflections that make F triangular, one for each column
    along : output: load along each freedom, times the root of its compliance
    wrench, carried, touched : scratch arrays: wrenches of a closing, wrenches at each visit and whether there are any
    """

    nodes: np.ndarray
    effort: np.ndarray
    groups: np.ndarray
    closings: np.ndarray
    sides: np.ndarray
    visits: np.ndarray
    lane: np.ndarray
    norm: np.ndarray
    shortest: np.ndarray
    previous: np.ndarray
    kept: np.ndarray
    matrix: np.ndarray
    reflections: np.ndarray
    along: np.ndarray
    wrench: np.ndarray
    carried: np.ndarray
    touched: np.ndarray
