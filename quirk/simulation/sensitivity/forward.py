"""Forward sensitivities of a run: variations with respect to D parameters are integrated along its steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.analysis.contact.friction_modes import align_slip_directions
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.dynamics.sparse.stepping.run_state import STEP_START
from quirk.dynamics.sparse.variation.implicit import UNDEFINED
from quirk.dynamics.sparse.variation.variation import ChangedMotion, VariationIntegrator
from quirk.errors import InputError, SensitivityWarning, outside
from quirk.result.result import Result

from ..hybrid.run_factory import RunFactory
from ..hybrid.step_history import StepInterval, continuous_groups, steps_of
from .bifurcations import warn_of_splits
from .change import (
    ParameterChange,
    after_replacements,
    as_changes,
    as_motions,
    directions_of,
    motions_of,
    start_of,
    with_motions,
)
from .discontinuities import warn_of_jumps
from .event_jumps import OWNER, Jump, derivatives_of_times
from .parameters import Parameter
from .sensitivities import Sensitivities

AT_JUMPS = "they are complete with an Event whose quantity crosses its level at the jump"
# Largest violation of dependent rows by a variation, over the norm of the variation.
CONTRADICTED = 1e-6


def sensitivities_of(
    result: Result, intervals: Sequence[StepInterval], factory: RunFactory, parameters: Sequence[Parameter]
) -> Sensitivities:
    """Return the sensitivities of a run with respect to parameters.

    Parameters
    ----------
    result : result of the run
    intervals : intervals of integration steps of the run
    factory : factory of run objects, one for each set of active constraints and forces
    parameters : parameters with respect to which the motion is differentiated
    """
    changes = [change for parameter in parameters for change in parameter.changes]
    kept = rows_by_interval(result, intervals)
    derivatives = [np.zeros((len(segment.time), len(changes), segment.flat.shape[1])) for segment in result.segments]
    integrators: dict[Any, VariationIntegrator] = {}
    jumps = list[Jump]()
    for plant in dict.fromkeys(interval.plant for interval in intervals):
        integrators[plant] = VariationIntegrator(plant.solver(), factory.settings)
    align_slip_directions(integrators[intervals[0].plant].solver, intervals[0].contact_state.friction)
    now = _start(intervals[0], changes)
    names = [f"{parameter.key!r}" for parameter in parameters for _ in parameter.changes]
    for numbers in continuous_groups(intervals):
        some, rows = [intervals[k] for k in numbers], [kept[k] for k in numbers]
        into = derivatives[some[0].segment] if any(rows) else np.zeros((0, *derivatives[-1].shape[1:]))
        integrator = integrators[some[0].plant]
        ends = _along(result, some, rows, integrator, now, changes, names, into, is_start=numbers[0] == 0)
        for k, end in zip(numbers, ends, strict=True):
            if k + 1 < len(intervals):
                both = integrator, integrators[intervals[k + 1].plant]
                previous = jumps[-1].later if jumps else np.zeros(len(changes))
                jumps.append(Jump(result.system, intervals[k], intervals[k + 1], changes, both, previous))
                now = jumps[-1].across(end)
    event_times = derivatives_of_times(result.events, jumps, len(changes))
    return Sensitivities(result, parameters, derivatives, event_times)


def _along(
    result: Result,
    intervals: Sequence[StepInterval],
    rows: Sequence[list[int]],
    integrator: VariationIntegrator,
    variations: np.ndarray,
    changes: Sequence[ParameterChange],
    names: Sequence[str],
    out: np.ndarray,
    is_start: bool,
) -> np.ndarray:
    """Compute the variations along consecutive intervals between which nothing jumps.

    Parameters
    ----------
    result : result of the run
    intervals : the intervals
    rows : for each interval, the indices of its outputs in the segment
    integrator : integrator of variations
    variations : (D, 13 n + k) variations with respect to D parameters at the start, for n bodies and k auxiliary states
    changes, names : derivatives of the system with respect to the D parameters, and their names
    out : array in which the variations at the outputs of the segment are stored
    is_start : whether the intervals are the first of the run

    Returns
    -------
    (intervals, D, 13 n + k) variations at the end of each interval
    """
    first, steps = intervals[0], steps_of(intervals)
    model, held = first.plant.model, [row for part in rows for row in part]
    if not steps:
        out[held] = variations
        return np.array([variations] * len(intervals))
    changes = after_replacements(changes, result.system, dict(first.base.others))
    directions, motions = directions_of(model, changes), motions_of(model, changes)
    times, states, ends = _requested(result, intervals, rows)
    at = np.zeros((len(variations), len(times), states.shape[1]))
    sizes, done = np.array([change.size for change in changes]), 0
    for part in steps:
        end = len(times) if part is steps[-1] else int(np.searchsorted(times, part.trail[-1, 1], side="right"))
        outputs = times[done:end], states[done:end]
        at[:, done:end], variations = integrator.along(part, variations, directions, motions, outputs, sizes)
        if is_start and done == 0:
            check_rows(first, integrator, at[:, 0], directions, motions, changes)
        # The variation of the slip direction is unbounded as the slip ends.
        if not (first.contact_state.friction and part is steps[-1] and integrator.coarse >= part.trail[-1, STEP_START]):
            _warn_of_inaccuracy(integrator.coarse, variations)
        warn_of_splits(part, integrator, directions, motions, names)
        done = end
    for interval in intervals:
        if interval.parts:
            warn_of_jumps(OWNER, AT_JUMPS, interval.steps, integrator.solver)
    by_time = np.moveaxis(at, 0, 1)
    out[held] = np.delete(by_time, [0, *ends], axis=0)
    return np.concatenate([by_time[ends], variations[None]])


def _requested(
    result: Result, intervals: Sequence[StepInterval], rows: Sequence[list[int]]
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return the times (nt,), s, and the state vectors (nt, 13 n + k) at which variations are required.

    The times are the start of the first interval and, for each interval, its output times and its end; the end of the
    last interval is omitted. The third result contains, for each interval, the index of its end. `intervals` are the
    intervals, and `rows` the indices of the outputs in each interval.
    """
    times, states, ends = [np.array([intervals[0].t])], [intervals[0].start[None]], list[int]()
    for interval, held in zip(intervals, rows, strict=True):
        if held:
            segment = result.segments[interval.segment]
            times.append(segment.time[held])
            states.append(segment.flat[held])
        if interval is not intervals[-1]:
            ends.append(sum(map(len, times)))
            times.append(np.array([interval.reached]))
            states.append(interval.end[None])
    return np.concatenate(times), np.concatenate(states), ends


