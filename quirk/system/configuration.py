"""Which parts of a system are active."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..constraints import Constraint
from ..constraints.unilateral import Unilateral


@dataclass(frozen=True)
class Configuration:
    """The parts of a system that are active while it moves.

    Attributes
    ----------
    active : names of the constraints that are switched on
    idle : names of the forces, and of the constraints that push, that are switched off
    others : constraints and forces that stand in the place of those of the system, by name
    """

    active: frozenset[str]
    idle: frozenset[str] = frozenset()
    others: tuple[tuple[str, Any], ...] = field(default=())

    def since(self, start: Configuration) -> tuple[dict[str, bool], dict[str, Any]]:
        """Return what is switched otherwise than at the start, by name, and what stands in the place of others."""
        on = (self.active - start.active) | (start.idle - self.idle)
        off = (start.active - self.active) | (self.idle - start.idle)
        return {name: name in on for name in sorted(on | off)}, dict(self.others)

    def with_constraints(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return the same with further constraints switched on, and with others switched off."""
        return replace(self, active=(self.active | on) - off)

    def with_forces(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return the same with forces switched on and off."""
        return replace(self, idle=(self.idle - on) | off)

    def switched(self, part: Any, on: bool) -> Configuration:
        """Return the same with a constraint or a force switched on or off."""
        names = frozenset([part.name])
        if isinstance(part, Constraint) and not isinstance(part, Unilateral):
            return self.with_constraints(**{"on" if on else "off": names})
        return self.with_forces(**{"on" if on else "off": names})

    def with_others(self, parts: Mapping[str, Any]) -> Configuration:
        """Return the same with these parts in the place of those of their names."""
        return replace(self, others=tuple({**dict(self.others), **parts}.items()))
