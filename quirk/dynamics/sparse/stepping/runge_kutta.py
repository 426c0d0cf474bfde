"""Steps of explicit Runge-Kutta methods with any tableau, with error estimates and dense output.

The kernels of a method are described in the module `method_kernels`. `stepper` contains the data of the method. The
pivot of a constraint row is its squared distance from the span of the rows before it, in the order of elimination; it
vanishes at a singular configuration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.integrators.combinations import Weights, combine, combine_error, sample
from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component
from quirk.jit.record import record
from quirk.jit.simd import at, greater, load, splat, store

from ..kernels.applied import variables_error
from ..kernels.bodies import POSES, VELOCITIES, error_ratio, finite, normalise
from ..kernels.closed_ends import begin_closed, closed_recursively, evaluate_closed
from ..kernels.closing_selection import comes_close, watch_closings
from ..kernels.closing_solve import closed
from ..kernels.factorisation import pivots
from ..kernels.mechanism import Mechanism
from ..kernels.project import project, tangential
from ..kernels.recursion_solve import accelerate, accelerate_closed, recursive
from ..kernels.redundancy import EPSILON
from ..kernels.work_error import work_error
from .discontinuity_test import record_functions
from .loop import take_steps, take_watched_steps
from .method_kernels import implement
from .run_state import RunState, Settings, StepPosition
from .singular_steps import leads_across_singular, plan_passage, time_to_singular
from .step_control import in_piece, keeps_to_constraints
from .step_kernels import keep_last_stage, project_step_end, projects, slope_at, tolerance_of_work

# Relative round-off of accelerations times the smallest pivot of the rows.
ROUND_OFF = EPSILON

# Smallest distance of a stage from a singular configuration, over that of the start of the step, that is assumed in the
# bound of round-off: a step with a closer stage must be repeated with another size and not be accepted.
CLOSEST = 0.02

# Distance of an additional stage from a singular configuration, over that of the start of the step, below which a step
# is repeated if round-off of the accelerations there exceeds the tolerance.
CLOSE = 0.05

# Error, over the tolerance, of a step across a singular configuration that has an additional stage too close to it; the
# step is repeated with another size.
STAGE_LOST = 2.0

# Largest error, over the speeds of the bodies, of a step that is accepted because of round-off; with a larger error it
# may follow the other branch of motion.
MOST_ROUND_OFF = 1e-7


@record
class RungeKutta(NamedTuple):
    """An explicit Runge-Kutta method and the arrays of its steps.

    A state has `size` elements. Dense output may need additional stages after the stages of the step.

    Attributes
    ----------
    weights : coefficients of the method
    exponent : 1 / (order of the error estimate + 1)
    k : (weights.buffers * size,) slopes y' at all stages, including additional ones
    stage, change : (size,) state of a stage, and the error of a step
    round_off : (stages + 1,) relative round-off of the slopes of a step across a singular configuration
    passages : (n,) fractions of a step, ascending, far from all stages; a step across a singular configuration is sized
        such that the singular configuration is at one of them
    """

    weights: Weights
    exponent: float
    k: np.ndarray
    stage: np.ndarray
    change: np.ndarray
    round_off: np.ndarray
    passages: np.ndarray


@component(effort=3)
def take(mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, h: float) -> float:
    """Take a step of size h; return the ratio of error to tolerance."""
    weights, size, stages = stepper.weights, run.y.shape[0], stepper.weights.stages
    over_forest = closes_over_forest(mechanism, settings)
    if over_forest:
        begin_closed(mechanism, in_piece(run, run.clock.t), run.y)
    across, projected = leads_across_singular(mechanism, run, h), projects_stages(mechanism, settings, run)
    close = over_forest and comes_close(mechanism.work, h / (run.clock.t - run.clock.earlier))
    if across:
        stepper.round_off[0] = ROUND_OFF / smallest_pivot_at_start(mechanism)
    for stage in range(1 - run.counts.fresh, stages + 1):
        y = run.y_new if stage == stages else stepper.stage if stage > 0 else run.y
        t = in_piece(run, run.clock.t + weights.c[stage] * h)
        if stage > 0:
            combine(weights, stage, stepper.k, h, run.y, y)
        if projected and 0 < stage < stages and not project_stage(mechanism, settings, run, t, y):
            run.counts.fresh = 0
            return np.inf
        if stage == stages and not project_step_end(mechanism, settings, run, False):
            run.counts.fresh = 0
            return np.inf
        on_rows = stage == stages and projects(mechanism, settings, run)
        slope = stepper.k[stage * size : (stage + 1) * size]
        stage_slope(mechanism, settings, run, t, y, slope, on_rows, across or projected or close)
        if run.stop[0] != 0:
            return np.inf
        record_functions(mechanism, settings, run, stage)
        if across:
            stepper.round_off[stage] = min(ROUND_OFF / pivots(mechanism)[2], stepper.round_off[0] / CLOSEST**2)
    if across and over_forest and recursive(mechanism):
        watch_closings(mechanism)
    run.counts.fresh = 0
    error = 0.0 if settings.fixed > 0 else step_error(mechanism, stepper, settings, run, h)
    if (across or projected) and error <= 1.0 and additional_stage_is_close(mechanism, stepper, settings, run, h):
        return STAGE_LOST
    if projected and error <= 1.0 and not additional_stages(mechanism, stepper, settings, run, h, True):
        return STAGE_LOST
    return error


@kernel
def project_stage(mechanism: Mechanism, settings: Settings, run: RunState, t: float, y: np.ndarray) -> bool:
    """Project the state y of a stage at time t (s) onto the constraints, in place; return False if it is too far away.

    Close to a singular configuration, a distance d of a state from the constraints would cause an error of about d over
    the pivot in the accelerations. Projecting all stages of a step preserves the order of the method, because the
    projected equation has the same solutions; elsewhere, it makes the steps less accurate.
    """
    normalise(mechanism.constants, y)
    return finite(y) and project(mechanism, t, y, settings.length, run.counts, True)


@kernel
def projects_stages(mechanism: Mechanism, settings: Settings, run: RunState) -> bool:
    """Return whether all stages of the current step are projected onto the constraints.

    This is so in a second attempt to cross a singular configuration.
    """
    return run.clock.crossing > 0.0 and keeps_to_constraints(mechanism, settings) and not settings.fixed > 0


@kernel
def stage_slope(
    mechanism: Mechanism, settings: Settings, run: RunState, t: float, y: np.ndarray, slope: np.ndarray,
    on_constraints: bool, with_multipliers: bool,
) -> None:  # fmt: skip
    """Compute y' at time t (s) and state y, by recursion over the joints if possible, and store it in `slope`.

    `on_constraints` is true if y satisfies the constraints; the selection of independent rows is then checked.
    `with_multipliers` is true if multipliers are required.
    """
    counts, stabilized = run.counts, settings.alpha > 0.0 or settings.beta > 0.0
    if closes_over_forest(mechanism, settings):
        if on_constraints:
            counts.evaluations += evaluate_closed(mechanism, t, y, counts.best_rank, with_multipliers, slope)
            return
        if not with_multipliers and closed_recursively(mechanism) and accelerate_closed(mechanism, t, y, slope):
            counts.evaluations += 1
            return
    elif recursive(mechanism) and not (closed(mechanism) or stabilized or with_multipliers):
        accelerate(mechanism, t, y, slope)  # the rows of a forest are independent everywhere
        counts.evaluations += 1
        return
    slope_at(mechanism, settings, run, t, y, slope, on_constraints)


@kernel
def closes_over_forest(mechanism: Mechanism, settings: Settings) -> bool:
    """Return whether loops are closed by constraint rows on top of a recursion over a spanning forest.

    The pivots of these rows are checked at the ends of all steps, which must therefore be on the constraints.
    """
    if not closed(mechanism) or settings.alpha > 0.0 or settings.beta > 0.0:
        return False
    return recursive(mechanism) and settings.interval == 1


@kernel
def smallest_pivot_at_start(mechanism: Mechanism) -> float:
    """Return the smallest pivot of the constraint rows at the start of the step."""
    least, before = 1.0, mechanism.work.pivots_before
    for row in range(before.shape[0]):
        pivot = at(before, row)
        if pivot > 0.0:
            least = min(least, pivot)
    return least


@kernel
def additional_stage_is_close(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, h: float
) -> bool:
    """Return whether an additional stage, used for dense output only, is too close to a singular configuration.

    This is so if the round-off of its slope would exceed the tolerance of output states. The error estimate of the step
    of size h does not contain these stages; their round-off is estimated from the pivots at the start of the step.
    """
    way, pivot = time_to_singular(mechanism, run, h, True, 0.0), smallest_pivot_at_start(mechanism)
    for stage in range(stepper.weights.stages + 1, stepper.weights.buffers):
        left = abs(stepper.weights.c[stage] * h / way - 1.0)
        if left < CLOSE and settings.rtol * pivot * left * left < ROUND_OFF:
            return True
    return False


@kernel
def additional_stages(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, h: float, projected: bool
) -> bool:
    """Compute the slopes at the additional stages for dense output of a step of size h.

    If `projected`, their states are projected onto the constraints; returns False if one of them is too far away.
    """
    weights, size = stepper.weights, run.y.shape[0]
    for stage in range(weights.stages + 1, weights.buffers):
        combine(weights, stage, stepper.k, h, run.y, stepper.stage)
        t = in_piece(run, run.clock.t + weights.c[stage] * h)
        if projected and not project_stage(mechanism, settings, run, t, stepper.stage):
            return False
        slope = stepper.k[stage * size : (stage + 1) * size]
        stage_slope(mechanism, settings, run, t, stepper.stage, slope, False, projected)
        if run.stop[0] != 0:
            return True
    return True


@kernel
def between(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, t: float, state: np.ndarray
) -> bool:
    """Compute the state at time t (s) within the step by dense output, and write it to `state`.

    Returns False if the state is not finite. Additional stages are computed at the first call in a step.
    """
    weights, h = stepper.weights, run.clock.t_new - run.clock.t
    if run.counts.position == StepPosition.TAKEN and not projects_stages(mechanism, settings, run):
        additional_stages(mechanism, stepper, settings, run, h, False)
        if run.stop[0] != 0:
            return False
    sample(weights, (t - run.clock.t) / h, stepper.k, h, run.y, state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def estimate(stepper: RungeKutta, run: RunState, x: float, h: float, state: np.ndarray) -> None:
    """Evaluate the cubic Hermite interpolant of a step of size h at its fraction x, and write the state to `state`."""
    size, stages = run.y.shape[0], stepper.weights.stages
    for o in range(0, size, 8):
        y, change = load(run.y, o), load(run.y_new, o) - load(run.y, o)
        bend_0 = (1.0 - x) * (h * load(stepper.k, o) - change)
        bend_1 = x * (h * load(stepper.k, stages * size + o) - change)
        store(state, o, y + x * change + x * (1.0 - x) * (bend_0 - bend_1))


@kernel
def close(stepper: RungeKutta, settings: Settings, run: RunState) -> None:
    """Copy the slope y' at the end of a step to the start of the next step."""
    size, stages = run.y.shape[0], stepper.weights.stages
    for o in range(0, size, 8):
        store(stepper.k, o, load(stepper.k, stages * size + o))
    keep_last_stage(settings, run, stages)


