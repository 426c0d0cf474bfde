"""Actuators of inverse dynamics: force elements whose effort over time is unknown.

An effort is a force (N) or a torque (N m).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.constraints import Constraint, Drive, Joint
from quirk.constraints.relation import Relation
from quirk.errors import InputError
from quirk.forces import Actuator, Controller, Force, ForceElement, Thruster, Torque
from quirk.forces.joint_actuation import Actuated
from quirk.functions.motion import Motion
from quirk.system.system import System
from quirk.util import validate

# Function from a factor to an effort over time multiplied by it.
Effort = Callable[[float], Motion]

OWNER = "inverse_dynamics"
KINDS = "an Actuator, Controller, JointTorque, JointForce, Force, Torque or Thruster, or a joint with one free axis"


@dataclass(frozen=True)
class Actuation:
    """Actuator of inverse dynamics, whose effort (force, N, or torque, N m) is to be computed.

    Attributes
    ----------
    name : name passed by the user
    element : name of the force element that exerts the effort
    replaces : whether this force element replaces an element of the same name in the system
    torque : True if the effort is a torque, N m, False if it is a force, N
    exerting : function that returns the force element for a given effort over time
    """

    name: str
    element: str
    replaces: bool
    torque: bool
    exerting: Callable[[Effort], ForceElement]


def actuations(system: System, names: Any) -> list[Actuation]:
    """Return the actuators for the user's argument `names`.

    Raises
    ------
    InputError
        If a name is unsuitable or occurs twice.
    """
    listed = [names] if isinstance(names, str) or not isinstance(names, Sequence) else list(names)
    if not listed:
        raise InputError(f"{OWNER}: actuators must name at least one actuator")
    actuators = [_actuation(system, name) for name in listed]
    listed_names = [actuation.name for actuation in actuators]
    twice = sorted({name for name in listed_names if listed_names.count(name) > 1})
    if twice:
        raise InputError(f'{OWNER}: actuators contains "{twice[0]}" twice: name it once')
    return actuators


def _actuation(system: System, name: Any) -> Actuation:
    part = system[name]
    if isinstance(part, Constraint) and follows_motions(part):
        hint = f"{part.joint}" if isinstance(part, Drive) else "the joint of its motor"
        raise InputError(f"{OWNER}: actuators contains {part}, which is a driver: name {hint} instead")
    if isinstance(part, Joint):
        return _at_joint(system, part)
    if isinstance(part, Actuated | Controller):
        coordinate = "rotation" if part.rotates else "translation"
        return Actuation(
            part.name, part.name, True, part.rotates,
            lambda effort: Actuator(part.name, part.joint, effort(1.0), coordinate=coordinate),
        )  # fmt: skip
    if isinstance(part, Thruster):
        return Actuation(
            part.name, part.name, True, False,
            lambda effort: Thruster(
                part.name, part.ends[0][0], 1.0, part.direction, throttle=effort(1.0), point=part.point  # type: ignore[arg-type]
            ),
        )  # fmt: skip
    if isinstance(part, Force | Torque):
        return _on_body(part)
    raise InputError(f"{OWNER}: actuators must name {KINDS}; got {part}")


def follows_motions(constraint: Constraint) -> bool:
    """Whether a constraint is a driver, that is, prescribes a coordinate as a function of time."""
    return any(relation.motions for relation in constraint.primitives if isinstance(relation, Relation))


def _at_joint(system: System, joint: Joint) -> Actuation:
    free = [kind for kind in ("rotation", "translation") if getattr(joint, f"{kind}_axis") is not None]
    if len(free) != 1:
        has = "can both rotate about and translate along an axis" if free else "has no single free axis"
        add = "an Actuator with a coordinate" if free else "a Force or Torque"
        raise InputError(f"{OWNER}: actuators contains {joint}, which {has}: add {add} to the system, and name that")
    name = f"{joint.name} effort"
    while name in system:
        name += "*"
    turns = free == ["rotation"]
    return Actuation(joint.name, name, False, turns, lambda effort: Actuator(name, joint, effort(1.0)))


def _on_body(part: Force | Torque) -> Actuation:
    value = getattr(part, part.argument)
    constant = None if value is None else value.constant
    if constant is None or not np.any(constant):
        raise InputError(
            f"{OWNER}: actuators contains {part}, whose direction is unknown: give its {part.argument} as three "
            "numbers, not all zero; their magnitude has no effect"
        )
    direction, body = constant / np.linalg.norm(constant), part.ends[0][0]

    def exerting(effort: Effort) -> ForceElement:
        components = [effort(float(c)) for c in direction]
        if isinstance(part, Torque):
            return Torque(part.name, body, components, frame=part.frame)  # type: ignore[arg-type]
        return Force(part.name, body, components, point=part.point, frame=part.frame)  # type: ignore[arg-type]

    return Actuation(part.name, part.name, True, isinstance(part, Torque), exerting)


def actuated(system: System, actuators: Sequence[Actuation], efforts: Sequence[Effort]) -> System:
    """Return a copy of a system in which `actuators` exert the given efforts, functions of time."""
    bare = system.without(*(actuation.element for actuation in actuators if actuation.replaces))
    return bare.with_parts(*(actuation.exerting(effort) for actuation, effort in zip(actuators, efforts, strict=True)))


def over_time(times: np.ndarray, values: np.ndarray) -> Effort:
    """Return an effort over time as a spline through `values` (nt,) at `times` (nt,), s."""

    def effort(factor: float) -> Motion:
        return Motion.polynomial(factor * values) if len(times) == 1 else Motion.spline(times, factor * values)

    return effort


def costs(actuators: Sequence[Actuation], weights: Any, length: float) -> np.ndarray:
    """Return the weights (k,) of the squares of k efforts in the sum that inverse dynamics minimizes.

    `weights` is the user's argument. By default a weight is 1 for a force and 1 / length^2 for a torque, with `length`
    in m.
    """
    if weights is None:
        return np.array([length**-2.0 if actuation.torque else 1.0 for actuation in actuators])
    names = [actuation.name for actuation in actuators]
    if isinstance(weights, Mapping):
        weight_by_name = {getattr(name, "name", name): weight for name, weight in weights.items()}
        if set(weight_by_name) != set(names):
            raise InputError(f"{OWNER}: weights must name all actuators and no others; got {weights!r} for {names}")
        weights = [weight_by_name[name] for name in names]
    numbers = validate.numbers(weights)
    if numbers is None or numbers.shape != (len(names),):
        raise InputError(
            f"{OWNER}: weights must be a dict by name or a list with a number for each of {names}; got {weights!r}"
        )
    return np.array([validate.positive(OWNER, f"weights[{n!r}]", w) for n, w in zip(names, numbers, strict=True)])
