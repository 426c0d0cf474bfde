"""Derivatives of the constants and the initial state of a system with respect to a named parameter of one part.

"Parts" are bodies, constraints and force elements, whose constants appear in the equations of motion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import Body
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint
from quirk.errors import InputError
from quirk.forces import ForceElement
from quirk.functions.motion import Motion
from quirk.util.construction import construction, made_with

from .change import FRAME, ParameterChange
from .motions import OWNER, motion_derivatives
from .numeric_arguments import STATES, law_constant, names_of_numbers, numeric_value, parameter_hint, parameter_names
from .part_parameters import GAP, LAW, RELATION, Key, dependents, derivative, numbers_of, reconstructed, with_dependents

if TYPE_CHECKING:
    from quirk.bodies.state import State
    from quirk.system.system import System

CENTER = ("center_of_mass", "centre_of_mass")


def derivatives_by_body(
    system: System, start: State, body: Body, parameter: str
) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of a parameter of a body, and the derivatives of the system with respect to its elements.

    The parameter is a numeric argument, a component of the pose or velocity in the initial state `start`, or the center
    of mass.
    """
    row = system.bodies.index(body)
    if parameter in STATES:
        first = STATES[parameter]
        moved = np.zeros((3, 12))
        moved[:, first : first + 3] = np.eye(3)
        size = float(np.abs(getattr(start, parameter)[row]).max())
        return (3,), [ParameterChange(start={body.name: change}, size=size) for change in moved]
    if parameter in CENTER:
        return (3,), [_center_moved(system, start, body, row, axis) for axis in np.eye(3)]
    constructed = made_with(body)
    if parameter == "inertia" and (constructed is None or np.ndim(constructed.arguments.get("inertia", [0])) > 0):
        return _of_inertia(system, body)

    def check(constructed: Body) -> None:
        if not (
            np.array_equal(constructed.position, body.position)
            and np.array_equal(constructed.orientation, body.orientation)
        ):
            raise InputError(
                f"{OWNER}: {body}: {parameter!r} also changes its initial pose: it is not an independent parameter"
            )

    return _by_reconstruction(system, body, parameter, check)


def _of_inertia(system: System, body: Body) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of a body's inertia parameter, and the derivatives of the system with respect to its elements.

    The elements are the principal moments if the body was constructed with them, otherwise the elements of the tensor;
    the derivative with respect to an off-diagonal element is divided equally between this element and its symmetric
    counterpart.
    """
    constructed = made_with(body)
    inertia = None if constructed is None else constructed.arguments.get("inertia")
    principal = inertia is not None and np.shape(inertia) == (3,)
    units = [np.outer(e, e) for e in np.eye(3)] if principal else [np.outer(e, f) for e in np.eye(3) for f in np.eye(3)]

    others = dependents(system, body)

    def moved(unit: np.ndarray, x: float) -> dict[Key, np.ndarray]:
        new = copy(body)
        object.__setattr__(new, "inertia", body.inertia + 0.5 * x * (unit + unit.T))
        return _all_numbers(system, body, new, others)

    size = float(np.abs(body.inertia).max())
    return (3,) if principal else (3, 3), [
        ParameterChange(derivative(partial(moved, unit), size), size=size) for unit in units
    ]


def _center_moved(system: System, start: State, body: Body, row: int, axis: np.ndarray) -> ParameterChange:
    """Return the derivatives of the system with respect to a displacement of a body's center of mass.

    All other points of the body stay fixed; loads applied at the center of mass move with it. `start` is the initial
    state, `row` the index of the body, and `axis` (3,) the direction of the displacement, body axes.
    """
    R, omega = rotation.matrix(start.orientation[row]), start.angular_velocity[row]
    moved = np.concatenate([R @ axis, np.zeros(3), R @ np.cross(omega, axis), np.zeros(3)])
    numbers: dict[Key, np.ndarray] = {}
    parts: list[Any] = [*system.constraints, *system.forces]
    for part in parts:
        numbers_here = numbers_of(part)
        for key, here in numbers_here.items():
            if key[0] not in (LAW, RELATION) and not key[0].startswith(GAP):
                continue
            ends = part.acting_ends if isinstance(part, ForceElement) else part.ends
            change, first = np.zeros_like(here), here.size - FRAME * len(ends)
            for f, (owner, frame) in enumerate(ends):
                joined = isinstance(part, Constraint) or getattr(part, "joint", None) is not None
                if owner is body and (joined or frame.origin.any()):
                    change[first + FRAME * f : first + FRAME * f + 3] = -axis
            if change.any():
                numbers[key] = change
    return ParameterChange(numbers, {body.name: moved})


def derivatives_by_part(system: System, part: Any, parameter: str) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of a parameter of a constraint or force, and the system's derivatives with respect to it.

    The parameter is a numeric argument, a parameter of a prescribed motion, or the pose of a frame.
    """
    frame, _, of_frame = parameter.partition(".")
    if isinstance(part, Constraint) and frame in ("frame_i", "frame_j") and of_frame in ("origin", "rotation"):
        return (3,), _frame_moved(system, part, frame, of_frame)
    argument, _, number = parameter.partition(".")
    motion = getattr(part, argument, None)
    if number and isinstance(motion, Motion):
        shape, derivatives = motion_derivatives(part, argument, motion, number)
        force = isinstance(part, ForceElement)
        changes = [part.motion_changes(argument, one) if force else {argument: one} for one in derivatives]
        return shape, [ParameterChange(motions={(part.name, name): one for name, one in of.items()}) for of in changes]
    if isinstance(part, ForceElement) and parameter in part.parameters:
        return _of_law(system, part, parameter)
    return _by_reconstruction(system, part, parameter)


