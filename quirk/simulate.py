"""From a system and a duration to a result."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from . import validate
from .assembly import check_consistent
from .dynamics.equations import applied_loads
from .dynamics.flow import Flow
from .dynamics.sparse.advance import Settings
from .dynamics.sparse.flow import SparseFlow
from .dynamics.sparse.run import CompiledRun
from .dynamics.stepped import SteppedRun
from .dynamics.turns import Turns, angles_at, angles_by_name
from .errors import InputError, SimulationError
from .health import check_kept
from .integrators import (
    STIFF_METHODS,
    TABLEAUX,
    IntegrationError,
    Recorder,
    Sampled,
    Statistics,
    Tolerance,
    adaptive_steps,
    fixed_steps,
    guarded,
    stiff_steps,
)
from .integrators.control import FARTHEST_CORRECTION, LARGEST_CORRECTION
from .integrators.fixed import step_count
from .result import Result
from .state import STATE_SIZE, Kinematics, State, vector_starts
from .system import SOLVERS, System

METHODS = (*TABLEAUX, *STIFF_METHODS)
STABILIZATIONS = ("projection", "baumgarte", None)

MAX_OUTPUTS = 10**8  # states; more would not fit into memory

PROGRESS_INTERVAL = 0.2  # s of wall time between two updates of the progress line


def simulate(
    system: System,
    duration: float,
    *,
    method: str = "Vern9",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    output: Any = None,
    initial_state: State | None = None,
    start: float = 0.0,
    stabilization: str | None = "projection",
    baumgarte: tuple[float, float] = (10.0, 10.0),
    solver: str = "sparse",
    projection_interval: int = 1,
    progress: bool = False,
) -> Result:
    """Integrate the motion of a system.

    Parameters
    ----------
    system : System
    duration : float
        s, positive.
    method : str
        "RK4" (needs `step`), "RK45", "Tsit5", "DOP853" or "Vern9" (adaptive, or fixed with `step`); for stiff systems
        SciPy's "Radau", "BDF" or "LSODA".
    rtol, atol : float
        Bounds on the error of a step, relative and absolute (SI units), for each body's position,
        orientation, velocity and angular velocity; default 1e-9 and 1e-12.
    step : float
        Fixed step size, s.
    output : float or list of times
        Interval of the output, s, or the times themselves, from `start` on; default: every step.
    initial_state : State
        Where to start; default: `system.initial_state()`. To go on from an earlier run, give its
        ``result.state_at()`` here and its last time as `start`; joints then keep the turns that they have made.
    start : float
        Time at the start, s, as forces that depend on time see it.
    stabilization : "projection", "baumgarte" or None
        Projection moves each step's end to the nearest state on the constraints; Baumgarte adds
        2 alpha Phi_dot + beta^2 Phi to each constraint equation; None leaves the drift.
    baumgarte : (alpha, beta)
        1/s, for stabilization="baumgarte".
    solver : "sparse" or "dense"
        "sparse" is compiled and costs in proportion to the number of bodies; "dense" is the reference.
    projection_interval : int
        Project every so many steps: more than 1 saves time, and lets residuals grow in between. States that are
        kept are projected in any case.
    progress : bool
        Show a progress line on standard error.

    Returns
    -------
    Result
        If the run is interrupted from the keyboard, what was computed so far, with
        ``result.status == "interrupted"``.

    Raises
    ------
    InputError
        If an argument cannot be used.
    InconsistentStateError
        If the initial state violates a constraint.
    SimulationError
        If the step size collapses or the state stops being finite; it carries the partial result.
    """
    if not isinstance(system, System):
        raise InputError(f"simulate: system must be a quirk.System; got {system!r}")
    owner = "simulate"
    duration = validate.positive(owner, "duration", duration)
    validate.choice(owner, "method", method, METHODS)
    validate.choice(owner, "stabilization", stabilization, STABILIZATIONS)
    validate.choice(owner, "solver", solver, SOLVERS)
    alpha, beta = validate.array(owner, "baumgarte", baumgarte, (2,))
    if alpha < 0 or beta < 0:
        raise InputError(f"{owner}: baumgarte must be two rates, 1/s, not negative; got ({alpha:g}, {beta:g})")
    step = _checked_step(method, step, rtol, atol, duration)
    rtol = validate.positive(owner, "rtol", 1e-9 if rtol is None else rtol)
    atol = validate.positive(owner, "atol", 1e-12 if atol is None else atol)
    interval = validate.whole(owner, "projection_interval", projection_interval)
    start = validate.number(owner, "start", start)
    end = start + duration
    times = output_times(output, start, end)
    state = system.initial_state() if initial_state is None else system.checked(initial_state)
    for placed in system.model.relations:
        for motion in placed.relation.motions:
            motion.check(str(system[system.model.owner(placed.rows.start)]), start, end)
    check_consistent(system, state, start)

    projecting = stabilization == "projection"
    rates = (alpha, beta) if stabilization == "baumgarte" else (0.0, 0.0)
    flow: Flow | SparseFlow
    if solver == "dense":
        farthest = np.inf if method in STIFF_METHODS else LARGEST_CORRECTION if step is None else FARTHEST_CORRECTION
        options: dict[str, Any] = {"on_constraints": projecting, "baumgarte": rates, "largest_correction": farthest}
        flow = Flow(system.model, system.metric, state, start, **options)
    else:
        flow = SparseFlow(system.solver(), state, start, on_constraints=projecting, baumgarte=rates)
    y = flow.project(start, state.pack())
    if y is None:
        raise SimulationError("simulate: the initial state cannot be projected onto the constraints", time=start)
    begin = replace(State.unpack(y), angles=state.angles)
    angles = angles_at(system.model, begin, start)
    begin.angles = angles_by_name(system.model.joints, angles)
    # A user's function that cannot work is found here; what else goes wrong, the run reports.
    with np.errstate(all="ignore"):
        applied_loads(system.model, start, Kinematics.of(begin))
    statistics = Statistics()
    run: CompiledRun | SteppedRun
    if isinstance(flow, SparseFlow) and method in TABLEAUX:
        settings = Settings(
            start=start,
            end=end,
            step=0.0 if step is None else step,
            fixed=0 if step is None else step_count(start, end, step),
            rtol=rtol,
            atol=atol,
            interval=interval if projecting else 0,
            alpha=rates[0],
            beta=rates[1],
            length=system.model.length,
            every=times is None,
        )
        run = CompiledRun(flow, y, TABLEAUX[method], settings, times, angles, statistics)
    else:
        run = _stepped(flow, y, start, end, method, step, rtol, atol, times, angles, statistics)
    counted = partial(Turns.since, system.model.joints, begin.orientation, angles)
    result = _finished(system, run, counted, statistics, ProgressLine(start, end) if progress else None)
    if projecting and result.status == "completed":
        check_kept(result, "simulate")
    return result


def _stepped(
    flow: Flow | SparseFlow,
    y: np.ndarray,
    start: float,
    end: float,
    method: str,
    step: float | None,
    rtol: float,
    atol: float,
    times: np.ndarray | None,
    angles: np.ndarray,
    statistics: Statistics,
) -> SteppedRun:
    steps: Iterator[Sampled]
    if method in STIFF_METHODS:
        steps = stiff_steps(flow, start, y, end, method, rtol, atol, flow, statistics)
        recorder = Recorder(start, y, times, flow)
        return SteppedRun(flow, guarded(steps, start, end), recorder, angles, statistics, fixed=False)
    assert isinstance(flow, Flow)
    if step is not None:
        steps = fixed_steps(flow, start, y, end, step, TABLEAUX[method], flow, statistics)
    else:
        tolerance = Tolerance(rtol, atol, vector_starts(y.size // STATE_SIZE))
        steps = adaptive_steps(flow, start, y, end, TABLEAUX[method], tolerance, flow, statistics)
    if step is None:
        steps = guarded(steps, start, end)
    return SteppedRun(flow, steps, Recorder(start, y, times, flow), angles, statistics, fixed=step is not None)


def _finished(
    system: System,
    run: CompiledRun | SteppedRun,
    counted: Callable[[np.ndarray], Turns],
    statistics: Statistics,
    progress: ProgressLine | None,
) -> Result:
    """Run to the end; whatever stops it, what was computed is not lost."""
    started = time.perf_counter()

    def result(status: str) -> Result:
        if status != "completed":
            run.close()
        statistics.wall_time = time.perf_counter() - started
        times, states = np.concatenate(run.times), np.concatenate(run.states)
        return Result(system, times, states, counted(np.vstack(run.quadrants)), statistics, status, run.rank)

    try:
        while run.proceed():
            if progress is not None:
                progress.update(run.reached)
    except KeyboardInterrupt:
        return result("interrupted")
    except IntegrationError as error:
        cause = f" ({run.trouble})" if isinstance(run.trouble, InputError) else ""
        body = None if error.component is None else system.bodies[error.component // STATE_SIZE].name
        where = "" if body is None else f' at body "{body}"'
        raise SimulationError(
            f"simulate: at t = {error.time:.9g} s{where}: {error}{cause}; "
            "the result up to here is in this error's .result",
            time=error.time,
            body=body,
            result=result("failed"),
        ) from error
    finally:
        if progress is not None:
            progress.close(run.reached)
    return result("completed")


def output_times(output: Any, start: float, end: float) -> np.ndarray | None:
    """Return the times asked for, or None for every step."""
    if output is None:
        return None
    given = validate.numbers(output)
    if given is None or given.ndim > 0:
        return validate.times("simulate", "output", output, start, end)
    interval, duration = validate.positive("simulate", "output", output), end - start
    count = duration / interval * (1 + 1e-12)
    if count < 1:
        raise InputError(f"simulate: output every {interval:g} s is longer than the duration, {duration:g} s")
    if count > MAX_OUTPUTS:
        raise InputError(f"simulate: output every {interval:g} s would be {count:.1e} states; use a longer interval")
    times = np.minimum(start + interval * np.arange(int(count) + 1), end)
    # The end of the run belongs to it, also where the interval does not divide the duration.
    return times if end - times[-1] < 1e-12 * duration else np.append(times, end)


def _checked_step(method: str, step: Any, rtol: Any, atol: Any, duration: float) -> float | None:
    """Return the fixed step size, if the method takes one and nothing contradicts it."""
    if step is None:
        if method in TABLEAUX and not TABLEAUX[method].adaptive:
            raise InputError(f"simulate: method {method!r} has a fixed step size; give step= in seconds")
        return None
    if method in STIFF_METHODS:
        raise InputError(f"simulate: method {method!r} chooses its own steps; give rtol and atol, not step")
    if rtol is not None or atol is not None:
        raise InputError("simulate: step fixes the step size, so rtol and atol have no meaning; give one or the other")
    step = validate.positive("simulate", "step", step)
    if step > duration * (1 + 1e-12):
        raise InputError(f"simulate: step of {step:g} s is longer than the duration, {duration:g} s")
    return step


class ProgressLine:
    """A line on standard error that says how far a run has come; only its last state where no one watches."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end
        self.started = self.shown = time.perf_counter()

    def update(self, t: float) -> None:
        """Rewrite the line, unless that happened a moment ago."""
        now = time.perf_counter()
        if now - self.shown > PROGRESS_INTERVAL and sys.stderr.isatty():
            self.shown = now
            self._write(t, now, end="")

    def close(self, t: float) -> None:
        """Write the line a last time and leave it."""
        self._write(t, time.perf_counter(), end="\n")

    def _write(self, t: float, now: float, end: str) -> None:
        share = (t - self.start) / (self.end - self.start)
        bar = "#" * int(30 * share)
        sys.stderr.write(f"\r[{bar:<30}] {share:4.0%}  t = {t:.3f} of {self.end:g} s, {now - self.started:.1f} s{end}")
        sys.stderr.flush()
