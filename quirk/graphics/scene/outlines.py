"""Visible edges of a body: sharp edges and the silhouette.

Edges between the facets that approximate a smooth surface, such as a cylinder, are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Faces belong to one curved surface if the cosine of the angle between their normals exceeds this.
SMOOTH = np.cos(np.radians(40.0))
# Corners are equal if their distance is below this fraction of the extent.
SAME = 1e-6


class Outline:
    """Edges of one body with F faces of at most k corners, (F, k, 3); faces may repeat their last corner.

    Attributes
    ----------
    ends : (E, 2, 3) both ends of each of E edges, body coordinates, m
    face : (E,) index of one adjacent face
    """

    def __init__(self, faces: Sequence[np.ndarray]) -> None:
        corners = np.array(faces, dtype=float)
        number = _numbers(corners)
        start, end = number.ravel(), np.roll(number, -1, axis=1).ravel()
        of = np.repeat(np.arange(len(corners)), corners.shape[1])
        real = start != end
        start, end, of = start[real], end[real], of[real]
        pairs = np.stack([np.minimum(start, end), np.maximum(start, end)], axis=1)
        _, first, which, count = np.unique(pairs, axis=0, return_index=True, return_inverse=True, return_counts=True)
        # The last face at each edge; it differs from the first if the edge has two faces.
        last = np.zeros(len(first), dtype=int)
        last[which.ravel()] = np.arange(len(of))
        normal = _normals(corners)
        one, two = normal[of[first]], normal[of[last]]
        # Two faces with the same orientation traverse their common edge in opposite directions; others are reversed.
        two = np.where((start[first] == start[last])[:, None], -two, two)
        sharp = (count != 2) | (np.einsum("ei,ei->e", one, two) < SMOOTH)
        self._sharp, self._first_normals, self._second_normals = sharp, one, two
        places = np.zeros((number.max() + 1, 3))
        places[number.ravel()] = corners.reshape(-1, 3)
        self.ends, self.face = np.stack([places[start[first]], places[end[first]]], axis=1), of[first]

    def visible_edges(self, direction: np.ndarray | None) -> np.ndarray:
        """Return a mask (E,) of the visible edges: sharp edges, and the silhouette for a viewing direction (3,).

        The direction is in body axes; without a direction there is no silhouette.
        """
        if direction is None:
            return self._sharp
        towards = [normal @ direction > SAME for normal in (self._first_normals, self._second_normals)]
        return np.asarray(self._sharp | (towards[0] != towards[1]))


def _numbers(corners: np.ndarray) -> np.ndarray:
    """Return an index (F, k) for each corner of faces (F, k, 3); corners at the same point have equal indices."""
    size = float(np.ptp(corners.reshape(-1, 3), axis=0).max()) or 1.0
    _, number = np.unique(np.round(corners.reshape(-1, 3) / (SAME * size)), axis=0, return_inverse=True)
    return np.asarray(number.reshape(corners.shape[:2]))


def _normals(corners: np.ndarray) -> np.ndarray:
    """Return unit normals (F, 3) of faces (F, k, 3) by Newell's formula; zero for faces without area."""
    from_first = corners - corners[:, :1]
    normal = np.cross(from_first, np.roll(from_first, -1, axis=1)).sum(axis=1)
    size = np.linalg.norm(normal, axis=1)[:, None]
    flat = size > 1e-9 * np.ptp(corners, axis=1).max(axis=1)[:, None] ** 2
    return np.where(flat, normal / np.where(flat, size, 1.0), 0.0)
