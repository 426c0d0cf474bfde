"""From a system and a duration to a result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import validate
from .assembly import check_consistent
from .at_state import SOLVERS
from .contradiction import MOST_ROWS
from .dynamics.applied import applied_loads
from .dynamics.dense.undefined import lost_ahead
from .dynamics.sparse.march.run import Settings
from .dynamics.turns import Turns, angles_at, angles_by_name
from .errors import InputError, SimulationError
from .events import Event
from .health import check_kept
from .hybrid import HybridRun
from .integrators import STIFF_METHODS, TABLEAUX, Breaks, IntegrationError, Statistics
from .integrators.breaks import PARTS
from .integrators.fixed import step_count
from .interruption import Held, within_a_call
from .phases import Phases
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
    events: Iterable[Event] = (),
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
    events : list of Event
        Watched in this run, beside those of the system.

    Returns
    -------
    Result
        If the run is interrupted from the keyboard, what was computed so far, with
        ``result.status == "interrupted"``; a second Ctrl-C ends a function that does not return. Within a function
        that another run calls, that other run is interrupted. If an event ends it, up to there, with "stopped".

    Raises
    ------
    InputError
        If an argument cannot be used.
    InconsistentStateError
        If the initial state violates a constraint.
    SimulationError
        If the step size collapses or the state stops being finite; it carries the partial result.
    """
    options = {name: given for name, given in locals().items() if name not in ("system", "initial_state")}
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
    watched = _checked_events(system, events)
    options.update(events=watched[len(system.events) :])
    return _computed(system, state, solver, method, settings, ends, options, progress, watched)


def _checked_events(system: System, events: Any) -> list[Event]:
    """Return the events of a system, and those of one run behind them."""
    listed = list(events) if isinstance(events, Iterable) else [events]
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"simulate: events must be a list of quirk.Event; got {event!r}")
        if event.name in system or [one.name for one in listed].count(event.name) > 1:
            raise InputError(f"simulate: {event} has the name of another part or event: rename one")
    return [*system.events, *listed]


def _computed(
    system: System,
    state: State,
    solver: str,
    method: str,
    settings: Settings,
    breaks: Breaks,
    options: dict[str, Any],
    progress: bool,
    events: Sequence[Event],
) -> Result:
    """Run to the end; whatever stops it, what was computed is not lost."""
    statistics, started = Statistics(), time.perf_counter()
    run: HybridRun | None = None
    line: ProgressLine | None = None

    def result(status: str) -> Result:
        statistics.wall_time = time.perf_counter() - started
        if run is None:
            turns = Turns.at_rest(system.model.joints, state)
            flat = system.model.carried.flat(state)[None]
            only = Segment(system.plant, np.array([settings.start]), flat, turns, 0)
            return Result(system, [only], statistics, status, options=[options])
        if status != "completed":
            run.close()
        return Result(system, run.segments, statistics, status, run.happenings, [options])

    try:
        with Held():
            times = output_times(options["output"], settings.start, settings.end)
            run = _begun(system, state, Phases(system, solver, method, settings, breaks, times, statistics, events))
            started = time.perf_counter()
            line = ProgressLine(settings.start, settings.end) if progress else None
            while run.proceed():
                if line is not None:
                    line.update(run.reached)
            completed = result("stopped" if run.stopped else "completed")
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
            trouble = lost_ahead(
                run.plant.model, partial.state_at(-1), error.time, settings.step if settings.fixed else 0
            )
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


def _begun(system: System, state: State, phases: Phases) -> HybridRun:
    """Return a run that stands at its start, with a state on the constraints."""
    settings, configuration = phases.settings, system.configuration_of(state)
    plant, start, end = system.plant_for(configuration), settings.start, settings.end
    model = plant.model
    for placed in model.relations:
        for motion in placed.relation.motions:
            motion.check(str(system[model.owner(placed.rows.start)]), start, end)
    for element in system.forces:
        for name in element.motions:
            element.motion(name).check(f"{element}", start, end)
    check_consistent(system.as_computed_by(plant), state, start)
    run = HybridRun(system, phases)
    flow = phases.flow(plant, state, start)
    y = flow.project(start, model.carried.flat(state))
    if y is None:
        cause = "" if flow.trouble is None else f" ({flow.trouble})"
        raise SimulationError(
            f"simulate: the initial state cannot be projected onto the constraints{cause}", time=start
        )
    begin = replace(model.carried.state(y), angles=state.angles)
    angles = angles_at(model, begin, start)
    begin.angles = angles_by_name(model.joints, angles)
    # A user's function that cannot work is found here; what else goes wrong, the run reports.
    with np.errstate(all="ignore"):
        applied_loads(model, start, Kinematics.of(begin))
    if flow.rank < model.rows <= MOST_ROWS:
        system.as_computed_by(plant).acceleration(begin, start)  # says where constraints contradict each other
    run.start(configuration, start, y, angles)
    run.keep_start()
    return run
