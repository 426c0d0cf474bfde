"""Elimination of the joints of forests in SIMD lanes, from the tips to the roots.

The module `recursion_inertias` describes the equations and the index arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.vectors import cross, dot, load3, plus, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.dynamics.sparse.kernels.inertia import UPPER, symmetric
from quirk.dynamics.sparse.kernels.recursion import BALL, CYLINDRICAL, FREE, HINGE, SLIDER, UNIVERSAL, WELD
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, store
from quirk.jit.tracing import specialized, traced

from .links import (
    ADDED_TO,
    ALONE_SHIFT,
    ALONE_TURN,
    ARM,
    BODY,
    CHILDREN,
    GIVEN,
    INVERSE,
    INVERSE_OF_SHIFTS,
    KIND,
    LINK_ENTRIES,
    LINK_NUMBERS,
    LINK_WORK,
    PARENT,
    SECOND,
    SUM,
    SUM_NUMBERS,
)
from .records import LaneWork
from .recursion_freedoms import eliminate_slide, eliminate_turn
from .recursion_inertias import MOTION, add_inertia, add_load, add_to_parent, articulated, inverse, matrix_times
from .recursion_vectors import LinkVectors, axes_of_universal, axis_of, universal_twist


def eliminated_hinge(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> Any:
    """Eliminate the rotation of a hinge.

    Returns the `LinkVectors` of the link, and the inertia and load that the joint transmits. Data begin at offsets n of
    `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin` (kinematics of the
    body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent). `children` is the offset in
    `sums` of the sum of the inertias and loads that the children of the link transmit.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    body = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    return vectors, eliminate_turn(links, o, axis_of(numbers, kin, n, k), body)


