"""Import of URDF files.

The links and joints of a URDF file form a tree. The coordinate of a joint that mimics another
joint is a linear function of the other coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from quirk.constraints import Constraint, Coupling, Joint, Prismatic, Revolute
from quirk.forces import ForceElement
from quirk.util import validate
from quirk.util.misuse import explained

from . import joints, touching
from .addresses import checked_packages
from .bodies import Bodies
from .description import DescriptionNames, Link, Weld, at
from .geometry import MeshFiles
from .imported import Imported, checked_limits, checked_path, checked_shapes, finished
from .joints import JointCoordinate
from .left_out import LeftOut
from .markup import Element, parse, shortened
from .pose import Pose
from .touching import checked_contacts
from .urdf_parts import KINDS, UrdfJoint, read_joints, read_links

REASONS = {
    "collision": "contacts=True imports them as contacts",
    "transmission": "quirk.Actuator and quirk.Controller act on joints",
    "gazebo": "only for that program",
}


@explained
def load_urdf(
    path: str | Path,
    *,
    base: str = "fixed",
    gravity: ArrayLike = (0, 0, 0),
    limits: bool = True,
    packages: Mapping[str, str | Path] | Sequence[str | Path] | None = None,
    inertia_tolerance: float | None = None,
    repair_inertia: bool = False,
    shapes: str | None = "visual",
    contacts: bool | str = False,
) -> Imported:
    """Read a URDF file.

    Parameters
    ----------
    path : str or Path
    base : "fixed" or "free"
        Whether the root link is fixed to the ground at the inertial origin, or floats.
    gravity : (3,)
        Gravitational acceleration, inertial frame, m/s^2; URDF files do not contain it.
    limits : bool
        Whether limits of joints are imported as `Stop`.
    packages : dict or list, optional
        Locations of meshes at package://name/...: folders by package name, or a list of folders that contain packages.
    inertia_tolerance : float, optional
        Relative tolerance for rounded moments of inertia, as for `Body`.
    repair_inertia : bool
        Whether physically impossible inertias are replaced by the nearest possible ones, and joints to massless
        subtrees are fixed; both are listed as omissions; see `quirk.io.importers.inertia.repaired`.
    shapes : "visual", "collision" or None
        Geometry of the file from which the shapes of bodies, for display, are created.
    contacts : bool or "ground"
        Whether collisions of links without a common joint are imported as `Contact`, with `Friction` for links that
        have <contact> with <lateral_friction>; "ground" adds a plane z = 0.

    Raises
    ------
    InputError
        If the file is not valid URDF or physically impossible; the message names the element and its line.
    """
    owner = "load_urdf"
    file = checked_path(owner, path)
    validate.choice(owner, "base", base, ("fixed", "free"))
    with_limits, folders = checked_limits(owner, limits), checked_packages(owner, packages)
    repair, shown = validate.flag(owner, "repair_inertia", repair_inertia), checked_shapes(owner, shapes)
    wanted = checked_contacts(owner, contacts)
    root = _checked_root(file)
    left_out, names = LeftOut(), DescriptionNames()
    meshes = MeshFiles(folders, left_out)
    links = read_links(root, meshes, shown, bool(wanted))
    listed = read_joints(root, links, left_out)
    if repair:
        _fix_massless(links, listed, left_out)
    _set_starts(listed, with_limits, left_out)
    ordered, tree = _placed(root, links, listed)
    welds = [Weld(joint.parent, joint.child) for joint in tree if KINDS[joint.kind] is None]
    if base == "fixed":
        welds.append(Weld(None, ordered[0].name))
    bodies = Bodies(ordered, welds, names, left_out, inertia_tolerance, repair)
    others = list(_connected(tree, bodies, names, with_limits))
    for joint in listed.values():
        if KINDS[joint.kind] in (Revolute, Prismatic) and (not with_limits or joint.kind == "continuous"):
            _ignore_limits(joint)
    if wanted:
        joined = [(joint.parent, joint.child) for joint in tree]
        pairs = touching.between_links(ordered, joined, bodies, wanted == "ground")
        others += touching.contacts(pairs, bodies, names, left_out)
    left_out.note_unread(root, REASONS)
    return finished(file.name, bodies, others, gravity, names, left_out)


def _checked_root(file: Path) -> Element:
    """Return the root element of a URDF file; an InputError is raised if it is not <robot>."""
    root = parse(file)
    if root.tag != "robot":
        raise root.error("a URDF file starts with <robot>")
    for name in root.attributes:
        root.get(name)  # its name, and addresses of the program that wrote it
    return root


def _fix_massless(links: dict[str, Link], listed: dict[str, UrdfJoint], left_out: LeftOut) -> None:
    """Convert joints to massless subtrees into fixed joints, so that the massless links join the body before them.

    Parameters
    ----------
    links, listed : links and joints of the file by name
    left_out : list of contents of the file that are not imported exactly, called omissions
    """
    above = {joint.child: joint.parent for joint in listed.values()}
    heavy: set[str] = set()
    for link in links.values():
        at: str | None = link.name if link.mass > 0 else None
        while at is not None and at not in heavy:
            heavy.add(at)
            at = above.get(at)
    for joint in listed.values():
        if joint.child not in heavy and KINDS[joint.kind] is not None:
            left_out.note("motion of links without mass, which are fixed to the link before them", joint.element.owner)
            joint.kind, joint.coordinate = "fixed", JointCoordinate()


def _set_starts(listed: dict[str, UrdfJoint], limits: bool, left_out: LeftOut) -> None:
    """Set the initial coordinates of joints.

    An initial coordinate is zero, or the middle of the limits if zero is not between them; coordinates that mimic other
    coordinates follow from these coordinates. `listed` are the joints of the file by name; `limits` states whether
    limits are imported.
    """
    for joint in listed.values():
        lower, upper = joint.coordinate.lower, joint.coordinate.upper
        if limits and lower is not None and upper is not None and not lower <= 0 <= upper:
            joint.start = (lower + upper) / 2
            left_out.note("limits that exclude zero; the initial value is their middle", joint.element.owner)
    followers: dict[str, tuple[str, float, float]] = {}
    for joint in listed.values():
        mimic = joint.element.child("mimic")
        if mimic is None:
            continue
        leader = mimic.attribute("joint")
        if leader not in listed:
            raise mimic.error(f"there is no joint {shortened(leader)!r}")
        pair = [KINDS[one.kind] for one in (joint, listed[leader])]
        if None in pair:
            left_out.note("mimic with a fixed joint", joint.element.owner)
            mimic.ignore_all()
            continue
        if any(kind not in (Revolute, Prismatic) for kind in pair):
            raise mimic.error("both joints must be revolute, continuous or prismatic")
        followers[joint.name] = leader, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
    for name in followers:
        chain = [name]
        while chain[-1] in followers:
            chain.append(followers[chain[-1]][0])
            if chain[-1] in chain[:-1]:
                raise listed[name].element.error("mimic relations form a cycle")
        for follower in reversed(chain[:-1]):
            leader, multiplier, offset = followers[follower]
            listed[follower].start = multiplier * listed[leader].start + offset


def _placed(root: Element, links: dict[str, Link], listed: dict[str, UrdfJoint]) -> tuple[list[Link], list[UrdfJoint]]:
    """Set the initial poses of all links; return the links and joints in the order of the tree, from the root.

    `links` and `listed` are the links and joints of the file by name.
    """
    below: dict[str, list[UrdfJoint]] = {}
    held: dict[str, UrdfJoint] = {}
    for joint in listed.values():
        if joint.child in held:
            raise joint.element.error(
                f"link {shortened(joint.child)!r} is the child of joint {shortened(held[joint.child].name)!r} already; "
                "a URDF must be a tree"
            )
        held[joint.child] = joint
        below.setdefault(joint.parent, []).append(joint)
    roots = [name for name in links if name not in held]
    if len(roots) > 1:
        raise root.error(f"exactly one link must have no parent; got {len(roots)}: {shortened(', '.join(roots))}")
    ordered, tree = [links[name] for name in roots], []
    for link in ordered:  # the list grows during the iteration
        for joint in below.get(link.name, ()):
            child = links[joint.child]
            child.pose = link.pose @ joint.moved
            ordered.append(child)
            tree.append(joint)
    if len(ordered) < len(links):
        placed = {link.name for link in ordered}
        circle = next(joint for joint in listed.values() if joint.child not in placed)
        raise circle.element.error("is part of a loop of links; a URDF must be a tree")
    return ordered, tree


def _connected(
    tree: list[UrdfJoint], bodies: Bodies, names: DescriptionNames, limits: bool
) -> Iterator[Constraint | ForceElement]:
    """Yield joints, the elements that act on them, and the couplings of joints that mimic others.

    Parameters
    ----------
    tree : joints in the order of the tree
    bodies, names : bodies and names of the import
    limits : whether limits are imported
    """
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
            yield from joints.elements(made[joint.name], coordinate, which, names, joint.element, called)
    for joint in tree:
        mimic = joint.element.child("mimic")
        if mimic is None or joint.name not in made or mimic.attribute("joint") not in made:
            continue  # recorded with the fixed joint
        pair = made[mimic.attribute("joint")], made[joint.name]
        line = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
        with at(mimic):
            yield Coupling(names.part(joint.name, "mimic"), *pair, coefficients=line)


def _ignore_limits(joint: UrdfJoint) -> None:
    """Mark the limits of a joint as read if they are disabled or the joint is continuous.

    They are then not listed as omissions.
    """
    limit = joint.element.child("limit")
    if limit is not None:
        limit.get("lower"), limit.get("upper")
