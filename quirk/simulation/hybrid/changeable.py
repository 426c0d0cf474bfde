"""User functions whose data may be modified by the actions of events.

A result normally evaluates user functions when a quantity is read, with the data at that time. Quantities that
depend on functions with modified data are therefore computed during the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from quirk.analysis.contact.contact_kinematics import Gaps
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.user_functions import functions_of
from quirk.events import Event
from quirk.events.actions import functions_in
from quirk.forces import Friction
from quirk.functions.changes import Changes
from quirk.functions.effects import Effects
from quirk.functions.object_kinds import identity
from quirk.functions.outside_values import outside_values, refer_to_others
from quirk.result.contact_loads import ContactLoads
from quirk.result.segment import Segment
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .event_functions import other_called_functions

# Function that returns, for segments of a run and the active constraints and forces of each, the system whose inputs
# follow their recorded values over time, and the segments for this system; see `as_driven`.
Following: TypeAlias = Callable[[Sequence[Segment], Sequence[Configuration]], tuple[System, list[Segment]]]


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
        self._events = events
        self._solver: Solver | None = None
        self._has_contacts = any(isinstance(constraint, Unilateral) for constraint in system.constraints)
        self.analyze()

    def analyze(self) -> None:
        """Analyze anew what functions read and what actions modify, as variables may refer to other objects now."""
        self._changes = {event.name: Changes(functions_in(event.actions)) for event in self._events}
        self._parts: dict[tuple[CompiledModel, str], tuple[str, ...]] = {}
        self._read: dict[Any, tuple[Effects, dict[Any, Any]]] = {}

    def changed_titles(self, plant: CompiledModel, event: str) -> tuple[str, ...]:
        """Return the titles of constraints and forces with a user function whose data may be modified by an event.

        `plant` is the compiled model whose constraints and forces are considered, in addition to all contacts; `event`
        is the name of the event.
        """
        if any(refer_to_others(before, outside_values(reads)) for reads, before in self._read.values()):
            self.analyze()
        key = plant, event
        if key not in self._parts:
            gaps = (
                (f"{constraint}", gap.source)
                for constraint in self._system.constraints
                if isinstance(constraint, Unilateral)
                for gap in constraint.gaps
                if gap.source is not None
            )
            changed = [pair for pair in (*functions_of(plant.model), *gaps) if self._changes[event](pair[1])]
            for _, function in changed:
                if identity(function) not in self._read:
                    reads = Effects(function)
                    self._read[identity(function)] = reads, outside_values(reads)
            self._parts[key] = tuple(dict.fromkeys(title for title, _ in changed))
        return self._parts[key]

    def record(self, segment: Segment, configuration: Configuration, following: Following | None) -> None:
        """Compute and store the quantities of a segment that depend on data which later events may modify.

        Nothing is stored if some of these data have been modified since the first state of the segment.

        Parameters
        ----------
        segment, configuration : the segment, with its active constraints and forces
        following : see `HybridRun`; None if the run has no inputs
        """
        titles = tuple(
            dict.fromkeys(title for event in self._changes for title in self.changed_titles(segment.plant, event))
        )
        if not titles:
            return
        system, [evaluated] = (self._system, [segment]) if following is None else following([segment], [configuration])
        if evaluated.changed:
            segment.changed = tuple(dict.fromkeys((*segment.changed, *titles)))
            return
        if self._solver is None or self._solver.model is not evaluated.model:
            self._solver = evaluated.plant.solver(self._beside)
        evaluated.record(self._solver, titles)
        if self._has_contacts:
            frictions = [force for force in system.forces if isinstance(force, Friction)]
            evaluated.contact_loads = ContactLoads(system, Gaps(system, frictions), evaluated)
        if evaluated is not segment:
            segment.take_record(evaluated)
            segment.changed = titles
