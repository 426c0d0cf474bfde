"""Propagation of gradients from the outputs of force laws and relations to their inputs, in compiled code.

An element is a force law or a relation (constraint given by a function). For each of its frames, which are its points
of action on bodies, its function of dual numbers is evaluated with six directions of the pose, and then with six of the
velocity. The resulting derivatives of outputs are multiplied by the gradients with respect to the outputs and summed,
so that no separate code for the transpose is needed. "The gradient with respect to x" consists of the derivatives of
the scalar function of the run with respect to x. A slot is the position of a body in the arrays; a node is a group of
up to six rows.

The entries of an element are integers: the indices of its data in other arrays. Phi denotes the residuals of the
constraint rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.constraints.relation import LANES
from quirk.functions.motion_kernels import MotionTable, motion_taylor
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import add, at, load, put, splat, store

from ..implicit.internal import seed_variables
from ..implicit.local import seed_law, seed_relation
from ..kernels.applied import Forces
from ..kernels.mechanism import Mechanism
from ..tangent.elements import (
    OF_LAWS,
    OF_RELATIONS,
    add_lanes,
    run_dual,
    write_frames,
    write_inputs,
    write_motions,
    write_multipliers,
)
from ..tangent.tables import (
    ELEMENT,
    INPUT,
    INPUTS,
    LEVELS,
    OUTPUT,
    OUTPUTS,
    RATES,
    ROW,
    ROWS,
    SIDE,
    SIDE_END,
    VARIABLE,
    VARIABLE_COUNT,
    TangentElements,
    Tangents,
)

# Numbers of array elements per slot: for the gradient with respect to the load on the body, inertial frame, of which
# six are used; and to its motion, of which six are used for the pose and six for the velocity.
ON_BODY, OF_BODY = 8, 16


@record
class RequiredInputs(NamedTuple):
    """Inputs of force laws, or of relations, with respect to which derivatives are required.

    Attributes
    ----------
    first : (elements + 1,) the inputs of element e have the indices first[e] to first[e + 1] - 1 in the arrays below
    places : index of each input among the inputs of its element
    motion : index of the varied motion whose value and time derivatives begin at this input, or -1 for other inputs
    derivatives : derivatives with respect to the inputs, summed over the run
    """

    first: np.ndarray
    places: np.ndarray
    motion: np.ndarray
    derivatives: np.ndarray


@record
class Sums(NamedTuple):
    """Gradients of the scalar function of a run at one state, for S slots (positions) of bodies and K nodes of rows.

    MOVING is the number of elements per slot, see `quirk.dynamics.sparse.tangent.tables`.

    Attributes
    ----------
    free : (S,) 1 for bodies, 0 for ground and padding
    moving : (2 MOVING S,) derivatives of the motion of bodies in six directions of the pose, and of the velocity
    loads : (8 S,) gradient with respect to the loads on bodies, inertial frame
    levels : (3 * 8 K,) gradients with respect to the residual of each row, its rate and its second derivative
    bodies : (16 S,) result: gradient with respect to the motion of bodies
    total : (8,) scratch array
    laws, relations : inputs with respect to which derivatives are required
    motions : variations of prescribed motions
    taylor : scratch array for one motion
    """

    free: np.ndarray
    moving: np.ndarray
    loads: np.ndarray
    levels: np.ndarray
    bodies: np.ndarray
    total: np.ndarray
    laws: RequiredInputs
    relations: RequiredInputs
    motions: MotionTable
    taylor: np.ndarray


@kernel
def laws_back(
    tangents: Tangents,
    sums: Sums,
    forces: Forces,
    t: float,
    slope_gradient: np.ndarray,
    into: np.ndarray,
    auxiliary: int,
) -> None:
    """Propagate the gradients from the outputs of all force laws at time t (s) to the state and to required inputs.

    The outputs are loads and the rates of internal variables. `slope_gradient` is the gradient with respect to y'. The
    contributions to the gradient with respect to the state are added to `sums.bodies` (motion of bodies) and to `into`
    (internal variables). `auxiliary` is the index of the first internal variable in `slope_gradient` and `into`.
    """
    laws, half = tangents.laws, sums.moving.shape[0] // 2
    for e in range(laws.entries.shape[0] // ELEMENT):
        o = ELEMENT * e
        write_inputs(laws, o, forces)
        write_motions(tangents.time, laws, o, t, OF_LAWS, False)
        begin, end = laws.entries[o + SIDE], laws.entries[o + SIDE_END]
        seed_variables(laws, o, False)
        for g in range(end - begin):
            slot = laws.sides[begin + g]
            if sums.free[slot] == 0:
                continue
            for level in range(2):
                seed_law(sums.moving, laws, o, g, level * half)
                run_dual(laws, o, t, LANES * (end - begin))
                weigh_law(sums, laws, o, slope_gradient, auxiliary)
                add_lanes(sums.bodies, OF_BODY * slot + 8 * level, load(sums.total, 0))
        seed_law(sums.moving, laws, o, -1, 0)
        if laws.entries[o + VARIABLE_COUNT] > 0:
            seed_variables(laws, o, True)
            run_dual(laws, o, t, LANES * (end - begin))
            weigh_law(sums, laws, o, slope_gradient, auxiliary)
            for n in range(laws.entries[o + VARIABLE_COUNT]):
                add(into, auxiliary + laws.entries[o + VARIABLE] + n, at(sums.total, n))
            seed_variables(laws, o, False)
        for p in range(sums.laws.first[e], sums.laws.first[e + 1], 8):
            count = min(8, sums.laws.first[e + 1] - p)
            seed_inputs(sums, sums.laws, laws, o, p, count, t, OF_LAWS, True)
            run_dual(laws, o, t, LANES * (end - begin))
            weigh_law(sums, laws, o, slope_gradient, auxiliary)
            seed_inputs(sums, sums.laws, laws, o, p, count, t, OF_LAWS, False)


@kernel
def relations_back(mechanism: Mechanism, tangents: Tangents, sums: Sums, t: float, y: np.ndarray, loaded: bool) -> None:
    """Propagate the gradients from the constraint rows of all relations to the state and to required inputs.

    A relation is a constraint given by a function. If `loaded`, the gradients with respect to the constraint loads at
    constant multipliers are also propagated. t is the time (s), and y the state.
    """
    relations, half = tangents.relations, sums.moving.shape[0] // 2
    for r in range(relations.entries.shape[0] // ELEMENT):
        o = ELEMENT * r
        write_frames(relations, o, y, mechanism.work.kin, tangents.accelerations)
        write_motions(tangents.time, relations, o, t, OF_RELATIONS, False)
        write_multipliers(tangents, o)
        begin, end, rows = relations.entries[o + SIDE], relations.entries[o + SIDE_END], relations.entries[o + ROWS]
        for g in range(end - begin):
            slot = relations.sides[begin + g]
            if sums.free[slot] == 0:
                continue
            for level in range(2):
                seed_relation(sums.moving, relations, o, g, level * half)
                run_dual(relations, o, t, LEVELS * rows)
                weigh_relation(tangents, sums, o, loaded)
                add_lanes(sums.bodies, OF_BODY * slot + 8 * level, load(sums.total, 0))
        if sums.relations.first[r + 1] > sums.relations.first[r]:
            seed_relation(sums.moving, relations, o, -1, 0)
        for p in range(sums.relations.first[r], sums.relations.first[r + 1], 8):
            count = min(8, sums.relations.first[r + 1] - p)
            seed_inputs(sums, sums.relations, relations, o, p, count, t, OF_RELATIONS, True)
            run_dual(relations, o, t, LEVELS * rows)
            weigh_relation(tangents, sums, o, loaded)
            seed_inputs(sums, sums.relations, relations, o, p, count, t, OF_RELATIONS, False)


@kernel
def weigh_law(sums: Sums, laws: TangentElements, o: int, slope_gradient: np.ndarray, auxiliary: int) -> None:
    """Compute the vector-Jacobian product of a force law: the sum of derivative times gradient over its outputs.

    The outputs are the loads and the rates of the internal variables. The derivatives in eight directions were computed
    by the last evaluation; the eight sums are written to `sums.total`. The entries of the law begin at element `o`.
    `slope_gradient` is the gradient with respect to y', in which the internal variables begin at index `auxiliary`.
    """
    deltas, found = laws.entries[o + OUTPUT] + laws.entries[o + OUTPUTS], splat(0.0)
    place = deltas
    for side in range(laws.entries[o + SIDE], laws.entries[o + SIDE_END]):
        body = ON_BODY * laws.sides[side]
        for c in range(6):
            found = found + at(sums.loads, body + c) * load(laws.outputs, place + 8 * c)
        place += 8 * LANES
    for n in range(laws.entries[o + VARIABLE_COUNT]):
        weight = at(slope_gradient, auxiliary + laws.entries[o + VARIABLE] + n)
        found = found + weight * load(laws.outputs, deltas + 8 * (laws.entries[o + RATES] + n))
    store(sums.total, 0, found)


@kernel
def weigh_relation(tangents: Tangents, sums: Sums, o: int, loaded: bool) -> None:
    """Compute the vector-Jacobian product of a relation: the sum of derivative times gradient over its outputs.

    The outputs are the residual with its first two time derivatives for each row and, if `loaded`, the constraint
    loads. The derivatives in eight directions were computed by the last evaluation; the eight sums are written to
    `sums.total`. The entries of the relation begin at element `o`.
    """
    relations, lanes, found = tangents.relations, tangents.lanes, splat(0.0)
    begin, end = relations.entries[o + SIDE], relations.entries[o + SIDE_END]
    deltas = relations.entries[o + OUTPUT] + relations.entries[o + OUTPUTS]
    for n in range(relations.entries[o + ROWS]):
        lane = lanes[relations.entries[o + ROW] + n]
        for level in range(LEVELS):
            change = load(relations.outputs, deltas + 8 * (LEVELS * n + level))
            found = found + at(sums.levels, LEVELS * lane + level) * change
    if loaded:
        loads = deltas + 8 * LEVELS * relations.entries[o + ROWS]
        for side in range(begin, end):
            body = ON_BODY * relations.sides[side]
            for c in range(6):
                found = found + at(sums.loads, body + c) * load(relations.outputs, loads + 8 * c)
            loads += 8 * LANES
    store(sums.total, 0, found)


@kernel
def seed_inputs(
    sums: Sums,
    required: RequiredInputs,
    elements: TangentElements,
    o: int,
    p: int,
    count: int,
    t: float,
    order: int,
    begins: bool,
) -> None:
    """Set unit directions for up to eight inputs of an element before an evaluation, or store the results after it.

    If `begins`, unit directions are set. Otherwise the derivatives computed by the evaluation, in sums.total, are added
    to required.derivatives, and the directions are set to zero.

    The entries of the element begin at index `o` in `elements`; the `count` inputs begin at index `p` in `required`.
    For varied motions the directions include the time derivatives up to `order`, at time t (s).
    """
    deltas = elements.entries[o + INPUT] + elements.entries[o + INPUTS]
    for k in range(count):
        place, motion = deltas + 8 * required.places[p + k] + k, required.motion[p + k]
        if not begins:
            add(required.derivatives, p + k, at(sums.total, k))
        if motion < 0:
            put(elements.inputs, place, 1.0 if begins else 0.0)
            continue
        motion_taylor(sums.motions, motion, t, order, sums.taylor, 0)
        for derivative in range(order + 1):
            put(elements.inputs, place + 8 * derivative, at(sums.taylor, derivative) if begins else 0.0)
