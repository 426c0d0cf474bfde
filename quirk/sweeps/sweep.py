"""Parameter sweeps: simulation of many systems that differ in their parameters."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, outside
from ..io.resultfile.dataset import library
from ..io.resultfile.selection import groups_named
from ..jit.keyboard_interrupt import DeferredInterrupt
from ..simulation.output_schedule import output_times
from ..simulation.simulate import simulate
from ..util import validate
from ..util.cores import available_cores
from ..util.misuse import explained
from ..util.progress import ProgressLine
from ..util.suggestion import suggestion
from .cluster import computed_on
from .dataset import RUN, dataset
from .parameters import parameters_of_runs
from .run import Job, Outcome, SweepRun
from .workers import computed_in_processes

if TYPE_CHECKING:
    import xarray

OWNER = "sweep"
SEED = "seed"
# Quantities stored by default.
USUAL = ("motion",)
# Names in the Dataset of a sweep that parameters must not have: coordinates and dimensions.
COORDINATES = frozenset({RUN, "status", "error"})
DIMENSIONS = frozenset({"time", "body", "joint", "axis", "quaternion"})


@explained
def sweep(
    build: Callable[..., Any],
    parameters: Any,
    duration: float,
    *,
    samples: ArrayLike | None = None,
    quantities: str | Iterable[str] | None = None,
    reduce: Callable[[Any], Any] | None = None,
    workers: int | None = None,
    client: Any = None,
    retries: int = 2,
    seed: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Simulate many systems that differ in parameters, on all cores of this machine or on a cluster.

    Parameters
    ----------
    build : function
        ``build(**parameters)`` returns the system of one run, or (system, options of `simulate` for this run only).
        Each run calls it in a worker process; it may be defined anywhere, including scripts and notebooks.
    parameters : mapping, table or problem
        A mapping of lists, {"mass": [1, 2], "length": [0.1, 0.2, 0.3]}, defines all combinations, here six runs; the
        last parameter varies fastest. A table has one row for each run: a list of mappings, a pandas DataFrame, or a
        structured array. With `samples`: names and bounds of the columns of `samples`.
    duration : float
        Duration of each run, s.
    samples : (runs, parameters), optional
        With parameters={"mass": (1, 2), ...}, samples in the unit cube, from `scipy.stats.qmc`, which are scaled to
        these bounds; with parameters={"names": [...], "bounds": [...]}, samples within the bounds, from SALib.
    quantities : name or list of names, optional
        Stored quantities: groups of `Result.to_xarray`, such as ["motion", "joints", "loads"], over time; requires
        `output`. Default: "motion", the positions and velocities of all bodies.
    reduce : function, optional
        ``reduce(result)`` is called in the worker, and its return value is stored: a number, an array, a dict of
        numbers and arrays with optional names of dimensions, such as {"peak": 3.0, "angle": ("time", angles)}, or an
        xarray Dataset or DataArray. Names equal to the name of a parameter get the prefix ``result_``.
    workers : int, optional
        Number of processes; default: the number of cores available to this process.
    client : dask.distributed.Client, cluster such as LocalCluster, or address, optional
        Cluster to compute on instead of this machine.
    retries : int
        Number of times a run is repeated if its process dies, before it counts as failed; not used on clusters.
    seed : int, optional
        If build has an argument `seed`, each run gets a separate integer, spawned from this one; default: from the
        operating system. The integers are a coordinate of the Dataset.
    progress : bool, optional
        Whether to show a progress line on standard error; default: after two seconds, if it is a terminal.
    options
        Options of `simulate`, for all runs.

    Returns
    -------
    xarray.Dataset
        Dataset with dimension "run", in the order of the parameters, which are coordinates. `.status` of each run is
        the status of its result, or "failed", with the reason in `.error`, or "not run" after Ctrl-C, which returns the
        runs computed so far. Values at output times after the early end of a run are NaN. The values equal those of a
        single run on the same machine to the last bit. Systems that differ only in numerical parameters are computed
        eight at a time with fixed steps of explicit methods; their values are equal up to round-off.

    Raises
    ------
    InputError
        If an argument is invalid. Errors in a run are not raised; they are reported in its status.

    Examples
    --------
    >>> def build(mass):
    ...     ball = quirk.Body.sphere("ball", mass, 0.1)
    ...     return quirk.System([ball, quirk.Force("push", ball, [1.0, 0, 0])])
    >>> data = quirk.sweep(build, {"mass": [1.0, 2.0]}, 1.0, reduce=lambda r: r["ball"].velocity[-1, 0], progress=False)
    >>> data["value"].values.round(6)
    array([1. , 0.5])
    """
    for name in ("xarray", "cloudpickle"):
        library(name, OWNER, "sweep")
    rows = parameters_of_runs(parameters, samples)
    duration = validate.positive(OWNER, "duration", duration)
    retries = validate.whole(OWNER, "retries", retries) if retries != 0 else 0
    if progress is not None:
        validate.flag(OWNER, "progress", progress)
    if client is not None and workers is not None:
        raise InputError(f"{OWNER}: client has its own workers; omit workers")
    count = min(available_cores() if workers is None else validate.whole(OWNER, "workers", workers), len(rows))
    times = _times(duration, reduce, options)
    runs, seeds = runs_of(build, rows, seed)
    kept = _quantities(quantities, reduce)
    job = Job(build, duration, options, kept, reduce, times, COORDINATES.union(rows[0], seeds))
    pickled, lanes = _pickled(job), job.lanes is not None
    stop = np.zeros(1, dtype=np.int64)
    stream: Generator[Outcome | None, None, None] = (
        computed_in_processes(pickled, runs, count, retries, stop, lanes)
        if client is None
        else computed_on(client, pickled, runs, stop)
    )
    found = _collected(stream, len(runs), progress, stop)
    _warn_of_failures([one for one in found if one is not None])
    return dataset(rows, found, times, seeds, {"duration": duration})


