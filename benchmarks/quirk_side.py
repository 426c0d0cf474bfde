"""Benchmark tasks of QuIRK."""

from __future__ import annotations

import time

import numpy as np
from quirk.integrators import TABLEAUX, Breaks, Statistics

import quirk
from quirk.dynamics.model.joint_angles import angles_at
from quirk.dynamics.sparse.stepping.compiled_run import CompiledRun
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.dynamics.sparse.stepping.rhs import SparseFlow
from quirk.dynamics.sparse.stepping.run_state import Settings
from quirk.dynamics.sparse.stepping.runge_kutta import runge_kutta_steps, stage_slope
from quirk.jit.compilation import entry

from .measure import FULL, Effort, Task, timed

NAME = "QuIRK"
# More steps than any run here takes.
ENDLESS = 10**9
# Relative round-off of the accelerations of one state, evaluated in two ways.
SAME = 1e-9


@entry
def _repeat(count, mechanism, settings, run, y, ydot):
    """Evaluate the accelerations `count` times, as the stages of a step do, without calls from Python."""
    for _ in range(count):
        stage_slope(mechanism, settings, run, 0.0, y, ydot, False, False)


def evaluations(system: quirk.System) -> Task:
    """Return the task of evaluating all accelerations at the initial state."""
    course, settings = _course(system, "RK4", 1e-3)
    solver = course.solver
    y = solver.slots.state_to_lanes(system.initial_state().pack())
    exact, ydot = solver.rates(0.0, y).copy(), np.empty_like(y)

    def run(count: int) -> None:
        _repeat(count, solver.mechanism, settings, course.run, y, ydot)

    run(1)
    if not np.allclose(ydot, exact, rtol=0.0, atol=SAME * np.abs(exact).max()):
        raise RuntimeError("the stages of a step have other accelerations than System.acceleration")
    return run


def steps(system: quirk.System, method: str = "RK4", step: float = 1e-3) -> Task:
    """Return the task of one step with projection; each step continues the last one."""
    course, settings = _course(system, method, step)

    def run(count: int) -> None:
        runge_kutta_steps(course.solver.mechanism, course.method.stepper.record, settings, course.run, count)

    return run


def _course(system: quirk.System, method: str, step: float) -> tuple[CompiledRun, Settings]:
    """Return a compiled run with steps of fixed length, s, at the initial state, and its settings."""
    solver, state = system.plant.solver(), system.initial_state()
    flow = SparseFlow(solver, state, 0.0, on_constraints=True)
    settings = Settings(
        start=0.0, end=step * ENDLESS, step=step, fixed=ENDLESS, rtol=0.0, atol=0.0, interval=1, alpha=0.0, beta=0.0,
        length=system.model.length, all_steps=False, max_step=np.inf, gap=np.inf,
    )  # fmt: skip
    breaks, angles = Breaks(0.0, settings.end), angles_at(system.model, state, 0.0)
    course = CompiledRun(solver, TABLEAUX[method], settings, breaks, np.zeros(0), Statistics(), ())
    course.enter(flow, 0.0, state.pack(), angles, ResumePoint())
    course.proceed()
    return course, settings


def runs(system: quirk.System, duration: float, method: str, rtol: float) -> Task:
    """Return the task of a run through the public interface, which stores only the final state."""

    def run(count: int) -> None:
        for _ in range(count):
            quirk.simulate(system, duration, method=method, rtol=rtol, atol=1e-3 * rtol, output=duration)

    return run


def apart(system: quirk.System, positions: np.ndarray, duration: float) -> float:
    """Return the largest distance, m, of a center of mass from `positions` (n, 3) after a run of high accuracy."""
    result = quirk.simulate(system, duration, method="Taylor", rtol=1e-12, atol=1e-15, output=duration)
    return float(np.linalg.norm(result.state_at().position - positions, axis=1).max())


def seconds_per_evaluation(system: quirk.System, effort: Effort = FULL) -> float:
    """Return the median time of an evaluation."""
    return timed(evaluations(system), effort).median


def seconds_per_step(system: quirk.System, method: str = "RK4", step: float = 1e-3, effort: Effort = FULL) -> float:
    """Return the median time of a step with projection."""
    return timed(steps(system, method, step), effort).median


def error_and_seconds(
    system: quirk.System,
    duration: float,
    positions: np.ndarray,
    rtol: float,
    repeats: int = 3,
    method: str = "Vern9",
) -> tuple[float, float]:
    """Simulate with projection through the public interface; return the error and the run time.

    Parameters
    ----------
    system : quirk.System
    duration : float
        s.
    positions : (n, 3)
        Reference for the centers of mass at the end, m.
    rtol : float
        Relative tolerance; the absolute one is a thousandth of it, as by default.
    repeats : int
        Number of runs; the run time is that of the fastest one.
    method : str

    Returns
    -------
    error : float
        The largest distance of a center of mass from the reference, m.
    seconds : float
        Run time, s.
    """
    seconds = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        result = quirk.simulate(system, duration, method=method, rtol=rtol, atol=1e-3 * rtol, output=duration)
        seconds = min(seconds, time.perf_counter() - began)
    end = result.state_at()
    return float(np.linalg.norm(end.position - positions, axis=1).max()), seconds
