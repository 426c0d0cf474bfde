"""Newton's method for the steps of Radau IIA methods.

`stepper` is the record of the method. A slope is y', and an increment is the difference of a state from that at the
start of the step. All computations are in axes that rotate with the bodies.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import load, store

from ..implicit.assemble import assemble
from ..implicit.local import differentiate
from ..implicit.solve import solve
from ..kernels.applied import variables_error
from ..kernels.bodies import CON, POSES, VELOCITIES, error_ratio, finite, normalise, parallel_component
from ..kernels.constraint_solve import copy
from ..kernels.factorisation import pivots
from ..kernels.mechanism import Mechanism
from ..kernels.project import project, tangential
from .discontinuity_test import record_functions
from .radau_record import (
    Radau,
    add_weighted_sum,
    clear,
    evaluate_polynomial,
    slope_to_rotating,
    state_at_point,
    state_to_rotating,
)
from .rotating_axes import TURNED, choose_axes, copy_positions, turn_axes
from .run_state import RunState, Settings
from .step_control import in_piece, keeps_to_constraints
from .step_kernels import slope_at

# Tolerance of the iterations, as a fraction of the error tolerance.
LEFT = 0.02
# Maximum number of iterations: MOST for three collocation points, and MORE for each further one.
MORE, MOST = 2.5, 7
# Lower limit of the error left after a correction, over the correction, as convergence rates vary.
SUREST = 0.02
# Maximum number of iterations in fixed steps, which cannot be shortened.
FIXED_MOST = 50
# Divergence: a convergence rate above DIVERGING, or a second correction larger than WILD times the first. A rate from
# only these two counts as at most LEAST_CERTAIN.
DIVERGING, WILD, LEAST_CERTAIN = 0.99, 5.0, 0.9
# A step contains a singular configuration if the smallest pivot at a point is below NEAR, and below SHRUNK times that
# at another point. Near its time t_s constraint violations grow as 1 / (t - t_s)^2, which neither a polynomial over the
# step nor the error estimate resolves. One of the five points of a step with t_s inside is so close that its pivot,
# which is proportional to (t - t_s)^2, is at most 0.08 of the largest.
NEAR, SHRUNK = 0.1, 0.5


@kernel
def compute_derivatives(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> None:
    """Compute all derivatives for the linear systems of a step of size h, and choose the rotating axes.

    The derivatives are taken at the extrapolated state in the middle of the step.
    """
    t, known = run.clock.t, stepper.step_data
    if known.past_step > 0.0:
        t += 0.5 * h
        evaluate_polynomial(stepper, t, stepper.centre)
        normalise(mechanism.constants, stepper.centre)
    else:
        copy(run.y, stepper.centre)
    t = in_piece(run, t)
    # Near singular configurations the matrix is useful only at a state on the constraints.
    if keeps_to_constraints(mechanism, settings) and known.past_step > 0.0:
        project(mechanism, t, stepper.centre, settings.length, run.counts, False)
    slope_at(mechanism, settings, run, t, stepper.centre, stepper.change, False)
    differentiate(mechanism, stepper.implicit, t, stepper.centre, stepper.change)
    choose_axes(mechanism.constants, stepper.centre, mechanism.work.kin, stepper.change, stepper.implicit.axes)
    known.derived, known.centre, known.step, known.bound = 1.0, t, 0.0, 1.0


@kernel
def begin(mechanism: Mechanism, stepper: Radau, run: RunState, h: float) -> None:
    """Compute the orientations of the rotating axes and the initial guess of a step of size h (s).

    The initial guess extrapolates the polynomial of the last step.
    """
    size, blocks, turned = run.y.shape[0], mechanism.constants.shape[0] // CON, stepper.turned
    t = run.clock.t - stepper.step_data.centre
    turn_axes(stepper.implicit.axes, t, turned, 0)
    for i in range(stepper.points):
        turn_axes(stepper.implicit.axes, t + stepper.nodes[i] * h, turned, (i + 1) * TURNED * blocks)
    copy_positions(blocks, run.y, stepper.origin)
    state_to_rotating(mechanism, stepper, run.y, 0, stepper.base)
    for i in range(stepper.points):
        z = stepper.z[i * size : (i + 1) * size]
        if stepper.step_data.past_step > 0.0:
            evaluate_polynomial(stepper, run.clock.t + stepper.nodes[i] * h, stepper.stage)
            state_to_rotating(mechanism, stepper, stepper.stage, i + 1, z)
            for o in range(0, size, 8):
                store(z, o, load(z, o) - load(stepper.base, o))
        else:
            clear(z)


@kernel
def factorise(mechanism: Mechanism, stepper: Radau, h: float) -> None:
    """Assemble and factorize all matrices for a step of size h."""
    implicit, constants, y = stepper.implicit, mechanism.constants, stepper.centre
    size, inverse = implicit.size, stepper.inverse
    assemble(implicit, constants, y, (h * inverse[0],), (stepper.matrices[:size],))
    for k in range(1, stepper.points, 2):
        real, imaginary = stepper.matrices[k * size : (k + 1) * size], stepper.matrices[(k + 1) * size : (k + 2) * size]
        assemble(implicit, constants, y, (h * inverse[k], h * inverse[k + 1]), (real, imaginary))
    stepper.step_data.step = h


@kernel
def iterate(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> bool:
    """Solve for the increments at the collocation points by Newton's method; return False if it does not converge.

    h is the step size, s.
    """
    known = stepper.step_data
    most = FIXED_MOST if settings.fixed > 0 else int(MOST + MORE * (stepper.points - 3))
    bound, before, rate = max(known.bound, SUREST) ** 0.8, 0.0, 0.0
    for n in range(most):
        if not slopes(mechanism, stepper, settings, run, h):
            return False
        corrections(mechanism, stepper, stepper.f, stepper.z, h)
        size = correct(mechanism, stepper, settings, run)
        if not size < np.inf:
            return False
        if n > 0:
            now = size / before
            rate = now if n == 1 else (now * rate) ** 0.5
            if n > 1 and not rate < DIVERGING:
                # Corrections below the tolerance that no longer decrease are round-off.
                known.bound, known.rate = 1.0, 0.0
                return size < 1.0
            if n == 1:
                # The error of the initial guess does not indicate the convergence of the rest.
                if not now < WILD:
                    return False
                rate = min(rate, LEAST_CERTAIN)
            elif size * rate ** (most - 1 - n) / (1.0 - rate) > LEFT:
                return False
            bound = max(rate, SUREST) / (1.0 - rate)
        before = size
        if bound * size <= LEFT or size == 0.0:
            known.bound = bound
            known.rate = rate
            return True
    return False


@kernel
def slopes(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> bool:
    """Compute the slopes y' at all collocation points; return False if the run must stop.

    h is the step size, s.
    """
    size, known, least, greatest = run.y.shape[0], stepper.step_data, np.inf, 0.0
    for i in range(stepper.points):
        t = in_piece(run, run.clock.t + stepper.nodes[i] * h)
        state_at_point(mechanism, stepper, i, stepper.stage)
        slope_at(mechanism, settings, run, t, stepper.stage, stepper.change, False)
        if run.stop[0] != 0:
            return False
        record_functions(mechanism, settings, run, i + 1)
        pivot = pivots(mechanism)[2]
        least, greatest = min(least, pivot), max(greatest, pivot)
        slope_to_rotating(mechanism, stepper, stepper.change, i + 1, stepper.f[i * size : (i + 1) * size])
    known.least, known.greatest = least, greatest
    return True


@kernel
def corrections(mechanism: Mechanism, stepper: Radau, f: np.ndarray, z: np.ndarray, h: float) -> None:
    """Solve the linear systems of one Newton iteration; the results are corrections of the increments z.

    z and the slopes f = y' are (s size,), at the s collocation points. h is the step size, s.
    """
    implicit, s, n = stepper.implicit, stepper.points, stepper.implicit.size
    size, constants, inverse = stepper.slope.shape[0], mechanism.constants, stepper.inverse
    y = stepper.centre
    for k in range(s):
        w = stepper.w[k * size : (k + 1) * size]
        clear(w)
        add_weighted_sum(stepper.of_slopes, k * s, s, f, h, w)
        add_weighted_sum(stepper.forth, k * s, s, z, -1.0, w)
    w, u = stepper.w, stepper.u
    solve(implicit, constants, y, (h * inverse[0],), (stepper.matrices[:n],), (w[:size],), (u[:size],))
    for k in range(1, s, 2):
        a, b, c = k * size, (k + 1) * size, (k + 2) * size
        matrix = stepper.matrices[k * n : (k + 1) * n], stepper.matrices[(k + 1) * n : (k + 2) * n]
        e = h * inverse[k], h * inverse[k + 1]
        solve(implicit, constants, y, e, matrix, (w[a:b], w[b:c]), (u[a:b], u[b:c]))


@kernel
def correct(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState) -> float:
    """Add the corrections to the increments; return the ratio of the largest correction to the tolerance."""
    s, size, change, largest = stepper.points, run.y.shape[0], stepper.change, 0.0
    for i in range(s):
        clear(change)
        add_weighted_sum(stepper.back, i * s, s, stepper.u, 1.0, change)
        if not finite(change):
            return np.inf
        largest = max(largest, ratio(mechanism, settings, run, stepper.base, change, False))
        # The norm of a quaternion does not affect the motion, but the next correction of its direction.
        stretched = parallel_component(stepper.base, change, mechanism.constants.shape[0] // CON)
        largest = max(largest, stretched / (settings.rtol + settings.atol))
        for o in range(0, size, 8):
            store(stepper.z, i * size + o, load(stepper.z, i * size + o) + load(change, o))
    return largest


@kernel
def ratio(
    mechanism: Mechanism, settings: Settings, run: RunState, y: np.ndarray, change: np.ndarray, constrained: bool
) -> float:
    """Return the magnitude of a change of the state y divided by the tolerance.

    If `constrained`, only the component of the change tangential to the constraints is used.
    """
    rtol, atol, y_new = settings.rtol, settings.atol, run.y_new if constrained else run.y
    worst = variables_error(mechanism.forces, change, run.y, y_new, rtol, atol)
    for level in (POSES, VELOCITIES):
        tangential(mechanism, y, change, level, constrained)
        one = error_ratio(mechanism.constants, mechanism.work.motion, run.y, y_new, level, rtol, atol)
        worst = max(worst, one) if one == one else np.inf
    return worst


@kernel
def holds_singular(stepper: Radau, settings: Settings, run: RunState) -> bool:
    """Return whether the step seems to contain a singular configuration.

    Such a step is taken by a Runge-Kutta method.
    """
    least, greatest = stepper.step_data.least, stepper.step_data.greatest
    if settings.fixed > 0 or not (least < NEAR and least < SHRUNK * greatest):
        return False
    run.counts.singular_within = 1
    return True
