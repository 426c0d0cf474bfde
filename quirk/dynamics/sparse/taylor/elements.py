"""Tapes of constraints and force elements along the motion of bodies: their inputs gathered, their outputs handed on."""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import add, at, put, splat, store
from quirk.motion_table import motion_taylor

from ...layout import FORCE
from ..kernels.mechanism import Mechanism
from .tables import (
    BODY,
    BODY_RATE,
    COUNT,
    FIRST,
    FIRST_HISTORY,
    FIRST_VALUE,
    FIXED,
    FORM,
    FORM_OF,
    FRAMES,
    GROUP,
    INPUT_ENTRIES,
    INPUTS,
    INPUTS_END,
    INTERNAL,
    KEPT,
    KIND,
    LEVEL,
    LINES,
    LINES_END,
    LOAD,
    MOTION,
    MOTION_RATE,
    MOTIONS,
    MULTIPLIER,
    OF_FRAME,
    OUT_FRAME,
    OUT_KIND,
    OUT_VALUE,
    OUT_WHICH,
    OUTPUT_ENTRIES,
    OUTPUTS,
    OUTPUTS_END,
    PLACES,
    POWER,
    POWER_OF_ROW,
    RATE,
    RESIDUAL,
    ROWS,
    TIME,
    VALUE,
    WHICH,
    Elements,
)
from .tapes import first_coefficients, next_coefficients


