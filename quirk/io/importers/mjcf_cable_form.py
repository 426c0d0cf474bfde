"""Geometry of cables in MJCF files: vertices on curves, and orientations of the bodies between vertices."""

from __future__ import annotations

import numpy as np

from quirk.bodies import rotation

CURVES = ("0", "s", "cos(s)", "sin(s)")
# Largest sine of the angle between edges that count as parallel.
PARALLEL = 1e-14


def curve(words: list[str], size: np.ndarray, count: int) -> np.ndarray:
    """Return `count` points (count, 3) on a curve, m, at equal steps of the parameter s from 0 to 1.

    `words` name the functions of s, keys of `CURVES`, for up to three coordinates. `size` (3,) has the factor of s, m,
    the factor of the cosine and sine, m, and their phase at s = 1 divided by pi.
    """
    s = np.linspace(0.0, 1.0, count) if count > 1 else np.zeros(1)
    phase = np.pi * s * size[2]
    kinds = {"0": 0.0 * s, "s": size[0] * s, "cos(s)": size[1] * np.cos(phase), "sin(s)": size[1] * np.sin(phase)}
    return np.column_stack([kinds[word] for word in [*words, "0", "0"][:3]])


def orientations(tangents: np.ndarray) -> list[np.ndarray]:
    """Return unit quaternions (4,) of bodies whose x axes are along the unit tangents (k, 3).

    The y axis of the first body is in the plane of the first two edges, and is transported along the curve without
    twist. If the two edges are parallel, the orientation of each body depends on its tangent only.
    """
    binormal = np.cross(tangents[0], tangents[1]) if len(tangents) > 1 else np.zeros(3)
    if np.linalg.norm(binormal) <= PARALLEL:
        return [_along(tangent) for tangent in tangents]
    normal = np.cross(binormal / np.linalg.norm(binormal), tangents[0])
    found = []
    for before, tangent in zip([tangents[0], *tangents], tangents, strict=False):
        axis = np.cross(before, tangent)
        sine = float(np.linalg.norm(axis))
        if sine > PARALLEL:
            angle = np.arctan2(sine, before @ tangent)
            normal = rotation.matrix(rotation.exp(angle / sine * axis)) @ normal
        found.append(rotation.from_matrix(np.column_stack([tangent, normal, np.cross(tangent, normal)])))
    return found


def _along(tangent: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,) of a frame whose x axis is along the unit vector `tangent`."""
    x, y, z = tangent
    q = np.array([1.0 + x, 0.0, -z, y]) if x > 0 else np.array([y, z, 0.0, 1.0 - x])
    return q / np.linalg.norm(q)
