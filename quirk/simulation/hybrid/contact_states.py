"""State of contacts and friction during a run, and speed limits between rest and motion."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from quirk.analysis.contact.friction_modes import FrictionMode
from quirk.analysis.contact.rope_states import RopeState
from quirk.dynamics.contact.dependent_contacts import UNLOADED
from quirk.dynamics.contact.impulse import Impulse
from quirk.events.names import CommonMargin, KeptRows, Shared
from quirk.forces.stick_slip import StickSlip

# What impulses cannot do where constraints press bodies against each other, for error messages.
PREVENT = "prevent interpenetration at all of these contacts"
# Largest gap that counts as closed, relative to the length of the system or in rad.
CLOSED_GAP = 1e-10
# Rates of contacts below this fraction of the largest speed of the bodies are round-off; the same fraction of the
# largest acceleration applies to accelerations of contacts.
ROUND_OFF = 1e-12
# Tensile multipliers below this fraction of the largest load, rounded up to a power of ten, are round-off; for contacts
# without load, whose load is carried by other contacts, the fraction is UNLOADED.
TENSION_TOLERANCE = 1e-12
# The threshold of round-off of a contact load is at least that of a load which accelerates the gap by WEAK_LOAD times
# the largest acceleration of the bodies.
WEAK_LOAD = 1e-3


@dataclass
class ContactState:
    """Closed contacts, contacts under load, and the state of each friction element.

    A gap is identified by its key: the name of its constraint and its index among the gaps of this constraint.

    Attributes
    ----------
    loaded : pairs (index of the row, multiplier below which the contact opens) by name of each constraint under load;
        the multiplier is zero up to round-off
    unloaded : keys of closed gaps that have no constraint row, because it would depend on other rows, or because there
        is no load
    friction : state of friction elements, by name
    loads : monitored loads by key of gap; a contact with friction opens when its load falls below zero
    tolerated_gaps : largest tolerated negative value by key of gap, m or rad, for contacts that open from slight
        interpenetration
    parts : index of the face or edge in contact of a bounded surface, by name of contact
    reloading : monitored tensions of closed contacts without load whose rows depend on sliding contacts, by key of gap;
        a contact is loaded again when its tension becomes negative
    flank_sides : flank in contact (1, -1, or 0 for none) of elastic meshes with free play, by name
    ropes : state of elastic ropes with friction, by name
    shared_margins : keys of the gaps of sticking contacts that share a load; their common margin to the friction cones
        is monitored
    kept_rows : watched independence of the rows kept of those that share loads; None if their dependence is constant
    redundant : keys of those gaps in `unloaded` that the rows of other constraints keep closed; they may share a load
    creeping : rates, m/s or rad/s, beyond which gaps in `redundant` creep because those rows held them only at an
        instant, by key of gap
    """

    loaded: dict[str, tuple[int, float]] = field(default_factory=dict)
    unloaded: frozenset[tuple[str, int]] = frozenset()
    friction: dict[str, FrictionMode] = field(default_factory=dict)
    loads: dict[tuple[str, int], Shared] = field(default_factory=dict)
    tolerated_gaps: dict[tuple[str, int], float] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)
    reloading: dict[tuple[str, int], Shared] = field(default_factory=dict)
    shared_margins: frozenset[tuple[str, int]] = frozenset()
    flank_sides: dict[str, int] = field(default_factory=dict)
    ropes: dict[str, RopeState] = field(default_factory=dict)
    kept_rows: KeptRows | None = None
    redundant: frozenset[tuple[str, int]] = field(default=frozenset(), compare=False)
    creeping: dict[tuple[str, int], float] = field(default_factory=dict)

    def closed(self, name: str) -> bool:
        """Whether the unilateral constraint called `name` is closed."""
        return name in self.loaded or any(name == key[0] for key in (*self.loads, *self.unloaded, *self.shared_margins))

    def held(self, name: str) -> bool:
        """Whether constraint rows keep the unilateral constraint called `name` closed.

        A closed contact that is not held carries no load, and is free to open.
        """
        return name in self.all_held

    @property
    def all_held(self) -> set[str]:
        """Names of all unilateral constraints that constraint rows keep closed, see `held`."""
        return {*self.loaded, *(name for name, _ in (*self.loads, *self.redundant, *self.shared_margins))}

    def elements_at_limit(self, name: str) -> tuple[str, ...]:
        """Return the names of the friction elements that reach the limit of sticking when `name` does, itself included.

        Friction elements that share a load reach this limit at the same instant.
        """
        cone = self.friction[name].margin if name in self.friction else None
        return cone.members if isinstance(cone, CommonMargin) else (name,)

    @property
    def sharing_load(self) -> set[str]:
        """Names of contacts and sticking friction elements whose loads depend on several constraint multipliers."""
        several = (key for key, load in self.loads.items() if sum(any(w) for w in zip(*load.weights, strict=True)) > 1)
        members = (mode.margin.members for mode in self.friction.values() if isinstance(mode.margin, CommonMargin))
        # A contact without load that is the only one has nothing to share its load with.
        alone = len(self.unloaded) + len(self.loaded) + len(self.friction) == 1
        unloaded = () if alone else self.unloaded
        return {name for name, _ in (*self.shared_margins, *unloaded, *several)}.union(*members)

    def sticks_redundantly(self, part: Any) -> bool:
        """Whether a part is friction that sticks without a row for each of its slip components."""
        mode = self.friction.get(part.name) if isinstance(part, StickSlip) else None
        return (
            mode is not None and mode.sticking_components is not None and len(mode.sticking_components) < part.slip.size
        )

    @property
    def key(self) -> Hashable:
        """Hashable key that, combined with the configuration, determines which event functions are monitored."""
        return (
            self.unloaded,
            tuple(sorted(self.loaded.items())),
            tuple(self.friction.items()),
            tuple(self.loads.items()),
            tuple(self.tolerated_gaps.items()),
            tuple(sorted(self.parts.items())),
            tuple(self.reloading.items()),
            self.shared_margins,
            tuple(sorted(self.flank_sides.items())),
            tuple(self.ropes.items()),
            self.kept_rows,
            tuple(self.creeping.items()),
        )


class Impact(NamedTuple):
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
    contact_state : contact state after the impacts
    impulse : impulses by name of constraint
    restitution_kept : factor, at most 1, on coefficients of restitution, which ensures that no energy is gained
    """

    y: np.ndarray
    contact_state: ContactState
    impulse: dict[str, Impulse]
    restitution_kept: float = 1.0


@dataclass(frozen=True)
class SpeedLimits:
    """Speed limits (c,) of c gaps between rest and motion, m/s or rad/s.

    Attributes
    ----------
    rebound : approach speeds below which an impact has no rebound
    separation : separation speeds below which a contact stays closed
    round_off : approach speeds below which there is no impact (round-off)
    free_fall : speeds after a free fall over the characteristic length
    """

    rebound: np.ndarray
    separation: np.ndarray
    round_off: np.ndarray
    free_fall: np.ndarray


def opening_threshold(x: float, largest: float) -> float:
    """Return the multiplier below which a contact opens: zero up to the round-off of the largest multiplier.

    `x` is the present multiplier of the contact, and `largest` the largest multiplier of all contacts.
    """
    if not largest > 0:
        return 0.0
    part = TENSION_TOLERANCE if x > UNLOADED * largest else UNLOADED
    return float(-part * 10.0 ** np.ceil(np.log10(largest)))