@traced
def open_hinge(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate the rotation of a hinge, and add the transmitted inertia and load to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent).
    `children` is the offset in `sums` of the sum of the inertias and loads that the children of the link transmit. The
    transmitted inertia and load are added to the sum at offset `added_to` of `sums`, and the result is stored at offset
    `total`.
    """
    vectors, left = eliminated_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    add_to_parent(sums, vectors, left, added_to, total)


# Between a body and the ground, nobody needs the transmitted inertia and load.
close_hinge = specialized(eliminated_hinge)


def eliminated_ball(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> Any:
    """Eliminate the three rotations of a ball joint.

    Returns the `LinkVectors` of the link, the reduced inertia M - H J^-1 H^T, and the transmitted force. Data begin at
    offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin`
    (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent). `children` is
    the offset in `sums` of the sum of the inertias and loads that the children of the link transmit.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    inertia, force, moment = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    M, H, J = inertia
    inverse_of_J = inverse(J)
    given = [matrix_times(inverse_of_J, row) for row in H]
    alone = times(matrix_times(inverse_of_J, moment), -1.0)
    for c, (i, j) in enumerate(UPPER):
        store(links, o + 8 * (INVERSE + c), inverse_of_J[i][j])
    for row in range(3):
        store3(links, o + 8 * (GIVEN + 3 * row), given[row])
    store3(links, o + 8 * ALONE_TURN, alone)
    left = symmetric([M[i][j] - dot(given[i], H[j]) for i, j in UPPER])
    return vectors, left, plus(force, matrix_times(H, alone))


@traced
def open_ball(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate the rotations of a ball joint, and add the transmitted inertia and load to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent).
    `children` is the offset in `sums` of the sum of the inertias and loads that the children of the link transmit. The
    transmitted inertia and load are added to the sum at offset `added_to` of `sums`, and the result is stored at offset
    `total`.
    """
    vectors, M, force = eliminated_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    d, force = vectors.d, plus(force, matrix_times(M, vectors.shift))
    H = tuple(cross(d, row) for row in M)
    columns = [cross(d, column) for column in zip(*H, strict=True)]
    add_inertia(sums, (M, H, symmetric([columns[j][i] for i, j in UPPER])), added_to, total)
    zero = 0.0 * force[0]
    add_load(sums, d, force, (zero, zero, zero), added_to, total)


close_ball = specialized(eliminated_ball)


@traced
def open_weld(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Add the inertia of a welded body, and the load on it, to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent).
    `children` is the offset in `sums` of the sum of the inertias and loads that the children of the link transmit. The
    transmitted inertia and load are added to the sum at offset `added_to` of `sums`, and the result is stored at offset
    `total`.
    """
    vectors = LinkVectors.of(numbers, kin, links, n, k, p, o)
    body = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    add_to_parent(sums, vectors, body, added_to, total)


@traced
def close_weld(numbers: Any, kin: Any, links: Any, n: Any, k: Any, p: Any, o: Any) -> None:
    """Store the vectors of a body that is welded to the ground.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body) and p of `kin` (kinematics of the parent).
    """
    LinkVectors.of(numbers, kin, links, n, k, p, o)


def eliminated_slider(
    numbers: Any, y: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any,
    s: Any, q: Any, children: Any,
) -> Any:  # fmt: skip
    """Eliminate the translation of a slider.

    Returns the `LinkVectors` of the link, and the inertia and load that the joint transmits. Data begin at offsets n of
    `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin` (kinematics of the
    body), s of y (state of the body), l of `load_` (loads on the body), p of `kin` (kinematics of the parent) and q of
    y (state of the parent). `children` is the offset in `sums` of the sum of the inertias and loads that the children
    of the link transmit.
    """
    vectors = LinkVectors.sliding(numbers, y, kin, links, n, k, p, o, s, q)
    body = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    return vectors, eliminate_slide(links, o, axis_of(numbers, kin, n, k), body)


@traced
def open_slider(
    numbers: Any, y: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any,
    s: Any, q: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate the translation of a slider, and add the transmitted inertia and load to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), s of y (state of the body), l of `load_` (loads on the body), p of `kin` (kinematics
    of the parent) and q of y (state of the parent). `children` is the offset in `sums` of the sum of the inertias and
    loads that the children of the link transmit. The transmitted inertia and load are added to the sum at offset
    `added_to` of `sums`, and the result is stored at offset `total`.
    """
    vectors, left = eliminated_slider(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children)
    add_to_parent(sums, vectors, left, added_to, total)


close_slider = specialized(eliminated_slider)


def eliminated_cylindrical(
    numbers: Any, y: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any,
    s: Any, q: Any, children: Any,
) -> Any:  # fmt: skip
    """Eliminate the rotation and then the translation of a cylindrical joint.

    Returns the `LinkVectors` of the link, and the inertia and load that the joint transmits. Data begin at offsets n of
    `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin` (kinematics of the
    body), s of y (state of the body), l of `load_` (loads on the body), p of `kin` (kinematics of the parent) and q of
    y (state of the parent). `children` is the offset in `sums` of the sum of the inertias and loads that the children
    of the link transmit.
    """
    vectors, axis = LinkVectors.sliding(numbers, y, kin, links, n, k, p, o, s, q), axis_of(numbers, kin, n, k)
    body = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    return vectors, eliminate_slide(links, o + 8 * SECOND, axis, eliminate_turn(links, o, axis, body))


@traced
def open_cylindrical(
    numbers: Any, y: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any,
    s: Any, q: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate a cylindrical joint, and add the transmitted inertia and load to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), s of y (state of the body), l of `load_` (loads on the body), p of `kin` (kinematics
    of the parent) and q of y (state of the parent). `children` is the offset in `sums` of the sum of the inertias and
    loads that the children of the link transmit. The transmitted inertia and load are added to the sum at offset
    `added_to` of `sums`, and the result is stored at offset `total`.
    """
    vectors, left = eliminated_cylindrical(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children)
    add_to_parent(sums, vectors, left, added_to, total)


close_cylindrical = specialized(eliminated_cylindrical)


def eliminated_universal(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> Any:
    """Eliminate the rotations of a universal joint about its axes in the body and in the parent.

    Returns the `LinkVectors` of the link, and the inertia and load that the joint transmits. Data begin at offsets n of
    `numbers` (constants of the link), o of `links` (computed quantities of the link), k of `kin` (kinematics of the
    body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent). `children` is the offset in
    `sums` of the sum of the inertias and loads that the children of the link transmit.
    """
    axis, second = axes_of_universal(numbers, kin, n, k, p)
    arm, twist = load3(numbers, n + 8 * ARM), universal_twist(kin, k, p, axis, second)
    vectors = LinkVectors.along(numbers, kin, links, n, k, p, o, arm, twist=twist)
    body = articulated(numbers, kin, load_, sums, n, k, l, vectors, children)
    return vectors, eliminate_turn(links, o + 8 * SECOND, second, eliminate_turn(links, o, axis, body))


@traced
def open_universal(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any,
    added_to: Any, total: Any,
) -> None:  # fmt: skip
    """Eliminate a universal joint, and add the transmitted inertia and load to the sums of the parent.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent).
    `children` is the offset in `sums` of the sum of the inertias and loads that the children of the link transmit. The
    transmitted inertia and load are added to the sum at offset `added_to` of `sums`, and the result is stored at offset
    `total`.
    """
    vectors, left = eliminated_universal(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    add_to_parent(sums, vectors, left, added_to, total)


close_universal = specialized(eliminated_universal)


@traced
def eliminate_free_body(
    numbers: Any, kin: Any, load_: Any, sums: Any, links: Any, n: Any, k: Any, p: Any, l: Any, o: Any, children: Any
) -> None:
    """Eliminate the rotations of a free body about its center of mass, and then its translations.

    Data begin at offsets n of `numbers` (constants of the link), o of `links` (computed quantities of the link), k of
    `kin` (kinematics of the body), l of `load_` (loads on the body) and p of `kin` (kinematics of the parent).
    `children` is the offset in `sums` of the sum of the inertias and loads that the children of the link transmit.
    """
    _, M, force = eliminated_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
    inverse_of_M = inverse(M)
    for c, (i, j) in enumerate(UPPER):
        store(links, o + 8 * (INVERSE_OF_SHIFTS + c), inverse_of_M[i][j])
    store3(links, o + 8 * ALONE_SHIFT, times(matrix_times(inverse_of_M, force), -1.0))


@component(effort=4)
def eliminate_further(
    kind: int, numbers: np.ndarray, y: np.ndarray, work: LaneWork, n: int, k: int, p: int, l: int, o: int, s: int,
    q: int, children: int, added_to: int, total: int,
) -> None:  # fmt: skip
    """Eliminate a slider, a cylindrical or a universal joint, as `articulate_links` does for joints of other kinds.

    The function is compiled separately, because otherwise the machine code for hinges would be slower. `kind` is the
    kind of the joint; the other arguments are as in `articulate_links`, and the index arguments as in
    `recursion_inertias`.
    """
    kin, load_, sums, links = work.kin, work.load, work.sums, work.links
    if kind == SLIDER:
        if total >= 0:
            open_slider(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children, added_to, total)
        else:
            close_slider(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children)
    elif kind == CYLINDRICAL:
        if total >= 0:
            open_cylindrical(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children, added_to, total)
        else:
            close_cylindrical(numbers, y, kin, load_, sums, links, n, k, p, l, o, s, q, children)
    elif kind == UNIVERSAL:
        if total >= 0:
            open_universal(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
        else:
            close_universal(numbers, kin, load_, sums, links, n, k, p, l, o, children)


@kernel
def articulate_links(entries_: np.ndarray, numbers: np.ndarray, y: np.ndarray, work: LaneWork, loaded: bool) -> None:
    """Compute the articulated inertias of all links from the tips to the roots, and eliminate the joint coordinates.

    If `loaded`, the loads on the bodies in `work` are applied; otherwise the loads are zero. `entries_` are the integer
    data of the links (kind of joint, bodies, indices of sums), `numbers` their constants, and y the states of all
    bodies. The other arrays are in `work`.
    """
    kin, load_, sums, links = work.kin, work.load, work.sums, work.links
    ground = load_.shape[0] - MOTION
    for t in range(entries_.shape[0] // LINK_ENTRIES):
        e, n, o = LINK_ENTRIES * t, 8 * LINK_NUMBERS * t, 8 * LINK_WORK * t
        body, parent, kind = at(entries_, e + BODY), at(entries_, e + PARENT), at(entries_, e + KIND)
        k, p, s, q = KIN * body, KIN * parent, STATE * body, STATE * parent
        l = MOTION * body if loaded else ground
        children, total = 8 * SUM_NUMBERS * at(entries_, e + CHILDREN), 8 * SUM_NUMBERS * at(entries_, e + SUM)
        added_to = 8 * SUM_NUMBERS * at(entries_, e + ADDED_TO)
        if kind == HINGE:
            if total >= 0:
                open_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_hinge(numbers, kin, load_, sums, links, n, k, p, l, o, children)
        elif kind == BALL:
            if total >= 0:
                open_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_ball(numbers, kin, load_, sums, links, n, k, p, l, o, children)
        elif kind == WELD:
            if total >= 0:
                open_weld(numbers, kin, load_, sums, links, n, k, p, l, o, children, added_to, total)
            else:
                close_weld(numbers, kin, links, n, k, p, o)
        elif kind == FREE:
            eliminate_free_body(numbers, kin, load_, sums, links, n, k, p, l, o, children)
        else:
            eliminate_further(kind, numbers, y, work, n, k, p, l, o, s, q, children, added_to, total)
