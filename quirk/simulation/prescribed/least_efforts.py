"""Actuator efforts of least norm that produce a prescribed motion.

A motion with accelerations a of n bodies requires the loads M a - Q in addition to the applied loads Q. The passive
constraints with rows A carry a part A^T lambda of these loads, and the k actuators must exert the rest. The part of a
load p that constraints do not carry is the one that accelerates the mechanism: as an impulse on the mechanism at rest,
p changes the velocities by W z, where W W^T = M^-1 and z is the projection of W^T p onto the motions allowed by the
constraints, in coordinates of the mass metric. Therefore the efforts u (k,) solve Z u = z, with a column of Z for the
unit load of each actuator; Z has rank f if the actuators reach all f degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.dynamics.model.applied_loads import Exerted
from quirk.dynamics.model.constrained_motion import gyroscopic
from quirk.dynamics.model.model import Model
from quirk.dynamics.plant import CompiledModel


class UnreachedFreedomsError(Exception):
    """Error raised if the actuators cannot move all degrees of freedom of the mechanism.

    Attributes
    ----------
    row : index of the time at which a degree of freedom is not reached
    reached, freedoms : number of degrees of freedom that the actuators reach, and total number
    """

    def __init__(self, row: int, reached: int, freedoms: int) -> None:
        self.row, self.reached, self.freedoms = row, reached, freedoms
        super().__init__(f"{reached} of {freedoms} freedoms at row {row}")


def inertia_loads(model: Model, state: State, linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the inertial loads (nt, n, 6) of n bodies: force, and moment about the center of mass, inertial frame.

    Inertial loads are mass times acceleration, and inertia times angular acceleration plus gyroscopic terms.
    Accelerations (nt, n, 3) are `linear`, inertial frame, m/s^2, and `angular`, body axes, rad/s^2.
    """
    turning = np.einsum("nij,tnj->tni", model.inertia, angular) + gyroscopic(model, state.angular_velocity)
    moment = np.einsum("tnij,tnj->tni", rotation.matrix(state.orientation), turning)
    return np.concatenate([model.mass[:, None] * linear, moment], axis=2)


def applied_loads(model: Model, forces: dict[str, Exerted], count: int, but: Sequence[str] = ()) -> np.ndarray:
    """Return the sum of gravity and of the loads of force elements on n bodies, (nt, n, 6), inertial frame.

    `forces` are the loads of the force elements by name, at `count` = nt times. Elements named in `but` are left out.
    """
    total = np.zeros((count, len(model.mass) + 1, 6))
    total[:, :-1, :3] = model.mass[:, None] * model.gravity
    for element, rows in model.forces:
        if element.name not in but:
            for end, body in enumerate(rows):
                total[:, body] += forces[element.name].loads[:, end, 0]
    return total[:, :-1]


class UnitLoads:
    """Loads that an actuator exerts with unit effort, at nt times.

    Attributes
    ----------
    loads : (nt, frames, 6) force, N, and moment about the center of mass, N m, inertial frame, per unit of effort
    rows : indices of the bodies to which the frames belong
    """

    def __init__(self, model: Model, forces: dict[str, Exerted], name: str) -> None:
        (self.rows,) = (list(rows) for element, rows in model.forces if element.name == name)
        self.loads, self._bodies = forces[name].loads[:, :, 0], len(model.mass)

    def at(self, row: int) -> np.ndarray:
        """Return the loads (n, 6) on all n bodies at the time with index `row`."""
        by_body = np.zeros((self._bodies + 1, 6))
        np.add.at(by_body, self.rows, self.loads[row])
        return by_body[:-1]


class ActuatorMap:
    """Solver for the actuator efforts that produce required loads along a motion.

    Parameters
    ----------
    plant : compiled model with the passive constraints
    times, flat : (nt,) times, s, and state vectors of the motion at these times

    Attributes
    ----------
    rank : number of independent rows of the passive constraints
    """

    def __init__(self, plant: CompiledModel, times: np.ndarray, flat: np.ndarray) -> None:
        self.model, self.times, self.flat = plant.model, times, flat
        self._solver = plant.solver()
        self.rank = self._solver.settle(self._solver.slots.state_to_lanes(flat[0]), float(times[0]))

    def efforts(self, pushes: Sequence[UnitLoads], loads: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the efforts (nt, k) of k actuators that produce required loads on n bodies (nt, n, 6).

        Their weighted sum of squares is least. Loads are in the inertial frame. Constraints carry the difference
        between the required loads and those of the actuators. `pushes` are the loads of the actuators for unit efforts,
        and `weights` (k,) the weights of the squared efforts.

        Raises
        ------
        UnreachedFreedomsError
            If the actuators do not reach all degrees of freedom.
        """
        efforts = np.zeros((len(self.times), len(pushes)))
        freedoms = 6 * len(self.model.mass) - self.rank
        for row in range(len(self.times)):
            exerted = np.stack([*(push.at(row) for push in pushes), loads[row]])
            free, whole = self._solver.unbalanced_loads(*self._at(row), exerted)
            Z, wanted = free[:-1].T, free[-1]
            # The remainder of a load that is carried by the constraints is round-off.
            lengths = np.linalg.norm(Z, axis=0)
            felt = lengths > self.model.rank_tolerance * np.linalg.norm(whole[:-1], axis=1)
            lengths, Z = np.where(felt, lengths, 1.0), np.where(felt, Z, 0.0)
            U, s, _ = np.linalg.svd(Z / lengths, full_matrices=False)
            reached = int((s > self.model.rank_tolerance * s[0]).sum()) if s[0] > 0 else 0
            if reached < freedoms:
                raise UnreachedFreedomsError(row, reached, freedoms)
            basis = U[:, :freedoms]
            # If the solution is unique, columns are scaled to unit length for accuracy.
            scale = np.sqrt(weights) if len(pushes) > freedoms else lengths
            efforts[row] = np.linalg.pinv(basis.T @ (Z / scale), rcond=0.0) @ (basis.T @ wanted) / scale
        return efforts

    def reached(self, pushes: Sequence[UnitLoads], row: int) -> np.ndarray:
        """Return the accelerations (6 n, k) of n bodies for unit efforts of k actuators, at the time with index `row`.

        The accelerations are in coordinates of the mass metric. `pushes` are the loads of the actuators for unit
        efforts.
        """
        return self._solver.unbalanced_loads(*self._at(row), np.stack([push.at(row) for push in pushes]))[0].T

    def _at(self, row: int) -> tuple[np.ndarray, float]:
        """Return the state at the time with index `row`, in the memory layout of the solver, and this time, s."""
        solver, t = self._solver, float(self.times[row])
        if solver.redundant:
            solver.choose_state(self.model.auxiliary.state(self.flat[row]), t)
        return solver.slots.state_to_lanes(self.flat[row]), t
