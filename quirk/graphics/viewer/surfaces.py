"""Triangulated surfaces for the viewer; lengths are in m."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from quirk.bodies.frame import axes_with_z

# Faces whose angle is below this are shaded as one smooth surface: a 20-sided cylinder, but not a box.
SMOOTH = np.radians(35.0)
ROUND = 24


class SurfaceMesh(NamedTuple):
    """A triangulated surface.

    Attributes
    ----------
    vertices : (n, 3) m
    triangles : (k, 3) indices of vertices; triangles that share vertices are shaded as one smooth surface
    closed : whether the surface is closed; its triangles are then counterclockwise as seen from outside, and visible
        from outside only
    """

    vertices: np.ndarray
    triangles: np.ndarray
    closed: bool = True

    def placed(self, origin: np.ndarray, matrix: np.ndarray) -> SurfaceMesh:
        """Return the surface rotated by a matrix (3, 3) and then shifted by `origin` (3,), m."""
        return SurfaceMesh(self.vertices @ matrix.T + origin, self.triangles, self.closed)

    def scaled(self, factors: np.ndarray | float) -> SurfaceMesh:
        """Return the surface scaled by one factor, or by three factors along the axes."""
        return SurfaceMesh(self.vertices * factors, self.triangles, self.closed)


def together(surfaces: Sequence[SurfaceMesh]) -> SurfaceMesh:
    """Return the union of several surfaces as one mesh."""
    starts = np.cumsum([0, *(len(surface.vertices) for surface in surfaces[:-1])])
    return SurfaceMesh(
        np.concatenate([surface.vertices for surface in surfaces]),
        np.concatenate([s.triangles + start for s, start in zip(surfaces, starts, strict=True)]),
    )


def of_polygons(faces: Sequence[np.ndarray]) -> SurfaceMesh:
    """Return the surface of a convex solid from its polygons, each (k, 3) with k corners in either orientation."""
    corners = np.array([face[[0, k, k + 1]] for face in faces for k in range(1, len(face) - 1)])
    middle = corners.reshape(-1, 3).min(axis=0) * 0.5 + corners.reshape(-1, 3).max(axis=0) * 0.5
    inward = np.linalg.det(corners - middle) < 0
    corners[inward] = corners[inward, ::-1]
    return creased(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


def of_faces(faces: Sequence[np.ndarray]) -> SurfaceMesh:
    """Return an open surface of convex polygons, each (k, 3) with k corners; it is visible from both sides."""
    corners = np.array([face[[0, k, k + 1]] for face in faces for k in range(1, len(face) - 1)])
    return creased(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3), closed=False)


def creased(vertices: np.ndarray, triangles: np.ndarray, closed: bool = True) -> SurfaceMesh:
    """Return a mesh in which triangles share vertices across smooth edges only, so that sharp edges look sharp."""
    size = np.abs(vertices - vertices.mean(axis=0)).max() or 1.0
    rounded = np.round((vertices - vertices.mean(axis=0)) / size, 9)
    _, first, place = np.unique(rounded + 0.0, axis=0, return_index=True, return_inverse=True)
    places = place.reshape(-1)[triangles]
    a, b, c = places.T
    places = places[(a != b) & (b != c) & (c != a)]
    if not len(places):
        return SurfaceMesh(vertices, triangles, False)
    corners = rounded[first][places]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
    patch = _patches(places, normals)
    # One vertex for each position and each smooth patch that contains it.
    pairs, number = np.unique(np.stack([places.reshape(-1), np.repeat(patch, 3)], axis=1), axis=0, return_inverse=True)
    return SurfaceMesh(vertices[first[pairs[:, 0]]], number.reshape(-1, 3), closed)


def _patches(places: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the index (k,) of the smooth part of a surface to which each of its k triangles belongs.

    `places` (k, 3) are the indices of their corners, `normals` (k, 3) their unit normals.
    """
    edges = np.sort(np.concatenate([places[:, [0, 1]], places[:, [1, 2]], places[:, [2, 0]]]), axis=1)
    owner = np.tile(np.arange(len(places)), 3)
    order = np.lexsort((edges[:, 1], edges[:, 0]))
    same = (edges[order[1:]] == edges[order[:-1]]).all(axis=1)
    one, two = owner[order[:-1]][same], owner[order[1:]][same]
    smooth = np.einsum("ij,ij->i", normals[one], normals[two]) > np.cos(SMOOTH)
    one, two = one[smooth], two[smooth]
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(len(places), len(places)))
    return connected_components(graph, directed=False)[1]


