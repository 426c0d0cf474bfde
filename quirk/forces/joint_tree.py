"""Kinematic trees of links with revolute and prismatic joints, rooted at the ground, for control laws of robots.

A link consists of bodies that are welded together. The inward joint of a link connects it to its parent. The frame of
a link is the frame of its inward joint that is fixed in the link.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..bodies.body import GROUND, Body, Ground
from ..constraints import Constraint, Coupling, Drive, Fixed, Joint, Prismatic, Revolute
from ..constraints.unilateral import Unilateral
from ..errors import InputError

# Index of the ground among the parents of links.
BASE = -1


@dataclass(frozen=True)
class JointTree:
    """Topology, geometry and masses of the n links of a kinematic tree; each link comes after its parent.

    Attributes
    ----------
    joints : inward joint of each link
    parents : index of the parent of each link, BASE for the ground
    signs : 1.0 if the link is body j of its joint, -1.0 if it is body i
    axes : (n, 3, 3) joint frame on the parent's side at coordinate zero, as columns in the frame of the parent
    offsets : (n, 3) origin of this joint frame in the frame of the parent, m
    masses : (n,) kg
    centers : (n, 3) centers of mass in the frames of the links, m
    inertias : (n, 3, 3) about the centers of mass, in the axes of the links, kg m^2
    armatures : (n,) inertias of the rotors at the joints, kg m^2 or kg
    leaders : for each link, index of the link whose joint drives its joint through a `Coupling`; the index of the link
        itself if there is no coupling
    ratios : (n,) rate of each joint divided by the rate of its leader
    reads : bodies and joints from which the other attributes are computed
    """

    joints: tuple[Joint, ...]
    parents: tuple[int, ...]
    signs: tuple[float, ...]
    axes: np.ndarray
    offsets: np.ndarray
    masses: np.ndarray
    centers: np.ndarray
    inertias: np.ndarray
    armatures: np.ndarray
    leaders: tuple[int, ...]
    ratios: np.ndarray
    reads: tuple[Any, ...]


@dataclass
class Lump:
    """Mass distribution of bodies that are welded together, in one frame.

    Attributes
    ----------
    masses, centers, inertias : lists with the mass (kg), center of mass (3,), m, and inertia (3, 3), kg m^2, of each
        body; the inertia is about the center of mass of the body, in the axes of the frame
    """

    masses: list[float] = field(default_factory=list)
    centers: list[np.ndarray] = field(default_factory=list)
    inertias: list[np.ndarray] = field(default_factory=list)

    def add(self, body: Body, axes: np.ndarray, center: np.ndarray) -> None:
        """Add a body with its axes (3, 3), as columns, and its center of mass (3,), m, both in the common frame."""
        self.masses.append(body.mass)
        self.centers.append(center)
        self.inertias.append(axes @ body.inertia @ axes.T)

    def total(self) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the total mass, kg, its center (3,), m, and the inertia (3, 3) about the center, kg m^2."""
        mass = sum(self.masses)
        moments = (m * c for m, c in zip(self.masses, self.centers, strict=True))
        center: np.ndarray = sum(moments, np.zeros(3)) / mass
        inertia = np.zeros((3, 3))
        for m, c, own in zip(self.masses, self.centers, self.inertias, strict=True):
            arm = c - center
            inertia += own + m * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        return mass, center, inertia


def is_hinge_or_slide(part: Any) -> bool:
    """Whether a part of a system is an enabled revolute or prismatic joint."""
    return isinstance(part, Revolute | Prismatic) and part.active


