"""SIMD computation of separately constructed systems that differ only in numerical parameters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..bodies.state import State
from ..dynamics.model.applied_loads import fixed_inputs
from ..system.system import System
from .batch_state import BatchState
from .lane_members import LaneMembers, aligned_axes
from .lanes.functions import call_nothing, prints_of_laws, write_law
from .lanes.lane_runs import LaneRuns
from .lanes.numbers import MemberNumbers, geometry_of
from .lanes.plan import LanePlan, planned, unsuited
from .member_numbers import elements_of


def structure_of(system: System) -> Hashable:
    """Return a hashable key of the structure of a system.

    Systems with equal keys differ only in numerical parameters; their characteristic lengths differ by at most a factor
    of about two.
    """
    model = system.model
    table = model.table
    return (
        tuple(body.name for body in system.bodies),
        tuple((type(one), one.name) for one in system.constraints),
        tuple((name, rows.start, rows.stop) for name, rows in model.joint_rows.items()),
        tuple((type(one), one.name) for one in system.forces),
        tuple((element.name, rows, element.structure, element.layout()) for element, rows in model.forces),
        prints_of_laws(model),
        tuple(array.tobytes() for array in (table.kind, table.row, table.body)),
        model.rank_tolerance,
        round(math.log2(model.length)),
    )


class BuiltMembers:
    """Fixed-step integrator of systems with equal structure, eight at a time in SIMD lanes.

    Parameters
    ----------
    system : one of the systems
    plan : tables for the computation of this system in SIMD lanes
    solver : compiled solver of the system
    runs : integrator of all lanes
    """

    def __init__(self, system: System, plan: LanePlan, solver: Any, runs: LaneRuns) -> None:
        self.system, self._plan, self._solver, self._runs = system, plan, solver, runs

    @classmethod
    def of(cls, system: System, state: State, options: Mapping[str, Any]) -> Self | None:
        """Return the integrator of systems with the structure of `system`; None if SIMD lanes do not support them.

        Parameters
        ----------
        system, state : a system and its initial state
        options : settings of the run by name, as in `simulate`
        """
        if unsuited(system, options):
            return None
        solver = system.plant.solver()
        plan = planned(system.model, solver, state, options["start"], options["stabilization"] == "projection")
        if isinstance(plan, str):
            return None
        return cls(system, plan, solver, LaneRuns(solver, plan, options["method"], options["step"], 1))

    def fits(self, system: System) -> bool:
        """Whether a system of the same structure can be computed in SIMD lanes with the other systems.

        A system with different geometry is rejected if redundant constraint rows are omitted, or if a force law counts
        full turns of an angle.
        """
        if not (self._plan.drops or self.system.model.reads_angles):
            return True
        one, other = self.system.model.table, system.model.table
        return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("arm", "direction", "offset"))

    def motions(
        self, systems: Sequence[System], states: Sequence[State], start: float, end: float, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the states of systems at the output times, or None if an output time lies within a step.

        Parameters
        ----------
        systems, states : the systems and their initial states
        start, end : initial and final time, s
        times : (nt,) output times, s

        Returns
        -------
        states : (count, nt, n, 13) at the output times
        good : (count,) mask of the systems whose states are valid; the others must be simulated one by one
        """
        state = BatchState.repeated(states[0], len(states))
        for k, own in enumerate(states):
            state.put(k, own)
        frames = np.array([aligned_axes(system.model) for system in systems])
        members = LaneMembers(self._solver, self._numbers(systems), self._runs, frames)
        found = members.motions(np.arange(len(systems)), state, None, start, end, times)
        return None if found is None else (found[0], found[1])

    def _numbers(self, systems: Sequence[System]) -> MemberNumbers:
        """Return the masses, geometry and force law inputs of all systems."""
        numbers = MemberNumbers.repeated(self.system.model, self._plan, self._solver.applied.table.inputs, len(systems))
        elements = elements_of(self._solver)
        call_nothing(numbers.inputs, elements)
        for k, system in enumerate(systems):
            model = system.model
            numbers.mass[k], numbers.inertia[k], numbers.gravity[k] = model.mass, model.inertia, model.gravity
            numbers.joints[k], numbers.closing[k] = geometry_of(model, self._plan)
            for (first, _), (element, _) in zip(elements, model.forces, strict=True):
                layout = element.layout()
                own = numbers.inputs[k, first : first + layout.inputs]
                write_law(own, fixed_inputs(element, layout), layout)
        return numbers
