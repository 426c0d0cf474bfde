"""Display of joints in the viewer: a hinge is a cylinder about its axis, a slider a rail with a block, and so on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba

from quirk import constraints as c
from quirk.bodies import rotation
from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame, axes_with_z
from quirk.constraints import planar
from quirk.constraints.generic import Generic

from ..scene.plates import DrawnPlane, planes_in
from ..scene.scene import drawing_of
from .bodies import surface_of
from .parts import Look, Marker, Part, Span
from .surfaces import SurfaceMesh, ball, cuboid, cylinder, of_faces, together, tube

if TYPE_CHECKING:
    from quirk.constraints import Constraint
    from quirk.system.system import System

DARK, ROPE, PLANE_COLOR = to_rgba("#404040"), to_rgba("#7a5230"), "#b8b8b0"
# Size of a joint's symbol relative to the reach of the smaller body, which is the distance from its center of mass to
# its farthest drawn point; smallest size relative to that of the mechanism; thickness of the symbol's parts relative to
# its size.
SIZE, LEAST, THICK = 0.11, 0.012, 0.42
# Length of a joint's symbol relative to the thickness of the bodies' shapes along the joint axis, so that it is
# visible. Shapes for which this length exceeds the fraction THICKEST of the body's reach are disregarded.
STICKS_OUT, THICKEST = 1.2, 0.35
# Length of a rail or rod to each side, and width of a plane, relative to the size of the joint.
RAIL, PLANE = 5.0, 5.0
# An unbounded plane is shown by concentric rings: their radii relative to the displayed radius, their opacities, and
# the number of corners of each ring.
FADES, OPACITIES, RING = (0.0, 0.3, 0.5, 0.7, 0.85, 1.0), (0.4, 0.3, 0.2, 0.12, 0.05), 48
CURVE_POINTS = 200

# Surfaces in frame i and in frame j, each None if there is none, as a function of a constraint and its size.
Surfaces = tuple[SurfaceMesh | None, SurfaceMesh | None]


def joint_parts(
    system: System, reach: Mapping[str, float], extent: float, ground: float, middle: np.ndarray
) -> list[Part]:
    """Return the displayed parts of all constraints.

    Parameters
    ----------
    system : System
    reach : distance from a body's center of mass to its farthest drawn point, m, by name of the body
    extent : size of the mechanism, m
    ground : radius of displayed planes, m
    middle : (3,) center of displayed planes that are fixed in the inertial frame, m
    """
    companions = system.companions
    found: list[Part] = []
    planes: list[DrawnPlane] = []
    for constraint in system.constraints:
        if constraint in companions or not drawing_of(constraint).show:
            continue
        size = SIZE * min(reach[body.name] for body in constraint.bodies if isinstance(body, Body))
        size = max(size, LEAST * extent)
        own = planes_in(constraint)
        fresh = [plane for plane in own if not any(plane.same(other) for other in planes)]
        planes += fresh
        found += _spans(constraint, size) or _planes(constraint, fresh, ground, middle)
        found += [] if own else _markers(constraint, size)
    return found


def _spans(constraint: Constraint, size: float) -> list[Part]:
    """Return the rods or ropes of a constraint between points of bodies, if it has any.

    `size` is the size of the joint, m.
    """
    kinds = (c.Distance, c.DistanceDrive, c.Rope, c.TendonStop, planar.DoubleRevolute, planar.DistanceDriver)
    if not isinstance(constraint, kinds):
        return []
    rope = isinstance(constraint, c.Rope | c.TendonStop)
    radius = (0.1 if rope else 0.18) * size
    rod = tube(np.array([[0, 0, 0], [0, 0, 1.0]]), radius)
    look = Look(rod, ROPE if rope else _color(constraint))
    knobs = Look(ball(0.3 * size), _color(constraint))
    if isinstance(constraint, c.TendonStop):
        spans = list(constraint.spans)
    else:
        (one, frame_i), (two, frame_j) = constraint.ends[:2]
        spans = [((one, frame_i.origin), (two, frame_j.origin))]
    found: list[Part] = []
    for number, span in enumerate(spans):
        name = constraint.name + (f" span {number + 1}" if number else "")
        found.append(Span(name, [look], span, constraint.name))
        for letter, (body, point) in zip("ij", span, strict=True):
            found.append(Marker(f"{name} {letter}", [knobs], body, Frame(point), constraint.name))
    return found


def _planes(constraint: Constraint, planes: Sequence[DrawnPlane], ground: float, middle: np.ndarray) -> list[Part]:
    """Return the planes of a constraint, on which a body slides or rolls, as rings that fade outward.

    The rings have the radius `ground`, m. Their center is near `middle` (3,), inertial frame, or near the center of
    mass of the body to which the plane is fixed.
    """
    looks = [
        Look(_ring(inner * ground, outer * ground), (*to_rgba(PLANE_COLOR)[:3], opacity))
        for inner, outer, opacity in zip(FADES, FADES[1:], OPACITIES, strict=False)
    ]
    found: list[Part] = []
    for k, plane in enumerate(planes):
        start = middle if isinstance(plane.body, Ground) else np.zeros(3)
        nearest = start - ((start - plane.point) @ plane.normal) * plane.normal
        place = Frame(nearest, rotation.from_matrix(axes_with_z(plane.normal)))
        name = f"{constraint.name} plane" + (f" {k + 1}" if k else "")
        found.append(Marker(name, looks, plane.body, place, constraint.name))
    return found


def _ring(inner: float, outer: float) -> SurfaceMesh:
    """Return a flat ring about z with the radii `inner` and `outer`, m, visible from both sides."""
    angle = np.linspace(0.0, 2 * np.pi, RING + 1)
    circle = np.stack([np.cos(angle), np.sin(angle), np.zeros(RING + 1)], axis=1)
    parts = itertools.pairwise(circle)
    return of_faces([np.array([inner * p, outer * p, outer * q, inner * q]) for p, q in parts])


def _markers(constraint: Constraint, size: float) -> list[Marker]:
    """Return the symbols of a constraint, fixed to body i and to body j at the joint frames.

    `size` is the size of the joint, m.
    """
    surfaces: Surfaces = (None, None)
    for kind, builder in BUILDERS.items():
        if isinstance(constraint, kind):
            surfaces = builder(constraint, size)
            break
    else:
        if isinstance(constraint, c.Joint) and _has_rows(constraint):
            surfaces = _by_free_axes(constraint, size)
    turn = to_axis(constraint)
    found: list[Marker] = []
    for letter, (body, frame), surface in zip("ij", constraint.ends[:2], surfaces, strict=True):
        if surface is not None:
            place = Frame(frame.origin, rotation.multiply(frame.rotation, turn))
            first = not found
            found.append(_marker(constraint, letter, body, place, surface, _color(constraint), first))
    return found


def _by_free_axes(constraint: Any, size: float) -> Surfaces:
    """Return the surfaces at both joint frames that represent a joint: a hinge, a rail, a rod with a sleeve, or a ball.

    The free axes of the joint determine the symbol; `size` is the size of the joint, m.
    """
    option = drawing_of(constraint)
    radius = THICK * size if option.axis_radius is None else option.axis_radius
    across = constraint.rotation_axis is not None and constraint.translation_axis not in (
        None,
        constraint.rotation_axis,
    )
    if constraint.rotation_axis is None and constraint.translation_axis is None:
        return None, ball(0.6 * size)
    if constraint.translation_axis is None or (across and option.axis_length is None):
        half = max(size, _thickness(constraint)) if option.axis_length is None else 0.5 * option.axis_length
        pin = cylinder(radius, half)
        return (None, pin) if not across else (_rail(radius, RAIL * size), pin)
    half = RAIL * size if option.axis_length is None else 0.5 * option.axis_length
    if constraint.rotation_axis is None:
        return _rail(0.5 * radius, half), cuboid(np.array([1.6 * radius, 1.6 * radius, size]))
    return cylinder(0.5 * radius, half), cylinder(1.4 * radius, size)


def _universal(constraint: Any, size: float) -> Surfaces:
    """Return the cross of a universal joint: a bar along x of frame i and a bar along y of frame j.

    `size` is the length of the bars, m.
    """
    radius = 0.6 * THICK * size
    along_x = np.array([[-1.2 * size, 0, 0], [1.2 * size, 0, 0]])
    along_y = np.array([[0, -1.2 * size, 0], [0, 1.2 * size, 0]])
    return tube(along_x, radius), together([tube(along_y, radius), ball(1.3 * radius)])


def _plane_and_point(constraint: Any, size: float) -> Surfaces:
    return _plate(PLANE * size, 0.05 * size), ball(0.5 * size)


def _line_and_point(constraint: Any, size: float) -> Surfaces:
    return cylinder(0.5 * THICK * size, RAIL * size), ball(0.6 * size)


def _curve(constraint: Any, size: float) -> Surfaces:
    """Return a tube along the curve of a constraint, and a ball for the point that moves on it."""
    spline = constraint.curve
    u = np.linspace(spline.breaks[0], spline.breaks[-1], CURVE_POINTS)
    piece = np.clip(np.searchsorted(spline.breaks, u, side="right") - 1, 0, len(spline.breaks) - 2)
    powers = (u - spline.breaks[piece])[:, None] ** np.arange(spline.coefficients.shape[2])
    points = np.einsum("pdk,pk->pd", spline.coefficients[piece], powers)
    return tube(points, 0.3 * THICK * size), ball(0.5 * size)


def _weld(constraint: Any, size: float) -> Surfaces:
    return None, cuboid(np.full(3, 0.45 * size))


BUILDERS: dict[Any, Callable[[Any, float], Surfaces]] = {
    c.Fixed: _weld,
    c.Universal: _universal,
    c.Planar: _plane_and_point,
    c.PointOnPlane: _plane_and_point,
    c.PointOnLine: _line_and_point,
    c.PointOnCurve: _curve,
    c.Free: lambda constraint, size: (None, None),
    Generic: lambda constraint, size: (None, ball(0.6 * size)),
    planar.ParallelVectors: lambda constraint, size: (None, None),
    planar.AngleDriver: lambda constraint, size: (None, None),
    planar.GearPair: lambda constraint, size: (None, None),
    planar.GearOnLink: lambda constraint, size: (None, None),
    planar.Rolling: lambda constraint, size: (None, None),
}


def _has_rows(constraint: Any) -> bool:
    """Whether a constraint has rows and is therefore shown."""
    return constraint.row_count != 0


def to_axis(constraint: Constraint) -> np.ndarray:
    """Return the quaternion (4,) that rotates z to the free axis of a joint."""
    rotation_axis = getattr(constraint, "rotation_axis", None)
    axis = getattr(constraint, "translation_axis", None) if rotation_axis is None else rotation_axis
    if axis is None or axis == 2 or type(constraint) in BUILDERS:
        return rotation.IDENTITY
    return rotation.exp(np.pi / 2 * (np.array([0.0, 1.0, 0.0]) if axis == 0 else np.array([-1.0, 0.0, 0.0])))


def _thickness(constraint: Constraint) -> float:
    """Return the extent (m) of the shapes of both bodies from a joint along its axis; thick shapes are ignored."""
    found = 0.0
    for body, frame in constraint.ends[:2]:
        if isinstance(body, Body) and body.shapes:
            vertices = np.concatenate([surface_of(shape).vertices for shape in body.shapes])
            axis = frame.matrix @ rotation.matrix(to_axis(constraint))[:, 2]
            beyond = (vertices - frame.origin) @ axis
            reach = np.linalg.norm(vertices, axis=1).max()
            out = STICKS_OUT * min(beyond.max(), -beyond.min())
            found = max(found, out if out <= THICKEST * reach else 0.0)
    return found


def _rail(half_width: float, half_length: float) -> SurfaceMesh:
    return cuboid(np.array([half_width, half_width, half_length]))


def _plate(half_width: float, half_thickness: float) -> SurfaceMesh:
    return cuboid(np.array([half_width, half_width, half_thickness]))


def _marker(
    constraint: Constraint,
    letter: str,
    body: Body | Ground,
    frame: Frame,
    surface: SurfaceMesh,
    color: Any,
    named: bool,
) -> Marker:
    return Marker(f"{constraint.name} {letter}", [Look(surface, color)], body, frame, constraint.name, named)


def _color(constraint: Constraint) -> tuple[float, float, float, float]:
    given = drawing_of(constraint).color
    return DARK if given is None else to_rgba(given)  # type: ignore[arg-type]
