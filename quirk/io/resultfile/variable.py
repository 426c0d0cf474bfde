"""Named arrays with units, of which tables, data sets and files are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

AXES = {"axis": "xyz", "quaternion": "wxyz"}
# What frames are called in the attributes of variables.
INERTIAL = "inertial frame N"
BODY = "axes of the body"
JOINT_I = "axes of joint frame i"


@dataclass(frozen=True)
class ResultVariable:
    """An array with what is needed to understand it.

    Attributes
    ----------
    name : str
    dims : names of its dimensions
    values : np.ndarray
    long_name : what it is, in a few words
    units : as "m/s"; "1" without any, and "" of text and truth values
    frame : whose axes its components are along, "" where that means nothing
    units_of : of each place along its second dimension, where these differ
    partial : whether places along its second dimension may have no number at any time; tables leave these out
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
        """What is written beside the array."""
        given = {"long_name": self.long_name, "units": self.units, "frame": self.frame}
        return {key: text for key, text in given.items() if text}


@dataclass
class VariableTable:
    """Variables that share dimensions.

    Attributes
    ----------
    variables : by name
    labels : of dimensions that have names, such as "body", one text for each place along it
    described : further variables along these dimensions that say more about a place, by name
    left_out : why groups of variables are not there, by their names
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
        """Add a variable; `dims` are separated by spaces."""
        found = ResultVariable(
            name, tuple(dims.split()), np.asarray(values), long_name, units, frame, units_of, partial
        )
        self.variables[name] = found
        for dim in found.dims:
            if dim in AXES:
                self.labels[dim] = list(AXES[dim])

    def describe(self, name: str, dim: str, texts: list[str], long_name: str) -> None:
        """Add a text for each place along a dimension."""
        self.described[name] = ResultVariable(name, (dim,), text(texts), long_name)


def text(texts: list[str]) -> np.ndarray:
    """Return an array of text, of which an empty one is such, too."""
    return np.array(texts, dtype=str) if texts else np.empty(0, dtype="<U1")
