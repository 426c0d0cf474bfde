"""Constraint rows of all joints at one state, up to eight rows of a joint at a time in vector registers.

A node is the group of rows of one joint, or a hub, a body with many joints. The residuals of the rows are Phi; the
accelerations a satisfy A a = b. The mass matrix is (W W^T)^-1, and scaled moments are multiplied by W^T. Row r of a
joint is element r (lane) of a vector of eight elements.

Every row has the form Phi = x . y - c, where x is a direction fixed in body i, an inertial axis or d = p_j - p_i, and y
is a direction fixed in body j or d; p_i and p_j are the joint points. See `quirk.constraints.primitives`.

A relation is a constraint defined by a function; a wrench is a force and a moment on a body.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from quirk.dynamics.model.layout import ALPHA, G_FORCE, G_I, G_J, G_SIZE, LINEAR, MOMENT, POSITION, SPIN, VELOCITY
from quirk.dynamics.model.vectors import (
    back,
    body_vector,
    cross,
    dot,
    load3,
    magnitudes,
    minus,
    plus,
    scaled,
    store3,
    times,
    turned,
)
from quirk.jit.compilation import kernel
from quirk.jit.record import record
from quirk.jit.simd import at, halved, load, put, splat, store, widened
from quirk.jit.tracing import traced

from .relations import (
    OF_VELOCITIES,
    RELATION_SIZE,
    Relations,
    relation_along,
    relation_along_with_terms,
    relation_residuals,
    relation_rows,
)


@record
class Nodes(NamedTuple):
    """Tables of K nodes in the order of elimination.

    A node is the group of rows of one joint, or a hub, a body with many joints; most entries of hubs are unused. The
    rows have the form x . y - c, see the module docstring. Names in capitals are constants of this module.

    Attributes
    ----------
    rows : (K,) number of rows
    kind : (K,) POINT, HINGE, BILINEAR, RELATION or HUB
    lanes : (K,) index of the first element in `patterns` for this kind of joint, or the index of a relation
    state, kinematics, wrench : (2 K,) offsets of bodies i and j in arrays of states, kinematics and wrenches
    arm : (6 K,) joint points i and j in body axes, m
    direction : (48 K,) for each row, the directions fixed in body i and in body j, or zero
    offset : (8 K,) constants c of the rows
    inverse_mass : (K,) 1/m_i + 1/m_j, 1/kg
    patterns : for each kind of joint five vectors with an element for each row; they are 1 where x is the inertial x
        axis, y axis or z axis, where x is d = p_j - p_i, and where y is d, otherwise 0
    relations : tables of the relations, constraints defined by functions
    """

    rows: np.ndarray
    kind: np.ndarray
    lanes: np.ndarray
    state: np.ndarray
    kinematics: np.ndarray
    wrench: np.ndarray
    arm: np.ndarray
    direction: np.ndarray
    offset: np.ndarray
    inverse_mass: np.ndarray
    patterns: np.ndarray
    relations: Relations


# Kinds of nodes:
#   POINT: coincidence of two points
#   HINGE: coincidence of two points, and directions kept perpendicular
#   BILINEAR: other primitives. POINT and HINGE are special cases that are computed faster, because their forces are
#     constant.
#   RELATION: relation, a constraint defined by a function
#   HUB: hub, a body with many joints; it has no rows
POINT, HINGE, BILINEAR, RELATION, HUB = range(5)

# Offsets in `patterns` of the vectors that are 1 for rows with x = d, and for rows with y = d; offset in `direction` of
# the directions fixed in body j.
IN_X, IN_Y, DIRECTION_J = 24, 32, 24

# Constant elements of a coincidence: four vectors of eight rows. The first three are the inertial axes x, y, z of rows
# 0 to 2, by components; the fourth is 1 for these rows and 0 for others.
UNITS = np.append(np.eye(3, 8).ravel(), np.eye(3, 8).sum(axis=0))


class JointMotion(NamedTuple):
    """Motion of the joint points and of the bodies i and j of a joint, in the inertial frame unless stated otherwise.

    Attributes
    ----------
    arm_i, arm_j : joint points in body axes, m
    s_i, s_j, s1_i, s1_j : vectors from the centers of mass to the joint points, m, and their rates, m/s
    w_i, w_j, a_i, a_j : angular velocities, rad/s, and angular accelerations of the unconstrained motion, rad/s^2
    d2 : acceleration of joint point j minus that of joint point i, in the unconstrained motion, m/s^2
    """

    arm_i: Any
    arm_j: Any
    s_i: Any
    s_j: Any
    s1_i: Any
    s1_j: Any
    w_i: Any
    w_j: Any
    a_i: Any
    a_j: Any
    d2: Any


@traced
def joint_motion(arm: np.ndarray, o: int, kin: np.ndarray, ki: int, kj: int) -> JointMotion:
    """Return the motion of the joint points and of the bodies of a joint.

    The joint points begin at index o of `arm`, and the kinematics of bodies i and j at indices ki and kj of `kin`.
    """
    arm_i = at(arm, o), at(arm, o + 1), at(arm, o + 2)
    arm_j = at(arm, o + 3), at(arm, o + 4), at(arm, o + 5)
    s_i, s_j = turned(kin, ki, arm_i), turned(kin, kj, arm_j)
    w_i, w_j = body_vector(kin, ki + 8 * SPIN), body_vector(kin, kj + 8 * SPIN)
    a_i, a_j = body_vector(kin, ki + 8 * ALPHA), body_vector(kin, kj + 8 * ALPHA)
    s1_i, s1_j = cross(w_i, s_i), cross(w_j, s_j)
    p2_i = plus(body_vector(kin, ki + 8 * LINEAR), plus(cross(a_i, s_i), cross(w_i, s1_i)))
    p2_j = plus(body_vector(kin, kj + 8 * LINEAR), plus(cross(a_j, s_j), cross(w_j, s1_j)))
    return JointMotion(arm_i, arm_j, s_i, s_j, s1_i, s1_j, w_i, w_j, a_i, a_j, minus(p2_j, p2_i))


@traced
def point_rows(
    units: np.ndarray, kin: np.ndarray, ki: int, kj: int, joint: JointMotion, n: int, G: np.ndarray, rhs: np.ndarray
) -> None:
    """Write the rows of node n, a coincidence of two points, to G and their right-hand sides to `rhs`.

    The forces act along the inertial axes, given by `units`. `joint` is the motion of the joint. The kinematics of
    bodies i and j begin at indices ki and kj of `kin`.
    """
    g, e, d2 = G_SIZE * n, load3(halved(units), 0), joint.d2
    on_i = scaled(kin, ki, cross(back(kin, ki, e), joint.arm_i))
    on_j = scaled(kin, kj, cross(joint.arm_j, back(kin, kj, e)))
    # All lanes are written, as nan might remain in unused lanes.
    store3(G, g + G_I, (widened(on_i[0]), widened(on_i[1]), widened(on_i[2])))
    store3(G, g + G_J, (widened(on_j[0]), widened(on_j[1]), widened(on_j[2])))
    put(rhs, 8 * n, -d2[0])
    put(rhs, 8 * n + 1, -d2[1])
    put(rhs, 8 * n + 2, -d2[2])


@traced
def hinge_rows(
    units: np.ndarray,
    direction: np.ndarray,
    kin: np.ndarray,
    ki: int,
    kj: int,
    joint: JointMotion,
    n: int,
    G: np.ndarray,
    rhs: np.ndarray,
) -> None:
    """Write the rows of node n, a coincidence with perpendicular directions, to G and their right-hand sides to `rhs`.

    The first three rows keep two points coincident. Each further row keeps a direction u of body i perpendicular to a
    direction v of body j. With the angular velocity w and angular acceleration a of j relative to i, the angular
    velocity w_i of body i, and n = u x v: (u . v)'' = -(a + w x w_i) . n - (w x u) . (w x v). The kinematics of bodies
    i and j begin at indices ki and kj of `kin`; `direction` is described in `Nodes`, `units` contains the inertial
    axes, and `joint` is the motion of the joint.
    """
    g, e, w = G_SIZE * n, load3(units, 0), minus(joint.w_j, joint.w_i)
    u = turned(kin, ki, load3(direction, 48 * n))
    v = turned(kin, kj, load3(direction, 48 * n + DIRECTION_J))
    normal = cross(u, v)
    turning = dot(plus(minus(joint.a_j, joint.a_i), cross(w, joint.w_i)), normal) + dot(cross(w, u), cross(w, v))
    store(rhs, 8 * n, turning - dot(joint.d2, e))
    # Rows of the coincidence have no normal, and all other rows no inertial axis. Axes, of size 1, are not added to
    # arms, because the round-off of a short arm would then be that of an arm of 1 m.
    at_point = load(units, 24)
    elsewhere = 1.0 - at_point
    b_i, b_j = back(kin, ki, plus(normal, e)), back(kin, kj, minus(e, normal))
    on_i = plus(times(b_i, elsewhere), times(cross(b_i, joint.arm_i), at_point))
    on_j = plus(times(b_j, elsewhere), times(cross(joint.arm_j, b_j), at_point))
    store3(G, g + G_I, scaled(kin, ki, on_i))
    store3(G, g + G_J, scaled(kin, kj, on_j))


@kernel
def bilinear_rows(
    nodes: Nodes,
    n: int,
    y: np.ndarray,
    kin: np.ndarray,
    joint: JointMotion,
    alpha: float,
    beta: float,
    G: np.ndarray,
    rhs: np.ndarray,
) -> None:
    """Write the rows of node n, made of primitives of any kind, to G and their right-hand sides to `rhs`.

    Primitives are the four elementary constraints. `alpha` and `beta` are Baumgarte's rates, 1/s; `joint` is the motion
    of the joint. y is the state, and `kin` contains the kinematics of all bodies.
    """
    ki, kj, si, sj = nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1], nodes.state[2 * n], nodes.state[2 * n + 1]
    # The positions are subtracted first: far from the origin their difference is exact, but a sum with an arm is not.
    d = plus(minus(body_vector(y, sj + 8 * POSITION), body_vector(y, si + 8 * POSITION)), minus(joint.s_j, joint.s_i))
    d1 = plus(
        minus(body_vector(y, sj + 8 * VELOCITY), body_vector(y, si + 8 * VELOCITY)), minus(joint.s1_j, joint.s1_i)
    )
    lanes, direction, g = nodes.lanes[n], 48 * n, G_SIZE * n
    in_x, in_y = load(nodes.patterns, lanes + IN_X), load(nodes.patterns, lanes + IN_Y)
    u = turned(kin, ki, load3(nodes.direction, direction))
    v = turned(kin, kj, load3(nodes.direction, direction + DIRECTION_J))
    u1, v1 = cross(joint.w_i, u), cross(joint.w_j, v)
    x = plus(plus(u, load3(nodes.patterns, lanes)), times(d, in_x))
    y_ = plus(v, times(d, in_y))
    x1, y1 = plus(u1, times(d1, in_x)), plus(v1, times(d1, in_y))
    x2 = plus(plus(cross(joint.a_i, u), cross(joint.w_i, u1)), times(joint.d2, in_x))
    y2 = plus(plus(cross(joint.a_j, v), cross(joint.w_j, v1)), times(joint.d2, in_y))
    bend = dot(x2, y_) + 2.0 * dot(x1, y1) + dot(x, y2)
    if alpha > 0.0 or beta > 0.0:
        bend = bend + (2.0 * alpha) * (dot(x1, y_) + dot(x, y1))
        bend = bend + (beta * beta) * (dot(x, y_) - load(nodes.offset, 8 * n))
    store(rhs, 8 * n, -bend)
    # Coefficients of variations of d and of the rotations of both bodies.
    force = plus(times(y_, in_x), times(x, in_y))
    on_i = plus(back(kin, ki, cross(u, y_)), cross(back(kin, ki, force), joint.arm_i))
    on_j = plus(back(kin, kj, cross(v, x)), cross(joint.arm_j, back(kin, kj, force)))
    store3(G, g + G_FORCE, force)
    store3(G, g + G_I, scaled(kin, ki, on_i))
    store3(G, g + G_J, scaled(kin, kj, on_j))


@kernel
def constraint_rows(
    nodes: Nodes,
    visits: np.ndarray,
    begin: int,
    end: int,
    t: float,
    y: np.ndarray,
    kin: np.ndarray,
    alpha: float,
    beta: float,
    G: np.ndarray,
    rhs: np.ndarray,
) -> None:
    """Compute the constraint rows A, in G, and b - A a, in `rhs`, for the nodes visits[begin:end].

    The rows prescribe A times the accelerations to be b, and a are the unconstrained accelerations. A row consists of
    the force on body j and the scaled moments on bodies i and j. Moments are computed in body axes, so that a force
    through the axis of a slender body has exactly zero moment about it. Baumgarte's terms 2 alpha Phi_dot + beta^2 Phi,
    with the residuals Phi, are subtracted from b; `alpha` and `beta` are in 1/s. `visits` lists the nodes in the order
    in which they are required; t is the time (s), y the state, and `kin` contains the kinematics of all bodies.
    """
    stabilised = alpha > 0.0 or beta > 0.0
    for visit in range(begin, end):
        n = visits[visit]
        if nodes.kind[n] == HUB:
            store(rhs, 8 * n, splat(0.0))
            continue
        if nodes.kind[n] == RELATION:
            relation_rows(nodes.relations, nodes.lanes[n], t, y, kin, alpha, beta, G, rhs, 8 * n)
            continue
        ki, kj = nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1]
        joint = joint_motion(nodes.arm, 6 * n, kin, ki, kj)
        if nodes.kind[n] == POINT and not stabilised:
            point_rows(UNITS, kin, ki, kj, joint, n, G, rhs)
        elif nodes.kind[n] == HINGE and not stabilised:
            hinge_rows(UNITS, nodes.direction, kin, ki, kj, joint, n, G, rhs)
        else:
            bilinear_rows(nodes, n, y, kin, joint, alpha, beta, G, rhs)


@kernel
def residuals(nodes: Nodes, t: float, y: np.ndarray, kin: np.ndarray, order: int, out: np.ndarray) -> None:
    """Write the residuals Phi of all rows, or their rates if `order` is 1, to `out`, eight elements for each node.

    t is the time (s), y the state, and `kin` contains the kinematics of all bodies.
    """
    for n in range(nodes.rows.shape[0]):
        residuals_of(nodes, n, t, y, kin, order, out)


@kernel
def residuals_of(nodes: Nodes, n: int, t: float, y: np.ndarray, kin: np.ndarray, order: int, out: np.ndarray) -> None:
    """Write the residuals Phi of node n, or their rates if `order` is 1, to its elements of `out`.

    t is the time (s), y the state, and `kin` contains the kinematics of all bodies.
    """
    if nodes.kind[n] == HUB:
        store(out, 8 * n, splat(0.0))
        return
    if nodes.kind[n] == RELATION:
        relation_residuals(nodes.relations, nodes.lanes[n], t, y, kin, order, out, 8 * n)
        return
    ki, kj = nodes.kinematics[2 * n], nodes.kinematics[2 * n + 1]
    si, sj = nodes.state[2 * n], nodes.state[2 * n + 1]
    arm, lanes, direction = 6 * n, nodes.lanes[n], 48 * n
    s_i = turned(kin, ki, (at(nodes.arm, arm), at(nodes.arm, arm + 1), at(nodes.arm, arm + 2)))
    s_j = turned(kin, kj, (at(nodes.arm, arm + 3), at(nodes.arm, arm + 4), at(nodes.arm, arm + 5)))
    w_i, w_j = body_vector(kin, ki + 8 * SPIN), body_vector(kin, kj + 8 * SPIN)
    d = d1 = minus(minus(body_vector(y, sj + 8 * POSITION), body_vector(y, si + 8 * POSITION)), minus(s_i, s_j))
    if order == 1:
        v_i, v_j = body_vector(y, si + 8 * VELOCITY), body_vector(y, sj + 8 * VELOCITY)
        d1 = plus(minus(v_j, v_i), minus(cross(w_j, s_j), cross(w_i, s_i)))
    if nodes.kind[n] == POINT:
        put(out, 8 * n, d1[0])
        put(out, 8 * n + 1, d1[1])
        put(out, 8 * n + 2, d1[2])
        return
    in_x, in_y = load(nodes.patterns, lanes + IN_X), load(nodes.patterns, lanes + IN_Y)
    u = turned(kin, ki, load3(nodes.direction, direction))
    v = turned(kin, kj, load3(nodes.direction, direction + DIRECTION_J))
    x = plus(plus(u, load3(nodes.patterns, lanes)), times(d, in_x))
    y_ = plus(v, times(d, in_y))
    if order == 0:
        store(out, 8 * n, dot(x, y_) - load(nodes.offset, 8 * n))
    else:
        x1, y1 = plus(cross(w_i, u), times(d1, in_x)), plus(cross(w_j, v), times(d1, in_y))
        store(out, 8 * n, dot(x1, y_) + dot(x, y1))


@kernel
def along(nodes: Nodes, G: np.ndarray, motion: np.ndarray, out: np.ndarray) -> None:
    """Write the product of each row, in G, and a motion of the bodies to `out`, eight elements for each node (joint).

    The motion consists of a translation of each body in the inertial frame, and W^-1 times a rotation in body axes,
    with the metric W of the body: W W^T = J^-1.
    """
    for n in range(nodes.rows.shape[0]):
        along_of(nodes, n, G, motion, out)


@kernel
def along_of(nodes: Nodes, n: int, G: np.ndarray, motion: np.ndarray, out: np.ndarray) -> None:
    """Write the products of the rows of node n, in G, and a motion of the bodies to its elements of `out`.

    The motion consists of a translation of each body in the inertial frame, and W^-1 times a rotation in body axes,
    with the metric W of the body: W W^T = J^-1.
    """
    if nodes.kind[n] == HUB:
        store(out, 8 * n, splat(0.0))
        return
    if nodes.kind[n] == RELATION:
        relation_along(nodes.relations, nodes.lanes[n], G, motion, out, 8 * n)
        return
    i, j, g = nodes.wrench[2 * n], nodes.wrench[2 * n + 1], G_SIZE * n
    row = dot(minus(body_vector(motion, j), body_vector(motion, i)), load3(G, g + G_FORCE))
    row = row + dot(body_vector(motion, i + MOMENT), load3(G, g + G_I))
    row = row + dot(body_vector(motion, j + MOMENT), load3(G, g + G_J))
    store(out, 8 * n, row)


@kernel
def of_velocities(nodes: Nodes, n: int) -> bool:
    """Whether the rows of node n constrain velocities only, such as rolling, and therefore do not restrict poses."""
    is_relation = nodes.kind[n] == RELATION
    return is_relation and nodes.relations.entries[RELATION_SIZE * nodes.lanes[n] + OF_VELOCITIES] != 0


@kernel
def along_with_terms(nodes: Nodes, G: np.ndarray, motion: np.ndarray, out: np.ndarray, terms: np.ndarray) -> None:
    """Write the product of each row, in G, and a motion of the bodies to `out`, eight elements for each node (joint).

    The sum of the absolute values of the terms of each product is added to `terms`. The motion consists of a
    translation of each body in the inertial frame, and W^-1 times a rotation in body axes, with the metric W of the
    body: W W^T = J^-1.
    """
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            store(out, 8 * n, splat(0.0))
            continue
        if nodes.kind[n] == RELATION:
            relation_along_with_terms(nodes.relations, nodes.lanes[n], G, motion, out, terms, 8 * n)
            continue
        i, j, g = nodes.wrench[2 * n], nodes.wrench[2 * n + 1], G_SIZE * n
        v_i, v_j, force = body_vector(motion, i), body_vector(motion, j), load3(G, g + G_FORCE)
        turn_i, on_i = body_vector(motion, i + MOMENT), load3(G, g + G_I)
        turn_j, on_j = body_vector(motion, j + MOMENT), load3(G, g + G_J)
        store(out, 8 * n, dot(minus(v_j, v_i), force) + dot(turn_i, on_i) + dot(turn_j, on_j))
        size = magnitudes(v_i, force) + magnitudes(v_j, force) + magnitudes(turn_i, on_i) + magnitudes(turn_j, on_j)
        store(terms, 8 * n, load(terms, 8 * n) + size)
