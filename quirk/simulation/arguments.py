"""Validation of arguments common to `quirk.simulate` and `quirk.Run`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..analysis.contact.flank_states import FlankStates
from ..analysis.contact.rope_states import RopeStates
from ..constraints.unilateral import Unilateral
from ..dynamics.sparse.stepping.run_state import Settings
from ..errors import InputError
from ..events import Event
from ..forces.stick_slip import sticking_elements
from ..integrators import IMPLICIT_METHODS, STIFF_METHODS, TABLEAUX
from ..integrators.breaks import PARTS
from ..integrators.fixed import step_count
from ..integrators.taylor import TAYLOR
from ..system.queries import SOLVERS
from ..system.system import System
from ..util import validate
from .hybrid.run_factory import AUTO, EXPLICIT, unlocated
from .output_schedule import checked_step

METHODS = (TAYLOR, *TABLEAUX, *IMPLICIT_METHODS, *STIFF_METHODS, AUTO)
STABILIZATIONS = ("projection", "baumgarte", None)
# Number of fixed steps that represents a run without end.
UNLIMITED = 2**62


def checked_method(owner: str, method: Any, step: Any, solver: Any, *, explicit: bool = False) -> str:
    """Return the name of the integration method for the user's argument `method`.

    "auto" is replaced by its explicit method if `explicit` is True, or if a fixed `step` or the dense solver rules out
    switching to an implicit method. `owner` is the name of the calling function, for error messages.

    Raises
    ------
    InputError
        If the method or the solver is unknown, or the solver is dense and the method exists in compiled form only.
    """
    validate.choice(owner, "method", method, METHODS)
    validate.choice(owner, "solver", solver, SOLVERS)
    if solver == "dense" and method in (TAYLOR, *IMPLICIT_METHODS):
        raise InputError(f'{owner}: method="{method}" is compiled: leave out solver="dense", or take another method')
    return EXPLICIT if method == AUTO and (step is not None or explicit or solver == "dense") else str(method)


def checked_settings(
    owner: str,
    system: System,
    method: str,
    start: Any,
    duration: float,
    *,
    step: Any,
    rtol: Any,
    atol: Any,
    stabilization: Any,
    baumgarte: Any,
    projection_interval: Any,
    every: bool,
) -> Settings:
    """Return the validated integration settings of a run with a duration (s), which may be infinite.

    The arguments are those of `simulate`, except `max_step`, which the caller sets. If `every` is True, the states of
    all steps are stored. `owner` is the name of the calling function, for error messages.

    Raises
    ------
    InputError
        If an argument is invalid, or arguments contradict each other.
    """
    validate.choice(owner, "stabilization", stabilization, STABILIZATIONS)
    alpha, beta = validate.array(owner, "baumgarte", baumgarte, (2,))
    if alpha < 0 or beta < 0:
        raise InputError(f"{owner}: baumgarte must be two rates, 1/s, not negative; got ({alpha:g}, {beta:g})")
    if method == TAYLOR and stabilization == "baumgarte":
        raise InputError(f'{owner}: method="{TAYLOR}" keeps to the constraints by projection: leave out stabilization=')
    step = checked_step(owner, method, step, rtol, atol, duration)
    rtol = validate.positive(owner, "rtol", 1e-9 if rtol is None else rtol)
    atol = validate.positive(owner, "atol", 1e-12 if atol is None else atol)
    interval = validate.whole(owner, "projection_interval", projection_interval)
    start = validate.number(owner, "start", start)
    end = start + duration
    fixed = 0
    if step is not None:
        fixed = step_count(start, end, step) if end < np.inf else UNLIMITED
    return Settings(
        start=start,
        end=end,
        step=0.0 if step is None else step,
        fixed=fixed,
        rtol=rtol,
        atol=atol,
        interval=interval if stabilization == "projection" else 0,
        alpha=alpha if stabilization == "baumgarte" else 0.0,
        beta=beta if stabilization == "baumgarte" else 0.0,
        length=system.model.length,
        all_steps=every,
        max_step=np.inf,
        gap=duration / PARTS if duration < np.inf else 1.0,
    )


def check_located(owner: str, system: System, method: str) -> None:
    """Raise an InputError if steps are taken in Python and a system has events, contacts or other parts that switch.

    The times of events and switching can be located only in compiled steps. `method` is the integration method, and
    `owner` the name of the calling function, for the error message.
    """
    if method not in STIFF_METHODS:
        return
    frictions, flanks, ropes = sticking_elements(system.forces), FlankStates(system).all, RopeStates(system).all
    unilateral = [constraint for constraint in system.constraints if isinstance(constraint, Unilateral)]
    for part in (*system.events, *unilateral, *frictions, *flanks, *ropes):
        raise unlocated(owner, f"{part}", method)


def refuse_sampled(owner: str, system: System, **arguments: Any) -> None:
    """Raise an InputError if a system has sampled functions and an argument incompatible with them is not None.

    `arguments` are the values of these arguments by name; `owner` is the name of the calling function, for the error
    message.
    """
    given = [name for name, value in arguments.items() if value is not None]
    if system.sampled and given:
        raise InputError(
            f"{owner}: {given[0]} cannot be combined with {system.sampled[0]}, whose function is known by its calls "
            f"alone: leave out {given[0]}=, or the part, system.without({system.sampled[0].name!r})"
        )


def checked_events(owner: str, system: System, events: Any) -> list[Event]:
    """Return the events of the system, followed by the events `events` of this run.

    `owner` is the name of the calling function, for error messages.

    Raises
    ------
    InputError
        If an item of `events` is not an Event, or its name is not unique.
    """
    listed = list(events) if isinstance(events, Iterable) else [events]
    for event in listed:
        if not isinstance(event, Event):
            raise InputError(f"{owner}: events must be a list of quirk.Event; got {event!r}")
        if event.name in system or [one.name for one in listed].count(event.name) > 1:
            raise InputError(f"{owner}: {event} has the name of another part or event: rename one")
    return [*system.events, *listed]
