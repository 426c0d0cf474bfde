"""Arrays that compiled code writes for one solver."""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_SIZE, KINEMATICS_SIZE, WRENCH_SIZE
from quirk.jit.simd import aligned

from ..kernels.bodies import STATE
from ..kernels.rows import HINGE, POINT, UNITS
from ..kernels.workspace import SUMMARY, Extended, Workspace
from ..symbolic.blocks import Pattern, block_size
from ..symbolic.tables import UNIT_ROWS, Tables


def work_arrays(tables: Tables, pattern: Pattern) -> Workspace:
    """Return new arrays for compiled code; the constant elements of the constraint rows are set.

    `tables` are the constant tables of the model, and `pattern` is the initial sparsity pattern of the block
    factorization.
    """
    nodes = tables.nodes
    K, lanes = len(nodes.rows), tables.slots.lanes
    size = block_size(pattern)
    work = Workspace(
        kin=aligned(lanes * KINEMATICS_SIZE),
        G=aligned(tables.rows_size),
        rhs=aligned(8 * K),
        x=aligned(8 * K),
        goal=aligned(8 * K),
        sum=aligned(8 * K),
        residual=aligned(8 * K),
        terms=aligned(8 * K),
        B=aligned(size),
        Q=aligned(size),
        wrench=aligned(lanes * WRENCH_SIZE),
        applied_wrench=aligned(lanes * WRENCH_SIZE),
        motion=aligned(lanes * WRENCH_SIZE),
        change=aligned(lanes * WRENCH_SIZE),
        unprojected=aligned(lanes // 8 * STATE),
        lengths=aligned(8 * K),
        measure=aligned(8 * K),
        floor=aligned(8 * K),
        pivots=aligned(8 * K),
        pivots_before=aligned(8 * K),
        pivots_earlier=aligned(8 * K),
        summary=np.zeros(SUMMARY),
        fronts=tables.orthogonal.fronts,
        scale=tables.orthogonal.scale,
        weight=tables.orthogonal.weight,
        triangle=tables.orthogonal.triangle(),
        uniform=tables.uniform,
        extended=Extended(
            rotation=aligned(lanes * 9),
            G=aligned(tables.rows_size),
            wrench=aligned(lanes * WRENCH_SIZE),
            motion=aligned(lanes * WRENCH_SIZE),
            x=aligned(8 * K),
            applied=aligned(lanes * WRENCH_SIZE),
            goal=aligned(8 * K),
            wrench_in_doubles=aligned(lanes * WRENCH_SIZE),
        ),
    )
    for k in np.flatnonzero((nodes.kind == POINT) | (nodes.kind == HINGE)):
        work.G[G_SIZE * k + G_FORCE : G_SIZE * k + 24] = UNITS[:24]
    work.G[tables.units : tables.units + UNIT_ROWS.size] = UNIT_ROWS.ravel()
    return work
