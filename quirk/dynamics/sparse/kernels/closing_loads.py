"""Transmission of the wrenches of closing rows to the roots of a forest, eight rows at a time, and their effect.

The tables are described in `closings` and `recursion`. A wrench (force and moment) of eight rows on a body is stored
as six vectors of eight lanes, in the joint frame of the body and about its joint point. Each freedom of the joint gives
way: with the momentum U of its unit velocity, its inertia D and the load p along it, the joint transmits the wrench
less U p / D, and the acceleration of the freedom grows by p / D. The matrix F contains p / sqrt(D). Index arguments are
first elements: j of a joint in `joints`, k of its data in `blocks`, b of a body in its constants, o of a wrench in
`carried`, m of a row of the matrix. `lanes` is the length of its rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import INVERSE_FACTOR, ROTATION
from quirk.dynamics.model.vectors import body_vector, cross, load3, plus, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, lane_of, load, root, splat, store, zero_of
from quirk.jit.tracing import traced

from .recursion import (
    ALIGNMENT,
    ALONE,
    ALONE_TURN,
    ARM,
    BALL,
    BODY_NUMBERS,
    CENTER,
    COMPLIANCE,
    CYLINDRICAL,
    FORCE,
    FREE,
    FREEDOM,
    GIVEN_BY_SHIFT,
    HINGE,
    MOMENTUM_SHIFT,
    PRESENT_ARM,
    ROWS,
    SECOND_AXIS,
    SLIDER,
    UNIVERSAL,
    Recursion,
)

# Elements from the force to the moment of a wrench.
TO_MOMENT = 24


def square_root(x: Any) -> Any:
    """Return the square root of a number."""
    return lane_of(root(splat(x)), 0)


def columns_of_one(array: Any, o: Any, a: Any) -> Any:
    """Return M^T a for the matrix M (3, 3) of one body, stored by rows in an array in blocks of eight."""
    return tuple(
        at(array, o + 8 * c) * a[0] + at(array, o + 24 + 8 * c) * a[1] + at(array, o + 48 + 8 * c) * a[2]
        for c in range(3)
    )


@traced
def wrench_of_side(
    kin: Any, constants: Any, bodies: Any, G: Any, wrench: Any, k: Any, c: Any, b: Any, f: Any, m: Any, sign: Any
) -> None:
    """Store the wrench of a closing on one body in its joint frame, in `wrench`.

    The forces of its rows begin at element f of G, the moments at element m; `sign` is the sign of the forces. The body
    begins at element k of `kin`, c of `constants` and b of `bodies`.
    """
    force = columns_of_one(bodies, b + 8 * ALIGNMENT, columns_of_one(kin, k + 8 * ROTATION, load3(G, f)))
    moment = columns_of_one(bodies, b + 8 * ALIGNMENT, columns_of_one(constants, c + 8 * INVERSE_FACTOR, load3(G, m)))
    force = times(force, sign)
    store3(wrench, 0, force)
    store3(wrench, TO_MOMENT, plus(moment, cross(body_vector(bodies, b + 8 * CENTER), force)))


@traced
def give_way_along(array: Any, a: Any, matrix: Any, m: Any, carried: Any, o: Any, load_along: Any) -> None:
    """Let a freedom give way to the load along it, in the wrench at element o, and store its row of the matrix.

    The data of the freedom begin at element a of `array`.
    """
    compliance = at(array, a + COMPLIANCE)
    store(matrix, m, load_along * root(splat(compliance)))
    taken = load_along * compliance
    for c in range(6):
        momentum = at(array, a + MOMENTUM_SHIFT + c + c // 3)
        store(carried, o + 8 * c, load(carried, o + 8 * c) - taken * momentum)


@traced
def turn_gives_way(joints: Any, j: Any, matrix: Any, m: Any, carried: Any, o: Any) -> None:
    """Let the rotation about z give way; no moment about z remains."""
    give_way_along(joints, j + FREEDOM, matrix, m, carried, o, load(carried, o + TO_MOMENT + 16))
    store(carried, o + TO_MOMENT + 16, zero_of(carried))


@traced
def slide_gives_way(array: Any, a: Any, matrix: Any, m: Any, carried: Any, o: Any) -> None:
    """Let the translation along z give way; no force along z remains."""
    give_way_along(array, a, matrix, m, carried, o, load(carried, o + 16))
    store(carried, o + 16, zero_of(carried))


@traced
def second_axis_gives_way(joints: Any, j: Any, blocks: Any, k: Any, matrix: Any, m: Any, carried: Any, o: Any) -> None:
    """Let the rotation of a universal joint about the axis in the parent give way."""
    x, y = at(joints, j + SECOND_AXIS), at(joints, j + SECOND_AXIS + 1)
    along = load(carried, o + TO_MOMENT) * x + load(carried, o + TO_MOMENT + 8) * y
    give_way_along(blocks, k, matrix, m, carried, o, along)


def root_of_inverse(blocks: Any, k: Any) -> Any:
    """Return the lower triangular factor L of the inverse inertia of a ball joint, L L^T = J^-1, by rows."""
    a, b, c = (at(blocks, k + i) for i in range(3))
    d, e, f = at(blocks, k + 5), at(blocks, k + 6), at(blocks, k + 10)
    l00 = square_root(a)
    l10, l20 = b / l00, c / l00
    l11 = square_root(d - l10 * l10)
    l21 = (e - l20 * l10) / l11
    return (l00,), (l10, l11), (l20, l21, square_root(f - l20 * l20 - l21 * l21))


@traced
def ball_gives_way(
    joints: Any, j: Any, blocks: Any, k: Any, matrix: Any, m: Any, carried: Any, o: Any, lanes: Any
) -> None:
    """Let the rotations of a ball joint give way; no moment remains."""
    x, y, z = load3(carried, o + TO_MOMENT)
    (l00,), (l10, l11), (l20, l21, l22) = root_of_inverse(blocks, k)
    store(matrix, m, x * l00 + y * l10 + z * l20)
    store(matrix, m + lanes, y * l11 + z * l21)
    store(matrix, m + lanes + lanes, z * l22)
    for c in range(3):
        given = [at(joints, j + GIVEN_BY_SHIFT + 4 * c + i) for i in range(3)]
        store(carried, o + 8 * c, load(carried, o + 8 * c) - (x * given[0] + y * given[1] + z * given[2]))
    zero = zero_of(carried)
    store3(carried, o + TO_MOMENT, (zero, zero, zero))


@traced
def body_gives_way(blocks: Any, k: Any, matrix: Any, m: Any, carried: Any, o: Any, lanes: Any) -> None:
    """Store the six rows of the matrix of a free body, D^-1/2 L^-1 times the wrench, for its inertia L D L^T."""
    found: list[Any] = []
    for i in range(6):
        value = load(carried, o + 8 * i)
        for c in range(i):
            value = value - found[c] * at(blocks, k + 6 * i + c)
        found.append(value)
        store(matrix, m, value * root(splat(at(blocks, k + 7 * i))))
        m = m + lanes


@traced
def pass_on(joints: Any, j: Any, array: Any, b: Any, carried: Any, o: Any, up: Any) -> None:
    """Add the wrench at element o to that of the parent at element `up`, in its frame, and clear it.

    The arm to the joint point begins at element b of `array`.
    """
    E = [[at(joints, j + ROWS + 4 * i + c) for c in range(3)] for i in range(3)]
    force, moment = load3(carried, o), load3(carried, o + TO_MOMENT)
    force = tuple(row[0] * force[0] + row[1] * force[1] + row[2] * force[2] for row in E)
    moment = tuple(row[0] * moment[0] + row[1] * moment[1] + row[2] * moment[2] for row in E)
    arm = at(array, b), at(array, b + 1), at(array, b + 2)
    store3(carried, up, plus(load3(carried, up), force))
    store3(carried, up + TO_MOMENT, plus(load3(carried, up + TO_MOMENT), plus(moment, cross(arm, force))))
    clear_wrench(carried, o)


@traced
def clear_wrench(carried: Any, o: Any) -> None:
    """Set the wrench at element o to zero."""
    for c in range(6):
        store(carried, o + 8 * c, zero_of(carried))


@kernel
def freedoms_give_way(
    recursion: Recursion, kind: int, j: int, k: int, matrix: np.ndarray, m: int, lanes: int, carried: np.ndarray, o: int
) -> None:
    """Let all freedoms of a joint of a kind give way to the wrench at element o, and store their rows of the matrix."""
    joints, blocks = recursion.joints, recursion.blocks
    if kind == HINGE:
        turn_gives_way(joints, j, matrix, m, carried, o)
    elif kind == SLIDER:
        slide_gives_way(joints, j + FREEDOM, matrix, m, carried, o)
    elif kind == CYLINDRICAL:
        turn_gives_way(joints, j, matrix, m, carried, o)
        slide_gives_way(blocks, k, matrix, m + lanes, carried, o)
    elif kind == UNIVERSAL:
        turn_gives_way(joints, j, matrix, m, carried, o)
        second_axis_gives_way(joints, j, blocks, k, matrix, m + lanes, carried, o)
    elif kind == BALL:
        ball_gives_way(joints, j, blocks, k, matrix, m, carried, o, lanes)
    elif kind == FREE:
        body_gives_way(blocks, k, matrix, m, carried, o, lanes)


@kernel
def pass_to_parent(recursion: Recursion, kind: int, t: int, j: int, carried: np.ndarray, o: int, up: int) -> None:
    """Add the wrench at element o, of the body in slot t, to that of its parent at element `up`, and clear it."""
    if kind in (SLIDER, CYLINDRICAL):
        pass_on(recursion.joints, j, recursion.joints, j + PRESENT_ARM, carried, o, up)
    else:
        pass_on(recursion.joints, j, recursion.body_constants, BODY_NUMBERS * t + ARM, carried, o, up)


@kernel
def push_freedoms(recursion: Recursion, kind: int, j: int, k: int, along: np.ndarray, a: int) -> None:
    """Add the effect of given loads along the freedoms of a joint to their accelerations for a parent at rest.

    The loads begin at element a of `along`, and are multiplied by the roots of the compliances.
    """
    joints, blocks = recursion.joints, recursion.blocks
    if kind in (HINGE, SLIDER, CYLINDRICAL, UNIVERSAL):
        add(joints, j + FREEDOM + ALONE, at(along, a) * at(joints, j + FREEDOM + COMPLIANCE) ** 0.5)
        if kind in (CYLINDRICAL, UNIVERSAL):
            add(blocks, k + ALONE, at(along, a + 1) * at(blocks, k + COMPLIANCE) ** 0.5)
    elif kind == BALL:
        push_ball(joints, j, blocks, k, along, a)
    elif kind == FREE:
        push_body(joints, j, blocks, k, along, a)


@traced
def push_ball(joints: Any, j: Any, blocks: Any, k: Any, along: Any, a: Any) -> None:
    """Add the effect of given loads to the angular acceleration of a ball joint; see `push_freedoms`."""
    for i, row in enumerate(root_of_inverse(blocks, k)):
        add(joints, j + ALONE_TURN + i, -sum_of([row[c] * at(along, a + c) for c in range(i + 1)]))


@traced
def push_body(joints: Any, j: Any, blocks: Any, k: Any, along: Any, a: Any) -> None:
    """Subtract given loads from the load that a free body needs to be at rest; see `push_freedoms`."""
    scaled = [at(along, a + c) / square_root(at(blocks, k + 7 * c)) for c in range(6)]
    for i in range(6):
        products = [scaled[c] * at(blocks, k + 6 * i + c) for c in range(i)]
        add(joints, j + FORCE + i + i // 3, -sum_of([scaled[i], *products]))


def sum_of(terms: Any) -> Any:
    """Return the sum of numbers."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
