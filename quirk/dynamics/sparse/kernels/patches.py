"""Largest margin of dependent contacts or joints to their friction limits, over all distributions of the load.

Dependent contacts or joints share a load whose distribution is not determined by the motion. A redistribution changes
their loads by Z y, for any y; the columns of Z are independent redistributions. Without sliding it has no effect on the
motion. The friction of sliding contacts is proportional to their normal loads N. The magnitudes f of sliding friction
therefore change by df, the multipliers of the constraints by Lambda df, and the loads by Z y + P Lambda df:

    (I - mu dN/df) df = mu (Z y)_N

with the coefficients of friction mu, the normal components (Z y)_N, the multipliers Lambda due to unit friction forces,
and the derivatives P of the loads with respect to the multipliers. Lambda and dN/df are those of the present directions
of slip.

If the friction limit of a joint is proportional to its load, it depends on the bearing forces of the joint, which a
redistribution also changes: `quirk.dynamics.sparse.kernels.load_limits`.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.vectors import back
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from .friction import LOAD, eliminate, linearise
from .load_limits import BEARINGS, room_at_loads
from .load_tables import (
    KIN_I,
    PATCH_JOINT_COUNT,
    PATCH_JOINTS,
    PATCH_LOADS,
    PATCH_SIZE,
    PATCH_SLIDES,
    PATCH_START,
    PATCH_WAYS,
    READING,
    TERM_COUNT,
    TERMS,
    Readings,
)
from .loads import constraint_load
from .mechanism import Mechanism
from .room import LOADS


@kernel
def patch(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray) -> float:
    """Return the largest margin (N) to the friction limits at which dependent contacts or joints can carry a load.

    The distribution of the load is not determined by the motion. The margin is positive if there is a distribution with
    all friction within its limits; it is defined in `quirk.dynamics.sparse.kernels.room`. Reading r selects the
    contacts or joints, and y is the last evaluated state.
    """
    o = READING * r
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    contacts, ways, start = (
        readings.entries[o + PATCH_SIZE], readings.entries[o + PATCH_WAYS], readings.entries[o + PATCH_START],
    )  # fmt: skip
    followed, joints = readings.entries[o + PATCH_JOINTS], readings.entries[o + PATCH_JOINT_COUNT]
    components = LOADS * contacts + BEARINGS * joints
    constants = start + contacts
    weights = constants + components
    basis = weights + components * count
    for component in range(components):
        force = at(readings.patches, constants + component)
        for k in range(count):
            multiplier = at(mechanism.work.x, readings.multipliers[first + k])
            force += at(readings.patches, weights + count * component + k) * multiplier
        put(readings.shared, component, force)
    for k in range(components * ways):
        put(readings.basis, k, at(readings.patches, basis + k))
    if readings.entries[o + PATCH_SLIDES] >= 0:
        couple(mechanism, readings, r, weights)
    for k in range(joints):
        bear(mechanism, readings, readings.entries[o + PATCH_LOADS] + 2 * k, y,
             LOADS * contacts + BEARINGS * k, basis + components * ways + BEARINGS * LOAD * k)  # fmt: skip
    return room_at_loads(
        readings.shared[:components], readings.basis, readings.followed[followed : followed + joints], contacts, ways,
        readings.patches[start : start + contacts], readings.scratch,
    )  # fmt: skip


@kernel
def bear(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray, into: int, shares: int) -> None:
    """Add the bearing forces due to the present load of a joint to the loads of dependent joints in `readings.shared`.

    Readings r and r + 1 are force and torque of the joint, and y is the last evaluated state. The six components of the
    bearing forces, in axes of body i, are the load times the matrix (6, 6) at index `shares` of `readings.patches`.
    They are added to `readings.shared` from index `into` on.
    """
    kin, body = mechanism.work.kin, readings.entries[READING * r + KIN_I]
    force = back(kin, body, constraint_load(mechanism, readings, r, y))
    torque = back(kin, body, constraint_load(mechanism, readings, r + 1, y))
    for c in range(BEARINGS):
        total, row = at(readings.shared, into + c), shares + LOAD * c
        for d in range(3):
            total += at(readings.patches, row + d) * force[d] + at(readings.patches, row + 3 + d) * torque[d]
        put(readings.shared, into + c, total)


@kernel
def couple(mechanism: Mechanism, readings: Readings, r: int, weights: int) -> None:
    """Add the effect of sliding friction on the loads to each redistribution in `readings.basis`.

    A redistribution changes the normal loads of sliding contacts, and thus their friction. Reading r selects the
    contacts; `weights` is the index in `readings.patches` of the first weight of multipliers in their loads.
    """
    rubbing, o, rows = mechanism.frictions, READING * r, mechanism.work.x.shape[0]
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    contacts, ways, slides = (
        readings.entries[o + PATCH_SIZE], readings.entries[o + PATCH_WAYS], readings.entries[o + PATCH_SLIDES],
    )  # fmt: skip
    frictions = rubbing.element.shape[0]
    for way in range(ways):
        linearise(mechanism)
        for k in range(frictions):
            put(rubbing.residual, k, 0.0)
        for contact in range(contacts):
            k = readings.slides[slides + contact]
            if k >= 0:
                put(rubbing.residual, k, at(rubbing.coefficient, k) * at(readings.basis, LOADS * contact * ways + way))
        eliminate(rubbing.matrix, rubbing.residual, frictions)
        for term in range(count):
            row, change = readings.multipliers[first + term], 0.0
            for k in range(frictions):
                change += at(rubbing.residual, k) * at(rubbing.x, (k + 1) * rows + row)
            put(readings.scratch, term, change)
        for load_of_contact in range(LOADS * contacts):
            change = 0.0
            for term in range(count):
                change += at(readings.patches, weights + count * load_of_contact + term) * at(readings.scratch, term)
            place = ways * load_of_contact + way
            put(readings.basis, place, at(readings.basis, place) + change)
