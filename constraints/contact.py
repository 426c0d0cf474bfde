"""Contacts of simple surfaces: planes, spheres, points and the rims of disks and cylinders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quirk import rotation, validate
from quirk.body import Body, Ground
from quirk.errors import InputError
from quirk.frame import Frame, axes_with_z
from quirk.jets import Jet
from quirk.made import remembered

from .constraint import checked_ends
from .primitives import Z
from .relation import FORCE, MovingFrame, Relation
from .unilateral import Unilateral


@dataclass(frozen=True)
class Surface:
    """A surface fixed in a body, in the coordinates of that body.

    Attributes
    ----------
    kind : "plane", "sphere" or "rim"
    frame : its origin, and its normal or axis as z
    radius : m, zero of a plane and of a point
    """

    kind: str
    frame: Frame
    radius: float = 0.0


@remembered
def plane(point: Any = (0, 0, 0), normal: Any = (0, 0, 1)) -> Surface:
    """Return a plane through a point (3,) m with a normal (3,) that points out of the body."""
    axes = axes_with_z(validate.direction("plane", "normal", normal))
    return Surface("plane", Frame(validate.array("plane", "point", point, (3,)), rotation.from_matrix(axes)))


@remembered
def sphere(radius: float, centre: Any = (0, 0, 0)) -> Surface:
    """Return a sphere of a radius, m, about a centre (3,) m."""
    place = Frame(validate.array("sphere", "centre", centre, (3,)))
    return Surface("sphere", place, validate.positive("sphere", "radius", radius))


@remembered
def point(position: Any = (0, 0, 0)) -> Surface:
    """Return a single point (3,) m, such as a corner."""
    return Surface("sphere", Frame(validate.array("point", "position", position, (3,))))


@remembered
def rim(radius: float, centre: Any = (0, 0, 0), axis: Any = (0, 0, 1)) -> Surface:
    """Return a circle of a radius, m, about a centre (3,) m and an axis (3,): the edge of a disk or of a cylinder."""
    axes = axes_with_z(validate.direction("rim", "axis", axis))
    place = Frame(validate.array("rim", "centre", centre, (3,)), rotation.from_matrix(axes))
    return Surface("rim", place, validate.positive("rim", "radius", radius))


def plane_and_sphere(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Height of a sphere above a plane."""
    i, j = frames
    return [i.rotation[:, Z] @ (j.position - i.position) - numbers[0]]


def two_spheres(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Distance of two centres less both radii."""
    d = frames[1].position - frames[0].position
    return [(d @ d).sqrt() - numbers[0]]


def plane_and_rim(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Height of the lowest point of a circle above a plane."""
    i, j = frames
    normal, axis = i.rotation[:, Z], j.rotation[:, Z]
    cosine = normal @ axis
    return [normal @ (j.position - i.position) - numbers[0] * (1.0 - cosine * cosine).sqrt()]


GAPS: dict[tuple[str, str], Callable[..., Sequence[Jet]]] = {
    ("plane", "sphere"): plane_and_sphere,
    ("sphere", "sphere"): two_spheres,
    ("plane", "rim"): plane_and_rim,
}
FLAT = "its rim lies flat on the plane: no point of it is lowest"


class Contact(Unilateral):
    """Two bodies that touch and do not pass through each other; its load is the force on body j where they touch.

    Parameters
    ----------
    name : str
    body_i, body_j : Body or GROUND
    on_i, on_j : Surface
        What touches, in the coordinates of their bodies: `quirk.surface.plane`, `quirk.surface.sphere`,
        `quirk.surface.point` or `quirk.surface.rim`. A plane touches a sphere, a point or a rim; a sphere or point
        touches a sphere or point.
    restitution : float
        From 0, the default, to 1.
    rest_speed : float, optional
        m/s; slower impacts come to rest.
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        on_i: Surface,
        on_j: Surface,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        owner = checked_ends("Contact", name, body_i, body_j)
        for argument, surface in (("on_i", on_i), ("on_j", on_j)):
            if not isinstance(surface, Surface):
                raise InputError(
                    f"{owner}: {argument} must be a surface, such as quirk.surface.sphere(0.1); got {surface!r}"
                )
        self.turned = (on_i.kind, on_j.kind) not in GAPS
        first, second = (on_j, on_i) if self.turned else (on_i, on_j)
        if (first.kind, second.kind) not in GAPS:
            raise InputError(
                f"{owner}: a {on_i.kind} and a {on_j.kind} cannot touch each other here; one must be a plane"
            )
        if first.radius + second.radius <= 0 and first.kind == "sphere":
            raise InputError(f"{owner}: two points cannot touch each other: give one a radius")
        super().__init__(name, body_i, body_j, on_i.frame, on_j.frame, active=False)
        self.surfaces = on_i, on_j
        function = GAPS[first.kind, second.kind]
        undefined = FLAT if second.kind == "rim" else "both centres coincide" if first.kind == "sphere" else ""
        relation = Relation(
            _swapped(function) if self.turned else function,
            ("gap",),
            (FORCE,),
            (first.radius + second.radius,),
            undefined=undefined,
        )
        self.gaps = (relation,)
        self._bounce(restitution, rest_speed)


_SWAPPED: dict[Any, Any] = {}


def _swapped(function: Callable[..., Sequence[Jet]]) -> Callable[..., Sequence[Jet]]:
    """The same gap with the frames the other way round; one function object for each, so that code is shared."""
    if function not in _SWAPPED:

        def swapped(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
            return function(t, frames[::-1], numbers, motions)

        _SWAPPED[function] = swapped
    return _SWAPPED[function]
