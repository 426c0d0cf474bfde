"""Concatenation of consecutive runs into one result."""

from __future__ import annotations

import warnings
from dataclasses import fields
from typing import Any

import numpy as np

from ..bodies.state import State
from ..dynamics.model.joint_angles import Turns
from ..errors import InputError, SensitivityWarning, outside
from ..events import Event
from ..integrators import Statistics
from ..system.comparison import difference_text, differences, likeness
from ..system.system import System
from ..util.misuse import explained
from .resampling import ResampledResult
from .result import Result
from .segment import Segment
from .segment_records import described, rebuilt

# Tolerances for the end of a run and the start of the next one: for times relative to the time span, and for states
# relative to the system's size or largest speed, because the start of a run may have been projected onto the
# constraints.
SAME_TIME, SAME_STATE = 1e-12, 1e-7
# Differences of angles, rad, above this are full turns.
SAME_TURN = 1.0


@explained
def join(first: Result, *others: Result) -> Result:
    """Return the concatenation of consecutive runs as one result.

    Each run must start in the final state of the previous one, as with ``quirk.simulate(system, duration,
    initial_state=first.state_at(), start=first.time[-1])``. The common state is contained twice, as at an event.

    Parameters
    ----------
    first, others : Result
        In chronological order, of the same system or of systems with equal names and parameters. Either all are
        simulations, or all are kinematic analyses.

    Returns
    -------
    Result
        Result with the segments and events of all runs, the sum of their statistics, and the status of the last run.
        Sensitivities are omitted, with a `SensitivityWarning`, because those of each run refer to the initial state of
        this run.

    Raises
    ------
    InputError
        If an argument is not a result, or the runs are of different systems or not consecutive in time or state.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])
    >>> system = quirk.System([ball])
    >>> first = quirk.simulate(system, 1.0, output=0.5)
    >>> second = quirk.simulate(system, 1.0, output=0.5, initial_state=first.state_at(), start=1.0)
    >>> quirk.join(first, second).time
    array([0. , 0.5, 1. , 1. , 1.5, 2. ])
    """
    results = (first, *others)
    for result in results:
        if not isinstance(result, Result) or isinstance(result, ResampledResult):
            raise InputError(f"join: give results of whole runs; got {result!r}")
        if type(result) is not type(first):
            raise InputError("join: results of simulations and of kinematic analyses cannot be joined")
    segments, end = list(first.segments), first
    for number, result in enumerate(others, start=2):
        which = f"join: result {number}"
        taken = [*result.segments]
        if result.system is not first.system:
            found = differences(likeness(first.system), likeness(result.system))
            if found:
                raise InputError(f"{which} is of another system: {difference_text(found)}")
            taken = [_in_system(segment, first.system, result) for segment in taken]
        _check_time(which, end, result)
        duration = float(result.time[-1] - end.time[0])
        _check_state(which, end.state_at(), result.state_at(0), first._model.length, duration)
        segments += _starting_at(taken, float(end.time[-1]))
        end = result
    if any(result._sensitivities is not None or result._judged is not None for result in results):
        warnings.warn(
            "join: the joined result has no sensitivities and no gradient, because those of each run refer to the "
            "start of that run; read them from the single results",
            SensitivityWarning,
            stacklevel=outside(),
        )
    statistics, events = Statistics(), [event for result in results for event in result.events]
    for result in results:
        _add(statistics, result.statistics)
    options = [given for result in results for given in result.options]
    return type(first)(first.system, segments, statistics, end.status, events, options)


def run_events(result: Result) -> list[Event]:
    """Return all events that may have changed parts of the system: events of the system and events passed to a run."""
    given = [event for options in result.options for event in options.get("events", ()) if isinstance(event, Event)]
    return [*result.system.events, *given]


def _in_system(segment: Segment, system: System, result: Result) -> Segment:
    """Return a copy of a segment of `result` in which objects of `system` replace equal constraints and forces."""
    description = described(segment, result.system, run_events(result))
    configuration, changes = rebuilt(description, system, [*run_events(result), *system.events])
    plant = system.plant_for(configuration)
    turns = Turns(plant.model.joints, segment.turns.quadrants, segment.turns.whole)
    moved = Segment(plant, segment.time, segment.flat, turns, segment.rank, changes, segment.changed)
    moved.last_slip = segment.last_slip
    return moved


def _starting_at(segments: list[Segment], start: float) -> list[Segment]:
    """Return the segments of a run with its start time set exactly to the end time `start` (s) of the previous run."""
    first = segments[0]
    if first.time[0] == start:
        return segments
    time = first.time.copy()
    time[time == time[0]] = start
    changes = first.switched, first.replaced
    moved = Segment(first.plant, time, first.flat, first.turns, first.rank, changes, first.changed)
    moved.last_slip = first.last_slip
    return [moved, *segments[1:]]


def _check_time(title: str, previous: Result, following: Result) -> None:
    end, start = float(previous.time[-1]), float(following.time[0])
    if abs(start - end) > SAME_TIME * max(abs(end), abs(following.time[-1]), float(np.ptp(previous.time))):
        raise InputError(
            f"{title} starts at t = {start:.9g} s, and the one before ends at {end:.9g} s: start it there, "
            "with start=before.time[-1]"
        )


def _check_state(title: str, final: State, initial: State, length: float, duration: float) -> None:
    """Raise an InputError if the initial state of a run differs from the final state of the previous run.

    `title` is the name of the run in the message; `length` is the characteristic length of the system, m, and
    `duration` the time of both runs, s.
    """
    cure = "start it there, with initial_state=before.state_at()"
    speed = max(float(np.abs(final.velocity).max()), length * float(np.abs(final.angular_velocity).max()))
    # At slower speeds nothing moves by more than the tolerance of positions.
    speed = max(speed, length / duration) if duration > 0 else speed
    far = max(length, 1e-6 * float(np.abs(final.position).max()))
    sign = np.sign((final.orientation * initial.orientation).sum(axis=1, keepdims=True))
    for what, missed, size in (
        ("positions", final.position - initial.position, far),
        ("orientations", final.orientation - sign * initial.orientation, 1.0),
        ("velocities", final.velocity - initial.velocity, speed),
        ("angular velocities", final.angular_velocity - initial.angular_velocity, speed / length),
    ):
        worst = float(np.abs(missed).max(initial=0.0))
        if not worst <= SAME_STATE * max(size, np.finfo(float).tiny / SAME_STATE):
            raise InputError(
                f"{title} starts with {what} that differ by {worst:.3g} from the end of the run before: {cure}"
            )
    for name, angles in final.angles.items():
        if np.abs(angles - initial.angles[name]).max() > SAME_TURN:
            raise InputError(f'{title} starts with other turns of joint "{name}" than the run before has made: {cure}')
    for name, numbers in final.internal.items():
        size = max(float(np.abs(numbers).max(initial=0.0)), 1.0)
        if np.abs(numbers - initial.internal[name]).max(initial=0.0) > SAME_STATE * size:
            raise InputError(f'{title} starts with other internal variables of "{name}": {cure}')


def _add(total: Statistics, run_statistics: Statistics) -> None:
    """Add the statistics of one run to `total`, in place."""
    for part in fields(Statistics):
        if part.name != "in_python":
            setattr(total, part.name, getattr(total, part.name) + getattr(run_statistics, part.name))
    for name, (calls, spent) in run_statistics.in_python.items():
        before: Any = total.in_python.get(name, (0, 0.0))
        total.in_python[name] = before[0] + calls, before[1] + spent
