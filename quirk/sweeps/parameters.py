"""Parameters of the runs of a sweep, from a grid, a table or samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..util import validate

OWNER = "sweep"
FORMS = (
    "parameters must be a mapping of lists (all combinations), a table (a list of mappings, a pandas DataFrame or a "
    "structured array), or names with bounds together with samples="
)
# Tolerance for samples outside their bounds, relative to the range: round-off.
SLACK = 1e-9


def parameters_of_runs(parameters: Any, samples: Any = None) -> list[dict[str, Any]]:
    """Return the parameters of each run, by name.

    Parameters
    ----------
    parameters : mapping, table or problem
        A mapping of lists defines all combinations; the last parameter varies fastest. A table has one row for each
        run.
    samples : (runs, parameters), optional
        Samples for the parameters named in `parameters`: {name: (low, high)} for samples in the unit cube, from
        `scipy.stats.qmc`, or {"names": [...], "bounds": [...]} for samples within the bounds, from SALib.

    Raises
    ------
    InputError
        If the parameters have none of these forms.
    """
    if samples is None:
        samples = getattr(parameters, "samples", None)  # SALib's ProblemSpec has them
    if isinstance(parameters, Mapping) and samples is not None:
        rows = _sampled(parameters, samples)
    elif samples is not None:
        raise InputError(f"{OWNER}: with samples=, parameters must contain names and bounds; got {parameters!r}")
    elif isinstance(parameters, Mapping):
        rows = _grid(parameters)
    else:
        rows = _table(parameters)
    if not rows:
        raise InputError(f"{OWNER}: parameters must define at least one run; got {parameters!r}")
    return [{_checked_name(name): _plain(value) for name, value in row.items()} for row in rows]


def _grid(parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one dict of parameters for each combination of their values."""
    if {"names", "bounds"} <= set(parameters):
        raise InputError(f"{OWNER}: names and bounds need samples=, the samples of these parameters")
    for name, values in parameters.items():
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
            raise InputError(f'{OWNER}: parameter "{name}" must be a list of values, one or more; got {values!r}')
    combinations = itertools.product(*parameters.values())
    return [dict(zip(parameters, values, strict=True)) for values in combinations] if parameters else []


def _table(parameters: Any) -> list[dict[str, Any]]:
    """Return one dict of parameters for each row of a table: a list of mappings, a DataFrame or a structured array."""
    names = getattr(getattr(parameters, "dtype", None), "names", None)
    if names:
        return [dict(zip(names, row.item(), strict=True)) for row in np.ravel(parameters)]
    if hasattr(parameters, "to_dict") and hasattr(parameters, "columns"):
        return list(parameters.to_dict("records"))
    if isinstance(parameters, str) or not isinstance(parameters, Iterable):
        raise InputError(f"{OWNER}: {FORMS}; got {parameters!r}")
    rows = list(parameters)
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(f"{OWNER}: {FORMS}; row {k} is {row!r}")
        if set(row) != set(rows[0]):
            raise InputError(
                f"{OWNER}: all rows of parameters must have the same names; row 0 has {sorted(map(str, rows[0]))}, "
                f"row {k} {sorted(map(str, row))}"
            )
    return [dict(row) for row in rows]


def _sampled(parameters: Mapping[str, Any], samples: Any) -> list[dict[str, Any]]:
    """Return one dict of parameters for each row of samples (runs, parameters)."""
    problem = {"names", "bounds"} <= set(parameters)
    names = list(parameters["names"] if problem else parameters)
    given = validate.numbers(samples)
    if given is None or given.ndim != 2 or given.shape[1] != len(names):
        shape = "no array of numbers" if given is None else f"shape {given.shape}"
        raise InputError(f"{OWNER}: samples must have shape (runs, {len(names)}), for {names}; got {shape}")
    if not np.isfinite(given).all():
        raise InputError(f"{OWNER}: samples must be finite")
    if not (problem and parameters.get("dists")):  # otherwise the bounds are not limits of the samples
        bounds = parameters["bounds"] if problem else list(parameters.values())
        low, high = validate.array(OWNER, "bounds", bounds, (len(names), 2)).T
        first, last, kind = (low, high, "their bounds") if problem else (0.0, 1.0, "the unit cube")
        slack = SLACK * np.abs(np.subtract(last, first))
        if (given < first - slack).any() or (given > last + slack).any():
            other = "{name: (low, high)} is for those in the unit cube"
            other = other if problem else "names= and bounds= in a mapping is for those that are scaled already"
            raise InputError(f"{OWNER}: samples must lie within {kind}; {other}")
        if not problem:
            given = given * (high - low) + low
    return [dict(zip(names, row, strict=True)) for row in given.tolist()]


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise InputError(f"{OWNER}: names of parameters must be names of arguments of build; got {name!r}")
    return name


def _plain(value: Any) -> Any:
    """Return a numpy scalar as a Python number; return other values unchanged."""
    return value.item() if isinstance(value, np.generic) else value
