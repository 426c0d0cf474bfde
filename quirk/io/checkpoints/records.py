"""Conversion of segments, events and restart points to JSON data for the journal of a checkpoint, and back."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from quirk.dynamics.contact.impulse import Impulse
from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.sparse.stepping.method_switching import MethodCosts
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.dynamics.sparse.stepping.watched_quantities import Side
from quirk.errors import InputError
from quirk.events import Event
from quirk.integrators import Statistics
from quirk.result.event_log import EventRecord
from quirk.result.segment import Segment
from quirk.result.segment_records import (
    described,
    described_configuration,
    directions_by_name,
    lost_parts,
    rebuilt,
    rebuilt_configuration,
)
from quirk.simulation.hybrid.restart_points import RestartPoint
from quirk.system.system import System

from .rows import DamagedRowsError, Location, rows_at


def place_of(point: Mapping[str, Any] | None) -> str:
    """Return the digest of a restart point, given as JSON data; None stands for the start of the run.

    A run continues identically from equal restart points. Any record that begins with this digest can therefore follow.
    """
    text = json.dumps(point, allow_nan=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def of_segment(segment: Segment, location: Location, system: System, events: Sequence[Event]) -> dict[str, Any]:
    """Return a segment as JSON data for the journal.

    `location` is the location of the segment's states on disk; `system` and `events` are the system and events of the
    run.
    """
    description = described(segment, system, events)
    for title in lost_parts([description]):
        raise InputError(
            f"simulate: checkpoint: {title} is not a part of the system, and no action of an event of this run puts it "
            "in, so that it cannot be written: replace parts by actions of events instead of functions; if the initial "
            "state has it, add the event of the earlier run to the system"
        )
    whole = segment.turns.whole.tolist()
    return {
        "rows": list(location), "whole": whole, "rank": int(segment.rank), "parts": description,
        "changed": list(segment.changed), "last_slip": segment.last_slip,
    }  # fmt: skip


def segments_of(
    record: Mapping[str, Any], folder: Path, system: System, events: Sequence[Event], earliest: float
) -> list[Segment]:
    """Return the segments described by a record; the states are read from the files in `folder`.

    Raises
    ------
    DamagedRowsError
        If states are damaged, or times are before `earliest` (s).
    """
    segments = []
    for table in record["segments"]:
        rows = rows_at(folder, Location(*table["rows"]))
        if len(rows.time) and not rows.time[0] >= earliest:
            raise DamagedRowsError(f"rows-{table['rows'][0]}.time has times that decrease")
        earliest = float(rows.time[-1])
        configuration, changes = rebuilt(table["parts"], system, events)
        plant = system.plant_for(configuration)
        quadrants = rows.quadrants.reshape(len(rows.time), -1, 2)
        turns = Turns(plant.model.joints, quadrants, np.array(table["whole"]).reshape(-1, 3))
        changed = tuple(table.get("changed", ()))  # earlier versions did not write this and the last slip
        segments.append(Segment(plant, rows.time, rows.flat, turns, table["rank"], changes, changed))
        segments[-1].last_slip = directions_by_name(table.get("last_slip", {}))
    return segments


def event_data(event: EventRecord) -> list[Any]:
    """Return the record of an event as JSON data."""
    impulse = {name: [x.force.tolist(), x.torque.tolist()] for name, x in event.impulse.items()}
    energies = float(event.energy_before), float(event.energy_after)
    return [float(event.time), event.name, int(event.direction), *energies, impulse, event.restitution_kept]


def event_record(row: Sequence[Any]) -> EventRecord:
    """Return the record of an event from the JSON data of `event_data`."""
    time, name, direction, before, after, impulse, *kept = row  # earlier versions wrote no restitution
    found = {name: Impulse(*map(np.array, both)) for name, both in impulse.items()}
    return EventRecord(time, name, direction, before, after, found, *kept)


def of_restart_point(point: RestartPoint, system: System, events: Sequence[Event]) -> dict[str, Any]:
    """Return a restart point as JSON data."""
    resume_point = point.resume_point
    return {
        "t": point.t,
        "y": point.y.tolist(),
        "angles": point.angles.tolist(),
        "base": described_configuration(point.base, system, events),
        "pace": [
            resume_point.h,
            resume_point.grid,
            resume_point.outputs_passed,
            asdict(resume_point.costs),
        ],
        "sides": [[key, *side] for key, side in resume_point.sides.items()],
        "often": dict(point.occurrences),
    }


def restart_point_of(table: Mapping[str, Any], system: System, events: Sequence[Event]) -> RestartPoint:
    """Return a restart point from the JSON data of `of_restart_point`."""
    sides = {_key(key): _of_side(numbers) for key, *numbers in table["sides"]}
    h, grid, asked, *costs = table["pace"]  # earlier versions wrote three values
    return RestartPoint(
        float(table["t"]),
        np.array(table["y"], dtype=float),
        np.array(table["angles"], dtype=float).reshape(-1, 3),
        rebuilt_configuration(table["base"], system, events),
        ResumePoint(float(h), int(grid), int(asked), sides, *(MethodCosts(**one) for one in costs)),
        Counter(table["often"]),
    )


def statistics_of(table: Mapping[str, Any]) -> Statistics:
    """Return the statistics of a run from a dict by name; unknown names are ignored."""
    known = {one.name for one in fields(Statistics)}
    found = Statistics(**{key: x for key, x in table.items() if key in known})
    found.in_python = {who: (int(calls), float(spent)) for who, (calls, spent) in found.in_python.items()}
    found.methods = [(float(t), str(name)) for t, name in found.methods]
    return found


def _of_side(numbers: Sequence[float]) -> Side:
    """Return an entry of `EventMonitor.sides` from a record.

    Records of earlier versions of QuIRK do not contain the last numbers, which are then zero.
    """
    side, rate, scale, natural, held = [*map(float, numbers), 0.0, 0.0][:5]
    return side, rate, scale, natural, held


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
