"""Adjoint sweep: backward propagation of derivatives with respect to states, over the steps and events of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quirk.analysis.linear.null_space import NullSpaceBasis
from quirk.dynamics.model.directions import FREEDOMS
from quirk.dynamics.model.layout import Slots
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.adjoint.adjoint import AdjointPropagation
from quirk.dynamics.sparse.stepping.run_state import STEP_END, STEP_HEAD, STEP_START
from quirk.dynamics.sparse.variation.variation import Steps, VariationIntegrator
from quirk.errors import InputError
from quirk.integrators import TABLEAUX, Taylor
from quirk.result.result import Result
from quirk.system.system import System

from ..hybrid.run_factory import RunFactory
from ..hybrid.step_history import StepInterval
from .change import (
    ParameterChange,
    after_replacements,
    as_changes,
    as_weights,
    directions_at,
    directions_of,
    motions_of,
)
from .event_jumps import Jump

OWNER = "simulate: objective"
# Relative distance up to which an output time counts as equal to the end of a step.
CLOSE = 4 * np.finfo(float).eps


class AdjointSweep:
    """Backward propagation, by the adjoint method, of the derivatives of a scalar function of a run.

    Parameters
    ----------
    system : System
    intervals : intervals of integration steps of the run
    factory : factory of run objects, one for each set of active constraints and forces
    changes : derivatives of the system with respect to the D parameters

    Attributes
    ----------
    rtol : relative tolerance of the run
    """

    def __init__(
        self, system: System, intervals: Sequence[StepInterval], factory: RunFactory, changes: Sequence[ParameterChange]
    ) -> None:
        self._system, self._intervals, self._factory, self._changes = system, intervals, factory, changes
        self.rtol = factory.settings.rtol
        self._propagations: dict[CompiledModel, AdjointPropagation] = {}
        self._forward_integrators: dict[tuple[CompiledModel, bool], VariationIntegrator] = {}

    def propagation(self, plant: CompiledModel) -> AdjointPropagation:
        """Return the integrator that propagates derivatives backward with a compiled model, created on first use."""
        if plant not in self._propagations:
            settings = self._factory.settings
            # Steps of Taylor series are recorded in parts, which are steps of the method `instead`.
            tableau = TABLEAUX.get(self._factory.method, Taylor.instead)
            rates, projects = (settings.alpha, settings.beta), settings.interval > 0
            self._propagations[plant] = AdjointPropagation(plant.solver(), tableau, rates, projects)
        return self._propagations[plant]

    def forward_integrator(self, plant: CompiledModel, *, cuts: bool = True) -> VariationIntegrator:
        """Return the forward integrator of variations of a compiled model.

        `cuts` states whether it may subdivide steps.
        """
        if (plant, cuts) not in self._forward_integrators:
            settings = self._factory.settings if cuts else self._factory.settings._replace(rtol=0.0)
            self._forward_integrators[plant, cuts] = VariationIntegrator(plant.solver(), settings)
        return self._forward_integrators[plant, cuts]

    def along(
        self,
        result: Result,
        output_rows: Sequence[Sequence[int]],
        counted: Sequence[Sequence[int]],
        sources: Sequence[np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of a scalar function of the run with respect to the initial state and to D parameters.

        The results have the shapes (13 n + k,), for n bodies and k auxiliary states, and (D,).

        Parameters
        ----------
        result : result of the run
        output_rows : for each interval, the indices of the outputs of its segment that lie in the interval
        counted : for each segment, the indices of the outputs on which the scalar function depends
        sources : for each segment, the partial derivatives (nt, 13 n + k) with respect to its states
        """
        counts = [set(rows) for rows in counted]
        last = max(k for k, rows in enumerate(output_rows) if counts[self._intervals[k].segment].intersection(rows))
        by_parameters, behind = np.zeros(len(self._changes)), np.zeros(self._intervals[last].end.size)
        for k in range(last, -1, -1):
            interval = self._intervals[k]
            segment = result.segments[interval.segment]
            rows = [row for row in output_rows[k] if row in counts[interval.segment]]
            if k == last:
                steps = _steps_until(
                    interval.steps, segment.time[rows[-1]], self.propagation(interval.plant).solver.slots
                )
                angles = segment.angles[rows[-1]]
            else:
                behind, more = self._across_event(k, behind)
                by_parameters, steps, angles = by_parameters + more, interval.steps, self._intervals[k + 1].angles
            partial = sources[interval.segment][rows]
            behind, more = self._across_steps(interval, steps, segment.time[rows], partial, angles, behind)
            by_parameters += more
        return behind, by_parameters

    def _across_steps(
        self,
        interval: StepInterval,
        parts: Sequence[Steps],
        times: np.ndarray,
        sources: np.ndarray,
        angles: np.ndarray,
        end_derivatives: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Propagate the derivatives of the scalar function back across a sequence of integration steps.

        Returns the derivatives with respect to the state at the start of the steps, (13 n + k,) for n bodies and k
        auxiliary states, and those with respect to D parameters, (D,).

        Parameters
        ----------
        interval : interval of the steps
        parts : steps, in groups with the same method
        times, sources : (nt,) output times, s, and (nt, 13 n + k) partial derivatives with respect to the states at
            these times
        angles : joint angles at the end of the steps
        end_derivatives : (13 n + k,) derivatives with respect to the state at the end of the steps
        """
        by_parameters = np.zeros(len(self._changes))
        if not parts:
            return end_derivatives + sources.sum(axis=0), by_parameters
        propagation, model = self.propagation(interval.plant), interval.plant.model
        changes = after_replacements(self._changes, self._system, dict(interval.base.others))
        directions, motions = directions_of(model, changes), motions_of(model, changes)
        for steps, rows in reversed(_with_rows(parts, times)):
            end_derivatives, more = propagation.along(
                steps, rows, sources, directions, motions, angles, end_derivatives
            )
            by_parameters, angles = by_parameters + more, steps.angles
        return end_derivatives, by_parameters

    def _across_event(self, k: int, derivatives: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Propagate the derivatives of the scalar function back across the event at the end of interval k.

        `derivatives` (13 n + k,) are the derivatives with respect to the state after the event. Returns the derivatives
        with respect to the state before the event, (13 n + k,), and to the D parameters, (D,). The jump is linear in
        the variations that the constraints allow. It is therefore evaluated for a basis of these variations and, for
        each parameter, with the smallest variation of the state that is compatible with the parameter's.
        """
        before, after = self._intervals[k], self._intervals[k + 1]
        parameters, none = len(self._changes), np.zeros(len(self._changes))
        unchanged = before.plant is after.plant and np.array_equal(before.end, after.start)
        if before.is_continuous_with(after) or (unchanged and not before.events):
            return derivatives, none
        both = self.forward_integrator(before.plant), self.forward_integrator(after.plant)
        point = Jump(self._system, before, after, [], both).point()
        free, model = NullSpaceBasis.at(point), point.model
        applied = after_replacements(self._changes, self._system, dict(before.base.others))
        basis, smallest = free.directions(), free.completed(directions_at(model, applied, point.t))
        bodies = np.concatenate([smallest.bodies, basis.bodies], axis=2)
        internal = np.concatenate([smallest.internal, basis.internal], axis=1)
        changes = [*self._changes, *[ParameterChange()] * free.size]
        across = Jump(self._system, before, after, changes, both).across
        gradient = across(as_changes(model, before.end, bodies, internal)) @ derivatives
        return self._by_state(free, gradient[parameters:]), gradient[:parameters]

    @staticmethod
    def _by_state(free: NullSpaceBasis, by_basis: np.ndarray) -> np.ndarray:
        """Return the gradient of a scalar with respect to a state vector, (13 n + k,).

        `by_basis` are the derivatives of the scalar along the basis `free` of motions that the constraints allow.
        """
        point, size = free.point, FREEDOMS * free.point.bodies
        count = size + point.internal
        motions = np.eye(size, count).reshape(point.bodies, FREEDOMS, count)
        by_motions = by_basis @ free.coordinates(motions, np.eye(point.internal, count, size))
        auxiliary = np.zeros(point.model.auxiliary.size)
        auxiliary[: point.internal] = by_motions[size:]
        return as_weights(point.state.orientation, by_motions[:size].reshape(-1, FREEDOMS), auxiliary)


def _steps_until(parts: Sequence[Steps], t: float, slots: Slots) -> list[Steps]:
    """Return the steps up to the one that ends at time t (s), and at least the first step.

    `parts` are the steps in groups with the same method, and `slots` is the memory layout of their states.
    """
    needed = [steps for n, steps in enumerate(parts) if n == 0 or steps.trail[0, STEP_START] < t]
    if needed:
        trail = needed[-1].trail
        count = max(1, int(np.count_nonzero(trail[:, STEP_END] <= t + CLOSE * abs(t))))
        if count < len(trail):
            end = slots.state_from_lanes(trail[count : count + 1, STEP_HEAD:])[0]
            needed[-1] = replace(needed[-1], trail=trail[:count], end=end)
    return needed


def _with_rows(parts: Sequence[Steps], times: np.ndarray) -> list[tuple[Steps, np.ndarray]]:
    """Return groups of steps, each with the index of the output time at the end of each step, -1 for none.

    `parts` are the groups of steps. The output `times` (s) must be distinct.
    """
    with_rows, left = [], 0
    for steps in parts:
        ends = np.concatenate([steps.trail[:1, STEP_START], steps.trail[:, STEP_END]])
        close = CLOSE * np.abs(ends).max()
        rows = np.full(len(ends), -1, dtype=np.int64)
        here = np.arange(left, left + np.count_nonzero(times[left:] <= ends[-1] + close))
        places = np.searchsorted(ends, times[here] - close)
        missed = np.abs(ends[places] - times[here]) > close
        if missed.any():
            raise InputError(f"{OWNER}: no step ends at the output time {times[here][missed.argmax()]:g} s")
        rows[places] = here
        with_rows.append((steps, rows))
        left += len(here)
    assert left == len(times)
    return with_rows
