"""Loads of force elements on bodies: their laws run on floats or on jets of floats, the reference for machine code."""

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
from quirk.forces.law import COORDINATE, REFERENCE, LawLayout, continued_turns, run
from quirk.forces.place import Place

from .model import Model
from .time_derivatives import MotionTower, factorials


@dataclass(frozen=True)
class Exerted:
    """Loads, energy and coordinates of a force element, at an instant or over time.

    Attributes
    ----------
    loads : (..., frames, K + 1, 6)
        Of each frame force and moment about the center of mass on its body, in the inertial frame, with K derivatives.
    energy : (...) J, stored
    coordinates : (..., c, 3) value, rate, and force or torque along each coordinate
    rates : (..., s, K + 1) of the internal variables, with derivatives
    """

    loads: np.ndarray
    energy: np.ndarray
    coordinates: np.ndarray
    rates: np.ndarray


def exerted(
    element: ForceElement,
    rows: Sequence[int],
    motion: MotionTower,
    t: float,
    order: int,
    angles: Mapping[str, np.ndarray],
    internal: Mapping[str, np.ndarray],
) -> Exerted:
    """Run the law of an element at time t of a motion, for loads with `order` derivatives.

    `rows` are those of its bodies in the motion, whose velocities are needed to that order. `angles` (3,), rad, of
    joints by name tell to which of the values that differ by whole turns its angles are nearest; `internal` (s,) are
    the internal variables of elements.
    """
    layout = element.layout(order)
    outputs = np.zeros(layout.outputs)
    inputs = law_inputs(element, layout, rows, motion, t, angles)
    if element.internal:
        # Coefficient k of the rates depends on those of the variables up to k, and gives that of k + 1.
        variables = inputs[layout.first_internal : layout.first_frame].reshape(layout.internal, order + 2)
        variables[:, 0] = internal.get(element.name, [getattr(element, name) for name in element.internal])
        for k in range(order):
            fill(element, layout, t, inputs, outputs)
            variables[:, k + 1] = _rates(layout, outputs)[:, k] / (k + 1)
    fill(element, layout, t, inputs, outputs)
    return read(layout, outputs)


def coordinate_at(
    element: ForceElement, rows: Sequence[int], motion: MotionTower, t: float, angles: Mapping[str, np.ndarray]
) -> Jet:
    """Return the one coordinate of an element without functions at time t of a motion, with two derivatives.

    With its gradient by the poses of the bodies. The motion needs accelerations, which may be zero where the second
    derivative is not asked for.
    """
    layout = element.layout(1)
    inputs = law_inputs(element, layout, rows, motion, t, angles)
    frames = [Place(layout, f, inputs, True) for f in range(layout.frames)]
    time = Jet([t, 1.0, 0.0], [None] * layout.frames)
    try:
        found = element.coordinate(time, *frames)
    except Exception as error:  # what a user wrote may raise any
        raise InputError(f"{element}: it failed at t = {t:g} s: {type(error).__name__}: {error}") from error
    (continued,) = continued_turns(element, layout, time, [found], inputs)
    if not np.isfinite(float(continued.value)):
        raise InputError(f"{element}: {element.undefined} at t = {t:g} s")
    return continued


def shown_at(element: ForceElement, rows: Sequence[int], motion: MotionTower, t: float) -> Jet:
    """Return what an element without functions shows, alone, at time t of a motion with accelerations; and its rate."""
    layout = element.layout(1)
    inputs = law_inputs(element, layout, rows, motion, t, {})
    frames = [Place(layout, f, inputs, False) for f in range(layout.frames)]
    found: Jet = element.shown(Jet([t, 1.0], [None] * layout.frames), *frames)
    return found


def fill(element: ForceElement, layout: LawLayout, t: float, inputs: np.ndarray, outputs: np.ndarray) -> None:
    """Run a law on floats; raise InputError if it fails, or gives no numbers for inputs that are such."""
    functions = [NumberCall(value, layout) for value in element.functions]
    try:
        run(element, layout, functions, t, inputs, outputs)
    except InputError:
        raise
    except Exception as error:  # what a user wrote may raise any
        raise InputError(f"{element}: its law failed at t = {t:g} s: {type(error).__name__}: {error}") from error
    trouble = undefined(element, layout, t, inputs, outputs)
    if trouble is not None:
        raise trouble


