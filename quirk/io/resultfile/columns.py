"""Results as tables with one column for each component of a variable; column names contain the units."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.errors import InputError
from quirk.util import output, validate

from .dataset import library
from .selection import check_names
from .table import table_of
from .variable import AXES, ResultVariable, VariableTable

if TYPE_CHECKING:
    from quirk.result.result import Result

# Dimensions whose entries have names, and the prefix of variables along them.
PARTS = {
    "body": "",
    "joint": "joint_",
    "driver": "driver_",
    "force": "force_",
    "force_end": "force_end_",
    "force_coordinate": "force_coordinate_",
    "internal": "internal_",
    "source": "",
}

# First characters of cells that spreadsheets interpret as formulas, including characters that spreadsheets skip.
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_pandas(result: Result, quantities: Any = None, only: Any = None, frame: str = "inertial") -> Any:
    """Return a result as a `pandas.DataFrame`; see `Result.to_pandas`."""
    pandas = library("pandas", "Result.to_pandas")
    table = table_of("Result.to_pandas", result, quantities, only, frame)
    found = _by_name("Result.to_pandas", _components(table))
    made = pandas.DataFrame(found, index=pandas.Index(found.pop("time [s]"), name="time [s]"))
    made.attrs = {f"left_out_{group}": why for group, why in table.left_out.items()}
    return made


def to_csv(result: Result, path: str | Path, quantities: Any = None, only: Any = None, frame: str = "inertial") -> Path:
    """Write the table of `to_pandas` as a CSV file; see `Result.to_csv`."""
    target = validate.output_file("Result.to_csv", path, (".csv",))
    check_names("Result.to_csv", result)
    table = to_pandas(result, quantities, only, frame).rename(columns=_as_text)
    with output.atomic_output("Result.to_csv", target) as aside:
        # The csv module does not quote a lone carriage return, which other programs read as the end of a line.
        split = any("\r" in name for name in table.columns)
        table.to_csv(aside, quoting=csv.QUOTE_NONNUMERIC if split else csv.QUOTE_MINIMAL)
    return target


def _as_text(name: str) -> str:
    """Return a column name that is not interpreted as a formula by spreadsheets."""
    return f"'{name}" if name.startswith(FORMULAS) else name


def to_npz(result: Result, path: str | Path, quantities: Any = None, only: Any = None, frame: str = "inertial") -> Path:
    """Write a result as an NPZ file; see `Result.to_npz`."""
    target = validate.output_file("Result.to_npz", path, (".npz",))
    check_names("Result.to_npz", result)
    table = table_of("Result.to_npz", result, quantities, only, frame)
    parts = ((name + behind, values) for name, behind, values in _parts(table, table.variables.values()))
    arrays = _by_name("Result.to_npz", parts)
    with output.atomic_output("Result.to_npz", target) as aside:
        np.savez(aside, **arrays)  # type: ignore[arg-type]
    return target


def _parts(table: VariableTable, variables: Iterable[ResultVariable]) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield the values of variables separately for each body, joint or other entry that has a name.

    Each item consists of the name, a suffix with the unit (and the parameter, for sensitivities), and an array whose
    first dimension is the time or the event.
    """
    for given in variables:
        for variable, by in _one_by_one(table, given):
            named = [(k, dim) for k, dim in enumerate(variable.dims) if dim in PARTS]
            if not named:
                yield variable.name, f"{by}{_bracket(variable.units)}", variable.values
                continue
            ((axis, dim),) = named
            short = variable.name.removeprefix(PARTS[dim])
            for number, label in enumerate(table.labels[dim]):
                units = variable.units_of[number] if variable.units_of else variable.units
                values = np.take(variable.values, number, axis=axis)
                if not (variable.partial and np.isnan(values).all()):
                    yield f"{label}.{short}", f"{by}{_bracket(units)}", values


def _one_by_one(table: VariableTable, variable: ResultVariable) -> Iterator[tuple[ResultVariable, str]]:
    """Yield a variable with an empty suffix or, for sensitivities, a variable for each component of the parameters.

    The suffix for a component is " by " and the name of the component.
    """
    if variable.dims[-1] != "parameter":
        yield variable, ""
        return
    for number, name in enumerate(table.labels["parameter"]):
        values, short = variable.values[..., number], variable.name.removesuffix("_by")
        yield replace(variable, name=short, dims=variable.dims[:-1], values=values), f" by {name}"


def _bracket(units: str) -> str:
    return f" [{units}]" if units else ""


def _components(table: VariableTable) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name with unit, and the values (nt,), of each component of the variables over time."""
    for variable in table.variables.values():
        if variable.dims[0] != "time":
            continue
        letters = next((table.labels[dim] for dim in variable.dims if dim in AXES), [])
        for name, behind, values in _parts(table, [variable]):
            if not letters:
                yield name + behind, values
            for k, letter in enumerate(letters):
                yield f"{name}.{letter}{behind}", values[:, k]


def _by_name(owner: str, columns: Iterator[tuple[str, np.ndarray]]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, values in columns:
        if name in found:
            raise InputError(f'{owner}: two columns would be named "{name}": rename a part, or select parts with only=')
        found[name] = values
    return found
