"""Parts of bounded surfaces: the face, the edges and the corners of a rectangle, the face and the rim of a disk.

A sphere touches the part that is nearest to its center. The gap, the distance from that part less the radius, has a
continuous gradient where one part passes into another, and a curvature that jumps there. So while a contact is open its
gap is that from the nearest part; at rest the row is that of one part, which is smooth, and the run ends a step where
the center passes a border of that part.

Numbers of a rectangle: radius of the sphere, half the sides a and b, and for x and y which edge counts, -1 or 1, or 0
for the face between them. Numbers of a disk: radius of the sphere, its own radius R, and 1 for the rim or 0 for the
face.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..autodiff.jet import where
from .surface import Surface

# The same functions take jets and floats.
Number = Any


@dataclass(frozen=True)
class SurfaceParts:
    """The parts of one kind of bounded surface, of which the first is the face.

    Points have coordinates x and y in the frame of the surface; `numbers` are those of the contact, as above.

    Attributes
    ----------
    selectors : of each part the last of the numbers, which select it
    offset : (x, y, numbers) -> components along x and y from the nearest place of the selected part
    nearest : the same from the nearest place of the whole surface, whatever the selectors are
    borders : (x, y, numbers) -> lengths, each negative where the point is beyond that border of the selected part
    at : (x, y, numbers) of floats -> number of the part that is nearest
    count : of borders
    """

    selectors: tuple[tuple[float, ...], ...]
    offset: Callable[[Number, Number, Sequence[Number]], tuple[Number, Number]]
    nearest: Callable[[Number, Number, Sequence[Number]], tuple[Number, Number]]
    borders: Callable[[Number, Number, Sequence[Number]], tuple[Number, ...]]
    at: Callable[[float, float, Sequence[float]], int]
    count: int

    def numbers(self, size: Sequence[float], part: int) -> tuple[float, ...]:
        """Return the numbers of a contact at a part, from those of its size."""
        return *size, *self.selectors[part]


def size_of(bounded: Surface, sphere: Surface) -> tuple[float, ...]:
    """Return the numbers of a contact of a bounded surface with a sphere that do not depend on the part."""
    return (sphere.radius, *bounded.half_size) if bounded.kind == "rectangle" else (sphere.radius, bounded.radius)


def _from_edges(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    _, a, b, p, q = numbers
    return p * (p * x - a), q * (q * y - b)


def _from_rectangle(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    return _beyond(x, numbers[1]), _beyond(y, numbers[2])


def _beyond(x: Number, a: Number) -> Number:
    """How far x is outside of -a to a, with its sign."""
    return where(x > a, x - a, where(x < -a, x + a, 0.0 * x))


def _edges(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, ...]:
    _, a, b, p, q = numbers
    return _edge(x, a, p), _edge(y, b, q)


def _edge(x: Number, a: Number, p: Number) -> Number:
    """Within the face the distance from its nearer edge, as good as that near by; beside it, how far beyond it is."""
    return (1.0 - p * p) * (a * a - x * x) * (0.5 / a) + p * p * (p * x - a)


def _edge_at(x: float, y: float, numbers: Sequence[float]) -> int:
    p, q = (1.0 if x > a else -1.0 if x < -a else 0.0 for x, a in ((x, numbers[1]), (y, numbers[2])))
    return EDGES.index((p, q))


def _from_rim(x: Number, y: Number, numbers: Sequence[Number]) -> tuple[Number, Number]:
    _, R, p = numbers
    # On the face, which has no offset, there is no division by zero at the center.
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