def undefined(
    element: ForceElement, layout: LawLayout, t: float, inputs: np.ndarray, outputs: np.ndarray
) -> InputError | None:
    """Return an error if the loads of a law are not finite although its inputs are; else None."""
    given = np.append(outputs[: layout.energy], outputs[layout.first_rate : layout.function_output])
    finite = np.isfinite(given).all() or not np.isfinite(inputs[layout.first_motion :]).all()
    return None if finite else InputError(f"{element}: {element.undefined} at t = {t:g} s")


def read(layout: LawLayout, outputs: np.ndarray) -> Exerted:
    """Return loads, energy and coordinates from the outputs (..., outputs) of a law."""
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
    """Taylor coefficients (..., s, K + 1) of the rates of internal variables in the outputs of a law."""
    taken = outputs[..., layout.first_rate : layout.function_output]
    return taken.reshape(*outputs.shape[:-1], layout.internal, layout.order + 1)


def fixed_inputs(element: ForceElement, layout: LawLayout) -> np.ndarray:
    """Return the inputs of a law with the parameters and the places of its frames filled in."""
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
    motion: MotionTower,
    t: float,
    angles: Mapping[str, np.ndarray],
) -> np.ndarray:
    """Return all inputs of a law; see `LawLayout`."""
    inputs, order = fixed_inputs(element, layout), layout.order
    for place, near in enumerate(element.turns_near(angles)):
        o = layout.parameters + REFERENCE * place
        inputs[o : o + REFERENCE] = near, 0.0, t
    for m, name in enumerate(element.motions):
        o = layout.first_motion + m * (order + 2)
        inputs[o : o + order + 2] = element.motion(name).derivatives(t, order + 1) / factorials(order + 1)
    scale = factorials(order + 1)[:, None]
    for f, body in enumerate(rows):
        o = layout.first_frame + f * layout.frame_size + frame_numbers(element.ends[f][1]).size
        parts = (
            motion.position[body, : order + 2] / scale,
            motion.rotation[body],
            motion.spin[body, : order + 1] / scale[:-1],
            motion.orientation[body],
        )
        given = np.concatenate([part.ravel() for part in parts])
        inputs[o : o + given.size] = given
    return inputs


def applied_loads(model: Model, t: float, kin: Kinematics) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of gravity and all force elements at a state.

    Force (n, 3) in N, and torque (n, 3) in body axes about the centers of mass.
    """
    force, torque = applied_derivative(model, t, MotionTower.of(kin, 1), 0, kin.angles, kin.internal)
    return force, np.einsum("nji,nj->ni", kin.rotation[:-1], torque)


def applied_derivative(
    model: Model,
    t: float,
    motion: MotionTower,
    order: int,
    angles: Mapping[str, np.ndarray],
    internal: Mapping[str, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """A derivative of the applied loads along a motion: force and torque (n, 3) about the centers of mass, in N.

    Needs the velocities of the motion to that order; `angles` and `internal` as in `Kinematics`.
    """
    found = (exerted(element, rows, motion, t, order, angles, internal) for element, rows in model.forces)
    return summed(model, (acts.loads[:, order] for acts in found), order)


def gross_accelerations(model: Model, t: float, kin: Kinematics) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums (n,) of the sizes of what each load alone would do: linear and angular accelerations."""
    motion, R, n = MotionTower.of(kin, 1), kin.rotation[:-1], len(model.mass)
    linear, angular = np.full(n, np.linalg.norm(model.gravity)), np.zeros(n)
    for element, rows in model.forces:
        own, place = np.unique(rows, return_inverse=True)
        loads = np.zeros((len(own), 6))
        np.add.at(loads, place, exerted(element, rows, motion, t, 0, kin.angles, kin.internal).loads[:, 0])
        own, loads = own[own < n], loads[own < n]
        moments = np.einsum("nji,nj->ni", R[own], loads[:, 3:])
        linear[own] += np.linalg.norm(loads[:, :3], axis=1) / model.mass[own]
        angular[own] += np.linalg.norm(np.linalg.solve(model.inertia[own], moments[..., None])[..., 0], axis=1)
    return linear, angular


def summed(model: Model, loads: Iterable[np.ndarray], order: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Add up the loads (frames, 6) of all force elements, and gravity: force and torque (n, 3) in N."""
    # The last row collects what acts on the ground.
    total = np.zeros((len(model.mass) + 1, 6))
    for (_, rows), given in zip(model.forces, loads, strict=True):
        np.add.at(total, list(rows), given)
    if order == 0:
        total[:-1, :3] += model.mass[:, None] * model.gravity
    return total[:-1, :3], total[:-1, 3:]