def tube(path: np.ndarray, radius: float, sides: int = 8) -> SurfaceMesh:
    """Return a tube around a path of n points (n, 3), closed at both ends.

    `sides` is the number of points around the path.
    """
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = axes_with_z(along[0])[:, 0]
    angle = np.arange(sides) * 2 * np.pi / sides
    rings = []
    for point, z in zip(path, along, strict=True):
        across = across - (across @ z) * z
        across /= np.linalg.norm(across)
        rings.append(point + radius * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), np.cross(z, across))))
    return lathe(np.array(rings), path[0], path[-1])


def turned(radii: Sequence[float], heights: Sequence[float], sides: int = ROUND) -> SurfaceMesh:
    """Return a surface of revolution about z, closed at both ends.

    `radii` are its radii at the coordinates `heights` along z; `sides` is the number of points around the axis.
    """
    angle = np.arange(sides) * 2 * np.pi / sides
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(sides)], axis=1)
    rings = np.array([r * circle + [0, 0, z] for r, z in zip(radii, heights, strict=True)])
    surface = lathe(rings, np.array([0, 0, heights[0]]), np.array([0, 0, heights[-1]]))
    return creased(surface.vertices, surface.triangles)


def cylinder(radius: float, half_length: float) -> SurfaceMesh:
    """Return a cylinder of length 2 * `half_length` about z with its center at the origin."""
    return turned([radius, radius], [-half_length, half_length])


def ball(radius: float) -> SurfaceMesh:
    """Return a sphere with its center at the origin."""
    angle = np.linspace(0.0, np.pi, ROUND // 2 + 1)
    return turned((radius * np.sin(angle)).tolist(), (-radius * np.cos(angle)).tolist())


def cuboid(half: np.ndarray) -> SurfaceMesh:
    """Return a box with its center at the origin; `half` (3,) are half its edge lengths."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return of_polygons([corners[side] for side in sides])


def ellipsoid(semi_axes: np.ndarray) -> SurfaceMesh:
    """Return an ellipsoid with its center at the origin, and semi-axes (3,) along x, y and z."""
    return ball(1.0).scaled(semi_axes)


def arrow(shaft: float, head: float, head_length: float, heads: int = 1) -> SurfaceMesh:
    """Return an arrow of length 1 along z, with one head, or two heads for torques.

    `shaft` and `head` are the radii of shaft and head, and `head_length` is the length of the head.
    """
    if heads == 1:
        return turned([shaft, shaft, head, 0.0], [0.0, 1 - head_length, 1 - head_length, 1.0])
    first = 1 - 2 * head_length
    radii = [shaft, shaft, head, 0.3 * head, head, 0.0]
    return turned(radii, [0.0, first, first, 1 - head_length, 1 - head_length, 1.0])


def lathe(rings: np.ndarray, start: np.ndarray, end: np.ndarray) -> SurfaceMesh:
    """Return the surface through successive rings of points, closed at both ends.

    `rings` (rings, sides, 3) are the points of each ring; `start` and `end` (3,) are the centers of the ends.
    """
    count, sides, _ = rings.shape
    vertices = np.concatenate([rings.reshape(-1, 3), start[None], end[None]])
    row = np.arange(sides)
    following = (row + 1) % sides
    triangles = []
    for k in range(count - 1):
        a, b = k * sides + row, k * sides + following
        c, d = a + sides, b + sides
        triangles += [np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)]
    first, last = count * sides, count * sides + 1
    rim = (count - 1) * sides
    triangles += [
        np.stack([np.full(sides, first), following, row], axis=1),
        np.stack([np.full(sides, last), rim + row, rim + following], axis=1),
    ]
    return SurfaceMesh(vertices, np.concatenate(triangles))
