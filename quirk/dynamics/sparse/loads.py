"""Applied loads of all force elements at one state, in kernels; functions of a user are called by pointer."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.compiled import inlined, kernel
from quirk.constraints.relative import nearest
from quirk.forces.law import FORCE, FORCE_IN_BODY, JOINT_TORQUE, SPRING, TORQUE, TORQUE_IN_BODY
from quirk.lanes import at, load, put, splat, store
from quirk.pointers import call

from .layout import FORCE as APPLIED_FORCE
from .layout import KINEMATICS_SIZE, POSITION, SPIN, VELOCITY, WRENCH_SIZE
from .layout import TORQUE as APPLIED_TORQUE
from .vectors import add3, cross, dot, minus, plus, three, times, turned

KIN = 8 * KINEMATICS_SIZE
WRENCH = 8 * WRENCH_SIZE

# Numbers that a user's function gets at most: the 13 of a body.
INPUTS = 13
# Room for these and for a copy, which is what a compiled function gets.
INPUT_ROOM = 2 * INPUTS
# What it leaves: three numbers, and whether a compiled function has failed.
FAILED, OUTPUTS = 3, 4

# The elements that are Python objects without a law, all together.
PYTHON = 7


class Forces(NamedTuple):
    """Force elements as kernels see them; E elements, each with room for a user's function.

    kind (E,) · state, kinematics (2 E,) where bodies i and j start · point (6 E,) in body coordinates · frame
    (18 E,) axes of both frames by columns, one after the other, in body coordinates · axis (E,) of frame i ·
    constants (3 E,) · address (E,) of the function, 0 if there is none · checked (E,) address of what calls a
    compiled function from Python · inputs (26 E,), outputs (4 E,) of functions · reference (3 E,) angle and rate of a
    joint at a time, from which its angle goes on · whole_inputs, whole_outputs: the state and the loads of all bodies,
    for PYTHON elements.
    """

    kind: np.ndarray
    state: np.ndarray
    kinematics: np.ndarray
    point: np.ndarray
    frame: np.ndarray
    axis: np.ndarray
    constants: np.ndarray
    address: np.ndarray
    checked: np.ndarray
    inputs: np.ndarray
    outputs: np.ndarray
    reference: np.ndarray
    whole_inputs: np.ndarray
    whole_outputs: np.ndarray


@kernel
def applied_loads(forces: Forces, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Fill FORCE and TORQUE of the kinematics."""
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            store(kin, block * KIN + 8 * (APPLIED_FORCE + c), splat(0.0))
    for e in range(forces.kind.shape[0]):
        kind = forces.kind[e]
        if kind == PYTHON:
            _whole(forces, e, t, y, kin)
            continue
        si, sj = forces.state[2 * e], forces.state[2 * e + 1]
        ki, kj = forces.kinematics[2 * e], forces.kinematics[2 * e + 1]
        o = 6 * e
        s_i = turned(kin, ki, (at(forces.point, o), at(forces.point, o + 1), at(forces.point, o + 2)))
        s_j = turned(kin, kj, (at(forces.point, o + 3), at(forces.point, o + 4), at(forces.point, o + 5)))
        if kind in (FORCE, TORQUE, FORCE_IN_BODY, TORQUE_IN_BODY):
            if forces.address[e] != 0:
                for c in range(INPUTS):
                    put(forces.inputs, INPUT_ROOM * e + c, at(y, sj + 8 * c))
            a = _value(forces, e, t)
            if kind in (FORCE_IN_BODY, TORQUE_IN_BODY):
                a = turned(kin, kj, a)
            if kind in (FORCE, FORCE_IN_BODY):
                add3(kin, kj + 8 * APPLIED_FORCE, a, 1.0)
                a = cross(s_j, a)
            add3(kin, kj + 8 * APPLIED_TORQUE, a, 1.0)
            continue
        d = plus(minus(three(y, sj + 8 * POSITION), three(y, si + 8 * POSITION)), minus(s_j, s_i))
        w_i, w_j = three(kin, ki + 8 * SPIN), three(kin, kj + 8 * SPIN)
        u = minus(three(y, sj + 8 * VELOCITY), three(y, si + 8 * VELOCITY))
        u = plus(u, minus(cross(w_j, s_j), cross(w_i, s_i)))
        if kind == SPRING:
            force, arm_i = _spring(forces, e, d, u), s_i
        else:
            axis = turned(kin, ki, _axis(forces, e))
            if forces.address[e] != 0:
                if kind == JOINT_TORQUE:
                    angle = nearest(_angle(forces, e, kin, ki, kj), _expected(forces, e, t))
                    put(forces.inputs, INPUT_ROOM * e, angle)
                    put(forces.inputs, INPUT_ROOM * e + 1, dot(axis, minus(w_j, w_i)))
                else:
                    put(forces.inputs, INPUT_ROOM * e, dot(axis, d))
                    put(forces.inputs, INPUT_ROOM * e + 1, dot(axis, minus(u, cross(w_i, d))))
            value = _value(forces, e, t)[0]
            force, arm_i = times(axis, value), plus(s_i, d)
            if kind == JOINT_TORQUE:
                add3(kin, kj + 8 * APPLIED_TORQUE, force, 1.0)
                add3(kin, ki + 8 * APPLIED_TORQUE, force, -1.0)
                continue
        add3(kin, kj + 8 * APPLIED_FORCE, force, 1.0)
        add3(kin, ki + 8 * APPLIED_FORCE, force, -1.0)
        add3(kin, kj + 8 * APPLIED_TORQUE, cross(s_j, force), 1.0)
        add3(kin, ki + 8 * APPLIED_TORQUE, cross(arm_i, force), -1.0)


