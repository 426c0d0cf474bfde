"""Descent to equilibria of large systems with elastic beams, with sparse matrices.

Far from equilibrium Newton's method may not converge. As in `pseudo_transient`, the strongly damped motion du/dtau =
a(u), with the accelerations a, is followed by implicit steps

 k (u - u_0) = a(u),   k = 1 / dtau,

with k above the squared growth rate of the most unstable mode, so that the potential energy decreases. Each step is
solved by Newton's method, in the unknowns of `sparse_statics` and with the strains of `mixed_newton`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.state import State
from quirk.errors import InputError

from .beam_strains import BeamStrains
from .free_accelerations import NEARBY, size_of_change, size_of_loads
from .operating_point import Point
from .pseudo_transient import FACTOR, FEW, FIRST, FOUND, MOST_ITERATIONS, MOST_STEPS, NEAR, OVER_GROWTH, SLOWEST
from .sparse_jacobians import Local
from .sparse_statics import GROWS, LinearizedStatics, moved, suits

if TYPE_CHECKING:
    from quirk.system.system import System

# Longest Newton step: rotation, rad, or displacement, in lengths of the system. As strains are unknowns, the ends of
# long beams may make a full turn in one step. With a limit of 0.3, unrolling a helix took nine times as many steps.
LONGEST_STEP = 2 * np.pi


def sparse_descent(system: System, start: State, t: float) -> State | None:
    """Return a state at rest near an equilibrium with lower potential energy than `start`, or None.

    t is the time, s. The result is None in any of these cases: the system is unsuited to sparse matrices; an
    equilibrium, which may be unstable, is near the start; nothing resists a motion at the start, such as a free fall;
    or the descent fails.
    """
    if not suits(system):
        return None
    try:
        return _transient(system, start, t)
    except InputError:  # a singular state
        return None


def _transient(system: System, start: State, t: float) -> State | None:
    segments, point, slower, loaded = BeamStrains.of(system), Point(system, start, t), 0.0, 0.0
    for _ in range(MOST_STEPS):
        linear = LinearizedStatics.at(point, Local.at(point, freedoms=6))
        a = point.metric.coordinates(point.linear, point.angular)
        loaded = max(loaded, size_of_loads(point))
        if np.linalg.norm(a) <= NEAR * loaded:
            return point.state
        if not slower and (np.linalg.norm(a) <= NEARBY * loaded or linear.factors(0.0) is None):
            return None
        growth, found = OVER_GROWTH * _growth(linear), None
        slower = slower or FIRST * linear.size
        while found is None:
            if not 0.0 < slower <= SLOWEST * linear.size:
                return None
            found = _step(segments, point, linear, a, slower + growth)
            slower = FACTOR * slower if found is None else slower
        point, iterations = found
        slower = slower / FACTOR if iterations <= FEW else slower
    return None


def _growth(linear: LinearizedStatics) -> float:
    """Return an upper bound of the squared growth rates of all unstable modes, 1/s^2; 0 if there are none.

    The bound is at most FACTOR times the largest squared growth rate.
    """
    bound = GROWS * linear.size
    if linear.below(bound):
        return 0.0
    while not linear.below(bound):
        bound *= FACTOR
    return bound


def _step(
    segments: BeamStrains, point: Point, linear: LinearizedStatics, a: np.ndarray, k: float
) -> tuple[Point, int] | None:
    """Return the operating point after one implicit step, and the number of iterations; None without convergence.

    Parameters
    ----------
    segments : the beam segments of the system
    point, linear, a : the operating point before the step, its linearized equations, and its accelerations (6 n,)
    k : damping, 1/s^2
    """
    here, total, strains = point, np.zeros(len(a)), segments.strains(point)
    for iteration in range(MOST_ITERATIONS):
        now = segments.strains(here)
        if iteration:
            with segments.at(here, strains, now):
                linear = LinearizedStatics.at(here, Local.at(here, freedoms=6))
            a = here.metric.coordinates(here.linear, here.angular)
        factors = linear.factors(k)
        if factors is None:
            return None
        step = factors.solve(np.concatenate([k * total - a, np.zeros(linear.B.shape[0])]))[: len(a)]
        moves, turns = here.metric.vector(step)
        if size_of_change(here, moves, turns) > LONGEST_STEP:
            return None
        total, strains = total + step, now + segments.rates(here, moves, turns)
        following = moved(here, moves, turns)
        if following is None:
            return None
        here = following
        if iteration and np.linalg.norm(step) <= FOUND * np.linalg.norm(total):
            return here, iteration
    return None
