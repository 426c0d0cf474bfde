"""The xarray Dataset of all runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .run import Outcome
from .table import SweepTable, SweepVariable

if TYPE_CHECKING:
    import xarray

NOT_RUN = "not run"
RUN = "run"


def dataset(
    parameters: Sequence[Mapping[str, Any]],
    results: Sequence[Outcome | None],
    times: np.ndarray | None,
    run_variables: Mapping[str, Any],
    attributes: Mapping[str, Any],
) -> xarray.Dataset:
    """Return the xarray Dataset of all runs, in their order.

    Missing values of a run along a dimension, such as times after an early end or bodies of other runs, are NaN.

    Parameters
    ----------
    parameters : parameters of each run
    results : outcome of each run, None if it was not computed
    times : common output times (nt,), s, or None
    run_variables : additional coordinates along the dimension of runs, by name
    attributes : attributes of the Dataset
    """
    import xarray

    outcomes = [Outcome(k, NOT_RUN) if one is None else one for k, one in enumerate(results)]
    kinds: dict[str, SweepVariable] = {}
    for one in outcomes:
        _refuse_other_kinds(one, kinds)
    labels = _labels([outcome.table for outcome in outcomes], times)
    variables = {name: _stacked(name, kind, outcomes, labels) for name, kind in kinds.items()}
    described = frozenset().union(*(outcome.table.coordinates for outcome in outcomes)) & set(kinds)
    coordinates = {
        **{name: _common(name, variables.pop(name), outcomes) for name in described},
        **{name: (RUN, _coordinate([row[name] for row in parameters])) for name in parameters[0]},
        **{name: (RUN, values) for name, values in run_variables.items()},
        "status": (RUN, np.array([outcome.status for outcome in outcomes])),
        "error": (RUN, np.array([outcome.error for outcome in outcomes])),
        RUN: np.arange(len(outcomes)),
        **labels,
    }
    made = xarray.Dataset(variables, coordinates, dict(attributes))
    if "time" in made.coords:
        made["time"].attrs["units"] = "s"
    return made


def _refuse_other_kinds(outcome: Outcome, kinds: dict[str, SweepVariable]) -> None:
    """Mark a run as failed if one of its variables differs in dimensions or type from that of earlier runs.

    Otherwise add its variables to `kinds`, the variables of earlier runs by name.
    """
    for name, variable in outcome.table.variables.items():
        first = kinds.get(name, variable)
        text = [v.array.dtype.kind == "U" for v in (first, variable)]
        if first.dims != variable.dims or text[0] != text[1]:
            outcome.status, outcome.table = "failed", SweepTable()
            outcome.error = (
                f"sweep: reduce returned {name!r} with dimensions {variable.dims} and type {variable.array.dtype}, in "
                f"earlier runs with {first.dims} and {first.array.dtype}"
            )
            return
    for name, variable in outcome.table.variables.items():
        kinds.setdefault(name, variable)


def _labels(tables: Sequence[SweepTable], times: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return, for each dimension, the labels (such as names of bodies) that occur in any run, in order of occurrence.

    `tables` are the data of the runs. Times are sorted; `times` are the common output times, s, or None.
    """
    sets: dict[str, list[np.ndarray]] = {}
    for table in tables:
        for dim, own in table.labels.items():
            known = sets.setdefault(dim, [])
            if not any(own is other or np.array_equal(own, other) for other in known):
                known.append(own)
    labels = {dim: np.array(list(dict.fromkeys(np.concatenate(known).tolist()))) for dim, known in sets.items()}
    if "time" in labels and times is not None:
        labels["time"] = times
    return labels


def _stacked(name: str, kind: SweepVariable, outcomes: Sequence[Outcome], labels: Mapping[str, np.ndarray]) -> Any:
    """Return one variable of all runs as an array whose first dimension is the run.

    `kind` has the dimensions and attributes of the variable, `labels` all labels of each dimension.
    """
    rows = {k: one.table for k, one in enumerate(outcomes) if name in one.table.variables}
    arrays = {k: table.variables[name].array for k, table in rows.items()}
    free = [max(array.shape[axis] for array in arrays.values()) for axis in range(len(kind.dims))]
    sizes = tuple(len(labels[dim]) if dim in labels else most for dim, most in zip(kind.dims, free, strict=True))
    whole = len(rows) == len(outcomes) and all(array.shape == sizes for array in arrays.values())
    dtype = np.result_type(*(array.dtype for array in arrays.values()))
    if not whole and dtype.kind in "biu":
        dtype = np.result_type(float)  # these types cannot represent missing values
    stacked = np.full((len(outcomes), *sizes), "" if dtype.kind == "U" else np.nan if dtype.kind in "fc" else 0, dtype)
    places = {dim: {label: k for k, label in enumerate(all_of.tolist())} for dim, all_of in labels.items()}
    for k, table in rows.items():
        where = [
            _label_indices(table.labels[dim], labels[dim], places[dim]) if dim in table.labels else np.arange(size)
            for dim, size in zip(kind.dims, arrays[k].shape, strict=True)
        ]
        block: Any = (k, *np.ix_(*where))
        stacked[block] = arrays[k]
    return ((RUN, *kind.dims), stacked, dict(kind.attributes))


def _common(name: str, variable: Any, outcomes: Sequence[Outcome]) -> Any:
    """Return a coordinate without the dimension of runs if all runs that contain it have equal values.

    Otherwise `variable` is returned as it is. `name` is the name of the coordinate.
    """
    dims, stacked, attributes = variable
    of_runs = [stacked[k] for k, one in enumerate(outcomes) if name in one.table.variables]
    same = all(np.array_equal(own, of_runs[0]) for own in of_runs)
    return (dims[1:], of_runs[0], attributes) if same else variable


def _label_indices(labels: np.ndarray, all_labels: np.ndarray, places: Mapping[Any, int]) -> np.ndarray:
    """Return the indices of the `labels` of one run among the labels of all runs.

    `places` maps each label to its index.
    """
    if labels is all_labels or np.array_equal(labels, all_labels[: len(labels)]):
        return np.arange(len(labels))
    return np.array([places[label] for label in labels.tolist()], dtype=int)


def _coordinate(values: Sequence[Any]) -> np.ndarray:
    """Return the values of a parameter in all runs as an array (runs,).

    Values other than numbers, booleans and strings are converted to strings.
    """
    for kinds in (bool, int, float, complex, str):
        if all(isinstance(value, kinds) or (kinds is float and type(value) is int) for value in values):
            array = np.array(values)
            if array.dtype.kind != "O":  # integers may be too large
                return array
    return np.array([value if isinstance(value, str) else repr(value) for value in values])
