"""Segments of a run, restored from the journal of its checkpoint in chronological order.

The journal has one record for each interval between two restart points. A record contains the digest of the restart
point at the start of its interval, so that records can be connected even if some lines are damaged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from quirk.errors import InputError, QuirkError
from quirk.events import Event
from quirk.integrators import Statistics
from quirk.result.event_log import EventRecord
from quirk.result.segment import Segment
from quirk.simulation.hybrid.restart_points import RestartPoint
from quirk.system.system import System

from .journal import Record
from .records import event_record, place_of, restart_point_of, segments_of, statistics_of
from .rows import DamagedRowsError


class RecordChain:
    """Part of a run that is restored from consecutive undamaged records of the journal of its checkpoint.

    If a record is damaged, its interval is computed again and the new record is appended to the journal; the records of
    later intervals remain valid.

    Parameters
    ----------
    folder : Path
        Folder of the checkpoint.
    system, events : the system and the events of the run
    records : records of the journal, one for each line after the header; None for a damaged line

    Attributes
    ----------
    segments : list of Segment
        Restored intervals between events, up to the end of the chain.
    happenings : list of EventRecord
        Restored events.
    statistics : Statistics
        Statistics of the run up to the end of the chain.
    place : str or None
        Digest of the restart point at the end of the chain.
    restart_point : RestartPoint or None
        Restart point at the end of the chain; None at the start of the run and at its end.
    status : str or None
        "completed" or "stopped" at the end of the run; None if the chain ends earlier.
    damage : list of str
        Descriptions of damaged lines and rows, for a warning.
    """

    def __init__(self, folder: Path, system: System, events: Sequence[Event], records: Sequence[Record | None]) -> None:
        self._folder, self._system, self._events = folder, system, events
        self.segments: list[Segment] = []
        self.happenings: list[EventRecord] = []
        self.statistics = Statistics()
        self.restart_point: RestartPoint | None = None
        self.status: str | None = None
        self.place = place_of(None)
        lines = [f"line {k} of its journal is damaged" for k, record in enumerate(records, 2) if record is None]
        self.damage: list[str] = lines
        self._waiting = _by_start(records)
        self._legs = 0
        self.follow()

    def follow(self) -> None:
        """Append the next records to the chain, up to the first one that is missing or damaged."""
        while self.status is None and self.place in self._waiting:
            record = self._waiting.pop(self.place)
            try:
                segments = segments_of(record, self._folder, self._system, self._events, self.reached)
                happenings = [event_record(one) for one in record["events"]]
                vars(self.statistics).update(vars(statistics_of(record["statistics"])))
                point = None if record["leg"] is None else restart_point_of(record["leg"], self._system, self._events)
                self.add(segments, happenings, record["leg"], point, record["status"])
            except DamagedRowsError as error:
                self.damage.append(f"{error}")
                return
            except (KeyError, TypeError, ValueError, IndexError, AttributeError, QuirkError) as error:
                raise InputError(
                    f"checkpoint {str(self._folder)!r} cannot be read by this version of QuIRK "
                    f"({type(error).__name__}: {error}); use another path"
                ) from None

    def add(
        self,
        segments: Sequence[Segment],
        happenings: Sequence[EventRecord],
        point_data: Mapping[str, object] | None,
        point: RestartPoint | None,
        status: str | None,
    ) -> None:
        """Append an interval to the chain.

        Parameters
        ----------
        segments, happenings : segments and events of the interval
        point_data : restart point at the end of the interval as JSON data, None at the end of the run
        point : the same restart point as an object
        status : status at the end of the run, otherwise None
        """
        self.segments += segments
        self.happenings += happenings
        self.place, self.restart_point, self.status = place_of(point_data), point, status

    @property
    def reached(self) -> float:
        """Last time of the restored segments, s; minus infinity if there are none."""
        return float(self.segments[-1].time[-1]) if self.segments else -np.inf

    def damage_text(self) -> str:
        """Return a warning that describes the damage and its consequences; "" if there is no damage."""
        if not self.damage or self.status is not None:
            return ""
        more = len(self.damage) - 3
        said = "; ".join(self.damage[:3]) + (f"; and {more} more" if more > 0 else "")
        start = "the start" if self.restart_point is None else f"t = {self.restart_point.t:.9g} s"
        later = f"; {len(self._waiting)} later records are undamaged and are used" if self._waiting else ""
        return f"{said}. The run is undamaged up to {start}; the damaged part is computed again{later}"


def _by_start(records: Sequence[Record | None]) -> dict[str, Record]:
    """Return the records as a dict by the digest of the restart point at which their interval starts.

    If several records have the same digest, the last one is used. Records of format 1 contain no digest; each continues
    the interval of the line before it.
    """
    found: dict[str, Record] = {}
    before: str | None = place_of(None)
    for record in records:
        start = None if record is None else record.get("from", before)
        if record is not None and start is not None:
            found[start] = record
        before = place_of(record["leg"]) if record is not None and record.get("leg") else None
    return found
