"""What computes with a system while the same of its parts are active."""

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
    """The arrays of a system with given active parts, and all that follows from them alone.

    Nothing in it ever changes, so that runs and results share one; what is dear is made when first needed.

    Attributes
    ----------
    model : Model
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._for_residuals: Solver | None = None

    @cached_property
    def metric(self) -> Metric:
        """The mass metric."""
        return Metric.of_masses(self.model)

    @cached_property
    def tables(self) -> Tables:
        """The order of elimination, and the tables of the compiled solver."""
        return flatten(self.model)

    @cached_property
    def sharing(self) -> MinimumNormLoads:
        """How redundant rows share what they carry."""
        return MinimumNormLoads(self.model, self.tables)

    @cached_property
    def may_jump(self) -> bool:
        """Whether accelerations may jump while nothing becomes active or ceases to be."""
        return may_jump(self.model)

    def solver(self, beside: Sequence[Any] = ()) -> Solver:
        """Return a new compiled solver: it has arrays of its own, and serves one run at a time.

        `beside` are the user functions, besides those of the model, that Python calls during the run.
        """
        return Solver(self.model, self.tables, lambda: self.sharing, beside)

    @property
    def for_residuals(self) -> Solver:
        """A solver for residuals, which is kept: finding them changes nothing that a later call depends on.

        With functions of the user in constraints or their motions it is a new one each time, as these may read what has
        changed since.
        """
        if self._for_residuals is None or any(functions_in(placed.relation) for placed in self.model.relations):
            self._for_residuals = self.solver()
        return self._for_residuals
