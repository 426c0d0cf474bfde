"""Derivatives of the constrained motion in eight directions, with the factorization used for the accelerations.

The derivatives of accelerations and multipliers in a direction, a change of the state or of a parameter, solve a linear
system with the same matrix as for the accelerations; the dense reference is in `tests/dense_tangents.py`. Force laws,
constraints and bodies are evaluated for eight directions simultaneously; each direction then requires one solve. A
wrench is the total force and moment on a body.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS, MOMENT, OMEGA, VELOCITY
from quirk.dynamics.model.vectors import load3, rows_times, store3, times
from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, splat, store

from ..kernels.bodies import CON, STATE, WRENCH
from ..kernels.constraint_solve import add_constraint_loads, copy
from ..kernels.mechanism import Mechanism
from ..kernels.workspace import PASSES
from .bodies import accelerate, differentiate_unbalanced_loads, move
from .elements import OF_LAWS, OF_RELATIONS, hold_motions, law_tangents, relation_tangents
from .friction import add_friction_changes, differentiate_joint_loads, write_magnitudes
from .tables import LEVELS, Tangents


@entry(needed_by="tangents need", effort=2)
def compute_tangents(
    mechanism: Mechanism, tangents: Tangents, t: float, y: np.ndarray, ydot: np.ndarray, timed: bool
) -> None:
    """Compute the derivatives of loads and multipliers in eight directions at the last evaluated state y, time t (s).

    `ydot` is y' at this state; its multipliers are in work.x. `timed` is true if any direction has a component in time,
    which requires one more derivative of prescribed motions.
    """
    keep_motion(mechanism, tangents, ydot)
    solve_tangents(mechanism, tangents, t, y, ydot, timed, 8, 0.0, 0.0)


@kernel
def keep_motion(mechanism: Mechanism, tangents: Tangents, ydot: np.ndarray) -> None:
    """Copy the multipliers and accelerations of the last evaluation to `tangents`.

    `ydot` is y' at this evaluation.
    """
    copy(mechanism.work.x, tangents.multipliers)
    accelerate(tangents, mechanism.work.kin, ydot)


@component(effort=7)
def solve_tangents(
    mechanism: Mechanism,
    tangents: Tangents,
    t: float,
    y: np.ndarray,
    ydot: np.ndarray,
    timed: bool,
    count: int,
    alpha: float,
    beta: float,
) -> None:
    """Compute the derivatives of loads and multipliers in the first `count` of eight directions.

    y is the last evaluated state at time t (s), with y' in `ydot`; `keep_motion` must have been called. `timed` is true
    if any direction has a component in time. `alpha` and `beta` are Baumgarte's rates, 1/s.
    """
    constants, work = mechanism.constants, mechanism.work
    move(tangents.occupied, tangents.seeds, tangents.moving, y, work.kin, ydot)
    for o in range(0, tangents.loads.shape[0], 8):
        store(tangents.loads, o, splat(0.0))
    rubs = mechanism.frictions.element.shape[0] > 0
    write_magnitudes(mechanism, tangents, False)
    law_tangents(tangents, mechanism.forces, t, timed)
    write_magnitudes(mechanism, tangents, True)
    relation_tangents(tangents, t, y, work.kin, timed)
    if rubs:
        differentiate_joint_loads(mechanism, tangents, y)
    differentiate_unbalanced_loads(tangents, constants, y, work.kin, ydot, count)
    size, lanes = work.wrench.shape[0], work.x.shape[0]
    for d in range(count):
        wrench = tangents.wrenches[d * size : (d + 1) * size]
        if lanes == 0:
            continue
        copy(wrench, work.wrench)
        for lane in range(lanes):
            o = 8 * LEVELS * lane + d
            wanted = at(tangents.levels, o + 16)
            if alpha > 0.0 or beta > 0.0:
                wanted = wanted + 2.0 * alpha * at(tangents.levels, o + 8) + beta * beta * at(tangents.levels, o)
            put(work.goal, lane, -wanted)
        # At least one refinement, as errors grow with the order of derivatives.
        add_constraint_loads(mechanism, max(2, int(work.summary[PASSES])))
        if rubs:
            add_friction_changes(mechanism, tangents, y, d)
        copy(work.wrench, wrench)
        copy(work.x, tangents.changes[d * lanes : (d + 1) * lanes])


@kernel
def time_derivative(
    mechanism: Mechanism, tangents: Tangents, t: float, y: np.ndarray, ydot: np.ndarray, drift: np.ndarray
) -> None:
    """Compute the partial derivative of the accelerations with respect to time, in the velocities of `drift`.

    The last evaluation must have been at the state y and time t (s), with y' in `ydot`. `drift` has the layout of a
    state.
    """
    constants, work = mechanism.constants, mechanism.work
    for array in (tangents.seeds, tangents.masses, tangents.gravity, tangents.internal, tangents.moving,
                  tangents.loads, tangents.time):  # fmt: skip
        for o in range(0, array.shape[0], 8):
            store(array, o, splat(0.0))
    put(tangents.time, 0, 1.0)
    hold_motions(tangents.laws, OF_LAWS)
    hold_motions(tangents.relations, OF_RELATIONS)
    copy(work.x, tangents.multipliers)
    accelerate(tangents, work.kin, ydot)
    law_tangents(tangents, mechanism.forces, t, True)
    relation_tangents(tangents, t, y, work.kin, True)
    differentiate_unbalanced_loads(tangents, constants, y, work.kin, ydot, 1)
    copy(tangents.wrenches[: work.wrench.shape[0]], work.wrench)
    for lane in range(work.x.shape[0]):
        put(work.goal, lane, -at(tangents.levels, 8 * (LEVELS * lane + LEVELS - 1)))
    if work.x.shape[0] > 0:
        add_constraint_loads(mechanism, max(2, int(work.summary[PASSES])))
    for block in range(constants.shape[0] // CON):
        s, c, f = block * STATE, block * CON, block * WRENCH
        linear = times(load3(work.wrench, f), load(constants, c + 8 * INVERSE_MASS))
        store3(drift, s + 8 * VELOCITY, linear)
        store3(drift, s + 8 * OMEGA, rows_times(constants, c + 8 * FACTOR, load3(work.wrench, f + MOMENT)))
