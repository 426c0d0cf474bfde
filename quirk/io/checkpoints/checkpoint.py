"""A run on disk: a folder with a journal, and files of the states that it tells of."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from quirk.errors import CheckpointWarning, InputError, outside
from quirk.events import Event
from quirk.integrators import Statistics
from quirk.result.event_log import EventRecord
from quirk.result.result import Result
from quirk.result.segment import Segment
from quirk.simulation.hybrid.restart_points import RestartPoint
from quirk.system.system import System
from quirk.util.misuse import explained
from quirk.util.output import writing

from ..modelfile import system_of, text_of
from .chain import RecordChain
from .identity import differences
from .journal import Journal, read
from .records import of_happening, of_leg, of_segment
from .rows import RowFile

JOURNAL = "journal"
# The format that is written, and those that are read: 1 has no checksums of rows, and no starts of legs.
FORMAT, FORMATS = 2, (1, 2)


class Checkpoint:
    """A run that is written to a folder, leg by leg.

    A leg that is damaged there is computed again, and a `CheckpointWarning` says so.

    Parameters
    ----------
    path : of a folder, which is made if need be
    system : System
    identity : of the run, see `quirk.io.checkpoints.identity`
    events : that are watched

    Attributes
    ----------
    rows : where states are to be written from now on

    Raises
    ------
    InputError
        If the folder is of another run, in use, or holds other files. Nothing in it is changed.
    WriteError
        If nothing can be written there.
    """

    def __init__(self, path: str | Path, system: System, identity: Mapping[str, str], events: Sequence[Event]) -> None:
        self._folder, self._system, self._events = _folder(path), system, events
        self._journal = Journal(self._folder / JOURNAL)
        try:
            records = self._journal.records
            if not records:
                self._journal.append({"format": FORMAT, "identity": dict(identity), "model": _text(system)})
            else:
                _check(self._folder, records[0] or {}, identity)
            self._chain = RecordChain(self._folder, system, events, records[1:])
            self._damage_said = 0
            self._warn_of_damage()
            self.rows = RowFile(self._folder)
        except BaseException:
            self._journal.close()
            raise
        self._written = 0

    @property
    def segments(self) -> list[Segment]:
        """All segments that are on the disk."""
        return self._chain.segments

    @property
    def happenings(self) -> list[EventRecord]:
        """All happenings that are on the disk."""
        return self._chain.happenings

    @property
    def statistics(self) -> Statistics:
        """The cost of the run so far; legs that `append` takes over are added to it."""
        return self._chain.statistics

    @property
    def leg(self) -> RestartPoint | None:
        """Where the run goes on, or None at its start and at its end."""
        return self._chain.leg

    @property
    def status(self) -> str | None:
        """Return "completed" or "stopped" where the run is at its end, else None."""
        return self._chain.status

    def append(
        self,
        segments: Sequence[Segment],
        happenings: Sequence[EventRecord],
        statistics: Statistics,
        leg: RestartPoint | None,
        status: str | None = None,
    ) -> None:
        """Write a leg: its segments, whose states are in `rows`, and where the next begins, or how the run ended.

        Legs that are on the disk already and go on from there are taken over: `leg` and `status` then tell of the last.
        """
        self.rows.sync()
        locations = self.rows.locations[self._written :]
        self._written += len(locations)
        start = None if leg is None else of_leg(leg, self._system, self._events)
        self._journal.append(
            {
                "from": self._chain.place,
                "segments": [
                    of_segment(segment, location, self._system, self._events)
                    for segment, location in zip(segments, locations, strict=True)
                ],
                "events": [of_happening(one) for one in happenings],
                "statistics": asdict(statistics),
                "leg": start,
                "status": status,
            }
        )
        self._chain.add(segments, happenings, start, leg, status)
        self._chain.follow()
        self._warn_of_damage()

    def _warn_of_damage(self) -> None:
        """Say once what is damaged."""
        said = self._chain.damage_said()
        if said and len(self._chain.damage) > self._damage_said:
            self._damage_said = len(self._chain.damage)
            warnings.warn(f"checkpoint {str(self._folder)!r}: {said}", CheckpointWarning, stacklevel=outside())

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *error: object) -> None:
        self._journal.close()
        self.rows.close()


@explained
def read_checkpoint(path: str | Path, system: System | None = None) -> Result:
    """Return what a run has written down so far; it may still be going on.

    Parameters
    ----------
    path : str or Path
        What `simulate` was given as `checkpoint`.
    system : System, optional
        The same as it was given; needed where it has Python functions, or the first line of the journal is damaged.

    A `CheckpointWarning` names what is damaged; the result then ends before that.

    Raises
    ------
    InputError
        If there is no checkpoint, or nothing has been written down yet, or nothing of it can be read.

    Examples
    --------
    >>> system = quirk.System([quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])])
    >>> result = quirk.simulate(system, 1.0, output=0.5, checkpoint="run")
    >>> quirk.read_checkpoint("run").status
    'completed'
    """
    folder, owner = Path(path), "read_checkpoint"
    if not (folder / JOURNAL).is_file():
        raise InputError(f"{owner}: there is no checkpoint at {str(path)!r}")
    records, _ = read(folder / JOURNAL)
    if not any(records) or (records[0] and records[0].get("format") not in FORMATS):
        raise InputError(f"{owner}: {str(path)!r} is no checkpoint that this QuIRK reads")
    if system is None:
        system = _system_in(records[0] or {}, folder)
    chain = RecordChain(folder, system, system.events, records[1:])
    if not chain.segments:
        raise InputError(f"{owner}: the run of {str(path)!r} has not written down any states yet")
    said = [] if records[0] else ["the first line of its journal is damaged, so that the system is not checked"]
    said += [chain.damage_said()] if chain.damage_said() else []
    if said:
        warnings.warn(f"checkpoint {str(path)!r}: {'; '.join(said)}", CheckpointWarning, stacklevel=outside())
    return Result(system, chain.segments, chain.statistics, chain.status or "interrupted", chain.happenings)


def _system_in(head: Mapping[str, Any], folder: Path) -> System:
    """Return the system that the first record of a journal holds as text."""
    text = head.get("model")
    if not isinstance(text, str):
        why = "has Python functions, which no file holds" if head else "is in a line of the journal that is damaged"
        raise InputError(f"read_checkpoint: the system of {str(folder)!r} {why}: give system=")
    return system_of(text, f"the model of {str(folder)!r}")


def _folder(path: str | Path) -> Path:
    try:
        folder = Path(path)
    except TypeError:
        raise InputError(f"simulate: checkpoint must be the path of a folder; got {path!r}") from None
    if folder.exists() and not folder.is_dir():
        raise InputError(f"simulate: checkpoint must be the path of a folder; {str(path)!r} is a file")
    with writing("simulate: checkpoint", folder, "nothing was computed"):
        folder.mkdir(parents=True, exist_ok=True)
        others = [one.name for one in folder.iterdir()]
    journal = folder / JOURNAL
    # A kill right at the start may leave an empty journal.
    begun = others == [JOURNAL] and not journal.is_symlink()
    if others and not begun and not (journal.exists() and journal.stat().st_size > 0):
        raise InputError(f"simulate: checkpoint must be a new or empty folder, or an earlier checkpoint; got {path!r}")
    return folder


def _check(folder: Path, head: Mapping[str, Any], identity: Mapping[str, str]) -> None:
    if head.get("format") not in FORMATS or not isinstance(head.get("identity"), dict):
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
