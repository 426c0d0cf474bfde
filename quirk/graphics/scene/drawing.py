"""Drawing of a mechanism at one time, in space or in a coordinate plane, for plots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb, to_rgba_array
from matplotlib.path import Path
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from .force_shapes import ARROWS, STYLES
from .force_shapes import COLORS as FORCE_COLORS
from .outlines import Outline
from .plates import GROUND, GROUND_EDGE, PLATE, cut_to
from .ropes import ROD_COLOR, ROD_WIDTH
from .scene import Scene

# Motion in a direction is neglected if its extent is below this fraction of the largest extent.
FLAT = 1e-6
# Opacities of bodies and of planes, which may hide one another.
OPACITY_OF_BODIES, OPACITY_OF_PLANES = 0.45, 0.4
PLATE_EDGE = "#7d7866"
# A plane is seen edge-on if 1 minus the cosine of the angle to its line of sight is below this.
EDGE_ON = 1e-9
# Width of the edges of bodies, points.
EDGE = 0.8


def moving(extent: np.ndarray) -> list[int]:
    """Return the indices of the coordinates in which a motion is drawn.

    These are two coordinates for a motion in a coordinate plane, otherwise three. `extent` (3,), m, is the range of the
    motion along each axis.
    """
    flat = [c for c in range(3) if extent[c] < FLAT * extent.max()]
    return [c for c in range(3) if c != flat[-1]] if flat else [0, 1, 2]


class UnsplitPoly3D(Poly3DCollection):
    """Matplotlib collection of faces of one color in space, filled as a single path to avoid visible seams."""

    def do_3d_projection(self) -> Any:
        """Project the faces onto the image plane, and combine them into one path."""
        depth = super().do_3d_projection()
        self._paths = [union_path([path.vertices for path in self.get_paths()])]
        return depth


def union_path(polygons: Sequence[np.ndarray]) -> Path:
    """Return one path that fills the union of polygons (k, 2), without seams between adjacent ones.

    All polygons are given the same orientation, so that common edges cancel.
    """
    corners = np.array(polygons)
    x, y = corners[..., 0], corners[..., 1]
    area = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1)
    corners[area < 0] = corners[area < 0, ::-1]
    closed = np.concatenate([corners, corners[:, :1]], axis=1)
    codes = np.full(closed.shape[:2], Path.LINETO, dtype=Path.code_type)
    codes[:, 0], codes[:, -1] = Path.MOVETO, Path.CLOSEPOLY
    return Path(closed.reshape(-1, 2), codes.ravel())


def draw_ground(ax: Any, scene: Scene, directions: Sequence[int], number: int = 0) -> None:
    """Draw unbounded planes and fixed plates at the time of a scene with index `number`.

    `directions` are the indices of the two or three coordinates that are shown.
    """
    if scene.plates:
        _draw_plates(ax, scene, directions)
    for plane in scene.planes:
        point, normal = scene.plane_at(plane, number)
        if len(directions) == 3:
            margin = scene.half - 0.5 * (scene.high - scene.low)
            polygon = cut_to((scene.low - margin, scene.high + margin), point, normal)
            if len(polygon) > 2:
                faces = Poly3DCollection([polygon], facecolor=(*to_rgb(GROUND), OPACITY_OF_PLANES), edgecolor="none")
                ax.add_collection(faces, autolim=False)
            continue
        across = normal[directions]
        # A plane that is not seen edge-on is not drawn: it would fill the picture.
        if np.linalg.norm(across) > 1.0 - EDGE_ON:
            middle = 0.5 * (scene.low + scene.high)[directions]
            nearest = middle - across * ((middle - point[directions]) @ across) / (across @ across)
            ax.axline(
                nearest, nearest + np.array([-across[1], across[0]]), color=GROUND_EDGE, linewidth=1.5, zorder=0.4
            )


def _draw_plates(ax: Any, scene: Scene, directions: Sequence[int]) -> None:
    """Draw plates fixed in the inertial frame, with their outlines.

    `directions` are the indices of the two or three coordinates that are shown.
    """
    faces = [face[:, directions] for face in scene.plates]
    outline, solid = Outline(scene.plates), len(directions) == 3
    along = None if solid else np.eye(3)[3 - sum(directions)]
    inside = (*to_rgb(PLATE), OPACITY_OF_BODIES)
    if solid:
        ax.add_collection(UnsplitPoly3D(faces, facecolor=inside, edgecolor="none"), autolim=False)
    else:
        ax.add_collection(PathCollection([union_path(faces)], facecolor=[inside], edgecolor="none"), autolim=False)
    ends = outline.ends[outline.visible_edges(along)][..., directions]
    lines = Line3DCollection if solid else LineCollection
    ax.add_collection(lines(list(ends), colors=PLATE_EDGE, linewidths=1.5, zorder=0.4), autolim=False)
    ax.plot(*np.concatenate(faces).T, linestyle="none", color="none")  # reserves space


def draw_mechanism(ax: Any, scene: Scene, number: int, directions: Sequence[int], opacity: float = 1.0) -> None:
    """Draw bodies, joints, ropes, rods and lines of force elements of a scene, at the time with index `number`.

    Arrows are not drawn. `directions` are the indices of the two or three coordinates that are shown.
    """
    for name, faces in scene.faces.items():
        if faces:
            pose = scene.poses[name][0][number], scene.poses[name][1][number]
            colors = to_rgba_array(scene.colors[name])
            _draw_body(ax, faces, scene.outlines[name], pose, colors, directions, opacity)
    for beam in scene.beams:
        faces = _alike(beam.faces(number))
        colors = np.tile(scene.color_of(beam), (len(faces), 1))
        _draw_body(ax, faces, Outline(faces), (np.zeros(3), np.eye(3)), colors, directions, opacity)
    for constraint, path in scene.rods:
        if scene.acts(constraint, number):
            line = path[number][:, directions].T
            ax.plot(*line, color=ROD_COLOR, linewidth=ROD_WIDTH, alpha=opacity, zorder=3)
    for element, points in scene.forces.curves(number, scene.half):
        if element.drawing not in ARROWS:
            style, color = STYLES[element.drawing], FORCE_COLORS[element.drawing]
            ax.plot(*points[:, directions].T, style, color=color, linewidth=1.0, alpha=opacity)
    if scene.constraints:
        ax.plot(*scene.joint_points(number)[:, directions].T, "o", color="black", alpha=opacity, markersize=4, zorder=4)


def _draw_body(
    ax: Any,
    faces: Sequence[np.ndarray],
    outline: Outline,
    pose: tuple[np.ndarray, np.ndarray],
    colors: np.ndarray,
    directions: Sequence[int],
    opacity: float,
) -> None:
    """Draw faces with equal numbers of corners, and their outline, at a pose (position, rotation matrix).

    `directions` are the indices of the two or three coordinates that are shown.
    """
    solid = len(directions) == 3
    lines = Line3DCollection if solid else LineCollection
    along = None if solid else np.eye(3)[3 - sum(directions)]
    r, R = pose
    placed = [(face @ R.T + r)[:, directions] for face in faces]
    for color in np.unique(colors, axis=0):
        own = [face for face, other in zip(placed, colors, strict=True) if (other == color).all()]
        inside = (*color[:3], OPACITY_OF_BODIES * opacity)
        ax.add_collection(
            UnsplitPoly3D(own, facecolor=inside, edgecolor="none")
            if solid
            else PathCollection([union_path(own)], facecolor=[inside], edgecolor="none"),
            autolim=False,
        )
    edges = colors * [1.0, 1.0, 1.0, opacity]
    shown = outline.visible_edges(None if along is None else along @ R)
    ends = (outline.ends[shown] @ R.T + r)[..., directions]
    if len(ends):
        ax.add_collection(lines(list(ends), colors=edges[outline.face[shown]], linewidths=EDGE), autolim=False)
    ax.plot(*np.concatenate(placed).T, linestyle="none", color="none")  # reserves space


def _alike(faces: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return faces with equal numbers of corners; faces with fewer corners repeat their last one."""
    most = max(map(len, faces))
    return [np.concatenate([face, np.repeat(face[-1:], most - len(face), axis=0)]) for face in faces]
