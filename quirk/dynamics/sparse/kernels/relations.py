"""Constraint rows of relations, which are constraints defined by functions, in compiled code.

A relation is evaluated by calling its compiled function by address. The function computes residuals Phi, the rows A of
the Jacobian, and the right-hand sides b of A a = b for the accelerations a. The mass matrix is (W W^T)^-1.

A side of a relation consists of the loads exerted by a unit multiplier of each of its rows on one of its bodies: forces
and scaled moments. There is one side for each frame of the relation. In the array G, the sides follow after the rows of
constraints made of primitives, which store a single force for both bodies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import ALPHA, LINEAR, MOMENT, POSITION, ROTATION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import back, body_vector, dot, load3, magnitudes, scaled, store3
from quirk.functions.motion_kernels import MotionTable, motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.function_pointers import call
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store, total

# Number of time derivatives of Phi that the equation of motion needs, and for which relations are compiled.
ORDER = 2

# Offsets of the force and of the scaled moment among the elements of a side: three vectors of eight rows each.
SIDE_FORCE, SIDE_MOMENT = 0, 24
SIDE_SIZE = 48


# Integers of each relation. INPUT and OUTPUT are indices; FRAMES is an offset from INPUT, and GRADIENT from OUTPUT.
#   ADDRESS: address of the compiled function
#   ROWS: number of constraint rows
#   INPUT, OUTPUT: its first input, and its first output
#   FRAMES, GRADIENT: its first input that describes a frame, and its first output that is a component of a gradient
#   NUMBERS: number of constants
#   MOTION, MOTION_END: range of its prescribed motions
#   SIDE, SIDE_END: range of its sides
#   OF_VELOCITIES: 1 if its rows constrain velocities only, such as rolling, otherwise 0
ADDRESS, ROWS, INPUT, OUTPUT, FRAMES, GRADIENT, NUMBERS, MOTION, MOTION_END, SIDE, SIDE_END, OF_VELOCITIES = range(12)
RELATION_SIZE = 12

# Integers of each side: offsets of its body in arrays of states, kinematics and wrenches, and offset of the side in G.
STATE_AT, KINEMATICS_AT, WRENCH_AT, G_AT = range(4)
SIDE_ENTRIES = 4


@record
class Relations(NamedTuple):
    """Relations, constraints defined by functions, of a model as flat arrays for compiled code.

    Names in capitals are constants of this module. A side of a relation consists of the loads of its unit multipliers
    on one body.

    Attributes
    ----------
    entries : (RELATION_SIZE per relation,) integers of each relation: address of its function, number of rows, and
        indices of its data in the other arrays
    sides : (SIDE_ENTRIES per side,) offsets of the body of each side in arrays of states, kinematics and wrenches, and
        of the side in the array G of all rows
    inverse_mass : (S,) 1/m of the body of each of S sides, 1/kg
    motions : prescribed motions of all relations
    inputs, outputs : inputs and outputs of all functions, concatenated; see `quirk.constraints.relation.RelationLayout`
    """

    entries: np.ndarray
    sides: np.ndarray
    inverse_mass: np.ndarray
    motions: MotionTable
    inputs: np.ndarray
    outputs: np.ndarray

    def entry(self, r: int, index: int) -> int:
        """Return an integer of relation r from `entries`; for calls from Python.

        `index` is one of the constants of this module from ADDRESS to OF_VELOCITIES.
        """
        return int(self.entries[RELATION_SIZE * r + index])

    def starts(self, r: int) -> list[int]:
        """Return the first index in G of the loads of relation r on each of its bodies; for calls from Python.

        G is the array of all constraint rows.
        """
        sides = self.sides.reshape(-1, SIDE_ENTRIES)[self.entry(r, SIDE) : self.entry(r, SIDE_END)]
        return [int(start) for start in sides[:, G_AT]]


# Inputs of a frame: position and orientation in the body (12); then of the body position, velocity and zero
# acceleration, rotation matrix, angular velocity and zero angular acceleration.
FRAME_SIZE, BODY_POSITION, BODY_VELOCITY, BODY_ROTATION, BODY_SPIN = 36, 12, 15, 21, 30


@kernel
def evaluate_relation(relations: Relations, r: int, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Evaluate the function of relation r at time t (s) and state y.

    A relation is a constraint defined by a function. `kin` contains the kinematics of all bodies; the results are
    written to `relations.outputs`.
    """
    e = RELATION_SIZE * r
    first, first_motion = relations.entries[e + INPUT], relations.entries[e + MOTION]
    for m in range(first_motion, relations.entries[e + MOTION_END]):
        o = first + relations.entries[e + NUMBERS] + (m - first_motion) * (ORDER + 1)
        motion_taylor(relations.motions, m, t, ORDER, relations.inputs, o)
    o = first + relations.entries[e + FRAMES]
    for s in range(relations.entries[e + SIDE], relations.entries[e + SIDE_END]):
        state, k = relations.sides[SIDE_ENTRIES * s + STATE_AT], relations.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
        for c in range(3):
            put(relations.inputs, o + BODY_POSITION + c, at(y, state + 8 * (POSITION + c)))
            put(relations.inputs, o + BODY_VELOCITY + c, at(y, state + 8 * (VELOCITY + c)))
            put(relations.inputs, o + BODY_SPIN + c, at(kin, k + 8 * (SPIN + c)))
        for c in range(9):
            put(relations.inputs, o + BODY_ROTATION + c, at(kin, k + 8 * (ROTATION + c)))
        o += FRAME_SIZE
    out = relations.entries[e + OUTPUT]
    for c in range(relations.entries[e + ROWS] * (ORDER + 1)):
        put(relations.outputs, out + c, math.nan)  # remains nan if the function fails
    call(relations.entries[e + ADDRESS], t, relations.inputs, first, relations.outputs, out)


