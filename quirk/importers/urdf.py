"""URDF files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quirk import validate
from quirk.constraints import Constraint, Coupling, Free, Joint, Planar, Prismatic, Revolute
from quirk.forces import ForceElement
from quirk.frame import axes_with_z

from . import joints
from .bodies import Bodies
from .description import Link, Names, Weld, at
from .geometry import MeshFiles, Placed, color_of, primitive
from .imported import Imported, checked_limits, checked_packages, checked_path, finished
from .joints import Coordinate
from .left_out import LeftOut
from .markup import Element, parse, shortened
from .pose import Pose, from_rpy, turned

KINDS: dict[str, type[Joint] | None] = {
    "revolute": Revolute,
    "continuous": Revolute,
    "prismatic": Prismatic,
    "fixed": None,
    "floating": Free,
    "planar": Planar,
}
# Limits of this size, rad, m, N m or m/s, are how files say that there is none.
NO_LIMIT = 1e15
REASONS = {
    "collision": "contacts are not brought over",
    "transmission": "quirk.Actuator and quirk.Controller act at joints",
    "gazebo": "only for that program",
}


@dataclass
class UrdfJoint:
    """A joint as the file has it; `start` is its coordinate at the start, rad or m."""

    name: str
    element: Element
    kind: str
    parent: str
    child: str
    origin: Pose
    axes: np.ndarray
    coordinate: Coordinate
    start: float = 0.0

    @property
    def moved(self) -> Pose:
        """The pose of the child in the parent at the start."""
        if self.kind == "prismatic":
            return self.origin @ Pose(np.eye(3), self.start * self.axes[:, 2])
        return self.origin @ Pose(self.axes @ turned(2, self.start) @ self.axes.T)


def load_urdf(
    path: str | Path,
    *,
    base: str = "fixed",
    gravity: Any = (0, 0, 0),
    limits: bool = True,
    packages: Any = None,
    inertia_tolerance: float | None = None,
) -> Imported:
    """Read a URDF file.

    Parameters
    ----------
    path : str or Path
    base : "fixed" or "free"
        Whether the root link is fixed to the ground, at the origin of N, or floats.
    gravity : (3,)
        In N, m/s^2; URDF has none.
    limits : bool
        Whether limits of joints become `Stop`.
    packages : dict, optional
        Folders by name of package, for meshes at package://name/...
    inertia_tolerance : float, optional
        As for `Body`: what rounded moments may miss.

    Raises
    ------
    InputError
        If the file is no URDF, or nothing physical; it names the element and its line.
    """
    owner = "load_urdf"
    file = checked_path(owner, path)
    validate.choice(owner, "base", base, ("fixed", "free"))
    with_limits, folders = checked_limits(owner, limits), checked_packages(owner, packages)
    return read(parse(file), file, base, gravity, with_limits, folders, inertia_tolerance)


def read(
    root: Element,
    file: Path,
    base: str,
    gravity: Any,
    limits: bool,
    packages: dict[str, Path],
    inertia_tolerance: float | None,
) -> Imported:
    """Return what a parsed URDF file describes."""
    if root.tag != "robot":
        raise root.error("a URDF file starts with <robot>")
    for name in root.attributes:
        root.get(name)  # its name, and addresses of what was used to write it
    left_out, names = LeftOut(), Names()
    meshes = MeshFiles(file, packages, left_out)
    links = _links(root, meshes)
    listed = _joints(root, links, left_out)
    _set_starts(listed, limits, left_out)
    ordered, tree = _placed(root, links, listed)
    welds = [Weld(joint.parent, joint.child) for joint in tree if KINDS[joint.kind] is None]
    if base == "fixed":
        welds.append(Weld(None, ordered[0].name))
    bodies = Bodies(ordered, welds, names, inertia_tolerance)
    others = list(_connected(tree, bodies, names, limits, left_out))
    for joint in listed.values():
        if KINDS[joint.kind] in (Revolute, Prismatic) and (not limits or joint.kind == "continuous"):
            _ignore_limits(joint, limits, left_out)
    left_out.note_unread(root, REASONS)
    return finished(file.name, bodies, others, gravity, names, left_out)


def _links(root: Element, meshes: MeshFiles) -> dict[str, Link]:
    """Return all links, not yet placed."""
    colors = {}
    for material in root.all("material"):
        color = material.one("color")
        if color is not None:
            colors[material.attribute("name")] = color_of(color, color.vector("rgba", 4))
    links: dict[str, Link] = {}
    for element in root.all("link"):
        name = element.attribute("name")
        if name in links:
            raise element.error("another link has that name")
        links[name] = link = Link(name, str(element), Pose())
        inertial = element.one("inertial")
        if inertial is not None:
            _read_inertial(link, inertial, meshes.left_out)
        for visual in element.all("visual"):
            link.shapes += _visual(visual, colors, meshes)
    if not links:
        raise root.error("has no <link>")
    return links


def _read_inertial(link: Link, inertial: Element, left_out: LeftOut) -> None:
    mass, tensor = inertial.needed("mass").number("value"), inertial.needed("inertia")
    if mass < 0:
        raise inertial.error(f"mass must not be negative; got {mass:g}")
    xx, xy, xz, yy, yz, zz = (tensor.number(key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    if mass <= 0:
        left_out.note("inertial without mass", inertial.owner)
        inertial.ignore_all()
        return
    pose = _origin(inertial)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    link.mass, link.centre, link.inertia = mass, pose.origin, pose.axes @ inertia @ pose.axes.T


def _origin(element: Element) -> Pose:
    origin = element.one("origin")
    if origin is None:
        return Pose()
    return from_rpy(origin.vector("xyz", 3, (0, 0, 0)), origin.vector("rpy", 3, (0, 0, 0)))


def _visual(visual: Element, colors: dict[str, Any], meshes: MeshFiles) -> list[Placed]:
    """Return the shapes of a visual."""
    visual.get("name")
    pose, geometry, material = _origin(visual), visual.needed("geometry"), visual.one("material")
    color = None
    if material is not None:
        own, name = material.one("color"), material.get("name")
        color = colors.get(name or "") if own is None else color_of(own, own.vector("rgba", 4))
    mesh = geometry.one("mesh")
    if mesh is not None:
        return meshes.shapes(mesh, mesh.attribute("filename"), mesh.vector("scale", 3, (1, 1, 1)), pose, color)
    shapes = primitive(geometry, pose, color)
    if shapes is None:
        raise geometry.error("must be a box, cylinder, sphere, capsule or mesh")
    return shapes


def _joints(root: Element, links: dict[str, Link], left_out: LeftOut) -> dict[str, UrdfJoint]:
    """Return all joints by name."""
    found: dict[str, UrdfJoint] = {}
    for element in root.all("joint"):
        name, kind = element.attribute("name"), element.attribute("type")
        if name in found:
            raise element.error("another joint has that name")
        if kind not in KINDS:
            raise element.error(f"type must be one of {', '.join(KINDS)}; got {shortened(kind)!r}")
        ends = [element.needed(tag) for tag in ("parent", "child")]
        parent, child = (end.attribute("link") for end in ends)
        for end, link in zip(ends, (parent, child), strict=True):
            if link not in links:
                raise end.error(f"there is no link {shortened(link)!r}")
        axis = element.one("axis") if KINDS[kind] not in (None, Free) else None
        with at(axis or element):
            direction = validate.direction("axis", "xyz", (1, 0, 0) if axis is None else axis.vector("xyz", 3))
        coordinate = _coordinate(element, kind, left_out)
        found[name] = UrdfJoint(
            name, element, kind, parent, child, _origin(element), axes_with_z(direction), coordinate
        )
    return found


def _coordinate(element: Element, kind: str, left_out: LeftOut) -> Coordinate:
    """Return what there is about the coordinate of a hinge or slider."""
    coordinate = Coordinate()
    if KINDS[kind] not in (Revolute, Prismatic):
        return coordinate
    limit, dynamics = element.one("limit"), element.one("dynamics")
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
            left_out.note("limits that leave no room, lower = upper", element.owner)
    if dynamics is not None:
        coordinate.damping, coordinate.friction = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
    return coordinate


def _set_starts(listed: dict[str, UrdfJoint], limits: bool, left_out: LeftOut) -> None:
    """Set the coordinates at the start: zero, the middle of limits that exclude it, or what a mimic asks for."""
    for joint in listed.values():
        lower, upper = joint.coordinate.lower, joint.coordinate.upper
        if limits and lower is not None and upper is not None and not lower <= 0 <= upper:
            joint.start = (lower + upper) / 2
            left_out.note("zero outside the limits, in the middle of which it starts instead", joint.element.owner)
    followers: dict[str, tuple[str, float, float]] = {}
    for joint in listed.values():
        mimic = joint.element.one("mimic")
        if mimic is None:
            continue
        leader = mimic.attribute("joint")
        if leader not in listed:
            raise mimic.error(f"there is no joint {shortened(leader)!r}")
        if any(KINDS[one.kind] not in (Revolute, Prismatic) for one in (joint, listed[leader])):
            raise mimic.error("both joints must be revolute, continuous or prismatic")
        followers[joint.name] = leader, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    for name in followers:
        chain = [name]
        while chain[-1] in followers:
            chain.append(followers[chain[-1]][0])
            if chain[-1] in chain[:-1]:
                raise listed[name].element.error("joints mimic each other in a circle")
        for follower in reversed(chain[:-1]):
            leader, multiplier, offset = followers[follower]
            listed[follower].start = multiplier * listed[leader].start + offset


def _placed(root: Element, links: dict[str, Link], listed: dict[str, UrdfJoint]) -> tuple[list[Link], list[UrdfJoint]]:
    """Place all links, and return them and the joints in the order of the tree, from the root."""
    below: dict[str, list[UrdfJoint]] = {}
    held: dict[str, UrdfJoint] = {}
    for joint in listed.values():
        if joint.child in held:
            raise joint.element.error(
                f"link {shortened(joint.child)!r} is the child of joint {shortened(held[joint.child].name)!r} already; "
                "a URDF is a tree"
            )
        held[joint.child] = joint
        below.setdefault(joint.parent, []).append(joint)
    roots = [name for name in links if name not in held]
    if len(roots) > 1:
        raise root.error(
            f"one link must be the root of all; {len(roots)} have no parent: {shortened(', '.join(roots))}"
        )
    ordered, tree = [links[name] for name in roots], []
    for link in ordered:  # which grows meanwhile
        for joint in below.get(link.name, ()):
            child = links[joint.child]
            child.pose = link.pose @ joint.moved
            ordered.append(child)
            tree.append(joint)
    if len(ordered) < len(links):
        circle = next(joint for joint in listed.values() if links[joint.child] not in ordered)
        raise circle.element.error("is part of a circle of links; a URDF is a tree")
    return ordered, tree


def _connected(
    tree: list[UrdfJoint], bodies: Bodies, names: Names, limits: bool, left_out: LeftOut
) -> Iterator[Constraint | ForceElement]:
    """Go over joints, what acts at them, and the couplings of those that mimic others."""
    made: dict[str, Joint] = {}
    for joint in tree:
        kind = KINDS[joint.kind]
        if kind is None:
            continue
        axes = Pose(joint.axes)
        with at(joint.element):
            called = names.take(joint.name, "joint")
            ends = (joint.parent, joint.origin @ axes), (joint.child, axes)
            made[joint.name] = joints.make(kind, called, bodies, *ends)
        yield made[joint.name]
        coordinate = joint.coordinate
        if not limits:
            coordinate.lower = coordinate.upper = None
        which = "translation" if kind is Prismatic else "rotation"
        if kind in (Revolute, Prismatic):
            yield from joints.elements(made[joint.name], coordinate, which, names, left_out, joint.element, called)
    for joint in tree:
        mimic = joint.element.one("mimic")
        if mimic is None:
            continue
        pair = made[mimic.attribute("joint")], made[joint.name]
        line = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
        with at(mimic):
            yield Coupling(names.part(joint.name, "mimic"), *pair, coefficients=line)


def _ignore_limits(joint: UrdfJoint, limits: bool, left_out: LeftOut) -> None:
    """Count limits as read: those that were not asked for, and those that a continuous joint does not have."""
    limit = joint.element.one("limit")
    if limit is not None:
        limit.get("lower"), limit.get("upper")
