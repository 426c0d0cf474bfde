"""State of contacts and friction, and speed limits that separate rest from motion."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from quirk.analysis.contact.friction_states import SlidingContact
from quirk.dynamics.contact.impulse import Impulse
from quirk.events.names import Patch, Shared

# Largest gap that counts as closed, over the length of the system or in rad.
CLOSED = 1e-10
# Rates and accelerations of contacts below this fraction of the largest speeds are round-off.
ROUND_OFF = 1e-12
# Tensile multipliers below this fraction of the largest load, rounded up to a power of ten, are round-off; and a
# fraction for contacts without load, whose load is carried by other contacts.
NO_PULL, UNLOADED = 1e-12, 1e-9


@dataclass
class ContactState:
    """State of the unilateral constraints and of friction.

    Attributes
    ----------
    pushing : constraints with rows, by name: index of the row, and the multiplier below which it opens
        The multiplier is zero up to round-off.
    idle : closed constraints without row, as it would depend on others
    rubbing : state of friction, by name
    loads : loads of contacts with friction that open when these fall below zero
    below : distances below zero, m or rad, allowed for contacts that open from slight interpenetration
    parts : index of the touched part of a bounded surface, by name
    returns : loads of closed contacts without load, next to sliding ones, that load them when positive
    patched : sticking contacts that share a load; their common margin to the friction cones is monitored
    """

    pushing: dict[str, tuple[int, float]] = field(default_factory=dict)
    idle: frozenset[tuple[str, int]] = frozenset()
    rubbing: dict[str, SlidingContact] = field(default_factory=dict)
    loads: dict[tuple[str, int], Shared] = field(default_factory=dict)
    below: dict[tuple[str, int], float] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    returns: dict[tuple[str, int], Shared] = field(default_factory=dict)
    patched: frozenset[tuple[str, int]] = frozenset()

    def closed(self, name: str) -> bool:
        """Return whether a unilateral constraint is closed."""
        return name in self.pushing or any(name == key[0] for key in (*self.loads, *self.idle, *self.patched))

    def at_limit(self, name: str) -> tuple[str, ...]:
        """Names of all friction that reaches its limit together with this one, because it shares the load."""
        cone = self.rubbing[name].cone if name in self.rubbing else None
        return cone.members if isinstance(cone, Patch) else (name,)

    @property
    def sharing(self) -> set[str]:
        """Names of contacts, and of sticking friction, whose loads are combinations of several multipliers."""
        several = (key for key, load in self.loads.items() if sum(any(w) for w in zip(*load.weights, strict=True)) > 1)
        members = (rub.cone.members for rub in self.rubbing.values() if isinstance(rub.cone, Patch))
        return {name for name, _ in (*self.patched, *self.idle, *several)}.union(*members)

    @property
    def key(self) -> Hashable:
        """Key of the set of monitored quantities, in addition to the active parts."""
        return (
            self.idle,
            tuple(sorted(self.pushing.items())),
            tuple(self.rubbing.items()),
            tuple(self.loads.items()),
            tuple(self.below.items()),
            tuple(sorted(self.parts.items())),
            tuple(self.returns.items()),
            self.patched,
        )


@dataclass(frozen=True)
class ImpactOutcome:
    """State after impacts, and the contact state from then on.

    Attributes
    ----------
    y : (13 n + k,) state after the impacts
    resting : ContactState
    impulse : impulses of constraints, by name
    restitution_kept : fraction of the coefficients of restitution with which the impact gains no energy
    """

    y: np.ndarray
    resting: ContactState
    impulse: dict[str, Impulse]
    restitution_kept: float = 1.0


@dataclass(frozen=True)
class Speeds:
    """Speed limits (c,) of gaps that separate rest from motion.

    Attributes
    ----------
    limits : impacts below this approach speed have no rebound
    slow : contacts that separate more slowly stay closed
    noise : approach speeds below this are round-off and cause no impact
    free : speed of a free fall over the length of the system
    """

    limits: np.ndarray
    slow: np.ndarray
    noise: np.ndarray
    free: np.ndarray


def opens(x: float, largest: float) -> float:
    """Return the multiplier below which a contact with multiplier x opens: zero up to round-off of the largest load."""
    if not largest > 0:
        return 0.0
    part = NO_PULL if x > UNLOADED * largest else UNLOADED
    return float(-part * 10.0 ** np.ceil(np.log10(largest)))
