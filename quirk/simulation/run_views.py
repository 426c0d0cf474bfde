"""Views of a run at the present time, such as ``run["rod"]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.solver.solver import Solver
from ..result.segment import Segment


class Observers:
    """Solvers for views of the present state of a run: one solver for each set of active constraints and forces.

    They use the present inputs, and have separate arrays, so that views do not affect the run.

    Parameters
    ----------
    serve : function that connects a solver to the present inputs
    functions : Python functions called during the run in addition to the user functions of the model
    in_python : user functions of the model that must not be compiled, a list that may grow
    """

    def __init__(self, serve: Callable[[Solver], None], functions: list[Any], in_python: list[Any]) -> None:
        self._serve, self._functions, self._in_python = serve, functions, in_python
        self._excluded = len(in_python)
        self._solvers: dict[CompiledModel, Solver] = {}

    def of(self, plant: CompiledModel) -> Solver:
        """Return the solver of a compiled model, created on first use."""
        if len(self._in_python) > self._excluded:
            self._excluded = len(self._in_python)
            self._solvers.clear()
        if plant not in self._solvers:
            self._solvers[plant] = solver = plant.solver(self._functions, self._in_python)
            self._serve(solver)
        return self._solvers[plant]


class CurrentSegment(Segment):
    """Segment of a result that consists of the present time, state and inputs of a run."""

    observers: Observers

    def solver(self) -> Solver:
        """Return a solver with the present inputs."""
        return self.observers.of(self.plant)


class CurrentView:
    """View of a body, constraint or force element at one time: like the view of a result, without time axis.

    ``run["rod"].position`` has shape (3,), ``run["hinge"].angle`` is a float.
    """

    def __init__(self, view: Any) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._view, name)
        if callable(found) and not isinstance(found, np.ndarray):

            def call(*args: Any, **kwargs: Any) -> Any:
                return without_time(found(*args, **kwargs))

            call.__doc__ = found.__doc__
            return call
        return without_time(found)

    def __dir__(self) -> list[str]:
        return dir(self._view)

    def __repr__(self) -> str:
        return f"<{self._view.of} now>" if hasattr(self._view, "of") else repr(self._view)


def without_time(data: Any) -> Any:
    """Return `data` of a single time with the time axis removed from its arrays, also in dicts and tuples."""
    if isinstance(data, np.ndarray):
        return data[0] if data.ndim > 1 or data.dtype == object else data[0].item()
    if isinstance(data, dict):
        return {name: without_time(value) for name, value in data.items()}
    if isinstance(data, tuple):
        return tuple(without_time(value) for value in data)
    return data
