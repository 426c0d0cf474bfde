"""Gap functions of pairs of surfaces, and the list of pairs that can touch.

A gap function has four arguments: time, the moving frames of both surfaces, constants, and an empty list of motions. It
returns a list with the gap, m. The first constant is a sum or difference of radii.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..autodiff.jet import Jet, where
from .bounded import PARTS, SurfaceParts, size_of
from .primitives import X, Y, Z
from .relation import MovingFrame
from .surface import Surface

# Lower bound of squared distances, m^2: below it the direction is undefined, but its computation must not give NaN.
LEAST_SQUARE = 1e-290


def plane_and_sphere(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the height of a sphere above a plane, m."""
    i, j = frames
    return [i.rotation[:, Z] @ (j.position - i.position) - numbers[0]]


def two_spheres(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the gap between two spheres, m: the distance of their centers minus both radii."""
    d = frames[1].position - frames[0].position
    return [(d @ d).sqrt() - numbers[0]]


def plane_and_rim(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the height of the lowest point of a circle above a plane, m."""
    i, j = frames
    normal, axis = i.rotation[:, Z], j.rotation[:, Z]
    cosine = normal @ axis
    return [normal @ (j.position - i.position) - numbers[0] * (1.0 - cosine * cosine).sqrt()]


def bowl_and_sphere(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the gap, m, between a bowl and a sphere inside it: difference of radii minus distance of centers.

    If the centers coincide, the direction of the gap is undefined, and its rate is zero.
    """
    d = frames[1].position - frames[0].position
    square = d @ d
    return [numbers[0] - where(square > LEAST_SQUARE, square, square.constant(LEAST_SQUARE)).sqrt()]


def bowl_on_sphere(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the gap, m, between a bowl and a sphere inside it that touches it; the centers must not coincide."""
    d = frames[1].position - frames[0].position
    return [numbers[0] - (d @ d).sqrt()]


@dataclass(frozen=True)
class FromBounded:
    """Gap function of a bounded surface and a sphere.

    Attributes
    ----------
    kind : kind of the bounded surface
    nearest : True for the gap to the nearest part, False for the gap to the part selected by the constants
    """

    kind: str
    nearest: bool

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the distance of the sphere's center from the surface minus the radius of the sphere, m."""
        x, y, z = in_frame(*frames)
        parts = PARTS[self.kind]
        a, b = (parts.nearest if self.nearest else parts.offset)(x, y, numbers)
        square = a * a + b * b + z * z
        if self.nearest:
            square = where(square > LEAST_SQUARE, square, square.constant(LEAST_SQUARE))
        return [square.sqrt() - numbers[0]]


@dataclass(frozen=True)
class BorderOf:
    """Distance, m, of a sphere's center from a border of the selected part of a bounded surface.

    The distance is negative beyond the border.

    Attributes
    ----------
    kind : kind of the bounded surface
    number : index of the border
    """

    kind: str
    number: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the distance of the sphere's center from the border, m, negative beyond the border."""
        x, y, _ = in_frame(*frames)
        return [PARTS[self.kind].borders(x, y, numbers)[self.number]]


def in_frame(i: Any, j: Any) -> tuple[Any, Any, Any]:
    """Return the three coordinates, m, of the origin of frame j in frame i."""
    d = j.position - i.position
    return i.rotation[:, X] @ d, i.rotation[:, Y] @ d, i.rotation[:, Z] @ d


@dataclass(frozen=True)
class Pair:
    """Gap functions and constants for two kinds of surfaces that can touch.

    Attributes
    ----------
    gap : gap between the surfaces, for open contacts
    at_rest : gap between the surfaces, for closed contacts
    numbers : function of both surfaces that returns the constants of the gap functions
    undefined : explanation in error messages if the gap is NaN
    parts : parts of the first surface, if it is bounded
    """

    gap: Callable[..., Sequence[Jet]]
    at_rest: Callable[..., Sequence[Jet]]
    numbers: Callable[[Surface, Surface], tuple[float, ...]]
    undefined: str = ""
    parts: SurfaceParts | None = None


def _sum_of_radii(first: Surface, second: Surface) -> tuple[float, ...]:
    return (first.radius + second.radius,)


def _difference_of_radii(first: Surface, second: Surface) -> tuple[float, ...]:
    return (first.radius - second.radius,)


def _bounded(kind: str) -> Pair:
    """Return the gap functions of a sphere and a bounded surface of kind `kind`."""
    parts = PARTS[kind]

    def numbers(first: Surface, second: Surface) -> tuple[float, ...]:
        return parts.numbers(size_of(first, second), 0)

    return Pair(FromBounded(kind, True), FromBounded(kind, False), numbers, parts=parts)


FLAT = "its rim lies flat on the plane: no point of it is lowest"
PAIRS: dict[tuple[str, str], Pair] = {
    ("plane", "sphere"): Pair(plane_and_sphere, plane_and_sphere, _sum_of_radii),
    ("sphere", "sphere"): Pair(two_spheres, two_spheres, _sum_of_radii, "both centers coincide"),
    ("plane", "rim"): Pair(plane_and_rim, plane_and_rim, _sum_of_radii, FLAT),
    ("bowl", "sphere"): Pair(bowl_and_sphere, bowl_on_sphere, _difference_of_radii),
    ("rectangle", "sphere"): _bounded("rectangle"),
    ("disk", "sphere"): _bounded("disk"),
}


_SWAPPED: dict[Any, Any] = {}


def swapped(function: Callable[..., Sequence[Jet]]) -> Callable[..., Sequence[Jet]]:
    """Return a gap function with the two frames exchanged.

    Repeated calls for the same function return the same object, so that its compiled code is shared.
    """
    if function not in _SWAPPED:

        def with_frames_swapped(
            t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]
        ) -> Sequence[Jet]:
            return function(t, frames[::-1], numbers, motions)

        _SWAPPED[function] = with_frames_swapped
    return _SWAPPED[function]


def touched_by(kind: str) -> str:
    """Return a clause for error messages that lists the kinds of surface that `kind` can touch."""
    others = [*(b for a, b in PAIRS if a == kind), *(a for a, b in PAIRS if b == kind and a != kind)]
    return f"a {kind} touches a {' or '.join(others)}"
