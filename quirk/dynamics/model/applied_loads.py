"""Loads of force elements on bodies, computed in Python on floats or jets: the reference for the compiled solver.

A jet is a number with time derivatives and a gradient. The law of a force element reads a flat array of inputs and
writes a flat array of outputs, with the layout `LawLayout`. There are n bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.bodies.state import Kinematics
from quirk.constraints.relation import LANES, frame_numbers
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.forces.calls import NumberCall
from quirk.forces.law import run
from quirk.forces.law_inputs import continued_turns
from quirk.forces.law_layout import COORDINATE, REFERENCE, LawLayout
from quirk.forces.place import Place
from quirk.forces.stick_slip import SlipComponent

from .model import Model
from .time_derivatives import PoseDerivatives, factorials


@dataclass(frozen=True)
class Exerted:
    """Loads, energy and coordinates of a force element, at one instant or over time.

    Attributes
    ----------
    loads : (..., frames, K + 1, 6)
        Force (N) and moment (N m) about the center of mass on the body of each frame, in the inertial frame, with their
        time derivatives up to order K.
    energy : (...)
        Stored energy, J.
    coordinates : (..., c, 3)
        Value, rate, and force or torque of each of the element's c coordinates, such as a length or an angle.
    rates : (..., s, K + 1)
        Time derivatives of the s internal variables, with their derivatives up to order K.
    """

    loads: np.ndarray
    energy: np.ndarray
    coordinates: np.ndarray
    rates: np.ndarray


def exerted(
    element: ForceElement,
    rows: Sequence[int],
    motion: PoseDerivatives,
    t: float,
    order: int,
    angles: Mapping[str, np.ndarray],
    internal: Mapping[str, np.ndarray],
) -> Exerted:
    """Return the loads of a force element along a motion, with time derivatives.

    Parameters
    ----------
    element : ForceElement
    rows : indices of the element's bodies in `motion`
    motion : PoseDerivatives
        Poses with time derivatives; velocities are needed with `order` derivatives.
    t : time, s
    order : number K of time derivatives of the loads
    angles : joint angles (3,), rad, by name of the joint
        Angles in the law are shifted by full turns to the values nearest to these angles.
    internal : internal variables (s,) by name of the element
    """
    layout = element.layout(order)
    outputs = np.zeros(layout.outputs)
    inputs = law_inputs(element, layout, rows, motion, t, angles)
    if element.internal:
        # Taylor coefficient k of the rates depends on coefficients 0 to k of the variables and determines coefficient k
        # + 1.
        variables = inputs[layout.first_internal : layout.first_frame].reshape(layout.internal, order + 2)
        variables[:, 0] = internal.get(element.name, [getattr(element, name) for name in element.internal])
        for k in range(order):
            fill(element, layout, t, inputs, outputs)
            variables[:, k + 1] = _rates(layout, outputs)[:, k] / (k + 1)
    fill(element, layout, t, inputs, outputs)
    return read(layout, outputs)


def coordinate_at(
    element: ForceElement, rows: Sequence[int], motion: PoseDerivatives, t: float, angles: Mapping[str, np.ndarray]
) -> Jet:
    """Return the coordinate of a force element, such as a length or an angle, as a jet with two time derivatives.

    The jet also has the gradient with respect to the poses of the bodies. `rows` are the indices of the element's
    bodies in `motion`. The motion must have accelerations; they may be zero if the second derivative is not used.

    Raises
    ------
    InputError
        If the coordinate cannot be computed or is not finite.
    """
    layout = element.layout(1)
    inputs = law_inputs(element, layout, rows, motion, t, angles)
    frames = [Place(layout, f, inputs, True) for f in range(layout.frames)]
    time = Jet([t, 1.0, 0.0], [None] * layout.frames)
    try:
        coordinate = element.coordinate(time, *frames)
    except Exception as error:  # user functions may raise any exception
        raise InputError(f"{element}: it failed at t = {t:g} s: {type(error).__name__}: {error}") from error
    (continued,) = continued_turns(element, layout, time, [coordinate], inputs)
    if not np.isfinite(float(continued.value)):
        raise InputError(f"{element}: {element.undefined} at t = {t:g} s")
    return continued


def slip_rates(element: SlipComponent, rows: Sequence[int], motion: PoseDerivatives, t: float) -> list[Jet]:
    """Return the components of the slip velocity of a friction element at time t (s), m/s.

    The components are jets (numbers with time derivatives). `element` is the force element of one component, and `rows`
    are the indices of the bodies of its frames.
    """
    layout = element.layout(1)
    inputs = law_inputs(element, layout, rows, motion, t, {})
    frames = [Place(layout, f, inputs, False) for f in range(layout.frames)]
    return element.rates(Jet([t, 1.0], [None] * layout.frames), *frames)


def fill(element: ForceElement, layout: LawLayout, t: float, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Evaluate the law of a force element on floats, and write its outputs.

    Raises
    ------
    InputError
        If a function of the law fails, or the loads are not finite although the inputs are.
    """
    functions = [NumberCall(value, layout) for value in element.functions]
    try:
        run(element, layout, functions, t, inputs, outputs)
    except InputError:
        raise
    except Exception as error:  # user functions may raise any exception
        raise InputError(f"{element}: its law failed at t = {t:g} s: {type(error).__name__}: {error}") from error
    trouble = undefined(element, layout, t, inputs, outputs)
    if trouble is not None:
        raise trouble


