"""A surface of triangles: whether it is closed, and the volume, center and inertia of what it encloses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# What a surface encloses beyond round-off, as a part of the box around it.
LEAST_VOLUME = 1e-9


class Solid(NamedTuple):
    """What a closed surface encloses, of density 1.

    volume : m^3
    center : (3,) of volume, m
    inertia : (3, 3) about the center, m^5
    """

    volume: float
    center: np.ndarray
    inertia: np.ndarray


def welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same surface with equal vertices made one, and without triangles that then have fewer than three."""
    # Adding zero turns -0.0 into 0.0, which is the same place and has other bits.
    kept, place = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    triangles = place.reshape(-1)[triangles]
    a, b, c = triangles.T
    return kept, triangles[(a != b) & (b != c) & (c != a)]


def fault(triangles: np.ndarray) -> str | None:
    """Return why triangles (k, 3) enclose no volume, or None if they do.

    They do if each edge belongs to as many triangles in one direction as in the other.
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
    """Return the triangles of a closed surface so turned that its volume is positive."""
    corners, _, _ = _normalized(vertices, triangles)
    return triangles if np.linalg.det(corners).sum() >= 0 else triangles[:, ::-1]


def solid(vertices: np.ndarray, triangles: np.ndarray) -> Solid | None:
    """Return volume, center and inertia of what a closed surface encloses, as a sum over tetrahedra with signs.

    None if it is flat.
    Where parts of the surface overlap, what is inside both counts twice.
    """
    corners, middle, size = _normalized(vertices, triangles)
    six_volumes = np.linalg.det(corners)
    sums = corners.sum(axis=1)
    volume = six_volumes.sum() / 6
    if not volume > LEAST_VOLUME * np.prod(np.ptp(corners, axis=(0, 1))):
        return None
    center = six_volumes @ sums / (24 * volume)
    # The integral of x x^T over a tetrahedron with one corner at the origin and the others at a, b, c.
    products = np.einsum("k,ki,kj->ij", six_volumes, sums, sums)
    products += np.einsum("k,kni,knj->ij", six_volumes, corners, corners)
    products = products / 120 - volume * np.outer(center, center)
    inertia = np.trace(products) * np.eye(3) - products
    return Solid(float(volume * size**3), middle + size * center, inertia * size**5)


def _normalized(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the corners (k, 3, 3) of all triangles near the origin and of size 1, so that no digits are lost.

    With the middle (3,) that was taken off, and the size they were divided by.
    """
    middle = 0.5 * vertices.min(axis=0) + 0.5 * vertices.max(axis=0)
    size = float(np.abs(vertices - middle).max()) or 1.0
    return ((vertices - middle) / size)[triangles], middle, size
