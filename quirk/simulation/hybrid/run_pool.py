"""Cache of the run objects of a run, by configuration and contact state, to which the run may return after events."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.stepping import run_snapshot
from quirk.system.configuration import Configuration

from .contact_events import Contacts
from .contact_states import ContactState
from .run_factory import RunFactory

# Maximum number of compiled runs, one per set of active parts, that are kept for reuse.
MOST_RUNS = 16


class RunPool:
    """Run objects, one for each configuration and contact state; the least recently used run object is discarded.

    Parameters
    ----------
    factory : factory of run objects
    contacts : unilateral constraints and friction of the system
    """

    def __init__(self, factory: RunFactory, contacts: Contacts) -> None:
        self._factory, self._contacts = factory, contacts
        self._runs: OrderedDict[Any, tuple[Any, ContactState]] = OrderedDict()
        self._learned: dict[Any, Any] = {}

    def has(self, configuration: Configuration, contact_state: ContactState) -> bool:
        """Whether there is a run object of a configuration and contact state."""
        return (configuration, contact_state.key) in self._runs

    def run_of(
        self, plant: CompiledModel, configuration: Configuration, base: Configuration, contact_state: ContactState
    ) -> Any:
        """Return the run object of a configuration and contact state, which is created on first use.

        `plant` is the compiled model of the configuration; `base` are the active constraints and forces without
        contacts.
        """
        # Disabled unilateral constraints are not monitored, although the compiled model is the same.
        key = configuration, contact_state.key
        if key not in self._runs:
            self._create(key, plant, base, contact_state)
        self._runs.move_to_end(key)
        return self._runs[key][0]

    def _create(self, key: Any, plant: CompiledModel, base: Configuration, contact_state: ContactState) -> None:
        """Create and store the run object for the compiled model `plant`; see `run_of` for the other arguments."""
        self._contacts.check_watched(self._factory.guards, contact_state)
        self._factory.warn_of_state(plant)
        current: Any = self._factory.new_run(plant, self._contacts.guards(base, contact_state))
        self._runs[key] = current, contact_state
        if key in self._learned:
            run_snapshot.apply_learned(current, self._learned.pop(key))
        if len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)

    def others(self, present: Any) -> list[tuple[Configuration, ContactState, Any]]:
        """Return configuration, contact state, and data such as the step size of all run objects but `present`."""
        return [
            (configuration, contact_state, run_snapshot.learned(current))
            for (configuration, _), (current, contact_state) in self._runs.items()
            if current is not present
        ]

    def recall(self, present: Any, others: Sequence[tuple[Configuration, ContactState, Any]]) -> None:
        """Discard all run objects but `present`; the stored data in `others` are used when they are created again."""
        self._runs = OrderedDict((key, pair) for key, pair in self._runs.items() if pair[0] is present)
        self._learned = {
            (configuration, contact_state.key): learned for configuration, contact_state, learned in others
        }
