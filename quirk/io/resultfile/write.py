"""Writing of results as netCDF files from which the results can be loaded."""

from __future__ import annotations

import json
import platform
import warnings
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.constraints import Constraint
from quirk.errors import InputError, SaveWarning, outside
from quirk.forces import ForceElement
from quirk.result.concatenation import run_events
from quirk.result.resampling import ResampledResult
from quirk.result.segment_records import described, lost_parts, used_events
from quirk.simulation.prescribed.inverse_dynamics import InverseDynamicsResult
from quirk.simulation.prescribed.kinematics import KinematicResult
from quirk.system.comparison import likeness
from quirk.util import validate

from .. import modelfile
from . import checksum, netcdf
from .dataset import attributes_of, dataset_of, library
from .selection import check_names
from .sensitivity_variables import add_to_run, sensitivity_data
from .table import table_of
from .variable import VariableTable

if TYPE_CHECKING:
    from quirk.result.result import Result

FORMAT = 1
GROUP = "run"
LIBRARIES = ("quirk-dynamics", "numpy", "scipy", "numba", "llvmlite", "xarray", "netCDF4")
# Maximum length of list-valued options, such as output times, that are stored; of longer lists only the length is
# stored.
MOST_LISTED = 1000
# Groups of variables without which a result cannot be reconstructed.
NEEDED = ("motion", "events")


def save(result: Result, path: str | Path, quantities: Any = None) -> Path:
    """Write a result as a netCDF file; see `Result.save`."""
    owner = "Result.save"
    if isinstance(result, ResampledResult):
        raise InputError(f"{owner}: this is a run at selected times: save the run, or use at(...).to_xarray()")
    for name in ("xarray", "netCDF4"):
        library(name, owner)
    target = validate.output_file(owner, path, (".nc",))
    check_names(owner, result)
    asked = [quantities] if isinstance(quantities, str) else quantities
    needed = NEEDED if result._sensitivities is None else (*NEEDED, "sensitivities")
    table = table_of(owner, result, None if asked is None else [*needed, *asked])
    data = _json_data(result)
    text, trouble = _model(result, data)
    with netcdf.whole(owner, target) as aside:
        dataset_of(table, attributes_of(result)).to_netcdf(aside, engine="netcdf4")
        run = dataset_of(_of_run(result, data, text, trouble), {})
        run.to_netcdf(aside, engine="netcdf4", group=GROUP, mode="a")
        checksum.append(aside)
    _warn_of(target, trouble, lost_parts(data["configurations"]))
    return target


def _of_run(result: Result, data: dict[str, Any], text: str, failure: str) -> VariableTable:
    """Return the variables required to load a result, in addition to the states of its bodies.

    Parameters
    ----------
    result : Result
    data : JSON data of the result
    text : description of the system
    failure : the reason if the system could not be described
    """
    table, segments, model = VariableTable(), result.segments, result._model
    numbers = np.concatenate([model.auxiliary.numbers(segment.flat) for segment in segments])
    table.add("carried", "row number", numbers, "internal variables of forces, and work in J, beside the motion")
    quadrants = np.concatenate([segment.turns.quadrants for segment in segments]).astype(np.int32)
    table.add("quadrants", "row counted half", quadrants, "quarter turns that pairs of joint frames have made")
    whole = np.stack([segment.turns.whole for segment in segments])
    table.add("whole", "segment counted angle", whole, "whole turns that joints had made before", "rad")
    for name, of, what in (
        ("count", [len(segment.time) for segment in segments], "number of times"),
        ("rank", [segment.rank for segment in segments], "number of independent rows"),
        ("configuration", data.pop("configuration_of"), "number of what is active, in details"),
    ):
        table.add(name, "segment", np.array(of, dtype=np.int64), f"{what} of each segment")
    if isinstance(result, KinematicResult):
        parts = [segment.derivatives for segment in segments]
        for name in ("linear", "angular"):
            values = np.concatenate([getattr(part, name) for part in parts])
            table.add(
                f"{name}_derivatives", "row order body axis", values, f"{name} accelerations and their derivatives"
            )
    if isinstance(result, InverseDynamicsResult):
        table.add("effort", "row actuator", np.stack([*result.effort.values()], axis=1), "what each actuator exerts")
    add_to_run(table, result)
    table.add("details", "", np.array(json.dumps(data)), "versions, options, statistics and what is active, as JSON")
    table.add("model", "", np.array(text), "the system as a model file, or nothing where it could not be written")
    table.add("missing", "", np.array(failure), "why the system could not be written as a model file")
    return table


