"""Counting of full turns of joint angles along a run.

A rotation matrix determines an angle up to full turns. Let q_i and q_j be the orientations of the bodies of a joint, r
= conj(q_i) q_j, and H a constant matrix. The components of u = H r form two plane vectors, (u_0, u_1) and (u_2, u_3).
Their polar angles are half the sum and half the difference of the two joint angles that can exceed a turn: the first
and third 1-2-3 angle, or both angles of a cross. Quaternions are continuous along a run, so the angles with full turns
follow from the number of quadrants that each vector has passed.

The rates of the vectors are bounded by the angular velocities of the bodies, so a joint is evaluated only if the bodies
may have rotated far enough for a vector to pass more than one quadrant. Within a step a vector is interpolated by a
cubic, because its polar angle changes fast while its length is small, when the second 1-2-3 angle is near 90 degrees.
If the bodies rotate by more than FARTHEST in a step, the polar angle is extrapolated with the mean of its rates at both
ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.constraints.relative import nearest
from quirk.jit.compilation import shared
from quirk.jit.fields import Fields, fields
from quirk.jit.record import record
from quirk.jit.simd import at, greater, highest, splat

from .layout import OMEGA, ORIENTATION
from .vectors import dot, load3

STATE = 8 * STATE_SIZE
SPIN_FROM_ORIENTATION = 8 * (OMEGA - ORIENTATION)

# Relative turn of two bodies, rad, that cannot move a vector of length one to zero: the vector moves by at most
# 1/sqrt(2) of the turn, so the limit is sqrt(2) = 1.41; the rest is a margin.
REACH = 1.25
# Points of the cubic per step; and the relative turn per step, rad, beyond which the cubic is too inaccurate.
POINTS, FARTHEST = 16, 3.0
# Largest angle (rad) that is counted: beyond it, floats do not resolve parts of a turn.
COUNTABLE = 1e15

Four = tuple[float, float, float, float]


@fields
class TurnBound(Fields):
    """Upper bounds on the rotations of bodies, from their angular velocities.

    Attributes
    ----------
    turned, ahead : bounds on the relative rotation of any two bodies, rad, since the start of the run and in this step
    fastest, fastest_new : largest angular velocity of a body, rad/s, at the start and at the end of the step
    """

    turned: float
    ahead: float
    fastest: float
    fastest_new: float


@record
class Counter(NamedTuple):
    """Counter of the quadrants passed by the plane vectors of K joints.

    Each joint has two plane vectors: vectors in the plane whose polar angles are half the sum and half the difference
    of two joint angles, see the module docstring. Names in capitals are constants of this module.

    Attributes
    ----------
    blocks : number of blocks of eight bodies in y
    orientation_index : (2 K,) index in y of the orientations of bodies i and j
    forms : (16 K,) matrices H, by rows
    quadrants : (2 K,) quadrant of each vector, counted over full turns
    due : (K,) value of `TurnBound.turned`, rad, up to which no quadrant can be missed
    counted : (K,) value of `TurnBound.turned`, rad, at the last evaluation of the joint
    lead : (2 K,) difference of extrapolated and counted polar angles, rad, summed over steps too long for the cubic
    spare : (2 K,) scratch array for `lead`
    blind : whether steps have a fixed size, and may be too long for interpolation by the cubic
    clock : bounds on the rotations of bodies
    kept : (2 K,) quadrants of each output state
    """

    blocks: int
    orientation_index: np.ndarray
    forms: np.ndarray
    quadrants: np.ndarray
    due: np.ndarray
    counted: np.ndarray
    lead: np.ndarray
    spare: np.ndarray
    blind: bool
    clock: TurnBound
    kept: np.ndarray


@shared
def begin_step(counter: Counter, y: np.ndarray, y_new: np.ndarray, h: float) -> None:
    """Begin a step of size h (s) from y to y_new: evaluate the joints that might otherwise be counted incorrectly.

    These are the joints whose plane vectors may pass more than one quadrant in the step; they are evaluated at y.
    """
    if counter.due.shape[0] == 0:
        return
    counter.clock.fastest_new = fastest(y_new, counter.blocks)
    ahead = 2.0 * h * max(counter.clock.fastest, counter.clock.fastest_new)
    turned = counter.clock.turned
    counter.clock.ahead = ahead
    for k in range(counter.due.shape[0]):
        if counter.due[k] < turned + ahead and counter.counted[k] < turned:
            u = plane_vectors(counter, k, y)
            counter.quadrants[2 * k] = nearest_quadrant(counter.quadrants[2 * k], u[0], u[1], 0.0)
            counter.quadrants[2 * k + 1] = nearest_quadrant(counter.quadrants[2 * k + 1], u[2], u[3], 0.0)
            schedule_evaluation(counter, k, u, turned)


@shared
def store_quadrants(counter: Counter, row: int, y: np.ndarray, state: np.ndarray, h: float) -> None:
    """Store the quadrants of all joints at a state within the step as output number `row`.

    The state is reached a time h (s) after the state y at the start of the step.
    """
    count = counter.due.shape[0]
    turned = counter.clock.turned + counter.clock.ahead
    for k in range(count):
        o = 2 * (row * count + k)
        if counter.due[k] < turned:
            count_quadrants(counter, k, y, state, h, counter.kept, o, counter.spare)
        else:
            counter.kept[o] = counter.quadrants[2 * k]
            counter.kept[o + 1] = counter.quadrants[2 * k + 1]


@shared
def end_step(counter: Counter, y: np.ndarray, y_new: np.ndarray, h: float) -> None:
    """End a step of size h (s) from y to y_new: count the quadrants passed in the step.

    Joints are evaluated at y_new only if their plane vectors may have passed more than one quadrant since the last
    evaluation.
    """
    turned = counter.clock.turned + counter.clock.ahead
    for k in range(counter.due.shape[0]):
        if counter.due[k] < turned:
            count_quadrants(counter, k, y, y_new, h, counter.quadrants, 2 * k, counter.lead)
            schedule_evaluation(counter, k, plane_vectors(counter, k, y_new), turned)
    counter.clock.turned = turned
    counter.clock.ahead = 0.0
    counter.clock.fastest = counter.clock.fastest_new


@shared
def continue_from(counter: Counter, row: int, state: np.ndarray) -> None:
    """Continue the count from a state within the last step, whose quadrants were stored as output `row`.

    The rest of the step is discarded.
    """
    count = counter.due.shape[0]
    if counter.blind:
        # Extrapolated directions are ahead of the counted ones by the difference accumulated up to the state.
        for k in range(count):
            if counter.due[k] < counter.clock.turned + counter.clock.ahead:
                counter.lead[2 * k], counter.lead[2 * k + 1] = counter.spare[2 * k], counter.spare[2 * k + 1]
    for k in range(count):
        counter.quadrants[2 * k] = counter.kept[2 * (row * count + k)]
        counter.quadrants[2 * k + 1] = counter.kept[2 * (row * count + k) + 1]
        counter.due[k], counter.counted[k] = 0.0, -1.0
    counter.clock.turned, counter.clock.ahead = 0.0, 0.0
    counter.clock.fastest = fastest(state, counter.blocks)


@shared
def schedule_evaluation(counter: Counter, k: int, u: Four, turned: float) -> None:
    """Schedule the next evaluation of joint k: store the rotation of the bodies at which it becomes necessary.

    u contains the two plane vectors of joint k. `turned` is the current bound on the relative rotation of any two
    bodies since the start of the run, rad. Until this bound has grown by REACH times the length of the shorter plane
    vector, neither vector can reach zero length or pass more than one quadrant.
    """
    shorter = min(u[0] * u[0] + u[1] * u[1], u[2] * u[2] + u[3] * u[3])
    counter.counted[k] = turned
    counter.due[k] = turned + REACH * math.sqrt(shorter)


@shared
def fastest(y: np.ndarray, blocks: int) -> float:
    """Return the largest angular velocity of all bodies at the state y, rad/s; y has `blocks` blocks of bodies."""
    largest = splat(0.0)
    for block in range(blocks):
        omega = load3(y, block * STATE + 8 * OMEGA)
        largest = greater(largest, dot(omega, omega))
    return math.sqrt(highest(largest))


@shared
def relative_quaternion(counter: Counter, k: int, y: np.ndarray) -> Four:
    """Return the quaternion r = conj(q_i) q_j of the two bodies of joint k at the state y."""
    i, j = counter.orientation_index[2 * k], counter.orientation_index[2 * k + 1]
    aw, ax, ay, az = at(y, i), at(y, i + 8), at(y, i + 16), at(y, i + 24)
    bw, bx, by, bz = at(y, j), at(y, j + 8), at(y, j + 16), at(y, j + 24)
    return (
        aw * bw + ax * bx + ay * by + az * bz,
        aw * bx - ax * bw - ay * bz + az * by,
        aw * by + ax * bz - ay * bw - az * bx,
        aw * bz - ax * by + ay * bx - az * bw,
    )


@shared
def plane_vectors(counter: Counter, k: int, y: np.ndarray) -> Four:
    """Return both plane vectors of joint k at the state y, u = H r.

    r is the relative orientation of the two bodies, H a constant matrix; the polar angles of the vectors are half the
    sum and half the difference of two joint angles.
    """
    return plane_components(counter, k, relative_quaternion(counter, k, y))


@shared
def plane_velocities(counter: Counter, k: int, y: np.ndarray) -> Four:
    """Return the rates of both plane vectors of joint k at the state y: H r' with r' = (r omega_j - omega_i r) / 2."""
    rw, rx, ry, rz = relative_quaternion(counter, k, y)
    i, j = (
        counter.orientation_index[2 * k] + SPIN_FROM_ORIENTATION,
        counter.orientation_index[2 * k + 1] + SPIN_FROM_ORIENTATION,
    )
    dx, dy, dz = at(y, j) - at(y, i), at(y, j + 8) - at(y, i + 8), at(y, j + 16) - at(y, i + 16)
    sx, sy, sz = at(y, j) + at(y, i), at(y, j + 8) + at(y, i + 8), at(y, j + 16) + at(y, i + 16)
    w = -0.5 * (rx * dx + ry * dy + rz * dz)
    x = 0.5 * (rw * dx + ry * sz - rz * sy)
    v = 0.5 * (rw * dy + rz * sx - rx * sz)
    z = 0.5 * (rw * dz + rx * sy - ry * sx)
    return plane_components(counter, k, (w, x, v, z))


@shared
def plane_components(counter: Counter, k: int, quaternion: Four) -> Four:
    """Return the product of the matrix H of joint k and a quaternion."""
    f, o = counter.forms, 16 * k
    w, x, y, z = quaternion
    return (
        at(f, o) * w + at(f, o + 1) * x + at(f, o + 2) * y + at(f, o + 3) * z,
        at(f, o + 4) * w + at(f, o + 5) * x + at(f, o + 6) * y + at(f, o + 7) * z,
        at(f, o + 8) * w + at(f, o + 9) * x + at(f, o + 10) * y + at(f, o + 11) * z,
        at(f, o + 12) * w + at(f, o + 13) * x + at(f, o + 14) * y + at(f, o + 15) * z,
    )


@shared
def count_quadrants(
    counter: Counter,
    k: int,
    y: np.ndarray,
    y_new: np.ndarray,
    h: float,
    quadrants: np.ndarray,
    o: int,
    lead: np.ndarray,
) -> None:
    """Count the quadrants that the two plane vectors of joint k pass between two states.

    The two quadrants at the state y_new, a time h (s) after the state y, are written to `quadrants`, beginning at
    element o. The differences between extrapolated and counted angles, `lead`, are updated.
    """
    u, u_new = plane_vectors(counter, k, y), plane_vectors(counter, k, y_new)
    v, v_new = plane_velocities(counter, k, y), plane_velocities(counter, k, y_new)
    for side in range(2):
        q, a, place = counter.quadrants[2 * k + side], 2 * side, 2 * k + side
        if counter.clock.ahead > FARTHEST:
            expected = counter.lead[place] + by_rates(q, a, u, v, u_new, v_new, h)
            if not abs(expected) < COUNTABLE:
                expected = 0.0
            angle = nearest(math.atan2(u_new[a + 1], u_new[a]), expected)
            quadrants[o + side] = int(np.floor(angle / (0.5 * math.pi)))
            lead[place] = expected - angle if counter.blind else 0.0
        else:
            quadrants[o + side] = by_cubic(q, a, u, v, u_new, v_new, h)
            lead[place] = 0.0


@shared
def by_cubic(q: int, a: int, u: Four, v: Four, u_new: Four, v_new: Four, h: float) -> int:
    """Return the quadrant at the end of a cubic path of a plane vector that starts in quadrant q.

    The path is the cubic Hermite interpolant: the vector has the components a and a + 1 of u at the start and of u_new
    at the end, and the rates v and v_new; h is the time between them.
    """
    b, x_last, y_last = a + 1, u[a], u[a + 1]
    if on_one_side(u[a], u[b], h * v[a], h * v[b], u_new[a], u_new[b], h * v_new[a], h * v_new[b]):
        return nearest_quadrant(q, u_new[a], u_new[b], x_last * u_new[b] - y_last * u_new[a])
    for n in range(1, POINTS + 1):
        s = n / POINTS
        to, out, back = s * s * (3.0 - 2.0 * s), h * s * (1.0 - s) * (1.0 - s), -h * s * s * (1.0 - s)
        x = u[a] + (u_new[a] - u[a]) * to + v[a] * out + v_new[a] * back
        y = u[b] + (u_new[b] - u[b]) * to + v[b] * out + v_new[b] * back
        q = nearest_quadrant(q, x, y, x_last * y - y_last * x)
        x_last, y_last = x, y
    return q


@shared
def on_one_side(
    x: float, y: float, dx: float, dy: float, x_new: float, y_new: float, dx_new: float, dy_new: float
) -> bool:
    """Return whether a cubic path in the plane stays on one side of a line through the origin.

    The path runs from (x, y) to (x_new, y_new); (dx, dy) and (dx_new, dy_new) are its rates there, multiplied by the
    duration. If it stays on one side, its polar angle changes by less than half a turn and follows from both end
    points. The test is based on the convex hull of the four control points of the cubic, which contains it (Farin,
    Curves and Surfaces for CAGD (2002), 5.3).
    """
    mid_x, mid_y = x + x_new, y + y_new
    return (
        x * mid_x + y * mid_y > 0.0
        and x_new * mid_x + y_new * mid_y > 0.0
        and (x + dx / 3.0) * mid_x + (y + dy / 3.0) * mid_y > 0.0
        and (x_new - dx_new / 3.0) * mid_x + (y_new - dy_new / 3.0) * mid_y > 0.0
    )


@shared
def by_rates(q: int, a: int, u: Four, v: Four, u_new: Four, v_new: Four, h: float) -> float:
    """Return the polar angle (rad) of a plane vector after a time h, extrapolated from its rates.

    The vector has the components a and a + 1 of u at the start and of u_new after the time h; v and v_new are their
    rates at both times, whose mean is used. q is the quadrant of the vector at the start. The rate of a vector of zero
    length counts as zero.
    """
    b = a + 1
    size, size_new = u[a] * u[a] + u[b] * u[b], u_new[a] * u_new[a] + u_new[b] * u_new[b]
    rate = (u[a] * v[b] - u[b] * v[a]) / size if size > 0.0 else 0.0
    rate_new = (u_new[a] * v_new[b] - u_new[b] * v_new[a]) / size_new if size_new > 0.0 else 0.0
    return nearest(math.atan2(u[b], u[a]), (q + 0.5) * (0.5 * math.pi)) + 0.5 * h * (rate + rate_new)


@shared
def nearest_quadrant(q: int, x: float, y: float, sense: float) -> int:
    """Return the quadrant of the point (x, y), counted over full turns such that it is nearest to quadrant q.

    If the point is in the quadrant opposite to q, the sign of `sense` determines the direction of rotation.
    """
    quadrant = (0 if x > 0.0 else 1) if y >= 0.0 else (2 if x < 0.0 else 3)
    ahead = (quadrant - q) & 3
    if ahead == 3 or (ahead == 2 and sense < 0.0):
        ahead -= 4
    return q + ahead
