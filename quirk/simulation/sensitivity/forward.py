"""Forward sensitivities of a run: variations with respect to D parameters are integrated along its steps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.analysis.contact.friction_states import head
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.model.tangents import Tangent
from quirk.dynamics.sparse.stepping.run_state import STEP_START
from quirk.dynamics.sparse.variation.variation import ChangedMotion, Varied
from quirk.errors import InputError, SensitivityWarning, outside
from quirk.result.result import Result

from ..hybrid.run_factory import RunFactory
from ..hybrid.step_history import Stretch, going_on, steps_of
from .bifurcations import warn_of_splits
from .change import ParameterChange, as_changes, as_motions, directions_of, in_force, motions_of, start_of, with_motions
from .discontinuities import warn_of_jumps
from .event_jumps import OWNER, Jump, times_of
from .parameters import Parameter
from .sensitivities import Sensitivities

AT_JUMPS = "they are complete with an Event whose quantity crosses its level at the jump"
# Largest violation of dependent rows by a variation, over the norm of the variation.
CONTRADICTED = 1e-6


def sensitivities_of(
    result: Result, stretches: Sequence[Stretch], factory: RunFactory, parameters: Sequence[Parameter]
) -> Sensitivities:
    """Return the sensitivities of a run with respect to parameters.

    Parameters
    ----------
    result : result of the run
    stretches : intervals of integration steps of the run
    factory : factory of run objects, one for each set of active constraints and forces
    parameters : parameters with respect to which the motion is differentiated
    """
    changes = [change for parameter in parameters for change in parameter.changes]
    kept = rows_by_interval(result, stretches)
    derivatives = [np.zeros((len(segment.time), len(changes), segment.flat.shape[1])) for segment in result.segments]
    courses: dict[Any, Varied] = {}
    jumps = list[Jump]()
    for plant in dict.fromkeys(stretch.plant for stretch in stretches):
        courses[plant] = Varied(plant.solver(), factory.settings)
    head(courses[stretches[0].plant].solver, stretches[0].resting.rubbing)
    now = _start(stretches[0], changes)
    names = [f"{parameter.key!r}" for parameter in parameters for _ in parameter.changes]
    for numbers in going_on(stretches):
        some, rows = [stretches[k] for k in numbers], [kept[k] for k in numbers]
        into = derivatives[some[0].segment] if any(rows) else np.zeros((0, *derivatives[-1].shape[1:]))
        course = courses[some[0].plant]
        ends = _along(result, some, rows, course, now, changes, names, into, is_start=numbers[0] == 0)
        for k, end in zip(numbers, ends, strict=True):
            if k + 1 < len(stretches):
                both = course, courses[stretches[k + 1].plant]
                jumps.append(Jump(result.system, stretches[k], stretches[k + 1], changes, both))
                now = jumps[-1].across(end)
    return Sensitivities(result, parameters, derivatives, times_of(jumps))


def _along(
    result: Result,
    stretches: Sequence[Stretch],
    rows: Sequence[list[int]],
    course: Varied,
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
    stretches : the intervals
    rows : for each interval, the indices of its outputs in the segment
    course : integrator of variations
    variations : (D, 13 n + k) variations with respect to D parameters at the start, for n bodies and k auxiliary states
    changes, names : derivatives of the system with respect to the D parameters, and their names
    out : array in which the variations at the outputs of the segment are stored
    is_start : whether the intervals are the first of the run

    Returns
    -------
    (intervals, D, 13 n + k) variations at the end of each interval
    """
    stretch, steps = stretches[0], steps_of(stretches)
    model, held = stretch.plant.model, [row for part in rows for row in part]
    if not steps:
        out[held] = variations
        return np.array([variations] * len(stretches))
    changes = in_force(changes, result.system, dict(stretch.base.others))
    directions, motions = directions_of(model, changes), motions_of(model, changes)
    times, states, ends = _requested(result, stretches, rows)
    at = np.zeros((len(variations), len(times), states.shape[1]))
    sizes, done = np.array([change.size for change in changes]), 0
    for part in steps:
        end = len(times) if part is steps[-1] else int(np.searchsorted(times, part.trail[-1, 1], side="right"))
        outputs = times[done:end], states[done:end]
        at[:, done:end], variations = course.along(part, variations, directions, motions, outputs, sizes)
        if is_start and done == 0:
            check_rows(stretch, course, at[:, 0], directions, motions, changes)
        # The variation of the slip direction is unbounded as the slip ends.
        if not (stretch.resting.rubbing and part is steps[-1] and course.coarse >= part.trail[-1, STEP_START]):
            _warn_of_fast_changes(course.coarse)
        warn_of_splits(part, course, directions, motions, names)
        done = end
    for interval in stretches:
        if interval.parts:
            warn_of_jumps(OWNER, AT_JUMPS, interval.steps, course.solver)
    by_time = np.moveaxis(at, 0, 1)
    out[held] = np.delete(by_time, [0, *ends], axis=0)
    return np.concatenate([by_time[ends], variations[None]])


