"""Table of selected variables of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.errors import InputError

from . import part_variables as of_parts
from . import sensitivity_variables as of_sensitivities
from . import system_variables as of_wholes
from .selection import GROUPS, Chosen
from .variable import VariableTable

if TYPE_CHECKING:
    from quirk.result.result import Result

ADDED_BY = {
    name: next(getattr(module, name) for module in (of_parts, of_wholes, of_sensitivities) if hasattr(module, name))
    for name in GROUPS
}


def table_of(
    owner: str, result: Result, quantities: Any = None, only: Any = None, frame: str = "inertial"
) -> VariableTable:
    """Return a table of variables of a result; for the arguments see `Chosen.of`."""
    chosen = Chosen.of(owner, result, quantities, only, frame)
    if quantities is not None and {"sensitivities", "load_sensitivities"} & set(chosen.groups):
        result.sensitivity  # noqa: B018  raises InputError if there are none
    table = VariableTable()
    counts = [len(segment.time) for segment in result.segments]
    table.add("time", "time", result.time, "time; twice where something jumps, before and after it", "s")
    numbers = np.repeat(np.arange(len(counts)), counts)
    table.add("segment", "time", numbers, "number of the segment, along which the same parts are active, from 0", "1")
    for group in chosen.groups:
        try:
            ADDED_BY[group](table, chosen)
        except InputError as error:
            # After a failed run, a force may be undefined in the last state.
            if result.status != "failed" or quantities is not None:
                raise
            table.left_out[group] = f"{error}"
    return table
