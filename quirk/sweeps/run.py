"""One run of a sweep: construction of its system, simulation, and reduction to arrays."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError, QuirkError, SimulationError
from ..result.result import Result
from ..simulation.simulate import simulate
from ..system.system import System
from .table import SweepTable, of_result, reduced_table

T = TypeVar("T")

# Options that must be equal for all runs with common output times.
SHARED = ("output", "start")
# Quantities and options of `simulate` that SIMD lanes support.
MOTION = ("motion",)
IN_LANES = frozenset({"method", "step", "output", "start", "solver", "stabilization", "projection_interval"})
LANE_DEFAULTS: dict[str, Any] = {
    "method": "auto", "start": 0.0, "stabilization": "projection", "projection_interval": 1, "max_step": None,
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """Data common to all runs of a sweep, sent to each worker once.

    Attributes
    ----------
    build : function of the parameters that returns the system of one run, or (system, options)
    duration : duration of each run, s
    options : options of `simulate`
    quantities : groups of `Result.to_xarray` to be stored
    reduce : function of a result that returns the data to be stored instead, or None
    times : (nt,) s, common output times, or None if output times differ
    taken : names of parameters and coordinates, which values returned by `reduce` must not have
    """

    build: Callable[..., Any]
    duration: float
    options: Mapping[str, Any]
    quantities: Any
    reduce: Callable[[Result], Any] | None
    times: np.ndarray | None
    taken: frozenset[str]

    @property
    def lanes(self) -> dict[str, Any] | None:
        """Settings of the runs, by name, if SIMD lanes may be used, otherwise None; see `quirk.sweeps.in_lanes`.

        SIMD lanes require fixed steps, only supported options, and that the motions of all bodies are stored, nothing
        else.
        """
        given = {name: x for name, x in self.options.items() if x is not None and name != "progress"}
        if self.reduce is not None or tuple(self.quantities) != MOTION or not IN_LANES.issuperset(given):
            return None
        if given.get("step") is None or given.get("solver", "sparse") != "sparse":
            return None
        return {**LANE_DEFAULTS, **given}


@dataclass(frozen=True)
class SweepRun:
    """One run of a sweep: its index, and the arguments of the user's function `build`."""

    number: int
    arguments: Mapping[str, Any]


@dataclass
class Outcome:
    """Outcome of one run of a sweep.

    Attributes
    ----------
    number : index of the run
    status : status of its result, or "failed"
    error : reason of a failure, otherwise ""
    table : stored data
    """

    number: int
    status: str
    error: str = ""
    table: SweepTable = field(default_factory=SweepTable)


def outcome(job: Job, run: SweepRun) -> Outcome:
    """Simulate one run and return its outcome; errors are stored in the outcome."""
    return guarded(run, lambda: simulated(job, run, *built(job, run)))


def guarded(run: SweepRun, compute: Callable[[], T]) -> T | Outcome:
    """Return the result of `compute` or, if it raises an error, an outcome that states the failure of the run."""
    try:
        return compute()
    except BaseException as error:  # user functions may raise any error
        return Outcome(run.number, "failed", error_text(error))


def simulated(job: Job, run: SweepRun, system: System, run_options: Mapping[str, Any]) -> Outcome:
    """Simulate one run with its options and return the outcome, which after a failure has the data computed before."""
    try:
        result = simulate(system, **{"duration": job.duration, **job.options, **run_options})
    except SimulationError as error:
        partial = error.result if job.reduce is None else None
        return Outcome(
            run.number, "failed", error_text(error), SweepTable() if partial is None else _stored(job, partial)
        )
    return Outcome(run.number, result.status, "", _stored(job, result))


def built(job: Job, run: SweepRun) -> tuple[System, dict[str, Any]]:
    """Return the system of a run, and the options of `simulate` that apply to this run only."""
    made = job.build(**run.arguments)
    system, own = made if isinstance(made, tuple) and len(made) == 2 else (made, {})
    if not isinstance(system, System) or not isinstance(own, Mapping):
        raise InputError(f"sweep: build must return a quirk.System, or (system, options of simulate); got {made!r}")
    for name in SHARED:
        if name in own and job.times is not None:
            raise InputError(
                f"sweep: build returned option {name!r}, but all runs have the same output times; pass it to sweep, "
                "or omit output= there and use reduce="
            )
    return system, {"progress": False, **own}


def _stored(job: Job, result: Result) -> SweepTable:
    """Return the data of a result that the sweep stores."""
    if job.reduce is None:
        assert job.times is not None
        return of_result(result, job.quantities, job.times)
    return reduced_table(job.reduce(result), result.time, job.times).with_prefix(job.taken)


def error_text(error: BaseException) -> str:
    """Return an error as one line.

    For errors that are not raised deliberately by QuIRK, the line contains the location in the code.
    """
    try:
        message = f"{error}"
    except BaseException as trouble:  # classes of the user may raise any error
        message = f"it has no text, as its own __str__ fails with {type(trouble).__name__}"
    text = " ".join(f"{type(error).__name__}: {message}".split())
    if isinstance(error, QuirkError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} (line {frames[-1].lineno} of {frames[-1].filename})" if frames else text