def undefined(
    element: ForceElement, layout: LawLayout, t: float, inputs: np.ndarray, outputs: np.ndarray
) -> InputError | None:
    """Return an InputError if the loads of a force law are not finite although its inputs are; otherwise None.

    `inputs` and `outputs` are the inputs and outputs of the law of the force element `element` at time t (s), arranged
    by `layout`.
    """
    results = np.append(outputs[: layout.energy], outputs[layout.first_rate : layout.function_output])
    finite = np.isfinite(results).all() or not np.isfinite(inputs[layout.first_motion :]).all()
    return None if finite else InputError(f"{element}: {element.undefined} at t = {t:g} s")


def read(layout: LawLayout, outputs: np.ndarray) -> Exerted:
    """Return loads, energy and coordinates of a force element from the outputs of its law.

    `outputs` (..., outputs) is arranged according to `layout`.
    """
    lead = outputs.shape[:-1]
    loads = outputs[..., : layout.energy].reshape(*lead, layout.frames, layout.order + 1, LANES)[..., :6]
    coordinates = outputs[..., layout.first_coordinate : layout.first_rate].reshape(*lead, -1, COORDINATE)
    factors = factorials(layout.order)
    return Exerted(
        loads * factors[:, None],
        outputs[..., layout.energy].copy(),
        coordinates.copy(),
        _rates(layout, outputs) * factors,
    )


def _rates(layout: LawLayout, outputs: np.ndarray) -> np.ndarray:
    """Return the Taylor coefficients (..., s, K + 1) of the rates of s internal variables from the outputs of a law."""
    taken = outputs[..., layout.first_rate : layout.function_output]
    return taken.reshape(*outputs.shape[:-1], layout.internal, layout.order + 1)


def fixed_inputs(element: ForceElement, layout: LawLayout) -> np.ndarray:
    """Return the inputs of a force law, with its parameters and its frames in body coordinates; others are zero."""
    inputs = np.zeros(layout.inputs)
    inputs[: layout.parameters] = element.numbers
    for f, (_, frame) in enumerate(element.ends):
        o = layout.first_frame + f * layout.frame_size
        numbers = frame_numbers(frame)
        inputs[o : o + numbers.size] = numbers
    return inputs