@kernel
def expand_motions(elements: Elements, t: float, orders: int) -> None:
    """Fill the Taylor coefficients of all functions of time."""
    for m in range(elements.taylor.shape[0] // orders):
        motion_taylor(elements.motions, m, t, orders - 1, elements.taylor, m * orders)


@kernel
def run(
    mechanism: Mechanism,
    elements: Elements,
    bodies: np.ndarray,
    carried: np.ndarray,
    g: int,
    program: int,
    t: float,
    k: int,
) -> None:
    """Run one program of a group for coefficients of order k."""
    group = GROUP * g
    form, v0 = FORM * elements.groups[group + FORM_OF], elements.groups[group + FIRST_VALUE]
    h0, o = elements.groups[group + FIRST_HISTORY], form + 4 * program
    gather(
        mechanism, elements, bodies, carried, group, elements.forms[o + INPUTS], elements.forms[o + INPUTS_END], t, k
    )
    begin, end = elements.forms[o + LINES], elements.forms[o + LINES_END]
    if program == FIRST:
        first_coefficients(elements.tapes, begin, end, v0, h0)
    else:
        next_coefficients(elements.tapes, begin, end, v0, h0, k)


@kernel
def gather(
    mechanism: Mechanism,
    elements: Elements,
    bodies: np.ndarray,
    carried: np.ndarray,
    group: int,
    begin: int,
    end: int,
    t: float,
    k: int,
) -> None:
    """Fill the inputs of a group for order k."""
    tapes, groups, places = elements.tapes, elements.groups, elements.places
    form = FORM * groups[group + FORM_OF]
    v0, h0, first = groups[group + FIRST_VALUE], groups[group + FIRST_HISTORY], groups[group + PLACES]
    frames, motions = elements.forms[form + FRAMES], elements.forms[form + MOTIONS]
    size, count, orders = mechanism.work.kin.shape[0], carried.shape[0] // tapes.orders, tapes.orders
    fixed = elements.fixed if elements.forms[form + LEVEL] > 0 else mechanism.forces.inputs
    for i in range(INPUT_ENTRIES * begin, INPUT_ENTRIES * end, INPUT_ENTRIES):
        v, kind, which = v0 + 8 * elements.inputs[i + VALUE], elements.inputs[i + KIND], elements.inputs[i + WHICH]
        if kind == TIME:
            store(tapes.values, v, splat(t if k == 0 else 1.0 if k == 1 else 0.0))
        elif kind == BODY or kind == BODY_RATE:
            at_lane = first + 8 * (1 + elements.inputs[i + OF_FRAME])
            order = (k if kind == BODY else k + 1) * size + 8 * which
            scale = 1.0 if kind == BODY else k + 1.0
            for lane in range(8):
                put(tapes.values, v + lane, scale * at(bodies, order + places[at_lane + lane]))
        elif kind == MOTION or kind == MOTION_RATE:
            at_lane = first + 8 * (1 + frames + which)
            order = k if kind == MOTION else k + 1
            scale = 1.0 if kind == MOTION else k + 1.0
            for lane in range(8):
                put(tapes.values, v + lane, scale * at(elements.taylor, orders * places[at_lane + lane] + order))
        elif kind == MULTIPLIER:
            at_lane = first + 8 * (1 + frames + motions + which)
            for lane in range(8):
                # Those of a higher order are not known yet.
                known = at(mechanism.work.x, places[at_lane + lane]) if k == 0 else 0.0
                put(tapes.values, v + lane, known)
        elif kind == INTERNAL:
            at_lane = first + 8 * (1 + frames + motions + elements.forms[form + ROWS])
            for lane in range(8):
                put(tapes.values, v + lane, at(carried, k * count + places[at_lane + lane] + which))
        elif kind == FIXED:
            for lane in range(8):
                put(tapes.values, v + lane, at(fixed, places[first + lane] + which))
        kept = elements.inputs[i + KEPT]
        if kept >= 0:
            o = h0 + 8 * (orders * kept + k)
            for lane in range(8):
                put(tapes.histories, o + lane, at(tapes.values, v + lane))


@kernel
def hand_on(
    mechanism: Mechanism, elements: Elements, bodies: np.ndarray, carried: np.ndarray, g: int, kinds: int, k: int
) -> None:
    """Add loads and rates of order k, or powers, of a group to the bodies and to what is carried; `kinds` says which.

    LOAD stands for loads, rates of internal variables and power of elements; POWER_OF_ROW for that of rows alone.
    """
    groups, places, values = elements.groups, elements.places, elements.tapes.values
    group = GROUP * g
    form = FORM * groups[group + FORM_OF]
    v0, first, elements_here = groups[group + FIRST_VALUE], groups[group + PLACES], groups[group + COUNT]
    size, count = mechanism.work.kin.shape[0], carried.shape[0] // elements.tapes.orders
    behind = 1 + elements.forms[form + FRAMES] + elements.forms[form + MOTIONS] + elements.forms[form + ROWS]
    for i in range(elements.forms[form + OUTPUTS], elements.forms[form + OUTPUTS_END]):
        o = OUTPUT_ENTRIES * i
        v, kind = v0 + 8 * elements.outputs[o + OUT_VALUE], elements.outputs[o + OUT_KIND]
        which = elements.outputs[o + OUT_WHICH]
        if kind == RESIDUAL or (kind == POWER_OF_ROW) != (kinds == POWER_OF_ROW):
            continue
        if kind == LOAD:
            at_lane = first + 8 * (1 + elements.outputs[o + OUT_FRAME])
            to = k * size + 8 * (FORCE + which)
            for lane in range(elements_here):
                add(bodies, to + places[at_lane + lane], at(values, v + lane))
            continue
        at_lane = first + 8 * (behind + (0 if kind == RATE else 1 if kind == POWER else 2 + which))
        for lane in range(elements_here):
            place = places[at_lane + lane]
            if place >= 0:
                place += (k + 1) * count + (which if kind == RATE else 0)
                add(carried, place, at(values, v + lane) / (k + 1.0))


@kernel
def residuals(mechanism: Mechanism, elements: Elements, g: int, factor: float) -> None:
    """Write the residuals of the rows of a group, times a factor, to the right-hand sides."""
    groups, places, values = elements.groups, elements.places, elements.tapes.values
    group = GROUP * g
    form = FORM * groups[group + FORM_OF]
    v0, first = groups[group + FIRST_VALUE], groups[group + PLACES]
    rows = first + 8 * (1 + elements.forms[form + FRAMES] + elements.forms[form + MOTIONS])
    for i in range(elements.forms[form + OUTPUTS], elements.forms[form + OUTPUTS_END]):
        o = OUTPUT_ENTRIES * i
        if elements.outputs[o + OUT_KIND] != RESIDUAL:
            continue
        v, row = v0 + 8 * elements.outputs[o + OUT_VALUE], rows + 8 * elements.outputs[o + OUT_WHICH]
        for lane in range(groups[group + COUNT]):
            put(mechanism.work.rhs, places[row + lane], factor * at(values, v + lane))


@kernel
def keep_multipliers(mechanism: Mechanism, elements: Elements, g: int, k: int) -> None:
    """Let the multipliers of order k of a group be those in work.x."""
    groups, places, tapes = elements.groups, elements.places, elements.tapes
    group = GROUP * g
    form = FORM * groups[group + FORM_OF]
    first = groups[group + PLACES]
    rows = first + 8 * (1 + elements.forms[form + FRAMES] + elements.forms[form + MOTIONS])
    v0, h0, o = groups[group + FIRST_VALUE], groups[group + FIRST_HISTORY], form + 4 * FIRST
    for i in range(
        INPUT_ENTRIES * elements.forms[o + INPUTS], INPUT_ENTRIES * elements.forms[o + INPUTS_END], INPUT_ENTRIES
    ):
        if elements.inputs[i + KIND] != MULTIPLIER:
            continue
        row, kept = rows + 8 * elements.inputs[i + WHICH], elements.inputs[i + KEPT]
        for lane in range(8):
            x = at(mechanism.work.x, places[row + lane])
            put(tapes.values, v0 + 8 * elements.inputs[i + VALUE] + lane, x)
            if kept >= 0:
                put(tapes.histories, h0 + 8 * (tapes.orders * kept + k) + lane, x)


@kernel
def clear_carried(bodies: np.ndarray, carried: np.ndarray, count: int, first: int) -> None:
    """Set what is carried to zero from one order on, where rates will be added."""
    for o in range(first * count, carried.shape[0]):
        put(carried, o, 0.0)
