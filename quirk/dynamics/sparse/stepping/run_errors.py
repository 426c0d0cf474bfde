"""Exceptions of a compiled run."""

from __future__ import annotations

import numpy as np

from quirk.errors import InputError
from quirk.integrators import Breaks, RadauIIA, Tableau
from quirk.integrators.adaptive import collapsed
from quirk.integrators.fixed import invalid_step
from quirk.integrators.step import OF_IMPLICIT, OF_STIFFNESS, IntegrationError, stalled

from ..solver.solver import Solver
from .active_method import ActiveMethod
from .rhs import SparseFlow
from .run_output import RunOutput
from .run_state import RunState, StepOutcome
from .watched_quantities import EventMonitor


def error_of(
    outcome: int, run: RunState, method: ActiveMethod, output: RunOutput, breaks: Breaks, watch: EventMonitor
) -> BaseException:
    """Return the exception for a run that has failed in compiled code with `outcome`, a `run_state.StepOutcome`."""
    clock, rows = run.clock, output.rows
    t, y, y_new = float(clock.t), rows(run.y)[0], rows(run.y_new)[0]
    explicit = isinstance(method.present, Tableau) and not method.pacing.switches
    if outcome == StepOutcome.COLLAPSED:
        counted = method.solver.model.auxiliary.counted
        slopes = rows(method.stepper.slopes)[:, :counted]
        return collapsed(t, y[:counted], slopes, breaks, explicit=explicit)
    if outcome == StepOutcome.STALLED:
        advice = OF_STIFFNESS if explicit else OF_IMPLICIT if isinstance(method.present, Tableau) else ""
        return stalled(t, t - float(clock.mark), advice=advice)
    if outcome == StepOutcome.UNDEFINED:
        trouble = watch.trouble(float(clock.t_new), since=t)
        return IntegrationError(f"a watched quantity has no value: {trouble}", t)
    if outcome == StepOutcome.LOST_BETWEEN:
        return IntegrationError("the state is not finite between two steps", t)
    if outcome == StepOutcome.OFF_BETWEEN:
        return IntegrationError("the state left the constraints between two steps", t)
    assert outcome in (StepOutcome.NOT_FINITE, StepOutcome.OFF_CONSTRAINTS)
    return invalid_step(t, float(clock.t_new), y_new, iterates=isinstance(method.present, RadauIIA))


def check_repeatable(solver: Solver, flow: SparseFlow, t: float, y: np.ndarray) -> None:
    """Raise an InputError for a force element whose user function returns different values for the same arguments.

    The functions are called a second time at time t (s) and state y, which must be those of the last evaluation.
    Functions that modify data which they read are excluded; a `StatefulWarning` is issued for them.
    """
    applied, remembers = solver.applied, solver.refuse.remembers
    before = applied.table.outputs.copy()
    flow(t, y)
    element = applied.changed_since(before)
    functions = [] if element is None else [*element.sources, *(value.function for value in element.functions)]
    if element is None or any(remembers(function) for function in functions):
        return
    raise InputError(
        f"{element}: its function returns different values at the same time, {t:g} s, and the same state; adaptive "
        "steps need a function of its arguments alone: hold random values over intervals by "
        "quirk.Motion.steps(times, values) or quirk.Sampled, or take fixed steps (step=)"
    )
