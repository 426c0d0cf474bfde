"""Error estimates of the steps of Radau IIA methods.

`stepper` is the record of the method; a slope is y'.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import OMEGA, VELOCITY
from quirk.forces.stick_slip import NORMAL
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, load, put, store

from ..implicit.solve import solve
from ..kernels.bodies import CON, STATE, finite
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from ..kernels.work_error import work_error
from .discontinuity_probe import ROUND_OFF, roughness
from .radau_iterations import ratio
from .radau_record import Radau, slope_to_rotating
from .rotating_axes import TURNED, to_inertial
from .run_state import RunState, Settings
from .step_control import keeps_to_constraints
from .step_kernels import tolerance_of_work

# Factor of the tolerance of the error estimate, STRICT rtol^((s + 1) / 2 s); the estimate is much larger than the
# error.
STRICT = 1.0
# The estimate is larger than the error for smooth motion only; if loads of switching force laws have a kink in the
# step, they are about equal. The last terms of polynomials through these loads are then at least about this fraction of
# their range, unless the kink is very close to the end of the step. It was chosen from spring stops at rtol 1e-6 to
# 1e-11: with 0.03, a kink in the last part in 300 of a step cost 1000 times the tolerance.
ROUGH = 0.0003


@kernel
def add_work(mechanism: Mechanism, stepper: Radau, h: float) -> None:
    """Compute the increments of all work variables at the collocation points of a step of size h, by quadrature.

    No other component of the state depends on them, so that they are not part of Newton's method.
    """
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

    With projection, only the component of the error tangential to the constraints is used. h is the step size, s.
    """
    size, e = run.y.shape[0], h * stepper.inverse[0]
    right, found, blocks = stepper.w[:size], stepper.u[:size], mechanism.constants.shape[0] // CON
    energy, power = tolerance_of_work(mechanism, settings, run, run.y_new, stepper.slope_new)
    copy(stepper.base, stepper.rotating_state)
    slope_to_rotating(mechanism, stepper, stepper.slope, 0, stepper.stage)
    for o in range(0, size, 8):
        store(right, o, load(right, o) + e * load(stepper.stage, o))
    rough = roughness(run.functions, stepper.highest) / ROUGH if settings.gap < np.inf else 0.0
    if joints_slide(mechanism):
        rough = max(rough, roughness_of_slopes(mechanism, stepper, VELOCITY) / ROUGH)
        rough = max(rough, roughness_of_slopes(mechanism, stepper, OMEGA) / ROUGH)
    least = min(1.0, rough * rough)
    work = work_ratio(mechanism, stepper, right, h, energy + h * power, least)
    matrix = stepper.matrices[: stepper.implicit.size]
    solve(stepper.implicit, mechanism.constants, stepper.centre, (e,), (matrix,), (right,), (found,))
    if not finite(found):
        return np.inf
    s = stepper.points
    to_inertial(stepper.turned, s * TURNED * blocks, blocks, found, stepper.change)
    constrained = keeps_to_constraints(mechanism, settings)
    error = ratio(mechanism, settings, run, run.y_new, stepper.change, constrained)
    return max(work, error * max(settings.rtol ** (1.0 - of_estimate(s)) / STRICT, least))


@kernel
def joints_slide(mechanism: Mechanism) -> bool:
    """Return whether friction proportional to the load of a joint slides: it has a kink where this load is zero."""
    found = False
    for k in range(mechanism.frictions.element.shape[0]):
        found = found or mechanism.frictions.takes[k] != NORMAL
    return found


@kernel
def roughness_of_slopes(mechanism: Mechanism, stepper: Radau, first: int) -> float:
    """Return the ratio of the highest terms of interpolation polynomials through accelerations to their range.

    The accelerations are those at the start of a step, in `stepper.stage`, and at its collocation points, in rotating
    axes: linear ones with `first` VELOCITY, angular ones with OMEGA. The range is the largest of all components.
    """
    nodes, size = stepper.points + 1, stepper.slope.shape[0]
    term, change, largest = 0.0, 0.0, 0.0
    for block in range(mechanism.constants.shape[0] // CON):
        for o in range(block * STATE + 8 * first, block * STATE + 8 * first + 24):
            low = high = at(stepper.stage, o)
            last, other = at(stepper.highest, 0) * low, at(stepper.highest, nodes) * low
            for i in range(stepper.points):
                value = at(stepper.f, i * size + o)
                low, high = min(low, value), max(high, value)
                last += at(stepper.highest, 1 + i) * value
                other += at(stepper.highest, nodes + 1 + i) * value
            term = max(term, abs(last), abs(other))
            change, largest = max(change, high - low), max(largest, abs(low), abs(high))
    return term / change if change > ROUND_OFF * largest else 0.0


@kernel
def of_estimate(points: int) -> float:
    """Return the ratio of the order of the error estimate to that of the error, for `points` collocation points."""
    return (points + 1) / (2.0 * points)


@kernel
def work_ratio(
    mechanism: Mechanism, stepper: Radau, change: np.ndarray, h: float, tolerance: float, least: float
) -> float:
    """Return the ratio of the error of all work variables to the tolerance, from their error estimates in `change`.

    The estimate has a lower order than the error and is much larger. It is therefore multiplied by a power of the
    relative tolerance, or by `least` if this is larger. The relative tolerance is `tolerance` (J) divided by the
    product of the largest power (W) and the step size h. For Gaussian pulses, the error is then no larger than the
    estimate in nine of ten steps.
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
