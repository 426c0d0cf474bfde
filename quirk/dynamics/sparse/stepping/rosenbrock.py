"""Steps of Rosenbrock methods, for stiff systems, with exact Jacobians, at linear cost.

The kernels of a method are described in the module `method_kernels`. `stepper` contains the data of the method. Work
variables are the components of the state that contain work (J); their rates are integrated by quadrature.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import entry, kernel
from quirk.jit.components import component
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store

from ..implicit.assemble import assemble
from ..implicit.local import differentiate, leave_out_unknown
from ..implicit.solve import solve
from ..implicit.tables import ImplicitTables
from ..kernels.applied import variables_error
from ..kernels.bodies import CON, POSES, STATE, VELOCITIES, error_ratio, finite, normalise
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from ..kernels.project import tangential
from ..kernels.work_error import work_error
from ..tangent.motion_tangents import time_derivative
from .discontinuity_test import record_functions
from .loop import take_steps, take_watched_steps
from .method_kernels import implement
from .run_state import RunState, Settings
from .singular_steps import reaches_singular
from .step_control import in_piece, keeps_to_constraints
from .step_kernels import keep_last_stage, project_step_end, projects, slope_at, slope_at_start, tolerance_of_work


@fields
class Factorized(Fields):
    """Validity of the stored derivatives and of the factorization of a Rosenbrock method.

    Attributes
    ----------
    since : time at which the derivatives were evaluated, s
    step : coefficient e = gamma h of the last factorization, with the step size h, s
    """

    since: float
    step: float


@record
class RosenbrockMethod(NamedTuple):
    """A Rosenbrock method with s stages, and the arrays of its steps; see `quirk.integrators.rosenbrock`.

    A state has `size` elements.

    Attributes
    ----------
    stages : number of stages s
    gamma : coefficient on the diagonal
    exponent : 1 / (order of the error estimate + 1)
    a, C : (s s,) coefficients
    c, d, m, e : (s,) coefficients
    dense : (k s,) coefficients of the continuous extension
    interpolants : number k of terms of the continuous extension
    timed : whether y' depends explicitly on time
    implicit : data of the linear systems
    matrix : factorized matrix of the current step
    u : (s size,) stage vectors
    slope, drift : (size,) y' and its partial derivative with respect to time, at the start of the step
    stage, residual, change : (size,) scratch arrays
    step_data : time of the derivatives and step size of the factorization
    power : (5 w,) rates, W, of w work variables at the quadrature nodes of the step
    """

    stages: int
    gamma: float
    exponent: float
    a: np.ndarray
    C: np.ndarray
    c: np.ndarray
    d: np.ndarray
    m: np.ndarray
    e: np.ndarray
    dense: np.ndarray
    interpolants: int
    timed: bool
    implicit: ImplicitTables
    matrix: np.ndarray
    u: np.ndarray
    slope: np.ndarray
    drift: np.ndarray
    stage: np.ndarray
    residual: np.ndarray
    change: np.ndarray
    step_data: Factorized
    power: np.ndarray


# Quadrature of work: fractions of a step at which its rates are evaluated; coefficients of x to x^5 in the integral of
# the polynomial through these rates up to fraction x of the step (Boole's rule of order 6 at its end); and weights of
# Simpson's rule, of order 4, minus those of Boole's rule, for the error estimate.
NODES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
INTEGRALS = np.linalg.inv(np.vander(NODES, increasing=True)).T / np.arange(1.0, 6.0)
SIMPSON_LESS_BOOLE = np.array([8.0, -32.0, 48.0, -32.0, 8.0]) / 90.0


@component(effort=6)
def take(mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, h: float) -> float:
    """Take a step of size h; return the ratio of error to tolerance."""
    e, constants = stepper.gamma * h, mechanism.constants
    if run.counts.fresh != 0 or stepper.step_data.since != run.clock.t:
        slope_at_start(mechanism, settings, run, stepper.slope)
        run.counts.fresh = 0
        if run.stop[0] != 0:
            return np.inf
        record_functions(mechanism, settings, run, 0)
        keep_power(stepper, stepper.slope, first_work(mechanism, stepper), 0)
        compute_derivatives(mechanism, stepper, run, run.clock.t, run.y)
    if stepper.step_data.step != e:
        assemble(stepper.implicit, constants, run.y, (e,), (stepper.matrix,))
        stepper.step_data.step = e
    if not stages(mechanism, stepper, settings, run, h):
        return np.inf
    copy(run.y, run.y_new)
    add_stages(stepper.m, 0, stepper.stages, stepper.u, 1.0, run.y_new)
    if not project_step_end(mechanism, settings, run, False):
        return np.inf
    if not begin_work(mechanism, stepper, settings, run, h):
        return np.inf
    slope_at(mechanism, settings, run, in_piece(run, run.clock.t_new), run.y_new, stepper.slope,
             projects(mechanism, settings, run))  # fmt: skip
    if run.stop[0] != 0:
        return np.inf
    record_functions(mechanism, settings, run, stepper.stages)
    end_work(mechanism, stepper, run)
    energy, power = tolerance_of_work(mechanism, settings, run, run.y_new, stepper.slope)
    # Derivatives for the next step; computed again if this step is rejected.
    compute_derivatives(mechanism, stepper, run, run.clock.t_new, run.y_new)
    return 0.0 if settings.fixed > 0 else step_error(mechanism, stepper, settings, run, h, energy + h * power)


@kernel
def stages(mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, h: float) -> bool:
    """Compute all stages of a step of size h (s); return False if the run must stop."""
    size, e = run.y.shape[0], stepper.gamma * h
    for i in range(stepper.stages):
        if i == 0:
            copy(stepper.slope, stepper.residual)
        else:
            copy(run.y, stepper.stage)
            add_stages(stepper.a, i * stepper.stages, i, stepper.u, 1.0, stepper.stage)
            t = in_piece(run, run.clock.t + stepper.c[i] * h)
            slope_at(mechanism, settings, run, t, stepper.stage, stepper.residual, False)
            if run.stop[0] != 0:
                return False
            record_functions(mechanism, settings, run, i)
        add_stages(stepper.C, i * stepper.stages, i, stepper.u, 1.0 / h, stepper.residual)
        for o in range(0, size, 8):
            store(stepper.residual, o, e * (load(stepper.residual, o) + stepper.d[i] * h * load(stepper.drift, o)))
        u = stepper.u[i * size : (i + 1) * size]
        solve(stepper.implicit, mechanism.constants, run.y, (e,), (stepper.matrix,), (stepper.residual,), (u,))
    return True


@kernel
def compute_derivatives(
    mechanism: Mechanism, stepper: RosenbrockMethod, run: RunState, t: float, y: np.ndarray
) -> None:
    """Compute the Jacobian of y' and its partial time derivative at time t (s) and state y.

    The last evaluation must have been at the state y.
    """
    for o in range(0, stepper.drift.shape[0], 8):
        store(stepper.drift, o, splat(0.0))
    t_in = in_piece(run, t)
    differentiate(mechanism, stepper.implicit, t_in, y, stepper.slope)
    if stepper.timed:
        tangents, first = stepper.implicit.tangents, mechanism.constants.shape[0] // CON * STATE
        time_derivative(mechanism, tangents, t_in, y, stepper.slope, stepper.drift)
        for n in range(stepper.implicit.variables):
            put(stepper.drift, first + n, at(tangents.rates, 8 * n))
        leave_out_unknown(stepper.drift, 0, stepper.drift.shape[0])
    stepper.step_data.since, stepper.step_data.step = t, 0.0


@kernel
def add_stages(weights: np.ndarray, first: int, count: int, u: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Add a weighted sum of `count` stage vectors in u, times `factor`, to `out`.

    `weights[first]` is the weight of the first stage vector.
    """
    size = out.shape[0]
    for j in range(count):
        weight = factor * weights[first + j]
        if weight != 0.0:
            for o in range(0, size, 8):
                store(out, o, load(out, o) + weight * load(u, j * size + o))


