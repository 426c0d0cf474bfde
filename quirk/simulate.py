"""From a system and a duration to a result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from . import validate
from .assembly import check_consistent
from .at_state import SOLVERS
from .contradiction import MOST_ROWS
from .dynamics.applied import applied_loads
from .dynamics.dense.flow import Flow
from .dynamics.dense.undefined import lost_ahead
from .dynamics.dense.watch import Watch, asked_values
from .dynamics.sparse.host.flow import SparseFlow
from .dynamics.sparse.host.run import CompiledRun
from .dynamics.sparse.march.advance import Settings
from .dynamics.stepped import SteppedRun
from .dynamics.turns import Turns, angles_at, angles_by_name
from .errors import InputError, SimulationError
from .health import check_kept
from .integrators import (
    STIFF_METHODS,
    TABLEAUX,
    Breaks,
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
from .integrators.breaks import PARTS
from .integrators.control import FARTHEST_CORRECTION, LARGEST_CORRECTION
from .integrators.fixed import step_count
from .interruption import Held, within_a_call
from .progress import ProgressLine
from .result import Result
from .schedule import checked_breaks, checked_step, output_times
from .segment import Segment
from .state import STATE_SIZE, Kinematics, State
from .system import System

METHODS = (*TABLEAUX, *STIFF_METHODS)
STABILIZATIONS = ("projection", "baumgarte", None)


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
    max_step: float | None = None,
    breaks: Any = None,
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
    max_step : float
        Longest step of an adaptive method, s.
    breaks : list of times
        s; times at which a step ends, as where a force is switched on; in any order, and those outside of the run are
        left out. Fixed steps are divided there. Where functions of time jump is found without it if what they do
        lasts for a thousandth of the duration; see docs/method.md.

    Returns
    -------
    Result
        If the run is interrupted from the keyboard, what was computed so far, with
        ``result.status == "interrupted"``; a second Ctrl-C ends a function that does not return. Within a function
        that another run calls, that other run is interrupted.

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
    step = checked_step(method, step, rtol, atol, duration)
    rtol = validate.positive(owner, "rtol", 1e-9 if rtol is None else rtol)
    atol = validate.positive(owner, "atol", 1e-12 if atol is None else atol)
    interval = validate.whole(owner, "projection_interval", projection_interval)
    start = validate.number(owner, "start", start)
    end = start + duration
    ends = checked_breaks(system, start, duration, breaks, max_step, step)
    state = system.initial_state() if initial_state is None else system.checked(initial_state)
    projecting = stabilization == "projection"
    alpha, beta = (alpha, beta) if stabilization == "baumgarte" else (0.0, 0.0)
    settings = Settings(
        start=start,
        end=end,
        step=0.0 if step is None else step,
        fixed=0 if step is None else step_count(start, end, step),
        rtol=rtol,
        atol=atol,
        interval=interval if projecting else 0,
        alpha=alpha,
        beta=beta,
        length=system.model.length,
        every=output is None,
        max_step=ends.max_step,
        gap=duration / PARTS,
    )
    return _computed(system, state, solver, method, settings, ends, output, progress)


def _computed(
    system: System,
    state: State,
    solver: str,
    method: str,
    settings: Settings,
    breaks: Breaks,
    output: Any,
    progress: bool,
) -> Result:
    """Run to the end; whatever stops it, what was computed is not lost."""
    statistics, started = Statistics(), time.perf_counter()
    run: CompiledRun | SteppedRun | None = None
    line: ProgressLine | None = None
    plant = system.plant

    def result(status: str) -> Result:
        statistics.wall_time = time.perf_counter() - started
        if run is None:
            turns = Turns.at_rest(system.model.joints, state)
            flat = system.model.carried.flat(state)[None]
            only = Segment(system.plant, np.array([settings.start]), flat, turns, 0)
            return Result(system, [only], statistics, status)
        if status != "completed":
            run.close()
        whole = Segment(plant, np.concatenate(run.times), np.concatenate(run.states), run.turns, run.rank)
        return Result(system, [whole], statistics, status)

    try:
        with Held():
            times = output_times(output, settings.start, settings.end)
            run = _begun(system, state, solver, method, settings, breaks, times, statistics)
            started = time.perf_counter()
            line = ProgressLine(settings.start, settings.end) if progress else None
            while run.proceed():
                if line is not None:
                    line.update(run.reached)
            completed = result("completed")
            if settings.interval > 0:
                check_kept(completed, "simulate")
        return completed
    except KeyboardInterrupt:
        if within_a_call():
            raise  # it is the run that called a function, and this run in it, which is to end
        return result("interrupted")
    except IntegrationError as error:
        assert run is not None
        partial = result("failed")
        trouble: Any = run.trouble or run.undefined(error.time)
        if not isinstance(trouble, InputError):
            trouble = lost_ahead(system.model, partial.state_at(-1), error.time, settings.step if settings.fixed else 0)
        cause = "" if trouble is None else f" ({trouble})"
        component, bodies = error.component, system.bodies
        where = "" if component is None else f" at {system.model.carried.owner(component, system.model.body_names)}"
        within = component is not None and component < STATE_SIZE * len(bodies)
        body = bodies[component // STATE_SIZE].name if component is not None and within else None
        raise SimulationError(
            f"simulate: at t = {error.time:.9g} s{where}: {error}{cause}; "
            "the result up to here is in this error's .result",
            time=error.time,
            body=body,
            result=partial,
        ) from error
    finally:
        if run is not None and line is not None:
            line.close(run.reached)


def _begun(
    system: System,
    state: State,
    solver: str,
    method: str,
    settings: Settings,
    breaks: Breaks,
    times: np.ndarray | None,
    statistics: Statistics,
) -> CompiledRun | SteppedRun:
    """Return a run that stands at its start, with a state on the constraints."""
    start, on_constraints, rates = settings.start, settings.interval > 0, (settings.alpha, settings.beta)
    for placed in system.model.relations:
        for motion in placed.relation.motions:
            motion.check(str(system[system.model.owner(placed.rows.start)]), start, settings.end)
    for element in system.forces:
        for name in element.motions:
            element.motion(name).check(f"{element}", start, settings.end)
    check_consistent(system, state, start)
    flow: Flow | SparseFlow
    if solver == "dense":
        fixed = settings.fixed > 0
        farthest = np.inf if method in STIFF_METHODS else FARTHEST_CORRECTION if fixed else LARGEST_CORRECTION
        options: dict[str, Any] = {"baumgarte": rates, "largest_correction": farthest}
        chooser = system.plant.solver()
        flow = Flow(system.model, system.plant.metric, chooser, state, start, on_constraints=on_constraints, **options)
    else:
        flow = SparseFlow(system.plant.solver(), state, start, on_constraints=on_constraints, baumgarte=rates)
    y = flow.project(start, system.model.carried.flat(state))
    if y is None:
        cause = "" if flow.trouble is None else f" ({flow.trouble})"
        raise SimulationError(
            f"simulate: the initial state cannot be projected onto the constraints{cause}", time=start
        )
    begin = replace(system.model.carried.state(y), angles=state.angles)
    angles = angles_at(system.model, begin, start)
    begin.angles = angles_by_name(system.model.joints, angles)
    # A user's function that cannot work is found here; what else goes wrong, the run reports.
    with np.errstate(all="ignore"):
        applied_loads(system.model, start, Kinematics.of(begin))
    if flow.rank < system.model.rows <= MOST_ROWS:
        system.acceleration(begin, start)  # says where constraints contradict each other
    if isinstance(flow, SparseFlow) and method in TABLEAUX:
        return CompiledRun(flow, y, TABLEAUX[method], settings, breaks, times, angles, statistics)
    return _stepped(flow, y, method, settings, breaks, times, angles, statistics)


def _stepped(
    flow: Flow | SparseFlow,
    y: np.ndarray,
    method: str,
    settings: Settings,
    breaks: Breaks,
    times: np.ndarray | None,
    angles: np.ndarray,
    statistics: Statistics,
) -> SteppedRun:
    start, end, rtol, atol = settings.start, settings.end, settings.rtol, settings.atol
    values = asked_values(flow.model, flow.angles)
    look = None if values is None else Watch(flow, values, breaks, settings.gap)
    recorder = Recorder(start, y, times, flow)
    steps: Iterator[Sampled]
    if method in STIFF_METHODS:
        steps = stiff_steps(flow, start, y, end, method, rtol, atol, flow, statistics, breaks, look)
        return SteppedRun(flow, guarded(steps, start, end), recorder, angles, statistics, fixed=False)
    assert isinstance(flow, Flow)
    if settings.fixed > 0:
        steps = fixed_steps(flow, start, y, end, settings.step, TABLEAUX[method], flow, statistics, breaks, look)
        return SteppedRun(flow, steps, recorder, angles, statistics, fixed=True)
    carried = flow.model.carried
    tolerance = Tolerance(rtol, atol, carried.starts, carried.counted)
    steps = adaptive_steps(flow, start, y, end, TABLEAUX[method], tolerance, flow, statistics, breaks, look)
    return SteppedRun(flow, guarded(steps, start, end), recorder, angles, statistics, fixed=False)
