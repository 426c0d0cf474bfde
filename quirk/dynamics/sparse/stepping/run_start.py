"""Start of a compiled run: its arrays, the initial slope y', and the size of the first step."""

from __future__ import annotations

import numpy as np

from quirk.integrators import Breaks, Tolerance
from quirk.integrators.adaptive import collapsed, starting_step
from quirk.integrators.control import SMALLEST_ERROR
from quirk.jit.simd import aligned

from ..kernels.workspace import METHOD, OVER_FOREST
from .active_method import ActiveMethod
from .resume_point import ResumePoint
from .rhs import SparseFlow
from .run_errors import check_repeatable
from .run_output import RunOutput
from .run_state import Clock, RunState, Settings
from .watched_quantities import EventMonitor


def new_run(
    method: ActiveMethod,
    settings: Settings,
    breaks: Breaks,
    watch: EventMonitor,
    output: RunOutput,
    t: float,
    y: np.ndarray,
    resume: ResumePoint,
) -> RunState:
    """Return the arrays of a run that continues from a state y (13 n + k,) at time t (s).

    There are n bodies and k auxiliary states. `resume` contains the step size and the numbers of completed fixed steps
    and output times.
    """
    solver, asked = method.solver, output.requested_times
    counts, clock, best_rank = solver.counts, Clock(), solver.counts.best_rank
    counts.fill(0)
    counts.best_rank = best_rank
    counts.grid, counts.unsettled = resume.grid, 1
    if asked is not None:
        counts.passed = resume.outputs_passed
    clock.cleared, clock.cap = -np.inf, np.inf
    clock.t = clock.mark = t
    clock.previous_error, clock.h = SMALLEST_ERROR, resume.h
    clock.exchanged = solver.model.auxiliary.exchanged(y)
    clock.requested = settings.end
    state, blind = solver.model.auxiliary.state(y), settings.fixed > 0
    return RunState(
        y=solver.slots.state_to_lanes(y),
        y_new=aligned(solver.size),
        clock=clock,
        counts=counts,
        requested_times=np.zeros(0) if asked is None else asked,
        times=np.empty(output.capacity),
        states=output.states,
        stop=solver.applied.stop,
        pieces=np.array(breaks.pieces(t)).ravel(),
        functions=method.functions.samples,
        counter=solver.model.joints.counter(solver.slots, state, output.capacity, blind=blind),
        watched=watch.table,
        trail=output.trail,
    )


def begin(
    run: RunState,
    method: ActiveMethod,
    settings: Settings,
    breaks: Breaks,
    watch: EventMonitor,
    flow: SparseFlow,
    y: np.ndarray,
    angles: np.ndarray,
) -> None:
    """Evaluate the slope y' at the initial state y (13 n + k,), and choose the size of the first step.

    `flow` is the right-hand side, and `angles` (K, 3), rad, are the angles of K joints.
    """
    solver, t = flow.solver, float(run.clock.t)
    piece, auxiliary = breaks.piece(t), solver.model.auxiliary
    rates = solver.model.joints.rates(auxiliary.state(y))
    watch.laws.refer(t, angles, rates)
    solver.applied.refer(t, angles)
    slope = flow(piece.low, y)
    if settings.fixed == 0 and solver.applied.calls_python:
        check_repeatable(solver, flow, piece.low, y)
    solver.work.pivots_before[:] = solver.work.pivots_earlier[:] = solver.work.pivots
    run.clock.earlier, run.clock.method, run.clock.clearance = -np.inf, solver.work.summary[METHOD], 1.0
    solver.work.summary[OVER_FOREST] = 0.0
    solver.applied.refer(t, angles, rates)
    method.stepper.begin(solver.slots.state_to_lanes(slope))
    method.functions.note()
    if settings.fixed > 0:
        return
    if not np.isfinite(slope).all():
        raise collapsed(t, y[: auxiliary.counted], slope[None, : auxiliary.counted])
    h = float(run.clock.h)
    if h <= 0:
        tolerance = Tolerance(settings.rtol, settings.atol, auxiliary.starts, auxiliary.counted)
        h = starting_step(flow, piece.low, y, slope, piece.high, method.present.order, tolerance)
    run.clock.h = min(max(h, 2 * breaks.shortest(t)), piece.first)
