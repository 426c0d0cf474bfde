"""Accelerations of forests of joints in SIMD lanes, from the roots to the tips, and time derivatives y' of the states.

The module `recursion_inertias` describes the equations and the arguments. The accelerations of the body of a link begin
at offset f of `motion`, those of its parent at offset g.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import OMEGA, ORIENTATION, POSITION, ROTATION, VELOCITY
from quirk.dynamics.model.vectors import columns_times, cross, dot, load3, minus, plus, store3, times
from quirk.dynamics.sparse.kernels.bodies import KIN, STATE
from quirk.dynamics.sparse.kernels.recursion import BALL, CYLINDRICAL, HINGE, SLIDER, UNIVERSAL, WELD
from quirk.integrators.combinations import FOUR, Weights, four_weighted_sums, weighted_sum
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, store
from quirk.jit.tracing import specialized, traced

from .links import (
    ALONE_SHIFT,
    ALONE_TURN,
    BEND,
    BODY,
    FROM_POINT,
    GIVEN,
    KIND,
    LINK_ENTRIES,
    LINK_WORK,
    PARENT,
    SECOND,
    SHIFT,
    TO_POINT,
    TURN,
)
from .records import ANGULAR
from .recursion_freedoms import motion_along
from .recursion_inertias import MOTION


def locked_acceleration(links: Any, motion: Any, o: Any, g: Any) -> Any:
    """Return the acceleration of the joint point and the angular acceleration of a link whose joint is locked.

    Velocity-dependent terms are omitted. Data begin at offsets o of `links` (computed quantities of the link) and g of
    `motion` (accelerations of the parent).
    """
    turn = load3(motion, g + ANGULAR)
    return plus(load3(motion, g), cross(turn, load3(links, o + 8 * TO_POINT))), turn


def welded_acceleration(links: Any, motion: Any, o: Any, g: Any, biased: bool) -> Any:
    """Return the acceleration of the joint point and the angular acceleration of a link that is welded to its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link) and g of `motion` (accelerations of the parent).
    """
    shift, turn = locked_acceleration(links, motion, o, g)
    if biased:
        return plus(shift, load3(links, o + 8 * SHIFT)), plus(turn, load3(links, o + 8 * TURN))
    return shift, turn


def follow_weld(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a welded body from those of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, turn = welded_acceleration(links, motion, o, g, biased)
    store3(motion, f, shift)
    store3(motion, f + ANGULAR, turn)


def follow_hinge(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a link with a hinge from the accelerations of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, turn = welded_acceleration(links, motion, o, g, biased)
    turn = plus(turn, motion_along(links, o, shift, turn))
    store3(motion, f, shift)
    store3(motion, f + ANGULAR, turn)


def follow_slider(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a link with a slider from the accelerations of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, turn = welded_acceleration(links, motion, o, g, biased)
    store3(motion, f, plus(shift, motion_along(links, o, shift, turn)))
    store3(motion, f + ANGULAR, turn)


def follow_cylindrical(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a link with a cylindrical joint from the accelerations of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, turn = welded_acceleration(links, motion, o, g, biased)
    shift = plus(shift, motion_along(links, o + 8 * SECOND, shift, turn))
    store3(motion, f, shift)
    store3(motion, f + ANGULAR, plus(turn, motion_along(links, o, shift, turn)))


def follow_universal(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a link with a universal joint from the accelerations of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, turn = welded_acceleration(links, motion, o, g, biased)
    turn = plus(turn, motion_along(links, o + 8 * SECOND, shift, turn))
    store3(motion, f, shift)
    store3(motion, f + ANGULAR, plus(turn, motion_along(links, o, shift, turn)))


def follow_ball(links: Any, motion: Any, o: Any, f: Any, g: Any, biased: bool) -> None:
    """Compute the accelerations of a link with a ball joint from the accelerations of its parent.

    Velocity-dependent terms are included if `biased`. Data begin at offsets o of `links` (computed quantities of the
    link), f of `motion` (accelerations of the body) and g of `motion` (accelerations of the parent).
    """
    shift, _ = welded_acceleration(links, motion, o, g, biased)
    store3(motion, f, shift)
    store_turn(links, motion, o, f, shift)


def store_turn(links: Any, motion: Any, o: Any, f: Any, shift: Any) -> None:
    """Store the angular acceleration of a link with a ball joint; `shift` is the acceleration of its joint point.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `motion` (accelerations of the body).
    """
    taken = columns_times(links, o + 8 * GIVEN, shift)
    store3(motion, f + ANGULAR, minus(load3(links, o + 8 * ALONE_TURN), taken))


follow_hinge_biased = specialized(follow_hinge, True)
follow_hinge_unbiased = specialized(follow_hinge, False)
follow_ball_biased = specialized(follow_ball, True)
follow_ball_unbiased = specialized(follow_ball, False)
follow_weld_biased = specialized(follow_weld, True)
follow_weld_unbiased = specialized(follow_weld, False)
follow_slider_biased = specialized(follow_slider, True)
follow_slider_unbiased = specialized(follow_slider, False)
follow_cylindrical_biased = specialized(follow_cylindrical, True)
follow_cylindrical_unbiased = specialized(follow_cylindrical, False)
follow_universal_biased = specialized(follow_universal, True)
follow_universal_unbiased = specialized(follow_universal, False)


@traced
def move_free(links: Any, motion: Any, o: Any, f: Any) -> None:
    """Compute the accelerations of a free body.

    Data begin at offsets o of `links` (computed quantities of the link) and f of `motion` (accelerations of the body).
    """
    shift = load3(links, o + 8 * ALONE_SHIFT)
    store3(motion, f, shift)
    store_turn(links, motion, o, f, shift)


@traced
def link_rates(
    gravity: Any, y: Any, kin: Any, links: Any, motion: Any, ydot: Any, o: Any, k: Any, f: Any, s: Any
) -> None:
    """Write the time derivative y' of the state of a link's body to `ydot`, from the accelerations in `motion`.

    `gravity` begins with the gravitational acceleration, m/s^2. Data begin at offsets o of `links` (computed quantities
    of the link), k of `kin` (kinematics of the body), s of y (state of the body) and f of `motion` (accelerations of
    the body).
    """
    turn, r = load3(motion, f + ANGULAR), load3(links, o + 8 * FROM_POINT)
    shift = plus(plus(load3(motion, f), load3(links, o + 8 * BEND)), cross(turn, r))
    store3(ydot, s + 8 * POSITION, load3(y, s + 8 * VELOCITY))
    store3(ydot, s + 8 * VELOCITY, plus(shift, load3(gravity, 0)))
    store3(ydot, s + 8 * OMEGA, columns_times(kin, k + 8 * ROTATION, turn))
    q = s + 8 * ORIENTATION
    w, v, spin = 0.5 * load(y, q), times(load3(y, q + 8), 0.5), load3(y, s + 8 * OMEGA)
    store(ydot, q, -dot(v, spin))
    store3(ydot, q + 8, plus(times(spin, w), cross(v, spin)))


@kernel
def combine_body(
    weights: Weights, row: int, slopes: np.ndarray, h: float, before: np.ndarray, after: np.ndarray, s: int
) -> None:
    """Set the state of one body to the start of a step plus a weighted sum of slopes: `after` = `before` + h sum(w y').

    h is the step size, s, and `slopes` are the time derivatives y' of all stages. Their weights w are row `row` of the
    tableau. The state of the body begins at offset s.
    """
    size = after.shape[0]
    for o in range(s, s + STATE // FOUR * FOUR, FOUR):
        for c, slope in enumerate(four_weighted_sums(weights, row, slopes, size, o)):
            store(after, o + 8 * c, load(before, o + 8 * c) + h * slope)
    for o in range(s + STATE // FOUR * FOUR, s + STATE, 8):
        store(after, o, load(before, o) + h * weighted_sum(weights, row, slopes, size, o))


@kernel
def follow_links(
    entries_: np.ndarray, gravity: np.ndarray, y: np.ndarray, kin: np.ndarray, links: np.ndarray, motion: np.ndarray,
    ydot: np.ndarray, weights: Weights, row: int, slopes: np.ndarray, h: float, before: np.ndarray, after: np.ndarray,
) -> None:  # fmt: skip
    """Compute the accelerations of all links from the roots to the tips, and write the time derivatives y' to `ydot`.

    `entries_` are the integer data of the links (kind of joint, bodies, indices of sums), `gravity` begins with the
    gravitational acceleration, m/s^2, y and `kin` are states and kinematics of the bodies, and `motion` receives their
    accelerations. If `row` is not negative, the state `after` is then set to the state `before` plus the step size h
    (s) times the weighted sum of the `slopes` y' of all stages; the weights are this row of the tableau. This is done
    body by body, while the slopes are in the processor's cache.
    """
    count, ground = entries_.shape[0] // LINK_ENTRIES, motion.shape[0] - MOTION
    store3(motion, ground, times(load3(gravity, 0), -1.0))
    for m in range(count):
        t = count - 1 - m
        e, o = LINK_ENTRIES * t, 8 * LINK_WORK * t
        body, kind = at(entries_, e + BODY), at(entries_, e + KIND)
        f, g = MOTION * body, MOTION * at(entries_, e + PARENT)
        if kind == HINGE:
            follow_hinge_biased(links, motion, o, f, g)
        elif kind == BALL:
            follow_ball_biased(links, motion, o, f, g)
        elif kind == WELD:
            follow_weld_biased(links, motion, o, f, g)
        elif kind == SLIDER:
            follow_slider_biased(links, motion, o, f, g)
        elif kind == CYLINDRICAL:
            follow_cylindrical_biased(links, motion, o, f, g)
        elif kind == UNIVERSAL:
            follow_universal_biased(links, motion, o, f, g)
        else:
            move_free(links, motion, o, f)
        link_rates(gravity, y, kin, links, motion, ydot, o, KIN * body, f, STATE * body)
        if row >= 0:
            combine_body(weights, row, slopes, h, before, after, STATE * body)
