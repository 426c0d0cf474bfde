"""Whether a motion keeps all constraints, those left out as redundant among them."""

from __future__ import annotations

import numpy as np

from .assembly import FAR, constraint_of, violations
from .errors import SimulationError
from .result import Result

# Violations beyond this part of the size of the system, at any of so many states, are no round-off.
CONTRADICTION, CHECKED_STATES = 1e-6, 10


def check_kept(result: Result, owner: str) -> None:
    """Raise SimulationError where constraints contradict each other: of redundant rows some are left out."""
    system = result.system
    if not system.model.rows:
        return
    for row in np.unique(np.linspace(0, len(result.time) - 1, CHECKED_STATES).astype(int)):
        state, t = result.state_at(row), float(result.time[row])
        amount, _, angular = violations(system, state, t)
        miss = amount / np.where(angular, 1.0, system.model.length + FAR * np.abs(state.position).max())
        worst = int(np.argmax(miss))
        if not miss[worst] <= CONTRADICTION:
            unit = "rad" if angular[worst] else "m"
            raise SimulationError(
                f"{owner}: at t = {t:.9g} s {constraint_of(system, worst)} is violated by {amount[worst]:.3g} {unit} "
                f"(row {system.model.labels[worst]}): it contradicts other constraints, or its function has no slope; "
                "the result is in this error's .result",
                time=t,
                result=result,
            )
