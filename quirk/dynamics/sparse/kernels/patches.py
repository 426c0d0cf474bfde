"""Largest margin of dependent contacts or joints to their friction limits, over all distributions of the load.

A redistribution y changes the loads of the contacts by Z y. Without sliding it has no effect on the motion. The
friction of sliding contacts is proportional to their normal loads N. The magnitudes f of sliding friction therefore
change by df, the multipliers of the constraints by Lambda df, and the loads by Z y + P Lambda df:

    (I - mu dN/df) df = mu (Z y)_N

with the coefficients of friction mu, the multipliers Lambda due to unit friction forces, and the weights P of the loads
with respect to the multipliers. Lambda and dN/df are those of the present directions of slip.
"""

from __future__ import annotations

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from .friction import eliminate, linearise
from .load_tables import PATCH_SIZE, PATCH_SLIDES, PATCH_START, PATCH_WAYS, READING, TERM_COUNT, TERMS, Readings
from .mechanism import Mechanism
from .room import LOADS, room


@kernel
def patch(mechanism: Mechanism, readings: Readings, r: int) -> float:
    """Return the largest margin (N) to the friction limits with which dependent contacts or joints can carry a load.

    The margin is positive if there is a distribution of the load with all friction within its limits. Reading r selects
    the contacts or joints; see `quirk.dynamics.sparse.kernels.room`.
    """
    o = READING * r
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    contacts, ways, start = (
        readings.entries[o + PATCH_SIZE], readings.entries[o + PATCH_WAYS], readings.entries[o + PATCH_START],
    )  # fmt: skip
    constants = start + contacts
    weights = constants + LOADS * contacts
    basis = weights + LOADS * contacts * count
    for load_of_contact in range(LOADS * contacts):
        force = at(readings.patches, constants + load_of_contact)
        for k in range(count):
            multiplier = at(mechanism.work.x, readings.multipliers[first + k])
            force += at(readings.patches, weights + count * load_of_contact + k) * multiplier
        put(readings.shared, load_of_contact, force)
    for k in range(LOADS * contacts * ways):
        put(readings.basis, k, at(readings.patches, basis + k))
    if readings.entries[o + PATCH_SLIDES] >= 0:
        couple(mechanism, readings, r, weights)
    return room(
        readings.shared, readings.basis, contacts, ways, readings.patches[start : start + contacts], readings.scratch
    )


@kernel
def couple(mechanism: Mechanism, readings: Readings, r: int, weights: int) -> None:
    """Add the effect of sliding friction on the loads to each redistribution in `readings.basis`.

    Reading r selects the contacts; `weights` is the index of the first weight of their loads in `readings.patches`.
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