def _of_law(system: System, element: ForceElement, parameter: str) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of a parameter of a force law, and the derivatives of the system with respect to its elements.

    They include the derivatives of other constants that the element computes from this parameter.
    """
    constructed, constant = made_with(element), law_constant(element, parameter)
    argument = None if constructed is None else constructed.arguments.get(parameter)
    if argument is not None and constant is not None and np.shape(argument) == np.shape(constant):
        try:
            return _by_reconstruction(system, element, parameter)
        except InputError:
            pass  # the perturbed element is invalid, such as damping with negative values in some direction
    return _law_numbers(element, parameter)


def _law_numbers(element: ForceElement, parameter: str) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of a force law parameter, and the derivatives of the system with respect to its elements.

    The parameter must be an input of the force law, with one constant for each element.
    """
    place = 0
    for name in element.parameters:
        constant = law_constant(element, name)
        if name == parameter:
            if constant is None:
                raise InputError(
                    f"{OWNER}: {element}: its {parameter} is not a number, but a function, a table or not given"
                )
            units = np.zeros((np.size(constant), numbers_of(element)[LAW, element.name, 0].size))
            units[:, place : place + np.size(constant)] = np.eye(np.size(constant))
            size = float(np.abs(constant).max())
            return np.shape(constant), [ParameterChange({(LAW, element.name, 0): unit}, size=size) for unit in units]
        place += 0 if constant is None else np.size(constant)
    raise AssertionError


def _frame_moved(system: System, part: Constraint, frame: str, displacement: str) -> list[ParameterChange]:
    """Return the derivatives of the system with respect to three displacements of a joint frame.

    The displacements are translations of the origin along body axes if `displacement` is "origin", and rotations about
    the axes of the frame if it is "rotation".
    """
    constructed = made_with(part)
    if constructed is None or "frame_i" not in construction(type(part)).parameters:
        raise InputError(f"{OWNER}: {part} was not constructed with frame_i and frame_j; use its own arguments")
    frames = {"frame_i": part.frame_i, "frame_j": part.frame_j}

    def along(axis: np.ndarray, x: float) -> Any:
        old = frames[frame]
        turned = old.matrix @ rotation.matrix(rotation.exp(x * axis)) if displacement == "rotation" else old.matrix
        origin = old.origin + x * axis if displacement == "origin" else old.origin
        new = {**frames, frame: Frame(origin, rotation.from_matrix(turned))}
        return reconstructed(part, new, left_out=("point", "axis", "axis_i", "axis_j"))

    size = max(1.0, float(np.abs(frames[frame].origin).max())) if displacement == "origin" else 1.0
    numbers = partial(_numbers_along, system, part, dependents(system, part))
    return [ParameterChange(derivative(partial(numbers, partial(along, axis)), size), size=size) for axis in np.eye(3)]


def _by_reconstruction(
    system: System, part: Any, parameter: str, check: Any = None
) -> tuple[tuple[int, ...], list[ParameterChange]]:
    """Return the shape of an argument of a part, and the derivatives of the system with respect to its elements.

    The part, and all parts that depend on it, are constructed again with varied arguments. `check`, if not None, is
    called with each new part.
    """
    constructed = made_with(part)
    known = [] if constructed is None else names_of_numbers(part, constructed)
    if parameter not in known:
        hint = parameter_hint(part, parameter, parameter_names(part))
        raise InputError(f"{OWNER}: {part} has no numeric argument {parameter!r}; {hint}")
    assert constructed is not None
    value = np.array(numeric_value(part, constructed, parameter), dtype=float)
    others = dependents(system, part)

    def at(index: int, x: float) -> Any:
        changed = value.copy().reshape(-1)
        changed[index] += x
        value_here = changed.reshape(value.shape)
        new = reconstructed(part, {parameter: float(value_here) if value_here.ndim == 0 else value_here.tolist()})
        if check is not None:
            check(new)
        return _all_numbers(system, part, new, others)

    scale = float(np.abs(value).max(initial=0.0))
    try:
        return value.shape, [ParameterChange(derivative(partial(at, k), scale), size=scale) for k in range(value.size)]
    except InputError as error:
        raise InputError(f"{OWNER}: {part}: {parameter!r} cannot be varied: {error}") from error


def _numbers_along(
    system: System, part: Any, dependent_parts: Sequence[Any], construct: Callable[[float], Any], x: float
) -> dict[Key, np.ndarray]:
    return _all_numbers(system, part, construct(x), dependent_parts)


def _all_numbers(system: System, original: Any, changed: Any, dependent_parts: Sequence[Any]) -> dict[Key, np.ndarray]:
    """Return the constants, in the equations of motion, of a reconstructed part and of all parts that depend on it.

    `original` and `changed` are the part before and after the reconstruction, and `dependent_parts` the dependent
    parts.
    """
    numbers: dict[Key, np.ndarray] = {}
    for part in with_dependents(system, original, changed, dependent_parts):
        numbers.update(numbers_of(part))
    return numbers
