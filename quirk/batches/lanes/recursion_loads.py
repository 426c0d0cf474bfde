"""Loads on forests of joints in SIMD lanes, transmitted from the tips to the roots.

The module `recursion_inertias` describes the arguments. The load on the body of a link begins at offset f of `load_`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import FORCE, ROTATION, TORQUE
from quirk.dynamics.model.vectors import cross, load3, minus, plus, rows_times, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN
from quirk.dynamics.sparse.kernels.inertia import symmetric
from quirk.dynamics.sparse.kernels.recursion import BALL, CYLINDRICAL, HINGE, SLIDER, UNIVERSAL, WELD
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, zero_of
from quirk.jit.tracing import specialized, traced

from .links import (
    ADDED_TO,
    ALONE_SHIFT,
    ALONE_TURN,
    BODY,
    CENTER,
    CHILDREN,
    GIVEN,
    INVERSE,
    INVERSE_OF_SHIFTS,
    KIND,
    LINK_ENTRIES,
    LINK_NUMBERS,
    LINK_WORK,
    SECOND,
    SUM,
    SUM_FORCE,
    SUM_MOMENT,
    SUM_NUMBERS,
    TO_POINT,
)
from .records import ANGULAR
from .recursion_freedoms import eliminate_rotation_load, eliminate_translation_load
from .recursion_inertias import MOTION, add_load, matrix_times


@traced
def take_load(numbers: Any, kin: Any, load_: Any, n: Any, k: Any, f: Any) -> None:
    """Copy the applied load on the body of a link from `kin` to `load_`, as force and moment about the joint point.

    Data begin at offsets n of `numbers` (constants of the link), k of `kin` (kinematics of the body) and f of `load_`
    (loads on the body).
    """
    r = rows_times(kin, k + 8 * ROTATION, load3(numbers, n + 8 * CENTER))
    force = load3(kin, k + 8 * FORCE)
    store3(load_, f, force)
    store3(load_, f + ANGULAR, plus(load3(kin, k + 8 * TORQUE), cross(r, force)))


@kernel
def take_loads(entries_: np.ndarray, numbers: np.ndarray, kin: np.ndarray, load_: np.ndarray) -> None:
    """Copy the applied loads on all bodies from `kin` to `load_`, as forces and moments about the joint points.

    `entries_` are the integer data of the links (kind of joint, bodies, indices of sums), and `numbers` their masses,
    arms and axes.
    """
    for t in range(entries_.shape[0] // LINK_ENTRIES):
        body = at(entries_, LINK_ENTRIES * t + BODY)
        take_load(numbers, kin, load_, 8 * LINK_NUMBERS * t, KIN * body, MOTION * body)


def load_of(load_: Any, sums: Any, f: Any, children: Any) -> Any:
    """Return the load on a body plus the loads that its children transmit.

    Data begin at offset f of `load_` (loads on the body). `children` is the offset in `sums` of the sum of the loads
    that the children of the link transmit.
    """
    force = plus(load3(load_, f), load3(sums, children + 8 * SUM_FORCE))
    return force, plus(load3(load_, f + ANGULAR), load3(sums, children + 8 * SUM_MOMENT))


def loaded_hinge(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> Any:
    """Store the acceleration of a hinge due to the loads, and return the transmitted load.

    The acceleration is for a parent without acceleration. Data begin at offsets o of `links` (computed quantities of
    the link) and f of `load_` (loads on the body). `children` is the offset in `sums` of the sum of the loads that the
    children of the link transmit.
    """
    return eliminate_rotation_load(links, o, *load_of(load_, sums, f, children))


def loaded_slider(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> Any:
    """Store the acceleration of a slider due to the loads, and return the transmitted load.

    The acceleration is for a parent without acceleration. Data begin at offsets o of `links` (computed quantities of
    the link) and f of `load_` (loads on the body). `children` is the offset in `sums` of the sum of the loads that the
    children of the link transmit.
    """
    return eliminate_translation_load(links, o, *load_of(load_, sums, f, children))


def loaded_cylindrical(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> Any:
    """Store the accelerations of a cylindrical joint due to the loads, and return the transmitted load.

    The accelerations are for a parent without acceleration. Data begin at offsets o of `links` (computed quantities of
    the link) and f of `load_` (loads on the body). `children` is the offset in `sums` of the sum of the loads that the
    children of the link transmit.
    """
    return eliminate_translation_load(links, o + 8 * SECOND, *loaded_hinge(load_, sums, links, o, f, children))


def loaded_universal(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> Any:
    """Store the accelerations of a universal joint due to the loads, and return the transmitted load.

    The accelerations are for a parent without acceleration. Data begin at offsets o of `links` (computed quantities of
    the link) and f of `load_` (loads on the body). `children` is the offset in `sums` of the sum of the loads that the
    children of the link transmit.
    """
    return eliminate_rotation_load(links, o + 8 * SECOND, *loaded_hinge(load_, sums, links, o, f, children))


def loaded_ball(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> Any:
    """Store the angular acceleration at a ball joint due to the loads, for a joint point without acceleration.

    Returns the transmitted force. Data begin at offsets o of `links` (computed quantities of the link) and f of `load_`
    (loads on the body). `children` is the offset in `sums` of the sum of the loads that the children of the link
    transmit.
    """
    force, moment = load_of(load_, sums, f, children)
    inverse = symmetric([load(links, o + 8 * (INVERSE + c)) for c in range(6)])
    store3(links, o + 8 * ALONE_TURN, times(matrix_times(inverse, moment), -1.0))
    return minus(force, rows_times(links, o + 8 * GIVEN, moment))


@traced
def load_open_hinge(
    load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the load that a hinge transmits to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, moment = loaded_hinge(load_, sums, links, o, f, children)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, moment, added_to, total)


# Between a body and the ground, nobody needs the transmitted load.
load_closed_hinge = specialized(loaded_hinge)


@traced
def load_open_ball(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any) -> None:
    """Add the force that a ball joint transmits to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, zero = loaded_ball(load_, sums, links, o, f, children), zero_of(sums)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, (zero, zero, zero), added_to, total)


