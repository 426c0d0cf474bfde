"""The function `simulate`, which integrates the motion of a system."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.state import State
from ..errors import InputError
from ..events import Event
from ..integrators import Statistics
from ..result.result import Result
from ..system.system import System
from ..util import validate
from ..util.misuse import explained
from .arguments import checked_events, checked_method, checked_settings, refuse_sampled
from .hybrid.impact_sequence import IMPACTS, SEQUENTIAL
from .hybrid.run_factory import RunFactory
from .output_schedule import checked_breaks, output_times
from .run_loop import computed
from .sampler import Sampler
from .sensitivity.objective import Objective
from .sensitivity.parameters import checked_parameters


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
    impacts: str = "simultaneous",
    checkpoint: str | Path | None = None,
    sensitivities: Iterable[Any] = (),
    objective: Objective | None = None,
) -> Result:
    """Integrate the motion of a system.

    Parameters
    ----------
    system : System
    duration : float
        Duration, s, positive.
    method : str
        "auto" (default) is "Vern9", with a switch to "RadauIIA9" where the system is stiff; with `step`, `objective`
        or ``solver="dense"`` it is "Vern9" throughout (docs/stiff.md). Other methods: "RK4" (fixed steps only, needs
        `step`); "RK45", "Tsit5", "DOP853" and "Vern9" (adaptive, or fixed with `step`); "Taylor" (Taylor series of the
        motion, the fastest for high accuracy, docs/taylor.md); and for stiff systems "RadauIIA9" and "Rodas5P", whose
        step size is not limited by strong damping, and SciPy's "Radau", "BDF" and "LSODA", without events, contacts,
        dry friction and backlash.
    rtol, atol : float
        Relative and absolute tolerance (SI units) of the error of a step, for each body's position, orientation,
        velocity and angular velocity; default 1e-9 and 1e-12.
    step : float
        Fixed step size, s. Steps are divided at events and `breaks` and, with "RadauIIA9", where its iterations do not
        converge while friction slides.
    output : float or list of times
        Interval between output states, s, or the output times (s) from `start` on; default: every step.
    initial_state : State
        Initial state; default: `system.initial_state()`. To continue an earlier run, pass its ``result.state_at()``,
        and its last time as `start`; joint angles then include their full turns.
    start : float
        Initial time (s) for all functions of time.
    stabilization : "projection", "baumgarte" or None
        "projection" moves the end of each step to the nearest state on the constraints; "baumgarte" adds
        2 alpha Phi_dot + beta^2 Phi to each constraint equation; with None, states drift off the constraints.
    baumgarte : (alpha, beta)
        Coefficients, 1/s, for stabilization="baumgarte".
    solver : "sparse" or "dense"
        "sparse" is compiled, at a cost proportional to the number of bodies; "dense" is the reference solver in NumPy,
        without events, contacts, dry friction and backlash.
    projection_interval : int
        Number of steps from one projection to the next. Values above 1 save time, but constraint residuals grow between
        projections. Output states are always projected.
    progress : bool, optional
        Whether to show a progress line on standard error; by default if it is a terminal and the run takes more than
        two seconds.
    max_step : float
        Maximum step size of an adaptive method, s.
    breaks : list of times
        Times, s, in any order, at which a step ends, for example when a force is switched on; fixed steps are divided
        there. A `BreaksWarning` names times outside of the run, which have no effect. Jumps of functions of time are
        also found without `breaks` if their effect lasts for at least a thousandth of the duration; see
        docs/method-events.md.
    events : list of Event
        Events of this run, in addition to those of the system.
    impacts : "simultaneous" or "sequential"
        Law for impacts of bodies in contact with several others: "simultaneous" applies Newton's law to all contacts at
        once, "sequential" to one contact after the other, in the order in which a shock propagates, as in Newton's
        cradle. See docs/events.md.
    checkpoint : path, optional
        Folder in which the results are saved about every second; memory then does not grow with the output. After an
        interruption, the same call continues the run, with results bitwise equal to an uninterrupted run; if the run is
        complete, the call returns its result. `quirk.read_checkpoint` returns the result so far.
    sensitivities : list of pairs (part, parameter)
        Parameters, such as ("rod", "mass"); `result.sensitivity` then contains the derivatives of the motion with
        respect to these parameters. For compiled methods only; see docs/sensitivities.md.
    objective : Objective
        Scalar function of the run. `result.gradient` then contains its value and its derivatives with respect to all
        parameters in `sensitivities`, at a cost almost independent of their number; `result.sensitivity` is not
        available. Steps end at the output times.

    Returns
    -------
    Result
        The motion. If the run is interrupted by Ctrl-C, the part computed so far, with
        ``result.status == "interrupted"``; a second Ctrl-C ends a user function that does not return. If a user
        function itself calls `simulate`, Ctrl-C interrupts the outer run. If an event ends the run, the result is the
        motion up to the event, with status "stopped".

    Raises
    ------
    InputError
        If an argument cannot be used.
    InconsistentStateError
        If the initial state violates a constraint.
    SimulationError
        If the step size becomes too small or the state is no longer finite; its `result` is the part computed so far.

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
    method = checked_method(owner, method, step, solver, explicit=objective is not None)
    validate.choice(owner, "impacts", impacts, IMPACTS)
    settings = checked_settings(
        owner, system, method, start, duration, step=step, rtol=rtol, atol=atol, stabilization=stabilization,
        baumgarte=baumgarte, projection_interval=projection_interval, every=output is None,
    )  # fmt: skip
    start, end = settings.start, settings.end
    times = output_times(output, start, end)
    ends = checked_breaks(system, start, duration, _with_output(breaks, times, objective), max_step, step)
    settings = settings._replace(max_step=ends.max_step)
    state = system.initial_state() if initial_state is None else system.checked(initial_state)
    sampler = Sampler(system, start, ends, times, copies=solver == "dense")
    system = sampler.system
    watched = checked_events(owner, system, events)
    options.update(events=watched[len(system.events) :])
    varied = checked_parameters(system, state, sensitivities, method, solver, checkpoint, objective is not None)
    refuse_sampled(owner, system, checkpoint=checkpoint, objective=objective, sensitivities=varied or None)
    if varied and impacts == SEQUENTIAL:
        raise InputError(f'{owner}: sensitivities: impacts="{SEQUENTIAL}" are not differentiated: leave out impacts=')
    if objective is not None and not varied:
        raise InputError(f"{owner}: objective: name the parameters that its gradient is by, in sensitivities=")
    factory = RunFactory(
        system, solver, method, settings, ends, times, Statistics(), watched, options, bool(varied),
        prepare=sampler.inputs.serve,
    )  # fmt: skip
    if checkpoint is None:
        try:
            return computed(system, state, factory, sampler, None, progress, varied, objective)
        finally:
            sampler.end()
    from ..io.checkpoints import Checkpoint, identity

    with Checkpoint(checkpoint, system, identity(system, state, factory), watched) as written:
        if written.status is not None:
            return Result(system, written.segments, written.statistics, written.status, written.happenings, [options])
        return computed(system, state, replace(factory, statistics=written.statistics), sampler, written, progress)


def _with_output(breaks: Any, times: np.ndarray | None, objective: Any) -> Any:
    """Return the times at which steps must end: the user's breaks and, with an objective, the output `times`, s."""
    if objective is None:
        return breaks
    if not isinstance(objective, Objective):
        raise InputError(f"simulate: objective must be a quirk.Objective; got {objective!r}")
    if times is None:
        return breaks
    return [*times] if breaks is None else [*breaks, *times]
