"""Snapshots of runs that pause: copies of all data required to continue a run bit for bit."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.jit.record import copies, real_arrays, restore

from .active_method import Across
from .pausing_run import PausingRun

# Attributes of a run, besides arrays, that a snapshot contains; and the arrays of the revolution counter that change.
ATTRIBUTES = (
    "settings", "_start", "_angles", "_before", "_begun", "paused", "_unknown", "whole",
)  # fmt: skip
OF_COUNTER = ("quadrants", "due", "counted", "lead", "spare", "kept")


@dataclass(frozen=True)
class RunMemory:
    """Snapshot of a run, excluding the data of its solver.

    Attributes
    ----------
    method : name of the current method
    attributes : attributes of the run, by name
    across : end, length and method to return to of an interval with a singular configuration, or None
    pacing : data of `MethodSwitching` or `SlipSwitching`
    strikes, evaluations : `Functions.strikes` and `SparseFlow.evaluations`
    hit, latest : events, see `RunEvents`
    search_delay : `DiscontinuitySearch.next_delay`
    pieces : copy of the intervals between breaks, times at which steps must end
    laws : copies of the inputs and outputs of force laws and event functions
    arrays : copies of all other arrays
    """

    method: str
    attributes: dict[str, Any]
    across: tuple[float, float, str] | None
    pacing: dict[str, Any]
    strikes: list[int]
    evaluations: int
    hit: list[tuple[Hashable, int]]
    latest: list[tuple[int, float, int, float]]
    search_delay: int
    pieces: np.ndarray
    laws: list[np.ndarray]
    arrays: list[np.ndarray]


def _arrays(course: PausingRun) -> list[np.ndarray]:
    """Return the arrays of the run `course` on which later steps depend, except those of the solver."""
    run = course.run
    own = [run.y, run.y_new, run.clock.array, run.counts.array, run.requested_times, run.states]
    counter = [run.counter.clock.array, *(getattr(run.counter, name) for name in OF_COUNTER)]
    watched = [run.watched.hit, *real_arrays(run.watched, ("laws", "readings", "crossings", "samples"))]
    return [*own, *counter, *watched, *real_arrays(run.functions), *course.method.stepper.memory]


def snapshot(course: PausingRun) -> RunMemory:
    """Return a copy of all data required to continue the run `course`, except those of its solver."""
    method, across = course.method, course.method.across
    return RunMemory(
        method=method.present.name,
        attributes={name: copy(getattr(course, name)) for name in ATTRIBUTES},
        across=None if across is None else (across.end, across.h, across.method.name),
        pacing=method.pacing.snapshot(),
        strikes=method.functions.strikes.copy(),
        evaluations=course.flow.evaluations,
        hit=list(course.happened.hit),
        latest=list(course.happened.latest),
        search_delay=course.search.next_delay,
        pieces=course.run.pieces.copy(),
        laws=course.watch.laws.snapshot(),
        arrays=copies(_arrays(course)),
    )


def recall(course: PausingRun, saved: RunMemory) -> None:
    """Restore a snapshot of the run `course`, or of another run of the same system; `course` must have been started."""
    method = course.method
    if saved.method != method.present.name:
        course.run = method.change_to(course.run, method.named(saved.method))
    for name, value in saved.attributes.items():
        setattr(course, name, copy(value))
    method.across = None
    if saved.across is not None:
        end, h, name = saved.across
        method.across = Across(end, h, method.named(name))
    course.output.clear()
    method.pacing.recall(saved.pacing)
    method.functions.strikes = saved.strikes.copy()
    course.flow.evaluations, course.search.next_delay = saved.evaluations, saved.search_delay
    course.happened.hit, course.happened.latest = list(saved.hit), list(saved.latest)
    course.run = course.run._replace(pieces=saved.pieces.copy())
    course.watch.laws.recall(saved.laws)
    restore(_arrays(course), saved.arrays)


def learned(course: PausingRun) -> tuple[Any, ...]:
    """Return data of the run `course` that make later runs with the same enabled constraints and forces start faster.

    The data are the current method, the settings, and limits and counters of the search for jumps of user functions.
    """
    functions = course.method.functions
    arrays = copies([functions.samples.limit, functions.samples.changes, course.watch.table.change])
    return course.method.present.name, course.settings, functions.strikes.copy(), arrays


def apply_learned(course: PausingRun, data: tuple[Any, ...]) -> None:
    """Apply the data returned by `learned` to the run `course`.

    The data may be those of another run with the same enabled constraints and forces. This function must be called
    before the first start of the run.
    """
    method = course.method
    name, course.settings, strikes, arrays = data
    if name != method.present.name:
        method.use(method.named(name))
    method.functions.strikes = strikes
    restore([method.functions.samples.limit, method.functions.samples.changes, course.watch.table.change], arrays)
