"""Numeric arguments of bodies, constraints and force elements, with respect to which a run can be differentiated.

"Parts" are bodies, constraints and force elements.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import Body
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint
from quirk.forces import ForceElement
from quirk.forces.value import Value
from quirk.functions.motion import Motion
from quirk.util.construction import construction, made_with
from quirk.util.suggestion import nearest_names

if TYPE_CHECKING:
    from quirk.system.system import System

# Initial state of bodies: first of the twelve numbers of a motion for each name.
STATES = {"position": 0, "orientation": 3, "velocity": 6, "angular_velocity": 9}


def parameter_names(part: Any) -> list[str]:
    """Return the names of the numeric arguments of a part; for a body they include those of the initial state."""
    return [*(STATES if isinstance(part, Body) else ()), *numeric_arguments(part)]


def parameter_hint(part: Any, parameter: str, names: Collection[str]) -> str:
    """Return the end of an error message about an unknown parameter of a part: similar names, and all valid names."""
    meant = " or ".join(repr((part.name, name)) for name in nearest_names(parameter, names))
    listed = ", ".join(repr((part.name, name)) for name in names) or "none"
    return (f"did you mean {meant}? " if meant else "") + f"available: {listed}"


def similar_pairs(system: System, text: Any) -> str:
    """Return the end of an error message: the pairs (part, parameter) that a string such as "rod.mass" may mean."""
    parts = [part for part in system if isinstance(part, Body | Constraint | ForceElement)]
    pairs = {f"{part.name}.{name}": (part.name, name) for part in parts for name in parameter_names(part)}
    meant = [repr(pairs[name]) for name in nearest_names(text, pairs)] if isinstance(text, str) else []
    return f"; did you mean {' or '.join(meant)}?" if meant else ""


def numeric_arguments(part: Any) -> dict[str, np.ndarray]:
    """Return the present values of the numeric arguments of a part, by name."""
    made = made_with(part)
    names = [] if made is None else names_of_numbers(part, made)
    return {name: np.array(numeric_value(part, made, name)) for name in names}


def names_of_numbers(part: Any, call: Any) -> list[str]:
    """Return the names of the numeric arguments with which a part was constructed.

    `call` is the recorded call of its constructor.
    """
    maker = call.maker
    names = construction(maker).parameters if isinstance(maker, type) else call.arguments
    if isinstance(part, ForceElement):
        names = [name for name in names if name not in part.parameters or law_constant(part, name) is not None]
    return [name for name in names if name not in STATES and numeric_value(part, call, name) is not None]


def law_constant(element: ForceElement, parameter: str) -> Any:
    """Return the value of a parameter of a force law, or None if it is a function, a table or missing."""
    value = getattr(element, parameter)
    return value.constant if isinstance(value, Value) else value


def numeric_value(part: Any, call: Any, name: str) -> np.ndarray | None:
    """Return the value of the argument `name` of a part, or None if it is not numeric.

    `call` is the recorded call of the part's constructor; for an argument that was not passed, the value is that of the
    part's attribute.
    """
    argument = call.arguments.get(name)
    argument = getattr(part, name, None) if argument is None else argument
    if argument is None or isinstance(argument, str | bool | Frame | Motion | Body | Constraint):
        return None
    try:
        value = np.asarray(argument, dtype=float)
    except (TypeError, ValueError):
        return None
    return value if value.size else None
