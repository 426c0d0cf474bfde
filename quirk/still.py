"""The mechanism at one of its times in a still picture, in space or in a coordinate plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from .scene import Scene
from .scene_forces import ARROWS, STYLES
from .scene_forces import COLORS as FORCE_COLORS

# A direction in which points move less than this part of the most is none of their motion.
FLAT = 1e-6
# Of faces, of which many lie behind each other.
OPACITY_OF_FACES = 0.3


def moving(extent: np.ndarray) -> list[int]:
    """Return the coordinates that are to be shown of a motion that extends so far (3,): two if it is in a plane."""
    flat = [c for c in range(3) if extent[c] < FLAT * extent.max()]
    return [c for c in range(3) if c != flat[-1]] if flat else [0, 1, 2]


def draw_mechanism(ax: Any, scene: Scene, number: int, directions: Sequence[int], opacity: float = 1.0) -> None:
    """Draw bodies, joints and lines of forces, but no arrows, at a time of a scene, along two or three coordinates."""
    kind = PolyCollection if len(directions) == 2 else Poly3DCollection
    for name, faces in scene.faces.items():
        if not faces:
            continue
        r, R = (part[number] for part in scene.poses[name])
        placed = [(face @ R.T + r)[:, directions] for face in faces]
        colors = scene.colors[name]
        inside, edges = to_rgba_array(colors, OPACITY_OF_FACES * opacity), to_rgba_array(colors)
        edges[:, 3] *= opacity
        ax.add_collection(kind(placed, facecolor=inside, edgecolor=edges, linewidth=0.8))
        ax.plot(*np.concatenate(placed).T, linestyle="none")  # makes room for them
    for element, points in scene.forces.curves(number, scene.half):
        if element.drawing not in ARROWS:
            style, color = STYLES[element.drawing], FORCE_COLORS[element.drawing]
            ax.plot(*points[:, directions].T, style, color=color, linewidth=1.0, alpha=opacity)
    if scene.constraints:
        ax.plot(*scene.joint_points(number)[:, directions].T, "o", color="black", alpha=opacity, markersize=4, zorder=4)
