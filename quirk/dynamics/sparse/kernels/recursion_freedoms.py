"""Elimination of the degrees of freedom of joints from articulated inertias, one after the other.

The arrays are described in the module `recursion`. An articulated inertia (`recursion_inertias`) is a tuple: the rows
of its blocks M, H^T and J, the force and the moment at zero acceleration, all in the frame of the joint. Elimination of
a degree of freedom with the unit velocity n leaves no load along it: the inertia I and the load p become, with the
momentum U = I n,

    I - U U^T / (n . U),   p - U (n . p) / (n . U),

and its acceleration is -(n . p + U . a) / (n . U) for the acceleration a of the body without this degree of freedom.
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
    """An eliminated degree of freedom of a joint, with unit velocity n.

    Attributes
    ----------
    by_shift, by_turn : linear and angular momentum U of the articulated body for the velocity n
    compliance : inverse of the inertia n . U along the degree of freedom
    alone : acceleration along the degree of freedom if the parent does not accelerate
    """

    by_shift: Any
    by_turn: Any
    compliance: Any
    alone: Any


def eliminate(array: Any, o: Any, by_shift: Any, by_turn: Any, inertia: Any, load: Any) -> Freedom:
    """Eliminate a degree of freedom from an articulated body, and store its data from element o of `array` on.

    `by_shift` and `by_turn` are the linear and angular momentum of the body for unit velocity along the degree of
    freedom. `inertia` is the component of this momentum along it, and `load` that of the load on the body.
    """
    compliance = 1.0 / inertia
    alone = -load * compliance
    store4(array, o + MOMENTUM_SHIFT, by_shift)
    store4(array, o + MOMENTUM_TURN, by_turn)
    put(array, o + COMPLIANCE, compliance)
    put(array, o + ALONE, alone)
    return Freedom(by_shift, by_turn, compliance, alone)


def reduce_inertia(inertia: Any, freedom: Freedom) -> Any:
    """Return an articulated inertia after elimination of a degree of freedom of its joint.

    `inertia` and the result are tuples: the rows of the blocks M, H^T and J, the force and the moment. Rows and columns
    of H^T and J that are zero in exact arithmetic contain round-off.
    """
    M, T, J, force, moment = inertia
    by_shift, by_turn, compliance, alone = freedom
    scaled_shift, scaled_turn = by_shift * compliance, by_turn * compliance
    M = symmetric([row - spread(scaled_shift, k) * by_shift for k, row in enumerate(M)])
    J = [row - spread(scaled_turn, k) * by_turn for k, row in enumerate(J)]
    T = [row - spread(scaled_turn, k) * by_shift for k, row in enumerate(T)]
    return M, T, J, force + alone * by_shift, moment + alone * by_turn


def eliminate_turn(joints: Any, j: Any, inertia: Any) -> Freedom:
    """Eliminate the rotation of a joint about its z axis from the articulated inertia of its body.

    The data of this degree of freedom are stored in `joints`, as part of the data of the joint from element j on, and
    returned. `inertia` is the articulated inertia: the rows of the blocks M, H^T and J, the force and the moment.
    """
    _, T, J, _, moment = inertia
    return eliminate(joints, j + FREEDOM, T[2], J[2], lane_of(J[2], 2), lane_of(moment, 2))


def eliminate_slide(array: Any, o: Any, inertia: Any, turns: bool) -> Freedom:
    """Eliminate the translation of a joint along its z axis from the articulated inertia of its body.

    The data of this degree of freedom are stored from element o of `array` on, and returned. `inertia` is the
    articulated inertia: the rows of the blocks M, H^T and J, the force and the moment. If `turns`, the rotation about z
    has already been eliminated.
    """
    M, T, _, force, _ = inertia
    by_turn = transposed(T)[2]
    if turns:
        by_turn = replaced(by_turn, 2, 0.0)
    return eliminate(array, o, M[2], by_turn, lane_of(M[2], 2), lane_of(force, 2))


def store_hinge_driver_load(joints: Any, j: Any, inertia: Any) -> None:
    """Store the data from which `load_of` computes the moment of the driver of a hinge about z.

    The data of the hinge begin at element j of `joints`. `inertia` is the articulated inertia of its body: the rows of
    the blocks M, H^T and J, the force and the moment.
    """
    _, T, J, _, moment = inertia
    store_driver_load(joints, j + FREEDOM, T[2], J[2], lane_of(moment, 2))


def store_slider_driver_load(joints: Any, j: Any, inertia: Any) -> None:
    """Store the data from which `load_of` computes the force of the driver of a slider along z.

    The data of the slider begin at element j of `joints`. `inertia` is the articulated inertia of its body: the rows of
    the blocks M, H^T and J, the force and the moment.
    """
    M, T, _, force, _ = inertia
    store_driver_load(joints, j + FREEDOM, M[2], transposed(T)[2], lane_of(force, 2))


def store_driver_load(joints: Any, o: Any, by_shift: Any, by_turn: Any, load: Any) -> None:
    """Store the momentum of unit velocity along a prescribed coordinate, and the load along it at zero acceleration.

    The data begin at element o of `joints`.
    """
    store4(joints, o + MOMENTUM_SHIFT, by_shift)
    store4(joints, o + MOMENTUM_TURN, by_turn)
    put(joints, o + ALONE, load)


def load_of(joints: Any, o: Any, shift: Any, turn: Any) -> Any:
    """Return the load of a driver, a force or moment, from the accelerations of its body.

    `shift` is the linear and `turn` the angular acceleration. The data stored by `store_driver_load` begin at element o
    of `joints`.
    """
    taken = sum_of_lanes(load4(joints, o + MOMENTUM_SHIFT) * shift + load4(joints, o + MOMENTUM_TURN) * turn)
    return at(joints, o + ALONE) + lane_of(taken, 0)


def eliminate_second_axis(joints: Any, blocks: Any, j: Any, k: Any, inertia: Any) -> Any:
    """Eliminate the rotation of a universal joint about its second axis, after the rotation about z.

    The second axis is fixed in the parent. `inertia` is the articulated inertia after elimination of the rotation about
    z. Returns the articulated inertia that the joint transmits, with a moment only about the common normal w of both
    axes. The inertia about w is computed as a determinant of J, divided by the inertia about the second axis. The data
    of the joint begin at element j of `joints` and k of `blocks`.
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
    """Eliminate the rotations of a ball joint from the articulated inertia of its body.

    Returns, and stores, the rows of H J^-1, and J^-1 times the moment. The latter is minus the angular acceleration for
    zero acceleration of the joint point. `T` and `J` are the rows of the blocks H^T and J of the articulated inertia,
    and `moment` is the moment at zero acceleration. The data of the joint begin at element j of `joints` and k of
    `blocks`.
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


def eliminate_load(array: Any, o: Any, force: Any, moment: Any, load: Any) -> Any:
    """Eliminate a degree of freedom of a joint from the load on its body; return the transmitted force and moment.

    `force` and `moment` are the load on the body, and `load` is their component along the degree of freedom, whose data
    begin at element o of `array`. The acceleration along it for a parent at rest is stored among these data.
    """
    alone = -load * at(array, o + COMPLIANCE)
    put(array, o + ALONE, alone)
    return force + alone * load4(array, o + MOMENTUM_SHIFT), moment + alone * load4(array, o + MOMENTUM_TURN)


def rate_of(array: Any, o: Any, shift: Any, turn: Any) -> Any:
    """Return the acceleration along a degree of freedom of a joint.

    `shift` and `turn` are the linear and angular acceleration of the body without motion along this degree of freedom.
    The data of the degree of freedom begin at element o of `array`.
    """
    taken = sum_of_lanes(load4(array, o + MOMENTUM_SHIFT) * shift + load4(array, o + MOMENTUM_TURN) * turn)
    return at(array, o + ALONE) - taken * at(array, o + COMPLIANCE)
