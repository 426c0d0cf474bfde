"""Sequential impacts of several contacts, in the order in which a shock propagates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from quirk.dynamics.contact.impulse import Impulse
from quirk.errors import SwitchingError

from .contact_states import Impact

# Ways to resolve the impacts of several contacts: all at once, or one after the other.
SIMULTANEOUS, SEQUENTIAL = IMPACTS = "simultaneous", "sequential"

# Maximum number of rounds of a sequence: a light ball between heavy ones strikes them pi sqrt(mass ratio) times.
MOST_ROUNDS = 100_000
# Contacts with approach speeds below this fraction of the largest initial approach speed, a limit of round-off, do not
# take part in a round. If this applies to all contacts, the sequence ends without rebound.
FADED = 1e-9

# (y, mask of the contacts with an impact, whether they rebound) -> outcome
Strike = Callable[[np.ndarray, np.ndarray, bool], Impact]


def sequential_impacts(
    y: np.ndarray,
    rates: Callable[[np.ndarray], np.ndarray],
    min_speeds: np.ndarray,
    limits: np.ndarray,
    strike: Strike,
) -> Impact:
    """Return the outcome of a sequence of impacts: final state, sums of impulses, and rates of all closed gaps.

    In each round of the sequence, impulses act at all closing gaps simultaneously. Contacts at rest take part in the
    next round if these impulses make their gaps close. When all approach speeds are below the limits of rebound, all
    contacts are brought to rest simultaneously. In each round coefficients of restitution are reduced by a factor, so
    that no energy is gained; the smallest of these factors is returned.

    Parameters
    ----------
    y : state vector before the impacts
    rates : function of the state vector that returns the rates (c,) of the c closed gaps
    min_speeds : (c,) approach speeds below which there is no impact
    limits : (c,) approach speeds below which there is no rebound
    strike : function that returns the outcome of simultaneous impacts of some contacts
    """
    impulse: dict[str, Impulse] = {}
    kept, first = 1.0, None
    for _ in range(MOST_ROUNDS):
        present = rates(y)
        speed = -present
        first = speed.max() if first is None else first
        slowest = np.maximum(min_speeds, FADED * first)
        fades = bool((speed <= np.maximum(limits, slowest)).all())
        if fades and not (speed > min_speeds).any():
            return Impact(y, impulse, present, kept)
        impact = strike(y, (speed > slowest) | fades, not fades)
        y, impulse, kept = impact.y, sum_of_impulses(impulse, impact.impulse), min(kept, impact.restitution_kept)
        if fades:
            return Impact(y, impulse, rates(y), kept)
    raise SwitchingError(
        f'the impacts of touching bodies did not end after {MOST_ROUNDS} rounds: take impacts="simultaneous", or lower '
        "the restitution"
    )


def sum_of_impulses(one: Mapping[str, Impulse], other: Mapping[str, Impulse]) -> dict[str, Impulse]:
    """Return the sum of two sets of impulses, by name of constraint."""
    total = dict(one)
    for name, impulse in other.items():
        before = total.get(name)
        if before is not None:
            impulse = Impulse(before.force + impulse.force, before.torque + impulse.torque)
        total[name] = impulse
    return total
