"""A run on disk: a folder with a journal, and files of the states that it tells of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from quirk.dynamics.impulsive import Impulse
from quirk.dynamics.sparse.host.run import Pace
from quirk.dynamics.turns import Turns
from quirk.errors import InputError, QuirkError
from quirk.events import Event
from quirk.happenings import Happening
from quirk.integrators import Statistics
from quirk.legs import Leg
from quirk.modelfile import system_of, text_of
from quirk.rebuilt import described, described_configuration, rebuilt, rebuilt_configuration
from quirk.result import Result
from quirk.segment import Segment
from quirk.system import System

from .identity import differences
from .journal import Journal, read
from .rows import Location, RowFile, rows_at

JOURNAL, FORMAT = "journal", 1


class Checkpoint:
    """What a run has written down, and what it goes on to write.

    Parameters
    ----------
    path : of a folder, which is made if need be
    system : System
    identity : of the run, see `quirk.checkpoints.identity`
    events : that are watched

    Attributes
    ----------
    segments, happenings, statistics : of the run so far
    leg : where it goes on, or None at its start and at its end
    status : "completed" or "stopped" where it is at its end, else None
    rows : where states are to be written from now on

    Raises
    ------
    InputError
        If the folder is of another run, in use, or holds what is damaged.
    """

    def __init__(self, path: str | Path, system: System, identity: Mapping[str, str], events: Sequence[Event]) -> None:
        self._folder, self._system, self._events = _folder(path), system, events
        self._journal = Journal(self._folder / JOURNAL)
        try:
            records = self._journal.records
            if records:
                _check(self._folder, records[0], identity)
            else:
                self._journal.append({"format": FORMAT, "identity": dict(identity), "model": _text(system)})
            written = Written(self._folder, system, events, records[1:])
            self.segments, self.happenings = written.segments, written.happenings
            self.statistics, self.leg, self.status = written.statistics, written.leg, written.status
            number = 1 + max((int(one.stem[5:]) for one in self._folder.glob("rows-*.time")), default=-1)
            self.rows = RowFile(self._folder, number)
        except BaseException:
            self._journal.close()
            raise
        self._told = 0

    def append(
        self,
        segments: Sequence[Segment],
        happenings: Sequence[Happening],
        statistics: Statistics,
        leg: Leg | None,
        status: str | None = None,
    ) -> None:
        """Write down a leg: its segments, whose states are in `rows`, and where the next begins, or how it ended."""
        self.rows.sync()
        locations = self.rows.locations[self._told :]
        self._told += len(locations)
        self.segments += segments
        self.happenings += happenings
        self._journal.append(
            {
                "segments": [
                    _of_segment(segment, location, described(segment, self._system, self._events))
                    for segment, location in zip(segments, locations, strict=True)
                ],
                "events": [_of_happening(one) for one in happenings],
                "statistics": asdict(statistics),
                "leg": None if leg is None else self._of_leg(leg),
                "status": status,
            }
        )

    def _of_leg(self, leg: Leg) -> dict[str, Any]:
        pace = leg.pace
        return {
            "t": leg.t,
            "y": leg.y.tolist(),
            "angles": leg.angles.tolist(),
            "base": described_configuration(leg.base, self._system, self._events),
            "pace": [pace.h, pace.grid, pace.asked],
            "sides": [[key, *side] for key, side in pace.sides.items()],
            "often": dict(leg.often),
        }

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()
        self.rows.close()


class Written:
    """What the records of a journal say of a run of a system."""

    def __init__(
        self, folder: Path, system: System, events: Sequence[Event], records: Sequence[Mapping[str, Any]]
    ) -> None:
        where = f"checkpoint {str(folder)!r}"
        self.segments: list[Segment] = []
        self.happenings: list[Happening] = []
        self.statistics, self.leg, self.status = Statistics(), None, None
        try:
            for record in records:
                self.segments += [_segment(folder, system, events, one) for one in record["segments"]]
                self.happenings += [_happening(one) for one in record["events"]]
            if records:
                last = records[-1]
                known = {one.name for one in fields(Statistics)}
                self.statistics = Statistics(**{key: x for key, x in last["statistics"].items() if key in known})
                self.statistics.in_python = {
                    who: (int(calls), float(spent)) for who, (calls, spent) in self.statistics.in_python.items()
                }
                self.statistics.methods = [(float(t), str(name)) for t, name in self.statistics.methods]
                self.leg = None if last["leg"] is None else _leg(last["leg"], system, events)
                self.status = last["status"]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OSError, QuirkError) as error:
            raise InputError(f"{where} is damaged ({type(error).__name__}: {error}): start anew elsewhere") from None


def read_checkpoint(path: str | Path, system: System | None = None) -> Result:
    """Return what a run has written down so far; it may still be going on.

    Parameters
    ----------
    path : str or Path
        What `simulate` was given as `checkpoint`.
    system : System, optional
        The same as it was given; needed where it has Python functions.

    Raises
    ------
    InputError
        If there is no checkpoint, it is damaged, or nothing has been written down yet.
    """
    folder = Path(path)
    if not (folder / JOURNAL).is_file():
        raise InputError(f"read_checkpoint: there is no checkpoint at {str(path)!r}")
    records, _ = read(folder / JOURNAL)
    if not records or records[0].get("format") != FORMAT:
        raise InputError(f"read_checkpoint: {str(path)!r} is no checkpoint that this QuIRK reads")
    if system is None:
        text = records[0].get("model")
        if not isinstance(text, str):
            raise InputError(
                f"read_checkpoint: the system of {str(path)!r} has Python functions, which no file holds: give system="
            )
        system = system_of(text, f"the model of {str(path)!r}")
    written = Written(folder, system, system.events, records[1:])
    if not written.segments:
        raise InputError(f"read_checkpoint: the run of {str(path)!r} has not written down any states yet")
    return Result(system, written.segments, written.statistics, written.status or "interrupted", written.happenings)


def _folder(path: str | Path) -> Path:
    try:
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
    except (TypeError, OSError) as error:
        raise InputError(f"simulate: checkpoint must be the path of a folder; got {path!r} ({error})") from None
    if not (folder / JOURNAL).exists() and any(folder.iterdir()):
        raise InputError(f"simulate: checkpoint must be a new or empty folder, or an earlier checkpoint; got {path!r}")
    return folder


def _check(folder: Path, head: Mapping[str, Any], identity: Mapping[str, str]) -> None:
    if head.get("format") != FORMAT or not isinstance(head.get("identity"), dict):
        raise InputError(f"checkpoint: {str(folder)!r} is not of the format {FORMAT} that this QuIRK writes")
    differing = differences(head["identity"], identity)
    if differing:
        raise InputError(
            f"checkpoint: {str(folder)!r} is of another run, in which these differ: {', '.join(differing[:10])}; "
            "give another path, or remove it to begin anew"
        )


def _text(system: System) -> str | None:
    try:
        return text_of(system)
    except InputError:
        return None


def _of_segment(segment: Segment, location: Location, description: Mapping[str, Any]) -> dict[str, Any]:
    if any(part["by"] == "function" for part in description["others"]):
        raise InputError(
            "simulate: what a function of an event puts in the place of a part cannot be written to a checkpoint: "
            "give such parts as actions, not by functions"
        )
    whole = segment.turns.whole.tolist()
    return {"rows": list(location), "whole": whole, "rank": int(segment.rank), "parts": description}


def _segment(folder: Path, system: System, events: Sequence[Event], table: Mapping[str, Any]) -> Segment:
    rows = rows_at(folder, Location(*table["rows"]))
    configuration, changes = rebuilt(table["parts"], system, events)
    plant = system.plant_for(configuration)
    quadrants = rows.quadrants.reshape(len(rows.time), -1, 2)
    turns = Turns(plant.model.joints, quadrants, np.array(table["whole"]).reshape(-1, 3))
    return Segment(plant, rows.time, rows.flat, turns, table["rank"], changes)


def _of_happening(one: Happening) -> list[Any]:
    impulse = {name: [x.force.tolist(), x.torque.tolist()] for name, x in one.impulse.items()}
    return [float(one.time), one.name, int(one.direction), float(one.energy_before), float(one.energy_after), impulse]


def _happening(row: Sequence[Any]) -> Happening:
    time, name, direction, before, after, impulse = row
    return Happening(
        time, name, direction, before, after, {name: Impulse(*map(np.array, both)) for name, both in impulse.items()}
    )


def _leg(table: Mapping[str, Any], system: System, events: Sequence[Event]) -> Leg:
    sides = {_key(key): (float(side), int(crossed), float(scale)) for key, side, crossed, scale in table["sides"]}
    h, grid, asked = table["pace"]
    return Leg(
        float(table["t"]),
        np.array(table["y"], dtype=float),
        np.array(table["angles"], dtype=float).reshape(-1, 3),
        rebuilt_configuration(table["base"], system, events),
        Pace(float(h), int(grid), int(asked), sides),
        Counter(table["often"]),
    )


def _key(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key
