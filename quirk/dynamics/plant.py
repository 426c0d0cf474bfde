"""Compiled model of a system for a given set of enabled constraints and forces."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from .model.metric import Metric
from .model.model import Model
from .sparse.solver.minimum_norm_loads import MinimumNormLoads
from .sparse.solver.solver import Solver
from .sparse.solver.taylor_series import may_jump
from .sparse.symbolic.tables import Tables, flatten
from .user_functions import functions_in


class CompiledModel:
    """Model of a system for a given set of enabled constraints and forces, with tables, metric and solvers.

    The object is immutable, so that runs and results can share it; expensive members are computed at first use.

    Attributes
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._for_residuals: Solver | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and pickles: the model; a copy computes expensive members again."""
        return {"model": self.model, "_for_residuals": None}

    @cached_property
    def metric(self) -> Metric:
        """The mass metric of the model."""
        return Metric.of_masses(self.model)

    @cached_property
    def tables(self) -> Tables:
        """Elimination order and tables of the compiled solver."""
        return flatten(self.model)

    @cached_property
    def sharing(self) -> MinimumNormLoads:
        """Distribution of loads over redundant constraint rows, of minimum norm."""
        return MinimumNormLoads(self.model, self.tables)

    @cached_property
    def may_jump(self) -> bool:
        """Whether accelerations may be discontinuous between changes of the enabled constraints and forces."""
        return may_jump(self.model)

    def solver(self, beside: Sequence[Any] = (), in_python: Sequence[Any] = ()) -> Solver:
        """Return a new compiled solver with separate arrays, for use by one run at a time.

        `beside` are further user functions in Python that the run calls, in addition to those of the model, and
        `in_python` are functions of the model that must not be compiled.
        """
        return Solver(self.model, self.tables, lambda: self.sharing, beside, in_python)

    @property
    def for_residuals(self) -> Solver:
        """Solver for the residuals of constraints; it is cached, as computing residuals does not modify it.

        If constraints or their motions have user functions, a new solver is created at each access, because these
        functions may depend on data that have changed in the meantime.
        """
        if self._for_residuals is None or any(functions_in(placed.relation) for placed in self.model.relations):
            self._for_residuals = self.solver()
        return self._for_residuals
