"""The enabled parts of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..constraints import Constraint
from ..constraints.unilateral import Unilateral


@dataclass(frozen=True)
class Configuration:
    """The parts of a system that are enabled during a run.

    Attributes
    ----------
    active : names of the enabled constraints
    idle : names of the disabled forces and unilateral constraints
    others : replacements of the system's constraints and forces, by name
    """

    active: frozenset[str]
    idle: frozenset[str] = frozenset()
    others: tuple[tuple[str, Any], ...] = field(default=())

    def since(self, start: Configuration) -> tuple[dict[str, bool], dict[str, Any]]:
        """Return the changes since `start`: whether parts are enabled, by name, and the replacements."""
        on = (self.active - start.active) | (start.idle - self.idle)
        off = (start.active - self.active) | (self.idle - start.idle)
        return {name: name in on for name in sorted(on | off)}, dict(self.others)

    def with_constraints(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return a copy with some constraints enabled and others disabled."""
        return replace(self, active=(self.active | on) - off)

    def with_forces(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return a copy with some forces enabled and others disabled."""
        return replace(self, idle=(self.idle - on) | off)

    def switched(self, part: Any, on: bool) -> Configuration:
        """Return a copy with a constraint or force enabled or disabled."""
        names = frozenset([part.name])
        if isinstance(part, Constraint) and not isinstance(part, Unilateral):
            return self.with_constraints(**{"on" if on else "off": names})
        return self.with_forces(**{"on" if on else "off": names})

    def with_others(self, parts: Mapping[str, Any]) -> Configuration:
        """Return a copy with parts replaced by those of the same name."""
        return replace(self, others=tuple({**dict(self.others), **parts}.items()))
