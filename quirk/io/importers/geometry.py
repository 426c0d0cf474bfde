"""Geometry of URDF and SDF files, converted to shapes for display; reading of mesh files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from quirk.bodies.mesh_io import simplified, triangles_of
from quirk.bodies.solids import Box, Cylinder, Ellipsoid, Mesh, Shape
from quirk.errors import InputError

from .addresses import Addresses
from .description import at
from .left_out import LeftOut
from .markup import Element, shortened
from .pose import Pose

# Maximum number of triangles of a displayed mesh, and maximum size of a mesh file, bytes.
MOST_TRIANGLES, LARGEST_FILE = 20_000, 200_000_000
# Function from the pose of the link in its body to a shape in body coordinates.
Placed = Callable[[Pose], Shape]


def placed(location: Any, kind: Callable[..., Shape], pose: Pose, color: Any, *sizes: Any) -> Placed:
    """Return a function that creates a shape on a body, given the pose of a link in the body.

    Parameters
    ----------
    location : location in the file, for messages
    kind : class of the shape, or a function that creates it
    pose : pose of the shape in the link
    color : color of the shape
    sizes : dimensions, the first arguments of `kind`
    """

    def make(link: Pose) -> Shape:
        with at(location):
            return kind(*sizes, frame=(link @ pose).frame, color=color)

    return make


def ball(radius: Any, **options: Any) -> Ellipsoid:
    """Return a sphere as a shape; `radius` is in m, `options` are further arguments of `Ellipsoid`."""
    return Ellipsoid((radius, radius, radius), **options)


def capsule(location: Any, pose: Pose, color: Any, radius: float, length: float) -> list[Placed]:
    """Return the shapes of a capsule along the z-axis of `pose`: a cylinder and a sphere at each end.

    `radius` and `length` of the cylinder are in m; `location` is the location in the file, for messages. Each shape is
    returned as a function, see `placed`.
    """
    ends = (pose @ Pose(np.eye(3), np.array([0.0, 0.0, z])) for z in (-length / 2, length / 2))
    return [
        placed(location, Cylinder, pose, color, radius, length),
        *(placed(location, ball, p, color, radius) for p in ends),
    ]


def color_of(element: Element, numbers: np.ndarray) -> tuple[float, ...]:
    """Return a color as red, green, blue and opacity, each between 0 and 1.

    `numbers` are the values in the file; `element` is the XML element, for error messages.
    """
    if numbers.min() < 0 or numbers.max() > 1:
        raise element.error(f"a color must consist of numbers between 0 and 1; got {numbers.tolist()}")
    return tuple(numbers.tolist())


class MeshFiles:
    """Reader of the mesh files to which a robot description refers.

    Parameters
    ----------
    addresses : search locations
    left_out : list of omissions (contents that are not imported), to which missing files are added
    """

    def __init__(self, addresses: Addresses, left_out: LeftOut) -> None:
        self.addresses, self.left_out = addresses, left_out
        self._loaded: dict[tuple[Path, tuple[float, ...]], Mesh] = {}

    def shapes(self, element: Element, name: str, scale: np.ndarray, pose: Pose, color: Any) -> list[Placed]:
        """Return the mesh of a file as a list of one shape, or an empty list if the file cannot be read.

        A file that cannot be read is recorded as an omission.

        Parameters
        ----------
        element : XML element that refers to the file
        name : reference to the file in the element
        scale : (3,) scale factors along the axes
        pose : pose in the link
        color : color of the shape
        """
        path = self.addresses.find(name, element.root.folder)
        if path is None:
            self.left_out.note(f"mesh file {shortened(name)!r}, which does not exist", element.owner)
            return []
        try:
            mesh = self._mesh(path, scale)
        except InputError as error:
            self.left_out.note(f"mesh file {shortened(name)!r}, which cannot be read ({error})", element.owner)
            return []
        return [placed(element, functools.partial(replace, mesh), pose, color)]

    def _mesh(self, path: Path, scale: np.ndarray) -> Mesh:
        """Return the mesh of a file, scaled by `scale` (3,), and simplified if it has too many triangles.

        Each file is read only once.
        """
        key = path, tuple(scale.tolist())
        if key not in self._loaded:
            if path.stat().st_size > LARGEST_FILE:
                raise InputError(f"it has more than {LARGEST_FILE / 1e6:g} MB")
            if not scale.all():
                raise InputError("its scale is zero")
            vertices, triangles = triangles_of("mesh", path)
            self._loaded[key] = Mesh.scaled(*fewer(vertices, triangles, path.name, self.left_out), path, scale)
        return self._loaded[key]


def fewer(vertices: np.ndarray, triangles: np.ndarray, name: str, left_out: LeftOut) -> tuple[np.ndarray, np.ndarray]:
    """Return a mesh with at most `MOST_TRIANGLES` triangles; if it had to be simplified, record this as an omission.

    Parameters
    ----------
    vertices, triangles : points (n, 3), and the indices of the three corners of each triangle (k, 3)
    name : name of the mesh file
    left_out : list of contents of the file that are not imported exactly, called omissions
    """
    found = simplified(vertices, triangles, MOST_TRIANGLES)
    if len(found[1]) < len(triangles):
        what = f"triangles of meshes that have more than {MOST_TRIANGLES}, which are simplified for display"
        left_out.note(what, shortened(name))
    return found


def primitive(geometry: Element, pose: Pose, color: Any) -> list[Placed] | None:
    """Return the shapes of an element <geometry> with a box, cylinder, sphere or capsule; None for other geometries."""
    box, cylinder, sphere = (geometry.child(tag) for tag in ("box", "cylinder", "sphere"))
    if box is not None:
        return [placed(box, Box, pose, color, box.vector("size", 3))]
    if cylinder is not None:
        return [placed(cylinder, Cylinder, pose, color, cylinder.number("radius"), cylinder.number("length"))]
    if sphere is not None:
        return [placed(sphere, ball, pose, color, sphere.number("radius"))]
    capsules = geometry.child("capsule")
    if capsules is not None:
        return capsule(capsules, pose, color, capsules.number("radius"), capsules.number("length"))
    return None
