"""Arrays by name with named dimensions: what is kept of one run, and put together from those of all runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from ..result import Result

# Truth values, numbers and text; all else has no place in a file.
KINDS = "biufcU"
# The name of what `reduce` returns without one.
VALUE = "value"

# Arrays of states: their last dimension, unit and frame.
STATES = {
    "position": ("axis", "m", "inertial"),
    "orientation": ("quaternion", "1", "body to inertial"),
    "velocity": ("axis", "m/s", "inertial"),
    "angular_velocity": ("axis", "rad/s", "body"),
}
LABELS = {"axis": np.array(["x", "y", "z"]), "quaternion": np.array(["w", "x", "y", "z"])}


@dataclass(frozen=True)
class Variable:
    """An array with the names of its dimensions, and what is said of it (units, frame)."""

    dims: tuple[str, ...]
    array: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Table:
    """Variables by name, and labels along their dimensions.

    Attributes
    ----------
    variables : by name
    labels : (n,) of each dimension that has them
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    labels: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def names(self) -> set[str]:
        """Names of variables, and of dimensions."""
        return {*self.variables, *(dim for variable in self.variables.values() for dim in variable.dims)} - {"time"}


def states_of(result: Result, times: np.ndarray) -> Table:
    """Return positions, orientations and velocities of all bodies at those of the times that a run has reached."""
    rows, reached = rows_at(result.time, times)
    variables = {
        name: Variable(("time", "body", last), getattr(result.state, name)[rows], {"units": unit, "frame": frame})
        for name, (last, unit, frame) in STATES.items()
    }
    bodies = np.array([body.name for body in result.system.bodies])
    return Table(variables, {"time": reached, "body": bodies, **LABELS})


def rows_at(time: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows (k,) of a result are those at given times, and those times; after an event, where it is one."""
    rows = np.searchsorted(time, times, side="right") - 1
    there = (rows >= 0) & (time[rows] == times)
    return rows[there], times[there]


def table_of(returned: Any, time: np.ndarray, times: np.ndarray | None) -> Table:
    """Return what a user's function has returned: a number or array, some by name, or a Dataset or DataArray.

    Arrays of a mapping may come with the names of their dimensions, (dims, array), as xarray has it. Along "time", rows
    are taken at the `times` that are asked for.
    """
    if hasattr(returned, "to_dataset") and hasattr(returned, "dims"):
        name = returned.name or VALUE
        returned = returned.rename(name).to_dataset()
    if hasattr(returned, "data_vars"):
        table = Table(
            {str(name): Variable(tuple(map(str, v.dims)), _array(name, v.values), dict(v.attrs))
             for name, v in returned.variables.items() if name not in returned.dims},
            {str(dim): returned[dim].values for dim in returned.dims if dim in returned.coords},
        )  # fmt: skip
    else:
        given = returned if isinstance(returned, Mapping) else {VALUE: returned}
        table = Table({_name(name): _variable(name, value) for name, value in given.items()})
    return _at_times(table, time, times)


def _at_times(table: Table, time: np.ndarray, times: np.ndarray | None) -> Table:
    """The same with rows along "time" where all runs have them."""
    along = {name: v for name, v in table.variables.items() if "time" in v.dims}
    if not along:
        return table
    lengths = {v.array.shape[v.dims.index("time")] for v in along.values()}
    if times is None:
        raise InputError("sweep: reduce returned arrays along 'time': give output=, the same times for all runs")
    if lengths != {len(time)}:
        raise InputError(f"sweep: reduce returned {max(lengths)} rows along 'time'; the result has {len(time)}")
    rows, reached = rows_at(time, times)
    taken = {
        name: Variable(v.dims, np.take(v.array, rows, v.dims.index("time")), v.attributes) for name, v in along.items()
    }
    return Table({**table.variables, **taken}, {**table.labels, "time": reached})


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"sweep: names of what reduce returns must be text; got {name!r}")
    return name


def _variable(name: str, value: Any) -> Variable:
    if isinstance(value, tuple) and len(value) == 2 and _is_dims(value[0]):
        dims = (value[0],) if isinstance(value[0], str) else tuple(value[0])
        array = _array(name, value[1])
        if len(dims) != array.ndim or len(set(dims)) < len(dims):
            raise InputError(f"sweep: reduce returned {name!r} with dimensions {dims} for shape {array.shape}")
        return Variable(dims, array)
    array = _array(name, value)
    return Variable(tuple(f"{name}_{k}" for k in range(array.ndim)), array)


def _is_dims(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, tuple | list) and bool(value) and all(isinstance(dim, str) for dim in value)
    )


def _array(name: Any, value: Any) -> np.ndarray:
    try:
        array = np.array(value)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in KINDS:
        raise InputError(f"sweep: reduce returned {name!r}, which is no number, text or array of these: {value!r}")
    return array
