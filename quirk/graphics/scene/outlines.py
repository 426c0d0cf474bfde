"""Which edges of a body's faces are drawn: those that one sees on a body, and none between the facets of what is round.

Facets of a cylinder or a sphere stand for a smooth surface. Were all their edges drawn, round bars would be striped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Cosine of the angle between two faces above which the edge between them is one of a round surface.
SMOOTH = np.cos(np.radians(40.0))
# Corners closer than this part of the extent are one.
SAME = 1e-6


class Outline:
    """The edges of faces (F, k, 3) of one body, which may repeat their last corner.

    Attributes
    ----------
    ends : (E, 2, 3) both ends of each edge, in coordinates of the body
    face : (E,) one of the faces at it
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
        # The last face at each edge, which is another one than the first where there are two.
        last = np.zeros(len(first), dtype=int)
        last[which.ravel()] = np.arange(len(of))
        normal = _normals(corners)
        one, two = normal[of[first]], normal[of[last]]
        # Faces that go round the same way run along their common edge in opposite ways; others are turned over.
        two = np.where((start[first] == start[last])[:, None], -two, two)
        sharp = (count != 2) | (np.einsum("ei,ei->e", one, two) < SMOOTH)
        self._sharp, self._one, self._two = sharp, one, two
        places = np.zeros((number.max() + 1, 3))
        places[number.ravel()] = corners.reshape(-1, 3)
        self.ends, self.face = np.stack([places[start[first]], places[end[first]]], axis=1), of[first]

    def seen(self, direction: np.ndarray | None) -> np.ndarray:
        """Return which edges (E,) are drawn: sharp ones, and where the body ends as seen along a direction (3,)."""
        if direction is None:
            return self._sharp
        towards = [normal @ direction > SAME for normal in (self._one, self._two)]
        return np.asarray(self._sharp | (towards[0] != towards[1]))


def _numbers(corners: np.ndarray) -> np.ndarray:
    """A number (F, k) for each corner, the same for those at the same place."""
    size = float(np.ptp(corners.reshape(-1, 3), axis=0).max()) or 1.0
    _, number = np.unique(np.round(corners.reshape(-1, 3) / (SAME * size)), axis=0, return_inverse=True)
    return np.asarray(number.reshape(corners.shape[:2]))


def _normals(corners: np.ndarray) -> np.ndarray:
    """Unit normals (F, 3) after Newell; zero for what has no area."""
    from_first = corners - corners[:, :1]
    normal = np.cross(from_first, np.roll(from_first, -1, axis=1)).sum(axis=1)
    size = np.linalg.norm(normal, axis=1)[:, None]
    flat = size > 1e-9 * np.ptp(corners, axis=1).max(axis=1)[:, None] ** 2
    return np.where(flat, normal / np.where(flat, size, 1.0), 0.0)
