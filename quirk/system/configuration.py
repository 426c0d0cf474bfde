"""Sets of the enabled constraints and forces of a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..constraints import Constraint
from ..constraints.unilateral import Unilateral


@dataclass(frozen=True)
class Configuration:
    """Enabled and disabled constraints and forces of a system at one time of a run.

    Attributes
    ----------
    active : names of the enabled bilateral constraints
    idle : names of the disabled forces and unilateral constraints
    others : pairs (name, constraint or force that replaces the system's part of this name)
    """

    active: frozenset[str]
    idle: frozenset[str] = frozenset()
    others: tuple[tuple[str, Any], ...] = field(default=())

    def since(self, start: Configuration) -> tuple[dict[str, bool], dict[str, Any]]:
        """Return the differences from an earlier configuration `start`, as two dicts by name.

        The first maps each constraint or force that has since been enabled or disabled to True or False. The second
        contains the constraints and forces that have replaced others.
        """
        on = (self.active - start.active) | (start.idle - self.idle)
        off = (start.active - self.active) | (self.idle - start.idle)
        return {name: name in on for name in sorted(on | off)}, dict(self.others)

    def with_constraints(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return a copy with the bilateral constraints in `on` enabled, and those in `off` disabled.

        `on` and `off` are sets of names.
        """
        return replace(self, active=(self.active | on) - off)

    def with_forces(self, on: frozenset[str] = frozenset(), off: frozenset[str] = frozenset()) -> Configuration:
        """Return a copy with the forces and unilateral constraints in `on` enabled, and those in `off` disabled.

        `on` and `off` are sets of names.
        """
        return replace(self, idle=(self.idle - on) | off)

    def switched(self, part: Any, on: bool) -> Configuration:
        """Return a copy in which the constraint or force `part` is enabled if `on` is True, and otherwise disabled."""
        names = frozenset([part.name])
        if isinstance(part, Constraint) and not isinstance(part, Unilateral):
            return self.with_constraints(**{"on" if on else "off": names})
        return self.with_forces(**{"on" if on else "off": names})

    def with_others(self, parts: Mapping[str, Any]) -> Configuration:
        """Return a copy in which `parts`, constraints and forces by name, replace the parts with the same names."""
        return replace(self, others=tuple({**dict(self.others), **parts}.items()))
