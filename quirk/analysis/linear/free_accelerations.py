"""Accelerations along free coordinates, their derivatives, and steps along free coordinates.

Free coordinates are coordinates of the motions that the constraints allow, in an orthonormal basis of the mass metric.
"""

from __future__ import annotations

import numpy as np

from quirk.bodies.state import State
from quirk.dynamics.dense.projection import displaced, project
from quirk.dynamics.model.directions import Directions
from quirk.errors import AssemblyError

from .null_space import NullSpaceBasis
from .operating_point import Point
from .steady_motion import load_rate

# Largest rotation, rad, and displacement, in lengths of the system, of a body in one step.
LONGEST_STEP = 0.3
# A state is near an equilibrium if its accelerations are below this fraction of those that the loads would cause
# without mutual cancellation. The nearest equilibrium is then computed even if it is unstable.
NEARBY = 1e-3


def size_of_loads(point: Point) -> float:
    """Return the size of the accelerations, kg^(1/2) m/s^2, that the loads would cause without mutual cancellation.

    It is an upper bound of the accelerations along free coordinates at the operating point.
    """
    return float(load_rate(point) ** 2 * point.model.length * np.sqrt(point.model.mass.max()))


def accelerations(free: NullSpaceBasis, pushes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return accelerations along free coordinates and rates of internal variables, with their derivatives.

    `free` is the basis of the free coordinates at the state. The last `pushes` internal variables are contact forces.

    Returns
    -------
    g : (f,) accelerations, then rates of the other internal variables
    K : (f, f) derivatives of g with respect to free coordinates and the internal variables other than contact forces
    G : (f, c) derivatives with respect to the c contact forces
    """
    point, v = free.point, free.velocities.shape[1]
    own = point.internal - pushes
    directions = Directions.none(point.model, v + point.internal)
    directions.bodies[:, :6, :v] = free.motions_from_weighted(free.velocities)
    directions.internal[: point.internal, v:] = np.eye(point.internal)
    varied = point.variation(directions)
    p = free.poses.shape[1]
    K = free.coordinates(varied.bodies, varied.internal)[p : p + v + own]
    now = np.zeros((point.bodies, 12, 1))
    now[:, 6:9, 0], now[:, 9:, 0] = point.linear, point.angular
    g = free.coordinates(now, point.internal_rates[:, None])[p : p + v + own, 0]
    return g, K[:, : v + own], K[:, v + own :]


def change_along(free: NullSpaceBasis, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return displacements (n, 3), m, and rotations (n, 3), rad, of n bodies for a step in free coordinates.

    Displacements are in the inertial frame, and rotation vectors in body axes. `step` (f,) begins with the v free
    coordinates of the bodies; the remaining entries, for internal variables, are ignored.
    """
    change = free.motions_from_weighted(free.velocities @ step[: free.velocities.shape[1], None])[..., 0]
    return change[:, :3], change[:, 3:]


def size_of_change(point: Point, moves: np.ndarray, turns: np.ndarray, length_factor: float = 1.0) -> float:
    """Return the size of a step: the larger of its largest relative displacement and its largest rotation, rad.

    `moves` (n, 3), m, are displacements, and `turns` (n, 3) rotations, rad, from the operating point `point`.
    Displacements are divided by the characteristic length of the system times `length_factor`.
    """
    return float(max(np.abs(moves).max() / (length_factor * point.model.length), np.abs(turns).max()))


def moved_along(free: NullSpaceBasis, state: State, step: np.ndarray, t: float, length_factor: float) -> State:
    """Return the state after a step in free coordinates, projected onto the constraints at time t (s).

    The velocities of `state` are not changed. The step is shortened if a rotation exceeds LONGEST_STEP (rad), or if a
    displacement exceeds LONGEST_STEP times `length_factor` times the characteristic length of the system, and is halved
    while the projection fails.

    Parameters
    ----------
    free : basis of the free coordinates
    state : state before the step
    step : (f,) changes of the v free coordinates of the bodies, then of the first f - v internal variables
    t : time, s
    length_factor : factor on the largest allowed displacement

    Raises
    ------
    AssemblyError
        If the projection fails even for short steps.
    """
    point, (moves, turns) = free.point, change_along(free, step)
    size = size_of_change(point, moves, turns, length_factor)
    part = min(1.0, LONGEST_STEP / size) if size > 0 else 1.0
    for _ in range(20):
        moved = displaced(state, part * moves, part * turns)
        projected = project(point.model, point.metric, moved, t, point.independent)
        if projected is not None:
            break
        part *= 0.5
    else:
        raise AssemblyError(
            "System.equilibrium: the projection onto the constraints failed; start nearer to the equilibrium"
        )
    found, v = projected.state, free.velocities.shape[1]
    internal = point.model.auxiliary.numbers(point.model.auxiliary.flat(state))[: point.internal].copy()
    internal[: len(step) - v] += part * step[v:]
    named = {name: internal[where] for name, where in point.model.auxiliary.internal.items()}
    return State(found.position, found.orientation, state.velocity, state.angular_velocity,
                 angles=point.state.angles, internal=named, bodies=state.bodies)  # fmt: skip
