"""A mechanism in space: bodies with their shapes, joints marked, forces, and trails of points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from .body import Body
from .constraints import Constraint, Drawing, Joint
from .constraints.primitives import DOT1
from .constraints.relation import FORCE, Relation
from .in_between import poses, stretches
from .scene_forces import ForceLines

if TYPE_CHECKING:
    from .result import Result

COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"]
LETTERS = "xyz"
# Of shapes whose colour says none.
OPACITY = 0.75
# Points of a trail between two pictures.
TRAIL_POINTS = 8


class Scene:
    """What is drawn, with the poses of all bodies at the times of the pictures.

    `trails` are body points, as (body name, point (3,) in body coordinates), with `fineness` points of their paths
    between two times.
    """

    def __init__(
        self,
        result: Result,
        times: np.ndarray,
        trails: list[tuple[str, np.ndarray]],
        fineness: int = TRAIL_POINTS,
    ) -> None:
        self.times, self.fineness = times, fineness
        self.bodies = result.system.bodies
        self.constraints = [
            c
            for c in result.system.constraints
            if result.active(c.name).any() and drawing_of(c).show and _holds_points(c, self.bodies)
        ]
        rows = stretches(result, times)
        self._active = {c.name: result.active(c.name)[rows] for c in self.constraints}
        self.gravity = result.system.gravity
        self.poses = {body.name: poses(result, body.name, times) for body in self.bodies}
        ends = [(c.body_i, c.frame_i) for c in self.constraints] + [(c.body_j, c.frame_j) for c in self.constraints]
        # Lines from the centre of mass to the joints show what holds a body where its shape does not reach.
        self.faces: dict[str, list[np.ndarray]] = {}
        self.colors: dict[str, list[Any]] = {}
        for number, body in enumerate(self.bodies):
            usual = COLORS[number % len(COLORS)]
            arms = [np.array([np.zeros(3), f.origin, np.zeros(3)]) for b, f in ends if b is body]
            drawn = [(arms, usual), *((s.faces(), usual if s.color is None else s.color) for s in body.shapes)]
            drawn = [(faces, _seen_through(color)) for faces, color in drawn]
            self.faces[body.name] = [face for faces, _ in drawn for face in faces]
            self.colors[body.name] = [color for faces, color in drawn for _ in faces]
        # matplotlib wants faces of one corner count: repeating the last corner changes no face.
        most = max((len(face) for faces in self.faces.values() for face in faces), default=0)
        for faces in self.faces.values():
            faces[:] = [np.concatenate([face, np.repeat(face[-1:], most - len(face), axis=0)]) for face in faces]
        self.forces = ForceLines(result, times, self._end)
        fine = np.linspace(times[0], times[-1], fineness * (len(times) - 1) + 1)
        self.trails = [_point_path(result, name, local, fine) for name, local in trails]
        corners = [self._carried(name, np.vstack([*faces, np.zeros(3)])) for name, faces in self.faces.items()]
        joints = [self.joint_point(c)[:, None] for c in self.constraints]
        every = np.concatenate([x.reshape(-1, 3) for x in corners + joints + self.trails + self.forces.points])
        self.low, self.high = every.min(axis=0), every.max(axis=0)
        self.half = float(0.55 * (self.high - self.low).max() or 1.0)
        # How far points of bodies move along each axis.
        self.extent = np.max([np.ptp(x, axis=0).max(axis=0) for x in corners], axis=0)

    def fit(self, ax: Any, view: tuple[float, float] | None) -> None:
        """Set up equal axes that hold everything, of twice the length `half`, m."""
        middle, half = 0.5 * (self.low + self.high), self.half
        for letter, m in zip(LETTERS, middle, strict=True):
            getattr(ax, f"set_{letter}lim")(m - half, m + half)
            getattr(ax, f"set_{letter}label")(f"{letter} (m)")
        ax.locator_params(nbins=5)
        ax.set_box_aspect((1, 1, 1))
        vertical = int(np.argmax(np.abs(self.gravity))) if self.gravity.any() else 2
        elevation, azimuth = view or (20.0, -60.0)
        ax.view_init(elev=elevation, azim=azimuth, vertical_axis=LETTERS[vertical])

    def prepare(self, ax: Any, view: tuple[float, float] | None) -> None:
        """Set up equal axes and the artists that `draw` moves."""
        self.fit(ax, view)
        half = self.half
        self.solids = {}
        for name, faces in self.faces.items():
            colors = self.colors[name]
            solid = Poly3DCollection(faces, facecolor=colors, edgecolor=colors, linewidth=0.8)
            self.solids[name] = ax.add_collection3d(solid)
        (self.dots,) = ax.plot([], [], [], "o", color="black", markersize=4)
        # An axis as thick as asked for: points of the page for each metre.
        thick = 72.0 * ax.get_figure().get_size_inches().min() / (2 * half)
        self.axes_lines = []
        for option in (drawing_of(c) for c in self.constraints if _shows_axis(c)):
            width = 2.0 if option.axis_radius is None else max(0.5, 2 * option.axis_radius * thick)
            color = "black" if option.color is None else option.color
            self.axes_lines.append(ax.plot([], [], [], color=color, linewidth=width)[0])
        self.forces.prepare(ax, half)
        self.trail_lines = [ax.plot([], [], [], color="#cc3311", linewidth=1)[0] for _ in self.trails]
        self.axis_length = 0.06 * half
        self.caption = ax.text2D(0.03, 0.95, "", transform=ax.transAxes)

    def draw(self, frame: int) -> None:
        """Move everything to its place in picture number `frame`."""
        for name, solid in self.solids.items():
            r, R = (part[frame] for part in self.poses[name])
            solid.set_verts([face @ R.T + r for face in self.faces[name]])
        self.dots.set_data_3d(*self.joint_points(frame).T)
        shown = [c for c in self.constraints if _shows_axis(c)]
        for constraint, line in zip(shown, self.axes_lines, strict=True):
            body, joint_frame = _drawn_on(constraint)
            r, R = (part[frame] for part in self.poses[body.name])
            length = drawing_of(constraint).axis_length
            half = self.axis_length if length is None else 0.5 * length
            ends = joint_frame.origin + np.outer([-half, half], joint_frame.matrix[:, _free_axis(constraint)])
            line.set_data_3d(*(ends @ R.T + r).T)
            line.set_visible(self._active[constraint.name][frame])
        self.forces.draw(frame)
        for trail, line in zip(self.trails, self.trail_lines, strict=True):
            line.set_data_3d(*trail[: self.fineness * frame + 1].T)
        self.caption.set_text(f"t = {self.times[frame]:.2f} s")

    def joint_points(self, frame: int) -> np.ndarray:
        """Points (k, 3) in N of the joints that are switched on in picture number `frame`."""
        points = [self.joint_point(c)[frame] for c in self.constraints if self._active[c.name][frame]]
        return np.array(points).reshape(-1, 3)

    def joint_point(self, constraint: Constraint) -> np.ndarray:
        """Path (nt, 3) in N of the joint point."""
        body, frame = _drawn_on(constraint)
        return self._end(body, frame.origin)

    def _end(self, body: Any, local: np.ndarray) -> np.ndarray:
        """Path (nt, 3) in N of a point of a body or of the ground."""
        if not isinstance(body, Body):
            return np.tile(local, (len(self.times), 1))
        return self._carried(body.name, local[None])[:, 0]

    def _carried(self, name: str, points: np.ndarray) -> np.ndarray:
        """Points (k, 3) of a body along the motion (nt, k, 3), in N."""
        r, R = self.poses[name]
        return r[:, None] + points @ np.swapaxes(R, 1, 2)


def _seen_through(color: Any) -> tuple[float, float, float, float]:
    """A colour with its own opacity, or with the usual one if it says none."""
    solid = to_rgba(color)
    return solid if solid != to_rgba(color, 1.0) or len(np.atleast_1d(color)) == 4 else to_rgba(color, OPACITY)


def _holds_points(constraint: Constraint, bodies: Sequence[Body]) -> bool:
    """Whether a constraint exerts forces at its points; what keeps a planar body in its plane does so anywhere."""
    companion = any(constraint in body.companions for body in bodies)
    return not companion and any(
        FORCE in primitive.units if isinstance(primitive, Relation) else primitive.kind != DOT1
        for primitive in constraint.primitives
    )


def _drawn_on(constraint: Constraint) -> tuple[Any, Any]:
    """Return the body, and its joint frame, on which a joint is marked: j, or i where j is the ground."""
    if isinstance(constraint.body_j, Body):
        return constraint.body_j, constraint.frame_j
    return constraint.body_i, constraint.frame_i


def drawing_of(constraint: Constraint) -> Drawing:
    """How a constraint wants to be drawn."""
    return getattr(constraint, "drawing", Drawing())


def _free_axis(constraint: Constraint) -> int:
    """The axis of a joint's frames about or along which there is motion."""
    axes = (getattr(constraint, name, None) for name in ("rotation_axis", "translation_axis"))
    return next((axis for axis in axes if axis is not None), 2)


def _shows_axis(constraint: Constraint) -> bool:
    return isinstance(constraint, Joint) and (
        constraint.rotation_axis is not None or constraint.translation_axis is not None
    )


def _point_path(result: Result, name: str, local: Any, times: np.ndarray) -> np.ndarray:
    """Path (nt, 3) in N of a body point at finely spaced times."""
    r, R = poses(result, name, times)
    return r + R @ local
