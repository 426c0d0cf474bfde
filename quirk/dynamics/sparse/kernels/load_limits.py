"""Largest margin to friction limits, where some limits are proportional to the loads of joints, in compiled code.

The limit of friction in a joint is mu N, with the normal load N = sum of |p_h| over one or two bearing forces p_h (3,).
A redistribution y of the loads changes p_h to p_h + P_h y. N is convex in y, so its tangent at any y0 is not above it:

    N(y) >= N(y0) + sum of u_h . P_h (y - y0),   u_h = p_h / |p_h|

With the tangent as normal force a joint is a contact with a friction cone, and `room` computes the redistribution with
the largest margin. N, and with it the margin, is at least as large there. Repeated from this redistribution, the margin
grows to a maximum (convex-concave procedure: Yuille and Rangarajan, Neural Comput. 15 (2003)). If it is positive, the
loads are within the limits that belong to them.

As the set of such loads is not convex, the margin may have several maxima. Where the one that is reached from the
initial loads is not positive, the procedure starts again from loads that are redistributed by their own magnitude, in
both senses of each element of the basis, and the largest maximum is returned.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import entry, kernel
from quirk.jit.simd import at, put

from .room import LOADS, least_slack, room, scratch_of

# Components of the two bearing forces of a joint.
BEARINGS = 6
# Maximum number of linearizations, and relative increase of the margin at which they end.
MOST, CLOSE = 100, 1e-12


def scratch_at_loads(rows: int, free: int) -> int:
    """Return the size of the scratch array for `rows` components of loads with `free` redundant loads."""
    return scratch_of(rows, free) + 2 * rows  # initial loads, and those with the largest margin so far


@kernel
def room_at_loads(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return the largest margin to the friction limits, N; on return z is the distribution of load with this margin.

    Parameters
    ----------
    z : (3 count + 6 b,) an initial distribution of the load: normal force and two tangential forces of each contact or
        joint, and the bearing forces of b joints with limits in proportion to their load, N. Normal forces of these
        joints are computed here.
    basis : ((3 count + 6 b) free,) redistributions of the load, as for `room`
    joints : (b,) index of each of these joints among the `count` contacts and joints
    count, free : number of contacts and joints, and number of redistributions
    inverse : (count,) inverse coefficients of friction
    scratch : array of size `scratch_at_loads(3 count + 6 b, free)`
    """
    if joints.shape[0] == 0:
        return room(z, basis, count, free, inverse, scratch)
    rows = z.shape[0]
    first = (free + 1) * (free + 4) + rows
    size = 0.0
    for o in range(rows):
        put(scratch, first + o, at(z, o))
        size = max(size, abs(at(z, o)))
    margin = climb(z, basis, joints, count, free, inverse, scratch)
    for start in range(2 * free):
        if not margin <= 0.0:
            break
        for o in range(rows):
            put(scratch, first + rows + o, at(z, o))
        f, largest = start // 2, 0.0
        for o in range(rows):
            largest = max(largest, abs(at(basis, free * o + f)))
        step = (size if start % 2 == 0 else -size) / largest
        for o in range(rows):
            put(z, o, at(scratch, first + o) + step * at(basis, free * o + f))
        reached = climb(z, basis, joints, count, free, inverse, scratch)
        if reached > margin:
            margin = reached
        else:
            for o in range(rows):
                put(z, o, at(scratch, first + rows + o))
    return margin


@kernel
def climb(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return a local maximum of the margin to the friction limits, N, that is reached from the loads z.

    Arguments are as for `room_at_loads`.
    """
    margin = -math.inf
    for _ in range(MOST):
        linearize(z, basis, joints, count, free)
        room(z, basis, count, free, inverse, scratch)
        linearize(z, basis, joints, count, free)
        size, reached = 0.0, least_slack(z, count, inverse)
        for o in range(LOADS * count):
            size = max(size, abs(at(z, o)))
        if not reached - margin > CLOSE * size:
            return max(reached, margin)
        margin = reached
    return margin


@kernel
def linearize(z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int) -> None:
    """Set the normal forces of joints, and their changes by redistributions, to those of the present bearing forces.

    Arguments are as for `room_at_loads`.
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
def most_room(
    z: np.ndarray, basis: np.ndarray, joints: np.ndarray, count: int, free: int, inverse: np.ndarray,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return the largest margin to the friction limits, N, as `room_at_loads` does; for calls from Python.

    Arguments are as for `room_at_loads`.
    """
    return room_at_loads(z, basis, joints, count, free, inverse, scratch)
