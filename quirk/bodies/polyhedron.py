"""Triangulated surfaces: closedness, and the enclosed volume, centroid and inertia.

Surfaces are given by `vertices` (n, 3), m, and `triangles` (k, 3), the indices of the vertices of each triangle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Smallest enclosed volume, relative to the bounding box, that is distinguished from round-off.
LEAST_VOLUME = 1e-9


class Solid(NamedTuple):
    """Volume, centroid and inertia for unit density of the solid enclosed by a surface.

    Attributes
    ----------
    volume : m^3
    center : (3,) centroid, m
    inertia : (3, 3) about the centroid, m^5
    """

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a surface with equal vertices merged and degenerate triangles removed.

    The results are the vertices (n, 3), m, and the triangles (k, 3), which are indices of vertices. A triangle is
    degenerate if it has fewer than three distinct vertices.
    """
    # Adding zero turns -0.0 into 0.0, which has other bits.
    kept, place = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    triangles = place.reshape(-1)[triangles]
    a, b, c = triangles.T
    return kept, triangles[(a != b) & (b != c) & (c != a)]


def fault(triangles: np.ndarray) -> str | None:
    """Return an error message if the triangles (k, 3) do not enclose a volume, otherwise None.

    A surface is closed if each edge is traversed equally often in both directions.
    """
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    low, high = edges.min(axis=1), edges.max(axis=1)
    _, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    which = which.reshape(-1)
    uses = np.bincount(which)
    if open_edges := np.count_nonzero(uses % 2):
        return f"it has a hole: {open_edges} of its {len(uses)} edges do not join two triangles"
    sums = np.bincount(which, weights=np.where(edges[:, 0] == low, 1.0, -1.0))
    if turned := np.count_nonzero(sums):
        return f"its triangles do not all turn the same way: at {turned} of its {len(uses)} edges two disagree"
    return None


def outward(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the triangles (k, 3) of a closed surface, reversed if needed so that the enclosed volume is positive."""
    corners, _, _ = _normalized(vertices, triangles)
    return triangles if np.linalg.det(corners).sum() >= 0 else triangles[:, ::-1]


def solid(vertices: np.ndarray, triangles: np.ndarray) -> Solid | None:
    """Return volume, centroid and inertia enclosed by a closed surface, as sums over signed tetrahedra.

    The result is None if the volume is zero up to round-off. A region that is enclosed by several parts of the surface
    is counted once for each of them.
    """
    corners, middle, size = _normalized(vertices, triangles)
    six_volumes = np.linalg.det(corners)
    sums = corners.sum(axis=1)
    volume = six_volumes.sum() / 6
    if not volume > LEAST_VOLUME * np.prod(np.ptp(corners, axis=(0, 1))):
        return None
    center = six_volumes @ sums / (24 * volume)
    # The integral of x x^T over a tetrahedron with corners at the origin, a, b and c.
    products = np.einsum("k,ki,kj->ij", six_volumes, sums, sums)
    products += np.einsum("k,kni,knj->ij", six_volumes, corners, corners)
    products = products / 120 - volume * np.outer(center, center)
    inertia = np.trace(products) * np.eye(3) - products
    return Solid(float(volume * size**3), middle + size * center, inertia * size**5)


def _normalized(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the corners (k, 3, 3) of all triangles, shifted and scaled to unit size to limit round-off.

    The other results are the midpoint of the surface (3,), m, that was subtracted, and the size (m) by which
    coordinates were divided.
    """
    middle = 0.5 * vertices.min(axis=0) + 0.5 * vertices.max(axis=0)
    size = float(np.abs(vertices - middle).max()) or 1.0
    return ((vertices - middle) / size)[triangles], middle, size
