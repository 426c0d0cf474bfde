"""Data of Radau IIA methods: coefficients, arrays of a step, and its polynomial.

`stepper` is the record of the method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import load, splat, store

from ..implicit.tables import AXES, ImplicitTables
from ..kernels.bodies import CON
from ..kernels.constraint_solve import copy
from ..kernels.mechanism import Mechanism
from .rotating_axes import TURNED, subtract_rotation, to_inertial, to_rotating, turn_axes


@fields
class StepData(Fields):
    """Times (s), step sizes (s) and convergence data of the last steps of a Radau IIA method.

    Attributes
    ----------
    since : time at which `slope` was evaluated
    past, past_step, past_centre : start and size of the last completed step, size 0 if there is none, and the time at
        which its axes coincided with the inertial axes
    derived, centre : 1 while the stored derivatives are usable, and the time at which they were evaluated, when
        rotating and inertial axes coincide
    step : step size for which the matrices were factorized
    rate, bound : convergence rate of the iterations, and a bound on the error of the last correction relative to its
        size
    least, greatest : minimum and maximum, over the collocation points, of the smallest pivot of the constraint rows
    """

    since: float
    past: float
    past_step: float
    past_centre: float
    derived: float
    centre: float
    step: float
    rate: float
    bound: float
    least: float
    greatest: float


@record
class Radau(NamedTuple):
    """A Radau IIA method with s collocation points, and the arrays of its steps; see `quirk.integrators.radau`.

    A state has `size` elements. Increments are differences of states from that at the start of the step.

    Attributes
    ----------
    points : number of collocation points s
    exponent : 1 / (s + 1), the inverse order of the error estimate
    a, back, forth, of_slopes : (s s,) coefficients
    nodes, inverse, e : (s,) coefficients
    highest : (2 s + 2,) coefficients of the two highest terms of interpolation polynomials
    implicit : data of the linear systems
    matrices : (s implicit.size,) the real matrix, then real and imaginary parts of the complex matrices
    z, f : (s size,) increments and slopes y' at the collocation points, in rotating axes
    w, u : (s size,) right-hand sides and solutions of the linear systems
    turned : quaternions of the rotating axes at the start of the step and at all collocation points
    origin, base : (size,) positions of bodies at the start, and the state relative to these positions in rotating axes
    past, past_axes, past_origin, past_base : increments (s size,), axes, origin and base of the last completed step
    slope, slope_new : (size,) y' at the start and at the end of the step
    centre : (size,) state at which derivatives are evaluated
    rotating_state, stage, change : (size,) scratch arrays for states and their changes
    relative_axes : scratch array for quaternions of axes
    basis : (s,) weights of the collocation points for the value of the polynomial at one time
    step_data : times, step sizes and convergence data of the last steps
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
    rotating_state: np.ndarray
    stage: np.ndarray
    change: np.ndarray
    relative_axes: np.ndarray
    basis: np.ndarray
    step_data: StepData


@kernel
def clear(array: np.ndarray) -> None:
    """Set all elements of an array to zero."""
    for o in range(0, array.shape[0], 8):
        store(array, o, splat(0.0))


@kernel
def add_weighted_sum(
    weights: np.ndarray, first: int, count: int, of: np.ndarray, factor: float, out: np.ndarray
) -> None:
    """Add a weighted sum of `count` consecutive arrays in `of`, times `factor`, to `out`.

    The arrays in `of` have the length of `out`; `weights[first]` is the weight of the first one.
    """
    size = out.shape[0]
    for j in range(count):
        weight = factor * weights[first + j]
        for o in range(0, size, 8):
            store(out, o, load(out, o) + weight * load(of, j * size + o))


@kernel
def evaluate_polynomial(stepper: Radau, t: float, state: np.ndarray) -> None:
    """Evaluate the collocation polynomial of the last completed step at time t (s), and write the state to `state`."""
    s, blocks = stepper.points, stepper.past_axes.shape[0] // AXES
    weigh_points(stepper, (t - stepper.step_data.past) / stepper.step_data.past_step)
    copy(stepper.past_base, stepper.rotating_state)
    add_weighted_sum(stepper.basis, 0, s, stepper.past, 1.0, stepper.rotating_state)
    turn_axes(stepper.past_axes, t - stepper.step_data.past_centre, stepper.relative_axes, 0)
    to_inertial(stepper.relative_axes, 0, blocks, stepper.rotating_state, state)
    for o in range(0, state.shape[0], 8):
        store(state, o, load(state, o) + load(stepper.past_origin, o))


@kernel
def weigh_points(stepper: Radau, x: float) -> None:
    """Compute the weights of the collocation points for the polynomial at fraction x of a step, in `stepper.basis`."""
    for i in range(stepper.points):
        weight = x / stepper.nodes[i]
        for j in range(stepper.points):
            if j != i:
                weight *= (x - stepper.nodes[j]) / (stepper.nodes[i] - stepper.nodes[j])
        stepper.basis[i] = weight


@kernel
def state_to_rotating(mechanism: Mechanism, stepper: Radau, y: np.ndarray, at_point: int, out: np.ndarray) -> None:
    """Transform a state y from the inertial frame to the rotating axes; the result is written to `out`.

    `at_point` selects the time of the axes: 0 for the start of the step, 1 to s for the collocation points.
    """
    blocks = mechanism.constants.shape[0] // CON
    for o in range(0, y.shape[0], 8):
        store(stepper.rotating_state, o, load(y, o) - load(stepper.origin, o))
    to_rotating(stepper.turned, at_point * TURNED * blocks, blocks, stepper.rotating_state, out)


@kernel
def state_at_point(mechanism: Mechanism, stepper: Radau, i: int, out: np.ndarray) -> None:
    """Compute the state at collocation point i of the step from its increments.

    The state is written to `out` in the inertial frame, and to `stepper.rotating_state` in the rotating axes.
    """
    size, blocks = out.shape[0], mechanism.constants.shape[0] // CON
    for o in range(0, size, 8):
        store(stepper.rotating_state, o, load(stepper.base, o) + load(stepper.z, i * size + o))
    to_inertial(stepper.turned, (i + 1) * TURNED * blocks, blocks, stepper.rotating_state, out)
    for o in range(0, size, 8):
        store(out, o, load(out, o) + load(stepper.origin, o))


@kernel
def slope_to_rotating(mechanism: Mechanism, stepper: Radau, slope: np.ndarray, at_point: int, out: np.ndarray) -> None:
    """Transform a slope y' from the inertial frame to the rotating axes; the result is written to `out`.

    `slope` is y' at the state in `stepper.rotating_state`. `at_point` selects the time of the axes: 0 for the start of
    the step, 1 to s for the collocation points.
    """
    blocks = mechanism.constants.shape[0] // CON
    to_rotating(stepper.turned, at_point * TURNED * blocks, blocks, slope, out)
    subtract_rotation(stepper.implicit.axes, stepper.rotating_state, out)
