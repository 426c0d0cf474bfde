"""Triangle meshes as shapes and as solid bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..util import validate
from . import mesh_io as mesh_files
from . import polyhedron
from .frame import Frame
from .shape import IN_THE_MIDDLE, ColorLike, Shape


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """A triangle mesh, from a file by `Mesh.load` or from arrays.

    Parameters
    ----------
    vertices : (n, 3)
        Coordinates in the axes of the mesh, m.
    triangles : (k, 3)
        Indices of the three vertices of each triangle, from 0, counterclockwise seen from outside.

    Attributes
    ----------
    path : the file read by `load`, or None
    scale : (3,) factors by which the coordinates of the file were multiplied

    Examples
    --------
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> tetrahedron = quirk.shapes.Mesh(corners, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    >>> quirk.Body.from_mesh("tetrahedron", tetrahedron, density=6.0)
    <Body "tetrahedron": 1 kg>
    """

    vertices: Any
    triangles: Any
    path: Path | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        vertices, triangles = _checked_mesh(self.vertices, self.triangles)
        for array in (vertices, triangles):
            array.setflags(write=False)
        self._set("vertices", vertices)
        self._set("triangles", triangles)

    @classmethod
    def load(
        cls, path: str | Path, *, scale: ArrayLike = 1.0, frame: Frame = IN_THE_MIDDLE, color: ColorLike | None = None
    ) -> Self:
        """Return the mesh of an STL, OBJ, Collada, glTF, PLY or OFF file, with all parts of the file combined.

        Parameters
        ----------
        path : name of the file
        scale : float or (3,)
            Meters per unit of the file: 0.001 for a file in millimeters. Three numbers scale the axes of the file
            separately; a negative number mirrors the mesh. The unit that Collada files state is always applied.
        frame, color : as for all shapes

        Raises
        ------
        InputError
            If the file does not exist, is damaged or has no triangles.
        """
        factors = validate.numbers(scale)
        if factors is None or factors.shape not in ((), (3,)) or not np.isfinite(factors).all() or not factors.all():
            raise InputError(f"Mesh.load: scale must be a number or three, none of them zero; got {scale!r}")
        factors = np.broadcast_to(factors, (3,))
        vertices, triangles = mesh_files.triangles_of("Mesh.load", path)
        return cls.scaled(vertices, triangles, Path(path), factors, frame=frame, color=color)

    @classmethod
    def scaled(
        cls,
        vertices: np.ndarray,
        triangles: np.ndarray,
        path: Path,
        factors: np.ndarray,
        *,
        frame: Frame = IN_THE_MIDDLE,
        color: ColorLike | None = None,
    ) -> Self:
        """Return the mesh of a file, with its coordinates multiplied by `factors` (3,).

        `vertices` (n, 3) are in the unit of the file; `triangles` (k, 3) are indices of vertices. A negative product of
        the factors mirrors the mesh, and the triangles are reversed to keep their outer side.
        """
        if np.prod(np.sign(factors)) < 0:
            triangles = triangles[:, ::-1]
        a, b, c = factors.tolist()
        return cls(vertices * factors, triangles, path=path, scale=(a, b, c), frame=frame, color=color)

    @cached_property
    def solid(self) -> polyhedron.Solid:
        """Volume, m^3, centroid (3,), m, and inertia (3, 3) about the centroid for unit density, m^5, of the solid.

        The solid is bounded by the mesh; coordinates are along the axes of the mesh.

        Raises
        ------
        InputError
            If the mesh is not closed.
        """
        vertices, triangles = polyhedron.welded(self.vertices, self.triangles)
        why = polyhedron.fault(triangles) if len(triangles) else "it has no area"
        found = None if why else polyhedron.solid(vertices, triangles)
        if found is None:
            name = "Mesh" if self.path is None else f"Mesh {str(self.path)!r}"
            raise InputError(
                f"{name}: it encloses no volume: {why or 'it is flat'}; repair it, or give Body mass and inertia and "
                "the mesh as shape"
            )
        return found

    def inertia(self, mass: float | np.ndarray) -> np.ndarray:
        """Return the inertia (3, 3), kg m^2, of a solid of uniform density with this surface, about its centroid.

        The result is (k, 3, 3) for masses (k,).
        """
        return np.multiply.outer(mass / self.solid.volume, self.solid.inertia)

    def surface(self) -> list[np.ndarray]:
        """Return the triangles as a list of arrays (3, 3), one vertex per row, m."""
        return list(self.vertices[self.triangles])


def _checked_mesh(vertices: Any, triangles: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices (n, 3) and triangles (k, 3) of a mesh, or raise an InputError.

    Triangles of a closed surface are oriented so that it encloses a positive volume.
    """
    points, corners = validate.numbers(vertices), validate.numbers(triangles)
    for argument, given, of in (("vertices", points, "3 coordinates"), ("triangles", corners, "3 whole numbers")):
        if given is None or given.ndim != 2 or given.shape[1] != 3 or not len(given):
            shape = "no numbers" if given is None else f"shape {given.shape}"
            raise InputError(f"Mesh: {argument} must be rows of {of}; got {shape}")
    assert points is not None
    assert corners is not None
    if not np.isfinite(points).all():
        raise InputError(f"Mesh: vertices must be finite; number {np.argwhere(~np.isfinite(points))[0][0]} is not")
    if (corners != np.round(corners)).any() or corners.min() < 0 or corners.max() >= len(points):
        raise InputError(
            f"Mesh: triangles must be whole numbers from 0 to {len(points) - 1}, which of the vertices they have; "
            f"got {corners.min():g} to {corners.max():g}"
        )
    whole = corners.astype(np.int64)
    # A closed mesh that is inside out is turned over; an open mesh has no inside.
    if polyhedron.fault(polyhedron.welded(points, whole)[1]) is None:
        whole = polyhedron.outward(points, whole)
    return points, np.ascontiguousarray(whole)


class MeshSolid(NamedTuple):
    """Mass, center of mass and inertia of a homogeneous body bounded by a mesh.

    Attributes
    ----------
    mass : kg
    center : (3,) center of mass in the coordinates of the mesh, m
    inertia : (3, 3) about the center of mass, kg m^2
    shape : the mesh, with the center of mass as its origin
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray
    shape: Mesh


def mesh_as_solid(owner: str, mesh: Any, mass: Any, density: Any, scale: Any, color: Any) -> MeshSolid:
    """Return mass, center of mass and inertia of the solid bounded by `mesh`, for `Body.from_mesh`.

    `mesh` is a Mesh or the name of a file. Either `mass`, kg, or `density`, kg/m^3, is given; `scale` and `color` apply
    to files only. `owner` names the body in errors.
    """
    if (mass is None) == (density is None):
        raise InputError(f"{owner}: give either mass, kg, or density, kg/m^3")
    if not isinstance(mesh, Mesh):
        mesh = Mesh.load(mesh, scale=scale, color=color)
    elif color is not None or scale != 1.0:
        raise InputError(f"{owner}: scale and color are for meshes from files; a Mesh has its own")
    frame, solid = mesh.frame, mesh.solid
    if density is not None:
        mass = validate.positive(owner, "density", density) * solid.volume
    mass = validate.positive(owner, "mass", mass)
    center = frame.matrix @ solid.center + frame.origin
    inertia = frame.matrix @ mesh.inertia(mass) @ frame.matrix.T
    return MeshSolid(mass, center, inertia, replace(mesh, frame=Frame(frame.origin - center, frame.rotation)))
