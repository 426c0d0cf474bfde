"""Gradient of a scalar function of a run with respect to many parameters, by the adjoint method."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.dynamics.model.directions import FREEDOMS, SHIFT, VELOCITY
from quirk.dynamics.sparse.variation.variation import VariationIntegrator
from quirk.errors import InputError, SensitivityWarning, outside
from quirk.result.result import Result
from quirk.util.misuse import explained

from ..hybrid.run_factory import RunFactory
from ..hybrid.step_history import StepInterval
from .adjoint_sweep import OWNER, AdjointSweep
from .change import ParameterChange, as_changes, directions_of, motions_of, start_of
from .discontinuities import warn_of_jumps
from .forward import AT_JUMPS, check_rows, rows_by_interval
from .objective import Objective
from .objective_derivatives import ObjectiveDerivatives
from .parameters import Parameter

# Largest relative error of a variation in a step for which the gradient counts as exact.
NOTICED = 1e-3
# Largest relative difference between variations along the original steps and along subdivided steps for which the
# gradient counts as exact; and this limit as a multiple of rtol, the tolerance of subdivided steps.
DIFFERENT, OVER_RTOL = 1e-6, 1e3


@explained
class Gradient:
    """Scalar function of a run and its derivatives with respect to parameters.

    ``result.gradient[("rod", "mass")]`` is the derivative with respect to a mass.

    Attributes
    ----------
    value : value of the function
    """

    def __init__(self, value: float, parameters: Sequence[Parameter], derivatives: np.ndarray) -> None:
        ends = np.cumsum([0, *(parameter.size for parameter in parameters)])
        self.value = value
        self._found = {
            parameter.key: derivatives[ends[n] : ends[n + 1]].reshape(parameter.shape)
            for n, parameter in enumerate(parameters)
        }

    @property
    def parameters(self) -> list[Any]:
        """Parameters as they were passed to `simulate`."""
        return list(self._found)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return the derivative with respect to a parameter, as an array with the shape of the parameter."""
        named = tuple(key) if isinstance(key, list) else key
        if named not in self._found:
            listed = ", ".join(repr(parameter) for parameter in self._found)
            raise InputError(f"Result: gradient: no derivative with respect to parameter {key!r}; available: {listed}")
        return self._found[named]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<Gradient of {self.value:g} by {', '.join(repr(one) for one in self._found)}>"


def gradient_of(
    result: Result,
    intervals: Sequence[StepInterval],
    factory: RunFactory,
    parameters: Sequence[Parameter],
    objective: Objective,
) -> Gradient:
    """Return the value of an objective for a run, and its derivatives with respect to parameters.

    Parameters
    ----------
    result : result of the run; steps must end at all output times
    intervals : intervals of integration steps of the run
    factory : factory of run objects, one for each set of active constraints and forces
    parameters : parameters of the gradient
    objective : scalar function of the run that is differentiated
    """
    changes = [change for parameter in parameters for change in parameter.changes]
    first, sweep = intervals[0], AdjointSweep(result.system, intervals, factory, changes)
    if first.steps and sweep.propagation(first.plant).solver.redundant:
        _check(first, factory, [change for change in changes if change.motions or change.reshapes])
    counted = _evaluated_rows(result, factory.output_times)
    by_segment = [
        ObjectiveDerivatives(result.system, segment, rows, sweep.propagation(segment.plant).solver, changes)
        for segment, rows in zip(result.segments, counted, strict=True)
    ]
    quantities = np.concatenate([derivatives.values(objective.quantities) for derivatives in by_segment])
    value, slopes = objective.evaluate(quantities)
    ends = np.cumsum([len(rows) for rows in counted])[:-1]
    pulled = [
        derivatives.pulled_back(part) for derivatives, part in zip(by_segment, np.split(slopes, ends), strict=True)
    ]
    for interval in intervals:
        if interval.steps:
            warn_of_jumps(OWNER, AT_JUMPS, interval.steps, sweep.propagation(interval.plant).solver)
    _warn_of_long_steps(intervals, sweep)
    by_start, by_parameters = sweep.along(
        result, rows_by_interval(result, intervals), counted, [sources for sources, _ in pulled]
    )
    return Gradient(
        value, parameters, sum((part for _, part in pulled), by_parameters) + _start(first, changes) @ by_start
    )


