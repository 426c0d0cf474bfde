"""Transmission of the loads of loop-closing constraints to the roots of a forest, eight rows at a time.

The tables are described in `closings` and `recursion`. A wrench is the force and moment of a unit multiplier of a row
on a body, in the joint frame of the body and about its joint point. The wrenches of eight rows are stored as six
vectors of eight elements, in `wrenches`.

A joint does not transmit the load p along a degree of freedom; instead, the body accelerates along it. With the
momentum U of unit velocity along the degree of freedom and its inertia D, the acceleration increases by p / D, and the
parent receives the wrench minus U p / D. The compliance is 1 / D. The matrix F has a row of scaled loads p / sqrt(D)
for each degree of freedom.

Arguments are indices of the first element: j of a joint in `joints`, k of its further data in `blocks`, b of a body in
its constants, o of eight wrenches in `wrenches`, m of a row of F in `matrix`. `lanes` is the number of elements per row
of F.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import INVERSE_FACTOR, ROTATION
from quirk.dynamics.model.vectors import body_columns_times, body_vector, cross, load3, plus, store3, times
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, lane_of, load, root, splat, store, zero_of
from quirk.jit.tracing import traced

from .inertia import FACTOR_ROW
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
    DRIVEN_HINGE,
    DRIVEN_SLIDER,
    FORCE,
    FREE,
    FREEDOM,
    GIVEN_BY_SHIFT,
    HINGE,
    MOMENTUM_SHIFT,
    PRESENT_ARM,
    ROW,
    ROWS,
    SECOND_AXIS,
    SLIDER,
    UNIVERSAL,
    Recursion,
)
from .recursion_vectors import place_of

# Elements from the force to the moment of eight wrenches, and from the x to the y and z components of either.
TO_MOMENT, TO_Y, TO_Z = 24, 8, 16


def square_root(x: Any) -> Any:
    """Return the square root of a scalar, in compiled code."""
    return lane_of(root(splat(x)), 0)


@traced
def wrench_of_side(
    kin: Any, constants: Any, bodies: Any, G: Any, wrench: Any, k: Any, c: Any, b: Any, f: Any, m: Any, sign: Any
) -> None:
    """Write the loads of unit multipliers of a constraint on one of its bodies to `wrench`, in the body's joint frame.

    The forces begin at index f of G, the scaled moments at index m; `sign` is the factor of the forces, 1 or -1. The
    data of the body begin at index k of `kin`, c of `constants` and b of `bodies`.
    """
    force = body_columns_times(bodies, b + 8 * ALIGNMENT, body_columns_times(kin, k + 8 * ROTATION, load3(G, f)))
    moment = body_columns_times(
        bodies, b + 8 * ALIGNMENT, body_columns_times(constants, c + 8 * INVERSE_FACTOR, load3(G, m))
    )
    force = times(force, sign)
    store3(wrench, 0, force)
    store3(wrench, TO_MOMENT, plus(moment, cross(body_vector(bodies, b + 8 * CENTER), force)))


@traced
def eliminate_load_along(array: Any, a: Any, matrix: Any, m: Any, wrenches: Any, o: Any, load_along: Any) -> None:
    """Eliminate a degree of freedom from eight wrenches on a body, and store their loads along it.

    `load_along` are the components of the wrenches along the degree of freedom. Times the root of the compliance, they
    are written to `matrix` from index m on. The wrenches begin at index o of `wrenches` and are replaced by the
    wrenches that the joint transmits. The data of the degree of freedom begin at index a of `array`.
    """
    compliance = at(array, a + COMPLIANCE)
    store(matrix, m, load_along * root(splat(compliance)))
    taken = load_along * compliance
    for c in range(6):
        momentum = at(array, a + MOMENTUM_SHIFT + place_of(c))
        store(wrenches, o + 8 * c, load(wrenches, o + 8 * c) - taken * momentum)


@traced
def eliminate_rotation_load(joints: Any, j: Any, matrix: Any, m: Any, wrenches: Any, o: Any) -> None:
    """Eliminate the rotation of a joint about z from eight wrenches on its body, and store their moments about z.

    The moments, times the root of the compliance, are written to `matrix` from index m on. The wrenches, at index o of
    `wrenches`, are replaced by the wrenches that the joint transmits, which have no moment about z. The data of the
    joint begin at index j of `joints`.
    """
    eliminate_load_along(joints, j + FREEDOM, matrix, m, wrenches, o, load(wrenches, o + TO_MOMENT + TO_Z))
    store(wrenches, o + TO_MOMENT + TO_Z, zero_of(wrenches))


@traced
def eliminate_translation_load(array: Any, a: Any, matrix: Any, m: Any, wrenches: Any, o: Any) -> None:
    """Eliminate the translation of a joint along z from eight wrenches on its body, and store their forces along z.

    The forces, times the root of the compliance, are written to `matrix` from index m on. The wrenches, at index o of
    `wrenches`, are replaced by the wrenches that the joint transmits, which have no force along z. The data of the
    degree of freedom begin at index a of `array`.
    """
    eliminate_load_along(array, a, matrix, m, wrenches, o, load(wrenches, o + TO_Z))
    store(wrenches, o + TO_Z, zero_of(wrenches))


@traced
def eliminate_second_axis_load(
    joints: Any, j: Any, blocks: Any, k: Any, matrix: Any, m: Any, wrenches: Any, o: Any
) -> None:
    """Eliminate the second rotation of a universal joint from eight wrenches, and store their moments about its axis.

    The second axis is fixed in the parent. The moments, times the root of the compliance, are written to `matrix` from
    index m on. The wrenches on the body of the joint, at index o of `wrenches`, are replaced by the wrenches that the
    joint transmits. The data of the joint begin at index j of `joints` and k of `blocks`.
    """
    x, y = at(joints, j + SECOND_AXIS), at(joints, j + SECOND_AXIS + 1)
    along = load(wrenches, o + TO_MOMENT) * x + load(wrenches, o + TO_MOMENT + TO_Y) * y
    eliminate_load_along(blocks, k, matrix, m, wrenches, o, along)


def root_of_inverse(blocks: Any, k: Any) -> Any:
    """Return the lower triangular factor L, by rows, of the inverse inertia of a ball joint: L L^T = J^-1.

    The inverse J^-1 of the rotational inertia begins at index k of `blocks`.
    """
    (a, b, c), (d, e), (f,) = ([at(blocks, k + ROW * i + c) for c in range(i, 3)] for i in range(3))
    l00 = square_root(a)
    l10, l20 = b / l00, c / l00
    l11 = square_root(d - l10 * l10)
    l21 = (e - l20 * l10) / l11
    return (l00,), (l10, l11), (l20, l21, square_root(f - l20 * l20 - l21 * l21))


@traced
def eliminate_ball_loads(
    joints: Any, j: Any, blocks: Any, k: Any, matrix: Any, m: Any, wrenches: Any, o: Any, lanes: Any
) -> None:
    """Eliminate the rotations of a ball joint from eight wrenches on its body, and store their moments.

    The three moments of each wrench, times a triangular factor of the inverse inertia, are written to three rows of
    `matrix`, of `lanes` elements each, from index m on. The wrenches, at index o of `wrenches`, are replaced by the
    wrenches that the joint transmits, which have no moments. The data of the joint begin at index j of `joints` and k
    of `blocks`.
    """
    x, y, z = load3(wrenches, o + TO_MOMENT)
    (l00,), (l10, l11), (l20, l21, l22) = root_of_inverse(blocks, k)
    store(matrix, m, x * l00 + y * l10 + z * l20)
    store(matrix, m + lanes, y * l11 + z * l21)
    store(matrix, m + lanes + lanes, z * l22)
    for c in range(3):
        given = [at(joints, j + GIVEN_BY_SHIFT + ROW * c + i) for i in range(3)]
        store(wrenches, o + 8 * c, load(wrenches, o + 8 * c) - (x * given[0] + y * given[1] + z * given[2]))
    zero = zero_of(wrenches)
    store3(wrenches, o + TO_MOMENT, (zero, zero, zero))


@traced
def eliminate_free_body_loads(blocks: Any, k: Any, matrix: Any, m: Any, wrenches: Any, o: Any, lanes: Any) -> None:
    """Write eight wrenches on a free body, scaled by its inertia L D L^T, to `matrix`: D^-1/2 L^-1 times each wrench.

    The results are six rows of `lanes` elements each, from index m on. The factorized inertia begins at index k of
    `blocks`, the wrenches at index o of `wrenches`.
    """
    found: list[Any] = []
    for i in range(6):
        value = load(wrenches, o + 8 * i)
        for c in range(i):
            value = value - found[c] * at(blocks, k + FACTOR_ROW * i + c)
        found.append(value)
        store(matrix, m, value * root(splat(at(blocks, k + (FACTOR_ROW + 1) * i))))
        m = m + lanes


@traced
def add_to_parent(joints: Any, j: Any, array: Any, b: Any, wrenches: Any, o: Any, up: Any) -> None:
    """Transmit eight wrenches on a body to its parent: add them to the wrenches on the parent, and set them to zero.

    The sums are in the joint frame of the parent. The wrenches begin at index o of `wrenches` for the body, and at
    index `up` for the parent. The vector from the joint point of the parent to that of the body begins at index b of
    `array`, the data of the joint at index j of `joints`.
    """
    E = [[at(joints, j + ROWS + ROW * i + c) for c in range(3)] for i in range(3)]
    force, moment = load3(wrenches, o), load3(wrenches, o + TO_MOMENT)
    force = tuple(row[0] * force[0] + row[1] * force[1] + row[2] * force[2] for row in E)
    moment = tuple(row[0] * moment[0] + row[1] * moment[1] + row[2] * moment[2] for row in E)
    arm = at(array, b), at(array, b + 1), at(array, b + 2)
    store3(wrenches, up, plus(load3(wrenches, up), force))
    store3(wrenches, up + TO_MOMENT, plus(load3(wrenches, up + TO_MOMENT), plus(moment, cross(arm, force))))
    clear_wrench(wrenches, o)


@traced
def clear_wrench(wrenches: Any, o: Any) -> None:
    """Set eight wrenches, which begin at index o of `wrenches`, to zero."""
    for c in range(6):
        store(wrenches, o + 8 * c, zero_of(wrenches))


@kernel
def eliminate_joint_loads(
    recursion: Recursion,
    kind: int,
    j: int,
    k: int,
    matrix: np.ndarray,
    m: int,
    lanes: int,
    wrenches: np.ndarray,
    o: int,
) -> None:
    """Eliminate all degrees of freedom of a joint from eight wrenches on its body, and store their loads along them.

    The loads, times the roots of the compliances, are written to `matrix`: a row of `lanes` elements for each degree of
    freedom, from index m on. The wrenches, at index o of `wrenches`, are replaced by the wrenches that the joint
    transmits to the parent. A driven joint transmits the wrenches unchanged; the loads on its driver are written to
    `matrix`. `kind` is the kind of the joint, whose data begin at index j of `recursion.joints` and k of
    `recursion.blocks`.
    """
    joints, blocks = recursion.joints, recursion.blocks
    if kind == HINGE:
        eliminate_rotation_load(joints, j, matrix, m, wrenches, o)
    elif kind == SLIDER:
        eliminate_translation_load(joints, j + FREEDOM, matrix, m, wrenches, o)
    elif kind == CYLINDRICAL:
        eliminate_rotation_load(joints, j, matrix, m, wrenches, o)
        eliminate_translation_load(blocks, k, matrix, m + lanes, wrenches, o)
    elif kind == UNIVERSAL:
        eliminate_rotation_load(joints, j, matrix, m, wrenches, o)
        eliminate_second_axis_load(joints, j, blocks, k, matrix, m + lanes, wrenches, o)
    elif kind == BALL:
        eliminate_ball_loads(joints, j, blocks, k, matrix, m, wrenches, o, lanes)
    elif kind == FREE:
        eliminate_free_body_loads(blocks, k, matrix, m, wrenches, o, lanes)
    elif kind == DRIVEN_HINGE:
        store(matrix, m, load(wrenches, o + TO_MOMENT + TO_Z))
    elif kind == DRIVEN_SLIDER:
        store(matrix, m, load(wrenches, o + TO_Z))


@kernel
def transmit_wrenches(recursion: Recursion, kind: int, t: int, j: int, wrenches: np.ndarray, o: int, up: int) -> None:
    """Transmit eight wrenches on the body in slot t to its parent: add them to its wrenches, and set them to zero.

    The wrenches begin at index o of `wrenches` for the body, and at index `up` for the parent. `kind` is the kind of
    the joint, whose data begin at index j of `recursion.joints`.
    """
    if kind in (SLIDER, CYLINDRICAL, DRIVEN_SLIDER):
        add_to_parent(recursion.joints, j, recursion.joints, j + PRESENT_ARM, wrenches, o, up)
    else:
        add_to_parent(recursion.joints, j, recursion.body_constants, BODY_NUMBERS * t + ARM, wrenches, o, up)


@kernel
def accelerate_freedoms(recursion: Recursion, kind: int, j: int, k: int, along: np.ndarray, a: int) -> None:
    """Add the accelerations that loads along the degrees of freedom of a joint cause, for a parent at rest.

    The loads, times the roots of the compliances, begin at index a of `along`. `kind` is the kind of the joint, whose
    data begin at index j of `recursion.joints` and k of `recursion.blocks`; the accelerations are part of these data.
    """
    joints, blocks = recursion.joints, recursion.blocks
    if kind in (HINGE, SLIDER, CYLINDRICAL, UNIVERSAL):
        add(joints, j + FREEDOM + ALONE, at(along, a) * at(joints, j + FREEDOM + COMPLIANCE) ** 0.5)
        if kind in (CYLINDRICAL, UNIVERSAL):
            add(blocks, k + ALONE, at(along, a + 1) * at(blocks, k + COMPLIANCE) ** 0.5)
    elif kind == BALL:
        accelerate_ball(joints, j, blocks, k, along, a)
    elif kind == FREE:
        load_free_body(joints, j, blocks, k, along, a)


@traced
def accelerate_ball(joints: Any, j: Any, blocks: Any, k: Any, along: Any, a: Any) -> None:
    """Add the angular acceleration that moments in a ball joint cause, for a parent at rest.

    The moments, times a triangular factor of the inverse inertia, begin at index a of `along`. The data of the joint
    begin at index j of `joints` and k of `blocks`; the acceleration is part of these data.
    """
    for i, row in enumerate(root_of_inverse(blocks, k)):
        add(joints, j + ALONE_TURN + i, -sum_of([row[c] * at(along, a + c) for c in range(i + 1)]))


@traced
def load_free_body(joints: Any, j: Any, blocks: Any, k: Any, along: Any, a: Any) -> None:
    """Subtract loads of loop-closing constraints on a free body from the load it needs for zero acceleration.

    The loads, scaled by the factorized inertia, begin at index a of `along`. The data of the body begin at index j of
    `joints` and k of `blocks`.
    """
    scaled = [at(along, a + c) / square_root(at(blocks, k + (FACTOR_ROW + 1) * c)) for c in range(6)]
    for i in range(6):
        products = [scaled[c] * at(blocks, k + FACTOR_ROW * i + c) for c in range(i)]
        add(joints, j + FORCE + place_of(i), -sum_of([scaled[i], *products]))


def sum_of(terms: Any) -> Any:
    """Return the sum of a nonempty list of numbers, in compiled code."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
