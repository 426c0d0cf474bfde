"""Searches along splines: the point nearest to a given one, and where two curves in a plane touch.

A curve is a table: the number of its pieces and a margin beyond its ends, zero if it is closed; of each piece how long
its parameter runs, radius and center of a sphere around it, and TERMS coefficients for each coordinate; then radius and
center of spheres around groups of neighboring pieces, so that those far away are passed over together.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit.compilation import shared

HEADER = 2
# Entries of a piece, where the coefficients follow the center.
LENGTH, RADIUS, CENTRE = range(3)
SPACE, PLANE = 3, 2
# Coefficients for each coordinate: pieces are of degree 5 at most.
TERMS = 6

# A piece is looked at in so many places before the nearest point is searched between two of them.
PARTS = 4
# Parameters are found to this part of a piece, in at most so many steps; Newton's method on jets goes on from there.
PRECISION, MOST_STEPS = 1e-13, 60


@shared
def group_size(count: int) -> int:
    """How many of so many pieces share a group."""
    return math.ceil(math.sqrt(count))


@shared
def group_count(count: int) -> int:
    """How many groups so many pieces make."""
    return (count + group_size(count) - 1) // group_size(count)


@shared
def piece_at(curve: int, k: int, dimension: int) -> int:
    """Where the k-th piece of the curve at element `curve` stands."""
    return curve + HEADER + k * (2 + (1 + TERMS) * dimension)


@shared
def after(table: np.ndarray, curve: int, dimension: int) -> int:
    """First element behind a curve."""
    count = int(table[curve])
    return group_at(curve, count, group_count(count), dimension)


@shared
def group_at(curve: int, count: int, g: int, dimension: int) -> int:
    """Where the g-th group of a curve of so many pieces stands."""
    return piece_at(curve, count, dimension) + g * (1 + dimension)


@shared
def lowest(table: np.ndarray, curve: int, k: int) -> float:
    """Least parameter of a piece."""
    return -table[curve + 1] if k == 0 else 0.0


@shared
def highest(table: np.ndarray, curve: int, k: int, dimension: int) -> float:
    """Largest parameter of a piece."""
    length = table[piece_at(curve, k, dimension) + LENGTH]
    return length + table[curve + 1] if k == int(table[curve]) - 1 else length


@shared
def at_end(table: np.ndarray, curve: int, k: int, u: float, dimension: int) -> bool:
    """Whether a parameter is as far beyond an end of an open curve as it may be."""
    first = k == 0 and u <= lowest(table, curve, k)
    last = k == int(table[curve]) - 1 and u >= highest(table, curve, k, dimension)
    return table[curve + 1] > 0.0 and (first or last)


@shared
def coefficients(table: np.ndarray, o: int) -> tuple[float, float, float, float, float, float]:
    """The TERMS numbers from element o on."""
    return table[o], table[o + 1], table[o + 2], table[o + 3], table[o + 4], table[o + 5]


@shared
def power_sums(table: np.ndarray, o: int, u: float) -> tuple[float, float, float]:
    """One coordinate at a parameter, with both derivatives, from its coefficients at element o."""
    p, tangent, second = 0.0, 0.0, 0.0
    for m in range(TERMS - 1, -1, -1):
        second = second * u + 2.0 * tangent
        tangent = tangent * u + p
        p = p * u + table[o + m]
    return p, tangent, second


@shared
def out_of_sphere(table: np.ndarray, o: int, x: float, y: float, z: float) -> float:
    """Distance of a point from a sphere whose radius is at element o, negative within."""
    dx, dy, dz = x - table[o + 1], y - table[o + 2], z - table[o + 3]
    return math.sqrt(dx * dx + dy * dy + dz * dz) - table[o]


@shared
def slope_of_distance(table: np.ndarray, o: int, u: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Half the squared distance of a point from a place on a piece, and its derivatives by the parameter."""
    half, slope, bend = 0.0, 0.0, 0.0
    for c in range(SPACE):
        p, tangent, second = power_sums(table, o + CENTRE + SPACE + TERMS * c, u)
        d = p - (x if c == 0 else y if c == 1 else z)
        half += 0.5 * d * d
        slope += d * tangent
        bend += tangent * tangent + d * second
    return half, slope, bend


@shared
def nearest_on(table: np.ndarray, o: int, lo: float, hi: float, x: float, y: float, z: float) -> tuple[float, float]:
    """Parameter of the place of a piece nearest to a point, and the distance."""
    step, best, near = (hi - lo) / PARTS, math.inf, 0
    for m in range(PARTS + 1):
        half, _, _ = slope_of_distance(table, o, lo + m * step, x, y, z)
        if half < best:
            best, near = half, m
    u = lo + near * step
    left, right = max(lo, u - step), min(hi, u + step)
    for _ in range(MOST_STEPS):
        best, slope, bend = slope_of_distance(table, o, u, x, y, z)
        if (u <= lo and slope >= 0.0) or (u >= hi and slope <= 0.0):
            break
        if slope > 0.0:
            right = u
        else:
            left = u
        new = u - slope / bend if bend > 0.0 else left - 1.0
        if not left <= new <= right:
            new = 0.5 * (left + right)
        change, u = abs(new - u), new
        if change <= PRECISION * (hi - lo):
            break
    return u, math.sqrt(2.0 * best)


def nearest_piece(table: np.ndarray, curve: int, x: float, y: float, z: float) -> tuple[float, ...]:
    """Where a curve in space is nearest to a point: the parameter in a piece, and the coefficients of that.

    The parameter is not a number where the nearest place is an end of an open curve.
    """
    count = int(table[curve])
    size, best, found, where = group_size(count), math.inf, 0, 0.0
    for g in range(group_count(count)):
        o = group_at(curve, count, g, SPACE)
        best = min(best, out_of_sphere(table, o, x, y, z) + 2.0 * table[o])
    for g in range(group_count(count)):
        if out_of_sphere(table, group_at(curve, count, g, SPACE), x, y, z) > best:
            continue
        for k in range(g * size, min(count, (g + 1) * size)):
            o = piece_at(curve, k, SPACE)
            if out_of_sphere(table, o + RADIUS, x, y, z) > best:
                continue
            u, distance = nearest_on(table, o, lowest(table, curve, k), highest(table, curve, k, SPACE), x, y, z)
            if distance <= best:
                best, found, where = distance, k, u
    if at_end(table, curve, found, where, SPACE):
        where = math.nan
    a = piece_at(curve, found, SPACE) + CENTRE + SPACE
    return where, *coefficients(table, a), *coefficients(table, a + TERMS), *coefficients(table, a + 2 * TERMS)
