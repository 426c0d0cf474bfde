"""Newton's method for equilibria of elastic beams with strains as additional unknowns.

Beams are much stiffer in extension and shear than in bending. A Newton step that rotates segments also stretches the
beam, in proportion to the square of the rotation, so that the next residual is large and convergence is slow. Here the
strains e of the segments are additional unknowns, with the equations e = strains(q) for the displacements q. After
elimination of e, the residual is the same as without e, but its derivative contains the loads at the strains e. These
strains are updated linearly and are not affected by the spurious stretch (Magisano, Leonetti and Garcea, Int. J. Numer.
Methods Eng. 109 (2017) 234).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.errors import AssemblyError, InputError

from .beam_strains import BeamStrains
from .free_accelerations import LONGEST_STEP, accelerations, change_along, moved_along, size_of_change, size_of_loads
from .null_space import NullSpaceBasis, motions_from_weighted
from .operating_point import Point

if TYPE_CHECKING:
    from quirk.system.system import System

# The search ends if accelerations are below this fraction of those that the loads would cause without mutual
# cancellation; Newton's method in poses then finds the equilibrium.
NEAR = 1e-6
MOST_STEPS = 100
# A mode grows if the real part of its eigenvalue exceeds this fraction of the largest derivative.
GROWS = 1e-9
# The component of the displacements along a growing mode is round-off below this fraction of the product of their
# largest entries.
EXCITED = 1e-6


def mixed_newton(system: System, state: State, t: float) -> State | None:
    """Return a state at rest near an equilibrium that a damped descent from `state` could also reach.

    The equilibrium is stable, or the displacement to it has no component along its unstable modes, as for a beam that
    bends exactly in a plane although its load exceeds that of lateral buckling. The result is None if there are no
    beams, or if the iteration finds no equilibrium of this kind. t is the time, s.
    """
    segments = BeamStrains.of(system)
    if not segments.names:
        return None
    try:
        return _search(segments, system, state, t)
    except (AssemblyError, InputError, np.linalg.LinAlgError):  # a singular state, a failed projection, no stiffness
        return None


def _search(segments: BeamStrains, system: System, start: State, t: float) -> State | None:
    strains, loaded, state = None, 0.0, start
    for _ in range(MOST_STEPS):
        point = Point(system, state, t)
        free = NullSpaceBasis.at(point)
        now = segments.strains(point)
        with segments.at(point, now if strains is None else strains, now):
            K = accelerations(free, 0)[1]
        g = free.coordinates(*_accelerations(point))[free.poses.shape[1] :, 0]
        loaded = max(loaded, size_of_loads(point))
        if np.abs(g).max(initial=0.0) <= NEAR * loaded:
            return None if excites(point, _growing_motions(free, K), start) else state
        step = np.linalg.solve(-K, g)
        moves, turns = change_along(free, step)
        size = size_of_change(point, moves, turns, np.inf)
        part = min(1.0, LONGEST_STEP / size) if size > 0 else 1.0
        strains = now + part * segments.rates(point, moves, turns)
        state = moved_along(free, state, step, t, np.inf)
    return None


def _growing_motions(free: NullSpaceBasis, K: np.ndarray) -> np.ndarray:
    """Return the unstable modes of an equilibrium as columns (6 n, g), in coordinates of the mass metric.

    `free` is the basis of free coordinates, and K the derivative of the accelerations with respect to them.
    """
    values, vectors = np.linalg.eig(K)
    growing = vectors[: free.velocities.shape[1], values.real > GROWS * np.abs(K).max(initial=0.0)]
    return np.asarray(free.velocities @ growing)


def excites(point: Point, growing: np.ndarray, start: State) -> bool:
    """Whether the displacement from the initial state to an equilibrium has a component along an unstable mode.

    `point` is the operating point at the equilibrium, and `start` the initial state. `growing` (6 n, g) are the
    unstable modes of the equilibrium as columns, in coordinates of the mass metric.
    """
    if not growing.size:
        return False
    state, modes, length = point.state, motions_from_weighted(point.metric, growing), point.model.length
    turned = rotation.log(rotation.multiply(state.orientation, rotation.conjugate(start.orientation)))
    path = np.concatenate([(state.position - start.position) / length, turned], axis=1)
    turning = point.kin.rotation[:-1] @ modes[:, 3:]
    for moves, mode in ((path[:, :3], modes[:, :3] / length), (path[:, 3:], turning)):
        along = np.abs(np.einsum("ni,nid->nd", moves, mode)).max()
        if along > EXCITED * np.abs(path).max() * np.abs(mode).max():
            return True
    return False


def _accelerations(point: Point) -> tuple[np.ndarray, np.ndarray]:
    """Return accelerations of n bodies (n, 12, 1) at an operating point, and the rates of internal variables (k, 1).

    The last six of the 12 components are linear acceleration, inertial frame, and angular acceleration, body axes; the
    others are zero.
    """
    now = np.zeros((point.bodies, 12, 1))
    now[:, 6:9, 0], now[:, 9:, 0] = point.linear, point.angular
    return now, point.internal_rates[:, None]
