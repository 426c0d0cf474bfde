"""Violations of constraints, and gaps, at the present state of a run, before values that user functions read change.

After a change, the violations show whether a constraint function has jumped, and by how much.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..analysis.assembly import missing
from ..analysis.contact.contact_kinematics import Gaps
from ..constraints.unilateral import Unilateral
from ..dynamics.model.joint_angles import Turns
from ..dynamics.sparse.solver.along_states import residuals_along
from ..system.system import System
from .hybrid.changed_parts import Violations
from .hybrid.hybrid_run import HybridRun
from .run_views import Observers


class PresentViolations:
    """Function that returns the violations at the present state of a run, computed with solvers of its own.

    Parameters
    ----------
    system : System
    run : the run
    observers : solvers for views of the run
    """

    def __init__(self, system: System, run: HybridRun, observers: Observers) -> None:
        self._run, self._observers, self._system = run, observers, system
        self._gaps = Gaps(system)
        self._bilateral = {f"{c}" for c in system.constraints if not isinstance(c, Unilateral)}
        self._unilateral = {f"{c}" for c in system.constraints if isinstance(c, Unilateral)}

    def __call__(self, titles: Collection[str]) -> Violations | None:
        """Return the violations, or None if no constraint is among the parts with the titles `titles`."""
        bilateral, unilateral = (not kind.isdisjoint(titles) for kind in (self._bilateral, self._unilateral))
        if not bilateral and not unilateral:
            return None
        plant, current = self._run.plant, self._run.current
        t, y = current.present_time, plant.tables.slots.state_from_lanes(current.present_lanes.copy().reshape(1, -1))
        state, largest = plant.model.auxiliary.state(y), (0.0, 0.0)
        if bilateral and plant.model.rows:
            amount, rate = missing(plant.model, residuals_along(self._observers.of(plant), np.array([t]), state)[0])
            largest = float(amount.max()), float(rate.max())
        if not unilateral:
            return Violations(*largest)
        turns = Turns(plant.model.joints, current.present_quadrants.copy().reshape(1, -1, 2), current.whole)
        self._gaps.select_parts(plant.model.auxiliary.state(y[0]), {})
        solver = self._observers.of(self._system.plant)
        return Violations(*largest, self._gaps.kinematics_at(solver, t, y[0], turns.angles(state.orientation)[0]).value)