load_closed_ball = specialized(loaded_ball)


@traced
def load_weld(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any) -> None:
    """Add the load on a welded body to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, moment = load_of(load_, sums, f, children)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, moment, added_to, total)


@traced
def load_open_slider(
    load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the load that a slider transmits to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, moment = loaded_slider(load_, sums, links, o, f, children)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, moment, added_to, total)


load_closed_slider = specialized(loaded_slider)


@traced
def load_open_cylindrical(
    load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the load that a cylindrical joint transmits to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, moment = loaded_cylindrical(load_, sums, links, o, f, children)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, moment, added_to, total)


load_closed_cylindrical = specialized(loaded_cylindrical)


@traced
def load_open_universal(
    load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any, added_to: Any, total: Any
) -> None:
    """Add the load that a universal joint transmits to the loads on the parent.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit. The transmitted
    load is added to the sum at offset `added_to` of `sums`, and the result is stored at offset `total`.
    """
    force, moment = loaded_universal(load_, sums, links, o, f, children)
    add_load(sums, load3(links, o + 8 * TO_POINT), force, moment, added_to, total)


load_closed_universal = specialized(loaded_universal)


@traced
def load_free(load_: Any, sums: Any, links: Any, o: Any, f: Any, children: Any) -> None:
    """Store the accelerations of a free body due to its loads in `links`.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `load_` (loads on the body).
    `children` is the offset in `sums` of the sum of the loads that the children of the link transmit.
    """
    force = loaded_ball(load_, sums, links, o, f, children)
    inverse = symmetric([load(links, o + 8 * (INVERSE_OF_SHIFTS + c)) for c in range(6)])
    store3(links, o + 8 * ALONE_SHIFT, times(matrix_times(inverse, force), -1.0))


@kernel
def load_links(entries: np.ndarray, load_: np.ndarray, sums: np.ndarray, links: np.ndarray) -> None:
    """Transmit the loads on all bodies from the tips to the roots, with the last factorization of articulated inertias.

    `entries` are the integer data of the links (kind of joint, bodies, indices of sums), and `load_` the loads.
    Accelerations relative to parents without acceleration are stored in `links`, and sums of transmitted loads in
    `sums`.
    """
    for t in range(entries.shape[0] // LINK_ENTRIES):
        e, o = LINK_ENTRIES * t, 8 * LINK_WORK * t
        f, kind = MOTION * at(entries, e + BODY), at(entries, e + KIND)
        children, total = 8 * SUM_NUMBERS * at(entries, e + CHILDREN), 8 * SUM_NUMBERS * at(entries, e + SUM)
        added_to = 8 * SUM_NUMBERS * at(entries, e + ADDED_TO)
        if kind == HINGE:
            if total >= 0:
                load_open_hinge(load_, sums, links, o, f, children, added_to, total)
            else:
                load_closed_hinge(load_, sums, links, o, f, children)
        elif kind == BALL:
            if total >= 0:
                load_open_ball(load_, sums, links, o, f, children, added_to, total)
            else:
                load_closed_ball(load_, sums, links, o, f, children)
        elif kind == WELD:
            if total >= 0:
                load_weld(load_, sums, links, o, f, children, added_to, total)
        elif kind == SLIDER:
            if total >= 0:
                load_open_slider(load_, sums, links, o, f, children, added_to, total)
            else:
                load_closed_slider(load_, sums, links, o, f, children)
        elif kind == CYLINDRICAL:
            if total >= 0:
                load_open_cylindrical(load_, sums, links, o, f, children, added_to, total)
            else:
                load_closed_cylindrical(load_, sums, links, o, f, children)
        elif kind == UNIVERSAL:
            if total >= 0:
                load_open_universal(load_, sums, links, o, f, children, added_to, total)
            else:
                load_closed_universal(load_, sums, links, o, f, children)
        else:
            load_free(load_, sums, links, o, f, children)
