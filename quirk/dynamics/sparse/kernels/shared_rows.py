"""Distribution of loads over rows of contacts and friction that depend on each other, in compiled code.

A run keeps h independent rows and leaves out d others. A unit force along row k that is left out, balanced by the
multipliers N_k of the kept rows and by the joints, does not change the motion. So the multipliers x of the kept rows
and none of the others, and x + N z of the kept rows and z of the others, cause the same motion. The distribution with
the smallest sum of compliances c times squared multipliers follows from

    (N^T C_h N + C_d) z = -N^T C_h x

with the diagonal matrices C_h and C_d of the compliances of kept rows and of those left out. A closed contact without
load, balanced by the multipliers N_u of the kept rows, would be loaded if this reduced the sum, which is so if
-N_u^T C_h (x + N z) is positive.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.constraints.relation import LANES
from quirk.dynamics.model.layout import MOMENT
from quirk.dynamics.model.vectors import back, scaled
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, put

from .applied import ELEMENT_SIZE, KINEMATICS_AT, OUTPUT, SIDE, SIDE_ENTRIES, Forces, run_law
from .constraint_solve import add_constraint_loads, clear, copy
from .linear_equations import factorise_positive, solve_positive
from .load_tables import KIN_I, READING, SharedRowTables
from .loads import constraint_load
from .mechanism import Mechanism
from .workspace import Workspace

# Number of components of a joint load: force and torque.
LOAD = 6


@component(effort=2)
def share_loads(mechanism: Mechanism, shared: SharedRowTables, t: float, y: np.ndarray, passes: int) -> None:
    """Compute the distribution of shared loads at time t (s) and state y, in `shared.values`.

    The constraint rows must be factorized. `passes` is the minimum number of solves for each right-hand side. Arrays of
    `mechanism.work` with results of an evaluation are not changed.
    """
    work, h, d = mechanism.work, shared.kept.shape[0], shared.left_out
    u, j = shared.elements.shape[0] - d, shared.joints.kind.shape[0] // 2
    null = (h + d + u) * h
    of_joints = null + (h + d) * d
    unloaded = of_joints + LOAD * j * (h + d)
    copy(work.wrench, shared.wrench)
    copy(work.goal, shared.goal)
    copy(work.x, shared.x)
    for k in range(d + u):
        if shared.applied == 0:
            run_law(shared.laws, shared.elements[k], t, y, work.kin)
        clear(work.wrench)
        clear(work.goal)
        add_unit_load(work, shared.laws, shared.elements[k], shared.wrenches, shared.first[k], shared.first[k + 1])
        add_constraint_loads(mechanism, passes)
        for row in range(h):
            place = null + d * row + k if k < d else unloaded + u * row + k - d
            put(shared.values, place, at(work.x, shared.kept[row]))
        for row in range(d if k < d else 0):
            put(shared.values, null + d * (h + row) + k, 1.0 if row == k else 0.0)
        for joint in range(j if k < d else 0):
            change_of_joint(mechanism, shared, joint, y, of_joints + LOAD * j * h + k)
    copy(shared.wrench, work.wrench)
    copy(shared.goal, work.goal)
    copy(shared.x, work.x)
    distribute(shared)


@kernel
def add_unit_load(work: Workspace, laws: Forces, e: int, wrenches: np.ndarray, begin: int, end: int) -> None:
    """Add the loads of force law e, from its last evaluation, to work.wrench.

    The offsets of its bodies in arrays of wrenches are elements `begin` to `end` of `wrenches`.
    """
    first, o = laws.entries[ELEMENT_SIZE * e + SIDE], laws.entries[ELEMENT_SIZE * e + OUTPUT]
    for side in range(end - begin):
        kin = laws.sides[SIDE_ENTRIES * (first + side) + KINEMATICS_AT]
        wrench, out = wrenches[begin + side], o + LANES * side
        torque = at(laws.outputs, out + 3), at(laws.outputs, out + 4), at(laws.outputs, out + 5)
        moment = scaled(work.kin, kin, back(work.kin, kin, torque))
        for c in range(3):
            work.wrench[wrench + 8 * c] += at(laws.outputs, out + c)
            work.wrench[wrench + MOMENT + 8 * c] += moment[c]


@kernel
def change_of_joint(mechanism: Mechanism, shared: SharedRowTables, joint: int, y: np.ndarray, into: int) -> None:
    """Write force and torque of a joint with the multipliers in work.x, axes of body i, to column `into` of its values.

    The six components follow each other at the distance d, the number of rows left out. y is the state.
    """
    work, d = mechanism.work, shared.left_out
    for part in range(2):
        reading = 2 * joint + part
        load = constraint_load(mechanism, shared.joints, reading, y, work.x)
        load = back(work.kin, shared.joints.entries[READING * reading + KIN_I], load)
        for c in range(3):
            put(shared.values, into + d * (LOAD * joint + 3 * part + c), load[c])


@kernel
def distribute(shared: SharedRowTables) -> None:
    """Compute the weights of the multipliers of kept rows in all loads, from the redistributions in `shared.values`."""
    h, d, values = shared.kept.shape[0], shared.left_out, shared.values
    u, loads = shared.elements.shape[0] - d, LOAD * (shared.joints.kind.shape[0] // 2)
    null = (h + d + u) * h
    of_joints = null + (h + d) * d
    unloaded = of_joints + loads * (h + d)
    for k in range(d):
        for m in range(k + 1):
            total = at(shared.compliance, h + k) if k == m else 0.0
            for row in range(h):
                part = at(values, null + d * row + k) * at(values, null + d * row + m)
                total += at(shared.compliance, row) * part
            put(shared.matrix, d * k + m, total)
    factorise_positive(shared.matrix, d)
    for row in range(h):
        for k in range(d):
            put(shared.residual, k, -at(values, null + d * row + k) * at(shared.compliance, row))
        solve_positive(shared.matrix, shared.residual, d)
        for other in range(h + d):
            total = 1.0 if other == row else 0.0
            for k in range(d):
                total += at(values, null + d * other + k) * at(shared.residual, k)
            put(values, h * other + row, total)
        for c in range(loads):
            total = 0.0
            for k in range(d):
                total += at(values, of_joints + loads * h + d * c + k) * at(shared.residual, k)
            put(values, of_joints + h * c + row, total)
    for k in range(u):
        for row in range(h):
            total = 0.0
            for other in range(h):
                total -= (
                    at(shared.compliance, other) * at(values, unloaded + u * other + k) * at(values, h * other + row)
                )
            put(values, h * (h + d + k) + row, total / at(shared.compliance, h + d + k))
    largest = 0.0
    for row in range(h):
        for k in range(d):
            ratio = at(shared.compliance, row) / at(shared.compliance, h + k)
            largest = max(largest, math.sqrt(ratio) * abs(at(values, null + d * row + k)))
    put(shared.largest, 0, largest)


@kernel
def place_values(
    targets: np.ndarray, sources: np.ndarray, factors: np.ndarray, values: np.ndarray, into: np.ndarray
) -> None:
    """Set the elements `targets` of an array to the sums of the values `sources` times `factors`."""
    for n in range(targets.shape[0]):
        put(into, targets[n], 0.0)
    for n in range(targets.shape[0]):
        put(into, targets[n], at(into, targets[n]) + at(factors, n) * at(values, sources[n]))
