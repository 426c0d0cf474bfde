"""Which contacts are closed, and what tells rest from motion."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from quirk.analysis.contact.friction_states import SlidingContact
from quirk.dynamics.contact.impulse import Impulse
from quirk.events.names import Patch, Shared

# A gap counts as closed within this part of the size of the system, or within this angle in rad.
CLOSED = 1e-10
# Rates and accelerations of contacts below this part of the largest speeds are round-off.
ROUND_OFF = 1e-12
# Multipliers that pull by less than this part of the largest load, rounded up to a power of ten, are round-off; of
# contacts without load, which others carry, those that pull by less than that.
NO_PULL, UNLOADED = 1e-12, 1e-9


@dataclass
class ContactState:
    """Which unilateral constraints are closed.

    Attributes
    ----------
    pushing : by name of those that have rows the number of the row, and below what its multiplier opens it: zero but
        for round-off
    idle : those that are closed and have no row, as it would follow from others
    rubbing : what friction does, by name
    loads : of contacts with friction the load that opens them where it falls below zero
    below : of those that open from a little below zero, how far they may be there, m or rad
    parts : by name of those that touch a bounded surface the number of its part
    returns : of closed contacts without a load, where others slide, the load that they would take up once it pushes
    patched : contacts that stick and share a load, of which how far inside their cones they can is watched
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
        """Whether a unilateral constraint is closed."""
        return name in self.pushing or any(name == key[0] for key in (*self.loads, *self.idle, *self.patched))

    def at_limit(self, name: str) -> tuple[str, ...]:
        """Return all frictions that reach their limit with one: those that share its load, or itself alone."""
        cone = self.rubbing[name].cone if name in self.rubbing else None
        return cone.members if isinstance(cone, Patch) else (name,)

    @property
    def sharing(self) -> set[str]:
        """Names of contacts, and of frictions that hold there, whose loads follow from those of several."""
        several = (key for key, load in self.loads.items() if sum(any(w) for w in zip(*load.weights, strict=True)) > 1)
        members = (rub.cone.members for rub in self.rubbing.values() if isinstance(rub.cone, Patch))
        return {name for name, _ in (*self.patched, *self.idle, *several)}.union(*members)

    @property
    def key(self) -> Hashable:
        """What the quantities that are watched depend on, besides the active parts."""
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
    """A state after impacts, with what is closed from there on.

    Attributes
    ----------
    y : (13 n + k,)
    resting : ContactState
    impulse : of all constraints that exerted one, by name
    restitution_kept : part of the restitution of all contacts with which the impact gains no energy
    """

    y: np.ndarray
    resting: ContactState
    impulse: dict[str, Impulse]
    restitution_kept: float = 1.0


@dataclass(frozen=True)
class Speeds:
    """Speeds (c,) of gaps that tell rest from motion.

    Attributes
    ----------
    limits : slower impacts come to rest
    slow : what moves apart more slowly stays
    noise : what approaches more slowly does not count as an impact
    free : of a free fall over the size of the system
    """

    limits: np.ndarray
    slow: np.ndarray
    noise: np.ndarray
    free: np.ndarray


def opens(x: float, largest: float) -> float:
    """Below which multiplier a contact opens that pushes with x, where the largest load is given: nothing but noise."""
    if not largest > 0:
        return 0.0
    part = NO_PULL if x > UNLOADED * largest else UNLOADED
    return float(-part * 10.0 ** np.ceil(np.log10(largest)))
