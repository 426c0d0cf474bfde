"""Elimination of the degrees of freedom of joints from articulated inertias, one after the other.

The arrays are described in the module `recursion`. An articulated inertia (`recursion_inertias`) is the tuple of the
rows of its blocks M, H^T and J, the force and the moment, all in the frame of the joint. A freedom with the unit
velocity n gives way until no load remains along it: with the momentum U of n and the load p,

    I - U U^T / (n . U),   p - U (n . p) / (n . U),

and its acceleration is -(n . p + U . a) / (n . U) for the acceleration a of the body without this freedom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from quirk.jit.simd import at, lane_of, load4, put, replaced, spread, store4

from .recursion import (
    ALONE,
    ALONE_TURN,
    COMPLIANCE,
    FREEDOM,
    GIVEN_BY_SHIFT,
    MOMENTUM_SHIFT,
    MOMENTUM_TURN,
    SECOND_AXIS,
)
from .recursion_vectors import (
    combined,
    cross4,
    lanes_of,
    store_vectors,
    sum_of_lanes,
    symmetric,
    transposed,
)


class Freedom(NamedTuple):
    """An eliminated freedom of a joint.

    Attributes
    ----------
    by_shift, by_turn : momentum of its unit velocity, linear and angular
    compliance : inverse of its inertia
    alone : its acceleration if the parent does not accelerate
    """

    by_shift: Any
    by_turn: Any
    compliance: Any
    alone: Any


def eliminate(array: Any, o: Any, by_shift: Any, by_turn: Any, inertia: Any, load: Any) -> Freedom:
    """Eliminate a freedom, and store its data beginning at element o of `array`.

    The momentum of its unit velocity is (by_shift, by_turn); `inertia` and `load` are the components along it of this
    momentum and of the load.
    """
    compliance = 1.0 / inertia
    alone = -load * compliance
    store4(array, o + MOMENTUM_SHIFT, by_shift)
    store4(array, o + MOMENTUM_TURN, by_turn)
    put(array, o + COMPLIANCE, compliance)
    put(array, o + ALONE, alone)
    return Freedom(by_shift, by_turn, compliance, alone)


def reduce_inertia(inertia: Any, freedom: Freedom) -> Any:
    """Return an articulated inertia after elimination of the degree of freedom `freedom` of its joint.

    The blocks M and the load are complete; rows and columns of H^T and J that vanish are not set to zero. `inertia` is
    the articulated inertia, the tuple of the rows of M, H^T and J, the force and the moment.
    """
    M, T, J, force, moment = inertia
    by_shift, by_turn, compliance, alone = freedom
    scaled_shift, scaled_turn = by_shift * compliance, by_turn * compliance
    M = symmetric([row - spread(scaled_shift, k) * by_shift for k, row in enumerate(M)])
    J = [row - spread(scaled_turn, k) * by_turn for k, row in enumerate(J)]
    T = [row - spread(scaled_turn, k) * by_shift for k, row in enumerate(T)]
    return M, T, J, force + alone * by_shift, moment + alone * by_turn


def eliminate_turn(joints: Any, j: Any, inertia: Any) -> Freedom:
    """Eliminate the rotation about z.

    `inertia` is the articulated inertia of the body; the data of the joint begin at element j of `joints`.
    """
    _, T, J, _, moment = inertia
    return eliminate(joints, j + FREEDOM, T[2], J[2], lane_of(J[2], 2), lane_of(moment, 2))


def eliminate_slide(array: Any, o: Any, inertia: Any, turns: bool) -> Freedom:
    """Eliminate the translation along z, and store its data beginning at element o of `array`.

    If `turns`, the rotation about z has been eliminated before. `inertia` is the articulated inertia of the body.
    """
    M, T, _, force, _ = inertia
    by_turn = transposed(T)[2]
    if turns:
        by_turn = replaced(by_turn, 2, 0.0)
    return eliminate(array, o, M[2], by_turn, lane_of(M[2], 2), lane_of(force, 2))


def eliminate_second_axis(joints: Any, blocks: Any, j: Any, k: Any, inertia: Any) -> Any:
    """Eliminate the rotation of a universal joint about the axis fixed in the parent, after that about z.

    Returns the articulated inertia that the joint transmits; the only moment transmitted is about the direction w
    normal to both axes. The inertia about w is the determinant of J before the elimination over the inertia about the
    second axis. `inertia` is the articulated inertia without the rotation about z; the data of the joint begin at
    element j of `joints` and at element k of `blocks`.
    """
    _, T, J, _, moment = inertia
    x, y = at(joints, j + SECOND_AXIS), at(joints, j + SECOND_AXIS + 1)
    by_turn = replaced(combined((x, y), J[:2]), 2, 0.0)
    along = x * lane_of(by_turn, 0) + y * lane_of(by_turn, 1)
    load = x * lane_of(moment, 0) + y * lane_of(moment, 1)
    freedom = eliminate(blocks, k, combined((x, y), T[:2]), by_turn, along, load)
    determinant = lane_of(J[0], 0) * lane_of(J[1], 1) - lane_of(J[0], 1) * lane_of(J[1], 0)
    M, T, _, force, moment = reduce_inertia(inertia, freedom)
    normal = replaced(replaced(load4(joints, j + SECOND_AXIS), 0, -y), 1, x)
    by_normal, scaled = combined((-y, x), T[:2]), normal * (determinant * freedom.compliance)
    T = [by_normal * -y, by_normal * x, None]
    return M, T, [scaled * -y, scaled * x, None], force, moment


def eliminate_ball(joints: Any, blocks: Any, j: Any, k: Any, T: Any, J: Any, moment: Any) -> Any:
    """Eliminate a ball joint: store and return the rows of H J^-1, and J^-1 times the moment.

    T and J are the rows of the blocks H^T and J of the articulated inertia of the body, and `moment` is the moment at
    zero acceleration; the data of the joint begin at element j of `joints` and at element k of `blocks`. The second
    result is minus the angular acceleration for a joint point without acceleration.
    """
    adjugate = cross4(J[1], J[2]), cross4(J[2], J[0]), cross4(J[0], J[1])
    determinant = lane_of(sum_of_lanes(J[0] * adjugate[0]), 0)
    inverse = [row * (1.0 / determinant) for row in adjugate]
    given = [combined(lanes_of(row), inverse) for row in transposed(T)]
    alone = combined(lanes_of(moment), inverse)
    store_vectors(blocks, k, inverse)
    store_vectors(joints, j + GIVEN_BY_SHIFT, given)
    store4(joints, j + ALONE_TURN, alone)
    return given, alone


def give_way(array: Any, o: Any, force: Any, moment: Any, load: Any) -> Any:
    """Return the force and moment that a joint still transmits when it is free to move along one degree of freedom.

    `force` and `moment` are the load without this freedom, and `load` is its component along the freedom. The
    acceleration along the freedom, for a parent at rest, is stored. The data of the freedom begin at element o of
    `array`.
    """
    alone = -load * at(array, o + COMPLIANCE)
    put(array, o + ALONE, alone)
    return force + alone * load4(array, o + MOMENTUM_SHIFT), moment + alone * load4(array, o + MOMENTUM_TURN)


def rate_of(array: Any, o: Any, shift: Any, turn: Any) -> Any:
    """Return the acceleration along a degree of freedom of a joint, in all elements of a vector.

    `shift` and `turn` are the accelerations, linear and angular, that the body would have without the freedom, whose
    data begin at element o of `array`.
    """
    taken = sum_of_lanes(load4(array, o + MOMENTUM_SHIFT) * shift + load4(array, o + MOMENTUM_TURN) * turn)
    return at(array, o + ALONE) - taken * at(array, o + COMPLIANCE)
