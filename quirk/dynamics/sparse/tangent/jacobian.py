"""Jacobian of y' = f(t, y) as a dense matrix, for SciPy's implicit methods."""

from __future__ import annotations

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import STATE_SIZE, State
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions
from quirk.dynamics.model.layout import OMEGA as OMEGA_AT
from quirk.dynamics.model.layout import ORIENTATION, POSITION
from quirk.dynamics.model.layout import VELOCITY as VELOCITY_AT

from ..solver.solver import Solver
from .tangent import Differential


class Jacobian:
    """Jacobian of y' = f(t, y) of one model, with n bodies and k auxiliary states.

    The solver must not be used by another object at the same time.
    """

    def __init__(self, solver: Solver) -> None:
        self._solver, self._differential = solver, Differential(solver)

    def at(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return df/dy (13 n + k, 13 n + k) at a state y (13 n + k,) and time t (s).

        Its rows for the rates of work are zero.
        """
        model, n = self._solver.model, len(self._solver.model.mass)
        count, bodies = len(y), np.arange(n)
        state = model.auxiliary.state(y)
        places = STATE_SIZE * bodies[:, None] + np.arange(STATE_SIZE)
        directions = Directions.none(model, count)
        axis = np.arange(3)
        directions.bodies[bodies[:, None], axis + SHIFT.start, places[:, POSITION + axis]] = 1.0
        directions.bodies[bodies[:, None], axis + VELOCITY.start, places[:, VELOCITY_AT + axis]] = 1.0
        directions.bodies[bodies[:, None], axis + OMEGA.start, places[:, OMEGA_AT + axis]] = 1.0
        for k in range(4):
            turn = 2 * _conjugate_times(state, np.eye(4)[k])
            directions.bodies[bodies[:, None], axis + TURN.start, places[:, [ORIENTATION + k]]] = turn
        directions.internal[np.arange(count - STATE_SIZE * n), np.arange(STATE_SIZE * n, count)] = 1.0
        tangent = self._differential.at(self._solver.slots.state_to_lanes(y), t, directions)
        J = np.zeros((count, count))
        J[places[:, POSITION + axis], places[:, VELOCITY_AT + axis]] = 1.0
        J[places[:, VELOCITY_AT + axis].ravel()] = tangent.linear.reshape(count, -1).T
        J[places[:, OMEGA_AT + axis].ravel()] = tangent.angular.reshape(count, -1).T
        J[STATE_SIZE * n :] = tangent.internal.T
        _turning(J, places, state)
        return J


def _conjugate_times(state: State, quaternions: np.ndarray) -> np.ndarray:
    """Return the vector parts (n, 3) of the products q* p of the orientations q of n bodies and `quaternions` p (n, 4).

    q* is the conjugate of q.
    """
    q = state.orientation
    return (
        rotation.multiply(rotation.conjugate(q), np.broadcast_to(quaternions, q.shape))[:, 1:]
        / (q**2).sum(axis=1)[:, None]
    )


def _turning(J: np.ndarray, places: np.ndarray, state: State) -> None:
    """Set the rows of the Jacobian J for the rates of quaternions, q' = q omega / 2, of n bodies.

    They are the derivatives of q' with respect to q and omega. `places` (n, 13) are the indices of the components of
    each body in a state.
    """
    quaternions = places[:, ORIENTATION : ORIENTATION + 4]
    for k in range(4):
        unit = np.broadcast_to(np.eye(4)[k], state.orientation.shape)
        J[quaternions, quaternions[:, [k]]] = rotation.rate(unit, state.angular_velocity)
    for c in range(3):
        spin = np.broadcast_to(np.eye(3)[c], state.angular_velocity.shape)
        J[quaternions, places[:, [OMEGA_AT + c]]] = rotation.rate(state.orientation, spin)
