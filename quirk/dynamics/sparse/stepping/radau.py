"""Steppers of Radau IIA methods: for stiff systems, without order reduction where motion is strongly damped.

Newton's method is implemented as in RADAU5 (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8):
derivatives and factorizations at one state are used in all iterations of a step, and in further steps while iterations
converge fast; it starts from the polynomial of the previous step. Unlike in RADAU5, derivatives are evaluated in the
middle of the step, extrapolated by this polynomial, and all computations are in axes that rotate with the bodies.

The functions of an integration method are described in `loop`. `stepper` holds the data of the method; a slope is y'.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.integrators.control import SAFETY
from quirk.jit.compilation import entry, kernel
from quirk.jit.record import record
from quirk.jit.simd import at, load, put, splat, store

from ..implicit.assemble import assemble
from ..implicit.local import differentiate
from ..implicit.solve import solve
from ..implicit.tables import AXES, ImplicitTables
from ..kernels.applied import variables_error
from ..kernels.bodies import CON, POSES, STATE, VELOCITIES, error_ratio, finite, normalise
from ..kernels.factorisation import pivots
from ..kernels.impose import copy
from ..kernels.mechanism import Mechanism
from ..kernels.project import project, tangential
from ..kernels.work_error import work_error
from .discontinuity_probe import roughness
from .discontinuity_test import note_all
from .loop import carry_functions_on, land, march_of, projects, slope_at, tolerance_of_work
from .rotating_axes import TURNED, choose_axes, let_turn, places, see, show, turn_axes
from .run_state import FRESH, SINGULAR_WITHIN, T_NEW, H, RunState, Settings, T
from .step_control import in_piece, keeps_to_constraints


@record
class Radau(NamedTuple):
    """A Radau IIA method with s points and the arrays of its steps; see `quirk.integrators.radau`.

    A state has `size` elements. Names in capitals are constants of this module.

    Attributes
    ----------
    points : number of collocation points s
    exponent : 1 / (s + 1), the inverse order of the error estimate
    a, back, forth, of_slopes : (s s,) coefficients
    nodes, inverse, e : (s,) coefficients
    highest : (2 s + 2,) coefficients of the two highest terms of interpolation polynomials
    implicit : data of the linear systems
    matrices : (s implicit.size,) the real matrix, then real and imaginary parts of the complex ones
    z, f : (s size,) increments and slopes at the points, in rotating axes
    w, u : (s size,) right-hand sides and solutions of the linear systems
    turned : rotations of the axes at the start and at all points, as quaternions
    origin, base : (size,) positions of bodies at the start, and the state relative to these in rotating axes
    past, past_axes, past_origin, past_base : increments (s size,), axes, origin and base of the last completed step
    slope, slope_new : (size,) y' at the start and at the end of the step
    centre : (size,) state at which derivatives are evaluated
    seen, stage, change : (size,) scratch arrays for states and their changes
    apart : scratch array for rotations of axes, as quaternions
    basis : (s,) weights of the points in the polynomial at one time
    known : entries SINCE to GREATEST, which describe the step
    """

    points: int
    exponent: float
    a: np.ndarray
    back: np.ndarray
    forth: np.ndarray
    of_slopes: np.ndarray
    nodes: np.ndarray
    inverse: np.ndarray
    e: np.ndarray
    highest: np.ndarray
    implicit: ImplicitTables
    matrices: np.ndarray
    z: np.ndarray
    f: np.ndarray
    w: np.ndarray
    u: np.ndarray
    turned: np.ndarray
    origin: np.ndarray
    base: np.ndarray
    past: np.ndarray
    past_axes: np.ndarray
    past_origin: np.ndarray
    past_base: np.ndarray
    slope: np.ndarray
    slope_new: np.ndarray
    centre: np.ndarray
    seen: np.ndarray
    stage: np.ndarray
    change: np.ndarray
    apart: np.ndarray
    basis: np.ndarray
    known: np.ndarray


# Entries of Radau.known: time of `slope`; start and size of the step of `past`, size 0 if there is none, and the time
# at which its axes coincided with the inertial ones; 1 while derivatives are usable, and their time, at which axes
# coincided; step size of the matrices; convergence rate of iterations, and a bound of the error of the last correction
# over its size; smallest and largest of the smallest pivots at the points of the step.
SINCE, PAST, PAST_STEP, PAST_CENTRE, DERIVED, CENTRE, STEP, RATE, BOUND, LEAST, GREATEST = range(11)
KNOWN = 11

# Tolerance of the iterations, as a fraction of the error tolerance.
LEFT = 0.02
# Maximum number of iterations: per point beyond the first three, and for these.
MORE, MOST = 2.5, 7
# Lower limit of the error left after a correction, over the correction, as convergence rates vary.
SUREST = 0.02
# Maximum number of iterations in fixed steps, which cannot be shortened.
FIXED_MOST = 50
# If the convergence rate exceeds this, derivatives are computed again for the next step.
SLOW = 0.02
# Divergence: a convergence rate above DIVERGING, or a second correction larger than WILD times the first. A rate from
# only these two counts as at most LEAST_CERTAIN.
DIVERGING, WILD, LEAST_CERTAIN = 0.99, 5.0, 0.9
# Factor by which a step is shortened if iterations do not converge.
SHORTER = 0.5
# A step keeps its size, and its matrices, unless it can be longer by this factor.
WORTH = 1.2
# Maximum ratio of successive step sizes, as the initial guess extrapolates the previous polynomial.
LONGER = 3.0
# Factor of the tolerance of the error estimate, STRICT rtol^((s + 1) / 2 s); the estimate is much larger than the
# error.
STRICT = 1.0
# The estimate is larger than the error for smooth motion only; if loads of switching laws have a kink in the step, they
# are about equal. The last terms of polynomials through these loads are then about this fraction of their range; for
# smooth loads in accurate runs they are much smaller.
ROUGH = 0.03
# A step contains a singular configuration if the smallest pivot at a point is below NEAR, and below SHRUNK times that
# at another point. Near its time t_s constraint violations grow as 1 / (t - t_s)^2, which neither a polynomial over the
# step nor the error estimate resolves. One of the five points of a step with t_s inside is so close that its pivot,
# which is proportional to (t - t_s)^2, is at most 0.08 of the largest.
NEAR, SHRUNK = 0.1, 0.5


@kernel
def take(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> float:
    """Take a step of size h; return the ratio of error to tolerance."""
    known = stepper.known
    if run.counts[FRESH] != 0 or known[SINCE] != run.clock[T]:
        slope_at(mechanism, settings, run, in_piece(run, run.clock[T]), run.y, stepper.slope, False)
        run.counts[FRESH] = 0
        if run.stop[0] != 0:
            return np.inf
        note_all(mechanism, settings, run, 0)
        known[SINCE], known[PAST_STEP], known[DERIVED], known[BOUND] = run.clock[T], 0.0, 0.0, 1.0
    new = known[DERIVED] == 0.0
    while True:
        if new:
            learn(mechanism, stepper, settings, run, h)
        begin(mechanism, stepper, run, h)
        if known[STEP] != h:
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
            known[DERIVED] = 0.0
            return (SAFETY / SHORTER) ** (1.0 / stepper.exponent)
        new = True
    if holds_singular(stepper, settings, run):
        return np.inf
    if known[RATE] > SLOW:
        known[DERIVED] = 0.0
    return arrive(mechanism, stepper, settings, run, h)


@kernel
def holds_singular(stepper: Radau, settings: Settings, run: RunState) -> bool:
    """Whether the step contains a singular configuration; such a step is taken by a Runge-Kutta method."""
    least, greatest = stepper.known[LEAST], stepper.known[GREATEST]
    if settings.fixed > 0 or not (least < NEAR and least < SHRUNK * greatest):
        return False
    run.counts[SINGULAR_WITHIN] = 1
    return True


@kernel
def learn(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> None:
    """Compute all derivatives for the linear systems, and choose the rotating axes.

    The derivatives are taken at the extrapolated state in the middle of the step.
    """
    t, known = run.clock[T], stepper.known
    if known[PAST_STEP] > 0.0:
        t += 0.5 * h
        on_polynomial(stepper, t, stepper.centre)
        normalise(mechanism.constants, stepper.centre)
    else:
        copy(run.y, stepper.centre)
    t = in_piece(run, t)
    # Near singular configurations the matrix is useful only at a state on the constraints.
    if keeps_to_constraints(mechanism, settings) and known[PAST_STEP] > 0.0:
        project(mechanism, t, stepper.centre, settings.length, run.counts, False)
    slope_at(mechanism, settings, run, t, stepper.centre, stepper.change, False)
    differentiate(mechanism, stepper.implicit, t, stepper.centre, stepper.change)
    choose_axes(mechanism.constants, stepper.centre, mechanism.work.kin, stepper.change, stepper.implicit.axes)
    known[DERIVED], known[CENTRE], known[STEP], known[BOUND] = 1.0, t, 0.0, 1.0


@kernel
def begin(mechanism: Mechanism, stepper: Radau, run: RunState, h: float) -> None:
    """Rotate the axes, and compute the initial guess of a step by extrapolation of the polynomial of the last step."""
    size, blocks, turned = run.y.shape[0], mechanism.constants.shape[0] // CON, stepper.turned
    t = run.clock[T] - stepper.known[CENTRE]
    turn_axes(stepper.implicit.axes, t, turned, 0)
    for i in range(stepper.points):
        turn_axes(stepper.implicit.axes, t + stepper.nodes[i] * h, turned, (i + 1) * TURNED * blocks)
    places(blocks, run.y, stepper.origin)
    see_from(mechanism, stepper, run.y, 0, stepper.base)
    for i in range(stepper.points):
        z = stepper.z[i * size : (i + 1) * size]
        if stepper.known[PAST_STEP] > 0.0:
            on_polynomial(stepper, run.clock[T] + stepper.nodes[i] * h, stepper.stage)
            see_from(mechanism, stepper, stepper.stage, i + 1, z)
            for o in range(0, size, 8):
                store(z, o, load(z, o) - load(stepper.base, o))
        else:
            clear(z)


@kernel
def see_from(mechanism: Mechanism, stepper: Radau, y: np.ndarray, at_point: int, out: np.ndarray) -> None:
    """Transform a state y, in the inertial frame, to the rotating axes; the result is written to `out`.

    The axes are taken at the start of the step for `at_point` = 0, and at a collocation point for 1 to s.
    """
    blocks = mechanism.constants.shape[0] // CON
    for o in range(0, y.shape[0], 8):
        store(stepper.seen, o, load(y, o) - load(stepper.origin, o))
    see(stepper.turned, at_point * TURNED * blocks, blocks, stepper.seen, out)


@kernel
def on_polynomial(stepper: Radau, t: float, state: np.ndarray) -> None:
    """Compute the state at time t from the polynomial of the last step."""
    s, blocks = stepper.points, stepper.past_axes.shape[0] // AXES
    weigh_points(stepper, (t - stepper.known[PAST]) / stepper.known[PAST_STEP])
    copy(stepper.past_base, stepper.seen)
    add_all(stepper.basis, 0, s, stepper.past, 1.0, stepper.seen)
    turn_axes(stepper.past_axes, t - stepper.known[PAST_CENTRE], stepper.apart, 0)
    show(stepper.apart, 0, blocks, stepper.seen, state)
    for o in range(0, state.shape[0], 8):
        store(state, o, load(state, o) + load(stepper.past_origin, o))


@kernel
def weigh_points(stepper: Radau, x: float) -> None:
    """Compute the weights of the collocation points in the polynomial at fraction x of the step, in `basis`."""
    for i in range(stepper.points):
        weight = x / stepper.nodes[i]
        for j in range(stepper.points):
            if j != i:
                weight *= (x - stepper.nodes[j]) / (stepper.nodes[i] - stepper.nodes[j])
        stepper.basis[i] = weight


@kernel
def factorise(mechanism: Mechanism, stepper: Radau, h: float) -> None:
    """Assemble and factorize all matrices for step size h."""
    implicit, constants, y = stepper.implicit, mechanism.constants, stepper.centre
    size, inverse = implicit.size, stepper.inverse
    assemble(implicit, constants, y, (h * inverse[0],), (stepper.matrices[:size],))
    for k in range(1, stepper.points, 2):
        real, imaginary = stepper.matrices[k * size : (k + 1) * size], stepper.matrices[(k + 1) * size : (k + 2) * size]
        assemble(implicit, constants, y, (h * inverse[k], h * inverse[k + 1]), (real, imaginary))
    stepper.known[STEP] = h


@kernel
def iterate(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> bool:
    """Solve for the increments by Newton's method; return False if the method does not converge."""
    known = stepper.known
    most = FIXED_MOST if settings.fixed > 0 else int(MOST + MORE * (stepper.points - 3))
    bound, before, rate = max(known[BOUND], SUREST) ** 0.8, 0.0, 0.0
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
                known[BOUND], known[RATE] = 1.0, 0.0
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
            known[BOUND] = bound
            known[RATE] = rate
            return True
    return False


