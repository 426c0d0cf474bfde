"""Taylor coefficients of accelerations and multipliers at a state, with one factorization for all orders.

Coefficient k of the accelerations a and of the multipliers lambda satisfies equations with the same matrix for all k,
with the mass matrix M, loads Q and constraint rows A,

    M a_k = Q_k + sum_{m > 0} A_m^T lambda_(k-m) + A_0^T lambda_k,      A_0 a_k = -(k + 1) (k + 2) Phi_(k+2),

where Phi_(k+2) is the coefficient of the residuals Phi along the motion with a_k computed without lambda_k. The same
equations are solved with dense matrices in `quirk.dynamics.dense.derivatives`, for reference. Rows A_m refer to
velocities and angular velocities in the inertial frame; moments are multiplied by W^T R^T at order 0, with the metric W
and the rotation matrix R of a body.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import FORCE
from quirk.jit.compilation import kernel
from quirk.jit.function_pointers import call
from quirk.jit.simd import splat, store

from ..kernels.applied import Forces, applied_loads
from ..kernels.bodies import KIN
from ..kernels.constraint_solve import MET, clear, copy, set_constraint_loads, wrenches
from ..kernels.factorisation import factorise_rows, prepare_rows
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import monitor_rows
from ..kernels.workspace import PASSES
from .low_order_bodies import add_constraint_accelerations, add_loads, free_terms, start
from .low_order_rows import LowOrderSeries, next_rows


@kernel
def compute_series(
    mechanism: Mechanism, series: LowOrderSeries, t: float, y: np.ndarray, rank: int, driven: bool
) -> None:
    """Compute all Taylor coefficients of accelerations and multipliers at time t (s) and a state y on the constraints.

    On return `work` contains the factorization and the number of independent rows, which should be `rank`. If the
    motion is `driven`, that is, fully determined by the constraints, loads are omitted, because they would affect the
    motion only by round-off.
    """
    constants, nodes, forces, work = mechanism.constants, mechanism.nodes, mechanism.forces, mechanism.work
    size, count = work.kin.shape[0], work.x.shape[0]
    start(constants, y, series.bodies, size)
    for k in range(series.order):
        present = series.bodies[k * size : (k + 1) * size]
        apply_loads(forces, series, t, y, present, k, driven)
        for m in range(1, k + 1):
            rows = series.rows[m * work.G.shape[0] : (m + 1) * work.G.shape[0]]
            clear(work.wrench)
            wrenches(nodes, rows, series.multipliers[(k - m) * count : (k - m + 1) * count], work.wrench, True)
            add_loads(constants, work.wrench, series.bodies, present)
        free_terms(constants, series.bodies, size, k, 0.0 if driven else 1.0)
        next_rows(nodes, series, work, t, size, k)
        if k == 0:
            prepare_rows(mechanism, y, present)
            factorise_rows(mechanism)
        solve_loads(mechanism)
        if k == 0 and monitor_rows(mechanism, t, y, rank):
            # The selection of other rows has overwritten work.G.
            next_rows(nodes, series, work, t, size, k)
            prepare_rows(mechanism, y, present)
            factorise_rows(mechanism)
            solve_loads(mechanism)
        copy(work.x, series.multipliers[k * count : (k + 1) * count])
        add_loads(constants, work.wrench, series.bodies, present)
        add_constraint_accelerations(constants, work.wrench, series.bodies, size, k)


@kernel
def solve_loads(mechanism: Mechanism) -> None:
    """Compute multipliers and constraint loads for the right-hand sides work.rhs of the constraint rows.

    The constraint loads are written to work.wrench, the multipliers to work.x.
    """
    # At least one refinement, as errors grow with the order of derivatives.
    set_constraint_loads(mechanism, max(2, int(mechanism.work.summary[PASSES])), MET)


@kernel
def apply_loads(
    forces: Forces, series: LowOrderSeries, t: float, y: np.ndarray, present: np.ndarray, k: int, driven: bool
) -> None:
    """Write Taylor coefficient k of the applied loads at time t (s) and state y to FORCE and TORQUE in `present`.

    `present` contains the coefficients of order k of all bodies. The loads are set to zero if the motion is `driven`,
    that is, fully determined by the constraints.
    """
    if k == 0 and forces.entries.shape[0] > 0 and not driven:
        applied_loads(forces, t, y, present)
        return
    for block in range(present.shape[0] // KIN):
        for c in range(6):
            store(present, block * KIN + 8 * (FORCE + c), splat(0.0))
    if k > 0 and series.address[0] != 0 and not driven:
        series.requested_order[0] = k
        call(series.address[0], t, series.bodies, 0, series.bodies, 0)
