"""Taylor series of a constrained motion, from one evaluation and its factorization for all orders.

Coefficient k of the accelerations a and of the multipliers lambda satisfies equations with the same matrix for all k,
with the mass matrix M, loads Q and constraint rows A,

    M a_k = Q_k + sum_{m > 0} A_m^T lambda_(k-m) + A_0^T lambda_k,      A_0 a_k = -(k + 1) (k + 2) Phi_(k+2),

where the residual Phi_(k+2) is computed along the motion without lambda_k; for rows on velocities A_0 a_k = -(k + 1)
psi_(k+1), with their residuals psi. Loads, Phi and psi are evaluated by lists of operations (tapes). The coefficients
of all operations are stored, and each is computed once, except for the highest order: its coefficients are first
computed without lambda_k, and then with lambda_k.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import load, splat, store

from ..kernels.bodies import CON, STATE
from ..kernels.constraint_solve import clear, set_constraint_loads, solve_count, solve_once
from ..kernels.mechanism import Mechanism
from .bodies import add_constraint_loads, advance, begin, clear_loads
from .elements import BYTES, expand_motions, level_of, run
from .tables import AFTER, AT_AUXILIARY, AT_BODIES, FIRST, GOAL, GROUP, LOADS, POSE_ROWS, SHAPE, TaylorElements

# Allowed relative residual of the multipliers of order 0, as a multiple of rtol. The allowed residual increases with
# the order, as the terms of the series decrease.
LEFT = 1e-4

# Coefficients of bodies, and of auxiliary states.
Pair = tuple[np.ndarray, np.ndarray]


@kernel
def expand(
    mechanism: Mechanism,
    elements: TaylorElements,
    coefficients: Pair,
    second: int,
    t: float,
    y: np.ndarray,
    slope: np.ndarray,
    rtol: float,
) -> None:
    """Compute all Taylor coefficients of body motions and auxiliary states from the last evaluated state y.

    t is the time (s), and `slope` is y' at this state. The arrays of bodies and of auxiliary states, `coefficients`,
    are one half of those at the addresses in `elements`: the second half if `second` is 1, the first if it is 0. Terms
    are assumed to decrease geometrically with the order, down to `rtol` of the first. Multipliers are solved to the
    corresponding accuracy only, because projection at the end of a step removes the remaining constraint violation.
    """
    bodies, auxiliary = coefficients
    constants, work, orders = mechanism.constants, mechanism.work, elements.orders
    elements.arguments[AT_BODIES] = elements.first_bodies + BYTES * second * bodies.shape[0]
    elements.arguments[AT_AUXILIARY] = elements.first_auxiliary + BYTES * second * auxiliary.shape[0]
    count, behind = auxiliary.shape[0] // orders, constants.shape[0] // CON * STATE
    begin(constants, y, slope, work.kin, bodies, orders)
    for o in range(0, auxiliary.shape[0], 8):
        # Integrals of rates are added later.
        store(auxiliary, o, load(y, behind + o) if o < count else splat(0.0))
    expand_motions(elements, t)
    clear_loads(bodies, orders, 0)
    for g in range(elements.groups.shape[0] // GROUP):
        run(elements, g, FIRST, t, 0)
        if level_of(elements, g) == POSE_ROWS:
            run(elements, g, SHAPE, t, 1)
            run(elements, g, GOAL, t, 2)  # for the sums that SHAPE uses
    left, growth = LEFT * rtol, rtol ** (-1.0 / orders)
    for k in range(1, orders - 2):
        left *= growth
        next_order(mechanism, elements, bodies, t, k, left)


@kernel
def next_order(
    mechanism: Mechanism, elements: TaylorElements, bodies: np.ndarray, t: float, k: int, tolerance: float
) -> None:
    """Compute Taylor coefficient k of accelerations and multipliers, and the resulting coefficients of the motion.

    t is the time (s), and `bodies` contains the coefficients of all bodies. `tolerance` is the relative residual
    allowed for the multipliers.
    """
    constants, work, orders = mechanism.constants, mechanism.work, elements.orders
    clear_loads(bodies, orders, k)
    for g in range(elements.groups.shape[0] // GROUP):
        level = level_of(elements, g)
        if level > 0:
            run(elements, g, SHAPE, t, k + level - 1)
        run(elements, g, LOADS, t, k)
    advance(constants, bodies, orders, k, elements.spinning, elements.full_blocks)
    if elements.constraints == 0:
        return
    clear(work.rhs)
    for g in range(elements.constraints):
        run(elements, g, GOAL, t, k + level_of(elements, g))
    solve_loads(mechanism, tolerance)
    add_constraint_loads(constants, work.wrench, bodies, orders, k, elements.full_blocks)
    for g in range(elements.constraints):
        run(elements, g, AFTER, t, k)


@kernel
def solve_loads(mechanism: Mechanism, tolerance: float) -> None:
    """Compute multipliers and constraint loads for the right-hand sides work.rhs of the constraint rows.

    The constraint loads are written to work.wrench, the multipliers to work.x. `tolerance` is the largest allowed
    residual, relative to the magnitudes of the terms of each row.
    """
    passes = solve_count(mechanism, tolerance)
    if passes > 1:
        set_constraint_loads(mechanism, passes, tolerance)
    else:
        solve_once(mechanism)
