"""User functions whose data may be modified by the actions of events.

A result normally evaluates user functions when a quantity is read, with the data at that time. Quantities that
depend on functions with modified data are therefore computed during the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.user_functions import functions_of
from quirk.events import Event
from quirk.events.actions import functions_in
from quirk.forces import Friction
from quirk.functions.changes import Changes
from quirk.result.contact_loads import ContactLoads
from quirk.result.segment import Segment
from quirk.system.system import System

from .event_functions import other_called_functions


class Changeable:
    """The user functions of a system whose data may be modified by the actions of events.

    When a segment of the result ends, the quantities that depend on these functions are computed, before later events
    modify the data.

    Parameters
    ----------
    system : System
    events : events of the run
    """

    def __init__(self, system: System, events: Sequence[Event]) -> None:
        self._system = system
        self._beside = other_called_functions(system, events)
        self._changes = {event.name: Changes(functions_in(event.actions)) for event in events}
        self._parts: dict[tuple[CompiledModel, str], tuple[str, ...]] = {}
        self._solver: Solver | None = None
        self._has_contacts = any(isinstance(constraint, Unilateral) for constraint in system.constraints)

    def changed_titles(self, plant: CompiledModel, event: str) -> tuple[str, ...]:
        """Return the titles of constraints and forces with a user function whose data may be modified by an event.

        `plant` is the compiled model whose constraints and forces are considered, in addition to all contacts; `event`
        is the name of the event.
        """
        key = plant, event
        if key not in self._parts:
            changes = self._changes[event]
            gaps = (
                (f"{constraint}", gap.source)
                for constraint in self._system.constraints
                if isinstance(constraint, Unilateral)
                for gap in constraint.gaps
                if gap.source is not None
            )
            titles = [title for title, function in (*functions_of(plant.model), *gaps) if changes(function)]
            self._parts[key] = tuple(dict.fromkeys(titles))
        return self._parts[key]

    def record(self, segment: Segment) -> None:
        """Compute and store the quantities of a segment that depend on data which later events may modify."""
        titles = dict.fromkeys(title for event in self._changes for title in self.changed_titles(segment.plant, event))
        if not titles:
            return
        if self._solver is None or self._solver.model is not segment.model:
            self._solver = segment.plant.solver(self._beside)
        segment.record(self._solver, tuple(titles))
        if self._has_contacts:
            frictions = [force for force in self._system.forces if isinstance(force, Friction)]
            segment.contact_loads = ContactLoads(self._system, Gaps(self._system, frictions), segment)
