"""Compiled adjoint of a run: state gradients are propagated backward over its steps.

The gradient with respect to the state at the end of a step gives the gradients with respect to the slopes y' at its
stages, and these, from the last stage to the first, give the gradients with respect to the stage states. This is the
transposed Runge-Kutta step, exact for the computed states (Hager, Runge-Kutta methods in optimal control and the
transformed adjoint system, Numerische Mathematik 87, 2000). Stages are recomputed from the state at the start of the
step, so that only one state per step is stored. "The gradient of x" means the derivatives of the scalar function of the
run with respect to x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.integrators.combinations import Weights, combine
from quirk.jit.compilation import entry, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, load, store

from ..kernels.applied import refer
from ..kernels.evaluate import evaluate
from ..kernels.impose import clear, copy
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import watch
from ..stepping.run_state import STEP_END, STEP_HEAD, STEP_HIGH, STEP_LOW, STEP_START
from .state import Pull, pull_landing, pull_rates


@record
class Adjoint(NamedTuple):
    """Gradient with respect to a state of a run, and the data needed to propagate it; a state has `size` elements.

    Attributes
    ----------
    pull : data for the gradient at one state
    weights : coefficients of the Runge-Kutta method, s stages
    alpha, beta : Baumgarte's rates, 1/s
    projects : whether the run is projected onto the constraints
    rank : largest number of independent rows so far
    trail : steps as in `RunState`, followed by the final state
    rows : (steps + 1,) index in `sources` of the start of each step and of the end, or -1 if it is no output time
    sources : (nt size,) partial derivatives of the scalar function with respect to the states at output times
    states, slopes : (s size,) states and y' at the stages
    given : (s size,) gradients with respect to the slopes
    now : (size,) gradient with respect to the present state
    more : (size,) scratch array
    """

    pull: Pull
    weights: Weights
    alpha: float
    beta: float
    projects: bool
    rank: int
    trail: np.ndarray
    rows: np.ndarray
    sources: np.ndarray
    states: np.ndarray
    slopes: np.ndarray
    given: np.ndarray
    now: np.ndarray
    more: np.ndarray


@kernel
def add_scaled(into: np.ndarray, scale: float, more: np.ndarray) -> None:
    """Add `scale` times the array `more` to the array `into`."""
    for o in range(0, into.shape[0], 8):
        store(into, o, load(into, o) + scale * load(more, o))


@kernel
def add_source(adjoint: Adjoint, n: int) -> None:
    """Add the partial derivatives with respect to the state at the start of step n to the present gradient.

    Only states at output times have such derivatives.
    """
    size, row = adjoint.now.shape[0], adjoint.rows[n]
    if row >= 0:
        add_scaled(adjoint.now, 1.0, adjoint.sources[row * size : (row + 1) * size])


@kernel
def land_back(mechanism: Mechanism, adjoint: Adjoint, t: float, y: np.ndarray) -> None:
    """Propagate the gradient backward through the projection of a state y onto the constraints, at time t (s)."""
    evaluate(mechanism, t, y, adjoint.alpha, adjoint.beta, adjoint.more)
    if adjoint.projects:
        if watch(mechanism, t, y, adjoint.rank):
            evaluate(mechanism, t, y, adjoint.alpha, adjoint.beta, adjoint.more)
        pull_landing(mechanism, adjoint.pull, t, y, adjoint.more, adjoint.now)


@kernel
def share_back(adjoint: Adjoint, row: int, h: float, given: np.ndarray) -> None:
    """Propagate the gradient with respect to a weighted sum of slopes y' to gradients with respect to the slopes.

    `given` is the gradient with respect to the sum, whose weights are row `row` of the tableau; h is the step size, s.
    """
    weights, size = adjoint.weights, adjoint.now.shape[0]
    for e in range(weights.first[row], weights.first[row + 1]):
        o = weights.slope[e] * size
        add_scaled(adjoint.given[o : o + size], h * at(weights.weight, e), given)


@kernel
def step_back(mechanism: Mechanism, adjoint: Adjoint, step: np.ndarray, y_new: np.ndarray) -> None:
    """Propagate the gradient from the end of a step, the state y_new, to its start.

    `step` holds the times of the step and the state at its start, as in `RunState.trail`.
    """
    weights, size, alpha, beta = adjoint.weights, adjoint.now.shape[0], adjoint.alpha, adjoint.beta
    start, low, high = at(step, STEP_START), at(step, STEP_LOW), at(step, STEP_HIGH)
    h, y, stages = at(step, STEP_END) - start, step[STEP_HEAD : step.shape[0]], adjoint.weights.stages
    land_back(mechanism, adjoint, min(max(start + weights.c[stages] * h, low), high), y_new)
    refer(mechanism.forces, at(step, STEP_END))
    for stage in range(stages):
        state = adjoint.states[stage * size : (stage + 1) * size]
        if stage == 0:
            copy(y, state)
        else:
            combine(weights, stage, adjoint.slopes, h, y, state)
        when = min(max(start + weights.c[stage] * h, low), high)
        evaluate(mechanism, when, state, alpha, beta, adjoint.slopes[stage * size : (stage + 1) * size])
    clear(adjoint.given)
    share_back(adjoint, stages, h, adjoint.now)
    for stage in range(stages - 1, -1, -1):
        state, slope = (
            adjoint.states[stage * size : (stage + 1) * size],
            adjoint.slopes[stage * size : (stage + 1) * size],
        )
        when = min(max(start + weights.c[stage] * h, low), high)
        if stage < stages - 1:  # the last stage has just been evaluated
            evaluate(mechanism, when, state, alpha, beta, slope)
        given = adjoint.given[stage * size : (stage + 1) * size]
        pull_rates(mechanism, adjoint.pull, when, state, slope, alpha, beta, given, adjoint.more)
        add_scaled(adjoint.now, 1.0, adjoint.more)
        if stage > 0:
            share_back(adjoint, stage, h, adjoint.more)


@entry(needed_by="gradients need", effort=9)
def go_back(mechanism: Mechanism, adjoint: Adjoint, first: int, last: int, stop: np.ndarray) -> None:
    """Propagate the gradient from the end of step `last - 1` to the start of step `first`.

    If `stop` (1,) is set during the call, the function returns early. At the start of step 0 the gradient is propagated
    through the initial projection.
    """
    width = STEP_HEAD + adjoint.now.shape[0]
    for n in range(last - 1, first - 1, -1):
        step = adjoint.trail[n * width : (n + 1) * width]
        add_source(adjoint, n + 1)
        step_back(mechanism, adjoint, step, adjoint.trail[(n + 1) * width + STEP_HEAD : (n + 2) * width])
        if stop[0] != 0:
            return
        if n == 0:
            add_source(adjoint, 0)
            start = min(max(at(step, STEP_START), at(step, STEP_LOW)), at(step, STEP_HIGH))
            land_back(mechanism, adjoint, start, step[STEP_HEAD : step.shape[0]])
