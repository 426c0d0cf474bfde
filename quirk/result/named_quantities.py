"""Quantities of a result by name, such as "rod.position.x", "hinge.angle", "spring.force" and "energy.kinetic"."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..bodies.euler_angles import SEQUENCES
from ..errors import InputError
from ..forces import Controller
from ..forces.joint_actuation import Actuated
from ..util import validate
from ..util.suggestion import nearest_names, suggestion
from .body_views import BodyView
from .curves import Curve
from .force_views import UNITS, unit_of_coordinate
from .joint_views import FREE, JointView
from .result import Result

LETTERS = "xyz"
OF_BODIES = {
    "position": "m",
    "velocity": "m/s",
    "acceleration": "m/s$^2$",
    "jerk": "m/s$^3$",
    "snap": "m/s$^4$",
    "angular_velocity": "rad/s",
    "angular_acceleration": "rad/s$^2$",
}
OF_JOINTS = {
    "displacement": "m",
    "velocity": "m/s",
    "rotation": "rad",
    "rotation_rate": "rad/s",
    "angular_velocity": "rad/s",
    "force": "N",
    "torque": "N m",
}
OF_FORCES = {"force": "N", "torque": "N m"}
# Short names of quantities, whose value is a magnitude.
SHORT = {"speed": "velocity", "angular_speed": "angular_velocity", "distance": "displacement"}
# Units of free coordinates of joints.
OF_FREE = {"angle": "rad", "travel": "m"}
# Prefix of Euler angles before the axes, such as "euler_zxz", their numbers, and the suffix of names in degrees.
EULER, NUMBERS, DEGREES = "euler_", "123", ".deg"
ENERGIES = ("kinetic", "potential", "total")
# Rates of quantities, for phase portraits.
RATE_OF = {
    "angle": "angle_rate",
    "travel": "travel_rate",
    "position": "velocity",
    "velocity": "acceleration",
    "acceleration": "jerk",
    "displacement": "velocity",
    "rotation": "rotation_rate",
    "angular_velocity": "angular_acceleration",
}


def curves(owner: str, result: Result, quantity: Any) -> list[Curve]:
    """Return a named quantity as a list of curves: one, or three for Euler angles.

    A name such as "rod.euler_zxz" selects all three Euler angles. `quantity` is the name; `owner` is the name of the
    calling function, for error messages.
    """
    name = quantity.removesuffix(DEGREES) if isinstance(quantity, str) else ""
    body, _, rest = name.rpartition(".")
    if rest.startswith(EULER) and body in {one.name for one in result.system.bodies}:
        return [curve(owner, result, f"{name}.{number}{quantity[len(name) :]}") for number in NUMBERS]
    return [curve(owner, result, quantity)]


def curve(owner: str, result: Result, quantity: Any) -> Curve:
    """Return the curve of a quantity given by name, or as (label, values) or (label, values, unit).

    Names are "time", "energy.kinetic", ".potential" and ".total", or start with the name of a body, joint or force:

    * for a body "position", "velocity", "acceleration", "jerk", "snap", "angular_velocity" and "angular_acceleration"
      with ".x", ".y" or ".z", or without letter for the magnitude; "speed" and "angular_speed"; "euler_zxz.1", ".2" and
      ".3" and so on, as in `BodyView.euler_angles`;
    * for a joint "angle", "angle_rate", "travel" and "travel_rate", if the joint has a free axis; "displacement",
      "velocity", "rotation", "rotation_rate", "angular_velocity", "force" and "torque" with or without a letter;
      "distance"; the name of the joint alone is the angle or, for a joint without angle, the travel;
    * for a force "force" and "torque" with or without a letter, "energy", its coordinates, and their rates, such as
      "length_rate";
    * for an actuator, or a driver of one coordinate, "effort": signed force or torque along the coordinate;
    * "power" for gravity, forces and constraints that do work.

    With ".deg" at the end, angles and their rates are in degrees. `owner` is the name of the calling function, for
    error messages.
    """
    if isinstance(quantity, tuple | list):
        return _user_curve(owner, result, quantity)
    if not isinstance(quantity, str):
        raise InputError(
            f'{owner}: a quantity must be a name such as "hinge.angle", or (label, values); got {quantity!r}'
        )
    if quantity == "time":
        return Curve(quantity, "s", result.time)
    name, _, rest = quantity.rpartition(".")
    known = {part.name for group in (result.system.bodies, result.system.constraints, result.system.forces)
             for part in group}  # fmt: skip
    if quantity in known:
        return _default_quantity(owner, result, quantity)
    if quantity.endswith(DEGREES):
        return _in_degrees(owner, result, quantity)
    if name == "energy" and name not in known and rest in ENERGIES:
        return Curve(f"{rest} energy", "J", getattr(result.energy, rest))
    letter = None
    if rest in LETTERS + NUMBERS and name not in known:
        letter, (name, _, rest) = rest, name.rpartition(".")
    found = _values_of(result, name, rest) if name in known else None
    if found is None:
        raise InputError(f'{owner}: there is no quantity "{quantity}"{_hint(result, quantity, known)}')
    values, unit = found
    if values.ndim == 1:
        if letter is not None:
            raise InputError(f'{owner}: "{name}.{rest}" is a scalar and has no component {letter}')
        return Curve(quantity, unit, values)
    letters = NUMBERS if rest.startswith(EULER) else LETTERS
    if (letters == NUMBERS) if letter is None else (letter not in letters):
        raise InputError(f'{owner}: select a component of "{name}.{rest}" by .{", .".join(letters)}')
    of_axis = np.linalg.norm(values, axis=1) if letter is None else values[:, letters.index(letter)]
    return Curve(f"|{quantity}|" if letter is None and rest not in SHORT else quantity, unit, of_axis)


def rate_of(owner: str, result: Result, quantity: Any) -> str:
    """Return the name of the time derivative of a named quantity, such as "hinge.angle_rate" for "hinge.angle".

    `owner` is the name of the calling function, for error messages.
    """
    names = [quantity] if isinstance(quantity, str) else []
    for name in names:
        if name in {c.name for c in result.system.constraints}:
            return f"{_default_quantity(owner, result, name).name}_rate"
        head, _, rest = name.rpartition(".")
        letter = ""
        if rest in LETTERS and rest:
            letter, (head, _, rest) = f".{rest}", head.rpartition(".")
        if rest in RATE_OF and (letter or rest in FREE):
            return f"{head}.{RATE_OF[rest]}{letter}"
        element = {f.name: f for f in result.system.forces}.get(head)
        if element is not None and rest in element.coordinates:
            return f"{name}_rate"
    raise InputError(
        f"{owner}: the rate of {quantity!r} is not available; give the quantity of the vertical axis as `y`"
    )


def _user_curve(owner: str, result: Result, quantity: Any) -> Curve:
    if len(quantity) not in (2, 3) or not isinstance(quantity[0], str):
        raise InputError(
            f'{owner}: a quantity must be a name such as "hinge.angle", or (label, values); got {quantity!r}'
        )
    label, values, unit = (*quantity, "")[:3]
    return Curve(label, str(unit), validate.array(owner, f"values of {label!r}", values, result.time.shape))


def _in_degrees(owner: str, result: Result, quantity: str) -> Curve:
    found = curve(owner, result, quantity.removesuffix(DEGREES)).in_degrees(quantity)
    if found is None:
        raise InputError(f"{owner}: {quantity!r} must be an angle or the rate of one to be in degrees")
    return found


def _default_quantity(owner: str, result: Result, name: str) -> Curve:
    """Return the quantity that the name of a joint alone selects: its angle or, if it has none, its travel."""
    view = result[name]
    for kind in FREE if isinstance(view, JointView) else ():
        found = _values_of(result, name, kind)
        if found is not None:
            return Curve(f"{name}.{kind}", found[1], found[0])
    raise InputError(f'{owner}: select a quantity of "{name}"; there are: {", ".join(_choices(result, name))}')


def _values_of(result: Result, name: str, attribute: str) -> tuple[np.ndarray, str] | None:
    """Return the values (nt,) or (nt, 3) and the unit of a quantity; None if there is no such quantity.

    `name` is the name of a body, joint or force, and `attribute` the rest of the quantity's name.
    """
    view = result[name]
    if attribute == "power" and name in result.power:
        return result.power[name], "W"
    vector = SHORT.get(attribute, attribute)
    if isinstance(view, BodyView):
        if attribute.startswith(EULER) and attribute.removeprefix(EULER) in SEQUENCES:
            return view.euler_angles(attribute.removeprefix(EULER)), "rad"
        return (getattr(view, vector), OF_BODIES[vector]) if vector in OF_BODIES else None
    if isinstance(view, JointView):
        if attribute.removesuffix("_rate") in FREE:
            return _free_coordinate(view, attribute)
        if attribute == "effort" and view.of.effort_unit is not None:
            return view.effort, view.of.effort_unit
        if vector not in OF_JOINTS:
            return None
        values = getattr(view, vector)
        return (values() if callable(values) else values), OF_JOINTS[vector]
    if attribute in OF_FORCES:
        return getattr(view, attribute)(), OF_FORCES[attribute]
    if attribute == "energy":
        return view.energy, "J"
    if attribute == "effort" and isinstance(view.of, Actuated | Controller):
        return view.effort, "N m" if view.of.rotates else "N"
    coordinate = attribute.removesuffix("_rate")
    if coordinate in getattr(view.of, "coordinates", ()):
        unit = unit_of_coordinate(view.of, coordinate)
        return (
            (view.rate(coordinate), UNITS[unit]["m/s"])
            if attribute != coordinate
            else (view.coordinate(coordinate), unit)
        )
    return None


def _free_coordinate(view: JointView, attribute: str) -> tuple[np.ndarray, str] | None:
    kind = attribute.removesuffix("_rate")
    if getattr(view.of, FREE[kind], None) is None:
        return None
    return getattr(view, attribute), OF_FREE[kind] + ("/s" if attribute != kind else "")


def _choices(result: Result, name: str) -> list[str]:
    """Return the names of the quantities of a body, joint or force, for error messages."""
    view = result[name]
    if isinstance(view, BodyView):
        words = [f"{vector}.x" for vector in OF_BODIES] + ["speed", "angular_speed", f"{EULER}zxz.1"]
    elif isinstance(view, JointView):
        free = [kind for kind, axis in FREE.items() if getattr(view.of, axis, None) is not None]
        words = [*free, *(f"{kind}_rate" for kind in free), *(f"{vector}.x" for vector in OF_JOINTS), "distance"]
        words += ["effort"] if view.of.effort_unit is not None else []
    else:
        words = ["force.x", "torque.x", "energy", "power"]
        words += [f"{name}{rate}" for name in getattr(view.of, "coordinates", ()) for rate in ("", "_rate")]
        words += ["effort"] if isinstance(view.of, Actuated | Controller) else []
    return [f"{name}.{word}" for word in words]


def _hint(result: Result, unknown: str, available: Collection[str]) -> str:
    """Return a sentence for an error message with the likely meaning of an unknown name, and available names."""
    pieces = unknown.split(".")
    heads = [".".join(pieces[:count]) for count in range(len(pieces), 0, -1)]
    name = next((head for head in heads if head in available), None)
    if name is None:
        close = nearest_names(pieces[0], available)
        if not close:
            return (
                '; a quantity is "time", "energy.total", or a part and one of its quantities, such as "rod.position.x"'
            )
        name = close[0]
        unknown = ".".join([name, *pieces[1:]])
    choices = _choices(result, name)
    every = choices + [
        f"{choice[:-1]}{letter}" for choice in choices if choice.endswith(".x") for letter in LETTERS[1:]
    ]
    if unknown in every:
        return f'; did you mean "{unknown}"? There are: {", ".join(choices)}'
    return f"; {suggestion(unknown, choices, every=True)}"
