"""Queue of the events of a run that is advanced by a loop, up to the present time."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ..result.event_log import EventRecord
from .hybrid.hybrid_run import HybridRun


class EventQueue:
    """Queue of the events located by the integration, which may be later than the present time of the run.

    The last integration step may extend beyond the present time.

    Parameters
    ----------
    run : the integration
    names : names of the events that interrupt the run
    keeps : whether the integration keeps past events; otherwise it discards them after their collection

    Attributes
    ----------
    reached : events since the last call of `begin`, up to the present time
    """

    def __init__(self, run: HybridRun, names: Container[str], keeps: bool) -> None:
        self._run, self._names, self._keeps = run, names, keeps
        self._pending: list[EventRecord] = []
        self.reached: list[EventRecord] = []
        self._collected = 0

    @property
    def next_time(self) -> float:
        """Time of the next event ahead, s; infinite if there is none."""
        return self._pending[0].time if self._pending else np.inf

    @property
    def interrupts(self) -> bool:
        """Whether an event that interrupts the run has been reached."""
        return bool(self.reached) and any(event.name in self._names for event in self.reached)

    def begin(self) -> None:
        """Clear the list of reached events, before the next advance of the run."""
        self.reached = []

    def collect(self) -> None:
        """Add new events of the integration to the queue."""
        located = self._run.happenings
        if len(located) <= self._collected:
            return
        self._pending = sorted([*self._pending, *located[self._collected :]], key=lambda event: event.time)
        self._collected = len(located)
        if not self._keeps:
            self._run.forget()
            self._collected = 0

    def reach(self, time: float) -> None:
        """Move events up to the present time (s) to the list of reached events."""
        while self._pending and self._pending[0].time <= time:
            self.reached.append(self._pending.pop(0))

    def reach_all(self) -> None:
        """Move all events to the list of reached events."""
        self.reached, self._pending = self._pending, []

    def discard_ahead(self, time: float) -> None:
        """Discard events later than the present time (s)."""
        if self._pending:
            self._run.happenings[:] = [event for event in self._run.happenings if event.time <= time]
            self._collected = len(self._run.happenings)
            self._pending.clear()

    def snapshot(self) -> tuple[list[EventRecord], list[EventRecord]]:
        """Return copies of the lists of later events and of reached events."""
        return list(self._pending), list(self.reached)

    def restore(self, saved: tuple[list[EventRecord], list[EventRecord]]) -> None:
        """Restore a snapshot; the events of the integration must already be restored."""
        self._pending, self.reached = (list(events) for events in saved)
        self._collected = len(self._run.happenings)
