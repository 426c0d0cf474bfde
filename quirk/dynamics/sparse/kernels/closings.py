"""Tables of the constraints that close the loops of a forest of joints, and of relations between its joints.

Accelerations of a forest are computed by recursion over its joints (module `recursion`). All other constraints, the
closings, are then satisfied by loads C^T lambda on the bodies, with their rows C and multipliers lambda. These loads
change the accelerations along the degrees of freedom by H^-1 C^T lambda, where H is the mass matrix of the forest.

The loads of a unit multiplier of each row are transmitted from its bodies to the root of the forest. The matrix F
contains the loads that they exert along the degrees of freedom of the joints on this path, scaled by the root of the
compliance, so that C H^-1 C^T = F^T F. It has a column for each row of C, and a row for each degree of freedom. Loads
on the drivers of joints are stored in further rows, which are not part of F.

Closings whose paths have degrees of freedom in common form a group, with a matrix F of its own. Rows that depend on the
rows of the forest or on other closings have no column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# Integers of each group of loop-closing constraints:
#   CLOSING, CLOSING_END: range of its constraints
#   VISIT, VISIT_END: range of its visits
#   FREEDOM_COUNT: number of degrees of freedom on its paths
#   MATRIX, REFLECTIONS, ALONG, WRENCHES, TOUCHED: index of its first element in the array of the same name
#   ROW: index of its first constraint row
#   LENGTH: number of rows of its matrix, including those of drivers
CLOSING, CLOSING_END, VISIT, VISIT_END, FREEDOM_COUNT, MATRIX, REFLECTIONS, ALONG, WRENCHES, TOUCHED, ROW, LENGTH = (
    range(12)
)
GROUP_ENTRIES = 12

# Integers of each loop-closing constraint:
#   NODE: its node
#   FIRST_ROW: index of its first row
#   SIDE, SIDE_END: range of its sides
#   REACH: number of degrees of freedom on the paths of this constraint and of the preceding ones of its group
NODE, FIRST_ROW, SIDE, SIDE_END, REACH = range(5)
CLOSING_ENTRIES = 5

# Integers of each side, a body of a loop-closing constraint other than the ground:
#   FORCE_IN_G, MOMENT_IN_G: indices in G of the forces and of the moments
#   SIGN: factor of the forces: 1, or -1 if G contains the forces on the other body
#   IN_KINEMATICS, IN_CONSTANTS, IN_BODIES: index of the first element of the body in the arrays of kinematics and of
#     constants, and in `Recursion.bodies`
#   AT_VISIT: visit of the joint of the body, counted from the first visit of the group
FORCE_IN_G, MOMENT_IN_G, SIGN, IN_KINEMATICS, IN_CONSTANTS, IN_BODIES, AT_VISIT = range(7)
SIDE_NUMBERS = 7

# Integers of each visit of a joint on the paths of a group:
#   SLOT: slot of the body of the joint
#   UP: visit of the joint of the parent body, counted from the first visit of the group; -1 if the parent is the ground
#   FREEDOM_ROW: row of the matrix that belongs to the first degree of freedom of the joint
SLOT, UP, FREEDOM_ROW = range(3)
VISIT_ENTRIES = 3

# Number of elements of eight wrenches on one body: six vectors of eight elements.
WRENCH_NUMBERS = 48


@record
class Closings(NamedTuple):
    """Tables of the loop-closing constraints of a forest; empty if there are none, or if recursion is not used.

    The integers of each table are described by the constants of this module. "Output" marks arrays written by compiled
    code. F is the matrix of a group, which contains the loads of unit multipliers along the degrees of freedom; see the
    module docstring.

    Attributes
    ----------
    nodes : nodes of all loop-closing constraints
    effort : (2,) estimated times of elimination of all constraint rows, microseconds: factorization, and one solve
    groups : integers of each group of constraints whose paths to the roots have degrees of freedom in common
    closings : integers of each constraint
    sides : integers of each body of each constraint
    visits : integers of each joint on the paths of each group, from the tips to the roots
    works : for each row, 1 if its work is integrated, otherwise 0
    working : indices of the rows whose work is integrated, as in `Forces`
    lane : output: for each row its column in F; -1 if it depends on other rows
    norm : output: norm of each row in the mass metric
    shortest : output: for each row the lower limit of its diagonal element in the triangular factor; if an element is
        smaller, recursion is not used
    previous : scratch array: copy of `lane` before a selection
    kept : output: number of columns of the matrix F of each group
    matrix : output: each F by rows, then its triangular factor, followed by the loads on drivers
    reflections : output: vectors of the reflections that make each F triangular, one for each column
    along : output: load along each degree of freedom, times the root of its compliance
    rest : scratch array: for each column the remainder of a right-hand side during substitution, then the multiplier;
        at a selection, the row that was selected
    wrench : scratch array: loads of one constraint on one body, for unit multipliers
    wrenches, touched : scratch arrays: loads on the body of each visit, and whether they are nonzero
    """

    nodes: np.ndarray
    effort: np.ndarray
    groups: np.ndarray
    closings: np.ndarray
    sides: np.ndarray
    visits: np.ndarray
    works: np.ndarray
    working: np.ndarray
    lane: np.ndarray
    norm: np.ndarray
    shortest: np.ndarray
    previous: np.ndarray
    kept: np.ndarray
    matrix: np.ndarray
    reflections: np.ndarray
    along: np.ndarray
    rest: np.ndarray
    wrench: np.ndarray
    wrenches: np.ndarray
    touched: np.ndarray