@kernel
def step_error(mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, h: float) -> float:
    """Return the ratio of the error of a step to the tolerance.

    With projection, only the component of the error tangential to the constraints is used. h is the step size, s.
    """
    constants, weights, change = mechanism.constants, stepper.weights, stepper.change
    constrained, rtol, atol = keeps_to_constraints(mechanism, settings), settings.rtol, settings.atol
    size, stages, motion, work, second, second_work = run.y.shape[0], weights.stages, 0.0, 0.0, 0.0, 0.0
    slope = stepper.k[stages * size : (stages + 1) * size]
    energy, power = tolerance_of_work(mechanism, settings, run, run.y_new, slope)
    for estimate in range(weights.errors):
        combine_error(weights, estimate, stepper.k, h, change)
        if not finite(change):
            return np.inf
        worst = variables_error(mechanism.forces, change, run.y, run.y_new, rtol, atol)
        working = work_error(mechanism.forces, change, energy + h * power)
        for level in (POSES, VELOCITIES):
            tangential(mechanism, run.y_new, change, level, constrained)
            ratio = error_ratio(constants, mechanism.work.motion, run.y, run.y_new, level, rtol, atol)
            worst = max(worst, ratio) if ratio == ratio else np.inf
        if estimate == 0:
            motion, work = worst, working
        else:
            second, second_work = worst, working
    error = combined(max(motion, work), max(second, second_work))
    if 1.0 < error < MOST_ROUND_OFF / rtol and leads_across_singular(mechanism, run, h):
        # A shorter step would start closer to the singular configuration, with more round-off.
        of_motion, of_work = round_off_errors(mechanism, stepper, settings, run, h, energy + h * power)
        motion, work = combined(motion, second), combined(work, second_work)
        return max(beyond_round_off(motion, of_motion), beyond_round_off(work, of_work))
    return error


