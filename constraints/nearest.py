"""Search for the point of a spline nearest to a given point, with tables of spline coefficients.

A spline, called a curve, consists of polynomial pieces. The table of a curve begins with the number of pieces and with
the margin of the parameter beyond its ends, which is zero for closed curves. Then the table has for each piece the
parameter length, the radius and the center of an enclosing sphere, and TERMS coefficients per coordinate. The last
elements are radius and center of spheres around groups of adjacent pieces, which serve to exclude distant groups from
the search.

In the functions, `table` is an array with the tables of one or more curves, `curve` the index of the first element of a
curve, `k` the number of a piece, `o` the index of its first element, and `dimension` the number of coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit.compilation import shared

HEADER = 2
# Offsets in the elements of a piece; the coefficients follow the center.
LENGTH, RADIUS, CENTRE = range(3)
SPACE, PLANE = 3, 2
# Number of coefficients per coordinate: pieces have a degree of at most 5.
TERMS = 6

# Number of intervals in which each piece is sampled before the nearest point is searched between two samples.
PARTS = 4
# Relative precision of parameters, and maximum number of steps; Newton's method on jets refines the result.
PRECISION, MOST_STEPS = 1e-13, 60


@shared
def group_size(count: int) -> int:
    """Return the number of pieces in each group of a curve with `count` pieces."""
    return math.ceil(math.sqrt(count))


@shared
def group_count(count: int) -> int:
    """Return the number of groups of a curve with `count` pieces."""
    return (count + group_size(count) - 1) // group_size(count)


@shared
def piece_at(curve: int, k: int, dimension: int) -> int:
    """Return the index of the first element of piece k in a table of spline coefficients."""
    return curve + HEADER + k * (2 + (1 + TERMS) * dimension)


@shared
def after(table: np.ndarray, curve: int, dimension: int) -> int:
    """Return the index of the first element after a curve in the table of spline coefficients."""
    count = int(table[curve])
    return group_at(curve, count, group_count(count), dimension)


@shared
def group_at(curve: int, count: int, g: int, dimension: int) -> int:
    """Return the index of the first element of group g in a spline table, for a curve with `count` pieces."""
    return piece_at(curve, count, dimension) + g * (1 + dimension)


@shared
def lowest(table: np.ndarray, curve: int, k: int) -> float:
    """Return the smallest parameter of piece k of a spline, including the margin before the first piece."""
    return -table[curve + 1] if k == 0 else 0.0


@shared
def highest(table: np.ndarray, curve: int, k: int, dimension: int) -> float:
    """Return the largest parameter of piece k of a spline, including the margin after the last piece."""
    length = table[piece_at(curve, k, dimension) + LENGTH]
    return length + table[curve + 1] if k == int(table[curve]) - 1 else length


@shared
def at_end(table: np.ndarray, curve: int, k: int, u: float, dimension: int) -> bool:
    """Whether the parameter u on piece k of an open spline lies in the margin beyond an end of the curve."""
    first = k == 0 and u <= lowest(table, curve, k)
    last = k == int(table[curve]) - 1 and u >= highest(table, curve, k, dimension)
    return table[curve + 1] > 0.0 and (first or last)


@shared
def coefficients(table: np.ndarray, o: int) -> tuple[float, float, float, float, float, float]:
    """Return the TERMS polynomial coefficients, in ascending powers, that begin at element o of a spline table."""
    return table[o], table[o + 1], table[o + 2], table[o + 3], table[o + 4], table[o + 5]


@shared
def power_sums(table: np.ndarray, o: int, u: float) -> tuple[float, float, float]:
    """Return the value of a polynomial at u, and its first and second derivative.

    The coefficients begin at element o of the table, in ascending powers.
    """
    p, tangent, second = 0.0, 0.0, 0.0
    for m in range(TERMS - 1, -1, -1):
        second = second * u + 2.0 * tangent
        tangent = tangent * u + p
        p = p * u + table[o + m]
    return p, tangent, second


@shared
def out_of_sphere(table: np.ndarray, o: int, x: float, y: float, z: float) -> float:
    """Return the distance of the point (x, y, z) from the surface of a sphere, m; it is negative inside.

    The radius of the sphere is at element o of the table, its center in the next elements.
    """
    dx, dy, dz = x - table[o + 1], y - table[o + 2], z - table[o + 3]
    return math.sqrt(dx * dx + dy * dy + dz * dz) - table[o]


@shared
def slope_of_distance(table: np.ndarray, o: int, u: float, x: float, y: float, z: float) -> tuple[float, float, float]:
    """Return half the squared distance (m^2) of a point from a curve, and its first two derivatives with respect to u.

    The point is (x, y, z), m; the curve point is at parameter u of the piece that begins at element o of `table`.
    """
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
    """Return the parameter and the distance (m) of the point of one piece that is nearest to (x, y, z).

    The parameter is between `lo` and `hi`.
    """
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
    """Return the parameter of the point of a space curve nearest to (x, y, z), and the coefficients of its piece.

    The parameter is relative to the start of the piece; it is NaN if the nearest point is an end of an open curve.
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
