"""Factorization of the constraint rows that close the loops of a forest, and the loads that satisfy them.

The tables are described in `closings`. C are the rows of a group of loop-closing constraints, H is the mass matrix of
the forest over its degrees of freedom, and C H^-1 C^T = F^T F. Reflections make F triangular, F = Q R. The multipliers
lambda must change the products of the rows and the accelerations by r. The scaled loads along the degrees of freedom, z
= F lambda, are then the shortest solution of F^T z = r: z = Q R^-T r. The product F^T F is never formed, because its
condition number is the square of that of F. The multipliers R^-1 R^-T r are needed only for the work of rows.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import WIDTH, add, at, load, put, splat, store

from .closing_loads import accelerate_freedoms, clear_wrench, eliminate_joint_loads, transmit_wrenches, wrench_of_side
from .closings import (
    ALONG,
    AT_VISIT,
    CLOSING,
    CLOSING_END,
    CLOSING_ENTRIES,
    FIRST_ROW,
    FORCE_IN_G,
    FREEDOM_COUNT,
    FREEDOM_ROW,
    GROUP_ENTRIES,
    IN_BODIES,
    IN_CONSTANTS,
    IN_KINEMATICS,
    LENGTH,
    MATRIX,
    MOMENT_IN_G,
    NODE,
    REACH,
    REFLECTIONS,
    SIDE,
    SIDE_END,
    SIDE_NUMBERS,
    SIGN,
    SLOT,
    TOUCHED,
    UP,
    VISIT,
    VISIT_END,
    VISIT_ENTRIES,
    WRENCH_NUMBERS,
    WRENCHES,
    Closings,
)
from .mechanism import Mechanism
from .recursion import ALONE, BLOCK, DRIVEN_HINGE, DRIVEN_SLIDER, FREEDOM, JOINT_ENTRIES, JOINT_NUMBERS, KIND
from .rows import constraint_rows


@kernel
def closed(mechanism: Mechanism) -> bool:
    """Return whether the system has loop-closing constraint rows that are added to a recursion over a forest."""
    return mechanism.closings.nodes.shape[0] > 0


@kernel
def closing_rows(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute the loop-closing rows C at time t (s) and state y, in work.G, and b - C a, in work.rhs.

    The rows prescribe C times the accelerations to be b; work.kin contains the accelerations a without these rows.
    """
    nodes, work, own = mechanism.nodes, mechanism.work, mechanism.closings.nodes
    constraint_rows(nodes, own, 0, own.shape[0], t, y, work.kin, 0.0, 0.0, work.G, work.rhs)


@component(effort=2)
def factorise_closings(mechanism: Mechanism) -> bool:
    """Compute and factorize the matrices F of all groups of loop-closing constraints; see the module docstring.

    The rows must be in work.G, and the forest factorized. Returns False if rows are nearly dependent.
    """
    closings, apart = mechanism.closings, True
    for g in range(closings.kept.shape[0]):
        compute_matrix(mechanism, g)
        if not triangularise_group(closings, g):
            apart = False
    return apart


