"""Display of bodies in the viewer: their shapes, and thin arms to the points where constraints and forces act."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba

from quirk.bodies.body import GROUND, Body
from quirk.bodies.polyhedron import fault, welded
from quirk.bodies.solids import Mesh, Shape

from ..scene.beams import beam_of_bodies
from ..scene.plates import PLATE, plate_faces
from ..scene.scene import WHEEL
from ..scene.wheels import round_faces
from .parts import BodyPart, Look
from .surfaces import SurfaceMesh, ball, creased, ellipsoid, of_faces, of_polygons, together, tube

if TYPE_CHECKING:
    from quirk.system.system import System

COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb"]
# Radius of the arms and of the ball at their common end, relative to the reach of the body, which is the distance from
# its center of mass to its farthest drawn point.
ARM, HUB = 0.012, 0.035
# Smallest distance of a point from the center of mass, relative to the reach, at which an arm to the point is drawn.
NEAR = 1e-6
# Radius of the ball at a node of a beam, relative to the smallest radius of the section, so that the beam hides it.
HIDDEN = 0.2


def color_of(number: int) -> str:
    """Return the default color of the body with index `number`."""
    return COLORS[number % len(COLORS)]


def body_parts(system: System, reach: Mapping[str, float]) -> list[BodyPart]:
    """Return the displayed parts of all bodies.

    `reach` is the distance from a body's center of mass to its farthest drawn point, m, by name of the body.
    """
    found = []
    wheels, plates = round_faces(system), plate_faces(system)
    in_beams = beam_of_bodies(system)
    companions = system.companions
    for number, body in enumerate(body for body in system.bodies if body not in companions):
        usual = to_rgba(color_of(number))
        if body.name in in_beams:  # hidden inside the beam
            hidden = ball(HIDDEN * reach[body.name]).placed(body.frame("node").origin, np.eye(3))
            found.append(BodyPart(body.name, [Look(hidden, usual)], body, labeled=False))
            continue
        looks = [Look(surface_of(shape), rgba_of(shape.color, usual)) for shape in body.shapes]
        arms = _arms(attachment_points(system, body), reach[body.name])
        if arms is not None:
            looks.append(Look(arms, usual))
        looks += _wheels(wheels, body.name, to_rgba(WHEEL)) + _wheels(plates, body.name, usual)
        if not looks:
            looks.append(Look(_of_inertia(body), usual))
        found.append(BodyPart(body.name, looks, body))
    fixed = _wheels(wheels, GROUND.name, to_rgba(WHEEL)) + _wheels(plates, GROUND.name, to_rgba(PLATE))
    if fixed:
        found.append(BodyPart(GROUND.name, fixed, GROUND))
    return found


def _wheels(faces: Mapping[str, list[np.ndarray]], name: str, color: tuple[float, float, float, float]) -> list[Look]:
    return [Look(of_faces(faces[name]), color)] if faces.get(name) else []


def surface_of(shape: Shape) -> SurfaceMesh:
    """Return the triangulated surface of a shape in body coordinates."""
    if isinstance(shape, Mesh):
        closed = fault(welded(shape.vertices, shape.triangles)[1]) is None
        surface = creased(shape.vertices, shape.triangles, closed)
        return surface.placed(shape.frame.origin, shape.frame.matrix)
    return of_polygons(shape.faces())


def attachment_points(system: System, body: Body) -> list[np.ndarray]:
    """Return the points (3,), body coordinates, m, at which constraints and forces act on a body."""
    companions = system.companions
    ends: Iterable[Any] = (
        end
        for parts in (system.constraints, system.forces)
        for part in parts
        if part not in companions and getattr(part, "drawing", None) != ""
        for end in part.ends
    )
    return [frame.origin for of, frame in ends if of is body]


def extent_from_center(system: System, body: Body) -> float:
    """Return the distance (m) from a body's center of mass to its farthest drawn point.

    For a body of a beam it is the smallest radius of the section.
    """
    beam = beam_of_bodies(system).get(body.name)
    if beam is not None:
        return float(np.linalg.norm(beam.section.outline, axis=1).min())
    corners = [surface_of(shape).vertices for shape in body.shapes]
    points = np.vstack([np.zeros(3), *attachment_points(system, body), *corners])
    reach = float(np.linalg.norm(points, axis=1).max())
    return reach if reach > 0 else float(np.linalg.norm(_semi_axes(body)[0]))


def _arms(points: list[np.ndarray], reach: float) -> SurfaceMesh | None:
    """Return thin bars from the center of mass of a body to `points` (3,), m; None if all points are close to it.

    `reach` is the distance of the farthest drawn point, m.
    """
    far = [point for point in points if np.linalg.norm(point) > NEAR * reach]
    if not far:
        return None
    return together([tube(np.array([np.zeros(3), p]), ARM * reach) for p in far] + [ball(HUB * reach)])


def _semi_axes(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Return the semi-axes (3,), m, and axes (3, 3), as columns, of the ellipsoid with a body's mass and inertia."""
    moments, axes = np.linalg.eigh(body.inertia)
    squares = 2.5 / body.mass * (moments.sum() - 2 * moments)
    return np.sqrt(np.maximum(squares, 1e-4 * squares.max())), axes * np.linalg.det(axes)


def _of_inertia(body: Body) -> SurfaceMesh:
    """Return the homogeneous ellipsoid with a body's mass and inertia, shown for bodies without shapes."""
    semi_axes, axes = _semi_axes(body)
    return ellipsoid(semi_axes).placed(np.zeros(3), axes)


def rgba_of(color: Any, default: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    """Return a color as (r, g, b, opacity); `default` if `color` is None."""
    return default if color is None else to_rgba(color)
