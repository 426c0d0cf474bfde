"""Compiled solvers of one model: as many as are asked for, with tables made once."""

from __future__ import annotations

from functools import cached_property

from ...model import Model
from ..plan.tables import Tables, flatten
from .solver import Solver


class Solvers:
    """Makes compiled solvers of one model, which share its tables; these are made when first needed."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._for_residuals: Solver | None = None

    @cached_property
    def _tables(self) -> Tables:
        return flatten(self.model)

    def __call__(self) -> Solver:
        """Return a new solver."""
        return Solver(self.model, self._tables)

    @property
    def for_residuals(self) -> Solver:
        """A solver for residuals, which is kept: finding them changes nothing that a later call depends on.

        With users' functions in constraints it is a new one each time, as these may read what has changed since.
        """
        if self._for_residuals is None or any(placed.relation.of_user for placed in self.model.relations):
            self._for_residuals = self()
        return self._for_residuals
