"""Internal variables of force elements in the linear systems of implicit steps, in compiled code.

An internal variable s with s' = g(P, V, s) affects bodies through loads L(P, V, s); P and V are the poses and
velocities of the bodies. In an implicit step with residual r and a multiple e of the step size, it changes by

    delta s = K (r + e (g_P delta P + g_V delta V)),    K = (I - e g_s)^-1,

where indices denote partial derivatives. This adds e L_s K g_P to the derivatives of loads with respect to poses, and a
similar term for velocities, so that the size of the coupled system is unchanged. K is computed for each force element.
A frame is the point of action of a force element on one body.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, splat, store

from ..tangent.tables import (
    ELEMENT,
    INPUT,
    INPUTS,
    OUTPUT,
    OUTPUTS,
    RATES,
    SIDE,
    SIDE_END,
    VARIABLE,
    VARIABLE_COUNT,
    VARIABLES,
    TangentElements,
)
from .factorise import invert
from .numbers import (
    clear_lanes,
    difference,
    load_lanes,
    multiple,
    number,
    product,
    store_lanes,
    summed,
    totals,
    write,
    write_real,
)
from .tables import BLOCK, NODE, PAIR, ImplicitTables


@kernel
def seed_variables(elements: TangentElements, o: int, moves: bool) -> None:
    """Set the directions in which the force law of one element is differentiated by its internal variables.

    If `moves`, each variable is varied in a separate unit direction; otherwise all are constant. The entries of the
    element, indices of its data, begin at index `o` in `elements`.
    """
    deltas = elements.entries[o + INPUT] + elements.entries[o + INPUTS]
    for n in range(elements.entries[o + VARIABLE_COUNT]):
        place = deltas + 8 * (elements.entries[o + VARIABLES] + 2 * n)
        store(elements.inputs, place, splat(0.0))
        if moves:
            put(elements.inputs, place + n, 1.0)


@kernel
def keep_rates(elements: TangentElements, o: int, array: np.ndarray, block: int) -> None:
    """Copy the derivatives of the rates of a force element's internal variables to `array`, from element `block` on.

    The entries of the force element, indices of its data, begin at index `o` in `elements`.
    """
    deltas = elements.entries[o + OUTPUT] + elements.entries[o + OUTPUTS]
    for n in range(elements.entries[o + VARIABLE_COUNT]):
        store(array, block + 8 * n, load(elements.outputs, deltas + 8 * (elements.entries[o + RATES] + n)))


@kernel
def condense(implicit: ImplicitTables, e: Any, parts: Any) -> None:
    """Eliminate the internal variables: compute the matrix K of each force element, and update the system's matrix.

    K = (I - e g_s)^-1, where g_s are the derivatives of the rates of internal variables with respect to the variables,
    and e is the step size times a coefficient of the method. `parts` are the arrays of the matrix.
    """
    elements, blocks = implicit.tangents.laws, implicit.blocks
    for element in range(elements.entries.shape[0] // ELEMENT):
        o, K = ELEMENT * element, implicit.response + BLOCK * element
        count, begin, end = (
            elements.entries[o + VARIABLE_COUNT],
            elements.entries[o + SIDE],
            elements.entries[o + SIDE_END],
        )
        if count == 0:
            continue
        for row in range(count):
            store_lanes(parts, K + 8 * row, multiple(e, -load(implicit.rate_by_variable, BLOCK * element + 8 * row)))
            diagonal = number(parts, K + 9 * row)
            write_real(parts, K + 9 * row, 1.0 + diagonal[0])
        invert(parts, K, count, implicit.scratch)
        for g in range(begin, end):
            if blocks.body_node[elements.sides[g]] >= 0:
                differentiate_variables(implicit, e, parts, g, count, K)
                for f in range(begin, end):
                    pair = blocks.law_pair[blocks.law_first[element] + (f - begin) * (end - begin) + g - begin]
                    if pair >= 0:
                        couple(implicit, parts, f, pair, count)


@kernel
def differentiate_variables(implicit: ImplicitTables, e: Any, parts: Any, g: int, count: int, K: int) -> None:
    """Compute the derivatives of a force element's internal variables with respect to the acceleration of one body.

    Frame g is fixed in this body, whose acceleration is scaled. The element has `count` internal variables, and K is
    the index of its matrix (I - e g_s)^-1 in `parts`, the arrays of the system's matrix; e is the step size times a
    coefficient of the method. The results are written to a scratch block of `parts`, from which `couple` reads them.
    """
    turn, right = implicit.turn + 2 * PAIR * implicit.tangents.laws.sides[g], implicit.scratch + BLOCK
    for row in range(count):
        x = multiple(load_lanes(parts, turn), 0.0)
        for c in range(6):
            o = BLOCK * g + 8 * row + c
            x = summed(x, multiple(load_lanes(parts, turn + 8 * c), at(implicit.rate_by_pose, o)))
            x = summed(x, multiple(load_lanes(parts, turn + PAIR + 8 * c), at(implicit.rate_by_velocity, o)))
        store_lanes(parts, right + 8 * row, x)
    for row in range(count):
        x = product(number(parts, K + 8 * row), load_lanes(parts, right))
        for n in range(1, count):
            x = summed(x, product(number(parts, K + 8 * row + n), load_lanes(parts, right + 8 * n)))
        store_lanes(parts, right + BLOCK + 8 * row, product(e, x))


@kernel
def couple(implicit: ImplicitTables, parts: Any, f: int, pair: int, count: int) -> None:
    """Add the derivatives of loads that are due to changes of internal variables to the block of a pair of bodies.

    `pair` is the index of the pair, and `parts` are the arrays of the system's matrix. The loads act on the body of
    frame f of a force element with `count` internal variables. The derivatives of these variables must have been
    computed by `differentiate_variables` for the second body of the pair.
    """
    follows = implicit.scratch + 2 * BLOCK
    for row in range(6):
        o = implicit.blocks.pair_block[pair] + 8 * row
        x = load_lanes(parts, o)
        for n in range(count):
            x = difference(
                x, multiple(load_lanes(parts, follows + 8 * n), at(implicit.by_variable, BLOCK * f + 8 * row + n))
            )
        store_lanes(parts, o, x)


@kernel
def changed(implicit: ImplicitTables, e: Any, parts: Any, r: Any, first: int, element: int) -> None:
    """Compute the variations of the internal variables of one force element in an implicit step.

    They are written to `parts`, the arrays of the system's matrix, which also contain the variations of all poses and
    velocities. r is the right-hand side, in which the internal variables of all elements begin at index `first`.
    `element` is the index of the force element, and e the step size times a coefficient of the method.
    """
    elements, o, x = implicit.tangents.laws, ELEMENT * element, implicit.variable_changes + 8 * element
    count, right = elements.entries[o + VARIABLE_COUNT], implicit.scratch
    clear_lanes(parts, right)
    for row in range(count):
        change = number(r, first + elements.entries[o + VARIABLE] + row)
        for g in range(elements.entries[o + SIDE], elements.entries[o + SIDE_END]):
            if implicit.blocks.body_node[elements.sides[g]] < 0:
                continue
            pose = load_lanes(parts, implicit.pose + NODE * elements.sides[g])
            speed = load_lanes(parts, implicit.speed + NODE * elements.sides[g])
            by_pose = load(implicit.rate_by_pose, BLOCK * g + 8 * row)
            by_velocity = load(implicit.rate_by_velocity, BLOCK * g + 8 * row)
            rate = totals(summed(multiple(pose, by_pose), multiple(speed, by_velocity)))
            change = summed(change, product(e, rate))
        write(parts, right + row, change)
    for row in range(count):
        write(
            parts,
            x + row,
            totals(product(load_lanes(parts, implicit.response + BLOCK * element + 8 * row), load_lanes(parts, right))),
        )


@kernel
def load_by_variables(implicit: ImplicitTables, e: Any, parts: Any, r: Any, first: int) -> None:
    """Add the loads due to variations of internal variables at constant accelerations to the right-hand side.

    The right-hand side of the coupled system is in `parts`, the arrays of the system's matrix. r is the residual of the
    implicit step, in which the internal variables begin at index `first`. e is the step size times a coefficient of the
    method.
    """
    elements, blocks = implicit.tangents.laws, implicit.blocks
    for element in range(elements.entries.shape[0] // ELEMENT):
        o = ELEMENT * element
        count = elements.entries[o + VARIABLE_COUNT]
        if count == 0:
            continue
        changed(implicit, e, parts, r, first, element)
        for f in range(elements.entries[o + SIDE], elements.entries[o + SIDE_END]):
            if blocks.body_node[elements.sides[f]] < 0:
                continue
            node = implicit.vector + NODE * blocks.body_node[elements.sides[f]]
            for row in range(6):
                x = number(parts, node + row)
                for n in range(count):
                    by_variable = at(implicit.by_variable, BLOCK * f + 8 * row + n)
                    x = summed(x, multiple(number(parts, implicit.variable_changes + 8 * element + n), by_variable))
                write(parts, node + row, x)


@kernel
def carry_variables(implicit: ImplicitTables, e: Any, parts: Any, r: Any, u: Any, first: int) -> None:
    """Write the variations of all internal variables to the solution u.

    They are computed from the variations of all poses and velocities, and from the right-hand side r. In r and u the
    internal variables begin at index `first`. e is the step size times a coefficient of the method, and `parts` are the
    arrays of the system's matrix.
    """
    elements = implicit.tangents.laws
    for element in range(elements.entries.shape[0] // ELEMENT):
        o = ELEMENT * element
        if elements.entries[o + VARIABLE_COUNT] == 0:
            continue
        changed(implicit, e, parts, r, first, element)
        for n in range(elements.entries[o + VARIABLE_COUNT]):
            place = first + elements.entries[o + VARIABLE] + n
            write(u, place, number(parts, implicit.variable_changes + 8 * element + n))