def joint_tree(
    owner: str, joints: Sequence[Joint] | None, bodies: Mapping[str, Body], constraints: Sequence[Constraint]
) -> JointTree:
    """Return the kinematic tree, rooted at the ground, that contains given joints, with all connected links.

    Parameters
    ----------
    owner : title of the element for errors
    joints : revolute and prismatic joints of the tree; None for all such joints among the constraints
    bodies, constraints : bodies of the system by name, and constraints of the system

    Raises
    ------
    InputError
        If there is no such joint, if the tree is not connected to the ground or has other kinds of joints or loops, or
        if another constraint acts on its bodies.
    """
    rotors = {id(part): rotor for rotor in _rotors(constraints) for part in rotor}
    acting = [c for c in constraints if c.active and id(c) not in rotors and not _permitted(c)]
    couplings = [c for c in acting if type(c) is Coupling and len(c.coefficients) == 2]
    following = {coupling.joint_j.name for coupling in couplings}
    free = [c for c in acting if is_hinge_or_slide(c) and c.name not in following]
    chosen: list[Any] = free if joints is None else list(joints)
    if not chosen:
        raise InputError(f"{owner}: the system has no enabled Revolute or Prismatic joint")
    known = {c.name for c in acting}
    for joint in chosen:
        if joint.name not in known:
            raise InputError(
                f"{owner}: joints names {joint}, which is not an enabled joint of the system: leave it out"
            )
        if joint.name in following:
            raise InputError(f"{owner}: joints names {joint}, which follows another by a Coupling: leave it out")
    names = {joint.name for joint in chosen}
    robot = _component([c for c in acting if c.name in names], acting)
    links = _Links(owner, bodies, [c for c in acting if robot & _names(c) and c not in couplings])
    leaders, ratios = _followers(links, [coupling for coupling in couplings if robot & _names(coupling)], following)
    armatures = _armatures(links, constraints)
    total = [lump.total() for lump in links.lumps]
    return JointTree(
        joints=tuple(links.joints),
        parents=tuple(links.parents),
        signs=tuple(links.signs),
        axes=np.array(links.axes).reshape(-1, 3, 3),
        offsets=np.array(links.offsets).reshape(-1, 3),
        masses=np.array([mass for mass, _, _ in total]),
        centers=np.array([center for _, center, _ in total]).reshape(-1, 3),
        inertias=np.array([inertia for _, _, inertia in total]).reshape(-1, 3, 3),
        armatures=armatures,
        leaders=tuple(leaders),
        ratios=ratios,
        reads=tuple(links.reads),
    )


def _followers(links: _Links, couplings: Sequence[Coupling], following: Container[str]) -> tuple[list[int], np.ndarray]:
    """Return the index of the leading joint of each joint of a tree, and the ratio of the coupling between them.

    A joint j follows joint i if a `Coupling` prescribes its rate as a ratio times the rate of joint i. A joint without
    a coupling is its own leader, with ratio 1. `following` contains the names of the joints that follow others; they
    cannot lead.
    """
    leaders, ratios = list(range(len(links.joints))), np.ones(len(links.joints))
    for coupling in couplings:
        leader, follower = (links.number.get(joint.name, BASE) for joint in (coupling.joint_i, coupling.joint_j))
        if BASE in (leader, follower) or leaders[follower] != follower or coupling.joint_i.name in following:
            raise InputError(
                f"{links.owner}: {coupling} must couple two joints of its tree, of which the first follows no other "
                "one: leave it out, disable it, or use quirk.inverse_dynamics"
            )
        leaders[follower], ratios[follower] = leader, coupling.coefficients[1]
        links.reads.append(coupling)
    return leaders, ratios


def _armatures(links: _Links, constraints: Sequence[Constraint]) -> np.ndarray:
    """Return the rotor inertia reflected to each joint of a tree, kg m^2 or kg; zero without a rotor.

    `links` are the links of the tree, and `constraints` are those of the system.
    """
    armatures = np.zeros(len(links.joints))
    for wheel, bearing, coupling in _rotors(constraints):
        if coupling.joint_i.name in links.number:
            axis, wheel = bearing.frame_j.matrix[:, 2], links.bodies[wheel.name]
            k = links.number[coupling.joint_i.name]
            armatures[k] += coupling.coefficients[1] ** 2 * (axis @ wheel.inertia @ axis)
            links.reads += [wheel, coupling]
    return armatures


