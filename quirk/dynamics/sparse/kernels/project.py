"""Projection of a state onto the constraints, and of an error onto their tangent space.

The projected state is the nearest one in the mass metric. Poses are corrected by steps delta = -W (A W)^+ Phi, with the
constraint residuals Phi, the constraint rows A and the mass matrix (W W^T)^-1; velocities are corrected by the same
formula with the rates of Phi. The rows and factorization of a nearby state are used (chord method), and computed again
if convergence is too slow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, put, splat, store

from .bodies import POSES, VELOCITIES, displace, largest_distance, motion_of, rotations, speed, subtract
from .closing_solve import closed
from .constraint_solve import copy, set_constraint_loads, solve_count, solve_once
from .evaluate import factorise_at
from .mechanism import Mechanism
from .recursion_solve import (
    correct_recursively,
    factored_recursively,
    factorise_closed,
    factorise_forest,
    moved_since_factorization,
    recursive,
    tangential_recursively,
)
from .redundancy import EPSILON
from .rows import along, of_velocities, residuals
from .workspace import CORRECTION, LEAST

# Corrections below this are round-off. They are relative to the length of the system for poses, to its speed for
# velocities.
ROUND_OFF = 1e-15
# Pose corrections below this many units in the last place of the largest position are round-off, too.
ROUND_OFF_ULPS = 4.0

# The rows are factorized again if the ratio of successive corrections exceeds SLOW. If it exceeds STALLED, the
# iteration also restarts from the initial state, but only once; if it then stalls again, the projection fails.
SLOW, STALLED = 0.05, 0.5

# The ratio of the next correction to the present one is estimated as CURVATURE * d / p, where d is the displacement
# since the last factorization, in rad or lengths of the system, and p the smallest pivot; it is at least LEFT, because
# of round-off. CURVATURE bounds the second derivatives of the constraints; the largest value found in ten mechanisms
# was 2.
CURVATURE, LEFT = 100.0, 1e-8

# Corrections below this that no longer decrease are round-off, amplified by nearly dependent rows.
STAGNANT = 1e-8

# Largest normal component of a variation after projection onto the tangent space of the constraints, as a fraction of
# the variation.
ACROSS = 1e-9

# Maximum number of iterations for poses, and for velocities.
MOST_STEPS = 16


@component(effort=4)
def project(mechanism: Mechanism, t: float, y: np.ndarray, length: float, counts: Any, distant: bool) -> bool:
    """Project the state y at time t (s) onto the constraints, in place; return False if the state is too far from them.

    The last factorization of the rows is used, normally that of a nearby state. If convergence is too slow, the rows
    are factorized again. If there is no convergence, the iteration restarts from the initial state: near a singular
    configuration, corrections with the factorization of another state may lead far away along the constraints.

    `distant` is true if the last factorization belongs to a distant state, such as the start of a long step. It is then
    used only if a single iteration suffices. After a new factorization, convergence is estimated from the displacement
    since then, so that no further iteration is needed to test it.

    The numbers of iterations and factorizations are added to counts.corrections and counts.factorisations; `length` is
    the characteristic length of the system (m).
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    bodies = work.unprojected.shape[0]
    round_off = ROUND_OFF + ROUND_OFF_ULPS * EPSILON * largest_distance(constants, y) / length
    moved = moved_since_factorization(mechanism, y, length)
    for level in range(2):
        if level == VELOCITIES:
            round_off = (round_off + ROUND_OFF) * speed(constants, y, length)
        previous, renewed, restored, done, steps = np.inf, False, False, False, 0
        copy(y[:bodies], work.unprojected)
        while steps < MOST_STEPS:
            steps += 1
            if factored_recursively(mechanism):
                size = correct_recursively(mechanism, t, y, level, length)
            else:
                rotations(y, work.kin)
                residuals(nodes, t, y, work.kin, level, work.rhs)
                solve_once(mechanism)
                size = displace(constants, y, work.wrench, level, length)
            counts.corrections += 1
            if level == POSES and steps == 1:
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
            if rate > SLOW and (previous < np.inf or (distant and moved == np.inf)):
                if renewed and rate >= STALLED:
                    done = size < STAGNANT or (level == VELOCITIES and size < STAGNANT * speed(constants, y, length))
                    break
                renewed = restored or rate < STALLED
                if not renewed:
                    copy(work.unprojected, y[:bodies])
                    restored, steps = True, 0
                renew(mechanism, t, y)
                counts.factorisations += 1
                size = np.inf
                if distant:
                    moved = 0.0
            previous = size
        if not done:
            return False
    return True


@kernel
def renew(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Factorize the constraint rows at time t (s) and state y for projections."""
    if not recursive(mechanism) or (closed(mechanism) and not factorise_closed(mechanism, t, y)):
        factorise_at(mechanism, t, y)
    elif not closed(mechanism):
        factorise_forest(mechanism, t, y, False)


@component(effort=3)
def tangential(mechanism: Mechanism, y: np.ndarray, change: np.ndarray, level: int, constrained: bool) -> None:
    """Convert a variation `change` of the state y to translations and scaled rotations of the bodies, in work.motion.

    Constraint rows are multiplied by vectors of this form: translations in the inertial frame, and W^-1 times rotations
    in body axes, with the metric W of a body: W W^T = J^-1. `level` selects the variation of poses or of velocities. If
    `constrained`, the result is projected onto the tangent space of the constraints. Of variations of poses, this is
    what projection of the poses leaves: constraints of velocities, such as rolling, do not restrict them.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    motion_of(constants, y, change, level, work.motion)
    if constrained and factored_recursively(mechanism):
        tangential_recursively(mechanism, y, level)
    elif constrained:
        along(nodes, work.G, work.motion, work.rhs)
        for n in range(nodes.rows.shape[0]):
            if level == POSES and of_velocities(nodes, n):
                store(work.rhs, 8 * n, splat(0.0))
        passes = solve_count(mechanism, ACROSS)
        if passes > 1:
            copy(work.motion, work.change)
            set_constraint_loads(mechanism, passes, ACROSS)
            copy(work.change, work.motion)
        else:
            solve_once(mechanism)
        subtract(constants, work.wrench, work.motion)
