"""Event counter that aborts runs with infinitely many events (Zeno guard)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection

from quirk.integrators import IntegrationError

# Maximum number of successive events within the fraction AT_ONCE of the duration; more count as an endless sequence.
MOST_AT_ONCE, AT_ONCE = 200, 1e-9


class EventCounter:
    """Counter of the occurrences of each event; infinite sequences of events raise an error.

    Parameters
    ----------
    events : names of the events of the run
    contacts : number of contacts and friction elements
    fixed : whether the run has fixed steps

    Events and contacts may each occur a few times at the same instant.

    Attributes
    ----------
    occurrences : number of occurrences of each event, by name
    """

    def __init__(self, events: Collection[str], contacts: int, *, fixed: bool) -> None:
        self.occurrences: Counter[str] = Counter()
        self._events, self._fixed = frozenset(events), fixed
        self._recent: deque[tuple[float, str]] = deque(maxlen=MOST_AT_ONCE + 4 * (len(events) + contacts))

    def count(self, t: float, name: str, duration: float) -> None:
        """Count an event called `name` at time t (s) of a run that lasts `duration` (s).

        Raises
        ------
        IntegrationError
            If events follow each other without end.
        """
        self.occurrences[name] += 1
        self._recent.append((t, name))
        since = self._recent[0][0]
        if len(self._recent) == self._recent.maxlen and t - since <= AT_ONCE * duration:
            count, most = len(self._recent), Counter(event for _, event in self._recent).most_common(1)[0][0]
            raise IntegrationError(
                f'{count} events within {t - since:.1e} s, most of them "{most}": each causes the next at once'
                f"{self._advice(most)}",
                t,
            )

    def _advice(self, name: str) -> str:
        """Return what may help if the event or contact `name` occurs without end, for the error message."""
        if name in self._events:
            return "; let the action change more, or give the event a direction"
        return '; leave out "step", or make it shorter' if self._fixed else ""

    @property
    def recent(self) -> list[tuple[float, str]]:
        """Times (s) and names of the last events."""
        return list(self._recent)

    def recall(self, occurrences: Counter[str], recent: list[tuple[float, str]]) -> None:
        """Restore saved numbers of occurrences, and saved times (s) and names of the last events."""
        self.occurrences = Counter(occurrences)
        self._recent.clear()
        self._recent.extend(recent)