@inlined
def _value(forces: Forces, e: int, t: float) -> tuple[float, float, float]:
    """The constant, or what the function returns."""
    if forces.address[e] == 0:
        return at(forces.constants, 3 * e), at(forces.constants, 3 * e + 1), at(forces.constants, 3 * e + 2)
    o, finite = OUTPUTS * e, 0.0
    for c in range(3):
        put(forces.outputs, o + c, math.nan)  # what a function that fails leaves
    for c in range(INPUTS):
        finite += 0.0 * at(forces.inputs, INPUT_ROOM * e + c)
    if finite == 0.0:  # else the step went astray, and will be taken again
        call(forces.address[e], t, forces.inputs, INPUT_ROOM * e, forces.outputs, o)
        if at(forces.outputs, o + FAILED) != 0.0:
            call(forces.checked[e], t, forces.inputs, INPUT_ROOM * e, forces.outputs, o)
    return at(forces.outputs, o), at(forces.outputs, o + 1), at(forces.outputs, o + 2)


@inlined
def _axis(forces: Forces, e: int) -> tuple[float, float, float]:
    """Axis of frame i in body coordinates."""
    o = 18 * e + 3 * forces.axis[e]
    return at(forces.frame, o), at(forces.frame, o + 1), at(forces.frame, o + 2)


@kernel
def _spring(
    forces: Forces, e: int, d: tuple[float, float, float], u: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Force on body j: minus k (L - L0) + c dL/dt along the line d, of which u is the rate."""
    stiffness, damping = at(forces.constants, 3 * e), at(forces.constants, 3 * e + 1)
    rest_length = at(forces.constants, 3 * e + 2)
    length = math.sqrt(dot(d, d))
    if length > 0.0:
        # Written so that a spring without rest length passes smoothly through L = 0.
        rate = dot(d, u) / length
        return times(d, -(stiffness + (damping * rate - stiffness * rest_length) / length))
    # dL/dt is |u| in the direction of departure; with a rest length the force has no direction.
    return times(u, -damping if rest_length == 0.0 else math.nan)


@inlined
def _expected(forces: Forces, e: int, t: float) -> float:
    """About what the angle of a joint is by now."""
    o = 3 * e
    return at(forces.reference, o) + at(forces.reference, o + 1) * (t - at(forces.reference, o + 2))


@kernel
def refer(forces: Forces, t: float) -> None:
    """Let angles go on from those of the last evaluation, which was at time t."""
    for e in range(forces.kind.shape[0]):
        if forces.kind[e] == JOINT_TORQUE and forces.address[e] != 0:
            put(forces.reference, 3 * e, at(forces.inputs, INPUT_ROOM * e))
            put(forces.reference, 3 * e + 1, at(forces.inputs, INPUT_ROOM * e + 1))
            put(forces.reference, 3 * e + 2, t)


@kernel
def _angle(forces: Forces, e: int, kin: np.ndarray, ki: int, kj: int) -> float:
    """Angle of joint frame j relative to i about the axis about which it turns; see `relative.angle_about`."""
    o = 18 * e
    x_i = turned(kin, ki, (at(forces.frame, o), at(forces.frame, o + 1), at(forces.frame, o + 2)))
    y_i = turned(kin, ki, (at(forces.frame, o + 3), at(forces.frame, o + 4), at(forces.frame, o + 5)))
    z_i = turned(kin, ki, (at(forces.frame, o + 6), at(forces.frame, o + 7), at(forces.frame, o + 8)))
    x_j = turned(kin, kj, (at(forces.frame, o + 9), at(forces.frame, o + 10), at(forces.frame, o + 11)))
    y_j = turned(kin, kj, (at(forces.frame, o + 12), at(forces.frame, o + 13), at(forces.frame, o + 14)))
    z_j = turned(kin, kj, (at(forces.frame, o + 15), at(forces.frame, o + 16), at(forces.frame, o + 17)))
    axis = forces.axis[e]
    if axis == 1:
        cosine = math.hypot(dot(x_i, x_j), dot(x_i, y_j))
        return math.atan2(dot(x_i, z_j), math.copysign(cosine, dot(x_i, x_j)))
    a = math.atan2(-dot(y_i, z_j), dot(z_i, z_j))
    if axis == 0:
        return a
    sine, cosine = math.sin(a), math.cos(a)
    return math.atan2(cosine * dot(y_i, x_j) + sine * dot(z_i, x_j), cosine * dot(y_i, y_j) + sine * dot(z_i, y_j))


@kernel
def _whole(forces: Forces, e: int, t: float, y: np.ndarray, kin: np.ndarray) -> None:
    """Let Python add what elements without a law exert on all bodies."""
    for o in range(0, y.shape[0], 8):
        store(forces.whole_inputs, o, load(y, o))
    put(forces.whole_outputs, 0, math.nan)
    call(forces.address[e], t, forces.whole_inputs, 0, forces.whole_outputs, 0)
    for block in range(kin.shape[0] // KIN):
        for c in range(6):
            o = block * KIN + 8 * (APPLIED_FORCE + c)
            store(kin, o, load(kin, o) + load(forces.whole_outputs, block * WRENCH + 8 * c))
