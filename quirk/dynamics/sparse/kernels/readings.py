"""Single numbers read off an evaluation, in kernels: loads of one constraint or force element, and energies."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import kernel
from quirk.constraints.relation import LANES
from quirk.lanes import at, load, put, total
from quirk.record import record

from ...layout import G_FORCE, G_I, G_J, G_SIZE, GRAVITY, INVERSE_FACTOR, MASS, MOMENT, OMEGA, POSITION, VELOCITY
from ...vectors import cross, dot, load3, minus, rows_times, three, turned
from .applied import ELEMENT_SIZE, OUTPUT
from .bodies import CON, STATE
from .mechanism import Mechanism
from .relations import relation_wrenches
from .rows import RELATION

# What is read: a load of a constraint, its multiplier, a load of a force element, one of the numbers that its law
# gives, or an energy of the system.
OF_CONSTRAINT, MULTIPLIER, OF_FORCE, OUTPUT_OF_LAW, ENERGY = range(5)

# Entries of each reading. Of a load: whether it is a torque, and along which axis of N, -1 for its magnitude. Of a
# constraint: its nodes; of both its bodies where they are in states, kinematics and wrenches; and whether body j is the
# ground. Of a force element its number and its end; where an output or a multiplier is; which energies count.
(
    IS_TORQUE, AXIS, NODE, NODE_END, STATE_I, STATE_J, KIN_I, KIN_J, WRENCH_I, WRENCH_J, J_IS_GROUND, ELEMENT, END,
    PLACE, KINETIC, POTENTIAL,
) = range(16)  # fmt: skip
READING = 16
# Numbers of each reading: the level; the joint point of j in body coordinates; the inverse of the factor of moments.
LEVEL, ARM, UNSCALED = 0, 1, 4
NUMBERS = 13


@record
class Readings(NamedTuple):
    """R readings.

    kind (R,) · entries (READING R,), numbers (NUMBERS R,): as above · nodes: of all constraints, one after the other ·
    energies: where the outputs of laws have their energies · wrench: scratch
    """

    kind: np.ndarray
    entries: np.ndarray
    numbers: np.ndarray
    nodes: np.ndarray
    energies: np.ndarray
    wrench: np.ndarray


@kernel
def reading(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray) -> float:
    """Return a reading less its level, after an evaluation at y."""
    kind, o = readings.kind[r], READING * r
    level = at(readings.numbers, NUMBERS * r + LEVEL)
    if kind == OF_CONSTRAINT:
        return component(readings.entries[o + AXIS], constraint_load(mechanism, readings, r, y)) - level
    if kind == MULTIPLIER:
        return at(mechanism.work.x, readings.entries[o + PLACE]) - level
    if kind == OF_FORCE:
        return component(readings.entries[o + AXIS], exerted_load(mechanism, readings, r)) - level
    if kind == OUTPUT_OF_LAW:
        return at(mechanism.forces.outputs, readings.entries[o + PLACE]) - level
    found = 0.0
    if readings.entries[o + KINETIC] != 0:
        found += kinetic(mechanism.constants, y)
    if readings.entries[o + POTENTIAL] != 0:
        found += potential(mechanism, readings, y)
    return found - level


@kernel
def component(axis: int, vector: tuple[float, float, float]) -> float:
    """One component of a vector, or its magnitude for axis -1."""
    x, y, z = vector
    if axis < 0:
        return math.sqrt(x * x + y * y + z * z)
    return x if axis == 0 else y if axis == 1 else z


@kernel
def constraint_load(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray) -> tuple[float, float, float]:
    """Force on body j by body i in N, or the torque about the joint point of body j."""
    nodes, work, o, wrench = mechanism.nodes, mechanism.work, READING * r, readings.wrench
    entries = readings.entries
    i, j = entries[o + WRENCH_I], entries[o + WRENCH_J]
    for c in range(6):
        put(wrench, i + 8 * c, 0.0)
        put(wrench, j + 8 * c, 0.0)
    for k in range(entries[o + NODE], entries[o + NODE_END]):
        n = readings.nodes[k]
        if nodes.kind[n] == RELATION:
            relation_wrenches(nodes.relations, nodes.lanes[n], work.G, work.x, 8 * n, wrench)
            continue
        multipliers, g = load(work.x, 8 * n), G_SIZE * n
        for c in range(3):
            force = total(multipliers * load(work.G, g + G_FORCE + 8 * c))
            wrench[i + 8 * c] -= force
            wrench[j + 8 * c] += force
            wrench[i + MOMENT + 8 * c] += total(multipliers * load(work.G, g + G_I + 8 * c))
            wrench[j + MOMENT + 8 * c] += total(multipliers * load(work.G, g + G_J + 8 * c))
    # What acts on the ground is read off body i.
    ground = entries[o + J_IS_GROUND] != 0
    near, sign = (i, -1.0) if ground else (j, 1.0)
    force = sign * at(wrench, near), sign * at(wrench, near + 8), sign * at(wrench, near + 16)
    if entries[o + IS_TORQUE] == 0:
        return force
    u, kin = NUMBERS * r + UNSCALED, entries[o + KIN_I] if ground else entries[o + KIN_J]
    a, b, c = three(wrench, near + MOMENT)
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
    centre = three(y, (entries[o + STATE_I] if ground else entries[o + STATE_J]) + 8 * POSITION)
    away = minus(minus(centre, three(y, entries[o + STATE_J] + 8 * POSITION)), arm)
    x, y_, z = cross(away, force)
    return moment[0] + x, moment[1] + y_, moment[2] + z


@kernel
def exerted_load(mechanism: Mechanism, readings: Readings, r: int) -> tuple[float, float, float]:
    """Force in N, or moment about the centre of mass in N, of a force element on the body of one of its ends."""
    forces, o = mechanism.forces, READING * r
    e = readings.entries[o + ELEMENT]
    out = forces.entries[ELEMENT_SIZE * e + OUTPUT] + LANES * readings.entries[o + END]
    out += 3 if readings.entries[o + IS_TORQUE] != 0 else 0
    return at(forces.outputs, out), at(forces.outputs, out + 1), at(forces.outputs, out + 2)


@kernel
def kinetic(constants: np.ndarray, y: np.ndarray) -> float:
    """Kinetic energy of all bodies, J."""
    found = 0.0
    for block in range(constants.shape[0] // CON):
        s, c = block * STATE, block * CON
        v, omega = load3(y, s + 8 * VELOCITY), rows_times(constants, c + 8 * INVERSE_FACTOR, load3(y, s + 8 * OMEGA))
        found += 0.5 * total(load(constants, c + 8 * MASS) * dot(v, v) + dot(omega, omega))
    return found


@kernel
def potential(mechanism: Mechanism, readings: Readings, y: np.ndarray) -> float:
    """Energy of gravity and of all force elements, J."""
    constants, found = mechanism.constants, 0.0
    for block in range(constants.shape[0] // CON):
        c = block * CON
        gravity, r = load3(constants, c + 8 * GRAVITY), load3(y, block * STATE + 8 * POSITION)
        found -= total(load(constants, c + 8 * MASS) * dot(gravity, r))
    for n in range(readings.energies.shape[0]):
        found += at(mechanism.forces.outputs, readings.energies[n])
    return found
