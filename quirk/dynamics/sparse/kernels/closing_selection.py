"""Selection of independent rows among the constraints that close the loops of a forest of joints.

The rows of the forest are independent. The selection repeatedly adds the loop-closing row that is farthest, in the mass
metric, from the span of the forest and of the rows already selected. Recursion over the forest is used if the number of
selected rows agrees with the rank of all constraints, which is known from the uniform metric (`redundancy`), and if
their distances are large enough for accurate results. Otherwise all constraint rows are eliminated. The tables are
described in `closings`.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import WIDTH, add, at, put, splat, store

from .bodies import poses
from .closing_effort import faster_than_rows
from .closing_solve import (
    closing_rows,
    column_length,
    compute_matrix,
    reflect_column,
    rows_end,
    stride,
    triangularise_group,
)
from .closings import (
    CLOSING,
    CLOSING_END,
    CLOSING_ENTRIES,
    FIRST_ROW,
    FREEDOM_COUNT,
    FREEDOM_ROW,
    GROUP_ENTRIES,
    LENGTH,
    MATRIX,
    NODE,
    ROW,
    SLOT,
    VISIT,
    VISIT_END,
    VISIT_ENTRIES,
    Closings,
)
from .mechanism import Mechanism
from .recursion import BLOCK, DRIVEN_HINGE, DRIVEN_SLIDER, JOINT_ENTRIES, KIND
from .recursion_solve import factorise_forest
from .rows import HUB
from .workspace import APART, FACTORED, RECURSIVE, SHARED, Workspace

# Minimum distance of a selected row from the span of the other rows, relative to its norm. Distances of dependent rows
# are round-off, below 1e-8.
#   FAR: when rows are selected
#   CLOSE: for recursion to be used in the next step
#   CLOSEST: at the stages of a step
FAR, CLOSE, CLOSEST = 1e-2, 3e-3, 1e-3

# Smallest contribution of a row that does work to a dependent row, relative to the norm of the dependent row; smaller
# contributions are round-off.
PART = 1e-8


@component(effort=2)
def select_closings(mechanism: Mechanism, t: float, y: np.ndarray) -> bool:
    """Select independent loop-closing rows at time t (s) and state y; return whether recursion is suitable.

    Recursion over the forest is suitable if the selected rows are far enough from linear dependence, if it is faster
    than elimination of all rows, and if the loads of rows that do work are unique. Otherwise the previous selection is
    restored. On entry work.lengths must contain the squared norms of all rows in the mass metric, and work.floor must
    be infinite for dependent rows.
    """
    work, closings = mechanism.work, mechanism.closings
    factored = at(work.summary, FACTORED)
    poses(mechanism.constants, y, work.kin)
    closing_rows(mechanism, t, y)
    factorise_forest(mechanism, t, y, False)
    for r in range(closings.lane.shape[0]):
        put(closings.previous, r, at(closings.lane, r))
    wanted, visits, apart, shared = closing_rank(mechanism), 0, True, at(work.summary, SHARED)
    for g in range(closings.kept.shape[0]):
        wanted -= select_of_group(mechanism, g)
        visits += compute_matrix(mechanism, g)
        apart = triangularise_group(closings, g) and apart
    suitable = wanted == 0 and apart and are_apart(closings) and faster_than_rows(mechanism, visits)
    if wanted != 0:
        put(work.summary, SHARED, shared)
    elif at(work.summary, SHARED) > 0.0:
        suitable = False
        put(work.summary, RECURSIVE, 0.0)
    if suitable:
        put(work.summary, APART, 1.0)
    else:
        for g in range(closings.kept.shape[0]):
            keep_selected(closings, g, closings.previous)
    put(work.summary, FACTORED, factored)
    return suitable


@kernel
def closing_rank(mechanism: Mechanism) -> int:
    """Return the number of independent loop-closing rows: the rank of all constraints minus the rows of the forest."""
    nodes, rank = mechanism.nodes, mechanism.closings.lane.shape[0]
    for n in range(nodes.rows.shape[0]):
        for r in range(nodes.rows[n]):
            if nodes.kind[n] != HUB and not at(mechanism.work.floor, WIDTH * n + r) < np.inf:
                rank -= 1
    return rank


@kernel
def select_of_group(mechanism: Mechanism, g: int) -> int:
    """Select the independent rows of a group of loop-closing constraints, and return their number.

    g is the index of the group, whose constraints share degrees of freedom on their paths to the roots. The columns of
    the selected rows in the matrix of the group are stored.
    """
    closings, e = mechanism.closings, GROUP_ENTRIES * g
    begin, end = closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]
    first, last = closings.groups[e + ROW], rows_end(closings, end - 1)
    for n in range(begin, end):
        own = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
        for r in range(own, rows_end(closings, n)):
            put(closings.lane, r, r - first)
            put(closings.shortest, r, -1.0)
            put(closings.norm, r, row_norm(mechanism, n, r - own))
    put(closings.kept, g, last - first)
    compute_matrix(mechanism, g)
    lanes, freedoms, count = stride(closings, g), closings.groups[e + FREEDOM_COUNT], 0
    while count < freedoms:
        farthest, row = FAR, -1
        for n in range(begin, end):
            own = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
            for r in range(own, rows_end(closings, n)):
                if at(closings.shortest, r) >= 0.0:
                    continue
                distance = column_length(closings, g, r - first, count, freedoms, lanes) / at(closings.norm, r)
                if distance > farthest:
                    farthest, row = distance, r
        if row < 0:
            break
        put(closings.shortest, row, 0.0)
        put(closings.rest, count, row)
        reflect_column(closings, g, row - first, count, freedoms, lanes, 0)
        count += 1
    for r in range(first, last):
        if at(closings.shortest, r) < 0.0 and shares_work(mechanism, g, r, count):
            put(mechanism.work.summary, SHARED, 1.0)
    keep_selected(closings, g, closings.shortest)
    return count


@kernel
def shares_work(mechanism: Mechanism, g: int, r: int, count: int) -> bool:
    """Return whether the dependent row r of group g may carry a part of the load of a row that does work.

    This is the case if row r does work itself, or if it is a combination of the `count` selected rows and of rows of
    the forest that includes a row that does work. The matrix of the group must be that of the selection. The
    combination is subtracted from the column of row r.
    """
    closings, e, lanes = mechanism.closings, GROUP_ENTRIES * g, stride(mechanism.closings, g)
    column, groups, visits, norm = closings.matrix, closings.groups, closings.visits, at(closings.norm, r)
    first, freedoms, entries = groups[e + ROW], groups[e + FREEDOM_COUNT], mechanism.recursion.entries
    matrix = groups[e + MATRIX] - first
    shares = closings.works[r] != 0
    for p in range(count - 1, -1, -1):
        row = int(at(closings.rest, p))
        value = at(column, matrix + r + lanes * p) / at(column, matrix + row + lanes * p)
        for q in range(groups[e + LENGTH]):
            if q < p or q >= freedoms:
                add(column, matrix + r + lanes * q, -value * at(column, matrix + row + lanes * q))
        part = abs(value) * at(closings.norm, row) / norm
        shares = shares or (closings.works[row] != 0 and not part < PART)
    for v in range(groups[e + VISIT], groups[e + VISIT_END]):
        q, t = visits[VISIT_ENTRIES * v + FREEDOM_ROW], visits[VISIT_ENTRIES * v + SLOT]
        if at(entries, JOINT_ENTRIES * t + KIND) in (DRIVEN_HINGE, DRIVEN_SLIDER):
            driver = at(entries, JOINT_ENTRIES * t + BLOCK)
            part = (
                abs(at(column, matrix + r + lanes * q)) * math.sqrt(at(mechanism.work.lengths, WIDTH * driver)) / norm
            )
            shares = shares or not part < PART
    return shares


@kernel
def keep_selected(closings: Closings, g: int, selected: np.ndarray) -> None:
    """Assign columns of the matrix of a group to its selected rows, in ascending order.

    A row is selected if its element of `selected` is not negative. g is the index of the group: loop-closing
    constraints that share degrees of freedom on their paths to the roots.
    """
    e, count = GROUP_ENTRIES * g, 0
    end = closings.groups[e + CLOSING_END] - 1
    for r in range(closings.groups[e + ROW], rows_end(closings, end)):
        kept = at(selected, r) >= 0.0
        put(closings.lane, r, count if kept else -1)
        put(closings.shortest, r, CLOSEST * at(closings.norm, r))
        count += 1 if kept else 0
    put(closings.kept, g, count)


@kernel
def watch_closings(mechanism: Mechanism) -> bool:
    """Store the pivots of the last factorization by recursion; return whether the rows are far from dependent.

    The pivot of a loop-closing row is its squared distance from the span of the forest and of the rows before it,
    relative to its squared norm; the pivots of rows of the forest are set to 1. The pivots are written to work.pivots,
    and the result to APART in work.summary.
    """
    closings, pivots = mechanism.closings, mechanism.work.pivots
    for o in range(0, pivots.shape[0], WIDTH):
        store(pivots, o, splat(1.0))
    for g in range(closings.kept.shape[0]):
        e = GROUP_ENTRIES * g
        for n in range(closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]):
            own = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
            place = WIDTH * closings.closings[CLOSING_ENTRIES * n + NODE] - own
            for r in range(own, rows_end(closings, n)):
                put(pivots, place + r, distance_of(closings, g, r) ** 2 if at(closings.lane, r) >= 0.0 else 0.0)
    apart = are_apart(closings)
    put(mechanism.work.summary, APART, 1.0 if apart else 0.0)
    return apart


@kernel
def are_apart(closings: Closings) -> bool:
    """Return whether all selected loop-closing rows are far from dependent in the last factorization.

    Their distances from the span of other rows, relative to their norms, must exceed CLOSE.
    """
    apart = True
    for g in range(closings.kept.shape[0]):
        e = GROUP_ENTRIES * g
        for r in range(closings.groups[e + ROW], rows_end(closings, closings.groups[e + CLOSING_END] - 1)):
            if at(closings.lane, r) >= 0.0 and not distance_of(closings, g, r) > CLOSE:
                apart = False
    return apart


@kernel
def distance_of(closings: Closings, g: int, r: int) -> float:
    """Return the distance of a loop-closing row from the span of the rows before it, relative to its norm.

    r is the index of the row, which must be selected, and g the index of its group. The rows before it are the rows of
    the forest and the preceding selected rows of the group.
    """
    p, lanes = int(at(closings.lane, r)), stride(closings, g)
    diagonal = at(closings.matrix, closings.groups[GROUP_ENTRIES * g + MATRIX] + lanes * p + p)
    return abs(diagonal) / at(closings.norm, r)


@kernel
def comes_close(work: Workspace, part: float) -> bool:
    """Return whether a row is expected to become nearly dependent in the coming step.

    The distance of each row from the span of other rows is extrapolated linearly from the last step. `part` is the
    ratio of the size of the coming step to the size of the last one.
    """
    for o in range(work.pivots.shape[0]):
        before, earlier = at(work.pivots_before, o), at(work.pivots_earlier, o)
        if 0.0 < before < earlier:
            distance = math.sqrt(before)
            if distance - part * (math.sqrt(earlier) - distance) < CLOSE:
                return True
    return False


@kernel
def has_dependent(closings: Closings) -> bool:
    """Return whether any loop-closing row is not selected because it is dependent on other rows."""
    count = 0
    for r in range(closings.lane.shape[0]):
        count += 1 if at(closings.lane, r) < 0.0 else 0
    return count > 0


@kernel
def row_norm(mechanism: Mechanism, n: int, r: int) -> float:
    """Return the norm of row r of loop-closing constraint n in the mass metric."""
    node = mechanism.closings.closings[CLOSING_ENTRIES * n + NODE]
    return math.sqrt(at(mechanism.work.lengths, WIDTH * node + r))
