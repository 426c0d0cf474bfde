"""SciPy's implicit methods for stiff systems.

A break is a time at which a step must end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .breaks import Breaks, in_piece
from .step import Function, IntegrationError, Look, Projection, Statistics

STIFF_METHODS = ("Radau", "BDF", "LSODA")

# Drift off the constraints, relative to the tolerance of a step, at which the solver is restarted from the projected
# state. The state of a multistep method cannot be modified between steps.
RESTART_DRIFT = 100.0
# Absolute tolerance of the components whose errors are not controlled: larger than any error.
UNBOUNDED = 1e100


class StiffStep:
    """An accepted step of a SciPy solver."""

    def __init__(self, solver: Any) -> None:
        self.t, self.t_new, self.y_new = solver.t_old, solver.t, solver.y.copy()
        self._solution = solver.dense_output()

    def sample(self, t: float) -> np.ndarray:
        """Return the state y (N,) at time t within the step, by SciPy's dense output."""
        return self._solution(t)

    near = sample


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
    breaks: Breaks | None = None,
    look: Look | None = None,
    *,
    first: float = 0.0,
    jacobian: Callable[[float, np.ndarray], np.ndarray] | None = None,
    counted: int | None = None,
) -> Iterator[StiffStep]:
    """Yield the accepted steps of y' = f(t, y) by SciPy's `method` Radau, BDF or LSODA, from (t, y) to `end`.

    `rtol` and `atol` are the relative and absolute tolerances. `look` inspects each step and may require that it be
    repeated. `first` is the initial step size, or 0 for SciPy's choice. `jacobian` returns df/dy (N, N); without it
    SciPy uses finite differences, which lose half of the digits, so that iterations at tight tolerances fail for stiff
    systems. `counted` is the number of leading components of y whose errors are controlled; None for all. The end state
    of each yielded step is projected. The solver continues from the unprojected state; it is restarted at breaks, and
    when the unprojected state has drifted from the manifold by RESTART_DRIFT times the tolerance.

    Raises
    ------
    IntegrationError
        If the solver fails or its state cannot be projected.
    """
    from scipy import integrate

    # Radau and BDF would warn of a smaller relative tolerance and replace it by this one.
    rtol = max(rtol, 100 * np.finfo(float).eps)
    breaks = Breaks(t, end) if breaks is None else breaks
    bounds = np.full(y.size, atol)
    bounds[y.size if counted is None else counted :] = UNBOUNDED

    def started(t: float, y: np.ndarray, longest: float) -> Any:
        piece = breaks.piece(t)
        options: dict[str, Any] = {"rtol": rtol, "atol": bounds, "max_step": breaks.max_step}
        if jacobian is not None:
            options["jac"] = jacobian
        longest = min(longest, piece.first, breaks.max_step)
        if longest < np.inf:
            options["first_step"] = min(longest, piece.end - t)
        return getattr(integrate, method)(in_piece(f, piece), t, y, piece.end, **options)

    solver = started(t, y, first or np.inf)
    while True:
        y = solver.y.copy()
        message = _stepped(solver)
        if solver.status == "failed" or solver.t <= solver.t_old:
            message = f"SciPy's {method} gave up: {message or 'its steps have become too short'}"
            raise breaks.late(solver.t) or IntegrationError(message, solver.t)
        step = StiffStep(solver)
        if look is not None and look(step):
            solver = started(step.t, y, step.t_new - step.t)
            continue
        statistics.steps += 1
        restarted = solver.status != "running"
        if manifold is not None:
            projected = manifold.project(solver.t, solver.y)
            if projected is None:
                raise IntegrationError("the state left the constraints", solver.t)
            drift = np.abs(projected - solver.y) / (bounds + rtol * np.abs(solver.y).max())
            step.y_new = projected
            restarted = restarted or drift.max() > RESTART_DRIFT
        yield step
        if step.t_new >= end:
            return
        if restarted:
            solver = started(step.t_new, step.y_new, np.inf if solver.status == "finished" else step.t_new - step.t)


def _stepped(solver: Any) -> str | None:
    """Advance a SciPy solver by one step; return its message if it fails, otherwise None.

    A linear-algebra error on non-finite values counts as a failed step.
    """
    try:
        return solver.step()
    except (ValueError, np.linalg.LinAlgError) as error:
        if type(error) not in (ValueError, np.linalg.LinAlgError):
            raise  # a subclass is raised by the user's function, not by SciPy
        solver.status, solver.t_old = "failed", solver.t
        return str(error)
