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
    first, method : names of the method with which the run object began, and of the current one
    attributes : attributes of the run, by name
    across : end, length and method to return to of an interval with a singular configuration, or None
    pacing : data of `MethodSwitching` or `SlipSwitching`
    false_alarms, evaluations : `Functions.false_alarms` and `SparseFlow.evaluations`
    hit, latest : events, see `RunEvents`
    search_delay : `DiscontinuitySearch.next_delay`
    pieces : copy of the intervals between breaks, times at which steps must end
    laws : copies of the inputs and outputs of force laws and event functions
    arrays : copies of all other arrays
    """

    first: str
    method: str
    attributes: dict[str, Any]
    across: tuple[float, float, str] | None
    pacing: dict[str, Any]
    false_alarms: list[int]
    evaluations: int
    hit: list[tuple[Hashable, int]]
    latest: list[tuple[int, float, int, float]]
    search_delay: int
    pieces: np.ndarray
    laws: list[np.ndarray]
    arrays: list[np.ndarray]


def _arrays_of_states(pausing_run: PausingRun) -> list[np.ndarray]:
    """Return the arrays of the run `pausing_run` that contain the present state; they are the same for all methods."""
    run = pausing_run.run
    own = [run.y, run.y_new, run.clock.array, run.counts.array, run.requested_times, run.states]
    return [*own, run.counter.clock.array, *(getattr(run.counter, name) for name in OF_COUNTER)]


def _arrays(pausing_run: PausingRun) -> list[np.ndarray]:
    """Return the arrays of the run `pausing_run` on which later steps depend, except those of the solver."""
    run = pausing_run.run
    watched = [
        run.watched.hit,
        *real_arrays(run.watched, ("laws", "readings", "shared", "crossings", "samples", "redundant")),
    ]
    return [*_arrays_of_states(pausing_run), *watched, *real_arrays(run.functions), *pausing_run.method.stepper.memory]


def snapshot(pausing_run: PausingRun) -> RunMemory:
    """Return a copy of all data required to continue the run `pausing_run`, except those of its solver."""
    method, across = pausing_run.method, pausing_run.method.across
    return RunMemory(
        first=method.first.name,
        method=method.present.name,
        attributes={name: copy(getattr(pausing_run, name)) for name in ATTRIBUTES},
        across=None if across is None else (across.end, across.h, across.method.name),
        pacing=method.pacing.snapshot(),
        false_alarms=method.functions.false_alarms.copy(),
        evaluations=pausing_run.flow.evaluations,
        hit=list(pausing_run.happened.hit),
        latest=list(pausing_run.happened.latest),
        search_delay=pausing_run.search.next_delay,
        pieces=pausing_run.run.pieces.copy(),
        laws=pausing_run.watch.laws.snapshot(),
        arrays=copies(_arrays(pausing_run)),
    )


def fits(pausing_run: PausingRun, saved: RunMemory) -> bool:
    """Whether a snapshot is of a run that began with the same method as `pausing_run`.

    Taylor series are replaced by another method once a function of the system must run in Python.
    """
    return saved.first == pausing_run.method.first.name


def recall_state(pausing_run: PausingRun, saved: RunMemory) -> None:
    """Restore the state of a snapshot that does not fit `pausing_run`, from which a new step must begin."""
    arrays = _arrays_of_states(pausing_run)
    restore(arrays, saved.arrays[: len(arrays)])
    pausing_run.paused, pausing_run.whole = saved.attributes["paused"], copy(saved.attributes["whole"])


def recall(pausing_run: PausingRun, saved: RunMemory) -> None:
    """Restore a snapshot of `pausing_run`, which must have been started, or of another run of the same system.

    The snapshot must fit the run.
    """
    method = pausing_run.method
    if saved.method != method.present.name:
        pausing_run.run = method.change_to(pausing_run.run, method.named(saved.method))
    for name, value in saved.attributes.items():
        setattr(pausing_run, name, copy(value))
    method.across = None
    if saved.across is not None:
        end, h, name = saved.across
        method.across = Across(end, h, method.named(name))
    pausing_run.output.clear()
    method.pacing.recall(saved.pacing)
    method.functions.false_alarms = saved.false_alarms.copy()
    pausing_run.flow.evaluations, pausing_run.search.next_delay = saved.evaluations, saved.search_delay
    pausing_run.happened.hit, pausing_run.happened.latest = list(saved.hit), list(saved.latest)
    pausing_run.run = pausing_run.run._replace(pieces=saved.pieces.copy())
    pausing_run.watch.laws.recall(saved.laws)
    restore(_arrays(pausing_run), saved.arrays)


def learned(pausing_run: PausingRun) -> tuple[Any, ...]:
    """Return data of a run that make later runs with the same enabled constraints and forces start faster.

    The data are the current method, the settings, and limits and counters of the search for jumps of user functions.
    """
    functions = pausing_run.method.functions
    arrays = copies(
        [
            functions.samples.limit,
            functions.samples.explained,
            functions.samples.changes,
            pausing_run.watch.table.change,
        ]
    )
    return pausing_run.method.present.name, pausing_run.settings, functions.false_alarms.copy(), arrays


def apply_learned(pausing_run: PausingRun, data: tuple[Any, ...]) -> None:
    """Apply the data returned by `learned` to the run `pausing_run`.

    The data may be those of another run with the same enabled constraints and forces. This function must be called
    before the first start of the run.
    """
    method = pausing_run.method
    name, pausing_run.settings, false_alarms, arrays = data
    if name != method.present.name:
        method.use(method.named(name))
    method.functions.false_alarms = false_alarms
    samples = method.functions.samples
    restore([samples.limit, samples.explained, samples.changes, pausing_run.watch.table.change], arrays)
