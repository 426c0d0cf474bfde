"""Checkpoints of runs on disk: a folder with a journal and files of output states."""

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
from .records import event_data, of_restart_point, of_segment
from .rows import RowFile

JOURNAL = "journal"
# Format of new checkpoints, and readable formats; format 1 has no checksums of rows and no digests of restart points.
FORMAT, FORMATS = 2, (1, 2)


class Checkpoint:
    """Storage of a run in a folder, one interval after the other.

    Damaged intervals are computed again, with a `CheckpointWarning`.

    Parameters
    ----------
    path : folder, created if it does not exist
    system : the simulated system
    identity : digests of all inputs of the run, see `quirk.io.checkpoints.identity`
    events : events of the run

    Attributes
    ----------
    rows : files to which the next states are written

    Raises
    ------
    InputError
        If the folder belongs to another run, is in use, or contains other files. The folder is left unchanged.
    WriteError
        If the folder cannot be written.
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
        """All segments on disk."""
        return self._chain.segments

    @property
    def happenings(self) -> list[EventRecord]:
        """All event records on disk."""
        return self._chain.happenings

    @property
    def statistics(self) -> Statistics:
        """Statistics of the run so far, including intervals that `append` restored from the disk."""
        return self._chain.statistics

    @property
    def restart_point(self) -> RestartPoint | None:
        """Restart point from which the run continues; None at the start and at the end of the run."""
        return self._chain.restart_point

    @property
    def status(self) -> str | None:
        """Status at the end of the run, "completed" or "stopped"; None if the end has not been written."""
        return self._chain.status

    def append(
        self,
        segments: Sequence[Segment],
        happenings: Sequence[EventRecord],
        statistics: Statistics,
        point: RestartPoint | None,
        status: str | None = None,
    ) -> None:
        """Write the next interval of the run to the disk.

        If the disk has undamaged records that continue from the end of this interval, they are restored, so that the
        run need not compute them again. The attributes `restart_point` and `status` then refer to the last restored
        record.

        Parameters
        ----------
        segments, happenings : segments, whose states are in `rows`, and events of the interval
        statistics : statistics of the run so far
        point : restart point at the end of the interval, None at the end of the run
        status : "completed" or "stopped" at the end of the run
        """
        self.rows.sync()
        locations = self.rows.locations[self._written :]
        self._written += len(locations)
        start = None if point is None else of_restart_point(point, self._system, self._events)
        self._journal.append(
            {
                "from": self._chain.place,
                "segments": [
                    of_segment(segment, location, self._system, self._events)
                    for segment, location in zip(segments, locations, strict=True)
                ],
                "events": [event_data(happening) for happening in happenings],
                "statistics": asdict(statistics),
                "leg": start,
                "status": status,
            }
        )
        self._chain.add(segments, happenings, start, point, status)
        self._chain.follow()
        self._warn_of_damage()

    def _warn_of_damage(self) -> None:
        """Warn about the damage to the checkpoint that has been detected since the last warning."""
        said = self._chain.damage_text()
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
    """Return the part of a run that has been written to a checkpoint; the run may still be in progress.

    If the checkpoint is damaged, a `CheckpointWarning` is issued, and the result ends before the damage.

    Parameters
    ----------
    path : str or Path
        Value of the argument `checkpoint` of `simulate`.
    system : System, optional
        The simulated system; required if it contains Python functions, or if the first line of the journal is damaged.

    Raises
    ------
    InputError
        If there is no checkpoint, it contains no states yet, or it cannot be read.

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
        raise InputError(f"{owner}: {str(path)!r} is not a checkpoint that this version of QuIRK can read")
    if system is None:
        system = _system_in(records[0] or {}, folder)
    chain = RecordChain(folder, system, system.events, records[1:])
    if not chain.segments:
        raise InputError(f"{owner}: the run of {str(path)!r} has not written any states yet")
    said = [] if records[0] else ["the first line of its journal is damaged, so that the system is not checked"]
    said += [chain.damage_text()] if chain.damage_text() else []
    if said:
        warnings.warn(f"checkpoint {str(path)!r}: {'; '.join(said)}", CheckpointWarning, stacklevel=outside())
    return Result(system, chain.segments, chain.statistics, chain.status or "interrupted", chain.happenings)


def _system_in(head: Mapping[str, Any], folder: Path) -> System:
    """Return the system stored as text in `head`, the first record of a journal.

    `folder` is the folder of the checkpoint, for error messages.
    """
    text = head.get("model")
    if not isinstance(text, str):
        why = "has Python functions, which files cannot store" if head else "is in a damaged line of the journal"
        raise InputError(f"read_checkpoint: the system of {str(folder)!r} {why}; use the argument system=")
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
    # A process terminated right at the start may leave an empty journal.
    begun = others == [JOURNAL] and not journal.is_symlink()
    if others and not begun and not (journal.exists() and journal.stat().st_size > 0):
        raise InputError(f"simulate: checkpoint must be a new or empty folder, or an earlier checkpoint; got {path!r}")
    return folder


def _check(folder: Path, head: Mapping[str, Any], identity: Mapping[str, str]) -> None:
    if head.get("format") not in FORMATS or not isinstance(head.get("identity"), dict):
        raise InputError(
            f"checkpoint: {str(folder)!r} does not have the format {FORMAT}, which this version of QuIRK writes"
        )
    differing = differences(head["identity"], identity)
    if differing:
        raise InputError(
            f"checkpoint: {str(folder)!r} belongs to another run; differences: {', '.join(differing[:10])}; "
            "use another path, or delete the folder to start a new run"
        )


def _text(system: System) -> str | None:
    try:
        return text_of(system)
    except InputError:
        return None
