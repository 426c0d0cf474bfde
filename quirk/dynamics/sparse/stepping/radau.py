"""Steppers of Radau IIA methods: for stiff systems, without order reduction where motion is strongly damped.

Newton's method is implemented as in RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8):
derivatives and factorizations at one state are used in all iterations of a step, and in further steps while iterations
converge fast; the initial guess is the extrapolated polynomial of the previous step. Unlike in RADAU5, derivatives are
evaluated at the extrapolated state in the middle of the step, and all computations are in axes that rotate with the
bodies.

The kernels of a method are described in the module `method_kernels`. `stepper` contains the data of the method. A slope
is y', and an increment is the difference of a state from that at the start of the step.
"""

from __future__ import annotations

import numpy as np

from quirk.integrators.control import SAFETY
from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component
from quirk.jit.simd import load, store

from ..kernels.bodies import finite, normalise
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from .discontinuity_test import record_functions
from .loop import take_steps, take_watched_steps
from .method_kernels import implement
from .radau_error import add_work, step_error
from .radau_iterations import begin, compute_derivatives, factorise, holds_singular, iterate
from .radau_record import Radau, add_weighted_sum, clear, evaluate_polynomial, state_at_point, state_to_rotating
from .run_state import RunState, Settings
from .step_control import in_piece
from .step_kernels import keep_last_stage, project_step_end, projects, slope_at, slope_at_start

# If the convergence rate exceeds this, derivatives are computed again for the next step.
SLOW = 0.02
# Factor by which a step is shortened if iterations do not converge.
SHORTER = 0.5
# A step keeps its size, and its matrices, unless it can be longer by this factor.
WORTH = 1.2
# Maximum ratio of successive step sizes, as the initial guess extrapolates the previous polynomial.
LONGER = 3.0


@component(effort=12)
def take(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> float:
    """Take a step of size h; return the ratio of error to tolerance."""
    known = stepper.step_data
    if run.counts.fresh != 0 or known.since != run.clock.t:
        slope_at_start(mechanism, settings, run, stepper.slope)
        run.counts.fresh = 0
        if run.stop[0] != 0:
            return np.inf
        record_functions(mechanism, settings, run, 0)
        known.since, known.past_step, known.derived, known.bound = run.clock.t, 0.0, 0.0, 1.0
    new = known.derived == 0.0
    while True:
        if new:
            compute_derivatives(mechanism, stepper, settings, run, h)
        begin(mechanism, stepper, run, h)
        if known.step != h:
            factorise(mechanism, stepper, h)
        if run.stop[0] != 0:
            return np.inf
        if iterate(mechanism, stepper, settings, run, h):
            break
        if run.stop[0] != 0:
            return np.inf
        if new:
            if holds_singular(stepper, settings, run):
                return np.inf
            known.derived = 0.0
            return (SAFETY / SHORTER) ** (1.0 / stepper.exponent)
        new = True
    if holds_singular(stepper, settings, run):
        return np.inf
    if known.rate > SLOW:
        known.derived = 0.0
    return complete_step(mechanism, stepper, settings, run, h)


@kernel
def complete_step(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> float:
    """Compute the end of a step of size h from the converged increments; return the ratio of error to tolerance."""
    s, size = stepper.points, run.y.shape[0]
    add_work(mechanism, stepper, h)
    state_at_point(mechanism, stepper, s - 1, run.y_new)
    clear(stepper.w[:size])
    add_weighted_sum(stepper.e, 0, s, stepper.z, 1.0, stepper.w[:size])
    if not project_step_end(mechanism, settings, run, False):
        return np.inf
    store_polynomial(mechanism, stepper, run, h)
    slope_at(mechanism, settings, run, in_piece(run, run.clock.t_new), run.y_new, stepper.slope_new,
             projects(mechanism, settings, run))  # fmt: skip
    if run.stop[0] != 0:
        return np.inf
    record_functions(mechanism, settings, run, s + 1)
    return 0.0 if settings.fixed > 0 else step_error(mechanism, stepper, settings, run, h)


@kernel
def store_polynomial(mechanism: Mechanism, stepper: Radau, run: RunState, h: float) -> None:
    """Store the collocation polynomial of the step, modified so that it ends at the projected state.

    h is the step size, s.
    """
    size, s, known = run.y.shape[0], stepper.points, stepper.step_data
    last = stepper.z[(s - 1) * size : s * size]
    state_to_rotating(mechanism, stepper, run.y_new, s, last)
    for o in range(0, size, 8):
        store(last, o, load(last, o) - load(stepper.base, o))
    copy(stepper.z, stepper.past)
    copy(stepper.implicit.axes, stepper.past_axes)
    copy(stepper.origin, stepper.past_origin)
    copy(stepper.base, stepper.past_base)
    known.past, known.past_step, known.past_centre = run.clock.t, h, known.centre


@kernel
def between(
    mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, t: float, state: np.ndarray
) -> bool:
    """Evaluate the collocation polynomial of the step at time t (s), and write the state to `state`.

    Returns False if the state is not finite.
    """
    evaluate_polynomial(stepper, t, state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def estimate(stepper: Radau, run: RunState, x: float, h: float, state: np.ndarray) -> None:
    """Evaluate the collocation polynomial of a step of size h at its fraction x, and write the state to `state`."""
    evaluate_polynomial(stepper, run.clock.t + x * h, state)


@kernel
def close(stepper: Radau, settings: Settings, run: RunState) -> None:
    """Copy the results at the end of a step to the start of the next step; avoid small changes of the step size."""
    clock, h = run.clock, run.clock.t_new - run.clock.t
    copy(stepper.slope_new, stepper.slope)
    stepper.step_data.since = clock.t_new
    if h <= clock.h <= WORTH * h:
        clock.h = h
    clock.h = min(clock.h, LONGER * h)
    keep_last_stage(settings, run, stepper.points + 1)


implement(Radau, take=take, between=between, estimate=estimate, close=close)


@entry(needed_by="stiff runs need", effort=8)
def radau_steps(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, most_steps: int) -> int:
    """Take at most `most_steps` steps of a Radau IIA method.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_steps(mechanism, stepper, settings, run, most_steps).value


@entry(needed_by="stiff runs with events need", effort=12)
def radau_steps_with_events(
    mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps of a Radau IIA method, with a search for events.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_watched_steps(mechanism, stepper, settings, run, most_steps).value