@kernel
def relation_rows(
    relations: Relations,
    r: int,
    t: float,
    y: np.ndarray,
    kin: np.ndarray,
    alpha: float,
    beta: float,
    G: np.ndarray,
    rhs: np.ndarray,
    o: int,
) -> None:
    """Compute the constraint rows A of relation r, in G, and their right-hand sides b - A a.

    A relation is a constraint defined by a function. The rows are written to the elements of G listed in
    `relations.sides` for each of its bodies, and the right-hand sides to `rhs`, from index o on. `kin` contains the
    kinematics of all bodies and their accelerations a. Baumgarte's terms 2 alpha Phi_dot + beta^2 Phi, with the
    residuals Phi, are subtracted from b. t is the time (s), and y the state.
    """
    evaluate_relation(relations, r, t, y, kin)
    e = RELATION_SIZE * r
    out, begin, end = relations.entries[e + OUTPUT], relations.entries[e + SIDE], relations.entries[e + SIDE_END]
    store(rhs, o, splat(0.0))
    for row in range(relations.entries[e + ROWS]):
        d = out + row * (ORDER + 1)
        phi, phi_dot, bend = at(relations.outputs, d), at(relations.outputs, d + 1), at(relations.outputs, d + 2)
        put(rhs, o + row, -(bend + 2.0 * alpha * phi_dot + beta * beta * phi))
    for s in range(begin, end):
        g, k = relations.sides[SIDE_ENTRIES * s + G_AT], relations.sides[SIDE_ENTRIES * s + KINEMATICS_AT]
        for c in range(6):
            store(G, g + 8 * c, splat(0.0))  # lanes without a row as well, as nan would remain there
        for row in range(relations.entries[e + ROWS]):
            gradient = out + relations.entries[e + GRADIENT] + 8 * (row * (end - begin) + s - begin)
            for c in range(3):
                put(G, g + SIDE_FORCE + 8 * c + row, at(relations.outputs, gradient + c))
                put(G, g + SIDE_MOMENT + 8 * c + row, at(relations.outputs, gradient + 3 + c))
        moment = load3(G, g + SIDE_MOMENT)
        free = dot(load3(G, g + SIDE_FORCE), body_vector(kin, k + 8 * LINEAR)) + dot(
            moment, body_vector(kin, k + 8 * ALPHA)
        )
        store(rhs, o, load(rhs, o) - free)
        store3(G, g + SIDE_MOMENT, scaled(kin, k, back(kin, k, moment)))


