"""The mechanism at one of its times in a still picture, in space or in a coordinate plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgba_array
from matplotlib.path import Path
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from .scene import Scene
from .scene_forces import ARROWS, STYLES
from .scene_forces import COLORS as FORCE_COLORS

# A direction in which points move less than this part of the most is none of their motion.
FLAT = 1e-6
# Of bodies, which may lie behind each other.
OPACITY_OF_BODIES = 0.45
# Points.
EDGE = 0.8


def moving(extent: np.ndarray) -> list[int]:
    """Return the coordinates that are to be shown of a motion that extends so far (3,): two if it is in a plane."""
    flat = [c for c in range(3) if extent[c] < FLAT * extent.max()]
    return [c for c in range(3) if c != flat[-1]] if flat else [0, 1, 2]


class Whole3D(Poly3DCollection):
    """Faces of one colour in space, drawn as `whole` from wherever they are seen."""

    def do_3d_projection(self) -> Any:
        """Project the faces, and make one path of them."""
        depth = super().do_3d_projection()
        self._paths = [whole([path.vertices for path in self.get_paths()])]
        return depth


def whole(polygons: Sequence[np.ndarray]) -> Path:
    """Return one path that fills what polygons (k, 2) cover, evenly: between two of them side by side there is no seam.

    All of them go round the same way, so that common edges cancel out.
    """
    corners = np.array(polygons)
    x, y = corners[..., 0], corners[..., 1]
    area = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1)
    corners[area < 0] = corners[area < 0, ::-1]
    closed = np.concatenate([corners, corners[:, :1]], axis=1)
    codes = np.full(closed.shape[:2], Path.LINETO, dtype=Path.code_type)
    codes[:, 0], codes[:, -1] = Path.MOVETO, Path.CLOSEPOLY
    return Path(closed.reshape(-1, 2), codes.ravel())


def draw_mechanism(ax: Any, scene: Scene, number: int, directions: Sequence[int], opacity: float = 1.0) -> None:
    """Draw bodies, joints and lines of forces, but no arrows, at a time of a scene, along two or three coordinates."""
    solid = len(directions) == 3
    lines = Line3DCollection if solid else LineCollection
    along = None if solid else np.eye(3)[3 - sum(directions)]
    for name, faces in scene.faces.items():
        if not faces:
            continue
        r, R = (part[number] for part in scene.poses[name])
        placed = [(face @ R.T + r)[:, directions] for face in faces]
        colors = to_rgba_array(scene.colors[name])
        for color in np.unique(colors, axis=0):
            own = [face for face, other in zip(placed, colors, strict=True) if (other == color).all()]
            inside = (*color[:3], OPACITY_OF_BODIES * opacity)
            ax.add_collection(
                Whole3D(own, facecolor=inside, edgecolor="none")
                if solid
                else PathCollection([whole(own)], facecolor=[inside], edgecolor="none")
            )
        edges = colors * [1.0, 1.0, 1.0, opacity]
        outline = scene.outlines[name]
        shown = outline.seen(None if along is None else along @ R)
        ends = (outline.ends[shown] @ R.T + r)[..., directions]
        if len(ends):
            ax.add_collection(lines(list(ends), colors=edges[outline.face[shown]], linewidths=EDGE))
        ax.plot(*np.concatenate(placed).T, linestyle="none")  # makes room for them
    for element, points in scene.forces.curves(number, scene.half):
        if element.drawing not in ARROWS:
            style, color = STYLES[element.drawing], FORCE_COLORS[element.drawing]
            ax.plot(*points[:, directions].T, style, color=color, linewidth=1.0, alpha=opacity)
    if scene.constraints:
        ax.plot(*scene.joint_points(number)[:, directions].T, "o", color="black", alpha=opacity, markersize=4, zorder=4)
