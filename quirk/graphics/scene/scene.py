"""Drawable geometry of a mechanism: shapes of bodies, symbols of joints, forces, and paths of points.

Drawings are made at nt times, with the index `frame`. Paths are in the inertial frame, m.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba

from quirk.beams import Beam
from quirk.bodies.body import GROUND, Body
from quirk.constraints import Constraint, Drawing, Joint
from quirk.constraints.relation import FORCE
from quirk.result.pose_interpolation import orientations, poses, stretches
from quirk.system.system import System

from .beams import SweptBeam, beam_of_bodies, beams_of
from .force_shapes import ForceLines
from .outlines import Outline
from .plates import PLATE, DrawnPlane, clipped_to_box, planes_of, plate_faces, quadrilaterals
from .ropes import rods
from .wheels import round_faces

if TYPE_CHECKING:
    from quirk.result.result import Result

COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"]
LETTERS = "xyz"
# Color of rims, spokes and racks.
WHEEL = "#555555"
# Opacity of shapes whose color specifies none.
OPACITY = 1.0
# Number of points of a trail between two animation frames.
TRAIL_POINTS = 8
# Plates fixed in the inertial frame are drawn within this distance of the motion, relative to its largest extent.
AROUND = 1.0


class Scene:
    """Drawable geometry of a mechanism, with the poses of all bodies at nt times.

    Parameters
    ----------
    result : Result
    times : (nt,) times at which it is drawn, s
    trails : body points (body name, point (3,) in body coordinates, m) whose paths are drawn
    fineness : number of points of these paths between two times
    """

    def __init__(
        self,
        result: Result,
        times: np.ndarray,
        trails: list[tuple[str, np.ndarray]],
        fineness: int = TRAIL_POINTS,
    ) -> None:
        self.times, self.fineness = times, fineness
        companions = result.system.companions
        self.bodies = [body for body in result.system.bodies if body not in companions]
        self.constraints = [
            c
            for c in result.system.constraints
            if c not in companions and result.active(c.name).any() and drawing_of(c).show and _acts_at_points(c)
        ]
        rows = stretches(result, times)
        self._active = {c.name: result.active(c.name)[rows] for c in self.constraints}
        self._all_constraints = result.system.constraints
        self.gravity = result.system.gravity
        self.poses = {body.name: poses(result, body.name, times) for body in result.system.bodies}
        wheels, plates = round_faces(result.system), plate_faces(result.system)
        self.planes = planes_of(result.system)
        self.beams = [_swept(result, beam, times) for beam in beams_of(result.system)]
        self._draw_bodies(result.system, wheels, plates)
        self.forces = ForceLines(result, times, self.path_of)
        fine = np.linspace(times[0], times[-1], fineness * (len(times) - 1) + 1)
        self.trailing = [name for name, _ in trails]
        self.trails = [_point_path(result, name, local, fine) for name, local in trails]
        self._bound()
        self.plates = self._near(plates.get(GROUND.name, []))
        rings = wheels.get(GROUND.name, [])
        self.resting = rings + self.plates, [WHEEL] * len(rings) + [PLATE] * len(self.plates)
        self.half = float(0.55 * (self.high - self.low).max() or 1.0)

    def _draw_bodies(
        self, system: System, wheels: Mapping[str, list[np.ndarray]], plates: Mapping[str, list[np.ndarray]]
    ) -> None:
        """Collect faces and colors of each body: shapes, lines to its joints, and its wheels and plates."""
        ends = [(c.body_i, c.frame_i) for c in self.constraints] + [(c.body_j, c.frame_j) for c in self.constraints]
        in_beams = beam_of_bodies(system)
        self.faces: dict[str, list[np.ndarray]] = {}
        self.colors: dict[str, list[Any]] = {}
        for number, body in enumerate(self.bodies):
            usual = COLORS[number % len(COLORS)]
            solid = [(shape.faces(), usual if shape.color is None else shape.color) for shape in body.shapes]
            # Lines from the center of mass to the joints connect them with the body where its shapes do not.
            held = [f.origin for b, f in ends if b is body and body.name not in in_beams]
            outside = [origin for origin in held if not _within(origin, [x for x, _ in solid])]
            arms = [np.array([np.zeros(3), origin, np.zeros(3)]) for origin in outside]
            drawn = [(arms, usual), *solid]
            drawn += [(wheels.get(body.name, []), WHEEL), (plates.get(body.name, []), usual)]
            drawn = [(faces, _with_opacity(color)) for faces, color in drawn]
            self.faces[body.name] = [face for faces, _ in drawn for face in faces]
            self.colors[body.name] = [color for faces, color in drawn for _ in faces]
        # matplotlib requires faces with equal numbers of corners; repeating the last corner does not change a face.
        most = max((len(face) for faces in self.faces.values() for face in faces), default=0)
        for faces in self.faces.values():
            faces[:] = [np.concatenate([face, np.repeat(face[-1:], most - len(face), axis=0)]) for face in faces]

    def _bound(self) -> None:
        """Compute the bounding box of all drawn objects, and the extent of the motion along each axis."""
        corners = [self._carried(name, np.vstack([*faces, np.zeros(3)])) for name, faces in self.faces.items()]
        joints = [self.joint_point(c)[:, None] for c in self.constraints]
        swept = [beam.rings for beam in self.beams]
        every = np.concatenate([x.reshape(-1, 3) for x in corners + joints + swept + self.trails + self.forces.points])
        self.low, self.high = every.min(axis=0), every.max(axis=0)
        self.extent = np.max([np.ptp(x, axis=0).max(axis=0) for x in corners], axis=0)

    def _near(self, plates: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the parts of the fixed faces `plates` near the motion, and extend the displayed box to them."""
        margin = AROUND * float((self.high - self.low).max()) or 1.0
        box = self.low - margin, self.high + margin
        found = [face for plate in plates for face in quadrilaterals(clipped_to_box(box, plate))]
        if found:
            corners = np.concatenate(found)
            self.low, self.high = np.minimum(self.low, corners.min(axis=0)), np.maximum(self.high, corners.max(axis=0))
        return found

    @cached_property
    def outlines(self) -> dict[str, Outline]:
        """Edges of each body that has faces, by name of the body."""
        return {name: Outline(faces) for name, faces in self.faces.items() if faces}

    @cached_property
    def rods(self) -> list[tuple[Constraint, np.ndarray]]:
        """Constraints drawn as ropes or rods, each with the points (nt, k, 3) of its line."""
        return rods(self, self._all_constraints)

    def color_of(self, beam: SweptBeam) -> tuple[float, float, float, float]:
        """Return the color of a beam or, if the beam has none, of its first body."""
        number = [body.name for body in self.bodies].index(beam.beam.bodies[0].name)
        return _with_opacity(COLORS[number % len(COLORS)] if beam.beam.color is None else beam.beam.color)

    def fit(self, ax: Any, view: tuple[float, float] | None) -> None:
        """Set up three-dimensional axes with equal scales that contain all drawn objects.

        The length of their edges is twice the attribute `half`, m. `view` is the elevation and azimuth, degrees, or
        None.
        """
        middle, half = 0.5 * (self.low + self.high), self.half
        for letter, m in zip(LETTERS, middle, strict=True):
            getattr(ax, f"set_{letter}lim")(m - half, m + half)
        ax.locator_params(nbins=5)
        ax.set_box_aspect((1, 1, 1))
        vertical = int(np.argmax(np.abs(self.gravity))) if self.gravity.any() else 2
        elevation, azimuth = view or (20.0, -60.0)
        ax.view_init(elev=elevation, azim=azimuth, vertical_axis=LETTERS[vertical])

    def acts(self, constraint: Constraint, frame: int) -> bool:
        """Whether a constraint is enabled at the time with index `frame`; True for constraints without a symbol."""
        return constraint.name not in self._active or bool(self._active[constraint.name][frame])

    def joint_points(self, frame: int) -> np.ndarray:
        """Return the points (k, 3) of the k joints enabled at the time with index `frame`, inertial frame, m."""
        points = [self.joint_point(c)[frame] for c in self.constraints if self._active[c.name][frame]]
        return np.array(points).reshape(-1, 3)

    def plane_at(self, plane: DrawnPlane, frame: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a point (3,), m, and the normal (3,) of a plane at the time with index `frame`, inertial frame."""
        if not isinstance(plane.body, Body):
            return plane.point, plane.normal
        r, R = (part[frame] for part in self.poses[plane.body.name])
        return r + R @ plane.point, R @ plane.normal

    def joint_point(self, constraint: Constraint) -> np.ndarray:
        """Return the path (nt, 3) of the point at which a joint is drawn, inertial frame, m."""
        body, frame = drawn_on(constraint)
        return self.path_of(body, frame.origin)

    def corners_of(self, name: str) -> np.ndarray:
        """Return the paths (nt, k, 3) of the corners of a body's bounding box and of its center of mass.

        The paths are in the inertial frame, m.
        """
        faces = self.faces[name]
        ends = (
            np.stack([part(np.concatenate(faces), axis=0) for part in (np.min, np.max)]) if faces else np.zeros((2, 3))
        )
        corners = np.array(np.meshgrid(*ends.T)).reshape(3, -1).T
        return self._carried(name, np.vstack([corners, np.zeros(3)]))

    def path_of(self, body: Any, local: np.ndarray) -> np.ndarray:
        """Return the path (nt, 3) of a point (3,) of a body or of the ground, inertial frame, m."""
        if not isinstance(body, Body):
            return np.tile(local, (len(self.times), 1))
        return self._carried(body.name, local[None])[:, 0]

    def _carried(self, name: str, points: np.ndarray) -> np.ndarray:
        """Return the paths (nt, k, 3) of k points (k, 3) fixed to a body, inertial frame, m."""
        r, R = self.poses[name]
        return r[:, None] + points @ np.swapaxes(R, 1, 2)


def _swept(result: Result, beam: Beam, times: np.ndarray) -> SweptBeam:
    pairs = [orientations(result, body.name, times) for body in beam.bodies]
    positions, turns = (np.stack([pair[k] for pair in pairs], axis=1) for k in (0, 1))
    return SweptBeam(beam, positions, turns)


def _within(point: np.ndarray, shapes: Sequence[Sequence[np.ndarray]]) -> bool:
    """Whether the bounding box of one of a body's shapes contains both a point and the center of mass of the body."""
    for faces in shapes:
        corners = np.concatenate(faces)
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = 0.05 * (high - low).max()
        if all((x >= low - margin).all() and (x <= high + margin).all() for x in (point, np.zeros(3))):
            return True
    return False


def _with_opacity(color: Any) -> tuple[float, float, float, float]:
    """Return a color as (r, g, b, opacity); a color without opacity gets the default one."""
    solid = to_rgba(color)
    return solid if solid != to_rgba(color, 1.0) or len(np.atleast_1d(color)) == 4 else to_rgba(color, OPACITY)


def _acts_at_points(constraint: Constraint) -> bool:
    """Whether a constraint exerts forces at its joint points, which are then drawn."""
    return any(FORCE in primitive.units for primitive in constraint.primitives)


def drawn_on(constraint: Constraint) -> tuple[Any, Any]:
    """Return the body and the joint frame at which a joint is drawn: j, or i if body j is the ground."""
    if isinstance(constraint.body_j, Body):
        return constraint.body_j, constraint.frame_j
    return constraint.body_i, constraint.frame_i


def drawing_of(constraint: Constraint) -> Drawing:
    """Return the user's drawing options of a constraint, or the default options."""
    return getattr(constraint, "drawing", Drawing())


def axis_of(constraint: Constraint) -> int:
    """Return the index of a joint's free axis in its frames; 2 (z) if it has none."""
    axes = (getattr(constraint, name, None) for name in ("rotation_axis", "translation_axis"))
    return next((axis for axis in axes if axis is not None), 2)


def shows_axis(constraint: Constraint) -> bool:
    """Whether a joint has a free axis to be drawn."""
    return isinstance(constraint, Joint) and (
        constraint.rotation_axis is not None or constraint.translation_axis is not None
    )


def _point_path(result: Result, name: str, local: Any, times: np.ndarray) -> np.ndarray:
    """Return the path (nt, 3) of a point of a body at finely spaced times (s), inertial frame, m."""
    r, R = poses(result, name, times)
    return r + R @ local