def _requested(
    result: Result, stretches: Sequence[Stretch], rows: Sequence[list[int]]
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return the times (nt,), s, and the state vectors (nt, 13 n + k) at which variations are required.

    The times are the start of the first interval and, for each interval, its output times and its end; the end of the
    last interval is omitted. The third result contains, for each interval, the index of its end. `stretches` are the
    intervals, and `rows` the indices of the outputs in each interval.
    """
    times, states, ends = [np.array([stretches[0].t])], [stretches[0].start[None]], list[int]()
    for stretch, held in zip(stretches, rows, strict=True):
        if held:
            segment = result.segments[stretch.segment]
            times.append(segment.time[held])
            states.append(segment.flat[held])
        if stretch is not stretches[-1]:
            ends.append(sum(map(len, times)))
            times.append(np.array([stretch.reached]))
            states.append(stretch.end[None])
    return np.concatenate(times), np.concatenate(states), ends


def _warn_of_fast_changes(t: float) -> None:
    """Warn that, from time t (s) on, variations change too fast to be resolved by the steps of the run."""
    if t < np.inf:
        warnings.warn(
            f"{OWNER}: from t = {t:.6g} s on derivatives change too fast to be resolved, for example near a singular "
            "configuration or in a stiff system at rest, and are inaccurate; for stiff systems use "
            'method="RadauIIA9"',
            SensitivityWarning,
            stacklevel=outside(),
        )


def _start(stretch: Stretch, changes: Sequence[ParameterChange]) -> np.ndarray:
    """Return the derivatives of the initial state vector with respect to D parameters, (D, 13 n + k).

    They are not projected onto the constraints. `stretch` is the first interval of the run, with n bodies and k
    auxiliary states, and `changes` are the derivatives of the system.
    """
    model = stretch.plant.model
    bodies, internal = start_of(model, changes)
    return as_changes(model, stretch.start, bodies, internal)


def check_rows(
    stretch: Stretch,
    course: Varied,
    variations: np.ndarray,
    directions: Directions,
    motions: Sequence[ChangedMotion],
    changes: Sequence[ParameterChange],
) -> None:
    """Raise an InputError if a varied parameter makes redundant rows contradict the independent rows.

    Parameters
    ----------
    stretch : interval of integration steps
    course : integrator of variations
    variations : (D, 13 n + k) variations at the start of the interval, one for each of D parameters
    directions : derivatives of the constants of the compiled model
    motions : derivatives of prescribed motions
    changes : derivatives of the system with respect to the parameters
    """
    model, solver = stretch.plant.model, course.solver
    if not solver.redundant or solver.model.rows == 0:
        return
    bodies, internal = as_motions(model, stretch.start, variations)
    directions.bodies[:], directions.internal[:] = bodies, internal
    lanes = solver.slots.state_to_lanes(stretch.start)
    tangent: Tangent = course.differential.at(lanes, stretch.t, with_motions(directions, motions, stretch.t))
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


def rows_by_interval(result: Result, stretches: Sequence[Stretch]) -> list[list[int]]:
    """Return, for each interval of steps, the indices of those outputs of its segment that lie in the interval."""
    held: list[list[int]] = [[] for _ in stretches]
    for number, segment in enumerate(result.segments):
        mine = [k for k, stretch in enumerate(stretches) if stretch.segment == number]
        k = 0
        for row, t in enumerate(segment.time):
            while k < len(mine) - 1 and _follows(stretches[mine[k]], stretches[mine[k + 1]], t, segment.flat[row]):
                k += 1
            held[mine[k]].append(row)
    return held


def _follows(stretch: Stretch, following: Stretch, t: float, y: np.ndarray) -> bool:
    """Whether a state vector y at time t (s) belongs to the interval `following` and not to the interval `stretch`."""
    if t != stretch.reached:
        return t > stretch.reached
    return not np.array_equal(y, stretch.end) and np.array_equal(y, following.start)
