"""Search for equilibria by implicit pseudo-transient continuation, for potential energies with narrow curved valleys.

Narrow valleys occur, for example, for long levers on stiff bushings. The strongly damped motion du/dtau = g(u),
with the accelerations g in free coordinates, first descends to the bottom of the valley and then along it. A linear
step along a curved bottom ends on its steep sides, so that only short steps reduce the residual. Implicit steps

 k (u - u_0) = g(u),   k = 1 / dtau,

end at the bottom for any stiffness (Hairer and Wanner, Solving Ordinary Differential Equations II, IV).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.state import State
from quirk.errors import AssemblyError, InputError

from .free_accelerations import LONGEST_STEP, accelerations, change_along, moved_along, size_of_change, size_of_loads
from .null_space import NullSpaceBasis
from .operating_point import Point

if TYPE_CHECKING:
    from quirk.system.system import System

# The descent ends if accelerations are below this fraction of those that the loads would cause without mutual
# cancellation; Newton's method then finds the equilibrium.
NEAR = 1e-5
# Damping of the first step, and damping beyond which the descent fails, as multiples of the largest stiffness.
FIRST, SLOWEST = 0.1, 1e12
# FACTOR: factor by which steps are shortened after a failure, and lengthened after a step with at most FEW iterations.
FACTOR, FEW = 4.0, 2
MOST_STEPS, MOST_ITERATIONS = 400, 6
# Accepted residual of an implicit step, as a fraction of k (u - u_0).
FOUND = 0.1
# Smallest ratio of the damping k to the largest squared growth rate of all modes.
OVER_GROWTH = 1.5


def descend(system: System, state: State, t: float) -> State | None:
    """Return a state at rest near an equilibrium, reached by a descent to lower potential energy than that of `state`.

    t is the time, s. The result is None if the descent fails.
    """
    try:
        return _transient(system, state, t)
    except (AssemblyError, InputError):  # a singular state, or a failed projection onto the constraints
        return None


def _transient(system: System, state: State, t: float) -> State | None:
    slower = None
    for _ in range(MOST_STEPS):
        free = NullSpaceBasis.at(Point(system, state, t))
        g, K, _ = accelerations(free, 0)
        if np.abs(g).max(initial=0.0) <= NEAR * size_of_loads(free.point):
            return state
        stiffest = float(np.abs(K).max())
        growth = OVER_GROWTH * max(float(np.linalg.eigvals(K).real.max()), 0.0)
        slower = FIRST * stiffest if slower is None else slower
        found = None
        while found is None:
            if not 0.0 < slower <= SLOWEST * stiffest:
                return None
            found = _step(free, state, t, slower + growth)
            slower = FACTOR * slower if found is None else slower
        state, iterations = found
        slower = slower / FACTOR if iterations <= FEW else slower
    return None


def _step(free: NullSpaceBasis, state: State, t: float, k: float) -> tuple[State, int] | None:
    """Return the state after one implicit step and its number of iterations; None if the step does not converge.

    `free` is the basis of free coordinates at `state`, and `k` the damping, 1/s^2.
    """
    system, here = free.point.system, state
    moved, internal = np.zeros(len(free.velocities)), np.zeros(free.point.internal)
    for iteration in range(MOST_ITERATIONS):
        g, K, _ = accelerations(free, 0)
        change = k * np.concatenate([free.velocities.T @ moved, internal])
        if iteration and np.abs(g - change).max() <= FOUND * np.abs(change).max():
            return here, iteration
        step = np.linalg.solve(k * np.eye(len(g)) - K, g - change)
        if size_of_change(free.point, *change_along(free, step)) > LONGEST_STEP:
            return None
        v = free.velocities.shape[1]
        moved, internal = moved + free.velocities @ step[:v], internal + step[v:]
        here = moved_along(free, here, step, t, 1.0)
        free = NullSpaceBasis.at(Point(system, here, t))
    return None
