"""What events have done along a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from ..dynamics.contact.impulse import Impulse
from ..util.misuse import explained


@explained
@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event along a run.

    Attributes
    ----------
    time : s
    name : of the event
    direction : 1 where the quantity rose through its level, -1 where it fell
    energy_before, energy_after : total energy, J
    impulse : of each constraint that exerted one, by name: `force` (3,) N s and `torque` (3,) N m s on body j, in N
    restitution_kept : part of the restitution of its contacts that an impact kept: 1, or less where Newton's law would
        have gained energy
    """

    time: float
    name: str
    direction: int
    energy_before: float
    energy_after: float
    impulse: Mapping[str, Impulse] = field(default_factory=dict)
    restitution_kept: float = 1.0

    @property
    def energy_loss(self) -> float:
        """Energy before less energy after, J."""
        return self.energy_before - self.energy_after

    def __str__(self) -> str:
        lost = f", {self.energy_loss:.6g} J lost" if self.impulse else ""
        lowered = f", restitution lowered to {self.restitution_kept:.0%}" if self.restitution_kept < 1 else ""
        return f"{self.time:.9g} s: {self.name} ({'rising' if self.direction > 0 else 'falling'}){lost}{lowered}"


@explained
class EventLog(Sequence[EventRecord]):
    """The events of a run in the order of time, as rows; those of one name by `of`."""

    def __init__(self, rows: Sequence[EventRecord] = ()) -> None:
        self._rows = list(rows)

    @overload
    def __getitem__(self, which: int) -> EventRecord: ...
    @overload
    def __getitem__(self, which: slice) -> EventLog: ...
    def __getitem__(self, which: int | slice) -> EventRecord | EventLog:
        return EventLog(self._rows[which]) if isinstance(which, slice) else self._rows[which]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[EventRecord]:
        return iter(self._rows)

    def __repr__(self) -> str:
        return f"<{len(self)} events>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_happenings

        return of_happenings(self)

    def __str__(self) -> str:
        return "\n".join(str(row) for row in self._rows) or "no events"

    def of(self, name: str) -> EventLog:
        """Return the events of one name."""
        return EventLog([row for row in self._rows if row.name == name])

    @property
    def time(self) -> np.ndarray:
        """Times (k,), s."""
        return np.array([row.time for row in self._rows])

    @property
    def name(self) -> list[str]:
        """Names of the events, one for each row."""
        return [row.name for row in self._rows]
