"""Friction proportional to constraint loads, solved simultaneously with these loads.

Multipliers are affine in the magnitudes f (c,) of all friction forces: lambda = lambda_0 + sum of f_l lambda_l, where
lambda_l are the multipliers due to a unit force of friction l. Each lambda_l requires one more solve with the same
factorization. Then f_k = mu_k N_k(lambda), with the coefficients of friction mu_k and the normal loads N_k, are c
equations for c magnitudes. They are linear where N is a multiplier, as for a contact; otherwise they are solved by
Newton's method. Their Jacobian I - mu dN/df has a positive determinant unless friction affects its normal load so much
that there is no solution, or several solutions (Painleve 1895). A wrench is a force and a moment on a body.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.vectors import cross, dot, minus, plus, times, turned
from quirk.forces.friction import ALONG, NORMAL, WHOLE
from quirk.forces.law_layout import COORDINATE
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, store

from .applied import ELEMENT_SIZE, OUTPUT, Forces
from .constraint_solve import add_constraint_loads, clear
from .linear_equations import eliminate
from .loads import constraint_load
from .mechanism import Mechanism
from .shared_rows import LOAD, add_unit_load, place_values, share_loads

# Maximum number of Newton iterations.
MOST_ITERATIONS = 50
# Newton's method has converged if the corrections of the friction forces are at most this fraction of the largest
# force, which is round-off, or if they no longer decrease and are at most the square root of this fraction.
CONVERGED = 4e-16
# Number of bodies of a friction element: i and j.
ENDS = 2


@component(effort=3)
def solve_friction(mechanism: Mechanism, y: np.ndarray, passes: int) -> None:
    """Add constraint loads and friction to the applied loads in work.wrench, and write the multipliers to work.x.

    Friction is proportional to the constraint loads, and is solved simultaneously with them. The constraint rows A must
    be factorized. work.goal is the required value of A M^-1 w, with the mass matrix M and the sum w of all loads.
    `passes` is the minimum number of solves for each right-hand side. y is the state.
    """
    work, friction = mechanism.work, mechanism.frictions
    count, rows, bodies = friction.element.shape[0], work.x.shape[0], work.wrench.shape[0]
    shared = friction.shared
    if shared.elements.shape[0] > 0:
        share_loads(mechanism, shared, 0.0, y, passes)
        place_values(
            shared.weight_targets, shared.weight_sources, shared.weight_factors, shared.values, friction.weights
        )
    for source in range(count + 1):
        if source > 0:
            clear(work.wrench)
            clear(work.goal)
            unit_force(mechanism, source - 1)
        add_constraint_loads(mechanism, passes)
        for o in range(0, rows, 8):
            store(friction.x, source * rows + o, load(work.x, o))
        for o in range(0, bodies, 8):
            store(friction.wrench, source * bodies + o, load(work.wrench, o))
        for k in range(count):
            load_of(mechanism, k, y, LOAD * (source * count + k), friction.load)
    magnitudes(mechanism)
    for o in range(0, rows, 8):
        lanes = load(friction.x, o)
        for k in range(count):
            lanes = lanes + at(friction.magnitude, k) * load(friction.x, (k + 1) * rows + o)
        store(work.x, o, lanes)
    for o in range(0, bodies, 8):
        lanes = load(friction.wrench, o)
        for k in range(count):
            lanes = lanes + at(friction.magnitude, k) * load(friction.wrench, (k + 1) * bodies + o)
        store(work.wrench, o, lanes)
    for k in range(count):
        out = first_output(mechanism.forces, friction.element[k])
        for o in range(out, out + ENDS * LANES, LANES):
            store(mechanism.forces.outputs, o, at(friction.magnitude, k) * load(mechanism.forces.outputs, o))


@kernel
def first_output(forces: Forces, e: int) -> int:
    """Return the index, among the outputs of all force laws, of the first load component of force element e."""
    return forces.entries[ELEMENT_SIZE * e + OUTPUT]


@kernel
def unit_force(mechanism: Mechanism, k: int) -> None:
    """Add the loads of friction element k on bodies i and j to work.wrench.

    They are read from the outputs of its force law, which are the loads of a friction force of unit magnitude after an
    evaluation of the law.
    """
    frictions = mechanism.frictions
    begin = ENDS * k
    add_unit_load(mechanism.work, mechanism.forces, frictions.element[k], frictions.wrenches, begin, begin + ENDS)


@kernel
def load_of(mechanism: Mechanism, k: int, y: np.ndarray, o: int, into: np.ndarray) -> None:
    """Compute the constraint load on which the normal load of friction element k depends, from multipliers in work.x.

    For a joint, the constraint load is its force (N) and torque (N m), to which a weighted sum of multipliers is added
    where contacts share loads; for a contact, it is the normal force (N), a weighted sum of multipliers. It is written
    to `into` from index o on; y is the state.
    """
    frictions, kin = mechanism.frictions, mechanism.work.kin
    for c in range(LOAD):
        put(into, o + c, 0.0)
    if frictions.place[k] < 0:
        return
    for n in range(frictions.terms[k], frictions.terms[k + 1]):
        x = at(mechanism.work.x, frictions.multipliers[n])
        for c in range(LOAD):
            put(into, o + c, at(into, o + c) + x * at(frictions.weights, LOAD * n + c))
    if frictions.takes[k] == NORMAL:
        return
    for n in range(2):
        p = o + 3 * n
        vector = constraint_load(mechanism, frictions.readings, frictions.place[k] + n, y, mechanism.work.x)
        change = turned(kin, frictions.kinematics[ENDS * k], (at(into, p), at(into, p + 1), at(into, p + 2)))
        for c in range(3):
            put(into, p + c, vector[c] + change[c])


@kernel
def magnitudes(mechanism: Mechanism) -> None:
    """Solve f = mu N(f) for the magnitudes f of all sliding friction forces; without a solution they are set to NaN.

    N are the normal loads, which depend on f, and mu the coefficients of friction. The results are written to
    `magnitude` and `solvable` of mechanism.frictions; `solvable` is positive if the solution is unique.
    """
    frictions = mechanism.frictions
    count = frictions.element.shape[0]
    for k in range(count):
        put(frictions.magnitude, k, 0.0)
    before = math.inf
    for _ in range(MOST_ITERATIONS):
        linearise(mechanism)
        determinant = eliminate(frictions.matrix, frictions.residual, count)
        change, size = 0.0, 0.0
        for k in range(count):
            put(frictions.magnitude, k, at(frictions.magnitude, k) + at(frictions.residual, k))
            change = max(change, abs(at(frictions.residual, k)))
            size = max(size, abs(at(frictions.magnitude, k)))
        if not change < math.inf:
            break
        if change <= CONVERGED * size or (change >= before and change <= math.sqrt(CONVERGED) * size):
            put(frictions.solvable, 0, min(determinant, distance_from_jamming(mechanism)))
            return
        before = change
    for k in range(count):
        put(frictions.magnitude, k, math.nan)


@kernel
def linearise(mechanism: Mechanism) -> None:
    """Set up a step of Newton's method for f = mu N(f) at the present magnitudes f of friction forces.

    `matrix` of mechanism.frictions is set to I - mu dN/df, and `residual` to mu N - f, with the coefficients of
    friction mu and the normal loads N.
    """
    friction = mechanism.frictions
    count = friction.element.shape[0]
    for k in range(count):
        present_load(mechanism, k)
        limit = at(friction.coefficient, k) * normal(mechanism, k, friction.present, 0)
        put(friction.residual, k, limit - at(friction.magnitude, k))
        for m in range(count):
            slope = normal_rate(mechanism, k, friction.present, 0, friction.load, LOAD * ((m + 1) * count + k))
            put(friction.matrix, count * k + m, (1.0 if k == m else 0.0) - at(friction.coefficient, k) * slope)


@kernel
def present_load(mechanism: Mechanism, k: int) -> None:
    """Compute the constraint load on which the normal load of friction element k depends, with present friction.

    The result is the constraint load without friction plus the constraint loads due to unit friction forces times the
    present magnitudes. It is written to `present` of mechanism.frictions.
    """
    frictions = mechanism.frictions
    count = frictions.element.shape[0]
    for c in range(LOAD):
        total = at(frictions.load, LOAD * k + c)
        for m in range(count):
            total += at(frictions.magnitude, m) * at(frictions.load, LOAD * ((m + 1) * count + k) + c)
        put(frictions.present, c, total)


@kernel
def distance_from_jamming(mechanism: Mechanism) -> float:
    """Return the smallest value of 1 - mu dN/df over all joints with friction, at most 1.

    N is the normal load, f the friction force and mu the coefficient of friction. dN/df is replaced by an upper bound:
    the normal load that a unit friction force alone causes. If the result is not positive, f = mu N(f) may have two
    solutions or none, as the normal load of a joint is a norm. Contacts are not included.
    """
    frictions = mechanism.frictions
    count, least = frictions.element.shape[0], 1.0
    for k in range(count):
        if frictions.takes[k] == NORMAL:
            continue
        own = normal(mechanism, k, frictions.load, LOAD * ((k + 1) * count + k))
        least = min(least, 1.0 - at(frictions.coefficient, k) * own)
    return least


@kernel
def normal(mechanism: Mechanism, k: int, loads: np.ndarray, o: int) -> float:
    """Return the normal load N (N) of friction element k for a given constraint load.

    The constraint load begins at index o of `loads`: force and torque of a joint, or the normal force of a contact.
    """
    takes = mechanism.frictions.takes[k]
    if takes == NORMAL:
        return at(loads, o)
    one, two = bearing_forces(mechanism, k, loads, o)
    return math.sqrt(dot(one, one)) + math.sqrt(dot(two, two))


@kernel
def normal_rate(mechanism: Mechanism, k: int, loads: np.ndarray, o: int, changes: np.ndarray, p: int) -> float:
    """Return the derivative of the normal load of friction element k along a variation of the constraint load.

    The constraint load begins at index o of `loads`, its variation at index p of `changes`.
    """
    takes = mechanism.frictions.takes[k]
    if takes == NORMAL:
        return at(changes, p)
    one, two = bearing_forces(mechanism, k, loads, o)
    change_one, change_two = bearing_forces(mechanism, k, changes, p)
    return along_unit(one, change_one) + along_unit(two, change_two)


@kernel
def along_unit(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    """Return the rate of the norm of a vector a that changes at the rate b: a . b / |a|, or |b| if a is zero."""
    size = math.sqrt(dot(a, a))
    return dot(a, b) / size if size > 0.0 else math.sqrt(dot(b, b))


@kernel
def bearing_forces(
    mechanism: Mechanism, k: int, loads: np.ndarray, o: int
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the bearing forces (N, inertial frame) on body j in the two bearings of a joint with friction element k.

    They are computed from force and torque of the joint, at index o of `loads`. The second force is zero for joints
    that are treated as a single bearing.
    """
    frictions, kin = mechanism.frictions, mechanism.work.kin
    force = at(loads, o), at(loads, o + 1), at(loads, o + 2)
    nothing = 0.0, 0.0, 0.0
    if frictions.takes[k] == WHOLE:
        return force, nothing
    m = 3 * k
    axis = turned(
        kin,
        frictions.kinematics[ENDS * k],
        (at(frictions.axis, m), at(frictions.axis, m + 1), at(frictions.axis, m + 2)),
    )
    along = times(axis, dot(axis, force))
    if frictions.takes[k] == ALONG:
        return along, nothing
    across = minus(force, along)
    length = at(frictions.length, k)
    if not length > 0.0:
        return across, nothing
    torque = at(loads, o + 3), at(loads, o + 4), at(loads, o + 5)
    half, couple = times(across, 0.5), times(cross(axis, torque), 1.0 / length)
    return plus(half, couple), minus(half, couple)


@kernel
def align_with_slip(mechanism: Mechanism) -> None:
    """Set the direction of friction forces to that of the last evaluated slip velocity, unless slip has reversed.

    Only elements with several slip components are affected. Slip has reversed if its component along the stored
    direction is not positive. The direction is not changed at very small slip velocities either.
    """
    frictions, forces = mechanism.frictions, mechanism.forces
    for k in range(frictions.element.shape[0]):
        size = frictions.size[k]
        first, into = frictions.slip[k], frictions.direction[k]
        ahead, square = at(forces.outputs, first), 0.0
        for c in range(size):
            s = at(forces.outputs, first + COORDINATE * (c + 1))
            square += s * s
        floor = at(forces.inputs, into + size)
        if size > 1 and ahead > 0.0 and square > floor * floor:
            for c in range(size):
                s = at(forces.outputs, first + COORDINATE * (c + 1))
                put(forces.inputs, into + c, s / math.sqrt(square))
