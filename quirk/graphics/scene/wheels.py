"""Wheels, gears, pinions and sheaves: radii from the constraints, and polygons to be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import axes_with_z
from quirk.constraints import Gear, Joint, Pulley, RackPinion, RollingDisk
from quirk.constraints.planar import GearOnLink, GearPair, Rolling
from quirk.constraints.relation import Relation

if TYPE_CHECKING:
    from quirk.system.system import System

# Number of corners of a rim, and its width; number of spokes, and half the width of a spoke. Widths are relative to the
# radius of the wheel.
CORNERS, BREADTH, SPOKES, HALF_SPOKE = 36, 0.1, 6, 0.02
# Length and width of the bar that represents a rack, relative to the radius of the pinion.
RACK_LENGTH, RACK_BREADTH = 2 * np.pi, 0.15
# Largest sine of the angle between axes that count as parallel, and largest relative length that counts as zero.
PARALLEL, NOTHING = 1e-6, 1e-9
# A shape that reaches this fraction of a wheel's radius represents the wheel; only spokes are drawn on it.
REACHES = 0.95


@dataclass(frozen=True)
class Wheel:
    """Wheel fixed to a body, drawn as a circle with spokes.

    Attributes
    ----------
    body : Body or ground
    center, axis : (3,) center, m, and unit vector of the axis, body coordinates
    radius : m
    ring : whether it is an internal gear
    """

    body: Body | Ground
    center: np.ndarray
    axis: np.ndarray
    radius: float
    ring: bool = False

    def faces(self) -> list[np.ndarray]:
        """Return the quadrilaterals (4, 3) of the wheel, body coordinates, m.

        They form a rim with spokes, or spokes on both sides of a disk that is a shape of the body.
        """
        x, y, z = axes_with_z(self.axis).T
        if self.ring:
            return self._rim(x, y, 1 + BREADTH)
        solid = self._half_thickness(x, y, z)
        sides = (0.0,) if solid is None else (-solid, solid)
        faces = [] if solid is not None else self._rim(x, y, 1 - BREADTH)
        for side in sides:
            for angle in np.arange(SPOKES) * (2 * np.pi / SPOKES):
                along = np.cos(angle) * x + np.sin(angle) * y
                across = HALF_SPOKE * self.radius * np.cross(z, along)
                tip = (1.0 - BREADTH) * self.radius * along
                foot = self.center + side * z
                faces.append(np.array([foot - across, foot + tip - across, foot + tip + across, foot + across]))
        return faces

    def _rim(self, x: np.ndarray, y: np.ndarray, inner_radius: float) -> list[np.ndarray]:
        angle = np.linspace(0.0, 2 * np.pi, CORNERS + 1)
        circle = np.outer(np.cos(angle), x) + np.outer(np.sin(angle), y)
        outer, inner = self.center + self.radius * circle, self.center + inner_radius * self.radius * circle
        return [np.array([outer[k], outer[k + 1], inner[k + 1], inner[k]]) for k in range(CORNERS)]

    def _half_thickness(self, x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float | None:
        """Return slightly more than half the thickness (m) of a body's shape that fills the wheel's circle, or None.

        x and y (3,) are unit vectors in the plane of the circle, and z (3,) is along its axis, body axes.
        """
        for shape in self.body.shapes if isinstance(self.body, Body) else ():
            corners = np.concatenate(shape.faces()) - self.center
            reach = [np.abs(corners @ axis).max() for axis in (x, y, z)]
            within = np.linalg.norm(corners @ np.stack([x, y], axis=1), axis=1).max()
            if min(reach[:2]) >= REACHES * self.radius and within <= self.radius / REACHES:
                return 1.01 * float(reach[2])
        return None


def round_faces(system: System) -> dict[str, list[np.ndarray]]:
    """Return the faces (4, 3), m, of wheels and racks in body coordinates, by name of body or "ground"."""
    faces: dict[str, list[np.ndarray]] = {}
    for wheel in wheels(system):
        faces.setdefault(wheel.body.name, []).extend(wheel.faces())
    for constraint in system.constraints:
        if isinstance(constraint, RackPinion):
            faces.setdefault(constraint.body_i.name, []).append(_rack(system, constraint))
    return faces


def wheels(system: System) -> list[Wheel]:
    """Return the distinct wheels defined by the constraints of a system."""
    found: list[Wheel] = []
    for constraint in system.constraints:
        for wheel in _wheels_of(system, constraint):
            if not any(_same(wheel, other) for other in found):
                found.append(wheel)
    return found


def _same(a: Wheel, b: Wheel) -> bool:
    apart = np.linalg.norm(a.center - b.center) + abs(a.radius - b.radius)
    return a.body is b.body and bool(apart < PARALLEL * a.radius) and _parallel(a.axis, b.axis)


def _parallel(u: np.ndarray, v: np.ndarray) -> bool:
    return bool(np.linalg.norm(np.cross(u, v)) < PARALLEL)


def _wheels_of(system: System, constraint: Any) -> Iterator[Wheel]:
    if isinstance(constraint, RollingDisk | Rolling):
        frame = constraint.frame_j
        yield Wheel(constraint.body_j, frame.origin, frame.matrix[:, 2], abs(constraint.radius))
    elif isinstance(constraint, RackPinion):
        yield _pinion(system, constraint)
    elif isinstance(constraint, Pulley):
        for drum in filter(None, constraint.drums):
            yield Wheel(drum.body, drum.center, drum.axis, drum.radius)
    elif isinstance(constraint, Gear) and constraint.aligned_axes:
        yield from _pair(system, constraint, constraint.carrier)
    elif isinstance(constraint, GearPair | GearOnLink):
        yield from _pair(system, constraint, getattr(constraint, "link", GROUND))


def _pair(system: System, gear: Any, carrier: Body | Ground) -> Iterator[Wheel]:
    """Yield the pitch circles of two gears with parallel axes; none if the axes coincide or are unknown.

    `gear` is the constraint, and `carrier` the body on which both gears rotate.
    """
    bodies, ratio = (gear.body_i, gear.body_j), gear.ratio
    axis = _in_inertial(gear.body_j, gear.frame_j.matrix[:, 2])
    centers = [c for c in (_bearing(system, body, carrier, axis) for body in bodies) if c is not None]
    if len(centers) < 2 or abs(ratio - 1.0) < NOTHING:
        return
    apart = centers[1] - centers[0]
    distance = np.linalg.norm(apart - (apart @ axis) * axis)
    # External gears: r_i + r_j = d, r_i = -ratio r_j; an internal one: |r_i - r_j| = d, r_i = ratio r_j.
    radius_j = float(distance / abs(1.0 - ratio))
    if radius_j > NOTHING * max(np.abs(center).max() for center in centers):
        for body, center, radius in zip(bodies, centers, (abs(ratio) * radius_j, radius_j), strict=True):
            ring = ratio > 0 and radius == max(abs(ratio), 1.0) * radius_j
            yield Wheel(body, body.local(center), body.direction(axis), radius, ring)


def _pinion(system: System, rack: RackPinion) -> Wheel:
    pinion = rack.body_j
    axis = _in_inertial(pinion, rack.frame_j.matrix[:, 2])
    center = _bearing(system, pinion, rack.carrier, axis)
    center = pinion.position if center is None else center
    return Wheel(pinion, pinion.local(center), pinion.direction(axis), abs(rack.radius))


def _rack(system: System, rack: RackPinion) -> np.ndarray:
    """Return a rectangle (4, 3) along a rack, body coordinates, m, that touches the pinion at the initial poses."""
    wheel = _pinion(system, rack)
    axis = _in_inertial(wheel.body, wheel.axis)
    center = wheel.body.position + _in_inertial(wheel.body, wheel.center)
    # The carrier's frame is aligned with the axes of the relation, in which the direction of travel is given.
    (travel,) = (part for part in rack.primitives if isinstance(part, Relation))
    along = _in_inertial(rack.carrier, rack.frame_carrier.matrix @ np.array(travel.numbers[1:]))
    outward = np.cross(along, axis) * rack.radius
    touched = center + outward
    half, far = 0.5 * RACK_LENGTH * wheel.radius * along, touched + RACK_BREADTH * outward
    corners = [touched - half, touched + half, far + half, far - half]
    return np.array([rack.body_i.local(corner) for corner in corners])


def _in_inertial(body: Body | Ground, vector: np.ndarray) -> np.ndarray:
    return rotation.matrix(body.orientation) @ vector


def _bearing(system: System, body: Body | Ground, carrier: Body | Ground, axis: np.ndarray) -> np.ndarray | None:
    """Return the center of rotation (3,) of a gear on its carrier at the initial poses, inertial frame, m.

    It is the joint point of a hinge about `axis` (3,), inertial frame; without a hinge, the center of mass of the body.
    For the ground without a hinge it is unknown (None).
    """
    for joint in system.constraints:
        if not isinstance(joint, Joint) or joint.rotation_axis is None:
            continue
        if {id(joint.body_i), id(joint.body_j)} == {id(body), id(carrier)}:
            frame, holder = joint.frame_j, joint.body_j
            if _parallel(_in_inertial(holder, frame.matrix[:, joint.rotation_axis]), axis):
                return np.asarray(holder.position + _in_inertial(holder, frame.origin))
    return body.position if isinstance(body, Body) else None
