"""Sensitivities, the derivatives of a run with respect to parameters, as variables and in files.

A parameter may have several components, such as "rod.velocity[2]"; D is the number of the components of all parameters.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.simulation.sensitivity.adjoint import Gradient
from quirk.simulation.sensitivity.parameters import Parameter, parameters_of
from quirk.simulation.sensitivity.sensitivities import Sensitivities

from .part_variables import body_rows, name_joints
from .selection import Chosen
from .variable import BODY, INERTIAL, VariableTable

if TYPE_CHECKING:
    from quirk.result.result import Result

# Parts of a derivative of the state: name, dimension, first index, unit and frame.
PARTS_OF_STATE = (
    ("position_by", "axis", 0, "m", INERTIAL),
    ("orientation_by", "quaternion", 3, "1", INERTIAL),
    ("velocity_by", "axis", 7, "m/s", INERTIAL),
    ("angular_velocity_by", "axis", 10, "rad/s", BODY),
)
WIDTHS = {"axis": 3, "quaternion": 4}
# Relative tolerance for equality of derivatives with respect to parameters, which are computed by finite differences.
ALIKE = 1e-6


def sensitivities(table: VariableTable, chosen: Chosen) -> None:
    """Add the derivatives of states and of event times with respect to the parameters."""
    found, names = _found(table, chosen)
    if found is None:
        return
    table.labels["body"] = [body.name for body in chosen.bodies]
    n = len(chosen.result.system.bodies)
    states = np.moveaxis(found.states[..., : STATE_SIZE * n], 1, -1)
    states = states.reshape(len(states), n, STATE_SIZE, len(names))[:, body_rows(chosen)]
    for name, dim, first, units, frame in PARTS_OF_STATE:
        what = f"derivative of {name.removesuffix('_by').replace('_', ' ')} by parameters"
        values = states[:, :, first : first + WIDTHS[dim]]
        table.add(name, f"time body {dim} parameter", values, what, _per(units), frame)
    times = _event_times(found)
    table.add("event_time_by", "event parameter", times, "derivative of times of events by parameters", _per("s"))


def load_sensitivities(table: VariableTable, chosen: Chosen) -> None:
    """Add the derivatives of accelerations and joint loads with respect to the parameters."""
    found, names = _found(table, chosen)
    if found is None:
        return
    table.labels["body"] = [body.name for body in chosen.bodies]
    accelerations = found.accelerations[:, body_rows(chosen)]
    for name, first, units, frame in (
        ("acceleration", 0, "m/s^2", INERTIAL),
        ("angular_acceleration", 3, "rad/s^2", BODY),
    ):
        what = f"derivative of {name.replace('_', ' ')} by parameters"
        values = accelerations[:, :, first : first + 3]
        table.add(f"{name}_by", "time body axis parameter", values, what, _per(units), frame)
    name_joints(table, chosen)
    asked = [
        f"{constraint.name}.{what}.{axis}"
        for what, constraint, axis in itertools.product(("force", "torque"), chosen.constraints, "xyz")
    ]
    loads = np.array(found.quantities(asked)).reshape(2, len(chosen.constraints), 3, -1, len(names))
    for name, values, units in zip(("force", "torque"), loads, ("N", "N m"), strict=True):
        what = f"derivative of the {name} on body j at joint_point_j by parameters"
        values = np.moveaxis(values, 2, 0)
        table.add(f"joint_{name}_by", "time joint axis parameter", values, what, _per(units), INERTIAL)


def _found(table: VariableTable, chosen: Chosen) -> tuple[Sensitivities | None, list[str]]:
    """Return the sensitivities of a result, or None, and the names of the components of the parameters.

    These names are also added to the table.
    """
    found = chosen.result._sensitivities
    if found is None:
        return None, []
    table.labels["parameter"] = [name for parameter in found.all_parameters for name in _names(parameter)]
    return found, table.labels["parameter"]


def _names(parameter: Parameter) -> list[str]:
    """Return the names of the components of a parameter, such as "rod.mass" and "rod.velocity[2]"."""
    name = parameter.key if isinstance(parameter.key, str) else ".".join(parameter.key)
    if not parameter.shape:
        return [name]
    return [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(parameter.shape)]


def _per(units: str) -> str:
    return f"{units} per unit of the parameter"


def _event_times(results: Sensitivities) -> np.ndarray:
    """Return the derivatives of the event times with respect to the parameters, (number of events, D)."""
    times = [results[key].event_times for key in results]
    return np.concatenate([x.reshape(len(x), math.prod(x.shape[1:])) for x in times], axis=1)


def add_to_run(table: VariableTable, result: Result) -> None:
    """Add sensitivities that are needed to load a result from a file, but are not in exported tables."""
    found = result._sensitivities
    if found is not None:
        first = STATE_SIZE * len(result.system.bodies)
        values = np.moveaxis(found.states[..., first:], 1, -1)
        table.add("carried_by", "row number parameter", values, "derivatives of what is carried by parameters")
    if result._judged is not None:
        values = np.concatenate([result._judged[key].ravel() for key in result._judged])
        table.add("gradient", "parameter", values, "derivatives of the objective by parameters")


def sensitivity_data(result: Result) -> dict[str, Any]:
    """Return JSON data that describe the parameters of the sensitivities, and the objective."""
    data: dict[str, Any] = {}
    if result._sensitivities is not None:
        every = result._sensitivities.all_parameters
        data["parameters"] = [{"key": one.key, "shape": one.shape, "numbers": _numbers(one)} for one in every]
    if result._judged is not None:
        keys = [{"key": key, "shape": result._judged[key].shape} for key in result._judged]
        data["objective"] = {"value": result._judged.value, "parameters": keys}
    return data


def _numbers(parameter: Parameter) -> list[list[Any]]:
    """Return the values of bodies, constraints and forces that depend on a parameter, with their derivatives.

    Each entry is a list of kind, name, index and derivatives with respect to the components of the parameter.
    """
    return [[[*key, np.ravel(by).tolist()] for key, by in change.numbers.items()] for change in parameter.changes]


def add_to_result(result: Result, root: Any, run: Any, data: Mapping[str, Any], array: Any) -> None:
    """Add the sensitivities stored in a file to a result.

    Parameters
    ----------
    root, run : groups of the file
    data : the JSON data of `sensitivity_data`
    array : function that reads an array and checks its shape
    """
    if "parameters" in data:
        result._sensitivities = _sensitivities(result, root, run, data["parameters"], array)
    if "objective" in data:
        given = data["objective"]
        parameters = [Parameter(_key(one["key"]), tuple(one["shape"]), ()) for one in given["parameters"]]
        values = array(run, "gradient", (sum(parameter.size for parameter in parameters),))
        result._judged = Gradient(float(given["value"]), parameters, values)


def _sensitivities(result: Result, root: Any, run: Any, data: Any, array: Any) -> Sensitivities:
    system, nt, n = result.system, len(result.time), len(result.system.bodies)
    parameters = parameters_of(system, result.segments[0].state_at(0), [_key(one["key"]) for one in data])
    for one, given in zip(parameters, data, strict=True):
        if list(one.shape) != given["shape"] or not _same(_numbers(one), given["numbers"]):
            raise ValueError(f"{one.key} has another meaning in this system")
    D = sum(parameter.size for parameter in parameters)
    # Derivatives are not finite after a configuration at which they do not exist.
    states = [array(root, name, (nt, n, WIDTHS[dim], D), False) for name, dim, *_ in PARTS_OF_STATE]
    carried = array(run, "carried_by", (nt, system.model.auxiliary.size, D), False)
    flat = np.concatenate([np.concatenate(states, axis=2).reshape(nt, STATE_SIZE * n, D), carried], axis=1)
    ends = np.cumsum([len(segment.time) for segment in result.segments])
    found = np.split(np.moveaxis(flat, -1, 1), ends[:-1])
    later = array(root, "event_time_by", (len(result.events), D), False)
    return Sensitivities(result, parameters, found, later)


def _same(first: Any, second: Any) -> bool:
    """Whether two results of `_numbers` refer to the same values, with derivatives that are equal up to a tolerance."""
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        if [key[:3] for key in one] != [key[:3] for key in other]:
            return False
        for (*_, by), (*_, wanted) in zip(one, other, strict=True):
            size = np.abs(wanted).max(initial=0.0)
            if np.shape(by) != np.shape(wanted) or np.abs(np.subtract(by, wanted)).max(initial=0.0) > ALIKE * size:
                return False
    return True


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
