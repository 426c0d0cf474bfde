"""Whether the motion determines the loads of a joint, in a system with sticking friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..analysis.mobility import IN_SUM, INDETERMINATE, Uniqueness
from ..constraints import Constraint
from ..system.system import System

# Changes of a load below this fraction of the largest of a redistribution are round-off.
NO_SHARE = 1e-6


def with_friction(
    found: Uniqueness, system: System, constraint: Constraint, redistributions: Sequence[Mapping[str, np.ndarray]]
) -> Uniqueness:
    """Return whether force and torque of a constraint are unique if sticking friction is taken into account.

    Sticking friction that other rows make redundant has no rows in a run, but can carry a part of the load.

    Parameters
    ----------
    found : uniqueness according to the rows of the run alone
    system : System
    constraint : the constraint
    redistributions : for each group of constraints and friction elements that share a load, the changes (k, 2, 3) of
        force and torque of each of them, by name, for k independent redistributions of the load
    """
    uniqueness, length, none = [found.force, found.torque], system.model.length, np.zeros((1, 2, 3))
    for changes in redistributions:
        sizes = {name: np.abs(of).max(axis=(0, 2)) / [1.0, length] for name, of in changes.items()}
        least = NO_SHARE * max(size.max() for size in sizes.values())
        shared = [name for name, size in sizes.items() if size.max() > least]
        pairs = {frozenset(body.name for body, _ in system[name].ends) for name in shared}
        changed = np.abs(changes.get(constraint.name, none)).max(axis=(0, 2)) / [1.0, length] > least
        for k in np.flatnonzero(changed):
            in_sum = len(pairs) == 1 and uniqueness[k] != INDETERMINATE
            uniqueness[k] = IN_SUM if in_sum else INDETERMINATE
    return Uniqueness(*uniqueness)
