"""Projection of a state onto the constraints, and of an error onto their tangent space.

The nearest state in the mass metric: poses by steps delta = -W (A W)^+ Phi, velocities likewise with Phi_dot. Rows and
factorization are those of a state nearby (chord steps) and are renewed when the steps contract too slowly.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from .bodies import POSES, VELOCITIES, displace, motion_of, reach, rotations, speed, subtract
from .evaluate import factorise_at
from .impose import copy, impose_alone, push, solves_for
from .mechanism import Mechanism
from .redundancy import EPSILON
from .rows import along, residuals
from .work import CORRECTION, LEAST

# Steps this small, over the size of the system or its speed, are round-off, as are those of ROUND_OFF_ULPS units
# in the last place of the largest position.
ROUND_OFF = 1e-15
ROUND_OFF_ULPS = 4.0

# Steps that shrink less than this from one to the next ask for new rows.
SLOW = 0.05

# A step with renewed rows leaves at most this, times how far poses have moved since, in rad or lengths of the system,
# over the least pivot, of itself: the size of second derivatives of rows, of which 2 was the most in ten mechanisms.
# At least LEFT, by round-off.
CURVATURE, LEFT = 100.0, 1e-8

# A step below this that no longer shrinks is round-off, enlarged by nearly dependent rows.
STAGNANT = 1e-8

# The part of what lies across the constraints that may be left in what is to lie along them, to be measured.
ACROSS = 1e-9

MOST_STEPS = 16

# Entries of `counts`, to which `project` adds its steps and its factorizations.
CORRECTIONS, FACTORISATIONS = range(2)


@kernel
def project(mechanism: Mechanism, t: float, y: np.ndarray, length: float, counts: np.ndarray, away: bool) -> bool:
    """Move y onto the constraints; False if it is too far from them.

    The factorization in `work` is of a state nearby, or is replaced. If it is of one further `away`, as where a long
    step began, it is replaced unless one step with it is enough, and what the new one leaves is foreseen, not tried.
    Numbers of steps and factorizations are added to the first entries of `counts`.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    round_off = ROUND_OFF + ROUND_OFF_ULPS * EPSILON * reach(constants, y) / length
    moved = np.inf
    for level in range(2):
        if level == VELOCITIES:
            round_off = (round_off + ROUND_OFF) * speed(constants, y, length)
        previous, renewed, done = np.inf, False, False
        for _ in range(MOST_STEPS):
            rotations(y, work.kin)
            residuals(nodes, t, y, work.kin, level, work.rhs)
            push(mechanism)
            size = displace(constants, y, work.wrench, level, length)
            counts[CORRECTIONS] += 1
            if level == POSES and previous == np.inf and not renewed:
                put(work.summary, CORRECTION, size)
            if not size < np.inf:
                return False
            if level == POSES:
                moved += size
            if previous < np.inf:
                rate = size / previous
            else:
                rate = max(CURVATURE * moved / max(at(work.summary, LEAST), EPSILON), LEFT)
            if size * min(rate, 1.0) <= round_off:
                done = True
                break
            if rate > SLOW and (previous < np.inf or (away and moved == np.inf)):
                if renewed and rate >= 0.5:
                    done = size < STAGNANT or (level == VELOCITIES and size < STAGNANT * speed(constants, y, length))
                    break
                factorise_at(mechanism, t, y)
                counts[FACTORISATIONS] += 1
                renewed, size = True, np.inf
                if away:
                    moved = 0.0
            previous = size
        if not done:
            return False
    return True


@kernel
def tangential(mechanism: Mechanism, y: np.ndarray, change: np.ndarray, level: int, constrained: bool) -> None:
    """Fill work.motion with a change of y at one level, poses or velocities.

    If `constrained`, with its projection onto the tangent space of the constraints: the part that violates no row.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    motion_of(constants, y, change, level, work.motion)
    if constrained:
        along(nodes, work.G, work.motion, work.rhs)
        passes = solves_for(mechanism, ACROSS)
        if passes > 1:
            copy(work.motion, work.change)
            impose_alone(mechanism, passes, ACROSS)
            copy(work.change, work.motion)
        else:
            push(mechanism)
        subtract(constants, work.wrench, work.motion)
