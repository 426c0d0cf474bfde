"""Which loads of constraints the motion determines, where contacts and sticking friction share loads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..analysis.mobility import IN_SUM, INDETERMINATE, UNIQUE, Uniqueness
from ..system.system import System

# Changes of a load below this fraction of the largest of a redistribution are round-off.
NO_SHARE = 1e-6


def with_contacts(
    loads: Mapping[str, Uniqueness],
    system: System,
    names: Iterable[str],
    redistributions: Sequence[Mapping[str, np.ndarray]],
) -> dict[str, Uniqueness]:
    """Return the uniqueness of force and torque of constraints, with all contacts and sticking friction.

    Contacts and sticking friction that other rows make redundant have no rows in a run, but can carry a part of the
    load. Limits of friction, and that contacts only push, are disregarded.

    Parameters
    ----------
    loads : uniqueness according to the rows of the run alone, by name of the constraint
    system : System
    names : names of the constraints
    redistributions : for each group of constraints and friction elements that share a load, the changes (k, 2, 3) of
        force and torque of each of them, by name, for k independent redistributions of the load
    """
    found = {name: [of.force, of.torque] for name, of in loads.items()}
    found |= {name: [UNIQUE, UNIQUE] for name in names if name not in found}
    for changes in redistributions:
        sizes = {name: np.abs(of).max(axis=(0, 2)) / [1.0, system.model.length] for name, of in changes.items()}
        least = NO_SHARE * max(size.max() for size in sizes.values())
        pairs = {frozenset(body.name for body, _ in system[name].ends) for name in sizes if sizes[name].max() > least}
        for name in found.keys() & sizes.keys():
            for k in np.flatnonzero(sizes[name] > least):
                in_sum = len(pairs) == 1 and found[name][k] != INDETERMINATE
                found[name][k] = IN_SUM if in_sum else INDETERMINATE
    return {name: Uniqueness(*of) for name, of in found.items()}
