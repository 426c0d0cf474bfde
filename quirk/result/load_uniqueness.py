"""Whether the loads of a joint are determined by the motion, beside friction that sticks."""

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
    """Return whether force and torque of a constraint are unique beside friction that sticks.

    A run has no rows for the part of the friction that other rows hold.

    Parameters
    ----------
    found : uniqueness by the rows of the run
    redistributions : changes of force and torque (k, 2, 3) of constraints and friction by name, by k redistributions,
        for each group that shares a load
    """
    verdicts, length, none = [found.force, found.torque], system.model.length, np.zeros((1, 2, 3))
    for changes in redistributions:
        sizes = {name: np.abs(of).max(axis=(0, 2)) / [1.0, length] for name, of in changes.items()}
        least = NO_SHARE * max(size.max() for size in sizes.values())
        shared = [name for name, size in sizes.items() if size.max() > least]
        pairs = {frozenset(body.name for body, _ in system[name].ends) for name in shared}
        changed = np.abs(changes.get(constraint.name, none)).max(axis=(0, 2)) / [1.0, length] > least
        for k in np.flatnonzero(changed):
            in_sum = len(pairs) == 1 and verdicts[k] != INDETERMINATE
            verdicts[k] = IN_SUM if in_sum else INDETERMINATE
    return Uniqueness(*verdicts)
