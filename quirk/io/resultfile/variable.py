"""Arrays with names, units and named dimensions, for tables, datasets and files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

AXES = {"axis": "xyz", "quaternion": "wxyz"}
# Frame names in the attributes of variables.
INERTIAL = "inertial frame N"
BODY = "axes of the body"
JOINT_I = "axes of joint frame i"


@dataclass(frozen=True)
class ResultVariable:
    """An array with its description.

    Attributes
    ----------
    name : str
    dims : names of its dimensions
    values : np.ndarray
    long_name : short description
    units : units, such as "m/s"; "1" for dimensionless numbers, and "" for strings and Boolean values
    frame : frame of its components, "" if not applicable
    units_of : units of the entries along its second dimension, if they differ
    partial : whether entries along its second dimension may be undefined at all times; tables omit these entries
    """

    name: str
    dims: tuple[str, ...]
    values: np.ndarray
    long_name: str
    units: str = ""
    frame: str = ""
    units_of: tuple[str, ...] = ()
    partial: bool = False

    @property
    def attributes(self) -> dict[str, str]:
        """Description, units and frame, as attributes of the array in files."""
        given = {"long_name": self.long_name, "units": self.units, "frame": self.frame}
        return {key: text for key, text in given.items() if text}


@dataclass
class VariableTable:
    """Variables of a result that share dimensions, such as time and body.

    Attributes
    ----------
    variables : variables by name
    labels : names of the entries along dimensions such as "body"
    described : additional variables that describe the entries along these dimensions, by name
    left_out : reason for the omission of each omitted group of variables
    """

    variables: dict[str, ResultVariable] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)
    described: dict[str, ResultVariable] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        name: str,
        dims: str,
        values: Any,
        long_name: str,
        units: str = "",
        frame: str = "",
        units_of: tuple[str, ...] = (),
        partial: bool = False,
    ) -> None:
        """Add a variable; `dims` are the names of its dimensions, separated by spaces."""
        found = ResultVariable(
            name, tuple(dims.split()), np.asarray(values), long_name, units, frame, units_of, partial
        )
        self.variables[name] = found
        for dim in found.dims:
            if dim in AXES:
                self.labels[dim] = list(AXES[dim])

    def describe(self, name: str, dim: str, texts: list[str], long_name: str) -> None:
        """Add a variable with one string for each entry along the dimension `dim`."""
        self.described[name] = ResultVariable(name, (dim,), text(texts), long_name)


def text(texts: list[str]) -> np.ndarray:
    """Return a list of strings as an array of strings, which may be empty."""
    return np.array(texts, dtype=str) if texts else np.empty(0, dtype="<U1")
