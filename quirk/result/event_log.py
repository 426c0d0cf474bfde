"""Log of the events of a run."""

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
    """One occurrence of an event.

    Attributes
    ----------
    time : time of the event, s
    name : name of the event
    direction : 1 if the quantity increased through its level, -1 if it decreased
    energy_before, energy_after : total energy of the system just before and just after the event, J
    impulse : impulses on body j by name of constraint: `force` (3,), N s, and `torque` (3,), N m s, inertial frame
    restitution_kept : factor on the coefficients of restitution of an impact; below 1 if Newton's law with the full
        coefficients would have increased the energy
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
        """Energy lost at the event, J."""
        return self.energy_before - self.energy_after

    def __str__(self) -> str:
        lost = f", {self.energy_loss:.6g} J lost" if self.impulse else ""
        lowered = f", restitution lowered to {self.restitution_kept:.0%}" if self.restitution_kept < 1 else ""
        return f"{self.time:.9g} s: {self.name} ({'rising' if self.direction > 0 else 'falling'}){lost}{lowered}"


@explained
class EventLog(Sequence[EventRecord]):
    """Events of a run in chronological order, a sequence of `EventRecord`; the method `of` selects events by name."""

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
        """Return the occurrences of the event named `name`."""
        return EventLog([row for row in self._rows if row.name == name])

    @property
    def time(self) -> np.ndarray:
        """Times (k,) of all k occurrences, s."""
        return np.array([row.time for row in self._rows])

    @property
    def name(self) -> list[str]:
        """Name of the event of each occurrence."""
        return [row.name for row in self._rows]

    @property
    def direction(self) -> np.ndarray:
        """Direction (k,) of each occurrence, 1 or -1; see `EventRecord`."""
        return np.array([row.direction for row in self._rows], dtype=int)

    @property
    def energy_before(self) -> np.ndarray:
        """Total energy (k,) of the system just before each occurrence, J."""
        return np.array([row.energy_before for row in self._rows], dtype=float)

    @property
    def energy_after(self) -> np.ndarray:
        """Total energy (k,) of the system just after each occurrence, J."""
        return np.array([row.energy_after for row in self._rows], dtype=float)

    @property
    def energy_loss(self) -> np.ndarray:
        """Energy (k,) lost at each occurrence, J."""
        return self.energy_before - self.energy_after
