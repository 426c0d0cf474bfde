"""Kernels used by all methods: projection onto the constraints, slopes y', and the tolerance of work."""

from __future__ import annotations

import math

import numpy as np

from quirk.integrators.control import FARTHEST_CORRECTION, LARGEST_CORRECTION
from quirk.jit.compilation import kernel
from quirk.jit.simd import at

from ..kernels.bodies import finite, normalise
from ..kernels.closed_ends import compare_pivots
from ..kernels.evaluate import evaluate
from ..kernels.mechanism import Mechanism
from ..kernels.project import project
from ..kernels.round_off_detection import evaluate_on_constraints
from ..kernels.work_error import work_magnitude, work_tolerance
from ..kernels.workspace import CORRECTION
from .discontinuity_probe import continue_from_last_stage
from .run_state import RunState, Settings
from .step_control import in_piece, keeps_to_constraints

# Parts of a step of fixed size that are shorter than this fraction of it show no typical change of a function.
SHORT = 0.125


@kernel
def projects(mechanism: Mechanism, settings: Settings, run: RunState) -> bool:
    """Return whether the end of the current step is projected: every `settings.interval` steps."""
    return keeps_to_constraints(mechanism, settings) and (run.counts.steps + 1) % settings.interval == 0


@kernel
def project_step_end(mechanism: Mechanism, settings: Settings, run: RunState, distant: bool) -> bool:
    """Normalize the quaternions in run.y_new and, if required, project the state onto the constraints.

    Returns False if the state is not finite, or too far from the constraints. `distant` is true if the factorization in
    `mechanism.work` belongs to a state far from run.y_new, such as the start of a long step.
    """
    arrived, y = finite(run.y_new), run.y_new
    normalise(mechanism.constants, y)
    if arrived and projects(mechanism, settings, run):
        arrived = project(mechanism, run.clock.t_new, y, settings.length, run.counts, distant)
        farthest = FARTHEST_CORRECTION if settings.fixed > 0 else LARGEST_CORRECTION
        arrived = arrived and not at(mechanism.work.summary, CORRECTION) > farthest
    return arrived


@kernel
def slope_at(
    mechanism: Mechanism,
    settings: Settings,
    run: RunState,
    t: float,
    y: np.ndarray,
    slope: np.ndarray,
    on_constraints: bool,
) -> None:
    """Compute y' at time t (s) and state y, and store it in `slope`.

    `on_constraints` must be true if y satisfies the constraints; the selection of independent rows is then checked.
    """
    alpha, beta = settings.alpha, settings.beta
    if on_constraints:
        run.counts.evaluations += evaluate_on_constraints(mechanism, t, y, alpha, beta, run.counts.best_rank, slope)
        compare_pivots(mechanism.work, False)
    else:
        evaluate(mechanism, t, y, alpha, beta, slope)
        run.counts.evaluations += 1


@kernel
def slope_at_start(mechanism: Mechanism, settings: Settings, run: RunState, slope: np.ndarray) -> None:
    """Compute y' at the start of a step, in `slope`, after a change of method or a jump of the state.

    The independent rows are selected anew, because the previous method may have used a different selection.
    """
    on_constraints = keeps_to_constraints(mechanism, settings) and run.counts.steps % settings.interval == 0
    slope_at(mechanism, settings, run, in_piece(run, run.clock.t), run.y, slope, on_constraints)


@kernel
def tolerance_of_work(
    mechanism: Mechanism, settings: Settings, run: RunState, y: np.ndarray, slope: np.ndarray
) -> tuple[float, float]:
    """Return the tolerance of the work in a step as two numbers, a constant (J) and a part per step size (W).

    The last evaluation must have been at the state y, with y' in `slope`; see `work_error`.
    """
    before = run.clock.exchanged + work_magnitude(mechanism.forces, run.y, y)
    h = run.clock.t_new - run.clock.t
    return work_tolerance(mechanism, y, slope, before, h, settings.rtol, settings.atol)


@kernel
def keep_last_stage(settings: Settings, run: RunState, stages: int) -> None:
    """Copy the inputs and outputs of user functions at the last stage to the start of the next step.

    `stages` is the index of the last stage.
    """
    if settings.gap < math.inf:
        short = run.clock.t_new - run.clock.t < SHORT * settings.step
        continue_from_last_stage(run.functions, stages, short)