@kernel
def slopes(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> bool:
    """Compute the slopes y' at all collocation points; return False if the run must stop."""
    size, known, least, greatest = run.y.shape[0], stepper.known, np.inf, 0.0
    for i in range(stepper.points):
        t = in_piece(run, run.clock[T] + stepper.nodes[i] * h)
        show_at(mechanism, stepper, i, stepper.stage)
        slope_at(mechanism, settings, run, t, stepper.stage, stepper.change, False)
        if run.stop[0] != 0:
            return False
        note_all(mechanism, settings, run, i + 1)
        pivot = pivots(mechanism)[2]
        least, greatest = min(least, pivot), max(greatest, pivot)
        see_slope(mechanism, stepper, stepper.change, i + 1, stepper.f[i * size : (i + 1) * size])
    known[LEAST], known[GREATEST] = least, greatest
    return True


@kernel
def show_at(mechanism: Mechanism, stepper: Radau, i: int, out: np.ndarray) -> None:
    """Compute the state at collocation point i.

    The state is written to `out` in the inertial frame, and to `stepper.seen` in the rotating axes.
    """
    size, blocks = out.shape[0], mechanism.constants.shape[0] // CON
    for o in range(0, size, 8):
        store(stepper.seen, o, load(stepper.base, o) + load(stepper.z, i * size + o))
    show(stepper.turned, (i + 1) * TURNED * blocks, blocks, stepper.seen, out)
    for o in range(0, size, 8):
        store(out, o, load(out, o) + load(stepper.origin, o))


@kernel
def see_slope(mechanism: Mechanism, stepper: Radau, slope: np.ndarray, at_point: int, out: np.ndarray) -> None:
    """Transform the slope y' of the state in `seen` to the rotating axes; the result is written to `out`.

    The axes are taken at the start of the step for `at_point` = 0, and at a collocation point for 1 to s.
    """
    blocks = mechanism.constants.shape[0] // CON
    see(stepper.turned, at_point * TURNED * blocks, blocks, slope, out)
    let_turn(stepper.implicit.axes, stepper.seen, out)


@kernel
def corrections(mechanism: Mechanism, stepper: Radau, f: np.ndarray, z: np.ndarray, h: float) -> None:
    """Solve the linear systems of one Newton iteration for corrections of the increments z.

    z and the slopes f are (s size,), at the s collocation points.
    """
    implicit, s, n = stepper.implicit, stepper.points, stepper.implicit.size
    size, constants, inverse = stepper.slope.shape[0], mechanism.constants, stepper.inverse
    y = stepper.centre
    for k in range(s):
        w = stepper.w[k * size : (k + 1) * size]
        clear(w)
        add_all(stepper.of_slopes, k * s, s, f, h, w)
        add_all(stepper.forth, k * s, s, z, -1.0, w)
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
        add_all(stepper.back, i * s, s, stepper.u, 1.0, change)
        if not finite(change):
            return np.inf
        largest = max(largest, ratio(mechanism, settings, run, stepper.base, change, False))
        for o in range(0, size, 8):
            store(stepper.z, i * size + o, load(stepper.z, i * size + o) + load(change, o))
    return largest


@kernel
def arrive(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> float:
    """Complete the step with the converged increments; return the ratio of error to tolerance."""
    s, size = stepper.points, run.y.shape[0]
    add_work(mechanism, stepper, h)
    show_at(mechanism, stepper, s - 1, run.y_new)
    clear(stepper.w[:size])
    add_all(stepper.e, 0, s, stepper.z, 1.0, stepper.w[:size])
    if not land(mechanism, settings, run, False):
        return np.inf
    remember(mechanism, stepper, run, h)
    slope_at(mechanism, settings, run, in_piece(run, run.clock[T_NEW]), run.y_new, stepper.slope_new,
             projects(mechanism, settings, run))  # fmt: skip
    if run.stop[0] != 0:
        return np.inf
    note_all(mechanism, settings, run, s + 1)
    return 0.0 if settings.fixed > 0 else step_error(mechanism, stepper, settings, run, h)


@kernel
def remember(mechanism: Mechanism, stepper: Radau, run: RunState, h: float) -> None:
    """Store the polynomial of the step, modified so that it ends at the projected state."""
    size, s, known = run.y.shape[0], stepper.points, stepper.known
    last = stepper.z[(s - 1) * size : s * size]
    see_from(mechanism, stepper, run.y_new, s, last)
    for o in range(0, size, 8):
        store(last, o, load(last, o) - load(stepper.base, o))
    copy(stepper.z, stepper.past)
    copy(stepper.implicit.axes, stepper.past_axes)
    copy(stepper.origin, stepper.past_origin)
    copy(stepper.base, stepper.past_base)
    known[PAST], known[PAST_STEP], known[PAST_CENTRE] = run.clock[T], h, known[CENTRE]


@kernel
def add_work(mechanism: Mechanism, stepper: Radau, h: float) -> None:
    """Compute the increments of all states that hold work; no other component of the state depends on work."""
    s, size = stepper.points, stepper.slope.shape[0]
    for o in range(mechanism.constants.shape[0] // CON * STATE + stepper.implicit.variables, size):
        for i in range(s):
            work = 0.0
            for j in range(s):
                work += stepper.a[i * s + j] * at(stepper.f, j * size + o)
            put(stepper.z, i * size + o, h * work)


@kernel
def step_error(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, h: float) -> float:
    """Return the ratio of the error of a step to the tolerance.

    With projection, only the part of the error tangential to the constraints counts.
    """
    size, e = run.y.shape[0], h * stepper.inverse[0]
    right, found, blocks = stepper.w[:size], stepper.u[:size], mechanism.constants.shape[0] // CON
    energy, power = tolerance_of_work(mechanism, settings, run, run.y_new, stepper.slope_new)
    copy(stepper.base, stepper.seen)
    see_slope(mechanism, stepper, stepper.slope, 0, stepper.stage)
    for o in range(0, size, 8):
        store(right, o, load(right, o) + e * load(stepper.stage, o))
    rough = roughness(run.functions, stepper.highest) / ROUGH if settings.gap < np.inf else 0.0
    least = min(1.0, rough * rough)
    work = work_ratio(mechanism, stepper, right, h, energy + h * power, least)
    matrix = stepper.matrices[: stepper.implicit.size]
    solve(stepper.implicit, mechanism.constants, stepper.centre, (e,), (matrix,), (right,), (found,))
    if not finite(found):
        return np.inf
    s = stepper.points
    show(stepper.turned, s * TURNED * blocks, blocks, found, stepper.change)
    constrained = keeps_to_constraints(mechanism, settings)
    error = ratio(mechanism, settings, run, run.y_new, stepper.change, constrained)
    return max(work, error * max(settings.rtol ** (1.0 - of_estimate(s)) / STRICT, least))


@kernel
def of_estimate(points: int) -> float:
    """Return the order of the error estimate divided by the order of the error, for a method with `points` points."""
    return (points + 1) / (2.0 * points)


@kernel
def work_ratio(
    mechanism: Mechanism, stepper: Radau, change: np.ndarray, h: float, tolerance: float, least: float
) -> float:
    """Return the ratio of the error of all work to `tolerance`, J, from the error estimate in `change`.

    The estimate has lower order than the error and is much larger. Therefore it is compared with a power of the
    relative tolerance instead, as for the motion, or with the fraction `least` if this is larger. Here the relative
    tolerance is the tolerance over the work that the largest mechanical power in the step would do during the whole
    step. For Gaussian pulses, nine of ten steps then have an error no larger than the estimate.
    """
    forces, size, largest = mechanism.forces, stepper.slope.shape[0], 0.0
    for o in range(forces.work, forces.work_end):
        power = abs(at(stepper.slope, o))
        for i in range(stepper.points):
            power = max(power, abs(at(stepper.f, i * size + o)))
        largest += h * power
    error = work_error(forces, change, tolerance)
    if error == 0.0 or error == np.inf:
        return error
    part = tolerance / largest if largest > tolerance else 1.0
    return error * max(part ** (1.0 - of_estimate(stepper.points)), least)


@kernel
def ratio(
    mechanism: Mechanism, settings: Settings, run: RunState, y: np.ndarray, change: np.ndarray, constrained: bool
) -> float:
    """Return the ratio of a change of the state y to the tolerance.

    If `constrained`, only the part of the change tangential to the constraints counts.
    """
    rtol, atol, y_new = settings.rtol, settings.atol, run.y_new if constrained else run.y
    worst = variables_error(mechanism.forces, change, run.y, y_new, rtol, atol)
    for level in (POSES, VELOCITIES):
        tangential(mechanism, y, change, level, constrained)
        one = error_ratio(mechanism.constants, mechanism.work.motion, run.y, y_new, level, rtol, atol)
        worst = max(worst, one) if one == one else np.inf
    return worst


@kernel
def between(
    mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, t: float, state: np.ndarray
) -> bool:
    """Compute the state at time t within the step from the polynomial; return False if it is not finite."""
    on_polynomial(stepper, t, state)
    normalise(mechanism.constants, state)
    return finite(state)


@kernel
def estimate(stepper: Radau, run: RunState, x: float, h: float, state: np.ndarray) -> None:
    """Fill the state at fraction x of a step of size h from its polynomial."""
    on_polynomial(stepper, run.clock[T] + x * h, state)


@kernel
def close(stepper: Radau, settings: Settings, run: RunState) -> None:
    """Copy the results at the end of a step to the start of the next; keep the step size if possible."""
    clock, h = run.clock, run.clock[T_NEW] - run.clock[T]
    copy(stepper.slope_new, stepper.slope)
    stepper.known[SINCE] = clock[T_NEW]
    if h <= clock[H] <= WORTH * h:
        clock[H] = h
    clock[H] = min(clock[H], LONGER * h)
    carry_functions_on(settings, run, stepper.points + 1)


@kernel
def clear(array: np.ndarray) -> None:
    """Set all elements of an array to zero."""
    for o in range(0, array.shape[0], 8):
        store(array, o, splat(0.0))


@kernel
def add_all(weights: np.ndarray, first: int, count: int, of: np.ndarray, factor: float, out: np.ndarray) -> None:
    """Add a weighted sum of `count` consecutive arrays in `of`, times `factor`, to `out`.

    `first` is the index of the weight of the first array.
    """
    size = out.shape[0]
    for j in range(count):
        weight = factor * weights[first + j]
        for o in range(0, size, 8):
            store(out, o, load(out, o) + weight * load(of, j * size + o))


march = march_of(take, between, estimate, close, watching=False)
watching_march = march_of(take, between, estimate, close, watching=True)


@entry(needed_by="stiff runs need", effort=45)
def march_radau(mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, most_steps: int) -> int:
    """Step loop of Radau IIA methods; see `march_of`."""
    return march(mechanism, stepper, settings, run, most_steps)


@entry(needed_by="stiff runs with events need", effort=55)
def march_radau_watching(
    mechanism: Mechanism, stepper: Radau, settings: Settings, run: RunState, most_steps: int
) -> int:
    """Step loop of Radau IIA methods with events; see `march_of`."""
    return watching_march(mechanism, stepper, settings, run, most_steps)
