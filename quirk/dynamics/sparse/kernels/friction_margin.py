"""Largest margin to friction limits, where some limits are proportional to the loads of joints, in compiled code.

The limit of friction in a joint is mu N, with the coefficient of friction mu and the normal load N = sum of |p_h| over
one or two bearing forces p_h (3,). Loads of dependent contacts and joints can be redistributed without effect on the
motion; a redistribution y changes p_h to p_h + P_h y. N is convex in y, so its tangent at any y0 is a lower bound:

    N(y) >= N(y0) + sum of u_h . P_h (y - y0),   u_h = p_h / |p_h|

If the tangent replaces the normal force, a joint is a contact with a friction cone, and `largest_cone_margin` computes
the redistribution with the largest margin. The true N, and with it the margin, is at least as large there. Repetition
from this redistribution increases the margin to a maximum (convex-concave procedure: Yuille and Rangarajan, Neural
Comput. 15 (2003)). If the maximum is positive, all friction is within its limits.

As the set of loads with positive margin is not convex, the margin may have several maxima. If the maximum reached from
the initial loads is not positive, the procedure is repeated from other initial loads: the loads are changed along each
basis vector of the redistributions, in both directions, by their own magnitude; and each bearing force is reversed, as
joints push in either direction. The largest maximum is returned.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.dynamics.model.vectors import dot
from quirk.jit.compilation import entry, kernel
from quirk.jit.simd import at, put

from .cone_margin import LOADS, largest_cone_margin, least_slack, scratch_size

# Number of components of the two bearing forces of a joint.
BEARINGS = 6
# MOST is the maximum number of linearizations. They end earlier if the margin increases by at most CLOSE times the
# largest load.
MOST, CLOSE = 100, 1e-12
# Redistributions that change a bearing force by less than this fraction of the other forces leave it unchanged, up to
# round-off; so do those of friction without a limit for all other loads.
LEAST_EFFECT = 1e-6


def scratch_size_with_joints(rows: int, free: int) -> int:
    """Return the size of the scratch array of `largest_friction_margin`.

    `rows` is the number of load components, and `free` the number of independent redistributions of the loads.
    """
    return scratch_size(rows, free) + 2 * rows  # initial loads, and those with the largest margin so far


@kernel
def largest_friction_margin(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return the largest margin to all friction limits, N; on return z is the distribution of loads with this margin.

    The limit of a contact is proportional to its normal force. The limit of each of the b joints in `joints` is
    proportional to the sum of the magnitudes of its two bearing forces.

    Parameters
    ----------
    z : (3 count + 6 b,) an initial distribution of the loads, N: normal force and two tangential forces of each contact
        or joint, followed by both bearing forces of the b joints. The normal forces of these joints are computed here.
    basis : ((3 count + 6 b) free,) changes of z by independent redistributions of the loads, a matrix by rows
    joints : (b,) index of each of the b joints among the `count` contacts and joints
    count, free : number of contacts and joints, and number of independent redistributions
    inverse : (count,) inverse coefficients of friction
    scratch : array of size `scratch_size_with_joints(3 count + 6 b, free)`
    """
    remove_round_off(basis, z.shape[0], joints, count, free, inverse)
    if joints.shape[0] == 0:
        return largest_cone_margin(z, basis, count, free, inverse, scratch)
    rows = z.shape[0]
    first = (free + 1) * (free + 4) + rows
    size = 0.0
    for o in range(rows):
        put(scratch, first + o, at(z, o))
        size = max(size, abs(at(z, o)))
    margin = ascend(z, basis, joints, count, free, inverse, scratch)
    for start in range(2 * (free + joints.shape[0])):
        if not margin <= 0.0:
            break
        for o in range(rows):
            put(scratch, first + rows + o, at(z, o))
            put(z, o, at(scratch, first + o))
        if start < 2 * free:
            move_along(z, basis, start // 2, free, size if start % 2 == 0 else -size)
        else:
            reverse_bearing_force(z, basis, LOADS * count + 3 * (start - 2 * free), free)
        reached = ascend(z, basis, joints, count, free, inverse, scratch)
        if reached > margin:
            margin = reached
        else:
            for o in range(rows):
                put(z, o, at(scratch, first + rows + o))
    return margin


@kernel
def remove_round_off(
    basis: np.ndarray, rows: int, joints: np.ndarray, count: int, free: int, inverse: np.ndarray
) -> None:
    """Remove the round-off of redistributions that change only friction without a limit.

    Such friction, of contacts with the inverse coefficient 0, could otherwise become so large that this round-off makes
    any normal force. The columns of `basis` are combined by elimination with complete pivoting, so that those after the
    last pivot change no other load by more than LEAST_EFFECT of their largest change; these changes are set to zero.
    See `largest_friction_margin` for the arguments.
    """
    unlimited = False
    for k in range(count):
        for row in range(LOADS * k + 1, LOADS * (k + 1)):
            for f in range(free):
                unlimited = unlimited or (at(inverse, k) == 0.0 and at(basis, free * row + f) != 0.0)
    if not unlimited:
        return
    done = 0
    while done < free:
        pivot, column, most = -1, done, LEAST_EFFECT
        for f in range(done, free):
            largest = 0.0
            for row in range(rows):
                largest = max(largest, abs(at(basis, free * row + f)))
            for row in range(rows):
                if is_limited(row, joints, count, inverse) and abs(at(basis, free * row + f)) > most * largest:
                    pivot, column, most = row, f, abs(at(basis, free * row + f)) / largest
        if pivot < 0:
            break
        for row in range(rows):
            value = at(basis, free * row + column)
            put(basis, free * row + column, at(basis, free * row + done))
            put(basis, free * row + done, value)
        for f in range(done + 1, free):
            ratio = at(basis, free * pivot + f) / at(basis, free * pivot + done)
            for row in range(rows):
                put(basis, free * row + f, at(basis, free * row + f) - ratio * at(basis, free * row + done))
        done += 1
    for row in range(rows):
        for f in range(done, free):
            if is_limited(row, joints, count, inverse):
                put(basis, free * row + f, 0.0)


@kernel
def is_limited(row: int, joints: np.ndarray, count: int, inverse: np.ndarray) -> bool:
    """Whether a component of the loads matters for the margin, and is not a normal force that is computed from others.

    See `largest_friction_margin` for the arguments.
    """
    if row >= LOADS * count:
        return True
    if row % LOADS > 0:
        return at(inverse, row // LOADS) > 0.0
    computed = False
    for k in range(joints.shape[0]):
        computed = computed or joints[k] == row // LOADS
    return not computed


@kernel
def move_along(z: np.ndarray, basis: np.ndarray, f: int, free: int, size: float) -> None:
    """Change the loads z along basis vector f of `free` redistributions; the largest change is `size` (N)."""
    largest = 0.0
    for o in range(z.shape[0]):
        largest = max(largest, abs(at(basis, free * o + f)))
    for o in range(z.shape[0]):
        put(z, o, at(z, o) + size / largest * at(basis, free * o + f))


@kernel
def reverse_bearing_force(z: np.ndarray, basis: np.ndarray, o: int, free: int) -> None:
    """Change the loads z by the smallest redistribution that reverses a bearing force along its direction.

    The force (3,) begins at index o of z; `basis` contains the changes of z by `free` redistributions. Nothing changes
    if the redistributions have no effect on the force.
    """
    force = at(z, o), at(z, o + 1), at(z, o + 2)
    square, effect, largest = dot(force, force), 0.0, 0.0
    for f in range(free):
        effect += dot(force, change_of_force(basis, o, free, f)) ** 2
        for p in range(z.shape[0]):
            largest = max(largest, abs(at(basis, free * p + f)))
    if not effect > square * (LEAST_EFFECT * largest) ** 2:
        return
    for f in range(free):
        amount = -2.0 * square * dot(force, change_of_force(basis, o, free, f)) / effect
        for p in range(z.shape[0]):
            put(z, p, at(z, p) + amount * at(basis, free * p + f))


@kernel
def change_of_force(basis: np.ndarray, o: int, free: int, f: int) -> tuple[float, float, float]:
    """Return the change of the force (3,) at index o of the loads per unit of redistribution f of `free`."""
    return at(basis, free * o + f), at(basis, free * (o + 1) + f), at(basis, free * (o + 2) + f)


@kernel
def ascend(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return a local maximum of the margin to the friction limits, N, reached by ascent from the loads z.

    On return z are the loads at this maximum. Where the margin is unbounded, as of bodies that jam, the ascent ends at
    a margin that exceeds the loads at its start. The arguments are described in `largest_friction_margin`.
    """
    margin, enough = -math.inf, 0.0
    for o in range(LOADS * count):
        enough = max(enough, abs(at(z, o)))
    for _ in range(MOST):
        linearize(z, basis, joints, count, free)
        largest_cone_margin(z, basis, count, free, inverse, scratch)
        linearize(z, basis, joints, count, free)
        size, reached = 0.0, least_slack(z, count, inverse)
        for o in range(LOADS * count):
            size = max(size, abs(at(z, o)))
        if not reached - margin > CLOSE * size or reached > enough:
            return max(reached, margin)
        margin = reached
    return margin


@kernel
def linearize(z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int) -> None:
    """Compute the normal forces of the joints `joints` from their bearing forces, and linearize them.

    The normal forces are written to z, and their derivatives with respect to the redistributions of loads to `basis`.
    The arguments are described in `largest_friction_margin`.
    """
    for k in range(joints.shape[0]):
        normal, into = 0.0, LOADS * joints[k]
        for f in range(free):
            put(basis, free * into + f, 0.0)
        for half in range(2):
            o = LOADS * count + BEARINGS * k + 3 * half
            size = math.sqrt(at(z, o) ** 2 + at(z, o + 1) ** 2 + at(z, o + 2) ** 2)
            normal += size
            for f in range(free if size > 0.0 else 0):
                change = 0.0
                for c in range(3):
                    change += at(z, o + c) * at(basis, free * (o + c) + f)
                put(basis, free * into + f, at(basis, free * into + f) + change / size)
        put(z, into, normal)


@entry(needed_by="contacts and joints that share loads need", effort=8)
def friction_margin(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return the largest margin to all friction limits, N: `largest_friction_margin` for calls from Python.

    On return z is the distribution of loads with this margin. The arguments are described in `largest_friction_margin`.
    """
    return largest_friction_margin(z, basis, joints, count, free, inverse, scratch)
