"""State of contacts and friction during a run, and speed limits between rest and motion."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from quirk.analysis.contact.friction_states import SlidingContact
from quirk.analysis.contact.rope_states import RopeState
from quirk.dynamics.contact.coulomb import UNLOADED
from quirk.dynamics.contact.impulse import Impulse
from quirk.events.names import Patch, Shared

# Largest gap that counts as closed, over the length of the system or in rad.
CLOSED = 1e-10
# Rates and accelerations of contacts below this fraction of the largest speeds are round-off.
ROUND_OFF = 1e-12
# Tensile multipliers below this fraction of the largest load, rounded up to a power of ten, are round-off; for contacts
# without load, whose load is carried by other contacts, the fraction is UNLOADED.
NO_PULL = 1e-12
# Weaker loads than WEAK times the load that gives a gap the largest acceleration have the round-off of that load.
WEAK = 1e-3


@dataclass
class ContactState:
    """Contacts that are closed, contacts that carry load, and the state of each friction element.

    A gap is identified by its key: the name of its constraint and its index among the gaps of this constraint.

    Attributes
    ----------
    pushing : pairs (index of the row, multiplier below which the contact opens) by name of each constraint under load;
        the multiplier is zero up to round-off
    idle : keys of closed gaps that have no constraint row, because it would depend on other rows
    rubbing : state of friction elements, by name
    loads : monitored loads by key of gap; a contact with friction opens when its load falls below zero
    below : largest tolerated negative value by key of gap, m or rad, for contacts that open from slight
        interpenetration
    parts : index of the face or edge in contact of a bounded surface, by name of contact
    returns : monitored loads by key of closed gap without load, next to sliding contacts; the contact is loaded again
        when this load becomes positive
    sides : flank in contact (1, -1, or 0 for none) of elastic meshes with free play, by name
    ropes : state of elastic ropes with friction, by name
    patched : keys of the gaps of sticking contacts that share a load; their common margin to the friction cones is
        monitored
    """

    pushing: dict[str, tuple[int, float]] = field(default_factory=dict)
    idle: frozenset[tuple[str, int]] = frozenset()
    rubbing: dict[str, SlidingContact] = field(default_factory=dict)
    loads: dict[tuple[str, int], Shared] = field(default_factory=dict)
    below: dict[tuple[str, int], float] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    returns: dict[tuple[str, int], Shared] = field(default_factory=dict)
    patched: frozenset[tuple[str, int]] = frozenset()
    sides: dict[str, int] = field(default_factory=dict)
    ropes: dict[str, RopeState] = field(default_factory=dict)

    def closed(self, name: str) -> bool:
        """Whether the unilateral constraint called `name` is closed."""
        return name in self.pushing or any(name == key[0] for key in (*self.loads, *self.idle, *self.patched))

    def at_limit(self, name: str) -> tuple[str, ...]:
        """Return the names of the friction elements that reach the limit of sticking when `name` does, itself included.

        Friction elements that share a load reach this limit at the same instant.
        """
        cone = self.rubbing[name].cone if name in self.rubbing else None
        return cone.members if isinstance(cone, Patch) else (name,)

    @property
    def sharing(self) -> set[str]:
        """Names of contacts and sticking friction elements whose loads depend on several constraint multipliers."""
        several = (key for key, load in self.loads.items() if sum(any(w) for w in zip(*load.weights, strict=True)) > 1)
        members = (rub.cone.members for rub in self.rubbing.values() if isinstance(rub.cone, Patch))
        return {name for name, _ in (*self.patched, *self.idle, *several)}.union(*members)

    @property
    def key(self) -> Hashable:
        """Hashable key that, combined with the configuration, determines which event functions are monitored."""
        return (
            self.idle,
            tuple(sorted(self.pushing.items())),
            tuple(self.rubbing.items()),
            tuple(self.loads.items()),
            tuple(self.below.items()),
            tuple(sorted(self.parts.items())),
            tuple(self.returns.items()),
            self.patched,
            tuple(sorted(self.sides.items())),
            tuple(self.ropes.items()),
        )


class Struck(NamedTuple):
    """Outcome of simultaneous impacts: state vector, impulses and rates.

    Attributes
    ----------
    y : (13 n + k,) state vector of n bodies and k auxiliary states after the impacts
    impulse : impulses by name of constraint
    rates : rates of gaps, and of slip components with friction, after the impacts, m/s or rad/s
    restitution_kept : factor, at most 1, on coefficients of restitution, which ensures that no energy is gained
    """

    y: np.ndarray
    impulse: dict[str, Impulse]
    rates: np.ndarray
    restitution_kept: float = 1.0


@dataclass(frozen=True)
class ImpactOutcome:
    """State vector and contact state after impacts.

    Attributes
    ----------
    y : (13 n + k,) state vector of n bodies and k auxiliary states after the impacts
    resting : contact state after the impacts
    impulse : impulses by name of constraint
    restitution_kept : factor, at most 1, on coefficients of restitution, which ensures that no energy is gained
    """

    y: np.ndarray
    resting: ContactState
    impulse: dict[str, Impulse]
    restitution_kept: float = 1.0


@dataclass(frozen=True)
class Speeds:
    """Speed limits (c,) of c gaps between rest and motion, m/s or rad/s.

    Attributes
    ----------
    limits : approach speeds below which an impact has no rebound
    slow : separation speeds below which a contact stays closed
    noise : approach speeds below which there is no impact (round-off)
    free : speeds after a free fall over the characteristic length
    """

    limits: np.ndarray
    slow: np.ndarray
    noise: np.ndarray
    free: np.ndarray


def opens(x: float, largest: float) -> float:
    """Return the multiplier below which a contact opens: zero up to the round-off of the largest multiplier.

    `x` is the present multiplier of the contact, and `largest` the largest multiplier of all contacts.
    """
    if not largest > 0:
        return 0.0
    part = NO_PULL if x > UNLOADED * largest else UNLOADED
    return float(-part * 10.0 ** np.ceil(np.log10(largest)))
