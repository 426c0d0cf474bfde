"""Largest margin of dependent contacts or joints to their friction limits, over all distributions of the load.

Dependent contacts or joints share a load whose distribution is not determined by the motion. A redistribution changes
their loads by Z y for any y, where the columns of Z are independent redistributions. Without sliding it has no effect
on the motion. With sliding, the friction of sliding contacts changes in proportion to their normal loads N: the
friction forces f change by df, the multipliers of the constraints by Lambda df, and the loads by Z y + P Lambda df,
where

    (I - mu dN/df) df = mu (Z y)_N

Here mu are the coefficients of friction, (Z y)_N the normal components of Z y, Lambda the multipliers due to unit
friction forces, and P the derivatives of the loads with respect to the multipliers. Lambda and dN/df belong to the
present directions of slip.

The friction limit of a joint may be proportional to its load. It then depends on the bearing forces of the joint, which
a redistribution also changes; see `quirk.dynamics.sparse.kernels.friction_margin`.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.vectors import back
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from .cone_margin import LOADS
from .friction import linearise
from .friction_margin import BEARINGS, largest_friction_margin
from .linear_equations import eliminate
from .load_tables import (
    KIN_I,
    MARGIN_FREE,
    MARGIN_JOINT_COUNT,
    MARGIN_JOINTS,
    MARGIN_LOADS,
    MARGIN_MEMBERS,
    MARGIN_SLIDES,
    MARGIN_START,
    READING,
    TERM_COUNT,
    TERMS,
    Readings,
)
from .loads import constraint_load
from .mechanism import Mechanism
from .shared_rows import LOAD


@kernel
def common_margin(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray) -> float:
    """Return the largest margin (N) to the friction limits at which dependent contacts or joints can carry a load.

    The distribution of the load is not determined by the motion. The margin, defined in
    `quirk.dynamics.sparse.kernels.cone_margin`, is positive if there is a distribution with all friction within its
    limits. Reading r selects the contacts or joints, and y is the last evaluated state.
    """
    o = READING * r
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    contacts, free, start = (
        readings.entries[o + MARGIN_MEMBERS], readings.entries[o + MARGIN_FREE], readings.entries[o + MARGIN_START],
    )  # fmt: skip
    followed, joints = readings.entries[o + MARGIN_JOINTS], readings.entries[o + MARGIN_JOINT_COUNT]
    components = LOADS * contacts + BEARINGS * joints
    constants = start + contacts
    weights = constants + components
    basis = weights + components * count
    for component in range(components):
        force = at(readings.margins, constants + component)
        for k in range(count):
            multiplier = at(mechanism.work.x, readings.multipliers[first + k])
            force += at(readings.margins, weights + count * component + k) * multiplier
        put(readings.shared, component, force)
    for k in range(components * free):
        put(readings.basis, k, at(readings.margins, basis + k))
    if readings.entries[o + MARGIN_SLIDES] >= 0:
        add_sliding_friction(mechanism, readings, r, weights)
    for k in range(joints):
        add_bearing_forces(mechanism, readings, readings.entries[o + MARGIN_LOADS] + 2 * k, y,
             LOADS * contacts + BEARINGS * k, basis + components * free + BEARINGS * LOAD * k)  # fmt: skip
    return largest_friction_margin(
        readings.shared[:components], readings.basis, readings.followed[followed : followed + joints], contacts, free,
        readings.margins[start : start + contacts], readings.scratch,
    )  # fmt: skip


@kernel
def add_bearing_forces(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray, into: int, shares: int) -> None:
    """Add the bearing forces due to the present load of a joint to the loads of dependent joints in `readings.shared`.

    Readings r and r + 1 are force and torque of the joint, and y is the last evaluated state. The six components of the
    bearing forces, in axes of body i, are the load times the matrix (6, 6) at index `shares` of `readings.margins`.
    They are added to `readings.shared` from index `into` on.
    """
    work, body = mechanism.work, readings.entries[READING * r + KIN_I]
    force = back(work.kin, body, constraint_load(mechanism, readings, r, y, work.x))
    torque = back(work.kin, body, constraint_load(mechanism, readings, r + 1, y, work.x))
    for c in range(BEARINGS):
        total, row = at(readings.shared, into + c), shares + LOAD * c
        for d in range(3):
            total += at(readings.margins, row + d) * force[d] + at(readings.margins, row + 3 + d) * torque[d]
        put(readings.shared, into + c, total)


@kernel
def add_sliding_friction(mechanism: Mechanism, readings: Readings, r: int, weights: int) -> None:
    """Add the effect of sliding friction on the loads to each redistribution in `readings.basis`.

    A redistribution changes the normal loads of sliding contacts, and thus their friction. Reading r selects the
    contacts; `weights` is the index in `readings.margins` of the first weight of multipliers in their loads.
    """
    frictions, o, rows = mechanism.frictions, READING * r, mechanism.work.x.shape[0]
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    contacts, free, slides = (
        readings.entries[o + MARGIN_MEMBERS], readings.entries[o + MARGIN_FREE], readings.entries[o + MARGIN_SLIDES],
    )  # fmt: skip
    friction_count = frictions.element.shape[0]
    for f in range(free):
        linearise(mechanism)
        for k in range(friction_count):
            put(frictions.residual, k, 0.0)
        for contact in range(contacts):
            k = readings.slides[slides + contact]
            if k >= 0:
                put(
                    frictions.residual, k, at(frictions.coefficient, k) * at(readings.basis, LOADS * contact * free + f)
                )
        eliminate(frictions.matrix, frictions.residual, friction_count)
        for term in range(count):
            row, change = readings.multipliers[first + term], 0.0
            for k in range(friction_count):
                change += at(frictions.residual, k) * at(frictions.x, (k + 1) * rows + row)
            put(readings.scratch, term, change)
        for load_of_contact in range(LOADS * contacts):
            change = 0.0
            for term in range(count):
                change += at(readings.margins, weights + count * load_of_contact + term) * at(readings.scratch, term)
            place = free * load_of_contact + f
            put(readings.basis, place, at(readings.basis, place) + change)
