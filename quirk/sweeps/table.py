"""Data of one run of a sweep: arrays with named dimensions, by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..io.resultfile.table import table_of

if TYPE_CHECKING:
    from ..result.result import Result

# Supported numpy type codes: booleans, numbers and strings; file formats do not support other types.
KINDS = "biufcU"
# Default name of the return value of `reduce`.
VALUE = "value"

# Prefix of returned names that equal the name of a parameter or coordinate.
PREFIX = "result_"


@dataclass(frozen=True)
class SweepVariable:
    """An array with the names of its dimensions, and attributes such as the unit."""

    dims: tuple[str, ...]
    array: np.ndarray
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class SweepTable:
    """Variables of one run by name, and labels along their dimensions.

    Attributes
    ----------
    variables : variables by name
    labels : labels (k,) of dimensions of length k, such as names of bodies or times, by name of the dimension
    coordinates : names of the variables that are coordinates of a dimension
    """

    variables: dict[str, SweepVariable] = field(default_factory=dict)
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    coordinates: frozenset[str] = frozenset()

    def with_prefix(self, taken: Collection[str]) -> SweepTable:
        """Return the table with a prefix added to those names of variables and dimensions that are in `taken`."""

        def free(name: str) -> str:
            return PREFIX + name if name in taken else name

        variables = {
            free(name): SweepVariable(tuple(map(free, v.dims)), v.array, v.attributes)
            for name, v in self.variables.items()
        }
        labels = {free(dim): names for dim, names in self.labels.items()}
        return SweepTable(variables, labels, frozenset(map(free, self.coordinates)))


def of_result(result: Result, quantities: Any, times: np.ndarray) -> SweepTable:
    """Return the variables of `Result.to_xarray` at `times` (nt,), s, as far as the run has reached them."""
    found = table_of("sweep", result, quantities)
    rows, reached = rows_at(result.time, times)
    variables = {
        name: SweepVariable(variable.dims, variable.values[rows], variable.attributes)
        for name, variable in found.variables.items()
        if variable.dims[0] == "time" and name not in ("time", "segment")
    }
    used = {dim for variable in variables.values() for dim in variable.dims}
    labels = {dim: np.array(names) for dim, names in found.labels.items() if dim in used}
    return SweepTable(variables, {**labels, "time": reached})


def rows_at(time: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the k of the `times` (s) that a result contains, preceded by the indices of these outputs, (k,) each.

    `time` are the output times of the result, s. Of two outputs at an event the later one is used.
    """
    rows = np.searchsorted(time, times, side="right") - 1
    there = (rows >= 0) & (time[rows] == times)
    return rows[there], times[there]


def reduced_table(returned: Any, time: np.ndarray, times: np.ndarray | None) -> SweepTable:
    """Return the result of the user's function `reduce` as a table.

    `returned` is a number, an array, a dict of them, or a Dataset or DataArray. Arrays in a dict may have named
    dimensions, (dims, array), as in xarray. Along "time", only the rows at `times` are kept.
    """
    if hasattr(returned, "to_dataset") and hasattr(returned, "dims"):
        name = returned.name or VALUE
        returned = returned.rename(name).to_dataset()
    if hasattr(returned, "data_vars"):
        table = SweepTable(
            {str(name): SweepVariable(tuple(map(str, v.dims)), _array(name, v.values), dict(v.attrs))
             for name, v in returned.variables.items() if name not in returned.dims},
            {str(dim): returned[dim].values for dim in returned.dims if dim in returned.coords},
            frozenset(str(name) for name in returned.coords if name not in returned.dims),
        )  # fmt: skip
    else:
        given = returned if isinstance(returned, Mapping) else {VALUE: returned}
        table = SweepTable({_name(name): _variable(name, value) for name, value in given.items()})
    return _at_times(table, time, times)


def _at_times(table: SweepTable, time: np.ndarray, times: np.ndarray | None) -> SweepTable:
    """Return the table with only the common output times `times` along the dimension "time".

    `time` are the output times of the run, s.
    """
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
        name: SweepVariable(v.dims, np.take(v.array, rows, v.dims.index("time")), v.attributes)
        for name, v in along.items()
    }
    return SweepTable({**table.variables, **taken}, {**table.labels, "time": reached}, table.coordinates)


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError(f"sweep: names of what reduce returns must be text; got {name!r}")
    return name


def _variable(name: str, value: Any) -> SweepVariable:
    if isinstance(value, tuple) and len(value) == 2 and _is_dims(value[0]):
        dims = (value[0],) if isinstance(value[0], str) else tuple(value[0])
        array = _array(name, value[1])
        if len(dims) != array.ndim or len(set(dims)) < len(dims):
            raise InputError(f"sweep: reduce returned {name!r} with dimensions {dims} for shape {array.shape}")
        return SweepVariable(dims, array)
    array = _array(name, value)
    return SweepVariable(tuple(f"{name}_{k}" for k in range(array.ndim)), array)


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
        raise InputError(f"sweep: reduce returned {name!r}, which is not a number, text or array of these: {value!r}")
    return array
