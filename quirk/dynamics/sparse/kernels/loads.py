"""Load of one constraint, from the multipliers of the last evaluation, in compiled code."""

from __future__ import annotations

import math

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, MOMENT, POSITION
from quirk.dynamics.model.vectors import body_vector, cross, minus, turned
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, total

from .load_tables import (
    ARM,
    IS_TORQUE,
    J_IS_GROUND,
    KIN_I,
    KIN_J,
    NODE,
    NODE_END,
    NUMBERS,
    READING,
    STATE_I,
    STATE_J,
    UNSCALED,
    WRENCH_I,
    WRENCH_J,
    Readings,
)
from .mechanism import Mechanism
from .relations import relation_wrenches
from .rows import RELATION


@kernel
def component(axis: int, vector: tuple[float, float, float]) -> float:
    """Return component x, y or z of a vector for `axis` 0, 1 or 2, or its magnitude for `axis` -1."""
    x, y, z = vector
    if axis < 0:
        return math.sqrt(x * x + y * y + z * z)
    return x if axis == 0 else y if axis == 1 else z


@kernel
def constraint_load(
    mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray, x: np.ndarray
) -> tuple[float, float, float]:
    """Return the force (N) or torque (N m) that body i exerts on body j through a constraint, in the inertial frame.

    Reading r selects the constraint, and force or torque. The torque is about the joint point of body j. y is the last
    evaluated state, and x are the multipliers.
    """
    nodes, work, o, wrench = mechanism.nodes, mechanism.work, READING * r, readings.wrench
    entries = readings.entries
    i, j = entries[o + WRENCH_I], entries[o + WRENCH_J]
    for c in range(6):
        put(wrench, i + 8 * c, 0.0)
        put(wrench, j + 8 * c, 0.0)
    for k in range(entries[o + NODE], entries[o + NODE_END]):
        n = readings.nodes[k]
        if nodes.kind[n] == RELATION:
            relation_wrenches(nodes.relations, nodes.lanes[n], work.G, x, 8 * n, wrench)
            continue
        multipliers, g = load(x, 8 * n), G_SIZE * n
        for c in range(3):
            force = total(multipliers * load(work.G, g + G_FORCE + 8 * c))
            wrench[i + 8 * c] -= force
            wrench[j + 8 * c] += force
            wrench[i + MOMENT + 8 * c] += total(multipliers * load(work.G, g + G_I + 8 * c))
            wrench[j + MOMENT + 8 * c] += total(multipliers * load(work.G, g + G_J + 8 * c))
    # The load on the ground is the reaction of body i.
    ground = entries[o + J_IS_GROUND] != 0
    near, sign = (i, -1.0) if ground else (j, 1.0)
    force = sign * at(wrench, near), sign * at(wrench, near + 8), sign * at(wrench, near + 16)
    if entries[o + IS_TORQUE] == 0:
        return force
    u, kin = NUMBERS * r + UNSCALED, entries[o + KIN_I] if ground else entries[o + KIN_J]
    a, b, c = body_vector(wrench, near + MOMENT)
    numbers = readings.numbers
    moment = turned(
        work.kin,
        kin,
        (
            sign * (at(numbers, u) * a + at(numbers, u + 1) * b + at(numbers, u + 2) * c),
            sign * (at(numbers, u + 3) * a + at(numbers, u + 4) * b + at(numbers, u + 5) * c),
            sign * (at(numbers, u + 6) * a + at(numbers, u + 7) * b + at(numbers, u + 8) * c),
        ),
    )
    m = NUMBERS * r + ARM
    arm = turned(work.kin, entries[o + KIN_J], (at(numbers, m), at(numbers, m + 1), at(numbers, m + 2)))
    centre = body_vector(y, (entries[o + STATE_I] if ground else entries[o + STATE_J]) + 8 * POSITION)
    away = minus(minus(centre, body_vector(y, entries[o + STATE_J] + 8 * POSITION)), arm)
    x, y_, z = cross(away, force)
    return moment[0] + x, moment[1] + y_, moment[2] + z
