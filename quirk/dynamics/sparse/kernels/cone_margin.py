"""Largest margin to the friction cones with which dependent contacts can carry a load, in compiled code.

The distribution of a load over dependent contacts is not unique: z = z0 + N y, where the columns of N are
redistributions without effect on the motion. Bodies can stay at rest if there is a y with n_k - |t_k| / mu_k >= 0 in
each contact k, with normal force n_k, tangential force t_k and friction coefficient mu_k. The margin is the largest s
for which n_k - |t_k| / mu_k >= s in all contacts. It is computed by an interior-point method: Newton's method for the
maximum of

    tau s + sum_k log((n_k - s)^2 - |t_k|^2 / mu_k^2) + log(bound - sum_k n_k)

over y and s, with tau increasing (Boyd and Vandenberghe, Convex Optimization (2004), ch. 11). The bound is required if
the margin is unbounded, as for opposing contacts of a wedge. It is increased if it may be what makes the margin
negative, as for bodies that only jam under loads far larger than their weight.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.simd import at, put

# Number of components of the load of a contact: one normal and two tangential forces.
LOADS = 3
# Weight tau of the margin: first and last weight, as multiples of 1 / L with the largest load L (N), and ratio of
# successive weights.
FIRST, GROWS, LAST = 1.0, 30.0, 1e13
# Bound on the sum of all normal forces, as a multiple of the number of contacts times the largest component of the
# initial loads. A bound that may be what makes the margin negative is multiplied by FARTHER.
BOUND, FARTHER = 100.0, 1e4
# Maximum number of Newton steps at one weight; Newton decrement at which they end; and maximum number of halvings of a
# step.
MOST_STEPS, DECREMENT, MOST_HALVINGS = 30, 1e-3, 40
# Smallest pivot of the Cholesky factorization, as a fraction of the diagonal element, for redistributions without
# effect on the barrier.
REGULAR = 1e-14


def scratch_size(rows: int, free: int) -> int:
    """Return the size of the scratch array of `largest_cone_margin`.

    `rows` is the number of load components, and `free` the number of independent redistributions of the loads.
    """
    return (free + 1) * (free + 4) + rows  # Newton step, matrix, slope and one row; loads before the step


@kernel
def largest_cone_margin(
    z: np.ndarray, basis: np.ndarray, count: int, free: int, inverse: np.ndarray, scratch: np.ndarray
) -> float:
    """Return the largest margin to the friction cones, N; on return z is the distribution of loads with this margin.

    Parameters
    ----------
    z : (rows,) an initial distribution of the loads, N: normal force and two tangential forces of each contact,
        followed by other forces that a redistribution changes
    basis : (rows free,) changes of z by independent redistributions of the loads, without effect on the motion; a
        matrix (rows, free) by rows
    count, free : number of contacts, and number of independent redistributions
    inverse : (count,) inverse coefficients of friction
    scratch : array of size `scratch_size(rows, free)`
    """
    size, least = 0.0, least_slack(z, count, inverse)
    for o in range(LOADS * count):
        size = max(size, abs(at(z, o)))
    if free == 0 or not size < math.inf or size == 0.0:
        return least
    bound = BOUND * size * count
    margin, total = largest_bounded_margin(z, basis, count, free, inverse, size, bound, scratch), 0.0
    for k in range(count):
        total += at(z, LOADS * k)
    if margin < 0.0 and total > 0.5 * bound:
        margin = largest_bounded_margin(z, basis, count, free, inverse, size, FARTHER * bound, scratch)
    return margin


@kernel
def largest_bounded_margin(
    z: np.ndarray, basis: np.ndarray, count: int, free: int, inverse: np.ndarray, size: float, bound: float,
    scratch: np.ndarray,
) -> float:  # fmt: skip
    """Return the largest margin of loads whose normal forces have a sum of at most `bound`, N.

    `size` is the largest component of the initial loads, N. The other arguments, and z on return, are described in
    `largest_cone_margin`.
    """
    least = least_slack(z, count, inverse)
    s, tau, last = least - size, FIRST / size, LAST / size
    value = barrier(z, s, tau, bound, count, inverse)
    while True:
        for _ in range(MOST_STEPS):
            decrement = newton(z, basis, s, tau, bound, count, free, inverse, scratch)
            # Close to the boundary of a cone round-off may make the matrix singular: the present loads are then the
            # result.
            if not DECREMENT < decrement < math.inf:
                break
            part, moved = 1.0, False
            for o in range(z.shape[0]):
                put(scratch, (free + 1) * (free + 4) + o, at(z, o))
            for _ in range(MOST_HALVINGS):
                along(z, basis, part, free, scratch)
                tried = barrier(z, s + part * at(scratch, free), tau, bound, count, inverse)
                if tried > value:
                    s += part * at(scratch, free)
                    value, moved = tried, True
                    break
                part *= 0.5
            if not moved:
                for o in range(z.shape[0]):
                    put(z, o, at(scratch, (free + 1) * (free + 4) + o))
                break
        if tau >= last:
            # If round-off has ended Newton's method early, s is less than the margin of the present loads.
            return least_slack(z, count, inverse)
        value += (GROWS - 1.0) * tau * s
        tau *= GROWS


@kernel
def slack(z: np.ndarray, k: int, inverse: np.ndarray) -> float:
    """Return the margin of contact k inside its friction cone, N: n_k - |t_k| / mu_k.

    The normal force n_k and tangential force t_k are in the loads z; `inverse` contains the inverse coefficients of
    friction 1 / mu_k.
    """
    o = LOADS * k
    return at(z, o) - at(inverse, k) * math.sqrt(at(z, o + 1) ** 2 + at(z, o + 2) ** 2)


@kernel
def least_slack(z: np.ndarray, count: int, inverse: np.ndarray) -> float:
    """Return the smallest margin of `count` contacts inside their friction cones, N; see `slack`.

    z are the loads of the contacts (N), and `inverse` the inverse coefficients of friction.
    """
    least = math.inf
    for k in range(count):
        least = min(least, slack(z, k, inverse))
    return least


@kernel
def barrier(z: np.ndarray, s: float, tau: float, bound: float, count: int, inverse: np.ndarray) -> float:
    """Return the barrier function to be maximized; it is -infinity outside the friction cones.

    The function is given in the module docstring. s is the margin (N), tau its weight, and `bound` the bound on the sum
    of all normal forces (N). z are the loads of the `count` contacts (N), and `inverse` the inverse coefficients of
    friction.
    """
    total, left = tau * s, bound
    for k in range(count):
        o = LOADS * k
        across = at(inverse, k) * math.sqrt(at(z, o + 1) ** 2 + at(z, o + 2) ** 2)
        inside, beside = at(z, o) - s - across, at(z, o) - s + across
        if not (inside > 0.0 and beside > 0.0):
            return -math.inf
        total += math.log(inside) + math.log(beside)
        left -= at(z, o)
    return total + math.log(left) if left > 0.0 else -math.inf


@kernel
def along(z: np.ndarray, basis: np.ndarray, part: float, free: int, scratch: np.ndarray) -> None:
    """Set the loads z to the loads before the Newton step plus a fraction `part` of the step.

    The loads before the step, and the step, are stored in `scratch`. `basis` contains the changes of z by `free`
    independent redistributions. The loads before the step are stored, because with a nearly singular matrix the step
    may be so large that they could not be recovered by subtraction.
    """
    for o in range(z.shape[0]):
        change = 0.0
        for f in range(free):
            change += at(basis, free * o + f) * at(scratch, f)
        put(z, o, at(scratch, (free + 1) * (free + 4) + o) + part * change)


@kernel
def newton(
    z: np.ndarray, basis: np.ndarray, s: float, tau: float, bound: float, count: int, free: int,
    inverse: np.ndarray, scratch: np.ndarray,
) -> float:  # fmt: skip
    """Compute the Newton step for the maximum of the barrier function; return the product of its gradient and the step.

    The step, which changes the redistribution and the margin, is stored in `scratch`. s is the present margin (N), tau
    its weight, and `bound` the bound on the sum of all normal forces (N). The other arguments are described in
    `largest_cone_margin`.
    """
    n = free + 1
    matrix, slope = n, n + n * n
    for o in range(n):
        put(scratch, slope + o, 0.0)
        for p in range(n):
            put(scratch, matrix + n * o + p, 0.0)
    put(scratch, slope + free, tau)
    row = slope + n
    left = bound
    for k in range(count):
        left -= at(z, LOADS * k)
    for f in range(free):
        total = 0.0
        for k in range(count):
            total += at(basis, free * LOADS * k + f)
        put(scratch, row + f, total / left)
        put(scratch, slope + f, -total / left)
    for f in range(free):
        for p in range(f + 1):
            put(scratch, matrix + n * f + p, at(scratch, row + f) * at(scratch, row + p))
    for k in range(count):
        o, squared = LOADS * k, at(inverse, k) ** 2
        g, t1, t2 = at(z, o) - s, at(z, o + 1), at(z, o + 2)
        across = at(inverse, k) * math.sqrt(t1 * t1 + t2 * t2)
        q = (g - across) * (g + across)
        a, b1, b2 = 2.0 * g / q, -2.0 * squared * t1 / q, -2.0 * squared * t2 / q
        # The derivatives of (g, t1, t2) with respect to (y, s) are the rows of the basis, and dg/ds = -1.
        for f in range(n):
            dg = at(basis, free * o + f) if f < free else -1.0
            d1 = at(basis, free * (o + 1) + f) if f < free else 0.0
            d2 = at(basis, free * (o + 2) + f) if f < free else 0.0
            first = a * dg + b1 * d1 + b2 * d2
            put(scratch, row + f, first)
            put(scratch, slope + f, at(scratch, slope + f) + first)
        for f in range(n):
            dg = at(basis, free * o + f) if f < free else -1.0
            d1 = at(basis, free * (o + 1) + f) if f < free else 0.0
            d2 = at(basis, free * (o + 2) + f) if f < free else 0.0
            for p in range(f + 1):
                eg = at(basis, free * o + p) if p < free else -1.0
                e1 = at(basis, free * (o + 1) + p) if p < free else 0.0
                e2 = at(basis, free * (o + 2) + p) if p < free else 0.0
                bend = 2.0 / q * (dg * eg - squared * (d1 * e1 + d2 * e2)) - at(scratch, row + f) * at(scratch, row + p)
                put(scratch, matrix + n * f + p, at(scratch, matrix + n * f + p) - bend)
    return solved(scratch, n)


@kernel
def solved(scratch: np.ndarray, n: int) -> float:
    """Solve for the Newton step by Cholesky factorization; return the product of the gradient and the step.

    On entry `scratch` contains the matrix and the gradient for n unknowns; the step is written to it.
    """
    matrix, slope = n, n + n * n
    for f in range(n):
        whole = at(scratch, matrix + n * f + f)
        for p in range(f + 1):
            total = at(scratch, matrix + n * f + p)
            for k in range(p):
                total -= at(scratch, matrix + n * f + k) * at(scratch, matrix + n * p + k)
            if p < f:
                put(scratch, matrix + n * f + p, total / at(scratch, matrix + n * p + p))
            else:
                # A redistribution that changes no load has a matrix and a slope of zero, and its step is zero.
                put(scratch, matrix + n * f + f, math.sqrt(max(total, REGULAR * whole)) if whole > 0.0 else 1.0)
    for f in range(n):
        total = at(scratch, slope + f)
        for k in range(f):
            total -= at(scratch, matrix + n * f + k) * at(scratch, k)
        put(scratch, f, total / at(scratch, matrix + n * f + f))
    decrement = 0.0
    for f in range(n):
        decrement += at(scratch, f) ** 2
    for f in range(n - 1, -1, -1):
        total = at(scratch, f)
        for k in range(f + 1, n):
            total -= at(scratch, matrix + n * k + f) * at(scratch, k)
        put(scratch, f, total / at(scratch, matrix + n * f + f))
    return decrement
