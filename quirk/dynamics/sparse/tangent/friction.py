"""Derivatives in eight directions of friction that is proportional to constraint loads, in compiled code.

The magnitudes f of all friction forces satisfy f = mu N(f, ...), with coefficients of friction mu and normal loads N.
Their variations df follow from (I - mu dN/df) df = dmu N + mu dN, where dmu is the variation of mu and dN that of N at
constant f. The matrix, and the response of the constraints to a unit force of each friction, are taken from the
evaluation (`quirk.dynamics.sparse.kernels.friction`).

A slot is the position of a body in the arrays; a wrench is a force and a moment on a body.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import POSITION as PLACE_IN_STATE
from quirk.dynamics.model.vectors import body_vector, cross, dot, load3, minus, plus, store3, times, turned
from quirk.forces.friction import ALONG, NORMAL, WHOLE
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, splat, store
from quirk.jit.tracing import traced

from ..kernels.bodies import KIN, STATE
from ..kernels.friction import ENDS, along_unit, linearise, load_of, normal, present_load
from ..kernels.linear_equations import eliminate
from ..kernels.load_tables import ARM, NUMBERS
from ..kernels.mechanism import Mechanism
from .tables import ELEMENT, LEVELS, MOVING, OUTPUT, OUTPUTS, POSITION, ROTATION, ROWS, Tangents

# Offsets per friction in a joint, eight lanes each: derivatives of its axis, and of force and torque at constant
# multipliers.
OF_AXIS, OF_FORCE, OF_TORQUE = 0, 24, 48
BEARING = 72


@kernel
def write_magnitudes(mechanism: Mechanism, tangents: Tangents, unit: bool) -> None:
    """Write the magnitudes of all friction forces to the inputs of force laws.

    If `unit`, the magnitudes are 1, as required by evaluations of y', which compute loads per unit magnitude; otherwise
    they are the magnitudes of the last evaluation.
    """
    for k in range(mechanism.frictions.element.shape[0]):
        size = 1.0 if unit else at(mechanism.frictions.magnitude, k)
        put(mechanism.forces.inputs, tangents.friction.sizes[k], size)


@kernel
def differentiate_joint_loads(mechanism: Mechanism, tangents: Tangents, y: np.ndarray) -> None:
    """Compute the derivatives of axes and loads of all joints with friction, at constant multipliers and magnitudes.

    Derivatives are in eight directions at the state y; the results are written to tangents.friction.changes.
    """
    frictions, bearings, moving, kin = mechanism.frictions, tangents.friction, tangents.moving, mechanism.work.kin
    for k in range(frictions.element.shape[0]):
        if bearings.first[k] == bearings.first[k + 1]:
            continue
        i, j = bearings.slots[ENDS * k], bearings.slots[ENDS * k + 1]
        inputs, o = tangents.relations.inputs, bearings.axes[k]
        changed = load(inputs, o), load(inputs, o + 24), load(inputs, o + 48)
        axis = at(frictions.axis, 3 * k), at(frictions.axis, 3 * k + 1), at(frictions.axis, 3 * k + 2)
        turning = moved_with(moving, i, axis)
        store3(bearings.changes, BEARING * k + OF_AXIS, plus(turning, turned(kin, i // 8 * KIN + i % 8, changed)))
        present_load(mechanism, k)
        force = at(frictions.present, 0), at(frictions.present, 1), at(frictions.present, 2)
        # Arm from the joint point of body j to the center of mass of the body at which the load is computed.
        numbers, m = frictions.readings.numbers, NUMBERS * frictions.place[k] + ARM
        point = at(numbers, m), at(numbers, m + 1), at(numbers, m + 2)
        ground = bearings.grounded[k] != 0
        in_j = load3(inputs, bearings.points[k])
        arm = turned(kin, j // 8 * KIN + j % 8, point)
        arm_change = plus(moved_with(moving, j, point), turned(kin, j // 8 * KIN + j % 8, in_j))
        lever, lever_change = (-arm[0], -arm[1], -arm[2]), (-arm_change[0], -arm_change[1], -arm_change[2])
        if ground:
            lever = plus(lever, body_vector(y, i // 8 * STATE + i % 8 + 8 * PLACE_IN_STATE))
            lever_change = plus(lever_change, load3(moving, MOVING * i + POSITION))
        wrench_change(tangents, k, 0 if ground else 1, -1.0 if ground else 1.0)
        force_change = load3(bearings.changes, BEARING * k + OF_FORCE)
        moment = load3(bearings.changes, BEARING * k + OF_TORQUE)
        torque = plus(plus(moment, cross(lever_change, force)), cross(lever, force_change))
        store3(bearings.changes, BEARING * k + OF_TORQUE, torque)


@traced
def moved_with(moving: np.ndarray, slot: Any, a: Any) -> Any:
    """Return the derivatives in eight directions of a vector fixed in a body; `a` is its value in the inertial frame.

    `slot` is the position of the body in `moving`, the derivatives of the motion of all bodies.
    """
    o = MOVING * slot + ROTATION
    return tuple(
        load(moving, o + 24 * row) * a[0]
        + load(moving, o + 24 * row + 8) * a[1]
        + load(moving, o + 24 * row + 16) * a[2]
        for row in range(3)
    )


@kernel
def wrench_change(tangents: Tangents, k: int, side: int, sign: float) -> None:
    """Compute the derivatives of the force and moment of a joint on one body at constant multipliers, times `sign`.

    The joint belongs to friction element k; `side` is 0 for body i and 1 for body j.
    """
    bearings, relations = tangents.friction, tangents.relations
    for c in range(0, BEARING - OF_FORCE, 8):
        store(bearings.changes, BEARING * k + OF_FORCE + c, splat(0.0))
    for n in range(bearings.first[k], bearings.first[k + 1]):
        o = ELEMENT * bearings.relations[n]
        deltas = relations.entries[o + OUTPUT] + relations.entries[o + OUTPUTS]
        loads = deltas + 8 * (LEVELS * relations.entries[o + ROWS] + LANES * side)
        for c in range(6):
            place = BEARING * k + OF_FORCE + 8 * c
            change = load(relations.outputs, loads + 8 * c) * sign
            store(bearings.changes, place, load(bearings.changes, place) + change)


@kernel
def add_friction_changes(mechanism: Mechanism, tangents: Tangents, y: np.ndarray, d: int) -> None:
    """Compute the derivatives of the friction magnitudes in direction d, and add their effect on multipliers and loads.

    The derivatives of the multipliers are in work.x, and those of the loads in work.wrench. y is the state.
    """
    frictions, bearings, work = mechanism.frictions, tangents.friction, mechanism.work
    count, rows, bodies = frictions.element.shape[0], work.x.shape[0], work.wrench.shape[0]
    linearise(mechanism)
    for k in range(count):
        present_load(mechanism, k)
        N, dN = normal(mechanism, k, frictions.present, 0), normal_change(mechanism, tangents, k, y, d)
        rougher = at(tangents.laws.inputs, bearings.coefficients[k] + d)
        put(frictions.residual, k, rougher * N + at(frictions.coefficient, k) * dN)
    eliminate(frictions.matrix, frictions.residual, count)
    for k in range(count):
        change = at(frictions.residual, k)
        put(bearings.magnitudes, 8 * k + d, change)
        for o in range(0, rows, 8):
            store(work.x, o, load(work.x, o) + change * load(frictions.x, (k + 1) * rows + o))
        for o in range(0, bodies, 8):
            store(work.wrench, o, load(work.wrench, o) + change * load(frictions.wrench, (k + 1) * bodies + o))


@kernel
def normal_change(mechanism: Mechanism, tangents: Tangents, k: int, y: np.ndarray, d: int) -> float:
    """Return the derivative of the normal load N of friction element k in direction d, at constant magnitudes.

    The derivatives of the multipliers are in work.x, and the constraint load in `mechanism.frictions.present`. y is the
    state.
    """
    frictions, changes = mechanism.frictions, tangents.friction.changes
    if frictions.place[k] < 0:
        return 0.0
    load_of(mechanism, k, y, 0, frictions.varied)
    if frictions.takes[k] == NORMAL:
        return at(frictions.varied, 0)
    o, present, varied = BEARING * k + d, frictions.present, frictions.varied
    force = at(present, 0), at(present, 1), at(present, 2)
    torque = at(present, 3), at(present, 4), at(present, 5)
    d_force = plus((at(varied, 0), at(varied, 1), at(varied, 2)), body_vector(changes, o + OF_FORCE))
    d_torque = plus((at(varied, 3), at(varied, 4), at(varied, 5)), body_vector(changes, o + OF_TORQUE))
    if frictions.takes[k] == WHOLE:
        return along_unit(force, d_force)
    m, d_axis = 3 * k, body_vector(changes, o + OF_AXIS)
    own = at(frictions.axis, m), at(frictions.axis, m + 1), at(frictions.axis, m + 2)
    axis = turned(mechanism.work.kin, frictions.kinematics[ENDS * k], own)
    along = times(axis, dot(axis, force))
    d_along = plus(times(d_axis, dot(axis, force)), times(axis, dot(d_axis, force) + dot(axis, d_force)))
    if frictions.takes[k] == ALONG:
        return along_unit(along, d_along)
    across, d_across, length = minus(force, along), minus(d_force, d_along), at(frictions.length, k)
    if not length > 0.0:
        return along_unit(across, d_across)
    half, d_half = times(across, 0.5), times(d_across, 0.5)
    couple = times(cross(axis, torque), 1.0 / length)
    d_couple = times(plus(cross(d_axis, torque), cross(axis, d_torque)), 1.0 / length)
    longer = at(tangents.laws.inputs, tangents.friction.lengths[k] + d) / length
    d_couple = minus(d_couple, times(couple, longer))
    one = along_unit(plus(half, couple), plus(d_half, d_couple))
    return one + along_unit(minus(half, couple), minus(d_half, d_couple))
