"""Drawing of a mechanism as polygons sorted by depth (painter's algorithm).

Viewing coordinates are to the right, up, and toward the viewer. The anchor is the point in the center of the image.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba

from quirk.bodies.body import Body

from ..scene.camera import Camera
from ..scene.force_shapes import ARROWS, STYLES
from ..scene.force_shapes import COLORS as FORCE_COLORS
from ..scene.plates import GROUND, GROUND_EDGE, Box, cut_to
from ..scene.ropes import ROD_COLOR, ROD_WIDTH, chunks
from ..scene.scene import Scene, axis_of, drawing_of, drawn_on, shows_axis

# Lengths relative to half the image size: LONGEST_EDGE, maximum length of edges, above which faces are divided so that
# each piece has its own depth; MARK, radius of a joint's symbol; AXIS, half the length of a joint's axis. LARGEST_MARK
# is the maximum radius of a symbol relative to the extent of typical bodies.
LONGEST_EDGE, MARK, LARGEST_MARK, AXIS = 0.25, 0.014, 0.12, 0.06
MARK_CORNERS = 12
# Brightness of a face that is perpendicular to the light, and the additional brightness of one that faces it. The
# light comes from behind the viewer, above and to the left.
AMBIENT, DIFFUSE = 0.62, 0.42
LIGHT = np.array([-0.35, 0.55, 0.76])
# Line widths, points: seams between faces, lines from the center of mass, springs, and trails.
SEAM, ARM, SPRING, TRAIL = 0.4, 2.0, 1.2, 1.2
TRAIL_COLOR, MARK_COLOR = to_rgba("#cc3311"), (0.0, 0.0, 0.0, 1.0)
# Number of points per piece of a line (each piece has its own depth); maximum number of pieces of a trail; number of
# dashes of a dashed line.
PIECE, MOST_PIECES, DASHES = 5, 300, 12
# Opacity of planes fixed in bodies.
PLANE_OPACITY = 0.7
# Depth of lines that are drawn in front of all bodies.
ON_TOP = 1e300


class Faces(NamedTuple):
    """F polygons with k corners each, fixed to bodies.

    Attributes
    ----------
    owner : (F,) index of the body of each polygon
    corners : (F, k, 3) in body coordinates, m
    normal : (F, 3) unit normals, body axes
    color : colors of the polygons
    width : line widths, points
    """

    owner: np.ndarray
    corners: np.ndarray
    normal: np.ndarray
    color: np.ndarray
    width: np.ndarray


class Joints(NamedTuple):
    """Graphical symbols of J joints, each with a joint point and an axis.

    Attributes
    ----------
    constraints : the joints
    owner : (J,) index of the body on which each symbol is drawn
    points : (J, 3, 3) joint point and both ends of the axis, body coordinates, m
    width, color : line width, points, and color of each axis
    nearer : shift of each symbol toward the viewer, m
    """

    constraints: list[Any]
    owner: np.ndarray
    points: np.ndarray
    width: list[float]
    color: list[Any]
    nearer: list[float]


class Painter:
    """Drawing of a scene as polygons in a square image of half width `half`, m.

    Parameters
    ----------
    ax : matplotlib axes
    scene : Scene
    camera : Camera
    half : half width of the image, m
    arrows : half the length scale of arrows and coils, m
    box : lowest and highest corner (3,) of the displayed box, relative to the anchor, m; it bounds planes fixed to
        bodies
    """

    def __init__(self, ax: Any, scene: Scene, camera: Camera, half: float, arrows: float, box: Box) -> None:
        self._box = box
        self.scene, self.camera, self.half, self._arrows = scene, camera, half, arrows
        self._collection = ax.add_collection(PolyCollection([], animated=True), autolim=False)
        self._points_per_meter = 72.0 * float(ax.get_figure().get_size_inches().min()) / (2 * half)
        names = [body.name for body in scene.bodies]
        poses = [scene.poses[name] for name in names] + [_at_rest(len(scene.times))]
        self._position = np.stack([r for r, _ in poses], axis=1)
        self._rotation = np.stack([R for _, R in poses], axis=1)
        drawn = [(row, scene.faces[name], scene.colors[name]) for row, name in enumerate(names)]
        drawn.append((len(names), *scene.resting))
        self._groups = _grouped(drawn, LONGEST_EDGE * half)
        self._thick = {name: _thickness(scene.faces[name]) for name in names}
        turn = np.linspace(0.0, 2 * np.pi, MARK_CORNERS, endpoint=False)
        # The marks are small if there are many small bodies.
        sizes = [float(np.ptp(np.concatenate(scene.faces[name]), axis=0).max()) for name in names if scene.faces[name]]
        usual = float(np.median([size for size in sizes if size > 0] or [np.inf]))
        self._size_factor = min(1.0, LARGEST_MARK * usual / (MARK * half))
        self._mark = (
            self._size_factor * MARK * half * np.stack([np.cos(turn), np.sin(turn), np.zeros(MARK_CORNERS)], axis=1)
        )
        self._joints = self._marked()

    @property
    def artist(self) -> Any:
        """The matplotlib artist that contains all polygons."""
        return self._collection

    def draw(self, frame: int, anchor: np.ndarray) -> None:
        """Draw the animation frame with index `frame`; `anchor` (3,), inertial frame, m, is the point in its center."""
        self._polygons: list[np.ndarray] = []
        self._depths: list[float] = []
        self._inside: list[Any] = []
        self._edges: list[Any] = []
        self._widths: list[float] = []
        self._add_planes(frame, anchor)
        for group in self._groups:
            self._add_faces(group, frame, anchor)
        for beam in self.scene.beams:
            faces, ground = beam.faces(frame), len(self.scene.bodies)
            for group in _grouped([(ground, faces, [self.scene.color_of(beam)] * len(faces))], np.inf):
                self._add_faces(group, frame, anchor)
        self._add_lines(frame, anchor)
        self._add_joints(frame, anchor)
        order = np.argsort(self._depths, kind="stable")
        self._collection.set_verts([self._polygons[k] for k in order], closed=False)
        for setter, values in (
            (self._collection.set_facecolor, self._inside),
            (self._collection.set_edgecolor, self._edges),
            (self._collection.set_linewidth, self._widths),
        ):
            setter([values[k] for k in order])

    def _add_planes(self, frame: int, anchor: np.ndarray) -> None:
        """Add the unbounded planes that are fixed to bodies, behind all other polygons.

        `frame` is the index of the animation frame, and `anchor` (3,), m, the point in its center.
        """
        for plane in self.scene.planes:
            if not isinstance(plane.body, Body):
                continue
            point, normal = self.scene.plane_at(plane, frame)
            polygon = cut_to(self._box, point - anchor, normal)
            if len(polygon) > 2:
                self._polygons.append(self.camera.to_view(polygon)[:, :2])
                self._depths.append(-ON_TOP)
                self._inside.append(to_rgba(GROUND, PLANE_OPACITY))
                self._edges.append(to_rgba(GROUND_EDGE))
                self._widths.append(SEAM)

    def _add_faces(self, group: Faces, frame: int, anchor: np.ndarray) -> None:
        R, r = self._rotation[frame, group.owner], self._position[frame, group.owner] - anchor
        seen = self.camera.to_view(group.corners @ np.swapaxes(R, 1, 2) + r[:, None])
        normal = self.camera.to_view(np.einsum("fij,fj->fi", R, group.normal))
        towards = normal * np.where(normal[:, 2:] < 0, -1.0, 1.0)
        bright = AMBIENT + DIFFUSE * np.maximum(towards @ LIGHT, 0.0)
        flat = group.normal.any(axis=1)
        color = group.color.copy()
        color[:, :3] = np.clip(color[:, :3] * np.where(flat, bright, 1.0)[:, None], 0.0, 1.0)
        closed = np.concatenate([seen[:, :, :2], seen[:, :1, :2]], axis=1)
        self._polygons += list(closed)
        self._depths += seen[:, :, 2].mean(axis=1).tolist()
        self._inside += color.tolist()
        self._edges += color.tolist()
        self._widths += group.width.tolist()

    def _add_line(self, points: np.ndarray, edge: Any, width: float, nearer: float = 0.0, piece: int = PIECE) -> None:
        """Add a line through points (k, 3), in viewing coordinates, m, divided into pieces of `piece` points.

        `edge` is the color, `width` the line width, points; `nearer` shifts the line toward the viewer, m.
        """
        for part in chunks(points, piece):
            self._polygons.append(part[:, :2])
            self._depths.append(float(part[:, 2].mean()) + nearer)
            self._inside.append((0.0, 0.0, 0.0, 0.0))
            self._edges.append(edge)
            self._widths.append(width)

    def _add_lines(self, frame: int, anchor: np.ndarray) -> None:
        scene, seen = self.scene, self.camera.to_view
        for constraint, path in scene.rods:
            if scene.acts(constraint, frame):
                self._add_line(seen(path[frame] - anchor), to_rgba(ROD_COLOR), ROD_WIDTH, piece=2)
        for element, points in scene.forces.curves(frame, self._arrows):
            color, style = to_rgba(FORCE_COLORS[element.drawing]), STYLES[element.drawing]
            line = seen(points - anchor)
            if element.drawing in ARROWS:
                self._add_line(line, color, SPRING, ON_TOP, len(line))
            elif style == "--":
                ends = np.linspace(0.0, 1.0, 2 * DASHES)[:, None]
                for k in range(DASHES):
                    self._add_line(line[0] + ends[2 * k : 2 * k + 2] * (line[-1] - line[0]), color, SPRING)
            else:
                self._add_line(line, color, SPRING)
        for name, trail in zip(scene.trailing, scene.trails, strict=True):
            line = seen(trail[: scene.fineness * frame + 1] - anchor)
            # The line is drawn in front of the body, by the thickness of the body; otherwise the faces would hide it.
            piece = max(scene.fineness + 1, len(line) // MOST_PIECES)
            self._add_line(line, TRAIL_COLOR, TRAIL, self._thick[name], piece)

    def _add_joints(self, frame: int, anchor: np.ndarray) -> None:
        """Add symbols and axes of joints, just in front of the bodies that they connect.

        `frame` is the index of the animation frame, and `anchor` (3,), m, the point in its center.
        """
        joints = self._joints
        if not len(joints.nearer):
            return
        R, r = self._rotation[frame, joints.owner], self._position[frame, joints.owner] - anchor
        seen = self.camera.to_view(joints.points @ np.swapaxes(R, 1, 2) + r[:, None])
        marks = seen[:, :1, :2] + self._mark[:, :2]
        for k in np.flatnonzero([self.scene.acts(constraint, frame) for constraint in joints.constraints]).tolist():
            if joints.width[k] > 0:
                self._add_line(seen[k, 1:], joints.color[k], joints.width[k], joints.nearer[k])
            self._polygons.append(marks[k])
            self._depths.append(float(seen[k, 0, 2]) + joints.nearer[k])
            self._inside.append(MARK_COLOR)
            self._edges.append(MARK_COLOR)
            self._widths.append(SEAM)

    def _marked(self) -> Joints:
        """Return the graphical symbols of all joints in the scene."""
        rows = {body.name: row for row, body in enumerate(self.scene.bodies)}
        found: list[Any] = []
        for constraint in self.scene.constraints:
            body, place = drawn_on(constraint)
            option = drawing_of(constraint)
            half = AXIS * self._size_factor * self.half if option.axis_length is None else 0.5 * option.axis_length
            ends = place.origin + np.outer([0.0, -half, half], place.matrix[:, axis_of(constraint)])
            radius = option.axis_radius
            width = 2.0 * self._size_factor if radius is None else max(0.5, 2 * radius * self._points_per_meter)
            joined = (constraint.body_i.name, constraint.body_j.name)
            nearer = max(self._thick.get(name, 0.0) for name in joined) + LONGEST_EDGE * self.half
            color = to_rgba("black" if option.color is None else option.color)  # type: ignore[arg-type]
            row = rows.get(body.name, len(rows))
            found.append((row, ends, width if shows_axis(constraint) else 0.0, color, nearer))
        points = np.array([ends for _, ends, *_ in found]).reshape(-1, 3, 3)
        owner = np.array([row for row, *_ in found], dtype=int)
        looks = [[one[k] for one in found] for k in (2, 3, 4)]
        return Joints(self.scene.constraints, owner, points, *looks)


def _at_rest(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((count, 3)), np.tile(np.eye(3), (count, 1, 1))


def _thickness(faces: list[np.ndarray]) -> float:
    """Return the smallest extent of a body along its body axes, m; `faces` are its faces (k, 3)."""
    return float(np.ptp(np.concatenate(faces), axis=0).min()) if faces else 0.0


def _grouped(bodies: list[tuple[int, list[np.ndarray], list[Any]]], longest: float) -> list[Faces]:
    """Return the faces of all bodies, grouped by their number of corners.

    `bodies` contains the index of each body, its faces and their colors; faces with edges longer than `longest`, m, are
    divided.
    """
    by_count: dict[int, list[tuple[int, np.ndarray, Any]]] = {}
    for row, faces, colors in bodies:
        for face, color in zip(faces, colors, strict=True):
            for part in _cut(_distinct(face), longest):
                by_count.setdefault(len(part), []).append((row, part, to_rgba(color)))
    groups = []
    for found in by_count.values():
        rows, colors = [row for row, _, _ in found], [color for _, _, color in found]
        corners = np.array([part for _, part, _ in found])
        # Newell's formula for the normal; it is zero for a polygon without area.
        normal = np.cross(corners, np.roll(corners, -1, axis=1)).sum(axis=1)
        size = np.linalg.norm(normal, axis=1)
        extent = np.ptp(corners, axis=1).max(axis=1)
        flat = size > 1e-9 * extent**2
        normal = np.where(flat[:, None], normal / np.where(flat, size, 1.0)[:, None], 0.0)
        color = np.array(colors, dtype=float)
        width = np.where(flat, np.where(color[:, 3] < 1, 0.0, SEAM), ARM)
        groups.append(Faces(np.array(rows), corners, normal, color, width))
    return groups


def _distinct(face: np.ndarray) -> np.ndarray:
    """Return the corners of a polygon (k, 3) without the repetitions of its last corner."""
    last = len(face)
    while last > 2 and (face[last - 1] == face[last - 2]).all():
        last -= 1
    return face[:last]


def _cut(face: np.ndarray, longest: float) -> list[np.ndarray]:
    """Return a quadrilateral as a list of parts with edges of at most `longest`, m; other polygons are not divided."""
    if len(face) != 4:
        return [face]
    edges = np.linalg.norm(face - np.roll(face, -1, axis=0), axis=1)
    n, m = (int(np.clip(np.ceil(max(pair) / longest), 1, 12)) for pair in (edges[[0, 2]], edges[[1, 3]]))
    u, v = np.linspace(0, 1, n + 1), np.linspace(0, 1, m + 1)
    a, b, c, d = face

    def at(s: float, t: float) -> np.ndarray:
        return np.asarray((1 - t) * ((1 - s) * a + s * b) + t * ((1 - s) * d + s * c))

    return [
        np.array([at(u[i], v[j]), at(u[i + 1], v[j]), at(u[i + 1], v[j + 1]), at(u[i], v[j + 1])])
        for i in range(n)
        for j in range(m)
    ]
