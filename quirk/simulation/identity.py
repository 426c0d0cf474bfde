"""Digests of systems, used to check whether a saved run or a checkpoint belongs to a system."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..bodies.body import GROUND
from ..events import Event
from ..functions.digest import Digests, digest, has_functions
from ..system.system import System
from .hybrid.event_functions import other_called_functions


def part_names(system: System) -> dict[int, str]:
    """Return the names of the ground and of all bodies, constraints and forces of a system, by id of the object."""
    return {id(part): part.name for part in [GROUND, *system]}


class PartDigests:
    """Digests of the parts of a system (bodies, constraints, forces) and of the events of a run, by name.

    Functions are compared by their code and by the values that they read when this object is created, except those that
    functions of the run set.

    Parameters
    ----------
    system : System
    events : events of the run

    Attributes
    ----------
    unknown : phrase for the objects and values that functions read and that cannot be compared, by part or event
    """

    def __init__(self, system: System, events: Sequence[Event]) -> None:
        names = part_names(system)
        self._parts = [*system, *(event for event in events if id(event) not in names)]
        self._digests = Digests(names, other_called_functions(system, events))
        self._of_functions: dict[int, str] = {}
        self.unknown: dict[str, str] = {}
        for part in self._parts:
            if has_functions(part, names):
                self._of_functions[id(part)] = self._digests(part, id(part))
                if unknown := self._digests.take_unknown():
                    self.unknown[f"{part}"] = " and ".join(unknown)

    @cached_property
    def by_name(self) -> dict[str, str]:
        """Digest of each part and event by name, computed on first use because digests of large meshes take time."""
        of_functions, digests = self._of_functions, self._digests
        return {f"{part}": of_functions.get(id(part)) or digests(part, id(part)) for part in self._parts}


def system_digest(system: System) -> str:
    """Return a digest of the properties of a system other than its parts.

    They are gravity, the names of active parts, the offsets that absorb closure errors of loops, `rank_tolerance` and
    `load_length`.
    """
    closure = [] if system.closure is None else [system.closure.tolerance, system.closure.offsets]
    active, idle = system.configuration.active, sorted(system.configuration.idle)
    tolerances = [system._rank_tolerance, system._load_length]
    return digest([system.gravity, sorted(active), *idle, *closure, *tolerances], part_names(system))
