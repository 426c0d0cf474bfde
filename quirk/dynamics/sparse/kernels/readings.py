"""Readings: scalars computed from an evaluated state, such as a load of a constraint or force element, or an energy."""

from __future__ import annotations

import math

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import GRAVITY, INVERSE_FACTOR, MASS, OMEGA, POSITION, VELOCITY
from quirk.dynamics.model.vectors import dot, load3, rows_times
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, total

from .applied import ELEMENT_SIZE, OUTPUT
from .bodies import CON, STATE
from .common_margin import common_margin
from .friction import load_of, normal
from .load_tables import (
    AXIS,
    COEFFICIENT,
    COMMON_MARGIN,
    CONE,
    ELEMENT,
    END,
    FORCES,
    IS_TORQUE,
    KINETIC,
    LEVEL,
    MOST_FORCES,
    MULTIPLIER,
    NUMBERS,
    OF_CONSTRAINT,
    OF_FORCE,
    OFFSETS,
    OUTPUT_OF_LAW,
    PLACE,
    POTENTIAL,
    READING,
    SHARE,
    SOLVABLE,
    TERM_COUNT,
    TERMS,
    Readings,
)
from .loads import component, constraint_load
from .mechanism import Mechanism


@kernel
def reading(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray, x: np.ndarray) -> float:
    """Return the value of reading r minus its threshold, in the unit of the reading.

    A reading is a watched scalar, such as a component of a joint load, in N or N m, or an energy, in J. y must be the
    last evaluated state; x are the multipliers from which loads of constraints are computed.
    """
    kind, o = readings.kind[r], READING * r
    level = at(readings.numbers, NUMBERS * r + LEVEL)
    if kind == OF_CONSTRAINT:
        return component(readings.entries[o + AXIS], constraint_load(mechanism, readings, r, y, x)) - level
    if kind == MULTIPLIER:
        return at(mechanism.work.x, readings.entries[o + PLACE]) - level
    if kind == OF_FORCE:
        return component(readings.entries[o + AXIS], exerted_load(mechanism, readings, r)) - level
    if kind == OUTPUT_OF_LAW:
        return at(mechanism.forces.outputs, readings.entries[o + PLACE]) - level
    if kind == SHARE:
        return shared(mechanism, readings, r, 0) - level
    if kind == CONE:
        return cone(mechanism, readings, r, y) - level
    if kind == SOLVABLE:
        return at(mechanism.frictions.solvable, 0) - level
    if kind == COMMON_MARGIN:
        return common_margin(mechanism, readings, r, y) - level
    found = 0.0
    if readings.entries[o + KINETIC] != 0:
        found += kinetic(mechanism.constants, y)
    if readings.entries[o + POTENTIAL] != 0:
        found += potential(mechanism, readings, y)
    return found - level


@kernel
def shared(mechanism: Mechanism, readings: Readings, r: int, force: int) -> float:
    """Return a force (N) or torque (N m) that is a linear combination of multipliers.

    Reading r contains several forces; `force` is the index of the requested one: 0 for the normal load, and 1 and
    higher for the components of friction.
    """
    o = READING * r
    first, count = readings.entries[o + TERMS], readings.entries[o + TERM_COUNT]
    total_force = at(readings.numbers, NUMBERS * r + OFFSETS + force)
    for k in range(count):
        row = readings.multipliers[first + k]
        weight = at(readings.weights, MOST_FORCES * first + count * force + k)
        total_force += weight * at(mechanism.work.x, row)
    return total_force


@kernel
def cone(mechanism: Mechanism, readings: Readings, r: int, y: np.ndarray) -> float:
    """Return the static friction limit minus the magnitude of a sticking friction force, N.

    The bodies start to slide when the difference becomes negative. Reading r selects the friction element; y is the
    last evaluated state.
    """
    o, frictions = READING * r, mechanism.frictions
    k, load = readings.entries[o + PLACE], shared(mechanism, readings, r, 0)
    if k >= 0:
        load_of(mechanism, k, y, 0, frictions.varied)
        load = normal(mechanism, k, frictions.varied, 0)
    square = 0.0
    for force in range(1, readings.entries[o + FORCES]):
        square += shared(mechanism, readings, r, force) ** 2
    return at(readings.numbers, NUMBERS * r + COEFFICIENT) * load - math.sqrt(square)


@kernel
def exerted_load(mechanism: Mechanism, readings: Readings, r: int) -> tuple[float, float, float]:
    """Return the force (N) or moment (N m) that a force element exerts on one body, in the inertial frame.

    Reading r selects the element, the body, and force or moment. The moment is about the center of mass of the body.
    """
    forces, o = mechanism.forces, READING * r
    e = readings.entries[o + ELEMENT]
    out = forces.entries[ELEMENT_SIZE * e + OUTPUT] + LANES * readings.entries[o + END]
    out += 3 if readings.entries[o + IS_TORQUE] != 0 else 0
    return at(forces.outputs, out), at(forces.outputs, out + 1), at(forces.outputs, out + 2)


@kernel
def kinetic(constants: np.ndarray, y: np.ndarray) -> float:
    """Return the kinetic energy of all bodies in state y, J.

    `constants` are the constants of the bodies.
    """
    found = 0.0
    for block in range(constants.shape[0] // CON):
        s, c = block * STATE, block * CON
        v, omega = load3(y, s + 8 * VELOCITY), rows_times(constants, c + 8 * INVERSE_FACTOR, load3(y, s + 8 * OMEGA))
        found += 0.5 * total(load(constants, c + 8 * MASS) * dot(v, v) + dot(omega, omega))
    return found


@kernel
def potential(mechanism: Mechanism, readings: Readings, y: np.ndarray) -> float:
    """Return the potential energy of gravity in state y and of all force elements, J.

    The energies of force elements are those of the last evaluation.
    """
    constants, found = mechanism.constants, 0.0
    for block in range(constants.shape[0] // CON):
        c = block * CON
        gravity, r = load3(constants, c + 8 * GRAVITY), load3(y, block * STATE + 8 * POSITION)
        found -= total(load(constants, c + 8 * MASS) * dot(gravity, r))
    for n in range(readings.energies.shape[0]):
        found += at(mechanism.forces.outputs, readings.energies[n])
    return found