def _quantities(quantities: Any, reduce: Any) -> tuple[str, ...]:
    """Return the names of the groups of quantities to be stored, from the user's arguments."""
    if quantities is None:
        return USUAL
    if reduce is not None:
        raise InputError(f"{OWNER}: quantities cannot be combined with reduce=")
    named = groups_named(OWNER, quantities)
    if "events" in named:
        raise InputError(f"{OWNER}: event times differ between runs: extract their data with reduce=")
    return named


def _times(duration: float, reduce: Any, options: Mapping[str, Any]) -> np.ndarray | None:
    """Return the common output times (nt,) of all runs, s, or None if there are none.

    Raises
    ------
    InputError
        If an option is invalid.
    """
    known = [*inspect.signature(sweep).parameters, *inspect.signature(simulate).parameters]
    known = [name for name in dict.fromkeys(known) if name not in ("options", "system")]
    for name in options:
        if name not in known:
            raise InputError(
                f"{OWNER}: neither sweep nor simulate has an option {name!r}; {suggestion(name, known, every=True)}"
            )
    if "checkpoint" in options:
        raise InputError(f"{OWNER}: each run needs a separate checkpoint: let build return (system, options)")
    if reduce is not None and not callable(reduce):
        raise InputError(f"{OWNER}: reduce must be a function of a result; got {reduce!r}")
    output, start = options.get("output"), validate.number(OWNER, "start", options.get("start", 0.0))
    if output is None and reduce is None:
        raise InputError(
            f"{OWNER}: give output=, in seconds, so that all runs have the same times; or reduce=, a function that "
            "reduces each result"
        )
    return output_times(output, start, start + duration)


def runs_of(build: Any, rows: Sequence[Mapping[str, Any]], seed: Any) -> tuple[list[SweepRun], dict[str, np.ndarray]]:
    """Return all runs of a sweep, and the seeds of their random numbers.

    The seeds are an array (runs,) in a dict, under the name of the argument of `build`; the dict is empty if `build`
    takes no seed. `rows` are the parameters of each run.
    """
    if not callable(build):
        raise InputError(f"{OWNER}: build must be a function that returns a system; got {build!r}")
    for name in rows[0]:
        if name in COORDINATES | DIMENSIONS:
            raise InputError(f'{OWNER}: "{name}" is a coordinate of the Dataset: rename the parameter')
    arguments = inspect.signature(build).parameters
    asks = SEED in arguments and SEED not in rows[0]
    if seed is not None and not asks:
        raise InputError(f"{OWNER}: seed requires a build with an argument seed that is not a parameter")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise InputError(f"{OWNER}: seed must be a whole number, zero or above; got {seed!r}")
    spawned = np.random.SeedSequence(seed).spawn(len(rows)) if asks else []
    # 63 bits: larger integers are not supported by all file formats.
    seeds = {SEED: np.array([one.generate_state(1, np.uint64)[0] >> np.uint64(1) for one in spawned]).astype(np.int64)}
    runs = [SweepRun(k, {**row, SEED: int(seeds[SEED][k])} if asks else row) for k, row in enumerate(rows)]
    try:
        inspect.signature(build).bind(**runs[0].arguments)
    except TypeError as error:
        unknown = next((name for name in rows[0] if name not in arguments), None)
        hint = "" if unknown is None else f"; {suggestion(unknown, arguments, every=True)}"
        raise InputError(f"{OWNER}: build cannot be called with {sorted(rows[0])}: {error}{hint}") from None
    return runs, seeds if asks else {}


def _pickled(job: Job) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(job)
    except Exception as error:  # any error from user objects
        raise InputError(
            f"{OWNER}: build, reduce and options must be picklable for other processes: {type(error).__name__}: "
            f"{error}; create such objects in build"
        ) from None


def _warn_of_failures(outcomes: Sequence[Outcome]) -> None:
    """Warn if all runs have failed, which indicates an error in the call of `sweep`."""
    if outcomes and all(one.status == "failed" for one in outcomes):
        warnings.warn(
            f"{OWNER}: all {len(outcomes)} runs failed, the first with {outcomes[0].error}", stacklevel=outside()
        )


def _collected(
    stream: Generator[Outcome | None, None, None], count: int, progress: bool | None, stop: np.ndarray
) -> list[Outcome | None]:
    """Return the outcome of each run, or None for runs not computed because of Ctrl-C.

    `stream` yields the outcomes, `count` is the number of runs; Ctrl-C sets the flag `stop`.
    """
    found: list[Outcome | None] = [None] * count
    done = failed = 0

    def progress_text(runs: float) -> str:
        return f"{runs:.0f} of {count} runs" + (f", {failed} failed" if failed else "")

    line = ProgressLine.shown(progress, 0, count, progress_text)
    try:
        with contextlib.suppress(KeyboardInterrupt), DeferredInterrupt(stop), contextlib.closing(stream):
            for outcome in stream:
                if outcome is not None:
                    found[outcome.number] = outcome
                    done, failed = done + 1, failed + (outcome.status == "failed")
                if line is not None:
                    line.update(done)
    finally:
        if line is not None:
            line.close(done)
    return found