def _evaluated_rows(result: Result, output_times: np.ndarray | None) -> list[list[int]]:
    """Return, for each segment, the indices of the outputs at which the objective is evaluated.

    Each output time is evaluated once; of two states at the time of an event, the last one is used. `output_times`
    (nt,), s, are the output times, or None for all stored times.
    """
    rows = [(t, s, row) for s, segment in enumerate(result.segments) for row, t in enumerate(segment.time)]
    if output_times is not None:
        wanted = set(output_times.tolist())
        last = {t: (t, s, row) for t, s, row in rows if t in wanted}
        rows = list(last.values())
    return [[row for _, s, row in rows if s == number] for number in range(len(result.segments))]


def _warn_of_long_steps(intervals: Sequence[StepInterval], sweep: AdjointSweep) -> None:
    """Warn if steps are too long for accurate variations, which is tested with a random variation in each interval.

    `intervals` are the intervals of integration steps; `sweep` provides the integrators of variations.
    """
    if any(not _serve(interval, sweep) for interval in intervals if interval.steps):
        warnings.warn(
            f"{OWNER}: steps are too long for derivatives, for example of a stiff system, or of an oscillator at rest: "
            "the gradient is inaccurate; give max_step=, or leave out objective= and use result.sensitivity",
            SensitivityWarning,
            stacklevel=outside(),
        )


def _serve(interval: StepInterval, sweep: AdjointSweep) -> bool:
    """Whether the integration steps of an interval are short enough for accurate variations.

    A random variation integrated along the steps is compared with the same variation integrated along subdivided steps.
    `interval` is one of the intervals; `sweep` provides the integrators of variations.
    """
    model, cut, uncut = (
        interval.plant.model,
        sweep.forward_integrator(interval.plant),
        sweep.forward_integrator(interval.plant, cuts=False),
    )
    moved = np.random.default_rng(0).standard_normal((len(model.mass), FREEDOMS, 1))
    moved[:, SHIFT] *= model.length
    moved[:, VELOCITY] *= model.length
    start = as_changes(model, interval.start, moved, np.zeros((model.auxiliary.size, 1)))
    no_outputs, directions = (np.zeros(0), np.zeros((0, start.shape[1]))), directions_of(model, [ParameterChange()])
    right, as_it_is = start, start
    for steps in interval.steps:
        _, right = cut.along(steps, right, directions, [], no_outputs, np.zeros(1))
        if cut.worst > NOTICED:
            return False
        if not cut.cuts:
            as_it_is = right
            continue
        _, as_it_is = uncut.along(steps, as_it_is, directions, [], no_outputs, np.zeros(1))
        allowed = min(max(DIFFERENT, OVER_RTOL * sweep.rtol), NOTICED)
        if not np.abs(uncut.extents - cut.extents).max() <= allowed * cut.extents.max():
            return False
    return True


def _start(interval: StepInterval, changes: Sequence[ParameterChange]) -> np.ndarray:
    """Return the derivatives of the initial state vector with respect to D parameters, (D, 13 n + k).

    They are not projected onto the constraints. `interval` is the first interval of the run, with n bodies and k
    auxiliary states, and `changes` are the derivatives of the system.
    """
    model = interval.plant.model
    return as_changes(model, interval.start, *start_of(model, changes))


def _check(interval: StepInterval, factory: RunFactory, changes: Sequence[ParameterChange]) -> None:
    """Raise an InputError if a varied parameter makes redundant rows contradict the independent rows at the start.

    `interval` is the first interval of the run, `factory` the factory of its run objects, and `changes` are the
    derivatives of the system with respect to the parameters.
    """
    if not changes:
        return
    model, start = interval.plant.model, _start(interval, changes)
    directions, motions = directions_of(model, changes), motions_of(model, changes)
    steps, integrator = interval.steps[0], VariationIntegrator(interval.plant.solver(), factory.settings)
    after = integrator.solver.slots.state_from_lanes(steps.trail[1:2, 8:])[0] if len(steps.trail) > 1 else steps.end
    first = replace(steps, trail=steps.trail[:1], end=after)
    at_start = np.array([interval.t]), interval.start[None]
    at, _ = integrator.along(first, start, directions, motions, at_start, np.zeros(len(changes)))
    check_rows(interval, integrator, at[:, 0], directions, motions, changes)
