"""Detection of values in Python that the caller's loop changes between calls of `Run.advance`.

Machine code contains the outside values of a user function (global variables, closure variables and attributes) as
constants. A run therefore compares them at each call with those of the last call. Where the values that a function
reads cannot be determined, as those of files, they count as changed at each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..constraints.unilateral import Unilateral
from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.user_functions import functions_of
from ..events import Event
from ..events.actions import functions_in
from ..functions.effects import Effects
from ..functions.expression import Expression
from ..functions.object_kinds import identity
from ..functions.outside_values import differ, outside_values, refer_to_others
from ..system.system import System
from .hybrid.event_functions import other_called_functions


@dataclass
class Reader:
    """A user function with the outside values that it reads.

    Attributes
    ----------
    function : the user function
    titles : titles of the constraints, contacts, forces and events with this function
    reads : variables and objects that it reads
    compiled : outside values when it was compiled
    last : outside values at the last comparison
    in_python : whether it runs in Python, because its outside values have changed
    """

    function: Any
    titles: set[str]
    reads: Effects
    compiled: dict[Any, Any]
    last: dict[Any, Any]
    in_python: bool = False

    def compare(self) -> bool:
        """Whether the outside values differ from those of the last comparison, which the present ones then replace."""
        values = outside_values(self.reads)
        changed, replaced = differ(self.last, values), refer_to_others(self.last, values)
        self.last = values
        if replaced:
            self.analyze()
        return changed

    def analyze(self) -> None:
        """Store the present values, and analyze again what the function reads, as other objects may be in place."""
        self.reads = Effects(self.function)
        self.last = outside_values(self.reads)


class ReaderValues:
    """Outside values of user functions by identity; they are lost when pickled, since ids are then others.

    Attributes
    ----------
    changed : see `OutsideChanges`
    values : outside values at the last comparison, by identity of the function
    """

    def __init__(self, changed: dict[str, bool], values: dict[Any, dict[Any, Any]] | None = None) -> None:
        self.changed = changed
        self.values = {} if values is None else values

    def __reduce__(self) -> tuple[type[ReaderValues], tuple[dict[str, bool]]]:
        return ReaderValues, (self.changed,)


class OutsideChanges:
    """Outside values of the user functions of a run, to notice changes that the caller's loop makes.

    Actions of events and sampled functions are not included: they run in Python, at definite times.

    Parameters
    ----------
    system : system of the run; the gap functions of its contacts are included
    events : events of the run; the functions that they watch are included

    Attributes
    ----------
    version : number of changes so far
    changed : titles of parts with functions whose values have changed (True), or may have changed as they cannot be
        determined (False), since the caller has cleared this dict
    """

    def __init__(self, system: System, events: Sequence[Event]) -> None:
        self.version = 0
        self.changed: dict[str, bool] = {}
        self._readers: dict[Any, Reader] = {}
        self._plants: set[CompiledModel] = set()
        called = other_called_functions(system, events)
        self._writes = any(Effects(function).writes for function in called)
        for constraint in system.constraints:
            if isinstance(constraint, Unilateral):
                self._add((f"{constraint}", gap.source) for gap in constraint.gaps if gap.source is not None)
        for event in events:
            actions = {identity(action) for action in functions_in(event.actions)}
            self._add((f"{event}", function) for function in event.user_functions if identity(function) not in actions)

    def _add(self, functions: Iterable[tuple[str, Any]]) -> None:
        """Add functions, each with the title of its part."""
        for title, function in functions:
            if identity(function) in self._readers:
                self._readers[identity(function)].titles.add(title)
                continue
            if isinstance(function, Expression):
                continue
            reads = Effects(function)
            values = outside_values(reads)
            if values or not reads.known:
                self._readers[identity(function)] = Reader(function, {title}, reads, values, values)
                self._writes = self._writes or reads.writes

    @property
    def may_change(self) -> bool:
        """Whether any function reads outside values."""
        return bool(self._readers)

    @property
    def titles(self) -> set[str]:
        """Titles of all parts with functions that read outside values."""
        return set[str]().union(*(reader.titles for reader in self._readers.values()))

    def record(self, solvers: Mapping[CompiledModel, Solver]) -> None:
        """Store the present values, which the run itself may have changed since the last call.

        `solvers` are the solvers of the compiled models of the run so far.
        """
        for plant, solver in solvers.items():
            if plant not in self._plants:
                self._plants.add(plant)
                self._add(functions_of(plant.model))
                for function in (*solver.applied.called, *solver.related.called):
                    reader = self._readers.get(identity(function))
                    if reader is not None and not reader.reads.known:
                        reader.in_python = True
        if not self._writes:
            return
        for reader in self._readers.values():
            reader.compare()
            # Functions whose values the run changes run in Python already.
            reader.in_python = reader.in_python or differ(reader.compiled, reader.last)

    def changed_functions(self) -> list[Any]:
        """Return the functions that must run in Python from now on; `version` is increased if any value has changed."""
        found, before = [], self.version
        for reader in self._readers.values():
            changed = reader.compare()
            if changed or not reader.reads.known:
                self.version = before + 1
                self.changed |= {title: changed or self.changed.get(title, False) for title in sorted(reader.titles)}
            if not reader.in_python and (differ(reader.compiled, reader.last) or not reader.reads.known):
                reader.in_python = True
                found.append(reader.function)
        return found

    def snapshot(self) -> ReaderValues:
        """Return copies of `changed` and of the values at the last comparison."""
        return ReaderValues(dict(self.changed), {key: reader.last for key, reader in self._readers.items()})

    def recall(self, saved: ReaderValues) -> None:
        """Compare with the values of a snapshot from now on, or with the present ones where it has none."""
        self.changed = dict(saved.changed)
        for key, reader in self._readers.items():
            if key in saved.values:
                reader.last = saved.values[key]
            else:
                reader.analyze()
