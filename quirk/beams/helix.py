"""Points of a beam between its nodes.

The strains are constant along each segment, so that the axis of the segment is part of a helix.
"""

from __future__ import annotations

import numpy as np

from ..bodies import rotation
from .segment import relative_strains


def between_nodes(points: np.ndarray, turns: np.ndarray, fineness: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points (..., P, 3) and section quaternions (..., P, 4) along a beam of N segments, P = N fineness + 1.

    Parameters
    ----------
    points : (..., N + 1, 3)
        Nodes, m, inertial frame.
    turns : (..., N + 1, 4)
        Section axes at the nodes as unit quaternions, section to inertial.
    fineness : int
        Number of intervals between points, per segment.
    """
    first, frame = points[..., :-1, :], turns[..., :-1, :]
    R = rotation.matrix(frame)
    d = np.einsum("...ji,...j->...i", R, points[..., 1:, :] - first)
    strains = relative_strains(d, rotation.log(rotation.multiply(rotation.conjugate(frame), turns[..., 1:, :])))
    u, v = strains[..., None, :3], strains[..., None, 3:]
    s = (np.arange(fineness) / fineness)[:, None]
    chord = _chord(s * u, s * v)
    placed = first[..., None, :] + np.einsum("...ij,...kj->...ki", R, chord)
    turned = rotation.multiply(frame[..., None, :], rotation.exp(s * v))
    count = (*points.shape[:-2], -1)
    return (
        np.concatenate([placed.reshape(*count, 3), points[..., -1:, :]], axis=-2),
        np.concatenate([turned.reshape(*count, 4), turns[..., -1:, :]], axis=-2),
    )


def _chord(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the vectors (..., 3), m, from the start to the end of helical segments, in the section axes at the start.

    `u` (..., 3), m, and `v` (..., 3), rad, are the translational part and the rotation vector of the logarithm in SE(3)
    of the pose of the end relative to the start. In the section axes at mid-length, the component of the vector along v
    is that of u, and the perpendicular component is that of u multiplied by sin(h) / h, with h = |v|/2.
    """
    half = 0.5 * np.linalg.norm(v, axis=-1, keepdims=True)
    shortening = np.sinc(half / np.pi)
    axis = v / np.where(half > 0, 2 * half, 1.0)
    middle = shortening * u + (1 - shortening) * (axis * u).sum(axis=-1, keepdims=True) * axis
    return np.asarray(np.einsum("...ij,...j->...i", rotation.matrix(rotation.exp(0.5 * v)), middle))