def _warn_of_inaccuracy(t: float, variations: np.ndarray) -> None:
    """Warn that, from time t (s) on, the steps of the run do not resolve the variations, or they are undefined.

    `variations` are those at the end of the steps, and `t` is infinite if all are accurate.
    """
    if t < np.inf:
        undefined = "" if np.isfinite(variations).all() else f"; {UNDEFINED}"
        warnings.warn(
            f"{OWNER}: from t = {t:.6g} s on derivatives change too fast to be resolved, for example near a singular "
            "configuration or in a stiff system at rest, and are inaccurate; for stiff systems use "
            f'method="RadauIIA9"{undefined}',
            SensitivityWarning,
            stacklevel=outside(),
        )


def _start(interval: StepInterval, changes: Sequence[ParameterChange]) -> np.ndarray:
    """Return the derivatives of the initial state vector with respect to D parameters, (D, 13 n + k).

    They are not projected onto the constraints. `interval` is the first interval of the run, with n bodies and k
    auxiliary states, and `changes` are the derivatives of the system.
    """
    model = interval.plant.model
    bodies, internal = start_of(model, changes)
    return as_changes(model, interval.start, bodies, internal)


def check_rows(
    interval: StepInterval,
    integrator: VariationIntegrator,
    variations: np.ndarray,
    directions: Directions,
    motions: Sequence[ChangedMotion],
    changes: Sequence[ParameterChange],
) -> None:
    """Raise an InputError if a varied parameter makes redundant rows contradict the independent rows.

    Parameters
    ----------
    interval : interval of integration steps
    integrator : integrator of variations
    variations : (D, 13 n + k) variations at the start of the interval, one for each of D parameters
    directions : derivatives of the constants of the compiled model
    motions : derivatives of prescribed motions
    changes : derivatives of the system with respect to the parameters
    """
    model, solver = interval.plant.model, integrator.solver
    if not solver.redundant or solver.model.rows == 0:
        return
    bodies, internal = as_motions(model, interval.start, variations)
    directions.bodies[:], directions.internal[:] = bodies, internal
    lanes = solver.slots.state_to_lanes(interval.start)
    tangent: Tangent = integrator.differential.at(lanes, interval.t, with_motions(directions, motions, interval.t))
    directions.bodies[:], directions.internal[:] = 0.0, 0.0
    scale = 1.0 + np.abs(bodies).max(axis=(0, 1))
    for d, missed in enumerate(np.abs(tangent.levels[..., :2]).max(axis=2) / scale[:, None]):
        if missed.max(initial=0.0) > CONTRADICTED:
            row = int(missed.argmax())
            keys = list(changes[d].numbers)
            raise InputError(
                f"{OWNER}: with a change of {keys[0][1] if keys else 'the start'!r} redundant "
                f"constraints contradict each other (row {model.labels[row]}): the mechanism prevents this change"
            )


def rows_by_interval(result: Result, intervals: Sequence[StepInterval]) -> list[list[int]]:
    """Return, for each interval of steps, the indices of the outputs in it, counted in its segment."""
    held: list[list[int]] = [[] for _ in intervals]
    for number, segment in enumerate(result.segments):
        mine = [k for k, interval in enumerate(intervals) if interval.segment == number]
        k = 0
        for row, t in enumerate(segment.time):
            while k < len(mine) - 1 and _follows(intervals[mine[k]], intervals[mine[k + 1]], t, segment.flat[row]):
                k += 1
            held[mine[k]].append(row)
    return held


def _follows(interval: StepInterval, following: StepInterval, t: float, y: np.ndarray) -> bool:
    """Whether a state vector y at time t (s) belongs to the interval `following` and not to `interval`."""
    if t != interval.reached:
        return t > interval.reached
    return not np.array_equal(y, interval.end) and np.array_equal(y, following.start)