def _warn_of(target: Path, failure: str, missing_parts: list[str]) -> None:
    """Warn if the system, or constraints and forces of it, are missing in the file `target`.

    `failure` is the reason if the whole system is missing; `missing_parts` are the constraints and forces created by
    functions of events, which cannot be saved.
    """
    said = []
    if failure:
        said.append(
            f"{failure}\n  Result.load then requires the system from your script: Result.load(path, system=system)"
        )
    if missing_parts:
        said.append(
            f"parts that no action of an event of the run puts in cannot be written: {', '.join(missing_parts)}; "
            "Result.load will reject the file. Replace parts by actions of events instead of functions; if the initial "
            "state has them, add the events of the earlier run to the system"
        )
    if said:
        line = "\n".join(said)
        warnings.warn(
            f"Result.save: {target.name} contains the numbers of the run, which xarray can open, but not the complete "
            f"system: {line}", SaveWarning, stacklevel=outside(),
        )  # fmt: skip


def _json_data(result: Result) -> dict[str, Any]:
    """Return the data of a result that are stored in JSON format."""
    system, events = result.system, run_events(result)
    plants: dict[Any, int] = {}
    descriptions: list[dict[str, Any]] = []
    numbers: list[int] = []
    for segment in result.segments:
        key = id(segment.plant), repr(segment.switched), tuple((n, id(part)) for n, part in segment.replaced.items())
        if key not in plants:
            plants[key] = len(descriptions)
            descriptions.append(described(segment, system, events))
        numbers.append(plants[key])
    own = {event.name for event in system.events}
    return {
        "format": FORMAT,
        "kind": "kinematics" if isinstance(result, KinematicResult) else "simulation",
        "versions": versions(),
        "actuators": [*result.effort] if isinstance(result, InverseDynamicsResult) else [],
        "status": result.status,
        "statistics": asdict(result.statistics),
        "options": [{key: _plain(value) for key, value in given.items()} for given in result.options],
        "configurations": descriptions,
        "configuration_of": numbers,
        "changed": [list(segment.changed) for segment in result.segments],
        "last_slip": [segment.last_slip for segment in result.segments],
        "switched_on": {
            part.name: system.is_active(part.name) for part in system if isinstance(part, Constraint | ForceElement)
        },
        "run_events": sorted(used_events(descriptions) - own),
        "likeness": likeness(system),
        **sensitivity_data(result),
    }


def versions() -> dict[str, str]:
    """Return the versions of QuIRK and of the libraries used by it, by name."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _model(result: Result, data: dict[str, Any]) -> tuple[str, str]:
    """Return a description of the system, and ""; if the system cannot be described, return "" and an error message.

    The description includes events of the run that have replaced constraints or forces. `data` is the JSON data of the
    result.
    """
    events = {event.name: event for event in run_events(result)}
    system = result.system
    if data["run_events"]:
        system = system.with_parts(*(events[name] for name in data["run_events"]))
    try:
        return modelfile.text_of(system), ""
    except InputError as error:
        return "", f"{error}"


def _plain(value: Any) -> Any:
    """Return an option of a run as JSON data; for long lists, only their length."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value] if len(value) <= MOST_LISTED else f"{len(value)} numbers"
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return getattr(value, "name", f"{value}")
