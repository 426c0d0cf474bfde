"""Links and joints of URDF files.

A collision is a geometry for contacts, and a visual is a geometry for display.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.frame import axes_with_z
from quirk.constraints import Free, Joint, Planar, Prismatic, Revolute
from quirk.util import validate

from .description import Collider, Link, at
from .geometry import MeshFiles, Placed, color_of, primitive
from .joints import JointCoordinate
from .left_out import LeftOut
from .markup import Element, shortened
from .pose import Pose, from_rpy, turned

KINDS: dict[str, type[Joint] | None] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": None,
    "floating": Free,
    "planar": Planar,
}
# Absolute value of limits, rad, m, N m, N, rad/s or m/s, from which on the quantity is unlimited.
NO_LIMIT = 1e15


@dataclass
class UrdfJoint:
    """A joint as described in the file.

    Attributes
    ----------
    name, kind : name and URDF type
    element : XML element
    parent, child : names of its links
    origin : pose of the joint in the parent
    axes : (3, 3) axes as columns, child coordinates; z is the joint axis
    coordinate : limits, damping and friction
    start : initial coordinate, rad or m
    """

    name: str
    element: Element
    kind: str
    parent: str
    child: str
    origin: Pose
    axes: np.ndarray
    coordinate: JointCoordinate
    start: float = 0.0

    @property
    def moved(self) -> Pose:
        """Initial pose of the child relative to the parent."""
        if self.kind == "prismatic":
            return self.origin @ Pose(np.eye(3), self.start * self.axes[:, 2])
        return self.origin @ Pose(self.axes @ turned(2, self.start) @ self.axes.T)


def read_links(root: Element, meshes: MeshFiles, shape_source: str | None, touching: bool) -> dict[str, Link]:
    """Return all links by name; their poses are not set.

    Parameters
    ----------
    root : root element
    meshes : mesh files referenced by the description
    shape_source : geometry from which shapes are created, "visual", "collision" or None
    touching : whether collision geometries are added
    """
    colors = {}
    for material in root.all("material"):
        color = material.child("color")
        if color is not None:
            colors[material.attribute("name")] = color_of(color, color.vector("rgba", 4))
    links: dict[str, Link] = {}
    for element in root.all("link"):
        name = element.attribute("name")
        if name in links:
            raise element.error("another link has that name")
        links[name] = link = Link(name, str(element), Pose())
        inertial = element.child("inertial")
        if inertial is not None:
            _read_inertial(link, inertial, meshes.left_out)
        if shape_source != "visual":
            element.ignore("visual")
        for geometry in element.all(shape_source) if shape_source else ():
            link.shapes += _shapes(geometry, colors, meshes)
        if touching:
            link.colliders = _colliders(link, element)
    if not links:
        raise root.error("has no <link>")
    return links


def _colliders(link: Link, element: Element) -> list[Collider]:
    """Return the collision geometries of a link."""
    contact, friction = element.child("contact"), None
    lateral = None if contact is None else contact.child("lateral_friction")
    if lateral is not None:
        friction = lateral.number("value")
    found = []
    for collision in element.all("collision"):
        name = collision.get("name") or link.name
        geometry, place = collision.required_child("geometry"), _origin(collision)
        box, sphere = geometry.child("box"), geometry.child("sphere")
        kind = "mesh"
        sizes: tuple[float, ...] = ()
        if box is not None:
            kind, sizes = "box", tuple(box.vector("size", 3).tolist())
        elif sphere is not None:
            kind, sizes = "sphere", (sphere.number("radius"),)
        for tag in ("cylinder", "capsule"):
            solid = geometry.child(tag)
            if solid is not None:
                kind, sizes = tag, (solid.number("radius"), solid.number("length"))
        mesh = geometry.child("mesh")
        if mesh is not None:
            mesh.ignore_all()
        found.append(Collider(name, link.name, kind, place, sizes, friction, where=collision))
    return found


def _read_inertial(link: Link, inertial: Element, left_out: LeftOut) -> None:
    mass, tensor = inertial.required_child("mass").number("value"), inertial.child("inertia")
    if mass < 0:
        raise inertial.error(f"mass must not be negative; got {mass:g}")
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    xx, xy, xz, yy, yz, zz = (0.0 if tensor is None else tensor.number(key, 0.0) for key in keys)
    if mass <= 0:
        left_out.note("inertial without mass", inertial.owner)
        inertial.ignore_all()
        return
    pose = _origin(inertial)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    link.mass, link.center, link.inertia = mass, pose.origin, pose.axes @ inertia @ pose.axes.T


def _origin(element: Element) -> Pose:
    origin = element.child("origin")
    if origin is None:
        return Pose()
    return from_rpy(origin.vector("xyz", 3, (0, 0, 0)), origin.vector("rpy", 3, (0, 0, 0)))


def _shapes(visual: Element, colors: dict[str, Any], meshes: MeshFiles) -> list[Placed]:
    """Return the shapes of a visual or collision; `colors` are the colors of materials by name."""
    visual.get("name")
    pose, geometry, material = _origin(visual), visual.required_child("geometry"), visual.child("material")
    color = None
    if material is not None:
        own, name = material.child("color"), material.get("name") or ""
        color = colors.get(name) if own is None else color_of(own, own.vector("rgba", 4))
        if name and color is not None:
            colors.setdefault(name, color)
        elif own is None and material.child("texture") is None:
            meshes.left_out.note(f"material {shortened(name)!r}, which has no color", visual.owner)
    mesh = geometry.child("mesh")
    if mesh is not None:
        return meshes.shapes(mesh, mesh.attribute("filename"), mesh.vector("scale", 3, (1, 1, 1)), pose, color)
    shapes = primitive(geometry, pose, color)
    if shapes is None:
        raise geometry.error("must be a box, cylinder, sphere, capsule or mesh")
    return shapes


def read_joints(root: Element, links: dict[str, Link], left_out: LeftOut) -> dict[str, UrdfJoint]:
    """Return all joints of a file by name; `links` are the links of the file by name."""
    found: dict[str, UrdfJoint] = {}
    for element in root.all("joint"):
        name, kind = element.attribute("name"), element.attribute("type")
        if name in found:
            raise element.error("another joint has that name")
        if kind not in KINDS:
            raise element.error(f"type must be one of {', '.join(KINDS)}; got {shortened(kind)!r}")
        ends = [element.required_child(tag) for tag in ("parent", "child")]
        parent, child = (end.attribute("link") for end in ends)
        for end, link in zip(ends, (parent, child), strict=True):
            if link not in links:
                raise end.error(f"there is no link {shortened(link)!r}")
        if KINDS[kind] is None:
            element.ignore("axis", "limit", "dynamics", "safety_controller", "calibration")  # of a fixed joint
        axis = element.child("axis") if KINDS[kind] not in (None, Free) else None
        with at(axis or element):
            direction = validate.direction("axis", "xyz", (1, 0, 0) if axis is None else axis.vector("xyz", 3))
        coordinate = _coordinate(element, kind, left_out)
        found[name] = UrdfJoint(
            name, element, kind, parent, child, _origin(element), axes_with_z(direction), coordinate
        )
    return found


def _coordinate(element: Element, kind: str, left_out: LeftOut) -> JointCoordinate:
    """Return limits, damping and friction of the coordinate of a hinge or slider; `kind` is its URDF type."""
    coordinate = JointCoordinate()
    if KINDS[kind] not in (Revolute, Prismatic):
        return coordinate
    limit, dynamics = element.child("limit"), element.child("dynamics")
    if limit is not None:
        for key in ("effort", "velocity"):
            if limit.number(key, NO_LIMIT, infinite=True) < NO_LIMIT:
                left_out.note(f"limits of {key}", element.owner)
    if limit is not None and kind != "continuous":
        lower, upper = (limit.number(key, 0.0, infinite=True) for key in ("lower", "upper"))
        if lower > upper:
            raise limit.error(f"lower must not be above upper; got {lower:g} and {upper:g}")
        if lower < upper:
            coordinate.lower = lower if lower > -NO_LIMIT else None
            coordinate.upper = upper if upper < NO_LIMIT else None
        else:
            left_out.note("limits without range, lower = upper", element.owner)
    if dynamics is not None:
        coordinate.damping, coordinate.friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    return coordinate
