"""`quirk sweep`: simulation of a model for many sets of parameter values."""

from __future__ import annotations

import argparse
import functools
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..io.modelfile import ModelText, model_of
from ..io.resultfile import netcdf
from ..sweeps import sweep
from ..system.system import System
from ..util import validate
from .models import existing, run_options
from .parser import UsageError
from .values import values_of
from .variant import variant_of

# Options of `simulate` that apply to all runs of the sweep.
COMMON = ("duration", "start", "output")
# Maximum number of runs whose status is printed individually.
MOST_LISTED = 50


def command(options: argparse.Namespace) -> str:
    """Run a sweep and write its data set; return "completed", "failed" if a run failed, or "interrupted"."""
    path = existing(options.model)
    if path.suffix.lower() != ".toml":
        raise UsageError(f"{options.model} must be a model file whose name ends in .toml")
    text = path.read_text(encoding="utf-8")
    parameters = _parameters(options)
    rows = parameters if isinstance(parameters, list) else [{name: values[0] for name, values in parameters.items()}]
    # Errors of the model itself are reported once, before the computation.
    first = _model(text, options.model, rows[0])
    given = run_options(options, first.run)
    common = {name: given.pop(name) for name in COMMON if name in given}
    if "output" not in common:
        raise UsageError(f"{options.model} has no output in a section [run]: use --output SECONDS")
    overrides = {name: given[name] for name in given if getattr(options, name, None) is not None}
    target = None if options.out is None else validate.output_file("sweep", options.out, (".nc",))
    found = sweep(
        functools.partial(built, text, options.model, overrides),
        parameters,
        common.pop("duration"),
        quantities=options.quantities and options.quantities.split(","),
        workers=options.workers,
        client=options.client,
        **common,
    )
    _print(found)
    if target is not None:
        with netcdf.whole("sweep", target) as aside:
            found.to_netcdf(aside)
        print(f"wrote {target}")
    statuses = set(found.status.values.tolist())
    return "interrupted" if "not run" in statuses else "failed" if "failed" in statuses else "completed"


def built(text: str, file: str, overrides: Mapping[str, Any], **values: Any) -> tuple[System, dict[str, Any]]:
    """Return the system of one run of the sweep, and its options of `simulate`.

    Parameters
    ----------
    text : content of the model file
    file : name of the file, for error messages
    overrides : options of `simulate` from the command line
    values : parameter values of this run, by name
    """
    model = _model(text, file, values)
    return model.system, {name: x for name, x in {**model.run, **overrides}.items() if name not in COMMON}


def _model(text: str, file: str, values: Mapping[str, Any]) -> ModelText:
    """Return the model with the content `text` and replaced `values`.

    `file` is the name of the file, for error messages.
    """
    return model_of(variant_of(text, file, values), file)


def _parameters(options: argparse.Namespace) -> Any:
    """Return the parameters of a sweep from the command line and the parameter file.

    The result is a dict of lists, one for each parameter, or a list of dicts, one for each run.
    """
    found: dict[str, list[Any]] = {}
    for text in options.param:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise UsageError(f"--param must be NAME=VALUES, as in rod.mass=1:2:5; got {text!r}")
        found[name] = values_of(f"--param {name}", values)
    if options.params is not None:
        try:
            tables = tomllib.loads(existing(options.params).read_text(encoding="utf-8"))
        except ValueError as error:
            raise UsageError(f"{options.params} is not valid TOML: {error}") from None
        grid, rows = tables.get("parameters"), tables.get("run")
        if set(tables) == {"run"} and isinstance(rows, list) and not found:
            return [_flat(row) for row in rows]
        if set(tables) != {"parameters"} or not isinstance(grid, dict):
            raise UsageError(f"{options.params} must have a section [parameters], or sections [[run]] and no --param")
        for name, values in _flat(grid).items():
            found[name] = values_of(name, values) if isinstance(values, str) else values
    if not found:
        raise UsageError("no parameters: use --param NAME=VALUES or --params FILE")
    for name, values in found.items():
        if not isinstance(values, list) or not values:
            raise UsageError(f"{name} must have a list of values, or a text such as '1:2:5'; got {values!r}")
    return found


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the entries of nested tables as one dict with dotted names, such as "rod.mass".

    `prefix` is prepended to the names.
    """
    entries: dict[str, Any] = {}
    for name, value in table.items():
        entries |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return entries


def _print(data: Any) -> None:
    """Print the status of each run of the sweep `data`; for many runs, print their number by status and error."""
    names = [str(name) for name in data.coords if data[name].dims == ("run",) and name not in ("run", "error")]
    if data.sizes["run"] <= MOST_LISTED:
        rows = [names, *([f"{x:.6g}" if isinstance(x, float) else str(x) for x in row]
                         for row in zip(*(data[name].values.tolist() for name in names), strict=True))]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            print("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)))
    print(", ".join(f"{count} {status}" for status, count in Counter(data.status.values.tolist()).items()))
    for error, count in Counter(data.error.values.tolist()).items():
        if error:
            print(f"{count} x {error}")
