"""Geometry of surfaces that bodies contact: bounded plates and bowls as faces, and unbounded planes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import Body, Ground
from quirk.constraints import Contact, RollingDisk
from quirk.constraints.constraint import initial_point
from quirk.constraints.planar import Rolling
from quirk.constraints.surface import Surface

if TYPE_CHECKING:
    from quirk.system.system import System

GROUND, GROUND_EDGE, PLATE = "#e9e6dc", "#b5b09d", "#c9c3ae"
# Number of corners of a circle; numbers of meridians and parallels of a sphere; half the width of the bands along
# meridians and parallels, relative to the radius.
CORNERS, MERIDIANS, PARALLELS, HALF_BAND = 48, 6, 5, 0.006
# A plate is not drawn if a shape of its body contains it to within this fraction of the shape's size.
WITHIN = 0.02
# Planes are equal if the differences of their normals and offsets are below this.
SAME = 1e-9


@dataclass(frozen=True)
class DrawnPlane:
    """Unbounded plane fixed to a body or the ground.

    Attributes
    ----------
    body : Body or ground
    point : (3,) a point of the plane, body coordinates, m
    normal : (3,) unit normal, body axes
    """

    body: Body | Ground
    point: np.ndarray
    normal: np.ndarray

    def same(self, other: DrawnPlane) -> bool:
        """Whether another plane coincides with this one."""
        off = abs(float((other.point - self.point) @ self.normal))
        alike = np.allclose(self.normal, other.normal, atol=SAME) and off < SAME * (1 + np.abs(self.point).max())
        return self.body is other.body and bool(alike)


def planes_of(system: System) -> list[DrawnPlane]:
    """Return the distinct planes that bodies contact or on which they roll."""
    found: list[DrawnPlane] = []
    for constraint in system.constraints:
        for plane in planes_in(constraint):
            if not any(plane.same(other) for other in found):
                found.append(plane)
    return found


def planes_in(constraint: Any) -> list[DrawnPlane]:
    """Return the planes of one constraint, such as the plane on which a body slides or rolls."""
    if isinstance(constraint, RollingDisk):
        return [DrawnPlane(constraint.body_i, constraint.frame_i.origin, constraint.frame_i.matrix[:, 2])]
    if isinstance(constraint, Contact):
        return [
            DrawnPlane(body, surface.frame.origin, surface.frame.matrix[:, 2])
            for body, surface in _sides(constraint)
            if surface.kind == "plane"
        ]
    if isinstance(constraint, Rolling) and isinstance(constraint.body_i, Ground):
        # With a positive radius the line is to the left of the wheel.
        normal = -np.sign(constraint.radius) * constraint.frame_i.matrix[:, 1]
        center = initial_point(constraint.body_j, constraint.frame_j.origin)
        return [DrawnPlane(constraint.body_i, center - abs(constraint.radius) * normal, normal)]
    return []


def plate_faces(system: System) -> dict[str, list[np.ndarray]]:
    """Return the faces (4, 3), m, of bounded surfaces in body coordinates, by name of body or "ground".

    Plates inside a shape of their body are omitted.
    """
    faces: dict[str, list[np.ndarray]] = {}
    drawn: list[tuple[Any, Surface]] = []
    for contact in system.constraints:
        for body, surface in _sides(contact) if isinstance(contact, Contact) else ():
            if surface.kind not in FACES or any(body is b and _is_same_surface(surface, other) for b, other in drawn):
                continue
            drawn.append((body, surface))
            local = FACES[surface.kind](surface)
            placed = [face @ surface.frame.matrix.T + surface.frame.origin for face in local]
            if not _shown_by_shape(body, np.concatenate(placed)):
                faces.setdefault(body.name, []).extend(placed)
    return faces


def _sides(contact: Contact) -> list[tuple[Any, Surface]]:
    return list(zip((contact.body_i, contact.body_j), contact.surfaces, strict=True))


def _is_same_surface(a: Surface, b: Surface) -> bool:
    frames = np.allclose(a.frame.origin, b.frame.origin) and np.allclose(a.frame.matrix, b.frame.matrix)
    return frames and (a.kind, a.radius, a.half_size) == (b.kind, b.radius, b.half_size)


def _shown_by_shape(body: Body | Ground, corners: np.ndarray) -> bool:
    for shape in body.shapes if isinstance(body, Body) else ():
        points = np.concatenate(shape.faces())
        low, high = points.min(axis=0), points.max(axis=0)
        margin = WITHIN * float((high - low).max())
        if (corners >= low - margin).all() and (corners <= high + margin).all():
            return True
    return False


def _rectangle(surface: Surface) -> list[np.ndarray]:
    a, b = surface.half_size
    return [np.array([[-a, -b, 0.0], [a, -b, 0.0], [a, b, 0.0], [-a, b, 0.0]])]


def _circle(count: int) -> np.ndarray:
    angle = np.linspace(0.0, 2 * np.pi, count + 1)
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(count + 1)], axis=1)


def _disk(surface: Surface) -> list[np.ndarray]:
    rim, middle = surface.radius * _circle(CORNERS), np.zeros(3)
    return [np.array([middle, one, two, two]) for one, two in itertools.pairwise(rim)]


def _globe(surface: Surface) -> list[np.ndarray]:
    """Return the faces of a sphere whose inside stays visible: narrow bands along circles of latitude and longitude."""
    circle, faces = _circle(CORNERS), list[np.ndarray]()
    for latitude in np.linspace(-0.5 * np.pi, 0.5 * np.pi, PARALLELS + 2)[1:-1]:
        c, s = np.cos(latitude), np.sin(latitude)
        faces += _band(c * circle + [0.0, 0.0, s], HALF_BAND * ([0.0, 0.0, c] - s * circle))
    for longitude in np.arange(MERIDIANS) * (np.pi / MERIDIANS):
        c, s = np.cos(longitude), np.sin(longitude)
        ring = circle[:, [0, 2, 1]] * [c, 0.0, 1.0] + circle[:, [0]] * [0.0, s, 0.0]
        faces += _band(ring, np.tile(HALF_BAND * np.array([-s, c, 0.0]), (len(ring), 1)))
    return [surface.radius * face for face in faces]


def _band(ring: np.ndarray, across: np.ndarray) -> list[np.ndarray]:
    """Return the faces of a band along a closed line through k points, (k, 3).

    The vectors `across` (k, 3) extend from the line to one border of the band.
    """
    one, two = ring - across, ring + across
    return [np.array([one[k], one[k + 1], two[k + 1], two[k]]) for k in range(len(ring) - 1)]


FACES = {"rectangle": _rectangle, "disk": _disk, "bowl": _globe}


Box = tuple[np.ndarray, np.ndarray]


def cut_to(box: Box, point: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the part of a plane inside a box, as a convex polygon (k, 3) with k corners; k = 0 if it is empty.

    `box` consists of the lowest and highest corner (3,); the plane contains `point` (3,) and has the normal `normal`
    (3,).
    """
    low, high = box
    middle, size = 0.5 * (low + high), float(np.linalg.norm(high - low))
    center = middle - ((middle - point) @ normal) * normal
    across = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    across *= size / np.linalg.norm(across)
    other = np.cross(normal, across)
    return clipped_to_box(box, center + np.array([across, other, -across, -other]))


