"""Accelerations and projections by recursion over the joints of a forest; see `recursion`.

For the joints of the forest, neither constraint rows nor multipliers are computed. Constraints that close loops of the
forest, and relations between its joints, are added as rows (`closing_solve`). At states that satisfy the constraints,
the accelerations equal those computed from constraint rows; at other states they differ in proportion to the violation.

Displacements that satisfy the linearized constraints are computed in two parts: the displacements with locked joints,
and the response of the forest to their inertia loads. The factorization of a nearby state can then be used, as only
loads are transmitted and no inertias.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, splat, store

from .applied import applied_loads, auxiliary_rates
from .bodies import CON, STATE, VELOCITIES, poses, rotations
from .closing_solve import closed, closing_rows, factorise_closings, impose_closings
from .mechanism import Mechanism
from .recursion_bodies import accelerations_of_bodies, biases, postures, state_rates, turned_since
from .recursion_corrections import (
    displace_all,
    load_all_by_motion,
    load_by_displacements,
    write_displacements,
    write_motion,
)
from .recursion_drivers import close_driven_gaps, driven, loads_of_drivers, prescribe_accelerations
from .recursion_gaps import gaps, slid_since, travels
from .recursion_inertias import articulate_all
from .recursion_loads import load_all
from .recursion_motions import follow_all, lock_all, set_ground
from .row_power import row_power
from .rows import along_of, of_velocities, residuals_of
from .workspace import FACTORED, PARTIAL, RECURSIVE

# Values of FACTORED after a factorization by recursion: HERE if it is at the state of `recursion.posture`, ELSEWHERE if
# it is at another state.
HERE, ELSEWHERE = 1.0, 2.0


@kernel
def recursive(mechanism: Mechanism) -> bool:
    """Return whether accelerations are computed by recursion over the joints, without multipliers."""
    return at(mechanism.work.summary, RECURSIVE) > 0.0


@kernel
def factored_recursively(mechanism: Mechanism) -> bool:
    """Return whether the last factorization was computed by recursion over the joints."""
    return at(mechanism.work.summary, FACTORED) > 0.0


@kernel
def accelerate(mechanism: Mechanism, t: float, y: np.ndarray, ydot: np.ndarray) -> None:
    """Compute y' of a system without loops at time t (s) and state y, by recursion over its joints.

    y' is written to `ydot`. Multipliers are not computed.
    """
    loaded = mechanism.forces.entries.shape[0] > 0
    if loaded:
        poses(mechanism.constants, y, mechanism.work.kin)
    accelerate_forest(mechanism, t, y, loaded)
    write_rates(mechanism, y, ydot)
    loads_of_drivers(mechanism, ydot)


@component(effort=2)
def accelerate_closed(mechanism: Mechanism, t: float, y: np.ndarray, ydot: np.ndarray) -> bool:
    """Compute y' of a system with loops at time t (s) and state y, by recursion over a spanning forest.

    y' is written to `ydot`. Returns False if the loop-closing rows are nearly dependent; `ydot` is then undefined.
    """
    recursion = mechanism.recursion
    poses(mechanism.constants, y, mechanism.work.kin)
    accelerate_forest(mechanism, t, y, mechanism.forces.entries.shape[0] > 0)
    accelerations_of_bodies(recursion, mechanism.work.kin)
    closing_rows(mechanism, t, y)
    if not factorise_closings(mechanism):
        return False
    works = mechanism.forces.working.shape[0] > 0
    impose_closings(mechanism, works)
    follow_all(recursion, True)
    write_rates(mechanism, y, ydot)
    if works:
        row_power(mechanism, mechanism.closings.working, y, ydot)
        loads_of_drivers(mechanism, ydot)
    return True


@kernel
def accelerate_forest(mechanism: Mechanism, t: float, y: np.ndarray, loaded: bool) -> None:
    """Compute the accelerations of the forest without loop-closing constraints, at time t (s) and state y.

    They include the effect of applied loads if `loaded`, and are written to mechanism.recursion.
    """
    if loaded:
        applied_loads(mechanism.forces, t, y, mechanism.work.kin)
    factorise_forest(mechanism, t, y, loaded)
    set_ground(mechanism.recursion, True)
    follow_all(mechanism.recursion, True)


@kernel
def write_rates(mechanism: Mechanism, y: np.ndarray, ydot: np.ndarray) -> None:
    """Compute y' at state y, in `ydot`, from the accelerations in mechanism.recursion.

    y' includes the rates of internal variables and of the work of force elements.
    """
    state_rates(mechanism.recursion, y, ydot)
    if ydot.shape[0] > mechanism.constants.shape[0] // CON * STATE:
        auxiliary_rates(mechanism.forces, y, mechanism.work.kin, ydot)
    put(mechanism.work.summary, PARTIAL, 1.0)


@component(effort=1)
def factorise_closed(mechanism: Mechanism, t: float, y: np.ndarray) -> bool:
    """Compute the articulated inertias of the forest and factorize the loop-closing rows, at time t (s) and state y.

    Returns False if these rows are nearly dependent.
    """
    factorise_forest(mechanism, t, y, False)
    poses(mechanism.constants, y, mechanism.work.kin)
    closing_rows(mechanism, t, y)
    return factorise_closings(mechanism)


@kernel
def factorise_forest(mechanism: Mechanism, t: float, y: np.ndarray, loaded: bool) -> None:
    """Compute the articulated inertias of the forest at time t (s) and state y.

    The applied loads in work.kin are included if `loaded`.
    """
    postures(mechanism.recursion, y)
    biases(mechanism.recursion, mechanism.work.kin, loaded)
    if mechanism.recursion.travels:
        travels(mechanism.recursion, y)
    prescribe_accelerations(mechanism, t)
    articulate_all(mechanism.recursion)
    put(mechanism.work.summary, FACTORED, HERE)


@kernel
def move_postures(mechanism: Mechanism, y: np.ndarray) -> None:
    """Compute the orientations and angular velocities of all joint frames at state y, in `recursion.posture`.

    The articulated inertias of the last factorization are kept; FACTORED is set to ELSEWHERE, because they belong to
    another state.
    """
    postures(mechanism.recursion, y)
    put(mechanism.work.summary, FACTORED, ELSEWHERE)


@kernel
def moved_since_factorization(mechanism: Mechanism, y: np.ndarray, length: float) -> float:
    """Return a measure of the motion of the system from the last factorization to the state y.

    The measure is a + d / `length`, with the largest rotation a of a body (rad) and the largest distance d by which a
    joint has slid (m); `length` is in m. It is infinite if the state of the last factorization is not known.
    """
    if at(mechanism.work.summary, FACTORED) != HERE:
        return np.inf
    moved = turned_since(mechanism.recursion, y)
    if mechanism.recursion.travels:
        moved += slid_since(mechanism.recursion, y) / length
    return moved


@kernel
def correct_recursively(mechanism: Mechanism, t: float, y: np.ndarray, level: int, length: float) -> float:
    """Perform one iteration of the projection of y onto the constraints at time t (s), in place.

    `level` selects poses or velocities. The last factorization of the recursion is used. Returns the largest change
    over all bodies. The change of a body is the root of the sum of squares of its rotation (rad or rad/s) and of its
    translation divided by `length` (m).
    """
    recursion, work = mechanism.recursion, mechanism.work
    move_postures(mechanism, y)
    gaps(recursion, y, level)
    if driven(mechanism):
        close_driven_gaps(mechanism, t, y, level)
    lock_all(recursion)
    load_by_displacements(recursion)
    load_all(recursion)
    follow_all(recursion, False)
    if closed(mechanism):
        rotations(y, work.kin)
        remaining_residuals(mechanism, t, y, level)
        impose_closings(mechanism, False)
        follow_all(recursion, False)
    return displace_all(recursion, y, level, length)


@kernel
def remaining_residuals(mechanism: Mechanism, t: float, y: np.ndarray, level: int) -> None:
    """Set work.rhs to minus the residuals of the loop-closing rows after the displacements of the forest.

    The displacements, in mechanism.recursion, do not take the loop-closing rows into account. `level` selects poses or
    velocities. t is the time (s), and y the state.
    """
    nodes, work, own = mechanism.nodes, mechanism.work, mechanism.closings.nodes
    write_displacements(mechanism.recursion, mechanism.constants, work.motion)
    for k in range(own.shape[0]):
        n = own[k]
        residuals_of(nodes, n, t, y, work.kin, level, work.residual)
        along_of(nodes, n, work.G, work.motion, work.rhs)
        store(work.rhs, 8 * n, -1.0 * (load(work.rhs, 8 * n) + load(work.residual, 8 * n)))


@kernel
def tangential_recursively(mechanism: Mechanism, y: np.ndarray, level: int) -> None:
    """Project the variation of the state y in work.motion onto the tangent space of the constraints.

    The last factorization of the recursion is used. `level` says whether poses or velocities vary; see `tangential`.
    """
    recursion, constants, motion = mechanism.recursion, mechanism.constants, mechanism.work.motion
    nodes, work, own = mechanism.nodes, mechanism.work, mechanism.closings.nodes
    if closed(mechanism):
        for k in range(own.shape[0]):
            along_of(nodes, own[k], work.G, motion, work.residual)
            if level == VELOCITIES or not of_velocities(nodes, own[k]):
                store(work.residual, 8 * own[k], splat(0.0))
    move_postures(mechanism, y)
    load_all_by_motion(recursion, constants, motion)
    load_all(recursion)
    set_ground(recursion, False)
    follow_all(recursion, False)
    write_motion(recursion, constants, motion)
    if closed(mechanism):
        for k in range(own.shape[0]):
            along_of(nodes, own[k], work.G, motion, work.rhs)
            store(work.rhs, 8 * own[k], load(work.residual, 8 * own[k]) - load(work.rhs, 8 * own[k]))
        impose_closings(mechanism, False)
        follow_all(recursion, False)
        write_motion(recursion, constants, motion)
