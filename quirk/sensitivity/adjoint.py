"""Derivatives of one number by many parameters: weights of states carried back along the steps that a run took."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.dynamics.directions import FREEDOMS, SHIFT, VELOCITY
from quirk.dynamics.sparse.host.adjoint import Reversed
from quirk.dynamics.sparse.host.variation import Steps, Varied
from quirk.errors import InputError, SensitivityWarning
from quirk.integrators import TABLEAUX, Taylor
from quirk.objective import Objective
from quirk.phases import Phases
from quirk.result import Result
from quirk.trail import Stretch

from .abrupt import warn_of_jumps
from .along import check_rows
from .change import Change, as_changes, directions_of, motions_of, start_of
from .judged import Judge
from .parameters import Parameter

OWNER = "simulate: objective"
AT_JUMPS = (
    "leave out objective=, place an Event whose quantity crosses its level right there, and take result.sensitivity"
)
# Error of a change in a step, of its size, that shows in a gradient.
NOTICED = 1e-3


class Gradient:
    """A number that a run is judged by, and its derivatives: ``result.gradient[("rod", "mass")]``.

    Attributes
    ----------
    value : the number
    """

    def __init__(self, value: float, parameters: Sequence[Parameter], found: np.ndarray) -> None:
        ends = np.cumsum([0, *(one.size for one in parameters)])
        self.value = value
        self._found = {one.key: found[ends[n] : ends[n + 1]].reshape(one.shape) for n, one in enumerate(parameters)}

    @property
    def parameters(self) -> list[Any]:
        """The parameters, as they were given to `simulate`."""
        return list(self._found)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return the derivative by a parameter, an array of the parameter's shape."""
        named = tuple(key) if isinstance(key, list) else key
        if named not in self._found:
            listed = ", ".join(repr(one) for one in self._found)
            raise InputError(f"Result: gradient: there is none by {key!r}; there are: {listed}")
        return self._found[named]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<Gradient of {self.value:g} by {', '.join(repr(one) for one in self._found)}>"


def gradient_of(
    result: Result, stretches: Sequence[Stretch], phases: Phases, parameters: Sequence[Parameter], objective: Objective
) -> Gradient:
    """Return a number that a run gives, and its derivatives by parameters.

    Parameters
    ----------
    result : of the run, all of whose times are ends of steps
    stretches : its steps
    phases : by which it was computed
    parameters : which vary
    objective : the number
    """
    stretch = _one(stretches)
    segment, plant, settings = result.segments[0], stretch.plant, phases.settings
    changes = [change for parameter in parameters for change in parameter.changes]
    directions, motions = directions_of(plant.model, changes), motions_of(plant.model, changes)
    rates, keeps = (settings.alpha, settings.beta), settings.interval > 0
    # Steps that sum a series are noted in parts, which their other method takes.
    back = Reversed(plant.solver(), TABLEAUX.get(phases.method, Taylor.instead), rates, keeps)
    start = _start(stretch, changes)
    if stretch.steps and back.solver.redundant:
        _check(stretch, phases, [change for change in changes if change.motions or change.reshapes])
    judge = Judge(result.system, segment, plant, back, changes)
    value, slopes = objective.judged(judge.values(objective.quantities))
    sources, found = judge.pulled_back(slopes)
    if not stretch.steps:
        return Gradient(value, parameters, found + start @ sources.sum(axis=0))
    warn_of_jumps(OWNER, AT_JUMPS, stretch.steps, plant.model, back.solver.slots)
    _warn_of_long_steps(stretch, phases)
    steps, rows = _up_to_last(stretch.steps[0], segment.time, segment.flat[-1])
    by_start, along = back.along(steps, rows, sources, directions, motions, segment.angles[-1])
    return Gradient(value, parameters, found + along + start @ by_start)


def _one(stretches: Sequence[Stretch]) -> Stretch:
    """All stretches as one."""
    first = stretches[0]
    for before, after in itertools.pairwise(stretches):
        if before.plant is not after.plant or not np.array_equal(before.end, after.start):
            named = ", ".join(guard.title for guard in before.hit) or "what happens"
            raise InputError(
                f"{OWNER}: at t = {before.reached:g} s the motion jumps or the active parts change ({named}): its "
                "gradient is found on smooth runs; leave out objective= and take derivatives along the run, "
                "result.sensitivity"
            )
    last = stretches[-1]
    parts = [part for one in stretches for part in one.parts]
    return replace(first, end=last.end, reached=last.reached, parts=parts)


def _warn_of_long_steps(stretch: Stretch, phases: Phases) -> None:
    """Warn if steps are too long for what changes: seen of a change of the start in any direction."""
    model, course = stretch.plant.model, Varied(stretch.plant.solver(), phases.settings)
    moved = np.random.default_rng(0).standard_normal((len(model.mass), FREEDOMS, 1))
    moved[:, SHIFT] *= model.length
    moved[:, VELOCITY] *= model.length
    start = as_changes(model, stretch.start, moved, np.zeros((model.carried.size, 1)))
    asked = np.zeros(0), np.zeros((0, start.shape[1]))
    course.along(stretch.steps[0], start, directions_of(model, [Change()]), [], asked, np.zeros(1))
    if course.worst > NOTICED:
        warnings.warn(
            f"{OWNER}: steps are too long for derivatives, as of a system at rest that would vibrate: the gradient is "
            "not exact; give max_step=, or leave out objective= and take result.sensitivity",
            SensitivityWarning,
            stacklevel=5,  # where `simulate` was called
        )


def _up_to_last(steps: Steps, times: np.ndarray, last: np.ndarray) -> tuple[Steps, np.ndarray]:
    """The steps up to the last time that is kept, and which kept time each starts at, and the last ends at, or -1."""
    ends = np.concatenate([steps.trail[:1, 0], steps.trail[:, 1]])
    places = np.searchsorted(ends, times)
    known = places < len(ends)
    known[known] = ends[places[known]] == times[known]
    if not known.all() or len(np.unique(places)) < len(places):
        raise InputError(
            f"{OWNER}: the run keeps a state at t = {times[int(np.argmin(known))]:g} s beside those that output= asks "
            "for, as at an event: leave out the events"
        )
    count = int(places[-1])
    rows = np.full(count + 1, -1, dtype=np.int64)
    rows[places] = np.arange(len(places))
    return replace(steps, trail=steps.trail[:count], end=last), rows


def _start(stretch: Stretch, changes: Sequence[Change]) -> np.ndarray:
    """How the state (D, 13 n + k) at the start changes, before constraints are looked at."""
    model = stretch.plant.model
    return as_changes(model, stretch.start, *start_of(model, changes))


def _check(stretch: Stretch, phases: Phases, changes: Sequence[Change]) -> None:
    """Raise InputError if redundant rows contradict each other along a change: seen where the run starts."""
    if not changes:
        return
    model, start = stretch.plant.model, _start(stretch, changes)
    directions, motions = directions_of(model, changes), motions_of(model, changes)
    steps, course = stretch.steps[0], Varied(stretch.plant.solver(), phases.settings)
    after = course.solver.slots.state_from_lanes(steps.trail[1:2, 8:])[0] if len(steps.trail) > 1 else steps.end
    first = replace(steps, trail=steps.trail[:1], end=after)
    asked = np.array([stretch.t]), stretch.start[None]
    at, _ = course.along(first, start, directions, motions, asked, np.zeros(len(changes)))
    check_rows(stretch, course, at[:, 0], directions, changes)
