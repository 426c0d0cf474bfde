"""Geometry of URDF and SDF files as shapes, and the mesh files that they name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.shapes import Box, Cylinder, Ellipsoid, Shape

from .addresses import Addresses
from .description import at
from .left_out import LeftOut
from .markup import Element, shortened
from .pose import Pose

# A shape in body coordinates from the pose, in the body, of the link that has it.
Placed = Callable[[Pose], Shape]


def placed(where: Any, kind: Callable[..., Shape], pose: Pose, color: Any, *sizes: Any) -> Placed:
    """Return a shape that stands so in a link."""

    def make(link: Pose) -> Shape:
        with at(where):
            return kind(*sizes, frame=(link @ pose).frame, color=color)

    return make


def ball(radius: Any, **others: Any) -> Ellipsoid:
    """Return a sphere."""
    return Ellipsoid((radius, radius, radius), **others)


def capsule(where: Any, pose: Pose, color: Any, radius: float, length: float) -> list[Placed]:
    """Return a cylinder along z with half a ball at each end."""
    ends = (pose @ Pose(np.eye(3), np.array([0.0, 0.0, z])) for z in (-length / 2, length / 2))
    return [
        placed(where, Cylinder, pose, color, radius, length),
        *(placed(where, ball, p, color, radius) for p in ends),
    ]


def color_of(element: Element, numbers: np.ndarray) -> tuple[float, ...]:
    """Return red, green, blue and opacity, all between 0 and 1."""
    if numbers.min() < 0 or numbers.max() > 1:
        raise element.error(f"a colour must be of numbers between 0 and 1; got {numbers.tolist()}")
    return tuple(numbers.tolist())


class MeshFiles:
    """Mesh files that a description names.

    Parameters
    ----------
    addresses : Addresses
    left_out : LeftOut, for those that are not there
    """

    def __init__(self, addresses: Addresses, left_out: LeftOut) -> None:
        self.addresses, self.left_out = addresses, left_out

    def shapes(self, element: Element, name: str, scale: np.ndarray, pose: Pose, color: Any) -> list[Placed]:
        """Return the mesh of a file, or nothing where it cannot be read, which is noted."""
        from quirk.shapes import Mesh

        path = self.addresses.find(name, element.root.folder)
        if path is None:
            self.left_out.note(f"mesh file {shortened(name)!r}, which is not there", element.owner)
            return []
        try:
            mesh = Mesh.load(path, scale=scale)
        except InputError as error:
            self.left_out.note(f"mesh file {shortened(name)!r}, which cannot be read ({error})", element.owner)
            return []
        return [placed(element, functools.partial(replace, mesh), pose, color)]


def primitive(geometry: Element, pose: Pose, color: Any) -> list[Placed] | None:
    """Return boxes, cylinders and spheres as URDF has them, in attributes; None for another geometry."""
    box, cylinder, sphere = (geometry.one(tag) for tag in ("box", "cylinder", "sphere"))
    if box is not None:
        return [placed(box, Box, pose, color, box.vector("size", 3))]
    if cylinder is not None:
        return [placed(cylinder, Cylinder, pose, color, cylinder.number("radius"), cylinder.number("length"))]
    if sphere is not None:
        return [placed(sphere, ball, pose, color, sphere.number("radius"))]
    capsules = geometry.one("capsule")
    if capsules is not None:
        return capsule(capsules, pose, color, capsules.number("radius"), capsules.number("length"))
    return None