def law_inputs(
    element: ForceElement,
    layout: LawLayout,
    rows: Sequence[int],
    motion: PoseDerivatives,
    t: float,
    angles: Mapping[str, np.ndarray],
) -> np.ndarray:
    """Return all inputs (inputs,) of the law of a force element at time t (s) of a motion, arranged by `layout`.

    `rows` are the indices of the element's bodies in `motion`, and `angles` are joint angles (3,), rad, by name of the
    joint: angles in the law are shifted by full turns to the values nearest to these.
    """
    inputs, order = fixed_inputs(element, layout), layout.order
    for place, near in enumerate(element.turns_near(angles)):
        o = layout.parameters + REFERENCE * place
        inputs[o : o + REFERENCE] = near, 0.0, t
    for m, name in enumerate(element.motions):
        o = layout.first_motion + m * (order + 2)
        derivatives = element.motion(name).derivatives_for(f"{element}, {name}", t, order + 1)
        inputs[o : o + order + 2] = derivatives / factorials(order + 1)
    scale = factorials(order + 1)[:, None]
    for f, body in enumerate(rows):
        o = layout.first_frame + f * layout.frame_size + frame_numbers(element.ends[f][1]).size
        parts = (
            motion.position[body, : order + 2] / scale,
            motion.rotation[body],
            motion.spin[body, : order + 1] / scale[:-1],
            motion.orientation[body],
        )
        values = np.concatenate([part.ravel() for part in parts])
        inputs[o : o + values.size] = values
    return inputs


def applied_loads(model: Model, t: float, kin: Kinematics) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of gravity and the loads of all force elements on each of n bodies at a state.

    Returns
    -------
    force : (n, 3) forces, N, inertial frame
    torque : (n, 3) torques about the centers of mass, N m, body axes
    """
    force, torque = applied_derivative(model, t, PoseDerivatives.of(kin, 1), 0, kin.angles, kin.internal)
    return force, np.einsum("nji,nj->ni", kin.rotation[:-1], torque)


def applied_derivative(
    model: Model,
    t: float,
    motion: PoseDerivatives,
    order: int,
    angles: Mapping[str, np.ndarray],
    internal: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return a time derivative of the applied loads along a motion.

    Parameters
    ----------
    order : order of the derivative; the motion must have velocities with at least this number of derivatives
    angles, internal : joint angles and internal variables by name, as in `Kinematics`

    Returns
    -------
    force, torque : (n, 3) each, for n bodies, inertial frame, the torque about the centers of mass
    """
    evaluated = (exerted(element, rows, motion, t, order, angles, internal) for element, rows in model.forces)
    return summed(model, (acts.loads[:, order] for acts in evaluated), order)


def gross_accelerations(model: Model, kin: Kinematics, laws: Mapping[str, Exerted]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the magnitudes of the accelerations of each of n bodies due to each load.

    The loads are gravity and those of all force elements, `laws`, by name. The results are sums of linear accelerations
    (n,), m/s^2, and of angular accelerations (n,), rad/s^2.
    """
    R, n = kin.rotation[:-1], len(model.mass)
    linear, angular = np.full(n, np.linalg.norm(model.gravity)), np.zeros(n)
    for element, rows in model.forces:
        bodies, place = np.unique(rows, return_inverse=True)
        loads = np.zeros((len(bodies), 6))
        np.add.at(loads, place, laws[element.name].loads[:, 0])
        bodies, loads = bodies[bodies < n], loads[bodies < n]
        moments = np.einsum("nji,nj->ni", R[bodies], loads[:, 3:])
        linear[bodies] += np.linalg.norm(loads[:, :3], axis=1) / model.mass[bodies]
        angular[bodies] += np.linalg.norm(np.linalg.solve(model.inertia[bodies], moments[..., None])[..., 0], axis=1)
    return linear, angular


def summed(model: Model, loads: Iterable[np.ndarray], order: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of gravity and the loads of all force elements on each of n bodies, or a time derivative of it.

    `loads` contains an array (frames, 6) of each element, with the loads on the bodies of its frames. `order` is the
    order of the derivative; gravity is added for order 0 only, because its derivatives are zero.

    Returns
    -------
    force, torque : (n, 3) each, inertial frame, the torque about the centers of mass
    """
    # The last row collects the loads on the ground.
    total = np.zeros((len(model.mass) + 1, 6))
    for (_, rows), element_loads in zip(model.forces, loads, strict=True):
        np.add.at(total, list(rows), element_loads)
    if order == 0:
        total[:-1, :3] += model.mass[:, None] * model.gravity
    return total[:-1, :3], total[:-1, 3:]
