"""Search for the contact point of two plane splines.

`table` contains the coefficients of both splines, called curves, in the layout of `constraints.closest_point`; `curve`
is the index at which a curve begins, and `o` that at which a polynomial piece begins. Curve i and curve j begin at
elements i and j of the table. Each piece and each group of adjacent pieces has an enclosing circle.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit.compilation import shared
from .closest_point import (
    CENTRE,
    LENGTH,
    MOST_STEPS,
    PLANE,
    PRECISION,
    RADIUS,
    TERMS,
    after,
    at_end,
    coefficients,
    group_at,
    group_count,
    group_size,
    highest,
    lowest,
    piece_at,
    power_sums,
)

# Pose of curve j in the plane of curve i: x = MAP[0] x' + MAP[1] y' + MAP[2], and y likewise.
Map = tuple[float, float, float, float, float, float]

# Number of samples of each piece.
SAMPLES = 3
# Newton's method has converged when a step, relative to the length of a piece, is below this limit and no longer
# decreases: the remaining steps are round-off.
ACCEPTED = 1e-8


@shared
def mapped(place: Map, x: float, y: float) -> tuple[float, float]:
    """Transform the point (x, y) from the plane coordinates of curve j to those of curve i.

    `place` is the pose of curve j relative to curve i.
    """
    return place[0] * x + place[1] * y + place[2], place[3] * x + place[4] * y + place[5]


@shared
def between_circles(table: np.ndarray, i: int, j: int, place: Map) -> tuple[float, float]:
    """Return the smallest and the largest distance (m) between points of two circles.

    The smallest distance is negative if the circles overlap. The radius and the center of each circle are three
    elements of the table, from element i for the first and element j for the second circle. `place` maps the second
    circle to the plane coordinates of the first.
    """
    x, y = mapped(place, table[j + 1], table[j + 2])
    apart = math.sqrt((x - table[i + 1]) ** 2 + (y - table[i + 2]) ** 2)
    radii = table[i] + table[j]
    return apart - radii, apart + radii


@shared
def place_on(table: np.ndarray, o: int, u: float) -> tuple[float, float, float, float, float, float]:
    """Return x, y, dx/du, dy/du, d2x/du2 and d2y/du2 of the point of a spline piece at parameter u.

    The piece begins at element o of the table.
    """
    a = o + CENTRE + PLANE
    x, dx, ddx = power_sums(table, a, u)
    y, dy, ddy = power_sums(table, a + TERMS, u)
    return x, y, dx, dy, ddx, ddy


@shared
def nearest_samples(table: np.ndarray, o: int, p: int, place: Map) -> tuple[float, float, float]:
    """Return the smallest distance (m) between sample points of two pieces, and the parameters of both points.

    The pieces begin at elements o and p of the table; `place` is the pose of curve j relative to curve i.
    """
    best, u, v = math.inf, 0.0, 0.0
    for n in range(SAMPLES):
        r = table[p + LENGTH] * n / (SAMPLES - 1)
        x_j, y_j, _, _, _, _ = place_on(table, p, r)
        x_j, y_j = mapped(place, x_j, y_j)
        for m in range(SAMPLES):
            s = table[o + LENGTH] * m / (SAMPLES - 1)
            x, y, _, _, _, _ = place_on(table, o, s)
            distance = (x_j - x) ** 2 + (y_j - y) ** 2
            if distance < best:
                best, u, v = distance, s, r
    return math.sqrt(best), u, v


@shared
def group_of(table: np.ndarray, curve: int, g: int) -> tuple[int, int, int]:
    """Return the index of the enclosing circle of a group of adjacent spline pieces, and the range of these pieces.

    g is the number of the group. The range consists of the number of the first piece, and that of the last piece plus
    one.
    """
    count = int(table[curve])
    size = group_size(count)
    return group_at(curve, count, g, PLANE), g * size, min(count, (g + 1) * size)


@shared
def nearest_groups(table: np.ndarray, i: int, j: int, groups: tuple[int, int], place: Map) -> tuple[int, int]:
    """Return the numbers of the two groups of adjacent pieces, of curves i and j, whose enclosing circles are closest.

    `groups` are the numbers of groups of both curves; `place` is the pose of curve j relative to curve i.
    """
    least, one, two = math.inf, 0, 0
    for g in range(groups[0]):
        for h in range(groups[1]):
            near, _ = between_circles(table, group_of(table, i, g)[0], group_of(table, j, h)[0], place)
            if near < least:
                least, one, two = near, g, h
    return one, two


@shared
def nearest_pair(table: np.ndarray, i: int, j: int, place: Map) -> tuple[int, float, int, float]:
    """Return a piece and a parameter on each of two curves, i then j, for two points near their closest points.

    The points are the closest of all sample points of the pieces. `place` is the pose of curve j relative to curve i.
    """
    groups = group_count(int(table[i])), group_count(int(table[j]))
    g, h = nearest_groups(table, i, j, groups, place)
    best, k, u, l, v = math.inf, 0, 0.0, 0, 0.0
    # The distance of the curves is at most the distance of the farthest points of any two circles.
    for a in range(group_of(table, i, g)[1], group_of(table, i, g)[2]):
        for b in range(group_of(table, j, h)[1], group_of(table, j, h)[2]):
            o, p = piece_at(i, a, PLANE), piece_at(j, b, PLANE)
            best = min(best, between_circles(table, o + RADIUS, p + RADIUS, place)[1])
    for g in range(groups[0]):
        one, first, last = group_of(table, i, g)
        for h in range(groups[1]):
            two, first_j, last_j = group_of(table, j, h)
            if between_circles(table, one, two, place)[0] > best:
                continue
            for a in range(first, last):
                for b in range(first_j, last_j):
                    o, p = piece_at(i, a, PLANE), piece_at(j, b, PLANE)
                    if between_circles(table, o + RADIUS, p + RADIUS, place)[0] <= best:
                        distance, s, r = nearest_samples(table, o, p, place)
                        if distance <= best:
                            best, k, u, l, v = distance, a, s, b, r
    return k, u, l, v


@shared
def within(table: np.ndarray, curve: int, k: int, u: float) -> tuple[int, float]:
    """Return the piece that contains a point of a curve, and its parameter relative to this piece.

    The parameter `u` is relative to piece k, but may lie outside of this piece. At the ends of an open curve the result
    is limited to a margin beyond the end.
    """
    count, open_ends = int(table[curve]), table[curve + 1] > 0.0
    for _ in range(count):
        length = table[piece_at(curve, k, PLANE) + LENGTH]
        if u > length and not (open_ends and k == count - 1):
            k, u = (k + 1) % count, u - length
        elif u < 0.0 and not (open_ends and k == 0):
            k = (k - 1) % count
            u += table[piece_at(curve, k, PLANE) + LENGTH]
        else:
            break
    return k, min(max(u, lowest(table, curve, k)), highest(table, curve, k, PLANE))


@shared
def newton_step(table: np.ndarray, o: int, u: float, p: int, v: float, place: Map) -> tuple[float, float]:
    """Return the increments of the parameters u and v in a Newton step towards a common normal of two curves.

    At the common normal the tangents are parallel, and the vector between the points is perpendicular to them. The
    pieces begin at elements o and p of the table; `place` is the pose of curve j relative to curve i.
    """
    x, y, dx, dy, ddx, ddy = place_on(table, o, u)
    x_j, y_j, dx_j, dy_j, ddx_j, ddy_j = place_on(table, p, v)
    x_j, y_j = mapped(place, x_j, y_j)
    turned = place[0], place[1], 0.0, place[3], place[4], 0.0
    dx_j, dy_j = mapped(turned, dx_j, dy_j)
    ddx_j, ddy_j = mapped(turned, ddx_j, ddy_j)
    apart_x, apart_y = x_j - x, y_j - y
    parallel, along = dx * dy_j - dy * dx_j, apart_x * dx + apart_y * dy
    a, b = ddx * dy_j - ddy * dx_j, dx * ddy_j - dy * ddx_j
    c, d = apart_x * ddx + apart_y * ddy - dx * dx - dy * dy, dx_j * dx + dy_j * dy
    inverse = 1.0 / (a * d - b * c)
    return -(d * parallel - b * along) * inverse, -(a * along - c * parallel) * inverse


def touching_pieces(
    table: np.ndarray, i: int, a: float, b: float, c: float, d: float, e: float, f: float
) -> tuple[float, ...]:
    """Return the parameters of a common normal on two curves, and the coefficients of both pieces.

    Of several common normals, the one nearest to the closest points of the curves is used. The parameters are NaN if
    there is no common normal, or if it is at an end of an open curve. Curve i begins at element i of the table,
    followed by curve j; the last six arguments are the pose of curve j relative to curve i, see `Map`.
    """
    j, place = after(table, i, PLANE), (a, b, c, d, e, f)
    k, u, l, v = nearest_pair(table, i, j, place)
    error = before = math.inf
    for _ in range(MOST_STEPS):
        o, p = piece_at(i, k, PLANE), piece_at(j, l, PLANE)
        length, length_j = table[o + LENGTH], table[p + LENGTH]
        du, dv = newton_step(table, o, u, p, v, place)
        error = max(abs(du) / length, abs(dv) / length_j)
        if not error > PRECISION or before <= error <= ACCEPTED:
            break
        before = error
        part = min(1.0, 1.0 / error)
        k, u = within(table, i, k, u + part * du)
        l, v = within(table, j, l, v + part * dv)
    if not error <= ACCEPTED or at_end(table, i, k, u, PLANE) or at_end(table, j, l, v, PLANE):
        u = v = math.nan
    o, p = piece_at(i, k, PLANE) + CENTRE + PLANE, piece_at(j, l, PLANE) + CENTRE + PLANE
    on_i = (u, *coefficients(table, o), *coefficients(table, o + TERMS))
    return *on_i, v, *coefficients(table, p), *coefficients(table, p + TERMS)
