"""Digests of systems, used to check whether a saved run or a checkpoint belongs to a system."""

from __future__ import annotations

from collections.abc import Iterable

from ..bodies.body import GROUND
from ..events import Event
from ..system.system import System
from ..util.digest import digest


def part_names(system: System) -> dict[int, str]:
    """Return the names of the ground and of all bodies, constraints and forces of a system, by id of the object."""
    return {id(part): part.name for part in [GROUND, *system]}


def part_digests(system: System, events: Iterable[Event]) -> dict[str, str]:
    """Return a digest of each part (body, constraint, force) of a system and of each event of a run, by name.

    Functions are compared by their code and the values contained in them, not by global variables of their modules.
    """
    names = part_names(system)
    found = {}
    for part in [*system, *(event for event in events if id(event) not in names)]:
        others = {key: name for key, name in names.items() if key != id(part)}
        found[f"{part}"] = digest(part, others)
    return found


def system_digest(system: System) -> str:
    """Return a digest of gravity, the names of active parts, and the offsets that absorb closure errors of loops."""
    closure = [] if system.closure is None else [system.closure.tolerance, system.closure.offsets]
    active, idle = system.configuration.active, sorted(system.configuration.idle)
    return digest([system.gravity, sorted(active), *idle, *closure], part_names(system))
