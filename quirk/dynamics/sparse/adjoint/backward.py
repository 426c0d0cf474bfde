"""Compiled adjoint of a run: backward propagation of the state gradient over its steps.

The gradient with respect to the state at the end of a step gives the gradients with respect to the slopes y' at the
stages; these give, from the last stage to the first, the gradients with respect to the stage states. This is the
transposed Runge-Kutta step, exact for the computed states (Hager, Runge-Kutta methods in optimal control and the
transformed adjoint system, Numerische Mathematik 87, 2000). Stages are recomputed from the state at the start of the
step, so that only one state per step is stored. "The gradient with respect to x" consists of the derivatives of the
scalar function of the run with respect to x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.integrators.combinations import Weights, combine
from quirk.jit.compilation import entry, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, load, store

from ..kernels.applied import refer
from ..kernels.constraint_solve import clear, copy
from ..kernels.evaluate import evaluate
from ..kernels.mechanism import Mechanism
from ..kernels.redundancy import monitor_rows
from ..stepping.run_state import STEP_END, STEP_HEAD, STEP_HIGH, STEP_LOW, STEP_START
from .state import Pullback, pull_projection, pull_rates


@record
class Adjoint(NamedTuple):
    """Gradient with respect to a state of a run, with the data for its backward propagation.

    A state has `size` elements.

    Attributes
    ----------
    pullback : data for the gradient at one state
    weights : coefficients of the Runge-Kutta method, s stages
    alpha, beta : Baumgarte's rates, 1/s
    projects : whether the run is projected onto the constraints
    rank : largest number of independent rows so far
    trail : steps as in `RunState`, followed by the final state
    rows : (steps + 1,) index in `sources` of the time at the start of each step, and of the end of the run; -1 for
        times that are not output times
    sources : (nt size,) partial derivatives of the scalar function with respect to the states at output times
    states, slopes : (s size,) states and y' at the stages
    slope_gradients : (s size,) gradients with respect to the slopes
    gradient : (size,) gradient with respect to the current state
    scratch : (size,) scratch array
    """

    pullback: Pullback
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
    slope_gradients: np.ndarray
    gradient: np.ndarray
    scratch: np.ndarray


@kernel
def add_scaled(into: np.ndarray, scale: float, array: np.ndarray) -> None:
    """Add `scale` times `array` to the array `into`."""
    for o in range(0, into.shape[0], 8):
        store(into, o, load(into, o) + scale * load(array, o))


@kernel
def add_source(adjoint: Adjoint, n: int) -> None:
    """Add the partial derivatives of the scalar function with respect to the state at the start of step n.

    They are added to the current gradient, and are zero except at output times.
    """
    size, row = adjoint.gradient.shape[0], adjoint.rows[n]
    if row >= 0:
        add_scaled(adjoint.gradient, 1.0, adjoint.sources[row * size : (row + 1) * size])


@kernel
def project_back(mechanism: Mechanism, adjoint: Adjoint, t: float, y: np.ndarray) -> None:
    """Propagate the gradient backward through the projection of a state y onto the constraints, at time t (s)."""
    evaluate(mechanism, t, y, adjoint.alpha, adjoint.beta, adjoint.scratch)
    if adjoint.projects:
        if monitor_rows(mechanism, t, y, adjoint.rank):
            evaluate(mechanism, t, y, adjoint.alpha, adjoint.beta, adjoint.scratch)
        pull_projection(mechanism, adjoint.pullback, t, y, adjoint.scratch, adjoint.gradient)


@kernel
def distribute(adjoint: Adjoint, row: int, h: float, gradient: np.ndarray) -> None:
    """Propagate a gradient from a weighted sum of slopes y' to the slopes.

    `gradient` is the gradient with respect to the sum, and the weights are row `row` of the tableau times the step size
    h (s). The results are added to adjoint.slope_gradients.
    """
    weights, size = adjoint.weights, adjoint.gradient.shape[0]
    for e in range(weights.first[row], weights.first[row + 1]):
        o = weights.slope[e] * size
        add_scaled(adjoint.slope_gradients[o : o + size], h * at(weights.weight, e), gradient)


@kernel
def step_back(mechanism: Mechanism, adjoint: Adjoint, step: np.ndarray, y_new: np.ndarray) -> None:
    """Propagate the gradient backward over a step, from its end state y_new to its start.

    `step` contains the times of the step and the state at its start, as in `RunState.trail`.
    """
    weights, size, alpha, beta = adjoint.weights, adjoint.gradient.shape[0], adjoint.alpha, adjoint.beta
    start, low, high = at(step, STEP_START), at(step, STEP_LOW), at(step, STEP_HIGH)
    h, y, stages = at(step, STEP_END) - start, step[STEP_HEAD : step.shape[0]], adjoint.weights.stages
    project_back(mechanism, adjoint, min(max(start + weights.c[stages] * h, low), high), y_new)
    refer(mechanism.forces, at(step, STEP_END))
    for stage in range(stages):
        state = adjoint.states[stage * size : (stage + 1) * size]
        if stage == 0:
            copy(y, state)
        else:
            combine(weights, stage, adjoint.slopes, h, y, state)
        time = min(max(start + weights.c[stage] * h, low), high)
        evaluate(mechanism, time, state, alpha, beta, adjoint.slopes[stage * size : (stage + 1) * size])
    clear(adjoint.slope_gradients)
    distribute(adjoint, stages, h, adjoint.gradient)
    for stage in range(stages - 1, -1, -1):
        state, slope = (
            adjoint.states[stage * size : (stage + 1) * size],
            adjoint.slopes[stage * size : (stage + 1) * size],
        )
        time = min(max(start + weights.c[stage] * h, low), high)
        if stage < stages - 1:  # the last stage has just been evaluated
            evaluate(mechanism, time, state, alpha, beta, slope)
        slope_gradient = adjoint.slope_gradients[stage * size : (stage + 1) * size]
        pull_rates(mechanism, adjoint.pullback, time, state, slope, alpha, beta, slope_gradient, adjoint.scratch)
        add_scaled(adjoint.gradient, 1.0, adjoint.scratch)
        if stage > 0:
            distribute(adjoint, stage, h, adjoint.scratch)


@entry(needed_by="gradients need", effort=9)
def propagate_back(mechanism: Mechanism, adjoint: Adjoint, first: int, last: int, stop: np.ndarray) -> None:
    """Propagate the gradient backward from the end of step `last - 1` to the start of step `first`.

    At the start of step 0 the gradient is also propagated through the initial projection. The function returns early if
    `stop` (1,) becomes nonzero.
    """
    width = STEP_HEAD + adjoint.gradient.shape[0]
    for n in range(last - 1, first - 1, -1):
        step = adjoint.trail[n * width : (n + 1) * width]
        add_source(adjoint, n + 1)
        step_back(mechanism, adjoint, step, adjoint.trail[(n + 1) * width + STEP_HEAD : (n + 2) * width])
        if stop[0] != 0:
            return
        if n == 0:
            add_source(adjoint, 0)
            start = min(max(at(step, STEP_START), at(step, STEP_LOW)), at(step, STEP_HIGH))
            project_back(mechanism, adjoint, start, step[STEP_HEAD : step.shape[0]])
