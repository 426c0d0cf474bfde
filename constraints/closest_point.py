"""Search for the point of a spline nearest to a given point, with tables of spline coefficients.

A spline, called a curve, consists of polynomial pieces. Adjacent pieces are combined into groups with an enclosing
sphere each, so that the search can exclude distant groups as a whole. A margin extends the parameter range beyond both
ends of an open curve.

The table of a curve contains, in this order: the number of pieces; the margin, which is zero for closed curves; for
each piece its parameter length, the radius and center of an enclosing sphere, and TERMS polynomial coefficients per
coordinate; and for each group the radius and center of its sphere.

In the functions, `table` is an array with the tables of one or more curves, `curve` the index of the first element of a
curve, `k` the number of a piece, `o` the index of its first element, and `dimension` the number of coordinates.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit.compilation import shared

HEADER = 2
# Offsets of the parameter length, the radius and the center of the enclosing sphere in the data of a piece; the
# polynomial coefficients follow the center.
LENGTH, RADIUS, CENTRE = range(3)
SPACE, PLANE = 3, 2
# Number of coefficients per coordinate: pieces have a degree of at most 5.
TERMS = 6

# Number of intervals in which each piece is sampled before the nearest point is searched between two samples.
PARTS = 4
# Precision of the parameter of the nearest point, relative to its range on the piece, and maximum number of steps;
# Newton's method on jets refines the result.
PRECISION, MOST_STEPS = 1e-13, 60


@shared
def group_size(count: int) -> int:
    """Return the number of adjacent polynomial pieces per group, for a spline with `count` pieces.

    The pieces of a group have a common enclosing sphere, so that the search excludes distant groups as a whole.
    """
    return math.ceil(math.sqrt(count))


@shared
def group_count(count: int) -> int:
    """Return the number of groups of adjacent polynomial pieces, for a spline with `count` pieces.

    The pieces of a group have a common enclosing sphere, so that the search excludes distant groups as a whole.
    """
    return (count + group_size(count) - 1) // group_size(count)


@shared
def piece_at(curve: int, k: int, dimension: int) -> int:
    """Return the index at which polynomial piece k begins in a table of spline coefficients.

    `curve` is the index at which the spline begins, and `dimension` its number of coordinates.
    """
    return curve + HEADER + k * (2 + (1 + TERMS) * dimension)


@shared
def after(table: np.ndarray, curve: int, dimension: int) -> int:
    """Return the index of the first element after a spline in a table of spline coefficients.

    `curve` is the index at which the spline begins, and `dimension` its number of coordinates.
    """
    count = int(table[curve])
    return group_at(curve, count, group_count(count), dimension)


@shared
def group_at(curve: int, count: int, g: int, dimension: int) -> int:
    """Return the index at which the enclosing sphere of group g of a spline begins in a table of spline coefficients.

    A group consists of adjacent polynomial pieces. `curve` is the index at which the spline begins, `count` its number
    of pieces, and `dimension` its number of coordinates.
    """
    return piece_at(curve, count, dimension) + g * (1 + dimension)


@shared
def lowest(table: np.ndarray, curve: int, k: int) -> float:
    """Return the smallest parameter of piece k of a spline, relative to the start of the piece.

    It is zero, except for the first piece of an open spline, which extends beyond the end by a margin.
    """
    return -table[curve + 1] if k == 0 else 0.0


@shared
def highest(table: np.ndarray, curve: int, k: int, dimension: int) -> float:
    """Return the largest parameter of piece k of a spline, relative to the start of the piece.

    It is the length of the piece; the last piece of an open spline extends beyond the end by a margin.
    """
    length = table[piece_at(curve, k, dimension) + LENGTH]
    return length + table[curve + 1] if k == int(table[curve]) - 1 else length


@shared
def at_end(table: np.ndarray, curve: int, k: int, u: float, dimension: int) -> bool:
    """Whether the parameter u on piece k of an open spline is at a limit of the parameter range.

    The range extends beyond the ends of the spline by a margin.
    """
    first = k == 0 and u <= lowest(table, curve, k)
    last = k == int(table[curve]) - 1 and u >= highest(table, curve, k, dimension)
    return table[curve + 1] > 0.0 and (first or last)


@shared
def coefficients(table: np.ndarray, o: int) -> tuple[float, float, float, float, float, float]:
    """Return the TERMS polynomial coefficients that begin at element o of a table, in ascending powers."""
    return table[o], table[o + 1], table[o + 2], table[o + 3], table[o + 4], table[o + 5]


@shared
def power_sums(table: np.ndarray, o: int, u: float) -> tuple[float, float, float]:
    """Return the value of a polynomial at u, and its first and second derivative with respect to u.

    The coefficients are TERMS elements of `table` from element o on, in ascending powers.
    """
    p, tangent, second = 0.0, 0.0, 0.0
    for m in range(TERMS - 1, -1, -1):
        second = second * u + 2.0 * tangent
        tangent = tangent * u + p
        p = p * u + table[o + m]
    return p, tangent, second


@shared
def out_of_sphere(table: np.ndarray, o: int, x: float, y: float, z: float) -> float:
    """Return the distance of the point (x, y, z) from the surface of a sphere, m; negative inside the sphere.

    The radius of the sphere is element o of the table, its center the next three elements.
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
    """Return the parameter and the distance (m) of the point of a spline piece that is nearest to (x, y, z).

    Only parameters from `lo` to `hi` are considered. The piece begins at element o of `table`.
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

    The parameter is relative to the start of this polynomial piece. It is NaN if the nearest point is an end of an open
    curve.
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
