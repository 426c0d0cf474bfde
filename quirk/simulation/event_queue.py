"""Queue of the events that the integration of a run has located beyond the present time of the run."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ..result.event_log import EventRecord
from .hybrid.hybrid_run import HybridRun


class EventQueue:
    """Queue of located events of a run, which are released as the present time of the run passes them.

    Events can lie ahead of the present time, because the last integration step may extend beyond it.

    Parameters
    ----------
    run : the integration, which locates the events
    names : names of the events that interrupt the run
    keeps : whether the integration keeps its records of events; if False, they are cleared once they are in this queue

    Attributes
    ----------
    reached : events that the present time has passed since the last call of `begin`
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
        """Whether `reached` contains an event that interrupts the run."""
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
        """Move the events up to the present `time` (s) from the queue to `reached`."""
        while self._pending and self._pending[0].time <= time:
            self.reached.append(self._pending.pop(0))

    def reach_all(self) -> None:
        """Empty the queue; its events replace the events in `reached`."""
        self.reached, self._pending = self._pending, []

    def discard_ahead(self, time: float) -> None:
        """Discard the events after the present `time` (s)."""
        if self._pending:
            self._run.happenings[:] = [event for event in self._run.happenings if event.time <= time]
            self._collected = len(self._run.happenings)
            self._pending.clear()

    def snapshot(self) -> tuple[list[EventRecord], list[EventRecord]]:
        """Return copies of the list of events ahead of the present time, and of the list `reached`."""
        return list(self._pending), list(self.reached)

    def restore(self, saved: tuple[list[EventRecord], list[EventRecord]]) -> None:
        """Restore a snapshot of this queue; the event records of the integration must have been restored before."""
        self._pending, self.reached = (list(events) for events in saved)
        self._collected = len(self._run.happenings)
