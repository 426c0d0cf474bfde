"""Parts of bounded surfaces: face, edges and corners of a rectangle; face and rim of a disk.

A sphere touches the part nearest to its center. The gap is the distance from this part minus the radius; its gradient
is continuous where the nearest part changes, but its curvature jumps. An open contact uses the gap to the nearest part.
The constraint row of a closed contact uses the smooth gap to a single part, and integration steps end where the center
crosses a border of this part.

The constants (`numbers`) of a contact with a rectangle are the radius of the sphere, the half-lengths a and b of the
sides, and two selectors, for x and y: -1 or 1 selects the edge on this side, 0 the face between the edges. The
constants of a contact with a disk are the radius of the sphere, the radius R of the disk, and a selector: 1 for the
rim, 0 for the face.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..autodiff.jet import where
from .surface import Surface

# Type of the arguments: jets or floats.
Number = Any


@dataclass(frozen=True)
class SurfaceParts:
    """The parts of one kind of bounded surface; the first part is the face.

    Coordinates x and y are in the frame of the surface; `numbers` are the constants of the contact, as listed in the
    module docstring.

    Attributes
    ----------
    selectors : for each part, the selectors at the end of the constants
    offset : function of (x, y, numbers) that returns the vector (2,), m, from the nearest point of the selected part to
        (x, y)
    nearest : like `offset`, for the nearest point of the whole surface
    borders : function of (x, y, numbers) that returns the signed distance, m, from each border of the selected part,
        negative beyond the border
    at : function of floats (x, y, numbers) that returns the index of the nearest part
    count : number of borders of each part
    """

    selectors: tuple[tuple[float, ...], ...]
    offset: Callable[[Number, Number, Sequence[Number]], tuple[Number, Number]]
    nearest: Callable[[Number, Number, Sequence[Number]], tuple[Number, Number]]
    borders: Callable[[Number, Number, Sequence[Number]], tuple[Number, ...]]
    at: Callable[[float, float, Sequence[float]], int]
    count: int

    def numbers(self, size: Sequence[float], part: int) -> tuple[float, ...]:
        """Return the constants of the gap function for the part of index `part`.

        `size` are the constants common to all parts, from `size_of`; the selectors of the part are appended.
        """
        return *size, *self.selectors[part]


def size_of(bounded: Surface, sphere: Surface) -> tuple[float, ...]:
    """Return the constants common to all parts, m: radius of the sphere, then half-lengths or radius of the surface.

    `bounded` is the bounded surface, and `sphere` the surface in contact with it.
    """
    return (sphere.radius, *bounded.half_size) if bounded.kind == "rectangle" else (sphere.radius, bounded.radius)


def _from_edges(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    _, a, b, p, q = numbers
    return p * (p * x - a), q * (q * y - b)


def _from_rectangle(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    return _excess(x, numbers[1]), _excess(y, numbers[2])


def _excess(x: Number, a: Number) -> Number:
    """Return x - a above the interval [-a, a], x + a below it, and zero inside."""
    return where(x > a, x - a, where(x < -a, x + a, 0.0 * x))


def _edges(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, ...]:
    _, a, b, p, q = numbers
    return _edge(x, a, p), _edge(y, b, q)


def _edge(x: Number, a: Number, p: Number) -> Number:
    """Return the signed distance (m) of the coordinate x from an edge of a rectangle with the half-length a.

    For p = 1 or -1 the result is the distance from the edge at x = p a, positive outside the rectangle. For p = 0, the
    face, it approximates the distance from the nearer edge, positive inside.
    """
    return (1.0 - p * p) * (a * a - x * x) * (0.5 / a) + p * p * (p * x - a)


def _edge_at(x: float, y: float, numbers: Sequence[float]) -> int:
    p, q = (1.0 if x > a else -1.0 if x < -a else 0.0 for x, a in ((x, numbers[1]), (y, numbers[2])))
    return EDGES.index((p, q))


def _from_rim(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    _, R, p = numbers
    # On the face, where the offset is zero, the added 1 avoids a division by zero at the center.
    part = p * (1.0 - R / (x * x + y * y + (1.0 - p)).sqrt())
    return x * part, y * part


def _from_disk(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    R, square = numbers[1], x * x + y * y
    part = where(square > R * R, 1.0 - R / where(square > R * R, square, R * R).sqrt(), 0.0 * square)
    return x * part, y * part


def _rims(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, ...]:
    _, R, p = numbers
    return ((1.0 - 2.0 * p) * (R * R - x * x - y * y) * (0.5 / R),)


def _rim_at(x: float, y: float, numbers: Sequence[float]) -> int:
    return int(x * x + y * y > numbers[1] * numbers[1])


EDGES = ((0.0, 0.0), *((p, 0.0) for p in (1.0, -1.0)), *((0.0, q) for q in (1.0, -1.0)),
         *((p, q) for p in (1.0, -1.0) for q in (1.0, -1.0)))  # fmt: skip

PARTS = {
    "rectangle": SurfaceParts(EDGES, _from_edges, _from_rectangle, _edges, _edge_at, 2),
    "disk": SurfaceParts(((0.0,), (1.0,)), _from_rim, _from_disk, _rims, _rim_at, 1),
}
