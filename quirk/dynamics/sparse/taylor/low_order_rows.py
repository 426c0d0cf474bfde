"""Taylor coefficients of constraint rows along a motion, and the resulting right-hand sides.

The residual of a row is Phi = x . y - c, with vectors x and y and a constant c, as in `constraint_rows`. Coefficients
of products are convolutions. The coefficients of directions and arms are coefficients of rotation matrices times
constant vectors. A node is a group of up to six rows of one joint, a relation a constraint defined by a function, and G
the array of all rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, POSITION_TERM, ROTATION, SPIN
from quirk.dynamics.model.vectors import (
    back,
    body_vector,
    cross,
    dot,
    load3,
    minus,
    plus,
    scaled,
    store3,
    times,
    turned,
)
from quirk.functions.motion_kernels import motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.function_pointers import call
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store

from ..kernels.relations import (
    ADDRESS,
    FRAMES,
    G_AT,
    GRADIENT,
    INPUT,
    KINEMATICS_AT,
    MOTION,
    MOTION_END,
    NUMBERS,
    OUTPUT,
    RELATION_SIZE,
    ROWS,
    SIDE,
    SIDE_END,
    SIDE_ENTRIES,
    SIDE_FORCE,
    SIDE_MOMENT,
    Relations,
)
from ..kernels.rows import DIRECTION_J, HUB, IN_X, IN_Y, RELATION, Nodes
from ..kernels.workspace import Workspace


@record
class LowOrderSeries(NamedTuple):
    """Taylor coefficients in time of the motion and of the constraint rows, for K nodes (joints).

    Attributes
    ----------
    bodies : coefficients of all bodies, order by order, with two orders more than those of accelerations
    rows : coefficients of the rows from order 1 on, order by order; order 0 is in `Workspace.G`
    multipliers : (order 8 K,) coefficients of the multipliers
    terms : scratch array for one node
    relations : relations (constraints defined by functions), compiled for higher orders
    address : (1,) address of a function that computes applied loads of orders above 0, or 0 if there is none
    requested_order : (1,) order of the loads to be computed by the function at `address`
    order : number of coefficients of accelerations
    """

    bodies: np.ndarray
    rows: np.ndarray
    multipliers: np.ndarray
    terms: np.ndarray
    relations: Relations
    address: np.ndarray
    requested_order: np.ndarray
    order: int


# Offsets per order of a node: x and y of its rows, the directions fixed in its bodies, and the force, three lanes each;
# then both arms.
X, Y, U, V, F, ARM_I, ARM_J = 0, 24, 48, 72, 96, 120, 123
TERMS = 128


@kernel
def next_rows(nodes: Nodes, series: LowOrderSeries, work: Workspace, t: float, size: int, k: int) -> None:
    """Compute the right-hand sides for the accelerations of order k, and the next coefficient of the rows.

    The right-hand sides -(k + 1) (k + 2) Phi_(k+2), with Taylor coefficients of the residuals Phi, are written to
    work.rhs. Coefficient k + 1 of the rows is computed unless k is the last order; for k = 0, coefficient 0 is also
    written to work.G. t is the time (s), and `size` is the number of elements of one order of series.bodies.
    """
    length = work.G.shape[0]
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            store(work.rhs, 8 * n, splat(0.0))
            continue
        if nodes.kind[n] == RELATION:
            relation_terms(series, nodes.lanes[n], work, t, size, k, 8 * n)
            continue
        for m in range(k + 3):
            node_terms(nodes, n, series.bodies[m * size : (m + 1) * size], 1.0 if m == 0 else 0.0, series.terms, m)
        phi = splat(0.0)
        for m in range(k + 3):
            phi = phi + dot(load3(series.terms, TERMS * m + X), load3(series.terms, TERMS * (k + 2 - m) + Y))
        store(work.rhs, 8 * n, -((k + 1.0) * (k + 2.0)) * phi)
        if k == 0:
            node_rows(nodes, n, series, 0, work.G)
        if k + 1 < series.order:
            node_rows(nodes, n, series, k + 1, series.rows[(k + 1) * length : (k + 2) * length])


@kernel
def node_terms(nodes: Nodes, n: int, kin: np.ndarray, first: float, terms: np.ndarray, m: int) -> None:
    """Compute Taylor coefficient m of the vectors that form the rows of node n (a joint), in `terms`.

    They are the vectors x and y of each row, its directions and force, and both arms. `kin` contains coefficient m of
    the bodies; `first` is 1.0 for m = 0 and 0.0 for m > 0, because inertial axes are constant.
    """
    ki, kj, arm, o = nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1], 6 * n, TERMS * m
    lanes, direction = nodes.lanes[n], 48 * n
    s_i = turned(kin, ki, (at(nodes.arm, arm), at(nodes.arm, arm + 1), at(nodes.arm, arm + 2)))
    s_j = turned(kin, kj, (at(nodes.arm, arm + 3), at(nodes.arm, arm + 4), at(nodes.arm, arm + 5)))
    d = minus(body_vector(kin, kj + 8 * POSITION_TERM), body_vector(kin, ki + 8 * POSITION_TERM))
    d = plus(d, minus(s_j, s_i))
    in_x, in_y = load(nodes.patterns, lanes + IN_X), load(nodes.patterns, lanes + IN_Y)
    u = turned(kin, ki, load3(nodes.direction, direction))
    v = turned(kin, kj, load3(nodes.direction, direction + DIRECTION_J))
    x = plus(plus(u, times(load3(nodes.patterns, lanes), first)), times(d, in_x))
    y = plus(v, times(d, in_y))
    store3(terms, o + X, x)
    store3(terms, o + Y, y)
    store3(terms, o + U, u)
    store3(terms, o + V, v)
    store3(terms, o + F, plus(times(y, in_x), times(x, in_y)))
    for c in range(3):
        put(terms, o + ARM_I + c, s_i[c])
        put(terms, o + ARM_J + c, s_j[c])


@kernel
def node_rows(nodes: Nodes, n: int, series: LowOrderSeries, order: int, G: np.ndarray) -> None:
    """Write Taylor coefficient `order` of the rows of node n (a joint) to G, from their vectors in series.terms."""
    terms, zero = series.terms, splat(0.0)
    on_i = on_j = zero, zero, zero
    for m in range(order + 1):
        one, other = TERMS * m, TERMS * (order - m)
        s_i = at(terms, one + ARM_I), at(terms, one + ARM_I + 1), at(terms, one + ARM_I + 2)
        s_j = at(terms, one + ARM_J), at(terms, one + ARM_J + 1), at(terms, one + ARM_J + 2)
        force = load3(terms, other + F)
        on_i = plus(on_i, minus(cross(load3(terms, one + U), load3(terms, other + Y)), cross(s_i, force)))
        on_j = plus(on_j, plus(cross(load3(terms, one + V), load3(terms, other + X)), cross(s_j, force)))
    g, ki, kj = G_SIZE * n, nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1]
    store3(G, g + G_FORCE, load3(terms, TERMS * order + F))
    store3(G, g + G_I, scaled(series.bodies, ki, back(series.bodies, ki, on_i)))
    store3(G, g + G_J, scaled(series.bodies, kj, back(series.bodies, kj, on_j)))


@kernel
def relation_terms(series: LowOrderSeries, r: int, work: Workspace, t: float, size: int, k: int, o: int) -> None:
    """Compute the right-hand sides of relation r for order k, and the next Taylor coefficient of its rows.

    A relation is a constraint defined by a function. The right-hand sides -(k + 1) (k + 2) Phi_(k+2), with Taylor
    coefficients of its residuals Phi, are written to work.rhs from index o on. The function computes derivatives of the
    residuals up to series.order + 1, and of their gradients up to series.order - 1; unknown coefficients of the motion
    are set to zero. t is the time (s), and `size` is the number of elements of one order of series.bodies.
    """
    relations, length = series.relations, work.G.shape[0]
    e, last = RELATION_SIZE * r, series.order + 1
    first, out = relations.entries[e + INPUT], relations.entries[e + OUTPUT]
    begin, end = relations.entries[e + SIDE], relations.entries[e + SIDE_END]
    for m in range(relations.entries[e + MOTION], relations.entries[e + MOTION_END]):
        place = first + relations.entries[e + NUMBERS] + (m - relations.entries[e + MOTION]) * (last + 1)
        motion_taylor(relations.motions, m, t, last, relations.inputs, place)
    place = first + relations.entries[e + FRAMES]
    for s in range(begin, end):
        body = relations.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
        place += 12
        for m in range(last + 1):
            for c in range(3):
                known = at(series.bodies, m * size + body + 8 * (POSITION_TERM + c)) if m < k + 3 else 0.0
                put(relations.inputs, place + c, known)
            place += 3
        for c in range(9):
            put(relations.inputs, place + c, at(series.bodies, body + 8 * (ROTATION + c)))
        place += 9
        for m in range(last):
            for c in range(3):
                known = at(series.bodies, m * size + body + 8 * (SPIN + c)) if m < k + 2 else 0.0
                put(relations.inputs, place + c, known)
            place += 3
    rows = relations.entries[e + ROWS]
    for c in range(rows * (last + 1)):
        put(relations.outputs, out + c, np.nan)  # remains nan if the function fails
    call(relations.entries[e + ADDRESS], t, relations.inputs, first, relations.outputs, out)
    store(work.rhs, o, splat(0.0))
    factorial = 1.0
    for m in range(1, k + 1):
        factorial *= m
    for row in range(rows):
        # (k + 1) (k + 2) / (k + 2)! = 1 / k!
        put(work.rhs, o + row, -at(relations.outputs, out + row * (last + 1) + k + 2) / factorial)
    if k == 0:
        relation_sides(series, r, 0, work.G)
    if k + 1 < series.order:
        relation_sides(series, r, k + 1, series.rows[(k + 1) * length : (k + 2) * length])


@kernel
def relation_sides(series: LowOrderSeries, r: int, m: int, G: np.ndarray) -> None:
    """Write Taylor coefficient m of the rows of relation r to G, from the last outputs of its function.

    A relation is a constraint defined by a function.
    """
    relations, e = series.relations, RELATION_SIZE * r
    begin, end = relations.entries[e + SIDE], relations.entries[e + SIDE_END]
    first = relations.entries[e + OUTPUT] + relations.entries[e + GRADIENT]
    for s in range(begin, end):
        g, body = relations.sides[SIDE_ENTRIES * s + G_AT], relations.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
        for c in range(6):
            store(G, g + 8 * c, splat(0.0))
        for row in range(relations.entries[e + ROWS]):
            gradient = first + 8 * (series.order * (row * (end - begin) + s - begin) + m)
            for c in range(3):
                put(G, g + SIDE_FORCE + 8 * c + row, at(relations.outputs, gradient + c))
                put(G, g + SIDE_MOMENT + 8 * c + row, at(relations.outputs, gradient + 3 + c))
        store3(G, g + SIDE_MOMENT, scaled(series.bodies, body, back(series.bodies, body, load3(G, g + SIDE_MOMENT))))
