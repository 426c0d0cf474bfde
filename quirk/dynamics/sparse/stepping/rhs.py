"""Compiled solver as right-hand side y' = f(t, y), for the start of a run and for SciPy's integrators."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quirk.bodies.state import State
from quirk.dynamics.model.joint_angles import angles_by_name
from quirk.errors import InputError
from quirk.forces.friction import turned_on
from quirk.forces.law import COORDINATE

from ..solver.solver import Solver
from ..tangent.jacobian import Jacobian


class SparseFlow:
    """Vector field of a system on the manifold of its constraints, over flat states (13 n + k,).

    Attributes
    ----------
    rank : largest number of independent rows on the constraints so far
    evaluations : number of evaluations of y'
    trouble : cause of the failure of the last evaluation, such as an error in a user function, or None
    """

    def __init__(
        self,
        solver: Solver,
        start: State,
        t: float,
        *,
        on_constraints: bool,
        baumgarte: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.solver, self.model, self.baumgarte = solver, solver.model, baumgarte
        self.on_constraints = on_constraints and len(solver.tables.nodes.rows) > 0
        self.rank = solver.settle(solver.slots.state_to_lanes(solver.model.carried.flat(start)), t)
        self.evaluations = 0
        self.refer(t, *np.zeros((2, len(self.model.joints.ends), 3)))

    @property
    def trouble(self) -> BaseException | None:
        """Exception of the last call of a user function, or None."""
        return self.solver.applied.trouble

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n + k,), or nan where it cannot be computed; `trouble` then has the cause."""
        self.evaluations += 1
        lanes = self.solver.rates(t, self.solver.slots.state_to_lanes(y), self.baumgarte)
        return self.solver.slots.state_from_lanes(lanes)

    def jacobian(self) -> Callable[[float, np.ndarray], np.ndarray] | None:
        """Return a function of t and y for dy'/dy (13 n + k, 13 n + k), or None if there is no tangent.

        The function returns nan where the Jacobian cannot be computed.
        """
        if any(self.baumgarte):
            return None
        try:
            tangent = Jacobian(self.solver)
        except InputError:
            return None

        def at(t: float, y: np.ndarray) -> np.ndarray:
            try:
                return tangent.at(t, y)
            except InputError:
                return np.full((y.size, y.size), np.nan)

        return at

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray) -> None:
        """Set the reference for counting turns: joint angles (K, 3), rad, and rates (K, 3), rad/s, at time t, s."""
        self._reference = t, angles, rates
        self.solver.applied.refer(t, angles, rates)

    def turn(self, t: float, y: np.ndarray) -> None:
        """Update the slip direction of each friction element from a state (13 n + k,), unless the slip has reversed."""
        table, applied = self.solver.frictions, self.solver.applied.table
        if not (table.size > 1).any():
            return
        self(t, y)
        for first, into, size in zip(table.slip, table.direction, table.size, strict=True):
            slip = applied.outputs[first + COORDINATE * np.arange(size + 1)]
            applied.inputs[into : into + size] = turned_on(slip, applied.inputs[into : into + size + 1])

    def angles(self, t: float) -> dict[str, np.ndarray]:
        """Return approximate joint angles (3,), rad, at a time, by name: extrapolated linearly from the reference."""
        since, angles, rates = self._reference
        return angles_by_name(self.model.joints, angles + (t - since) * rates)

    def project(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Return y with unit quaternions, projected if `on_constraints`; None if y is too far from the constraints."""
        lanes = self.solver.slots.state_to_lanes(y)
        if not self.solver.project(lanes, t, self.on_constraints):
            return None
        return self.solver.slots.state_from_lanes(lanes)
