"""Variations at one state of a run: derivatives of the accelerations, projection, and norms.

Variations are derivatives of the state along directions of the initial state and of parameters. The argument
`variation` of the kernels is an `ExplicitVariation` or an `ImplicitVariation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.functions.motion_kernels import motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from ..kernels.bodies import CON
from ..kernels.evaluate import evaluate
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import monitor_rows
from ..kernels.workspace import LEAST
from ..tangent.motion_tangents import keep_motion, solve_tangents
from ..tangent.state_variations import extent, project_variations, seed
from ..tangent.tables import Tangents

# Entries per varied prescribed motion: whether it belongs to a law or a relation; first input for its variation;
# direction; and number of time derivatives in use.
OF_RELATION, INTO, DIRECTION, ORDER = range(4)
CHANGED_MOTION = 4


@kernel
def move_motions(tangents: Tangents, variation: Any, t: float) -> None:
    """Write the variations of prescribed motions at time t (s) to the inputs of force laws and relations.

    `variation` is an `ExplicitVariation` or an `ImplicitVariation`.
    """
    for m in range(variation.moved.shape[0] // CHANGED_MOTION):
        o = CHANGED_MOTION * m
        order, place = variation.moved[o + ORDER], variation.moved[o + INTO] + variation.moved[o + DIRECTION]
        motion_taylor(variation.motions, m, t, order, variation.taylor, 0)
        for k in range(order + 1):
            if variation.moved[o + OF_RELATION] != 0:
                put(tangents.relations.inputs, place + 8 * k, at(variation.taylor, k))
            else:
                put(tangents.laws.inputs, place + 8 * k, at(variation.taylor, k))


@kernel
def differentiate_slope(
    mechanism: Mechanism,
    tangents: Tangents,
    variation: Any,
    t: float,
    y: np.ndarray,
    ydot: np.ndarray,
    changes: np.ndarray,
    projected: bool,
) -> None:
    """Compute y' at time t (s) and state y, in `ydot`, and the derivatives of the accelerations along its variations.

    `changes` are the variations of y; `variation` is an `ExplicitVariation` or `ImplicitVariation`. If `projected` is
    true, y was projected onto the constraints, and the variations are projected first.
    """
    size, alpha, beta = y.shape[0], variation.alpha, variation.beta
    evaluate(mechanism, t, y, alpha, beta, ydot)
    if projected and monitor_rows(mechanism, t, y, variation.rank):
        evaluate(mechanism, t, y, alpha, beta, ydot)
    keep_motion(mechanism, tangents, ydot)
    move_motions(tangents, variation, t)
    if projected:
        project_variations(mechanism, tangents, t, y, ydot, changes, variation.directions)
    for d in range(variation.directions):
        seed(mechanism.constants, tangents, y, changes[d * size : (d + 1) * size], d)
    solve_tangents(mechanism, tangents, t, y, ydot, False, variation.directions, alpha, beta)


@kernel
def project_at(
    mechanism: Mechanism, tangents: Tangents, variation: Any, t: float, y: np.ndarray, changes: np.ndarray
) -> None:
    """Project the variations `changes` of the state y at time t (s) onto the linearized constraints.

    `variation` is an `ExplicitVariation` or an `ImplicitVariation`.
    """
    ydot = variation.stage
    evaluate(mechanism, t, y, variation.alpha, variation.beta, ydot)
    keep_motion(mechanism, tangents, ydot)
    move_motions(tangents, variation, t)
    project_variations(mechanism, tangents, t, y, ydot, changes, variation.directions)


@kernel
def note_extents(mechanism: Mechanism, variation: Any, step: int) -> None:
    """Store the norm of the pose variations and the smallest pivot of the constraint rows at the end of a step.

    `step` is the index of the step; `variation` is an `ExplicitVariation` or an `ImplicitVariation`.
    """
    put(variation.pivots, step, at(mechanism.work.summary, LEAST))
    size = variation.stage.shape[0]
    for d in range(variation.directions):
        change = variation.changes_new[d * size : (d + 1) * size]
        put(variation.extents, 8 * step + d, extent(mechanism.constants.shape[0] // CON, change, variation.length, 0.0))