@kernel
def beyond_round_off(error: float, round_off: float) -> float:
    """Return the ratio of an error to the tolerance, or to its bound of round-off if the bound is larger; 1 at least.

    Both are given as ratios to the tolerance. An error within the tolerance is returned as it is.
    """
    return max(1.0, error / round_off) if min(error, round_off) > 1.0 else error


@kernel
def combined(first: float, second: float) -> float:
    """Return the error of a step from the ratios of its two error estimates to the tolerance.

    The formula is that of Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.10. Methods with
    a single estimate have a second one of 0.
    """
    if not 0.0 < first < np.inf:
        return first
    return first / np.sqrt(1.0 + 0.01 * (second / first) ** 2)


@kernel
def round_off_errors(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, h: float, energy: float
) -> tuple[float, float]:
    """Return upper bounds of the errors of velocities and of work due to round-off, divided by their tolerances.

    If p is the smallest pivot of the rows, the relative round-off of accelerations and powers is up to ROUND_OFF / p. h
    is the step size, s, and `energy` the tolerance of the work, J.
    """
    weights, change, size, row = stepper.weights, stepper.change, run.y.shape[0], stepper.weights.buffers
    for o in range(0, size, 8):
        bound = splat(0.0)
        for e in range(weights.first[row], weights.first[row + 1]):
            stage = weights.slope[e]
            slope = load(stepper.k, stage * size + o)
            bound = bound + abs(at(weights.weight, e)) * at(stepper.round_off, stage) * greater(slope, -slope)
        store(change, o, h * bound)
    of_work = work_error(mechanism.forces, change, energy)
    tangential(mechanism, run.y_new, change, VELOCITIES, False)
    ratio = error_ratio(
        mechanism.constants, mechanism.work.motion, run.y, run.y_new, VELOCITIES, settings.rtol, settings.atol
    )
    return ratio, of_work


@kernel
def replan(mechanism: Mechanism, stepper: RungeKutta, run: RunState, h: float, ended: bool) -> None:
    """Choose the step size after a rejected step of size h such that no stage is near a singular configuration.

    `ended` is true if the end of the rejected step has been computed.
    """
    plan_passage(mechanism, run, stepper.passages, h, ended)


implement(RungeKutta, take=take, between=between, estimate=estimate, close=close, replan=replan)


@entry(needed_by="runs need", effort=8)
def runge_kutta_steps(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps of a Runge-Kutta method.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_steps(mechanism, stepper, settings, run, most_steps).value


@entry(needed_by="runs with events need", effort=12)
def runge_kutta_steps_with_events(
    mechanism: Mechanism, stepper: RungeKutta, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps of a Runge-Kutta method, with a search for events.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_watched_steps(mechanism, stepper, settings, run, most_steps).value
