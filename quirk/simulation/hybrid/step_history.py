"""Record of all accepted steps of a run, and of the events between them, for sensitivities.

An interval of the record is a sequence of steps without a jump of the state and with constant sets of active
constraints and forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.stepping.compiled_run import CompiledRun
from quirk.dynamics.sparse.stepping.run_output import RunPart
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.dynamics.sparse.variation.variation import Steps
from quirk.system.configuration import Configuration

from .contact_states import ContactState


@dataclass
class StepInterval:
    """Interval of a run without jumps of the state and with constant sets of active constraints and forces.

    Attributes
    ----------
    segment : index of the segment of the result that contains its states
    plant : compiled model of the active constraints and forces
    base, contact_state : active constraints and forces without contacts, and contact state
    t : start time, s
    start, end : (13 n + k,) state vectors of n bodies and k auxiliary states at the start and at the end
    angles : (K, 3) 1-2-3 angles of K joints at the start, with all turns counted, rad
    reached : end time, s
    parts : groups of consecutive steps taken with the same method, see `Steps`
    events : event functions that are zero at the end and may change the motion
    """

    segment: int
    plant: CompiledModel
    base: Configuration
    contact_state: ContactState
    t: float
    start: np.ndarray
    angles: np.ndarray
    end: np.ndarray
    reached: float
    parts: list[RunPart] = field(default_factory=list)
    events: Sequence[EventFunction] = ()

    @property
    def steps(self) -> list[Steps]:
        """The integration steps of the interval, in groups of consecutive steps with the same method."""
        return steps_of([self])

    def is_continuous_with(self, following: StepInterval) -> bool:
        """Whether neither the state nor the loads jump between this interval and the next one, `following`."""
        same = self.plant is following.plant and self.segment == following.segment and not self.plant.may_jump
        return same and np.array_equal(self.end, following.start)


def steps_of(intervals: Sequence[StepInterval]) -> list[Steps]:
    """Return the steps of consecutive intervals without jumps between them, in groups of steps with the same method."""
    parts = [part for interval in intervals for part in interval.parts]
    grouped = [list(group) for _, group in groupby(parts, lambda part: part.method.name)]
    ends = [*(group[0].start for group in grouped[1:]), intervals[-1].end] if grouped else []
    return [
        Steps(group[0].method, np.concatenate([part.trail for part in group]), end, group[0].angles)
        for group, end in zip(grouped, ends, strict=True)
    ]


def continuous_groups(intervals: Sequence[StepInterval]) -> list[list[int]]:
    """Return groups of consecutive intervals between which nothing jumps, as lists of indices of the intervals."""
    groups = [[0]]
    for k in range(1, len(intervals)):
        if intervals[k - 1].is_continuous_with(intervals[k]):
            groups[-1].append(k)
        else:
            groups.append([k])
    return groups


class StepHistory:
    """Record of the steps of a run.

    Attributes
    ----------
    intervals : intervals without jumps, in chronological order
    """

    def __init__(self) -> None:
        self.intervals: list[StepInterval] = []

    def begin(
        self,
        segment: int,
        plant: CompiledModel,
        base: Configuration,
        contact_state: ContactState,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
    ) -> None:
        """Begin a new interval at time t (s) and state vector y; `segment` is the index of its segment of the result.

        `plant` is the compiled model, `base` contains the active constraints and forces without contacts,
        `contact_state` is the contact state, and `angles` (K, 3), rad, are the joint angles.
        """
        self.intervals.append(
            StepInterval(segment, plant, base, contact_state, t, y.copy(), angles.copy(), y.copy(), t)
        )

    def move_steps_from(self, run: CompiledRun) -> None:
        """Append the steps recorded by a run object to the present interval, and clear its record."""
        interval = self.intervals[-1]
        interval.parts += run.output.parts
        run.output.parts = []
        interval.end, interval.reached = run.state.copy(), run.reached

    def record_events(self, run: CompiledRun) -> None:
        """Move the steps of a run object to the present interval, and record its event functions that are zero."""
        self.move_steps_from(run)
        keys = [key for key, _ in run.hit]
        self.intervals[-1].events = tuple(guard for guard in run.watch.guards if guard.key in keys)
