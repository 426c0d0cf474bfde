"""The Taylor series of a constrained motion, from one evaluation, with its factorisation for all orders.

Coefficient k of accelerations a and multipliers lambda solves the equations of the accelerations themselves,

    M a_k = Q_k + sum_{m > 0} A_m^T lambda_(k-m) + A_0^T lambda_k,      A_0 a_k = -(k + 1) (k + 2) Phi_(k+2),

where Phi_(k+2) is found along the motion without lambda_k; of rows of velocities A_0 a_k = -(k + 1) psi_(k+1). Loads,
Phi and psi come from tapes, which know the coefficients of all their operations, each computed once: those of the
highest order that the motion without lambda_k gives are replaced when lambda_k is known.
"""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import splat, store

from ..kernels.bodies import CON, STATE
from ..kernels.evaluate import copy
from ..kernels.factorisation import solve_rows
from ..kernels.impose import clear, impose, wrenches
from ..kernels.mechanism import Mechanism
from ..kernels.work import PASSES
from .bodies import accelerate, begin, clear_loads, release, spin, turn
from .elements import clear_carried, expand_motions, hand_on, keep_multipliers, residuals, run
from .tables import AFTER, FIRST, FORM, FORM_OF, GOAL, GROUP, LEVEL, LOAD, LOADS, POWER_OF_ROW, SHAPE, Elements


@kernel
def level_of(elements: Elements, g: int) -> int:
    """The level of the rows of a group: 2 of poses, 1 of velocities, 0 of what has no rows."""
    return elements.forms[FORM * elements.groups[GROUP * g + FORM_OF] + LEVEL]


@kernel
def expand(
    mechanism: Mechanism,
    elements: Elements,
    bodies: np.ndarray,
    carried: np.ndarray,
    t: float,
    y: np.ndarray,
    slope: np.ndarray,
) -> None:
    """Fill all coefficients of the motion from a state that was evaluated last, with its rates."""
    constants, work = mechanism.constants, mechanism.work
    size, orders, groups = work.kin.shape[0], elements.tapes.orders, elements.groups.shape[0] // GROUP
    count = carried.shape[0] // orders
    begin(constants, y, slope, work.kin, bodies)
    for o in range(count):
        carried[o] = y[constants.shape[0] // CON * STATE + o]
    clear_carried(bodies, carried, count, 1)
    expand_motions(elements, t, orders)
    clear_loads(bodies, size, 0)
    for g in range(groups):
        run(mechanism, elements, bodies, carried, g, FIRST, t, 0)
        hand_on(mechanism, elements, bodies, carried, g, LOAD, 0)
        hand_on(mechanism, elements, bodies, carried, g, POWER_OF_ROW, 0)
        if level_of(elements, g) == 2:
            run(mechanism, elements, bodies, carried, g, SHAPE, t, 1)
    for k in range(1, orders - 2):
        next_order(mechanism, elements, bodies, carried, t, k)


@kernel
def next_order(
    mechanism: Mechanism, elements: Elements, bodies: np.ndarray, carried: np.ndarray, t: float, k: int
) -> None:
    """Fill coefficient k of accelerations and multipliers, and with them what is one and two orders on."""
    constants, work = mechanism.constants, mechanism.work
    size, groups = work.kin.shape[0], elements.groups.shape[0] // GROUP
    clear_loads(bodies, size, k)
    for g in range(groups):
        level = level_of(elements, g)
        if level > 0:
            run(mechanism, elements, bodies, carried, g, SHAPE, t, k + level - 1)
        run(mechanism, elements, bodies, carried, g, LOADS, t, k)
        hand_on(mechanism, elements, bodies, carried, g, LOAD, k)
    accelerate(constants, bodies, size, k)
    turn(bodies, size, k + 2)
    spin(bodies, size, k + 1)
    if work.x.shape[0] == 0:
        return
    for o in range(0, work.rhs.shape[0], 8):
        store(work.rhs, o, splat(0.0))
    for g in range(elements.laws):
        level = level_of(elements, g)
        run(mechanism, elements, bodies, carried, g, GOAL, t, k + level)
        residuals(mechanism, elements, g, -(k + 1.0) * (k + 2.0 if level == 2 else 1.0))
    answer(mechanism)
    release(constants, work.wrench, bodies, size, k)
    for g in range(elements.laws):
        keep_multipliers(mechanism, elements, g, k)
        run(mechanism, elements, bodies, carried, g, AFTER, t, k)
        hand_on(mechanism, elements, bodies, carried, g, POWER_OF_ROW, k)


@kernel
def answer(mechanism: Mechanism) -> None:
    """Fill work.wrench with the constraint loads, and work.x with the multipliers, that answer to work.rhs."""
    work, passes = mechanism.work, int(mechanism.work.summary[PASSES])
    clear(work.wrench)
    if passes > 1:
        copy(work.rhs, work.goal)
        impose(mechanism, passes)
        return
    solve_rows(mechanism)
    wrenches(mechanism.nodes, work.G, work.x, work.wrench, False)
