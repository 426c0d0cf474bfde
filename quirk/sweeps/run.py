"""One run of a sweep, wherever it is computed: built, simulated and reduced to arrays."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError, QuirkError, SimulationError
from ..result.result import Result
from ..simulation.simulate import simulate
from ..system.system import System
from .table import SweepTable, kept_of, of_result

# What is the same for all runs as long as they share their times.
SHARED = ("output", "start")


@dataclass(frozen=True)
class Job:
    """What all runs have in common; workers get it once.

    Attributes
    ----------
    build : makes the system of one run, or (system, options), from its parameters
    duration : s
    options : of `simulate`
    quantities : groups of `Result.to_xarray` that are kept
    reduce : makes of a result what is kept instead, or None
    times : (nt,) at which all runs give output, s, or None where each has its own
    taken : names that what `reduce` returns cannot have, as others have them
    """

    build: Callable[..., Any]
    duration: float
    options: Mapping[str, Any]
    quantities: Any
    reduce: Callable[[Result], Any] | None
    times: np.ndarray | None
    taken: frozenset[str]


@dataclass(frozen=True)
class SweepRun:
    """One of them: its number, and what `build` is given."""

    number: int
    arguments: Mapping[str, Any]


@dataclass
class Outcome:
    """What has become of a run.

    Attributes
    ----------
    number : of the run
    status : of its result, or "failed"
    error : why it failed, else ""
    table : what is kept of it
    """

    number: int
    status: str
    error: str = ""
    table: SweepTable = field(default_factory=SweepTable)


def outcomes(job: Job, runs: Sequence[SweepRun]) -> Iterator[Outcome]:
    """Compute several runs, one after the other; whatever goes wrong in one ends that one."""
    for run in runs:
        yield outcome(job, run)


def outcome(job: Job, run: SweepRun) -> Outcome:
    """Compute one run."""
    try:
        return _computed(job, run)
    except BaseException as error:  # what a user wrote may raise any
        return Outcome(run.number, "failed", said(error))


def _computed(job: Job, run: SweepRun) -> Outcome:
    """Compute one run; what was computed until it fails is worth as much as in a run that ended early."""
    system, own = _built(job, run)
    try:
        result = simulate(system, **{"duration": job.duration, **job.options, **own})
    except SimulationError as error:
        partial = error.result if job.reduce is None else None
        return Outcome(run.number, "failed", said(error), SweepTable() if partial is None else _kept(job, partial))
    return Outcome(run.number, result.status, "", _kept(job, result))


def _built(job: Job, run: SweepRun) -> tuple[System, dict[str, Any]]:
    """Return the system of a run, and what it alone has of options."""
    made = job.build(**run.arguments)
    system, own = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
    if not isinstance(system, System) or not isinstance(own, Mapping):
        raise InputError(f"sweep: build must return a quirk.System, or (system, options of simulate); got {made!r}")
    for name in SHARED:
        if name in own and job.times is not None:
            raise InputError(
                f"sweep: build returned option {name!r}, but all runs have the same output times; give it to sweep, "
                "or leave output= out there and use reduce="
            )
    return system, {"progress": False, **own}


def _kept(job: Job, result: Result) -> SweepTable:
    """Return what is kept of a result."""
    if job.reduce is None:
        assert job.times is not None
        return of_result(result, job.quantities, job.times)
    return kept_of(job.reduce(result), result.time, job.times).beside(job.taken)


def said(error: BaseException) -> str:
    """Return an error in one line, with its place if it is none that QuIRK raises on purpose."""
    try:
        message = f"{error}"
    except BaseException as trouble:  # classes of the user may raise any
        message = f"it has no text, as its own __str__ fails with {type(trouble).__name__}"
    text = " ".join(f"{type(error).__name__}: {message}".split())
    if isinstance(error, QuirkError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} (line {frames[-1].lineno} of {frames[-1].filename})" if frames else text