@kernel
def relation_residuals(
    relations: Relations, r: int, t: float, y: np.ndarray, kin: np.ndarray, order: int, out: np.ndarray, o: int
) -> None:
    """Write the residuals of relation r, or their rates if `order` is 1, to `out`, from index o on.

    A relation is a constraint defined by a function. t is the time (s), y the state, and `kin` the kinematics of all
    bodies.
    """
    evaluate_relation(relations, r, t, y, kin)
    e = RELATION_SIZE * r
    for row in range(relations.entries[e + ROWS]):
        put(out, o + row, at(relations.outputs, relations.entries[e + OUTPUT] + row * (ORDER + 1) + order))


@kernel
def relation_along(relations: Relations, r: int, G: np.ndarray, motion: np.ndarray, out: np.ndarray, o: int) -> None:
    """Write the products of the rows of relation r, in G, and a motion of the bodies to `out`, from index o on.

    A relation is a constraint defined by a function. The motion consists of translations in the inertial frame, and
    W^-1 times rotations in body axes, with the metric W of a body: W W^T = J^-1.
    """
    row = splat(0.0)
    for s in range(relations.entries[RELATION_SIZE * r + SIDE], relations.entries[RELATION_SIZE * r + SIDE_END]):
        g, b = relations.sides[SIDE_ENTRIES * s + G_AT], relations.sides[SIDE_ENTRIES * s + WRENCH_AT]
        row = row + dot(body_vector(motion, b), load3(G, g + SIDE_FORCE))
        row = row + dot(body_vector(motion, b + MOMENT), load3(G, g + SIDE_MOMENT))
    store(out, o, row)


@kernel
def relation_along_with_terms(
    relations: Relations, r: int, G: np.ndarray, motion: np.ndarray, out: np.ndarray, terms: np.ndarray, o: int
) -> None:
    """Write the products of the rows of relation r, in G, and a motion of the bodies to `out`, from index o on.

    The sum of the absolute values of the terms of each product is added to `terms`. A relation is a constraint defined
    by a function. The motion consists of translations in the inertial frame, and W^-1 times rotations in body axes,
    with the metric W of a body: W W^T = J^-1.
    """
    row, size = splat(0.0), load(terms, o)
    for s in range(relations.entries[RELATION_SIZE * r + SIDE], relations.entries[RELATION_SIZE * r + SIDE_END]):
        g, b = relations.sides[SIDE_ENTRIES * s + G_AT], relations.sides[SIDE_ENTRIES * s + WRENCH_AT]
        for part in range(0, SIDE_SIZE, SIDE_MOMENT):
            moved, exerted = body_vector(motion, b + part // SIDE_MOMENT * MOMENT), load3(G, g + part)
            row = row + dot(moved, exerted)
            size = size + magnitudes(moved, exerted)
    store(out, o, row)
    store(terms, o, size)


@kernel
def relation_wrenches(relations: Relations, r: int, G: np.ndarray, x: np.ndarray, o: int, wrench: np.ndarray) -> None:
    """Add the loads that relation r, a constraint defined by a function, exerts on its bodies to `wrench`.

    The multipliers of the relation begin at index o of x; the rows are in G.
    """
    multipliers = load(x, o)
    for s in range(relations.entries[RELATION_SIZE * r + SIDE], relations.entries[RELATION_SIZE * r + SIDE_END]):
        g, b = relations.sides[SIDE_ENTRIES * s + G_AT], relations.sides[SIDE_ENTRIES * s + WRENCH_AT]
        for c in range(6):
            wrench[b + 8 * c] += total(multipliers * load(G, g + 8 * c))


@kernel
def relation_lengths(
    relations: Relations, r: int, inverse_mass: np.ndarray, G: np.ndarray, lengths: np.ndarray, o: int
) -> None:
    """Write the squared norms of the rows A W of relation r to `lengths`, from index o on.

    A relation is a constraint defined by a function. The mass matrix is (W W^T)^-1. G is the array of all rows, and
    `inverse_mass` is 1/m of each body of each relation, 1/kg.
    """
    squares = splat(0.0)
    for s in range(relations.entries[RELATION_SIZE * r + SIDE], relations.entries[RELATION_SIZE * r + SIDE_END]):
        g = relations.sides[SIDE_ENTRIES * s + G_AT]
        for c in range(3):
            force, moment = load(G, g + SIDE_FORCE + 8 * c), load(G, g + SIDE_MOMENT + 8 * c)
            squares = squares + inverse_mass[s] * force * force + moment * moment
    store(lengths, o, squares)
