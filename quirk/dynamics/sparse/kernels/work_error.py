"""Error and tolerance of the integrated work of force elements and constraints, per step.

The motion does not depend on the integrated work. The error of the work therefore has a separate tolerance, which is an
energy; see `quirk.dynamics.model.work_tolerance`.
"""

from __future__ import annotations

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import FACTOR, INVERSE_FACTOR, INVERSE_MASS, MASS, OMEGA, VELOCITY
from quirk.dynamics.model.vectors import dot, load3, rows_times
from quirk.dynamics.model.work_tolerance import of_energies, per_time
from quirk.jit.compilation import kernel
from quirk.jit.simd import at, greater, highest, load, splat, total

from .applied import (
    ELEMENT_SIZE,
    MULTIPLIER,
    OUTPUT,
    ROW_WORK_IN_Y,
    SIDE,
    SIDE_END,
    SIDE_ENTRIES,
    STATE_AT,
    WORK_IN_Y,
    WORKING_ENTRIES,
    Forces,
)
from .bodies import CON, STATE
from .joint_load_size import largest_joint_load
from .mechanism import Mechanism
from .workspace import LEAST, PARTIAL


@kernel
def work_magnitude(forces: Forces, y: np.ndarray, y_new: np.ndarray) -> float:
    """Return the sum of the magnitudes of the work of force elements and constraints between two states, J.

    The states y and y_new contain the work done since the start of the run.
    """
    work = 0.0
    for o in range(forces.work, forces.work_end):
        work += abs(at(y_new, o) - at(y, o))
    return work


@kernel
def work_error(forces: Forces, change: np.ndarray, tolerance: float) -> float:
    """Return the ratio of the error of the work of force elements and constraints to `tolerance` (J).

    The error is the sum of the magnitudes of the errors of all work in `change`, which has the layout of a state.
    """
    error = 0.0
    for o in range(forces.work, forces.work_end):
        error += abs(at(change, o))
    if error == 0.0:
        return 0.0
    return error / tolerance if error < np.inf and tolerance > 0.0 else np.inf


@kernel
def work_tolerance(
    mechanism: Mechanism, y: np.ndarray, slope: np.ndarray, past_work: float, h: float, rtol: float, atol: float
) -> tuple[float, float]:
    """Return the tolerance of the work in a step, as a constant part (J) and a factor of the step size h (W).

    h is the size of the step (s). `y` is the state of the last evaluation, whose loads and multipliers are still
    stored, and `slope` the derivative y' in this evaluation. `past_work` is the sum of the magnitudes of all work up to
    this state, J. `rtol` and `atol` are the relative and absolute tolerances.
    """
    forces, constants = mechanism.forces, mechanism.constants
    if forces.work == forces.work_end:
        return 0.0, 0.0
    doubled = fastest = turning = splat(0.0)
    for block in range(constants.shape[0] // CON):
        s, c = block * STATE, block * CON
        v, omega = load3(y, s + 8 * VELOCITY), load3(y, s + 8 * OMEGA)
        spin = rows_times(constants, c + 8 * INVERSE_FACTOR, omega)
        doubled = doubled + (load(constants, c + 8 * MASS) * dot(v, v) + dot(spin, spin))
        fastest, turning = greater(fastest, dot(v, v)), greater(turning, dot(omega, omega))
    loads, power = working_loads(mechanism, slope, highest(fastest) ** 0.5, highest(turning) ** 0.5)
    least, noise_power = at(mechanism.work.summary, LEAST), h * scaled_loads(mechanism)
    return of_energies(total(doubled) + past_work, rtol), per_time(loads, power, noise_power, least, rtol, atol)


@kernel
def working_loads(mechanism: Mechanism, slope: np.ndarray, fastest: float, turning: float) -> tuple[float, float]:
    """Return the sum of the magnitudes of loads that do work, and an upper bound of the sum of their powers (W).

    The loads are forces (N), moments (N m) and multipliers of the force elements and constraint rows whose work is
    integrated.

    Parameters
    ----------
    slope : rates of the state, which contain the power of each constraint row
    fastest : largest speed of a body, m/s, by which forces are multiplied
    turning : largest angular velocity of a body, rad/s, by which moments are multiplied
    """
    forces, loads, power = mechanism.forces, 0.0, 0.0
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        o = ELEMENT_SIZE * e
        if forces.entries[o + WORK_IN_Y] < 0:
            continue
        out = forces.entries[o + OUTPUT]
        for _ in range(forces.entries[o + SIDE], forces.entries[o + SIDE_END]):
            force, moment = length(forces.outputs, out), length(forces.outputs, out + 3)
            loads, power = loads + (force + moment), power + (force * fastest + moment * turning)
            out += LANES
    for n in range(forces.working.shape[0] // WORKING_ENTRIES):
        o = WORKING_ENTRIES * n
        loads += abs(at(mechanism.work.x, forces.working[o + MULTIPLIER]))
        power += abs(at(slope, forces.working[o + ROW_WORK_IN_Y]))
    return loads, power


@kernel
def scaled_loads(mechanism: Mechanism) -> float:
    """Return the sum of the loads of force elements that do work, times the largest of all loads, W/s.

    Both are in the mass metric, in which a force is divided by the square root of the mass, and a moment by the square
    root of the moment of inertia.
    """
    constants, forces, work, found, largest = mechanism.constants, mechanism.forces, mechanism.work, 0.0, 0.0
    for e in range(forces.entries.shape[0] // ELEMENT_SIZE):
        o = ELEMENT_SIZE * e
        out = forces.entries[o + OUTPUT]
        for s in range(forces.entries[o + SIDE], forces.entries[o + SIDE_END]):
            state = forces.sides[SIDE_ENTRIES * s + STATE_AT]
            c, turns = state // STATE * CON + state % STATE, 0.0
            for k in range(9):
                turns += at(constants, c + 8 * (FACTOR + k)) ** 2
            force, moment = length(forces.outputs, out), length(forces.outputs, out + 3)
            scaled = force * at(constants, c + 8 * INVERSE_MASS) ** 0.5 + moment * turns**0.5
            largest = max(largest, scaled)
            if forces.entries[o + WORK_IN_Y] >= 0:
                found += scaled
            out += LANES
    if at(work.summary, PARTIAL) > 0.0:
        largest = max(largest, largest_joint_load(mechanism))
    else:
        for lane in range(work.x.shape[0]):
            largest = max(largest, abs(at(work.x, lane)) * at(work.lengths, lane) ** 0.5)
    for n in range(forces.working.shape[0] // WORKING_ENTRIES):
        lane = forces.working[WORKING_ENTRIES * n + MULTIPLIER]
        largest = max(largest, abs(at(work.x, lane)) * at(work.lengths, lane) ** 0.5)
    return found * largest


@kernel
def length(array: np.ndarray, o: int) -> float:
    """Return the norm of the vector (3,) whose components begin at index o of an array, without underflow."""
    x, y, z = at(array, o), at(array, o + 1), at(array, o + 2)
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        return 0.0
    x, y, z = x / largest, y / largest, z / largest
    return largest * (x * x + y * y + z * z) ** 0.5
