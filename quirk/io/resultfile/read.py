"""Reading of results from netCDF files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from quirk.dynamics.contact.impulse import Impulse
from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.sparse.solver.derivatives import VelocityDerivatives
from quirk.errors import InputError, QuirkError
from quirk.events import Event
from quirk.integrators import Statistics
from quirk.result.event_log import EventRecord
from quirk.result.result import Result
from quirk.result.segment import Segment
from quirk.result.segment_records import LostPartError, directions_by_name, rebuilt
from quirk.simulation.prescribed.inverse_dynamics import InverseDynamicsResult
from quirk.simulation.prescribed.kinematics import KinematicResult
from quirk.system.comparison import difference_text, differences, likeness
from quirk.system.system import System

from .. import modelfile
from . import checksum
from .dataset import library
from .sensitivity_variables import add_to_result
from .write import FORMAT, GROUP

OWNER = "Result.load"
KINDS = {"simulation": Result, "kinematics": KinematicResult}
# Largest accepted deviation of the lengths of quaternions from 1; runs without projection do not keep the length.
UNIT = 0.1
WITHOUT = "; xarray.open_dataset opens it nevertheless"


def load(path: str | Path, system: System | None = None) -> Result:
    """Return the result written to a file by `save`; see `Result.load`."""
    place = _checked_path(path)
    xarray = library("xarray", OWNER)
    library("netCDF4", OWNER)
    try:
        root, run = (_opened(xarray, place, group) for group in (None, GROUP))
        details = json.loads(_text(run, "details"))
        if not isinstance(details, dict) or details.get("format") != FORMAT:
            raise InputError(
                f"{OWNER}: {str(path)!r} was written by another version of QuIRK ({_versions(details)}){WITHOUT}"
            )
        made, events = _system(path, run, details) if system is None else _given(system)
        _check(made, details)
        return _result(root, run, details, made, events)
    except LostPartError as error:
        raise InputError(f"{OWNER}: {str(path)!r} is of a run with {error}{WITHOUT}") from None
    except Exception as error:  # files may have any content
        if isinstance(error, QuirkError) and str(error).startswith(OWNER):
            raise
        raise InputError(
            f"{OWNER}: {str(path)!r} is not a result written by QuIRK ({type(error).__name__}: {error})"
        ) from None


def _checked_path(path: Any) -> Path:
    """Return the path of a result file after verification of its checksum."""
    if not isinstance(path, str | Path):
        raise InputError(f"{OWNER}: path must be the name of a file; got {path!r}")
    try:
        place = Path(path)
        found = checksum.trouble(place) if place.is_file() else "the file does not exist"
    except (OSError, ValueError) as error:
        found = f"it cannot be read: {getattr(error, 'strerror', None) or error}"
    if found is not None:
        raise InputError(f"{OWNER}: {str(path)!r}: {found}")
    return place


def _opened(xarray: Any, place: Path, group: str | None) -> Any:
    """Return one group of a netCDF file, read into memory; None is the root group.

    `xarray` is the library, and `place` the path of the file.
    """
    # xarray interprets relative paths as URLs or as folders of users.
    with xarray.open_dataset(place.absolute(), group=group, engine="netcdf4", decode_times=False) as found:
        # Data are not compressed, so that arrays larger than the file indicate damage.
        if found.nbytes > 64 * place.stat().st_size:
            raise ValueError(f"its arrays would take {found.nbytes} bytes")
        return found.load()


def _text(run: Any, name: str) -> str:
    return str(run[name].item())


def _versions(details: Any) -> str:
    versions = details.get("versions") if isinstance(details, dict) else None
    return ", ".join(f"{name} {number}" for name, number in versions.items()) if isinstance(versions, dict) else "?"


def _system(path: Any, run: Any, details: Mapping[str, Any]) -> tuple[System, dict[str, Event]]:
    """Return the system of a saved result and, by name, all events that may have replaced constraints or forces.

    The system is created from its description in the file; `run` and `details` are the group and the JSON data of the
    run.
    """
    text = _text(run, "model")
    if not text:
        raise InputError(
            f"{OWNER}: {str(path)!r} does not contain its system, which could not be written as text "
            f"({_text(run, 'missing')}): create it as in the script of the run, and pass it with system={WITHOUT}"
        )
    try:
        made = modelfile.system_of(text, "its model")
    except InputError as error:
        raise InputError(f"{OWNER}: the model in {str(path)!r} cannot be read: {error}") from None
    return _as_it_was(made, details), {event.name: event for event in made.events}


def _given(system: Any) -> tuple[System, dict[str, Event]]:
    """Return the system that the user has passed for reading a file, and its events by name."""
    if not isinstance(system, System):
        raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
    return system, {event.name: event for event in system.events}


def _as_it_was(system: System, details: Mapping[str, Any]) -> System:
    """Return the system with its constraints and forces enabled and disabled as when the result was saved.

    Events that belonged to single runs are removed. `details` are the JSON data of the result.
    """
    system = system.without(*details["run_events"])
    for name, on in details["switched_on"].items():
        if system.is_active(name) is not on:
            (system.enable if on else system.disable)(name)
    return system


def _check(system: System, details: Mapping[str, Any]) -> None:
    """Raise an InputError if a system differs from the system of the saved result.

    `details` are the JSON data of the result.
    """
    found = differences(details["likeness"], likeness(system))
    if found:
        raise InputError(f"{OWNER}: the system differs from that of the result: {difference_text(found)}")
    for name, on in details["switched_on"].items():
        if system.is_active(name) is not on:
            was, call = ("enabled", "enable") if on else ("disabled", "disable")
            raise InputError(
                f"{OWNER}: {system[name]} was {was} in the saved system, but is not in the given "
                f"system: call system.{call}({name!r})"
            )


def _result(root: Any, run: Any, details: Mapping[str, Any], system: System, events: Mapping[str, Any]) -> Result:
    segments = _segments(root, run, details, system, list(events.values()))
    statistics = _statistics(details["statistics"])
    kind, happened = KINDS[details["kind"]], _events(root)
    options = [_options(given, events) for given in details["options"]]
    made: Result
    # Files of earlier versions do not name actuators.
    if actuators := details.get("actuators", []):
        efforts = _array(run, "effort", (None, len(actuators)))
        effort = {str(name): values.copy() for name, values in zip(actuators, efforts.T, strict=True)}
        made = InverseDynamicsResult(system, segments, statistics, str(details["status"]), effort)
    else:
        made = kind(system, segments, statistics, str(details["status"]), happened, options)
    if isinstance(made, KinematicResult):
        _add_derivatives(made, run)
    add_to_result(made, root, run, details, _array)
    return made


def _options(arguments: Mapping[str, Any], events: Mapping[str, Any]) -> dict[str, Any]:
    """Return the saved arguments of a run, with names of events replaced by the events.

    `events` are the events by name.
    """
    return {**arguments, "events": [events.get(name, name) for name in arguments.get("events", ())]}


def _segments(root: Any, run: Any, details: Mapping[str, Any], system: System, events: Any) -> list[Segment]:
    carried, joints = system.model.auxiliary, system.model.joints
    n, K = len(system.bodies), len(joints.ends)
    time = _array(root, "time", (None,))
    nt = len(time)
    counts = _array(run, "count", (None,)).astype(np.int64)
    if nt == 0 or counts.sum() != nt or (counts < 1).any() or (np.diff(time) < 0).any():
        raise ValueError("its times are invalid")
    finite = details["status"] != "failed"
    parts = [
        _array(root, name, (nt, n, width), finite)
        for name, width in (("position", 3), ("orientation", 4), ("velocity", 3), ("angular_velocity", 3))
    ]
    if (np.abs(np.linalg.norm(parts[1], axis=2) - 1) > UNIT).any():
        raise ValueError("its orientations are not unit quaternions")
    flat = np.concatenate(
        [np.concatenate(parts, axis=2).reshape(nt, -1), _array(run, "carried", (nt, carried.size), finite)], axis=1
    )
    quadrants = _array(run, "quadrants", (nt, K, 2)).astype(np.int32)
    whole = _array(run, "whole", (len(counts), K, 3))
    ranks = _array(run, "rank", (len(counts),)).astype(np.int64)
    which = _array(run, "configuration", (len(counts),)).astype(np.int64)
    rebuild = [rebuilt(one, system, events) for one in details["configurations"]]
    plants = [system.plant_for(configuration) for configuration, _ in rebuild]
    ends = np.cumsum(counts)
    # Files of earlier versions do not contain these.
    changed = details.get("changed", [()] * len(counts))
    last_slip = details.get("last_slip", [{}] * len(counts))
    segments = [
        Segment(
            plants[which[k]],
            time[ends[k] - counts[k] : ends[k]],
            flat[ends[k] - counts[k] : ends[k]],
            Turns(joints, quadrants[ends[k] - counts[k] : ends[k]], whole[k]),
            int(ranks[k]),
            rebuild[which[k]][1],
            tuple(map(str, changed[k])),
        )
        for k in range(len(counts))
    ]
    for segment, directions in zip(segments, last_slip, strict=True):
        segment.last_slip = directions_by_name(directions)
    return segments


def _array(data: Any, name: str, shape: tuple[int | None, ...], finite: bool = True) -> np.ndarray:
    """Return an array of numbers from a file, after a check that it has the given shape.

    None in `shape` stands for any size. `data` is the group of the file that contains the array `name`. If `finite` is
    True, all values must be finite.
    """
    found = np.asarray(data[name].values)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"{name} does not contain numbers")
    if found.ndim != len(shape) or any(a not in (None, b) for a, b in zip(shape, found.shape, strict=True)):
        raise ValueError(f"{name} has shape {found.shape}instead of {shape}")
    if finite and not np.isfinite(found).all():
        raise ValueError(f"{name} is not finite")
    return found


def _statistics(entries: Mapping[str, Any]) -> Statistics:
    statistics = Statistics()
    for part in fields(Statistics):
        if part.name not in ("in_python", "methods"):
            setattr(statistics, part.name, type(getattr(statistics, part.name))(entries[part.name]))
    statistics.in_python = {
        str(name): (int(calls), float(spent)) for name, (calls, spent) in entries["in_python"].items()
    }
    # Files of earlier versions do not contain it.
    statistics.methods = [(float(t), str(name)) for t, name in entries.get("methods", [])]
    return statistics


def _events(root: Any) -> list[EventRecord]:
    names = [str(name) for name in root["event_name"].values]
    count, struck = len(names), root["impulse_event"].values
    impulse: list[dict[str, Impulse]] = [{} for _ in names]
    force, torque = (_array(root, f"impulse_{part}", (len(struck), 3)) for part in ("force", "torque"))
    for k, (number, name) in enumerate(zip(struck, root["impulse_joint"].values, strict=True)):
        if not 0 <= number < count:
            raise ValueError("an impulse belongs to no event")
        impulse[int(number)][str(name)] = Impulse(force[k], torque[k])
    time, direction, before, after = (
        _array(root, f"event_{name}", (count,)) for name in ("time", "direction", "energy_before", "energy_after")
    )
    if not np.isin(direction, (-1, 0, 1)).all():
        raise ValueError("an event has an invalid direction")
    # Files of earlier versions do not contain it.
    known = "event_restitution_kept" in root
    kept = _array(root, "event_restitution_kept", (count,)) if known else np.ones(count)
    rows = zip(time, direction, before, after, kept, strict=True)
    return [
        EventRecord(float(t), names[k], int(way), float(energy), float(left), impulse[k], float(part))
        for k, (t, way, energy, left, part) in enumerate(rows)
    ]


def _add_derivatives(result: Result, run: Any) -> None:
    """Add the derivatives of the accelerations computed by a kinematic analysis to the segments of its result.

    `run` is the group of the file that contains them.
    """
    n, nt = len(result.system.bodies), len(result.time)
    both = [_array(run, f"{name}_derivatives", (nt, None, n, 3)) for name in ("linear", "angular")]
    first = 0
    for segment in result.segments:
        rows = slice(first, first + len(segment.time))
        quadrants = segment.turns.quadrants.reshape(len(segment.time), -1)
        segment.derivatives = VelocityDerivatives(segment.flat, quadrants, both[0][rows], both[1][rows], 0, 0, 0)
        first = rows.stop
