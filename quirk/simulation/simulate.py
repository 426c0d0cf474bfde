"""From a system and a duration to a result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.state import State
from ..dynamics.sparse.stepping.run_state import Settings
from ..errors import InputError
from ..events import Event
from ..integrators import IMPLICIT_METHODS, STIFF_METHODS, TABLEAUX, Statistics
from ..integrators.breaks import PARTS
from ..integrators.fixed import step_count
from ..integrators.taylor import TAYLOR
from ..result.result import Result
from ..system.queries import SOLVERS
from ..system.system import System
from ..util import validate
from ..util.misuse import explained
from .hybrid.run_factory import AUTO, EXPLICIT, RunFactory
from .output_schedule import checked_breaks, checked_step, output_times
from .run_loop import computed
from .sensitivity.objective import Objective
from .sensitivity.parameters import checked_parameters

METHODS = (TAYLOR, *TABLEAUX, *IMPLICIT_METHODS, *STIFF_METHODS, AUTO)
STABILIZATIONS = ("projection", "baumgarte", None)


@explained
def simulate(
    system: System,
    duration: float,
    *,
    method: str = "auto",
    rtol: float | None = None,
    atol: float | None = None,
    step: float | None = None,
    output: ArrayLike | None = None,
    initial_state: State | None = None,
    start: float = 0.0,
    stabilization: str | None = "projection",
    baumgarte: tuple[float, float] = (10.0, 10.0),
    solver: str = "sparse",
    projection_interval: int = 1,
    progress: bool | None = None,
    max_step: float | None = None,
    breaks: ArrayLike | None = None,
    events: Iterable[Event] = (),
    checkpoint: str | Path | None = None,
    sensitivities: Iterable[Any] = (),
    objective: Objective | None = None,
) -> Result:
    """Integrate the motion of a system.

    Parameters
    ----------
    system : System
    duration : float
        s, positive.
    method : str
        "auto" (default) is "Vern9" and, where the system is stiff, "RadauIIA9"; it is "Vern9" throughout with `step`,
        `objective` or ``solver="dense"`` (docs/stiff.md). Others: "RK4" (needs `step`), "RK45", "Tsit5", "DOP853" or
        "Vern9" (adaptive, or fixed with `step`); "Taylor", which sums the series of the motion, the fastest for many
        digits (docs/taylor.md); for stiff systems "RadauIIA9" or "Rodas5P", whose steps do not get shorter where motion
        is damped fast, or SciPy's "Radau", "BDF" or "LSODA".
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
    progress : bool, optional
        Show a progress line on standard error; by default where it is a terminal and the run takes over two seconds.
    max_step : float
        Longest step of an adaptive method, s.
    breaks : list of times
        s; times at which a step ends, as where a force is switched on; in any order. Those outside of the run have no
        effect, and a `BreaksWarning` names them. Fixed steps are divided there. Where functions of time jump is found
        without it if what they do lasts for a thousandth of the duration; see docs/method-events.md.
    events : list of Event
        Watched in this run, beside those of the system.
    checkpoint : path, optional
        A folder in which the run writes down what it computes, about every second; memory then does not grow with
        the output. The same call goes on from there if the run was killed, and is bit-identical with one that was
        not; if the run is complete, it returns its result. `quirk.read_checkpoint` shows what is there so far.
    sensitivities : list of pairs (part, parameter)
        Parameters, such as ("rod", "mass"), by which `result.sensitivity` shall have derivatives of the run; see
        docs/sensitivities.md. Of compiled methods.
    objective : Objective
        A number that the run is judged by. `result.gradient` then has it with its derivatives by all of
        `sensitivities`, at a cost that hardly depends on how many these are, in place of `result.sensitivity`. Steps
        end at the times of the output.

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

    Examples
    --------
    >>> rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])
    >>> result = quirk.simulate(system, 0.5, output=0.25)
    >>> result.joint("hinge").angle.round(4)
    array([0.    , 0.4555, 1.6578])
    """
    options = {name: given for name, given in locals().items() if name not in ("system", "initial_state")}
    if not isinstance(system, System):
        raise InputError(f"simulate: system must be a quirk.System; got {system!r}")
    owner = "simulate"
    duration = validate.positive(owner, "duration", duration)
    validate.choice(owner, "method", method, METHODS)
    validate.choice(owner, "stabilization", stabilization, STABILIZATIONS)
    validate.choice(owner, "solver", solver, SOLVERS)
    if method == AUTO and (step is not None or objective is not None or solver == "dense"):
        method = EXPLICIT
    alpha, beta = validate.array(owner, "baumgarte", baumgarte, (2,))
    if alpha < 0 or beta < 0:
        raise InputError(f"{owner}: baumgarte must be two rates, 1/s, not negative; got ({alpha:g}, {beta:g})")
    if method == TAYLOR and stabilization == "baumgarte":
        raise InputError(f'{owner}: method="{TAYLOR}" keeps to the constraints by projection: leave out stabilization=')
    if solver == "dense" and method in (TAYLOR, *IMPLICIT_METHODS):
        raise InputError(f'{owner}: method="{method}" is compiled: leave out solver="dense", or take another method')
    step = checked_step(method, step, rtol, atol, duration)
    rtol = validate.positive(owner, "rtol", 1e-9 if rtol is None else rtol)
    atol = validate.positive(owner, "atol", 1e-12 if atol is None else atol)
    interval = validate.whole(owner, "projection_interval", projection_interval)
    start = validate.number(owner, "start", start)
    end = start + duration
    times = output_times(output, start, end)
    ends = checked_breaks(system, start, duration, _with_output(breaks, times, objective), max_step, step)
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
    varied = checked_parameters(system, state, sensitivities, method, solver, checkpoint, objective is not None)
    if objective is not None and not varied:
        raise InputError(f"{owner}: objective: name the parameters that its gradient is by, in sensitivities=")
    phases = RunFactory(system, solver, method, settings, ends, times, Statistics(), watched, options, bool(varied))
    if checkpoint is None:
        return computed(system, state, phases, None, progress, varied, objective)
    from ..io.checkpoints import Checkpoint, identity

    with Checkpoint(checkpoint, system, identity(system, state, phases), watched) as written:
        if written.status is not None:
            return Result(system, written.segments, written.statistics, written.status, written.happenings, [options])
        return computed(system, state, replace(phases, statistics=written.statistics), written, progress)


def _with_output(breaks: Any, times: np.ndarray | None, objective: Any) -> Any:
    """Return the times at which steps end: those that are given and, with an objective, those of the output."""
    if objective is None:
        return breaks
    if not isinstance(objective, Objective):
        raise InputError(f"simulate: objective must be a quirk.Objective; got {objective!r}")
    if times is None:
        return breaks
    return [*times] if breaks is None else [*breaks, *times]


def _checked_events(system: System, events: Any) -> list[Event]:
    """Return the events of a system, and those of one run behind them."""
    listed = list(events) if isinstance(events, Iterable) else [events]
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"simulate: events must be a list of quirk.Event; got {event!r}")
        if event.name in system or [one.name for one in listed].count(event.name) > 1:
            raise InputError(f"simulate: {event} has the name of another part or event: rename one")
    return [*system.events, *listed]