@kernel
def compute_matrix(mechanism: Mechanism, g: int) -> int:
    """Compute the matrix F of a group of loop-closing constraints; return the number of visits of joints.

    F contains the scaled loads of unit multipliers along the degrees of freedom, see `closings`. g is the index of a
    group of loop-closing constraints that share degrees of freedom on their paths to the roots. One visit of a joint
    transmits the loads of eight columns of F.
    """
    closings, e = mechanism.closings, GROUP_ENTRIES * g
    lanes, matrix = stride(closings, g), closings.groups[e + MATRIX]
    for o in range(matrix, matrix + lanes * closings.groups[e + LENGTH], WIDTH):
        store(closings.matrix, o, splat(0.0))
    for n in range(closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]):
        c = CLOSING_ENTRIES * n
        for s in range(closings.closings[c + SIDE], closings.closings[c + SIDE_END]):
            place_wrench(mechanism, g, n, s)
    count = 0
    for block in range(lanes // WIDTH):
        count += transmit_block(mechanism, g, block, lanes)
    return count


@kernel
def stride(closings: Closings, g: int) -> int:
    """Return the number of elements per row of the matrix of a group: its columns, rounded up to a multiple of eight.

    g is the index of a group of loop-closing constraints that share degrees of freedom on their paths to the roots.
    """
    return WIDTH * ((int(at(closings.kept, g)) + WIDTH - 1) // WIDTH)


@kernel
def place_wrench(mechanism: Mechanism, g: int, n: int, s: int) -> None:
    """Add the loads of a constraint on one of its bodies to the loads of this body in `wrenches`.

    The loads are those of unit multipliers, in the joint frame of the body; each selected row has its own column. n is
    the index of the loop-closing constraint, g the index of its group, and s the index of the body in `Closings.sides`.
    """
    closings, work = mechanism.closings, mechanism.work
    e, i = GROUP_ENTRIES * g, SIDE_NUMBERS * s
    wrench_of_side(
        work.kin, mechanism.constants, mechanism.recursion.bodies, work.G, closings.wrench,
        closings.sides[i + IN_KINEMATICS], closings.sides[i + IN_CONSTANTS], closings.sides[i + IN_BODIES],
        closings.sides[i + FORCE_IN_G], closings.sides[i + MOMENT_IN_G], float(closings.sides[i + SIGN]),
    )  # fmt: skip
    visits = closings.groups[e + VISIT_END] - closings.groups[e + VISIT]
    row = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
    for r in range(mechanism.nodes.rows[closings.closings[CLOSING_ENTRIES * n + NODE]]):
        lane = int(at(closings.lane, row + r))
        if lane >= 0:
            visit = visits * (lane // WIDTH) + closings.sides[i + AT_VISIT]
            o = closings.groups[e + WRENCHES] + WRENCH_NUMBERS * visit + lane % WIDTH
            put(closings.touched, closings.groups[e + TOUCHED] + visit, 1.0)
            for c in range(6):
                add(closings.wrenches, o + WIDTH * c, at(closings.wrench, WIDTH * c + r))


@kernel
def transmit_block(mechanism: Mechanism, g: int, block: int, lanes: int) -> int:
    """Transmit the loads of eight columns of a group's matrix to the roots; return the number of joints visited.

    Each joint on the path writes its rows of the matrix, of `lanes` elements each. g is the index of a group of
    loop-closing constraints that share degrees of freedom on their paths to the roots. `block` is the index of the
    eight columns. On return their loads in `wrenches` are zero.
    """
    closings, recursion, e = mechanism.closings, mechanism.recursion, GROUP_ENTRIES * g
    begin, wrenches, touched = closings.groups[e + VISIT], closings.wrenches, closings.touched
    visits = closings.groups[e + VISIT_END] - begin
    first, flag = closings.groups[e + WRENCHES], closings.groups[e + TOUCHED] + visits * block
    first, count = first + WRENCH_NUMBERS * visits * block, 0
    for v in range(visits):
        if not at(touched, flag + v) > 0.0:
            continue
        put(touched, flag + v, 0.0)
        count += 1
        i, o = VISIT_ENTRIES * (begin + v), first + WRENCH_NUMBERS * v
        t, up = closings.visits[i + SLOT], closings.visits[i + UP]
        m = closings.groups[e + MATRIX] + lanes * closings.visits[i + FREEDOM_ROW] + WIDTH * block
        kind, k = at(recursion.entries, JOINT_ENTRIES * t + KIND), at(recursion.entries, JOINT_ENTRIES * t + BLOCK)
        eliminate_joint_loads(recursion, kind, JOINT_NUMBERS * t, k, closings.matrix, m, lanes, wrenches, o)
        if up >= 0:
            transmit_wrenches(recursion, kind, t, JOINT_NUMBERS * t, wrenches, o, first + WRENCH_NUMBERS * up)
            put(touched, flag + up, 1.0)
        else:
            clear_wrench(wrenches, o)
    return count


@kernel
def triangularise_group(closings: Closings, g: int) -> bool:
    """Make the matrix of a group triangular by reflections; return False if its rows are nearly dependent.

    g is the index of a group of loop-closing constraints that share degrees of freedom on their paths to the roots.
    """
    lanes, e, apart = stride(closings, g), GROUP_ENTRIES * g, True
    for n in range(closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]):
        row, reach = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW], closings.closings[CLOSING_ENTRIES * n + REACH]
        for r in range(row, rows_end(closings, n)):
            p = int(at(closings.lane, r))
            if p >= 0:
                length = reflect_column(closings, g, p, p, reach, lanes, WIDTH * (p // WIDTH))
                apart = apart and length > at(closings.shortest, r)
    return apart


@kernel
def rows_end(closings: Closings, n: int) -> int:
    """Return the index after the last row of loop-closing constraint n."""
    o = CLOSING_ENTRIES * (n + 1) + FIRST_ROW
    return closings.closings[o] if o < closings.closings.shape[0] else closings.lane.shape[0]


@kernel
def reflect_column(closings: Closings, g: int, column: int, p: int, reach: int, lanes: int, block: int) -> float:
    """Apply a reflection that makes one column of the matrix of a group zero below row p; return its norm.

    The norm is that of the elements in rows p to `reach`, which is exclusive; the elements below are zero. The
    reflection 1 - v v^T is applied to these rows of all columns from `block` on, and v is stored. `lanes` is the number
    of elements per row of the matrix. g is the index of a group of loop-closing constraints that share degrees of
    freedom on their paths to the roots.
    """
    e, begin = GROUP_ENTRIES * g, WIDTH * (column // WIDTH)
    matrix, first = closings.matrix, closings.groups[e + MATRIX]
    v, o = closings.reflections, closings.groups[e + REFLECTIONS] + p * closings.groups[e + FREEDOM_COUNT]
    # Products of the column with all columns of its block; the first is the square of its norm.
    even = odd = splat(0.0)
    for k in range(p, reach - 1, 2):
        place = first + lanes * k + begin
        even = even + at(matrix, place + column - begin) * load(matrix, place)
        odd = odd + at(matrix, place + lanes + column - begin) * load(matrix, place + lanes)
    if (reach - p) % 2 != 0:
        place = first + lanes * (reach - 1) + begin
        even = even + at(matrix, place + column - begin) * load(matrix, place)
    products = even + odd
    store(closings.wrench, 0, products)
    length = math.sqrt(at(closings.wrench, column - begin))
    if length == 0.0:
        for k in range(p, reach):
            put(v, o + k, 0.0)
        return 0.0
    top = first + lanes * p
    head = at(matrix, top + column)
    pivot = -length if head > 0.0 else length
    scale = 1.0 / math.sqrt(length * (length + abs(head)))
    along = (products - pivot * load(matrix, top + begin)) * scale
    put(matrix, top + column, head - pivot)
    for k in range(p, reach):
        place = first + lanes * k + begin
        x = at(matrix, place + column - begin) * scale
        put(v, o + k, x)
        store(matrix, place, load(matrix, place) - x * along)
    for c in range(block, lanes, WIDTH):
        if c != begin:
            reflect_block(matrix, first + lanes * p + c, lanes, v, o + p, reach - p)
    put(matrix, top + column, pivot)
    return length


@kernel
def reflect_block(matrix: np.ndarray, m: int, lanes: int, v: np.ndarray, o: int, count: int) -> None:
    """Apply the reflection 1 - v v^T to `count` rows and eight columns of a matrix.

    The elements begin at index m of `matrix`, which has `lanes` elements per row; the components of v begin at index o
    of `v`.
    """
    even = odd = splat(0.0)
    for k in range(0, count - 1, 2):
        even = even + at(v, o + k) * load(matrix, m + lanes * k)
        odd = odd + at(v, o + k + 1) * load(matrix, m + lanes * (k + 1))
    if count % 2 != 0:
        even = even + at(v, o + count - 1) * load(matrix, m + lanes * (count - 1))
    along = even + odd
    for k in range(count):
        store(matrix, m + lanes * k, load(matrix, m + lanes * k) - at(v, o + k) * along)


@kernel
def column_length(closings: Closings, g: int, column: int, p: int, reach: int, lanes: int) -> float:
    """Return the norm of the elements in rows p to `reach` (exclusive) of a column of the matrix of a group.

    `lanes` is the number of elements per row of the matrix. g is the index of a group of loop-closing constraints that
    share degrees of freedom on their paths to the roots.
    """
    first, squares = closings.groups[GROUP_ENTRIES * g + MATRIX], 0.0
    for k in range(p, reach):
        x = at(closings.matrix, first + lanes * k + column)
        squares += x * x
    return math.sqrt(squares)


@component(effort=1)
def impose_closings(mechanism: Mechanism, with_multipliers: bool) -> None:
    """Add the accelerations due to the loop-closing constraints to the accelerations of the forest.

    The products of the loop-closing rows and the accelerations change by work.rhs. The accelerations along the degrees
    of freedom, for parents at rest, are changed in `recursion.joints` and `recursion.blocks`; the accelerations of the
    bodies can then be computed from them. If `with_multipliers`, the multipliers of the rows are written to work.x, and
    their loads on the drivers of joints are subtracted from the driver loads at zero acceleration.
    """
    closings, recursion, entries = mechanism.closings, mechanism.recursion, mechanism.recursion.entries
    for g in range(closings.kept.shape[0]):
        e = GROUP_ENTRIES * g
        first, begin = closings.groups[e + ALONG], closings.groups[e + VISIT]
        substitute_forward(mechanism, g)
        if with_multipliers:
            substitute_backward(mechanism, g)
        reflect_loads(closings, g)
        for i in range(VISIT_ENTRIES * begin, VISIT_ENTRIES * closings.groups[e + VISIT_END], VISIT_ENTRIES):
            t = closings.visits[i + SLOT]
            kind, k = at(entries, JOINT_ENTRIES * t + KIND), at(entries, JOINT_ENTRIES * t + BLOCK)
            row = closings.visits[i + FREEDOM_ROW]
            if kind not in (DRIVEN_HINGE, DRIVEN_SLIDER):
                accelerate_freedoms(recursion, kind, JOINT_NUMBERS * t, k, closings.along, first + row)
            elif with_multipliers:
                add(recursion.joints, JOINT_NUMBERS * t + FREEDOM + ALONE, -load_on_driver(closings, g, row))


@kernel
def substitute_forward(mechanism: Mechanism, g: int) -> None:
    """Compute R^-T r, followed by zeros, in `Closings.along`, for the required changes r of the rows in work.rhs.

    R is the triangular factor of the matrix of group g. The group consists of loop-closing constraints that share
    degrees of freedom on their paths to the roots.
    """
    closings, work, e = mechanism.closings, mechanism.work, GROUP_ENTRIES * g
    lanes, z, a = stride(closings, g), closings.along, closings.groups[e + ALONG]
    matrix, first = closings.matrix, closings.groups[e + MATRIX]
    for k in range(closings.groups[e + FREEDOM_COUNT]):
        put(z, a + k, 0.0)
    for n in range(closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]):
        row = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
        for r in range(row, rows_end(closings, n)):
            p = int(at(closings.lane, r))
            if p >= 0:
                rest = at(work.rhs, WIDTH * closings.closings[CLOSING_ENTRIES * n + NODE] + r - row)
                for q in range(p):
                    rest -= at(matrix, first + lanes * q + p) * at(z, a + q)
                put(z, a + p, rest / at(matrix, first + lanes * p + p))


@kernel
def substitute_backward(mechanism: Mechanism, g: int) -> None:
    """Compute the multipliers R^-1 z of the rows of group g in work.x, for the vector z in `along`.

    R is the triangular factor of the matrix of the group. The multipliers of dependent rows are zero. The multipliers
    are also written to `rest`, in the order of the columns.
    """
    closings, x, e = mechanism.closings, mechanism.work.x, GROUP_ENTRIES * g
    lanes, kept, a = stride(closings, g), int(at(closings.kept, g)), closings.groups[e + ALONG]
    matrix, first, rest = closings.matrix, closings.groups[e + MATRIX], closings.rest
    for k in range(kept):
        put(rest, k, at(closings.along, a + k))
    begin, end = closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]
    for n in range(end - 1, begin - 1, -1):
        row = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW]
        place = WIDTH * closings.closings[CLOSING_ENTRIES * n + NODE] - row
        for r in range(rows_end(closings, n) - 1, row - 1, -1):
            p, value = int(at(closings.lane, r)), 0.0
            if p >= 0:
                value = at(rest, p) / at(matrix, first + lanes * p + p)
                put(rest, p, value)
                for q in range(p):
                    add(rest, q, -value * at(matrix, first + lanes * q + p))
            put(x, place + r, value)


@kernel
def load_on_driver(closings: Closings, g: int, row: int) -> float:
    """Return the load of the loop-closing rows of group g on the driver of a joint.

    `row` is the row of the driver in the matrix of the group; `rest` must contain the multipliers.
    """
    place, load_along = closings.groups[GROUP_ENTRIES * g + MATRIX] + stride(closings, g) * row, 0.0
    for p in range(int(at(closings.kept, g))):
        load_along += at(closings.matrix, place + p) * at(closings.rest, p)
    return load_along


@kernel
def reflect_loads(closings: Closings, g: int) -> None:
    """Replace the vector z in `along` by the loads Q z along the degrees of freedom of group g.

    Q is the product of the reflections of the matrix F = Q R of the group.
    """
    z, e = closings.along, GROUP_ENTRIES * g
    freedoms, a = closings.groups[e + FREEDOM_COUNT], closings.groups[e + ALONG]
    begin, end = closings.groups[e + CLOSING], closings.groups[e + CLOSING_END]
    for n in range(end - 1, begin - 1, -1):
        row, reach = closings.closings[CLOSING_ENTRIES * n + FIRST_ROW], closings.closings[CLOSING_ENTRIES * n + REACH]
        for r in range(rows_end(closings, n) - 1, row - 1, -1):
            p = int(at(closings.lane, r))
            if p >= 0:
                reflect_vector(closings.reflections, closings.groups[e + REFLECTIONS] + p * freedoms, z, a, p, reach)


@kernel
def reflect_vector(v: np.ndarray, o: int, z: np.ndarray, a: int, begin: int, end: int) -> None:
    """Apply the reflection 1 - v v^T to the elements `begin` to `end` (exclusive) of a vector.

    The vector begins at index a of `z`, the components of v at index o of `v`.
    """
    along = 0.0
    for k in range(begin, end):
        along += at(v, o + k) * at(z, a + k)
    for k in range(begin, end):
        add(z, a + k, -along * at(v, o + k))