def clipped_to_box(box: Box, polygon: np.ndarray) -> np.ndarray:
    """Return the part of a convex polygon (k, 3) inside a box, by Sutherland-Hodgman clipping."""
    low, high = box
    for axis in range(3):
        for sign, limit in ((1.0, high[axis]), (-1.0, -low[axis])):
            polygon = _clipped(polygon, sign * polygon[:, axis] - limit)
    return polygon


def _clipped(polygon: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the part of a convex polygon (k, 3) on the side of a plane where the signed distance is not positive.

    `distances` (k,) are the signed distances of the corners from the plane.
    """
    kept = []
    for k in range(len(polygon)):
        one, two = distances[k - 1], distances[k]
        if (one > 0) != (two > 0):
            kept.append(polygon[k - 1] + one / (one - two) * (polygon[k] - polygon[k - 1]))
        if two <= 0:
            kept.append(polygon[k])
    return np.array(kept).reshape(-1, 3)


def quadrilaterals(polygon: np.ndarray) -> list[np.ndarray]:
    """Return a convex polygon (k, 3) divided into faces (4, 3); the last one may repeat its last corner."""
    found = [polygon[[0, k, k + 1, min(k + 2, len(polygon) - 1)]] for k in range(1, len(polygon) - 1, 2)]
    return [face for face in found if np.ptp(face, axis=0).any()]
