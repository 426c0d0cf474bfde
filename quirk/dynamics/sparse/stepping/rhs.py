"""The right-hand side y' = f(t, y) by the compiled solver, for the start of a run and for SciPy's integrators.

A flat state (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states. There are K joints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quirk.bodies.state import State
from quirk.dynamics.model.joint_angles import angles_by_name
from quirk.errors import InputError

from ..solver.solver import Solver
from ..tangent.jacobian import Jacobian


class SparseFlow:
    """Right-hand side y' = f(t, y) of a system with constraints.

    Parameters
    ----------
    solver : evaluator of the model
    start, t : initial state on the constraints, and its time, s, at which independent rows are selected
    on_constraints : whether `project` projects states onto the constraints
    baumgarte : Baumgarte's rates alpha and beta, 1/s

    Attributes
    ----------
    rank : largest number of independent rows so far at states on the constraints
    evaluations : number of evaluations of y'
    trouble : exception of the last call of a user function, or None
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
        self.rank = solver.settle(solver.slots.state_to_lanes(solver.model.auxiliary.flat(start)), t)
        self.evaluations = 0
        self.refer(t, *np.zeros((2, len(self.model.joints.ends), 3)))

    @property
    def trouble(self) -> BaseException | None:
        """Exception of the last call of a user function, or None."""
        return self.solver.applied.trouble

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return y' (13 n + k,) at time t (s) and state y (13 n + k,), or NaN if it cannot be computed.

        `trouble` then contains the exception.
        """
        self.evaluations += 1
        lanes = self.solver.rates(t, self.solver.slots.state_to_lanes(y), self.baumgarte)
        return self.solver.slots.state_from_lanes(lanes)

    def jacobian(self) -> Callable[[float, np.ndarray], np.ndarray] | None:
        """Function of t and y that computes the Jacobian dy'/dy (13 n + k, 13 n + k), or None.

        The function returns NaN if the Jacobian cannot be computed. The attribute is None for systems without exact
        derivatives.
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
        """Set the reference from which the number of full turns of joint angles is determined.

        The reference consists of joint angles (K, 3), rad, and their rates (K, 3), rad/s, at time t (s).
        """
        self._reference = t, angles, rates
        self.solver.applied.refer(t, angles, rates)

    def angles(self, t: float) -> dict[str, np.ndarray]:
        """Return estimates of the joint angles (3,), rad, at time t (s), by name of the joint.

        They are extrapolated linearly from the reference set by `refer`.
        """
        since, angles, rates = self._reference
        return angles_by_name(self.model.joints, angles + (t - since) * rates)

    def project(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Return the state y at time t (s) with normalized quaternions, projected onto the constraints if required.

        The attribute `on_constraints` states whether it is projected. Returns None if the projection fails.
        """
        lanes = self.solver.slots.state_to_lanes(y)
        if not self.solver.project(lanes, t, self.on_constraints):
            return None
        return self.solver.slots.state_from_lanes(lanes)
