"""Accelerations and projections by recursion over the joints of a forest; see `recursion`.

Neither constraint rows nor multipliers are computed. At states that satisfy the constraints, the accelerations equal
those computed from constraint rows; at other states they differ in proportion to the violation.

Displacements that satisfy the linearized constraints are computed in two parts: those with locked joints, and those due
to the inertia loads of the first part. The factorization of a nearby state can then be used without the inertias that
the joints transmit.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

from .applied import applied_loads, carried_rates
from .bodies import CON, STATE, poses
from .mechanism import Mechanism
from .recursion_bodies import biases, postures, state_rates, turned_since
from .recursion_corrections import displace_all, load_all_by_motion, load_by_displacements, write_motion
from .recursion_gaps import gaps, slid_since, travels
from .recursion_inertias import articulate_all
from .recursion_loads import load_all
from .recursion_motions import follow_all, lock_all, set_ground
from .workspace import FACTORED, RECURSIVE

# Values of FACTORED if the last factorization is that of the recursion: at the state of the postures, or another one.
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
    """Compute y' at time t (s) and state y by recursion, in `ydot`; multipliers are not computed."""
    recursion, forces, kin = mechanism.recursion, mechanism.forces, mechanism.work.kin
    loaded = forces.entries.shape[0] > 0
    if loaded:
        poses(mechanism.constants, y, kin)
        applied_loads(forces, t, y, kin)
    factorise_recursively(mechanism, y, loaded)
    set_ground(recursion, True)
    follow_all(recursion, True)
    state_rates(recursion, y, ydot)
    if ydot.shape[0] > mechanism.constants.shape[0] // CON * STATE:
        carried_rates(forces, y, kin, ydot)


@kernel
def factorise_recursively(mechanism: Mechanism, y: np.ndarray, loaded: bool) -> None:
    """Compute the articulated inertias at state y, with the applied loads in work.kin if `loaded`."""
    postures(mechanism.recursion, y)
    biases(mechanism.recursion, mechanism.work.kin, loaded)
    if mechanism.recursion.travels:
        travels(mechanism.recursion, y)
    articulate_all(mechanism.recursion)
    put(mechanism.work.summary, FACTORED, HERE)


@kernel
def move_postures(mechanism: Mechanism, y: np.ndarray) -> None:
    """Compute the orientations and angular velocities of all joint frames at state y, in `recursion.posture`.

    The articulated inertias are not computed; they are marked as those of another state.
    """
    postures(mechanism.recursion, y)
    put(mechanism.work.summary, FACTORED, ELSEWHERE)


@kernel
def moved_since_factorization(mechanism: Mechanism, y: np.ndarray, length: float) -> float:
    """Return a measure of the motion of the system from the last factorization to the state y; infinity if unknown.

    It is the largest angle (rad) by which a body has rotated, plus the largest distance by which a joint has slid,
    divided by `length` (m).
    """
    if at(mechanism.work.summary, FACTORED) != HERE:
        return np.inf
    moved = turned_since(mechanism.recursion, y)
    if mechanism.recursion.travels:
        moved += slid_since(mechanism.recursion, y) / length
    return moved


@kernel
def correct_recursively(mechanism: Mechanism, y: np.ndarray, level: int, length: float) -> float:
    """Perform one iteration of the projection of y onto the constraints, in place; return the largest change.

    `level` selects poses or velocities. The last factorization of the recursion is used. Rotations are in rad or rad/s,
    translations are divided by `length` (m).
    """
    recursion = mechanism.recursion
    move_postures(mechanism, y)
    gaps(recursion, y, level)
    lock_all(recursion)
    load_by_displacements(recursion)
    load_all(recursion)
    follow_all(recursion, False)
    return displace_all(recursion, y, level, length)


@kernel
def tangential_recursively(mechanism: Mechanism, y: np.ndarray) -> None:
    """Project the variation of y in work.motion onto the tangent space of the constraints."""
    recursion, constants, motion = mechanism.recursion, mechanism.constants, mechanism.work.motion
    move_postures(mechanism, y)
    load_all_by_motion(recursion, constants, motion)
    load_all(recursion)
    set_ground(recursion, False)
    follow_all(recursion, False)
    write_motion(recursion, constants, motion)
