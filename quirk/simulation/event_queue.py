"""Events of a run that is advanced by a loop, in the order in which its present time reaches them."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from ..result.event_log import EventRecord
from .hybrid.hybrid_run import HybridRun


class EventQueue:
    """Events located by the integration, which may be ahead of the present time of the run.

    The last step of the integration may extend beyond the present time.

    Parameters
    ----------
    run : the integration
    names : names of the events that interrupt the run
    keeps : whether the integration keeps its past events; otherwise they are forgotten when they are collected

    Attributes
    ----------
    reached : events since the last call of `begin`, up to the present time
    """

    def __init__(self, run: HybridRun, names: Container[str], keeps: bool) -> None:
        self._run, self._names, self._keeps = run, names, keeps
        self._ahead: list[EventRecord] = []
        self.reached: list[EventRecord] = []
        self._collected = 0

    @property
    def next(self) -> float:
        """Time of the next event ahead, s; infinite if there is none."""
        return self._ahead[0].time if self._ahead else np.inf

    @property
    def interrupts(self) -> bool:
        """Whether an event that interrupts the run has been reached."""
        return bool(self.reached) and any(event.name in self._names for event in self.reached)

    def begin(self) -> None:
        """Start the list of reached events anew, for the next advance of the run."""
        self.reached = []

    def collect(self) -> None:
        """Collect new events of the integration."""
        located = self._run.happenings
        if len(located) <= self._collected:
            return
        self._ahead = sorted([*self._ahead, *located[self._collected :]], key=lambda event: event.time)
        self._collected = len(located)
        if not self._keeps:
            self._run.forget()
            self._collected = 0

    def reach(self, time: float) -> None:
        """Move events up to the present time (s) to those that are reached."""
        while self._ahead and self._ahead[0].time <= time:
            self.reached.append(self._ahead.pop(0))

    def reach_all(self) -> None:
        """Move all events to those that are reached."""
        self.reached, self._ahead = self._ahead, []

    def discard_ahead(self, time: float) -> None:
        """Discard events later than the present time (s)."""
        if self._ahead:
            self._run.happenings[:] = [event for event in self._run.happenings if event.time <= time]
            self._collected = len(self._run.happenings)
            self._ahead.clear()

    def snapshot(self) -> tuple[list[EventRecord], list[EventRecord]]:
        """Return copies of the events ahead and of those reached."""
        return list(self._ahead), list(self.reached)

    def restore(self, saved: tuple[list[EventRecord], list[EventRecord]]) -> None:
        """Restore a snapshot, after the events of the integration have been restored."""
        self._ahead, self.reached = (list(events) for events in saved)
        self._collected = len(self._run.happenings)