class _Links:
    """Links of a tree in the order of a breadth-first search from the ground.

    Parameters
    ----------
    owner : title for errors
    bodies : bodies of the system by name
    constraints : all constraints that act on bodies of the tree
    """

    def __init__(self, owner: str, bodies: Mapping[str, Body], constraints: Sequence[Constraint]) -> None:
        self.owner, self.bodies = owner, bodies
        for constraint in constraints:
            if not isinstance(constraint, Revolute | Prismatic | Fixed):
                raise InputError(
                    f"{owner}: {constraint} acts on the tree of its joints, which may contain Revolute, Prismatic and "
                    "Fixed joints only: leave it out, disable it, or use quirk.inverse_dynamics"
                )
        self.joints: list[Joint] = []
        self.parents: list[int] = []
        self.signs: list[float] = []
        self.axes: list[np.ndarray] = []
        self.offsets: list[np.ndarray] = []
        self.lumps: list[Lump] = []
        self.reads: list[Any] = list(constraints)
        # Link of each body by name, and the pose of the body in the frame of the link: axes and center of mass.
        self._places: dict[str, tuple[int, np.ndarray, np.ndarray]] = {GROUND.name: (BASE, np.eye(3), np.zeros(3))}
        waiting, remaining = [GROUND.name], list(constraints)
        while waiting:
            parent = waiting.pop(0)
            outward = [joint for joint in remaining if parent in _names(joint)]
            remaining = [joint for joint in remaining if parent not in _names(joint)]
            for joint in outward:
                assert isinstance(joint, Joint)
                end = 0 if joint.body_i.name == parent else 1
                child = joint.ends[1 - end][0].name
                if child in self._places:
                    raise InputError(
                        f"{owner}: {joint} closes a loop: the joints must form a tree; "
                        "use quirk.inverse_dynamics for mechanisms with loops"
                    )
                self._attach(joint, end, parent, child)
                waiting.append(child)
        if remaining:
            raise InputError(
                f"{owner}: {remaining[0]} is not connected to the ground by joints: a tree with a moving base is not "
                "supported; weld its base to quirk.GROUND; beams among its links are not supported either"
            )

    @property
    def number(self) -> dict[str, int]:
        """Index of the outer link of each joint, by name of the joint."""
        return {joint.name: k for k, joint in enumerate(self.joints)}

    def _attach(self, joint: Joint, end: int, parent: str, child: str) -> None:
        """Add the body `child` on the outer side of a joint whose inner body is `parent`.

        `end` is the end of the joint at the parent: 0 for body i, 1 for body j.
        """
        link, *place = self._places[parent]
        if isinstance(joint, Fixed):
            _, turned, center = outer_pose(joint, end, *place)
        else:
            outer = joint.ends[1 - end][1]
            turned, center = outer.matrix.T, -outer.matrix.T @ outer.origin
            self.joints.append(joint)
            self.parents.append(link)
            self.signs.append(1.0 if end == 0 else -1.0)
            inner = joint.ends[end][1]
            self.axes.append(place[0] @ inner.matrix)
            self.offsets.append(place[1] + place[0] @ inner.origin)
            self.lumps.append(Lump())
            link = len(self.joints) - 1
        self._places[child] = link, turned, center
        if link != BASE:
            self.lumps[link].add(self.bodies[child], turned, center)
            self.reads.append(self.bodies[child])


def outer_pose(joint: Joint, end: int, R: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the axes of a joint frame, and the axes and center of mass of the outer body, at joint coordinate zero.

    Parameters
    ----------
    joint : Joint
    end : end of the joint on the inner side, 0 for body i and 1 for body j
    R, p : axes and center of mass (m) of the body on the inner side
    """
    inner, outer = joint.ends[end][1], joint.ends[1 - end][1]
    axes = R @ inner.matrix
    turned = axes @ outer.matrix.T
    return axes, turned, p + R @ inner.origin - turned @ outer.origin


def _permitted(constraint: Constraint) -> bool:
    """Whether a constraint may act on the bodies of a tree: a drive, a contact, or a constraint without rows."""
    return isinstance(constraint, Unilateral | Drive) or constraint.row_count == 0


def _component(chosen: Iterable[Constraint], constraints: Sequence[Constraint]) -> set[str]:
    """Return the names of all bodies connected to the constraints `chosen`; the ground does not connect bodies."""
    reached = set().union(*(_names(one) for one in chosen)) - {GROUND.name}
    size = 0
    while len(reached) > size:
        size = len(reached)
        for one in constraints:
            if reached & _names(one):
                reached |= _names(one) - {GROUND.name}
    return reached


def _names(constraint: Constraint) -> set[str]:
    return {body.name for body, _ in constraint.ends}


def _rotors(constraints: Sequence[Constraint]) -> Iterator[tuple[Body, Revolute, Coupling]]:
    """Yield each flywheel that represents a motor's rotor, with its bearing and its coupling to the driven joint.

    The model of rotors is described in `quirk.constraints.armature`.
    """
    for one in constraints:
        if type(one) is not Coupling:
            continue
        bearing = one.joint_j
        if not isinstance(bearing, Revolute) or not isinstance(bearing.body_j, Body) or not one.active:
            continue
        wheel = bearing.body_j
        alone = all(other is one or other is bearing for other in constraints if wheel.name in _names(other))
        balanced = isinstance(bearing.body_i, Ground) and not bearing.frame_j.origin.any()
        if len(one.coefficients) == 2 and alone and balanced:
            yield wheel, bearing, one
