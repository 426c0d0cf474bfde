"""Implicit methods for stiff systems, from SciPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .step import Function, IntegrationError, Projection, Statistics

STIFF_METHODS = ("Radau", "BDF", "LSODA")

# Drift off the constraints, in units of what a step may be wrong by, at which the solver is started anew
# from the projected state. Multistep methods cannot have their state changed under way.
RESTART_DRIFT = 100.0


class StiffStep:
    """An accepted step of a SciPy solver."""

    def __init__(self, solver: Any) -> None:
        self.t, self.t_new, self.y_new = solver.t_old, solver.t, solver.y.copy()
        self._solution = solver.dense_output()

    def sample(self, t: float) -> np.ndarray:
        """Return y at a time within the step."""
        return self._solution(t)


def stiff_steps(
    f: Function,
    t: float,
    y: np.ndarray,
    end: float,
    method: str,
    rtol: float,
    atol: float,
    manifold: Projection | None,
    statistics: Statistics,
) -> Iterator[StiffStep]:
    """Yield accepted steps of SciPy's Radau, BDF or LSODA from (t, y) to `end`.

    Every yielded end state is projected; the solver goes on from its own state until that has drifted by
    RESTART_DRIFT times the tolerance, and is then restarted.

    Raises
    ------
    IntegrationError
        If the solver gives up or its state cannot be projected.
    """
    from scipy import integrate

    solver_class = getattr(integrate, method)
    # Radau and BDF refuse smaller relative tolerances than this and would warn.
    rtol = max(rtol, 100 * np.finfo(float).eps)
    solver = solver_class(f, t, y, end, rtol=rtol, atol=atol)
    while solver.status == "running":
        message = _stepped(solver)
        if solver.status == "failed" or solver.t <= solver.t_old:
            raise IntegrationError(
                f"SciPy's {method} gave up: {message or 'its steps have become too short'}", solver.t
            )
        statistics.steps += 1
        step = StiffStep(solver)
        if manifold is not None:
            projected = manifold.project(solver.t, solver.y)
            if projected is None:
                raise IntegrationError("the state left the constraints", solver.t)
            drift = np.abs(projected - solver.y) / (atol + rtol * np.abs(solver.y).max())
            step.y_new = projected
            if drift.max() > RESTART_DRIFT and solver.status == "running":
                h = min(solver.t - step.t, end - solver.t)
                solver = solver_class(f, solver.t, projected, end, rtol=rtol, atol=atol, first_step=h)
        yield step


def _stepped(solver: Any) -> str | None:
    """Take a step; linear algebra on values that are not finite is a failed step like any other."""
    try:
        return solver.step()
    except (ValueError, np.linalg.LinAlgError) as error:
        if type(error) not in (ValueError, np.linalg.LinAlgError):
            raise  # a more special error comes from the function, not from SciPy
        solver.status, solver.t_old = "failed", solver.t
        return str(error)