@kernel
def estimate(stepper: RosenbrockMethod, run: RunState, x: float, h: float, state: np.ndarray) -> None:
    """Compute the state at fraction x of a step of size h from the continuous extension, in `state`."""
    for o in range(0, run.y.shape[0], 8):
        store(state, o, (1.0 - x) * load(run.y, o) + x * load(run.y_new, o))
    power = x * (1.0 - x)
    for k in range(stepper.interpolants):
        add_stages(stepper.dense, k * stepper.stages, stepper.stages, stepper.u, power, state)
        power *= x


@kernel
def between(
    mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, t: float, state: np.ndarray
) -> bool:
    """Compute the state at time t (s) within the step from the continuous extension, in `state`."""
    h = run.clock.t_new - run.clock.t
    x = (t - run.clock.t) / h
    estimate(stepper, run, x, h, state)
    work_at(mechanism, stepper, run, x, state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def first_work(mechanism: Mechanism, stepper: RosenbrockMethod) -> int:
    """Return the index of the first work variable in a state.

    Work variables contain work, J, and follow after the internal variables.
    """
    return mechanism.constants.shape[0] // CON * STATE + stepper.implicit.variables


@kernel
def begin_work(mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, h: float) -> bool:
    """Evaluate the power, W, of all forces whose work is integrated, at the quadrature nodes of a step of h seconds.

    The powers are stored in `stepper.power`. Returns False if the run must stop, as after an error of a user function.
    """
    first = first_work(mechanism, stepper)
    if stepper.power.shape[0] > 0:
        for node in range(1, NODES.shape[0] - 1):
            t = run.clock.t + NODES[node] * h
            between(mechanism, stepper, settings, run, t, stepper.stage)
            slope_at(mechanism, settings, run, in_piece(run, t), stepper.stage, stepper.residual, False)
            if run.stop[0] != 0:
                return False
            keep_power(stepper, stepper.residual, first, node)
    return True


@kernel
def end_work(mechanism: Mechanism, stepper: RosenbrockMethod, run: RunState) -> None:
    """Compute all work variables (J) at the end of the step, by quadrature of their rates."""
    first = first_work(mechanism, stepper)
    if stepper.power.shape[0] > 0:
        keep_power(stepper, stepper.slope, first, NODES.shape[0] - 1)
        work_at(mechanism, stepper, run, 1.0, run.y_new)


@kernel
def keep_power(stepper: RosenbrockMethod, slope: np.ndarray, first: int, node: int) -> None:
    """Copy the rates (W) of all work variables from the slope y' to quadrature node number `node` of the step.

    `first` is the index of the first rate in `slope`.
    """
    count = stepper.power.shape[0] // NODES.shape[0]
    for n in range(count):
        put(stepper.power, node * count + n, at(slope, first + n))


@kernel
def work_at(mechanism: Mechanism, stepper: RosenbrockMethod, run: RunState, x: float, state: np.ndarray) -> None:
    """Compute all work variables (J) at fraction x of the step, in `state`."""
    first, h, nodes = first_work(mechanism, stepper), run.clock.t_new - run.clock.t, NODES.shape[0]
    count = stepper.power.shape[0] // nodes
    for o in range(count):
        work = at(run.y, first + o)
        for n in range(nodes):
            weight = 0.0
            for power in range(nodes - 1, -1, -1):
                weight = x * (INTEGRALS[n, power] + weight)
            work += h * weight * at(stepper.power, n * count + o)
        put(state, first + o, work)


@kernel
def work_change(mechanism: Mechanism, stepper: RosenbrockMethod, h: float, change: np.ndarray) -> None:
    """Compute the error estimates (J) of all work variables at the end of a step of size h (s), in `change`."""
    first, nodes = first_work(mechanism, stepper), NODES.shape[0]
    count = stepper.power.shape[0] // nodes
    for o in range(count):
        error = 0.0
        for n in range(nodes):
            error += h * SIMPSON_LESS_BOOLE[n] * at(stepper.power, n * count + o)
        put(change, first + o, error)


@kernel
def close(stepper: RosenbrockMethod, settings: Settings, run: RunState) -> None:
    """Copy the results at the end of a step to the start of the next step."""
    last = NODES.shape[0] - 1
    count = stepper.power.shape[0] // NODES.shape[0]
    for n in range(count):
        put(stepper.power, n, at(stepper.power, last * count + n))
    keep_last_stage(settings, run, stepper.stages)


@kernel
def step_error(
    mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, h: float, allowed: float
) -> float:
    """Return the ratio of the error of a step to the tolerance.

    With projection, only the component of the error tangential to the constraints is used. h is the step size (s), and
    `allowed` the tolerance of the work in the step, J.
    """
    size, constants, change = run.y.shape[0], mechanism.constants, stepper.change
    constrained = keeps_to_constraints(mechanism, settings)
    for o in range(0, size, 8):
        store(change, o, splat(0.0))
    add_stages(stepper.e, 0, stepper.stages, stepper.u, 1.0, change)
    work_change(mechanism, stepper, h, change)
    if not finite(change):
        return np.inf
    worst = variables_error(mechanism.forces, change, run.y, run.y_new, settings.rtol, settings.atol)
    worst = max(worst, work_error(mechanism.forces, change, allowed))
    for level in (POSES, VELOCITIES):
        tangential(mechanism, run.y_new, change, level, constrained)
        motion = mechanism.work.motion
        ratio = error_ratio(constants, motion, run.y, run.y_new, level, settings.rtol, settings.atol)
        worst = max(worst, ratio) if ratio == ratio else np.inf
    return worst


implement(
    RosenbrockMethod, take=take, between=between, estimate=estimate, close=close, needs_runge_kutta=reaches_singular
)


@entry(needed_by="stiff runs need", effort=8)
def rosenbrock_steps(
    mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps of a Rosenbrock method.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_steps(mechanism, stepper, settings, run, most_steps).value


@entry(needed_by="stiff runs with events need", effort=12)
def rosenbrock_steps_with_events(
    mechanism: Mechanism, stepper: RosenbrockMethod, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Take at most `most_steps` steps of a Rosenbrock method, with a search for events.

    Returns the reason to stop, a code of `run_state.StepOutcome`; see the module `loop`.
    """
    return take_watched_steps(mechanism, stepper, settings, run, most_steps).value
